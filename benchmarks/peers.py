"""The speed of torchlint beside other linters, over packages of the package index, by CPU time.

    peers.py [--cases cold,warm,...] [--peers torchfix,fixit,flake8,ruff-all,ruff-some] [--rounds 3] [--cache FOLDER]

Each linter lives in a virtual environment of its own under the cache folder, torchlint too (installed from this tree,
as a user has it). Runs are interleaved: every round runs each linter once, in turn. Counted is the CPU time, user and
system, of the whole process tree; the wall clock of a shared machine is noise. Ratios are medians over rounds of a
linter's time divided by torchlint's in the same round. Writes docs/benchmarks/peers.json and the table in
docs/performance.md.

The cases:
  cold     all packages in one folder, no cache
  warm     the same a second time: who has a cache uses it
  changed  one file of them was changed since the last run
  plain    one file without torch, alone in its folder
  found    one file with findings, alone in its folder, no cache
  large    the installed torch package, no cache
"""

from __future__ import annotations

import argparse
import importlib.util
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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from marked import written

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "docs" / "benchmarks" / "peers.json"
PAGE = ROOT / "docs" / "performance.md"
PACKAGES = ("stable-baselines3==2.9.2", "pfrl==0.4.0", "tianshou==2.0.1")
CHANGED = "stable-baselines3==2.9.2/stable_baselines3/common/utils.py"
FOUND = "pfrl==0.4.0/pfrl/agents/trpo.py"
PLAIN = "pfrl==0.4.0/pfrl/experiments/evaluation_hooks.py"
OURS = "torchlint"
# The one that Python brings along may be old, and write scripts that import more than they need.
PIP = "pip==26.3"
# Times of modification must have settled before anyone trusts them.
SETTLED = 2.5


@dataclass(frozen=True)
class Linter:
    """What to install and to run, the arguments that keep it from using a cache, and the states of a whole run."""

    name: str
    requirement: str
    arguments: tuple[str, ...]
    cold: tuple[str, ...] = ()
    states: tuple[int, ...] = (0, 1)
    slow: bool = False

    @property
    def caches(self) -> bool:
        """Whether it has a cache."""
        return bool(self.cold)


RUFF = ("ruff", "check", "--isolated", "--select")
LINTERS = (
    Linter(OURS, str(ROOT), ("torchlint", "check", "--isolated"), ("--no-cache",)),
    Linter("torchfix", "torchfix==0.7.0", ("torchfix", "--select", "ALL"), slow=True),
    Linter("fixit", "fixit==2.2.1", ("fixit", "lint"), slow=True),
    Linter("flake8", "flake8==7.5.0", ("flake8", "--isolated")),
    Linter("ruff-all", "ruff==0.17.5", (*RUFF, "ALL"), ("--no-cache",)),
    Linter("ruff-some", "ruff==0.17.5", (*RUFF, "F,PERF,NPY"), ("--no-cache",)),
)
SHOWN = {
    "torchfix": "TorchFix 0.7.0",
    "fixit": "Fixit 2.2.1",
    "flake8": "flake8 7.5.0",
    "ruff-all": "ruff 0.17.5, ALL",
    "ruff-some": "ruff 0.17.5, F,PERF,NPY",
}


@dataclass(frozen=True)
class Case:
    """What is measured: the folder, whether caches are used, what is done before each run, who takes part."""

    name: str
    title: str
    folder: Path
    warm: bool = False
    before: Callable[[], None] = lambda: None
    slow: bool = True
    peers: tuple[str, ...] = tuple(SHOWN)


def call(*command: str | Path) -> str:
    """Run a command that must succeed; what it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


def environment(linter: Linter, cache: Path) -> Path:
    """The folder of executables of a linter's own virtual environment; torchlint is installed again each time."""
    folder = cache / "venvs" / linter.requirement if linter.name != OURS else cache / "venvs" / OURS
    python = folder / "bin" / "python"
    stamp = folder / f"made with {PIP}"
    if linter.name != OURS and stamp.exists():
        return folder / "bin"
    print(f"installing {linter.name} ...", file=sys.stderr)
    if not stamp.exists():
        call(sys.executable, "-m", "venv", "--clear", folder)
        call(python, "-m", "pip", "install", "--quiet", PIP)
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


def measure(linter: Linter, binaries: Path, folder: Path, cold: bool) -> tuple[float, int]:
    """Run a linter once over a folder: CPU seconds of its process tree, and how many lines it printed."""
    command = [str(binaries / linter.arguments[0]), *linter.arguments[1:], *(linter.cold if cold else ()), "."]
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV", "TORCHLINT"))}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=output, stderr=subprocess.STDOUT)
        # wait4 gives the resources of this child and of all it waited for, unlike getrusage over all our children.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode not in linter.states:
        sys.exit(f"{linter.name} ended with status {process.returncode}:\n{text.decode(errors='replace')[-2000:]}")
    return usage.ru_utime + usage.ru_stime, text.count(b"\n")


def run_case(case: Case, linters: Iterable[Linter], places: dict[str, Path], rounds: int) -> dict[str, object]:
    """All rounds of a case, as the data that is written."""
    chosen = [
        each for each in linters if each.name == OURS or (each.name in case.peers and (case.slow or not each.slow))
    ]
    times: dict[str, list[float]] = {linter.name: [] for linter in chosen}
    printed: dict[str, int] = {}
    for number in range(-2 if case.warm else 0, rounds):
        for linter in chosen:
            if number < 0 and not linter.caches:
                continue
            print(f"{case.name}: round {number + 1} of {rounds}, {linter.name}", file=sys.stderr)
            case.before()
            seconds, lines = measure(linter, places[linter.name], case.folder, not case.warm)
            if number >= 0:
                times[linter.name].append(seconds)
                printed[linter.name] = lines
    ours = times[OURS]
    texts = [path.read_bytes() for path in sorted(case.folder.rglob("*.py"))]
    rows = [
        {
            "linter": linter.name,
            "command": " ".join((*linter.arguments, *(() if case.warm else linter.cold), ".")),
            "cpu_s": [round(seconds, 4) for seconds in times[linter.name]],
            "median_cpu_s": round(statistics.median(times[linter.name]), 4),
            "ratio": round(statistics.median(a / b for a, b in zip(times[linter.name], ours, strict=True)), 3),
            "printed_lines": printed[linter.name],
        }
        for linter in chosen
    ]
    lines = sum(text.count(b"\n") for text in texts)
    return {"case": case.name, "title": case.title, "files": len(texts), "lines": lines, "runs": rows}


def cases(names: list[str], cache: Path, work: Path) -> list[Case]:
    """The cases asked for, each with its folder."""
    made: list[Case] = []
    tree = work / "tree"
    for package in PACKAGES:
        shutil.copytree(source(package, cache), tree / package)
    for name, file in (("plain", PLAIN), ("found", FOUND)):
        (work / name).mkdir()
        shutil.copy(tree / file, work / name)
    counter = iter(range(1000000))

    def change() -> None:
        with (tree / CHANGED).open("a") as stream:
            stream.write(f"# {next(counter)}\n")

    made += [
        Case("cold", "cold tree", tree),
        Case("warm", "warm tree, nothing changed", tree, warm=True),
        Case("changed", "one file changed in a warm tree", tree, True, change, peers=("ruff-all", "ruff-some")),
        Case("plain", "one file without torch", work / "plain"),
        Case("found", "one file with findings, cold", work / "found"),
    ]
    spec = importlib.util.find_spec("torch")
    if "large" in names and spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0])
        only_python = shutil.ignore_patterns("*.so*", "*.h", "*.cuh", "*.a", "lib", "include", "bin", "__pycache__")
        shutil.copytree(folder, work / "large" / "torch", ignore=only_python)
        made.append(
            Case("large", "the torch package, cold", work / "large", slow=False, peers=("ruff-all", "ruff-some"))
        )
    return [case for case in made if case.name in names]


def ratio(row: dict[str, object]) -> str:
    """How a linter compares: ``12x faster`` is torchlint, ``2.5x its time`` is the other."""
    value = float(str(row["ratio"]))
    return f"{_rounded(value)}x faster" if value >= 1 else f"{_rounded(1 / value)}x its time"


def _rounded(value: float) -> str:
    """Three digits of a number, and no exponent."""
    text = f"{value:.3g}"
    return text if value < 999.5 else f"{float(text):,.0f}"


def table(results: list[dict[str, object]]) -> str:
    """The results as a table in Markdown."""
    lines = [f"| case | torchlint | {' | '.join(SHOWN.values())} |", f"|---|---|{'---|' * len(SHOWN)}"]
    for result in results:
        rows = {row["linter"]: row for row in result["runs"]}
        what = f"{result['title']} ({result['files']} files, {result['lines']:,} lines)"
        own = f"{1000 * rows[OURS]['median_cpu_s']:.0f} ms"
        others = [ratio(rows[name]) if name in rows else "-" for name in SHOWN]
        lines.append(f"| {what} | {own} | {' | '.join(others)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the arguments, run, write and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="cold,warm,changed,plain,found,large")
    parser.add_argument("--peers", default=",".join(SHOWN))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "peers")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    names, peers = options.cases.split(","), options.peers.split(",")
    if unknown := set(peers) - set(SHOWN):
        sys.exit(f"unknown peer {', '.join(sorted(unknown))}; known: {', '.join(SHOWN)}")
    linters = [linter for linter in LINTERS if linter.name in (OURS, *peers)]
    cache = options.cache.resolve()
    places = {linter.name: environment(linter, cache) for linter in linters}
    # A copy elsewhere: the cache lies below a .gitignore that names it, which some linters would heed.
    with tempfile.TemporaryDirectory() as work:
        chosen = cases(names, cache, Path(work))
        time.sleep(SETTLED)
        results = [run_case(case, linters, places, options.rounds) for case in chosen]
    machine = {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    text = table(results)
    print(text)
    if options.output == RESULT:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), "peers", text), encoding="utf-8")


if __name__ == "__main__":
    main()
