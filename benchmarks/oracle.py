"""Train on the counted device, and hold every line that makes the host wait against what torchlint says of it.

    python benchmarks/oracle.py [--write docs/accuracy.md] [--only PROGRAM ...]

Each program is short and seeded, and runs twice: on the plain CPU and on the counted device, where it must end with the
same parameters. With ``--write`` the figures go to ``docs/benchmarks/oracle.json`` and the text that is made of them
between the markers of the page; without, the text is printed. ``benchmarks/oracle.csv`` explains the waits that no
finding reports although the host does not need them, and the findings on lines that did not wait. The exit status is
1 when one has no explanation there, when an explanation has no such line, or when parameters differ.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from accuracy import codes, markdown, written

from torchlint.count.join import covers, joined, rows_without_finding
from torchlint.count.result import CountedLine, Status
from torchlint.count.run import Tally, counting, tally_of
from torchlint.engine.needed import reasons as needs
from torchlint.engine.run import check
from torchlint.rule import Finding
from torchlint.rule.base import RuleSet
from torchlint.settings.model import Settings

ROOT = Path(__file__).resolve().parent.parent
LINES = ROOT / "benchmarks" / "lines.py"
DATA = ROOT / "docs" / "benchmarks" / "oracle.json"
REASONS = ROOT / "benchmarks" / "oracle.csv"
COMMAND = "make oracle"
# A line is hot that runs at least once in three steps or updates: some networks learn at every second update alone.
OFTEN = 1 / 3
# The rules that say that the host waits, or that something is copied, on their lines.
VALIDATION = "TL205"
HELD = ("TL107", "TL202", "TL203", "TL204", "TL205", "TL207", "TL208", "TL210")
REPORTED = (Status.FIXABLE.value, Status.REPORTED.value)
NEEDLESS = (*REPORTED, Status.MISSED.value, Status.UNCOVERED.value)


@dataclass(frozen=True)
class Program:
    """A training program: the projects whose lines count, its script with arguments, what it imports from.

    ``on_device`` are more arguments of the run on the counted device.
    """

    projects: Sequence[str]
    script: Path
    arguments: Sequence[str]
    path: Callable[[], Sequence[Path]]
    on_device: Sequence[str] = ()


@dataclass(frozen=True)
class Clocks:
    """The environment steps and the updates of a run."""

    steps: int
    updates: int

    def often(self, times: float) -> bool:
        """Whether what happened so many times happened at most steps or updates."""
        return any(clock and times >= OFTEN * clock for clock in (self.steps, self.updates))


@dataclass(frozen=True)
class Counted:
    """What a program did: its clocks, its events by line, how often each row of a file ran, whether results agree.

    ``validated``: by file and row, which lines let distributions validate that which other lines built.
    """

    clocks: Clocks
    tally: Tally
    rows: Mapping[str, Mapping[int, int]]
    agrees: bool
    validated: Sequence[tuple[str, int, str, int]] = ()


@dataclass(frozen=True)
class Line:
    """A line that makes the host wait, at most steps or updates of some program.

    ``set`` says where its findings come from: the default rules, or those in preview. ``waits`` by program.
    """

    project: str
    file: str
    row: int
    function: str
    status: str
    codes: tuple[str, ...]
    set: str
    why: str
    waits: Mapping[str, int]

    @property
    def place(self) -> tuple[str, str, int]:
        """Where it is."""
        return self.project, self.file, self.row

    @property
    def reported(self) -> bool:
        """Whether a finding is on it."""
        return self.status in REPORTED

    @property
    def needless(self) -> bool:
        """Whether no reason is known why the host has to wait there."""
        return self.status in NEEDLESS


@dataclass(frozen=True)
class Held:
    """A finding whose line ran at most steps or updates of some program.

    ``ran`` and ``waits`` say, by program, how often the line ran, and how often it waited or copied.
    """

    project: str
    file: str
    row: int
    function: str
    code: str
    set: str
    confirmed: bool
    ran: Mapping[str, int] = field(default_factory=dict)
    waits: Mapping[str, int] = field(default_factory=dict)

    @property
    def place(self) -> tuple[str, str, int]:
        """Where it is."""
        return self.project, self.file, self.row


# programs -------------------------------------------------------------------------------------------------------------


def package(name: str) -> Callable[[], Path]:
    """The sources of a pinned package; ``tests/packages`` has to be on the path."""

    def folder() -> Path:
        from libraries import version

        return version(name, "original") / name

    return folder


def trained(name: str, algorithm: str, steps: int, *with_it: str) -> Program:
    """A run of ``tests/packages/train.py`` with a package, on others of which it builds."""
    packages = (name, *with_it)

    def path() -> list[Path]:
        from libraries import site

        return [*(package(each)().parent for each in packages), TRAINING.parent, site()]

    return Program([TITLES[each] for each in packages], TRAINING, (name, algorithm, str(steps)), path)


def gymnasium() -> list[Path]:
    """What the packages need besides torch and NumPy, Gymnasium among it."""
    from libraries import site

    return [site()]


TRAINING = ROOT / "tests" / "packages" / "train.py"
AGENT = ROOT / "examples" / "agent"
SINGLE = ROOT / "examples" / "single_file"
TITLES = {"stable_baselines3": "Stable-Baselines3", "sb3_contrib": "SB3-Contrib", "pfrl": "PFRL", "skrl": "skrl"}
PROJECTS: Mapping[str, Callable[[], Path]] = {
    "examples/agent": lambda: AGENT,
    "examples/single_file": lambda: SINGLE,
    **{title: package(name) for name, title in TITLES.items()},
}
ON_CUDA = ("--device", "cuda")
PROGRAMS = {
    "DQN on a grid": Program(["examples/agent"], AGENT / "train.py", ("--updates", "200"), lambda: [AGENT], ON_CUDA),
    "PPO in one file": Program(
        ["examples/single_file"], SINGLE / "ppo.py", ("--steps", "2048"), gymnasium, ON_CUDA
    ),
    "SB3 PPO": trained("stable_baselines3", "ppo", 1024),
    "SB3 A2C": trained("stable_baselines3", "a2c", 500),
    "SB3 DQN": trained("stable_baselines3", "dqn", 800),
    "SB3 SAC": trained("stable_baselines3", "sac", 400),
    "SB3 TD3": trained("stable_baselines3", "td3", 400),
    "Contrib RecurrentPPO": trained("sb3_contrib", "recurrent-ppo", 512, "stable_baselines3"),
    "Contrib QRDQN": trained("sb3_contrib", "qrdqn", 800, "stable_baselines3"),
    "Contrib TQC": trained("sb3_contrib", "tqc", 400, "stable_baselines3"),
    "Contrib TRPO": trained("sb3_contrib", "trpo", 512, "stable_baselines3"),
    "PFRL DQN": trained("pfrl", "pfrl-dqn", 400),
    "PFRL SAC": trained("pfrl", "pfrl-sac", 300),
    "PFRL PPO": trained("pfrl", "pfrl-ppo", 512),
    "PFRL TD3": trained("pfrl", "pfrl-td3", 300),
    "skrl PPO": trained("skrl", "skrl-ppo", 256),
    "skrl DQN": trained("skrl", "skrl-dqn", 300),
    "skrl SAC": trained("skrl", "skrl-sac", 300),
    "skrl TD3": trained("skrl", "skrl-td3", 300),
}


def run(program: Program) -> Counted:
    """Run a program on the CPU and on the counted device. Raises ``CalledProcessError`` when one fails."""
    folders = [PROJECTS[name]().resolve() for name in program.projects]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, program.path())),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    plain = noted(program, "", (), environment)
    with tempfile.TemporaryDirectory() as reports:
        counted = counting({**environment, "TRAIN_DEVICE": "cuda"}, reports, folders, None, None)
        found = noted(program, os.pathsep.join(map(str, folders)), program.on_device, counted)
        tally = tally_of(reports, [str(program.script)], 0)
    rows = {file: {int(row): times for row, times in told.items()} for file, told in found["rows"].items()}
    agrees = found["optimizers"] > 0 and found["digest"] == plain["digest"]
    validated = [(file, row, made, made_row) for file, row, made, made_row in found["validated"]]
    return Counted(Clocks(tally.steps, found["updates"]), tally, rows, agrees, validated)


def noted(program: Program, folders: str, more: Sequence[str], environment: Mapping[str, str]) -> dict:
    """Return what ``lines.py`` notes of a run."""
    with tempfile.TemporaryDirectory() as work:
        out = Path(work, "noted.json")
        command = [sys.executable, "-B", LINES, out, folders, program.script, *program.arguments, *more]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, cwd=work)
        return json.loads(out.read_text(encoding="utf-8"))


# classification -------------------------------------------------------------------------------------------------------


def held(project: str, folder: Path, runs: Mapping[str, Counted]) -> tuple[list[Line], list[Held]]:
    """Lint a project as ``torchlint count`` does, and hold its lines and findings against runs of programs."""
    folder = folder.resolve()
    root = folder.parent if (folder / "__init__.py").exists() else folder
    settings = Settings(root=root, isolated=True, device="cuda", preview=True)
    findings = check([folder], settings).findings
    own = {name: within(counted.tally, folder) for name, counted in runs.items()}
    silent: dict[str, dict[int, bool]] = {}
    for tally in own.values():
        for file, rows in rows_without_finding(tally, root, findings).items():
            for row, sends in rows.items():
                silent.setdefault(file, {})[row] = sends and silent.get(file, {}).get(row, True)
    needed = needs([folder], settings, silent)
    lines: dict[tuple[str, int], dict[str, CountedLine]] = {}
    for name, tally in own.items():
        for line in joined(tally, root, findings, needed).lines:
            ran = runs[name].rows.get(str(root / line.path), {}).get(line.row, 0)
            if runs[name].clocks.often(min(ran, line.events.waits)):
                lines.setdefault((line.path, line.row), {})[name] = line
    judging = Judging(project, root, runs, own, findings)
    waiting = [judging.line(by_program) for _, by_program in sorted(lines.items())]
    chosen = [judging.finding(finding) for finding in findings if finding.code in HELD]
    return waiting, [each for each in chosen if each.ran]


def within(tally: Tally, folder: Path) -> Tally:
    """Return the part of a tally that belongs to a folder."""
    base = f"{folder}{os.sep}"
    lines = {place: events for place, events in tally.lines.items() if place[0].startswith(base)}
    return Tally(lines, {place: tally.waiting[place] for place in lines})


class Judging:
    """Holds the lines and the findings of one project against runs of programs."""

    def __init__(
        self,
        project: str,
        root: Path,
        runs: Mapping[str, Counted],
        own: Mapping[str, Tally],
        findings: Sequence[Finding],
    ) -> None:
        """Take the runs, the part of their tallies that belongs to the project, and all findings in the project."""
        self._project = project
        self._root = root
        self._runs = runs
        self._own = own
        self._functions = Functions(root)
        self._default = frozenset(codes(RuleSet.DEFAULT))
        self._building = [finding for finding in findings if finding.code == VALIDATION]

    def line(self, lines: Mapping[str, CountedLine]) -> Line:
        """Return a line that waits, given what it is in each program; where it is worst, that counts."""
        order = [Status.UNCOVERED, Status.MISSED, Status.NEEDED, Status.REPORTED, Status.FIXABLE]
        line = min(lines.values(), key=lambda line: order.index(line.status))
        status, why, found = line.status.value, line.why, {finding.code for finding in line.findings}
        if line.status in (Status.UNCOVERED, Status.MISSED) and self._is_validated(line):
            status, why, found = Status.REPORTED.value, "where the distribution is built", {VALIDATION}
        kind = ("default" if self._default & found else "preview") if found else ""
        counts = {name: each.events.waits for name, each in lines.items()}
        function = self._functions.at(line.path, line.row)
        return Line(self._project, line.path, line.row, function, status, tuple(sorted(found)), kind, why, counts)

    def _is_validated(self, line: CountedLine) -> bool:
        """Whether a line lets distributions validate that are all reported where they are built."""
        built = {
            (made, made_row)
            for counted in self._runs.values()
            for file, row, made, made_row in counted.validated
            if (file, row) == (str(self._root / line.path), line.row)
        }
        return bool(built) and all(
            any(str(self._root / finding.path) == file and covers(finding, row) for finding in self._building)
            for file, row in built
        )

    def finding(self, finding: Finding) -> Held:
        """Return what the programs say of a finding; nothing in ``ran``: its line was hot in none."""
        ran, waited, confirmed = {}, {}, False
        absolute = str(self._root / finding.path)
        for name, counted in self._runs.items():
            rows = counted.rows.get(absolute, {})
            times = max((rows.get(row, 0) for row in range(finding.start.row, finding.end.row + 1)), default=0)
            if not counted.clocks.often(times):
                continue
            lines = self._own[name].lines
            events = [lines[place] for place in self._caused(finding, absolute, name)]
            ran[name], waited[name] = times, sum(max(each.waits, each.copies) for each in events)
            confirmed = confirmed or counted.clocks.often(waited[name])
        kind = "default" if finding.code in self._default else "preview"
        function = self._functions.at(finding.path, finding.start.row)
        row = finding.start.row
        return Held(self._project, finding.path, row, function, finding.code, kind, confirmed, ran, waited)

    def _caused(self, finding: Finding, absolute: str, program: str) -> list[tuple[str, int]]:
        """Return the lines with events that a finding is about; of a distribution also those that let it validate."""
        places = [place for place in self._own[program].lines if place[0] == absolute and covers(finding, place[1])]
        if finding.code == VALIDATION:
            validating = {
                (file, row)
                for file, row, made, made_row in self._runs[program].validated
                if made == absolute and covers(finding, made_row)
            }
            places += sorted(validating.intersection(self._own[program].lines).difference(places))
        return places


class Functions:
    """The names of the functions of a project, by row."""

    def __init__(self, folder: Path) -> None:
        """Read the files of a folder when they are asked for."""
        self._folder = folder
        self._files: dict[str, list[tuple[int, int, str]]] = {}

    def at(self, file: str, row: int) -> str:
        """Return the qualified name of the innermost function around a row, ``<module>`` outside of all."""
        if file not in self._files:
            tree = ast.parse((self._folder / file).read_text(encoding="utf-8"))
            self._files[file] = list(_spans(tree, ""))
        inside = [span for span in self._files[file] if span[0] <= row <= span[1]]
        return max(inside, key=lambda span: span[0], default=(0, 0, "<module>"))[2]


def _spans(tree: ast.AST, prefix: str) -> Iterator[tuple[int, int, str]]:
    for node in ast.iter_child_nodes(tree):
        name = prefix
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}.{node.name}" if prefix else node.name
            if not isinstance(node, ast.ClassDef):
                yield node.lineno, node.end_lineno or node.lineno, name
        yield from _spans(node, name)


# data -----------------------------------------------------------------------------------------------------------------


def as_data(runs: Mapping[str, Counted], lines: Sequence[Line], findings: Sequence[Held]) -> dict:
    """Return what is kept of the figures."""
    programs = {}
    for name, counted in runs.items():
        total = counted.tally.totals()
        events = {"waits": total.waits, "launches": total.launches, "copies": total.copies}
        clocks = {"steps": counted.clocks.steps, "updates": counted.clocks.updates}
        programs[name] = {**clocks, **events, "agrees": counted.agrees}
    return {"programs": programs, "lines": list(map(vars, lines)), "findings": list(map(vars, findings))}


def of_data(data: Mapping) -> tuple[list[Line], list[Held]]:
    """Return the lines and the findings of the kept figures."""
    lines = [Line(**{**row, "codes": tuple(row["codes"])}) for row in data["lines"]]
    return lines, [Held(**row) for row in data["findings"]]


def kept(data: Mapping) -> str:
    """Return the text of the file of figures, a program, line or finding on each line."""
    programs = ",\n".join(f"  {json.dumps(name)}: {json.dumps(told)}" for name, told in data["programs"].items())
    lines, findings = (",\n".join(f"  {json.dumps(row)}" for row in data[part]) for part in ("lines", "findings"))
    return f'{{\n "programs": {{\n{programs}\n }},\n "lines": [\n{lines}\n ],\n "findings": [\n{findings}\n ]\n}}\n'


def main() -> int:
    """Run, hold, and show or write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="PAGE", type=Path)
    parser.add_argument("--only", metavar="PROGRAM", nargs="+", choices=PROGRAMS, default=[])
    options = parser.parse_args()
    runs = {}
    for name in options.only or PROGRAMS:
        print(f"==> running: {name}", file=sys.stderr)
        runs[name] = run(PROGRAMS[name])
        print(f"    {runs[name].clocks} agrees={runs[name].agrees}", file=sys.stderr)
    lines, findings = [], []
    for project, folder in PROJECTS.items():
        using = {name: counted for name, counted in runs.items() if project in PROGRAMS[name].projects}
        if using:
            print(f"==> linting: {project}", file=sys.stderr)
            found = held(project, folder(), using)
            lines += found[0]
            findings += found[1]
    data = as_data(runs, lines, findings)
    print(kept(data))
    return 0


if __name__ == "__main__":
    sys.exit(main())
