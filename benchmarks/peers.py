"""Cold runs of torchlint and of other linters over packages of the package index, by CPU time.

    peers.py [--packages NAME==VERSION,...] [--more] [--peers torchfix,fixit,flake8,ruff] [--rounds 3] [--cache FOLDER]

Each linter lives in a virtual environment of its own under the cache folder, torchlint too (installed from this tree,
as a user has it). Runs are interleaved: every round runs each linter once, in turn. Counted is the CPU time, user and
system, of the whole process tree; the wall clock of a shared machine is noise. No linter may use a cache of results.
Writes docs/benchmarks/peers.json and prints a table. ``slower`` is the median over rounds of a linter's time divided by
torchlint's in the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs" / "benchmarks" / "peers.json"
PACKAGES = ("stable-baselines3==2.9.2",)
MORE = ("pfrl==0.4.0", "tianshou==2.0.1")
OURS = "torchlint"


@dataclass(frozen=True)
class Linter:
    """What to install, what to run (the folder is appended) and the exit states of a run that was not cut short."""

    name: str
    requirement: str
    arguments: tuple[str, ...]
    states: tuple[int, ...] = (0, 1)


LINTERS = (
    Linter(OURS, str(ROOT), ("torchlint", "check", "--isolated")),
    Linter("torchfix", "torchfix==0.7.0", ("torchfix", "--select", "ALL")),
    Linter("fixit", "fixit==2.2.1", ("fixit", "lint")),
    Linter("flake8", "flake8==7.5.0", ("flake8", "--isolated")),
    Linter("ruff", "ruff==0.17.5", ("ruff", "check", "--isolated", "--select", "ALL", "--no-cache")),
)


@dataclass
class Runs:
    """What the runs of one linter over one package took, in seconds, and how many lines the last one printed."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    printed: int = 0


def call(*command: str | Path) -> str:
    """Run a command that must succeed; what it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


def environment(linter: Linter, cache: Path) -> Path:
    """The folder of executables of a linter's own virtual environment; torchlint is installed anew each time."""
    folder = cache / "venvs" / linter.requirement if linter.name != OURS else cache / "venvs" / OURS
    python = folder / "bin" / "python"
    stamp = folder / "made"
    if linter.name != OURS and stamp.exists():
        return folder / "bin"
    print(f"installing {linter.name} ...", file=sys.stderr)
    if not stamp.exists():
        call(sys.executable, "-m", "venv", "--clear", folder)
    call(python, "-m", "pip", "install", "--quiet", linter.requirement)
    if linter.name == OURS:
        call(python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", linter.requirement)
    stamp.touch()
    return folder / "bin"


def source(requirement: str, cache: Path) -> Path:
    """The unpacked source distribution of a pinned package."""
    place = cache / "packages" / requirement
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        name = requirement.split("==")[0]
        with tempfile.TemporaryDirectory(dir=place.parent) as work:
            call(
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("--no-binary", name, "--dest", work, requirement),
            )
            with tarfile.open(next(Path(work).glob("*.tar.gz"))) as archive:
                archive.extractall(work, filter="data")
            next(path for path in Path(work).iterdir() if path.is_dir()).rename(place)
    return place


def measure(linter: Linter, binaries: Path, folder: Path, runs: Runs) -> None:
    """Run a linter once over a folder and note CPU and wall seconds of its process tree."""
    command = [str(binaries / linter.arguments[0]), *linter.arguments[1:], "."]
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV"))}
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=output, stderr=subprocess.STDOUT)
        # wait4 gives the resources of this child and of all it waited for, unlike getrusage over all our children.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        runs.wall.append(time.perf_counter() - start)
        output.seek(0)
        text = output.read()
    if process.returncode not in linter.states:
        sys.exit(f"{linter.name} ended with status {process.returncode}:\n{text.decode(errors='replace')[-2000:]}")
    runs.cpu.append(usage.ru_utime + usage.ru_stime)
    runs.printed = text.count(b"\n")


def compare(package: str, linters: list[Linter], rounds: int, cache: Path, work: Path) -> dict[str, object]:
    """All rounds over a copy of one package in a work folder, as the data that is written."""
    folder = Path(shutil.copytree(source(package, cache), work / package))
    texts = [path.read_bytes() for path in sorted(folder.rglob("*.py"))]  # also warms the page cache
    lines = sum(text.count(b"\n") for text in texts)
    places = {linter.name: environment(linter, cache) for linter in linters}
    runs = {linter.name: Runs() for linter in linters}
    for number in range(rounds):
        for linter in linters:
            print(f"{package}: round {number + 1} of {rounds}, {linter.name}", file=sys.stderr)
            measure(linter, places[linter.name], folder, runs[linter.name])
    ours = runs[OURS].cpu
    rows = [
        {
            "linter": linter.name,
            "requirement": linter.requirement if linter.name != OURS else OURS,
            "command": " ".join((*linter.arguments, ".")),
            "cpu_s": [round(seconds, 3) for seconds in run.cpu],
            "median_cpu_s": round(statistics.median(run.cpu), 3),
            "median_wall_s": round(statistics.median(run.wall), 3),
            "slower": round(statistics.median(theirs / own for theirs, own in zip(run.cpu, ours, strict=True)), 2),
            "printed_lines": run.printed,
        }
        for linter, run in ((linter, runs[linter.name]) for linter in linters)
    ]
    return {"package": package, "files": len(texts), "lines": lines, "runs": rows}


def show(results: list[dict[str, object]]) -> None:
    """Print the results as tables."""
    for result in results:
        print(f"\n{result['package']}: {result['files']} files, {result['lines']} lines")
        print(f"{'linter':12}{'CPU s':>10}{'wall s':>10}{'slower':>10}{'printed':>10}")
        for row in result["runs"]:
            print(
                f"{row['linter']:12}{row['median_cpu_s']:>10.3f}{row['median_wall_s']:>10.3f}"
                f"{row['slower']:>9.2f}x{row['printed_lines']:>10}"
            )


def chosen(names: str) -> list[Linter]:
    """torchlint and the named peers. Exits with the known names for an unknown one."""
    wanted = {name.strip() for name in names.split(",") if name.strip()}
    unknown = wanted - {linter.name for linter in LINTERS}
    if unknown:
        sys.exit(f"unknown peer {', '.join(sorted(unknown))}; known: {', '.join(item.name for item in LINTERS[1:])}")
    return [linter for linter in LINTERS if linter.name in wanted | {OURS}]


def main() -> None:
    """Read the arguments, run, write and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", default=",".join(PACKAGES), help="pinned packages that ship their source")
    parser.add_argument("--more", action="store_true", help=f"also {' and '.join(MORE)}")
    parser.add_argument("--peers", default=",".join(linter.name for linter in LINTERS[1:]))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "peers")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    packages = [*options.packages.split(","), *(MORE if options.more else ())]
    linters = chosen(options.peers)
    cache = options.cache.resolve()
    # A copy elsewhere: the cache lies below a .gitignore that names it, which some linters would heed.
    with tempfile.TemporaryDirectory() as work:
        results = [compare(package, linters, options.rounds, cache, Path(work)) for package in packages]
    machine = {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    show(results)


if __name__ == "__main__":
    main()
