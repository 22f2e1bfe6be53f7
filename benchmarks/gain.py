"""What fixes gain in eight training programs: steps for each second of CPU time, and the events of an accelerator.

    gain.py [--rounds 4] [--programs NAME,NAME] [--write] [--counts]

Each program trains from a fixed seed, in one thread: as it is, after ``--fix``, and after ``--fix --unsafe-fixes``, in
turns that begin with another version each time; and as a person wrote it who followed the findings
(``benchmarks/programs/by_hand``, ``benchmarks/by_hand.py``). What the versions learned is compared to the bit, by a
digest of all parameters that an optimizer steps. GPU syncs and launches are counted on the counted device, in one run
of each version, by ``torchlint count``. A version whose text is that of the one before is not run again. The packages
are those of ``make test-packages``; they are downloaded once.

With ``--write`` the figures of each program go to ``docs/benchmarks/gain.json`` as soon as they are there, beside those
of the other programs, and the table of all of them into ``docs/fixes.md``. Programs are given by their names in the
table, such as ``sac``; without them all run. ``--counts`` only counts events, which are the same on every machine, and
compares what was learned, of programs that were measured before; their times stay as they are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import runpy
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from by_hand import CHANGES, rewrite
from marked import written

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "packages")]
DATA = ROOT / "docs" / "benchmarks" / "gain.json"
PAGE = ROOT / "docs" / "fixes.md"
TRAIN = ROOT / "tests" / "packages" / "train.py"
FIXES = {"safe": ("--fix",), "all": ("--fix", "--unsafe-fixes")}
VERSIONS = ("as it is", *FIXES)
BY_HAND = "by hand"
# The option that tells this file to train in place of measuring.
_TRAIN = "--train"
_ENOUGH = 0.85
"""How much of what a person saves who takes the advice fixes should save."""


@dataclass(frozen=True)
class Program:
    """A program to train.

    Attributes:
        title: in the table. steps: how many it trains for.
        script: relative to the project, and option: what takes the number of steps; or
        package, run: a package and one of the runs of ``tests/packages/train.py``.
        by_hand: what to put in the place of the script for the version by hand, where it is not changed as
        ``by_hand.py`` says.
    """

    title: str
    steps: int
    script: str = ""
    option: str = "--steps"
    package: str = ""
    run: str = ""
    by_hand: str = ""


PROGRAMS = {
    "agent": Program("the agent of the example", 150, "examples/agent/train.py", "--updates"),
    "one-file": Program("PPO in one file, of the examples", 1024, "examples/single_file/ppo.py"),
    "q-learning": Program(
        "Q-learning, `benchmarks/programs`", 800, "benchmarks/programs/dqn.py", by_hand="by_hand/dqn.py"
    ),
    "ppo": Program("PPO of Stable-Baselines3", 1024, package="stable_baselines3", run="ppo"),
    "recurrent-ppo": Program("recurrent PPO of SB3-Contrib", 512, package="sb3_contrib", run="recurrent-ppo"),
    "pfrl-ppo": Program("PPO of PFRL", 512, package="pfrl", run="pfrl-ppo"),
    "dqn": Program("DQN of skrl", 600, package="skrl", run="skrl-dqn"),
    "sac": Program("SAC of skrl", 400, package="skrl", run="skrl-sac"),
}


class FailedError(Exception):
    """A program or torchlint failed; the message holds what it printed."""


def train(script: str, arguments: Sequence[str]) -> None:
    """Run a script in this process; print the CPU time that it took, and a digest of the parameters it trained."""
    import numpy as np
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    torch.set_num_threads(1)
    optimizers: dict[torch.optim.Optimizer, None] = {}
    register_optimizer_step_post_hook(lambda optimizer, *_: optimizers.setdefault(optimizer))
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    start = time.process_time()
    runpy.run_path(script, run_name="__main__")
    seconds = time.process_time() - start
    digest = hashlib.sha256()
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                digest.update(np.ascontiguousarray(parameter.detach().cpu().numpy()).tobytes())
    print(json.dumps({"seconds": seconds, "digest": digest.hexdigest()}))


def made(key: str, work: Path) -> dict[str, Path]:
    """The versions of a program, each in a folder; one whose texts are those of an earlier one shares its folder."""
    program = PROGRAMS[key]
    folders: dict[str, Path] = {}
    for name in (*VERSIONS, BY_HAND):
        folder = work / name.replace(" ", "-")
        shutil.copytree(_source(program), folder)
        (folder / "pyproject.toml").touch()
        if name in FIXES:
            _fix(folder, FIXES[name])
        if name == BY_HAND and program.by_hand:
            shutil.copy(folder / program.by_hand, folder / Path(program.script).name)
        elif name == BY_HAND:
            rewrite(folder, CHANGES[key])
        alike = [other for other in folders.values() if _texts(other) == _texts(folder)]
        folders[name] = alike[0] if alike else folder
    return folders


def _source(program: Program) -> Path:
    if program.package:
        from libraries import version as folder_of

        return folder_of(program.package, "original")
    return (ROOT / program.script).parent


def _texts(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.py"))}


def _fix(folder: Path, options: Sequence[str]) -> None:
    """Apply fixes to the program, or to the package of its name."""
    command = [sys.executable, "-m", "torchlint", "check", "--isolated", "--no-cache", "--silent", *options, "."]
    paths = str(ROOT)
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, check=False)
    if done.returncode == 2:
        raise FailedError(f"torchlint failed in {folder}")


def _command(program: Program, folder: Path, device: str) -> tuple[list[str], dict[str, str]]:
    """How to train a version on a device: the command and its variables."""
    from libraries import site

    paths = [str(folder), str(TRAIN.parent), str(site())]
    if program.package == "sb3_contrib":
        from libraries import version as folder_of

        paths.insert(1, str(folder_of("stable_baselines3", "original")))
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TRAIN_DEVICE": device}
    variables["PYTHONPATH"] = os.pathsep.join(paths)
    if program.package:
        return [str(TRAIN), program.package, program.run, str(program.steps)], variables
    words = [str(folder / Path(program.script).name), program.option, str(program.steps), "--device", device]
    return words, variables


def trained(program: Program, folder: Path) -> tuple[float, str]:
    """Train once on the CPU; steps for each second of CPU time, and what was learned, as a digest."""
    words, variables = _command(program, folder, "cpu")
    own = [] if program.package else [str(Path(__file__).resolve()), _TRAIN]
    report = json.loads(_output([sys.executable, "-B", *own, *words], folder, variables).splitlines()[-1])
    if program.package:
        return report["steps_per_cpu_second"], report["digest"]
    return program.steps / report["seconds"], report["digest"]


def counted(program: Program, folder: Path) -> dict[str, int]:
    """The GPU syncs and launches of one run on the counted device."""
    words, variables = _command(program, folder, "cuda")
    variables["PYTHONPATH"] = os.pathsep.join((str(ROOT), variables["PYTHONPATH"]))
    command = [sys.executable, "-m", "torchlint", "count", "--isolated", "--json", "--", sys.executable, "-B", *words]
    output = _output(command, folder, variables)
    totals = json.loads(output[output.index("{\n") :])["totals"]
    return {name: totals[name] for name in ("waits", "launches")}


def _output(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=dict(variables), capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def measured(key: str, rounds: int) -> dict[str, object]:
    """The figures of a program: speeds and events of each version, and whether all learned the same."""
    program = PROGRAMS[key]
    with tempfile.TemporaryDirectory() as work:
        text_of, order = _different(made(key, Path(work)))
        speeds: dict[str, list[float]] = {name: [] for name, _ in order}
        digests: dict[str, set[str]] = {name: set() for name, _ in order}
        for number in range(rounds):
            first = number % len(order)
            for name, folder in (*order[first:], *order[:first]):
                speed, digest = trained(program, folder)
                speeds[name].append(speed)
                digests[name].add(digest)
        events = {name: counted(program, folder) for name, folder in order}
    return {"title": program.title, "steps": program.steps, "machine": machine(), "text_of": text_of} | {
        "steps_per_cpu_second": speeds,
        "events": events,
        "same_parameters": _same(text_of, digests),
    }


def _same(text_of: Mapping[str, str], digests: Mapping[str, set[str]]) -> dict[str, bool]:
    """Whether all runs of a version learned to the bit what the program learns as it is."""
    before = digests[VERSIONS[0]]
    return {name: len(before) == 1 and digests[text] == before for name, text in text_of.items()}


def _different(folders: Mapping[str, Path]) -> tuple[dict[str, str], list[tuple[str, Path]]]:
    """The version whose text each version has, and the versions with texts of their own."""
    different = {folder: name for name, folder in reversed(folders.items())}
    text_of = {name: different[folder] for name, folder in folders.items()}
    return text_of, [(name, folder) for folder, name in reversed(different.items())]


def recounted(key: str, known: Mapping[str, object]) -> dict[str, object]:
    """The figures of a program that was measured, with the events and results of its versions as they are now."""
    with tempfile.TemporaryDirectory() as work:
        text_of, order = _different(made(key, Path(work)))
        digests = {name: {trained(PROGRAMS[key], folder)[1]} for name, folder in order}
        events = {name: counted(PROGRAMS[key], folder) for name, folder in order}
    return {**known, "text_of": text_of, "events": events, "same_parameters": _same(text_of, digests)}


def table(data: Mapping[str, object]) -> str:
    """The figures as Markdown."""
    programs = data["programs"]
    assert isinstance(programs, dict)
    head = (
        "Program",
        "Steps",
        "Safe fixes gain",
        "Parameters then",
        "All fixes gain",
        "By hand",
        "GPU syncs",
        "Launches",
        "Recovered",
    )
    lines = [
        f"Measured by `python benchmarks/gain.py --write`, {data['rounds']} rounds, in turns:",
        f"{_machines(programs)}.",
        "A gain is a ratio of steps for each second of CPU time: the median of all pairs, its interval in brackets.",
        "GPU syncs and launches are those of one run on the [counted device](counted-device.md): as it is, after safe",
        "fixes, after all, and by hand; a version that is only counted says so. Recovered: how much of what the",
        "version by hand saves all fixes save, of GPU syncs and of launches.",
        "",
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
    ]
    for key in PROGRAMS:
        if (row := programs.get(key)) is not None:
            same = "equal to the bit" if row["same_parameters"]["safe"] else "**other ones**"
            counts = (_counts(row, kind) for kind in ("waits", "launches"))
            gains = (_gain(row, "safe"), same, _gain(row, "all"), _gain(row, BY_HAND))
            cells = (row["title"], format(row["steps"], ","), *gains, *counts, _recovered(row))
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", _sums(programs)]
    if missing := [program.title for key, program in PROGRAMS.items() if key not in programs]:
        lines += ["", f"Not measured yet: {'; '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _machines(programs: Mapping[str, Mapping[str, str]]) -> str:
    """The machines that programs were measured on; of several each with the programs."""
    titles: dict[str, list[str]] = {}
    for key in (key for key in PROGRAMS if key in programs):
        titles.setdefault(programs[key]["machine"], []).append(programs[key]["title"])
    if len(titles) == 1:
        return next(iter(titles))
    return "; ".join(f"{place} ({', '.join(each)})" for place, each in titles.items())


def _sums(programs: Mapping[str, Mapping[str, dict]]) -> str:
    """What the counts of GPU syncs say of all programs together."""
    rows = [programs[key] for key in PROGRAMS if key in programs]
    spared = [_waits(row, VERSIONS[0]) - _waits(row, "safe") for row in rows]
    tenth = sum(saved >= _waits(row, VERSIONS[0]) / 10 for row, saved in zip(rows, spared, strict=True))
    shares = [share for row in rows if (share := _recovered_share(row, "waits")) is not None]
    recovered = sum(share >= _ENOUGH for share in shares)
    return (
        f"Safe fixes alone spare at least a tenth of the GPU syncs of {tenth} of {len(rows)} programs.\n"
        f"All fixes spare at least {_ENOUGH:.0%} of what the version by hand spares in {recovered} of {len(shares)}."
    )


def _waits(row: Mapping[str, dict], version: str) -> int:
    return row["events"][row["text_of"][version]]["waits"]


def _counts(row: Mapping[str, dict], kind: str) -> str:
    return " → ".join(f"{row['events'][text][kind]:,}" for text in row["text_of"].values())


def _recovered(row: Mapping[str, dict]) -> str:
    """The shares of the waits and launches saved by hand that all fixes save."""
    shares = (_recovered_share(row, kind) for kind in ("waits", "launches"))
    return ", ".join("-" if share is None else f"{share:.0%}" for share in shares)


def _recovered_share(row: Mapping[str, dict], kind: str) -> float | None:
    """The share of what the version by hand saves that all fixes save; ``None`` where it saves nothing."""
    names = [row["text_of"][name] for name in (VERSIONS[0], "all", BY_HAND)]
    before, fixed, by_hand = (row["events"][name][kind] for name in names)
    return (before - fixed) / (before - by_hand) if before > by_hand else None


def _gain(row: Mapping[str, dict], name: str) -> str:
    """How many times faster a version is than the program as it is, with the interval."""
    from torchlint.verify.metric import compare

    text, first = row["text_of"].get(name), VERSIONS[0]
    if text is None:
        return ""
    if text == first:
        return "no fix"
    if text not in row["steps_per_cpu_second"]:
        return "counted"
    gain = compare(row["steps_per_cpu_second"][first], row["steps_per_cpu_second"][text], lower=False)
    return f"{gain.ratio:.2f}x ({gain.low:.2f}-{gain.high:.2f})"


def machine() -> str:
    """The processor and the versions, in one line."""
    from torchlint.bench.host import processor

    return f"{processor()}, one thread, Python {platform.python_version()}, torch {version('torch')}"


def main(arguments: Sequence[str]) -> int:
    """Measure the programs, and print the table or write it."""
    if arguments[:1] == [_TRAIN]:
        train(arguments[1], arguments[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--programs", type=lambda text: text.split(","), default=list(PROGRAMS))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--counts", action="store_true")
    options = parser.parse_args(arguments)
    if unknown := set(options.programs) - PROGRAMS.keys():
        parser.error(f"no program is called {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    data: dict = {"rounds": options.rounds, "programs": {}}
    if DATA.exists() and (options.write or options.counts):
        known = json.loads(DATA.read_text(encoding="utf-8"))
        data = known if known["rounds"] == options.rounds else data
    for name in options.programs:
        known = data["programs"].get(name)
        if options.counts and known is None:
            parser.error(f"{name} was not measured yet")
        found = recounted(name, known) if options.counts else measured(name, options.rounds)
        data["programs"][name] = found
        medians = {text: statistics.median(speeds) for text, speeds in found["steps_per_cpu_second"].items()}
        print(name, {text: f"{speed:.1f}" for text, speed in medians.items()}, found["events"], flush=True)
        if options.write:
            DATA.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
            PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), "gain", table(data)), encoding="utf-8")
    if not options.write:
        print(table(data))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
