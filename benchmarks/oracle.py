"""Train on the counted device, and hold every line that forces a GPU sync against what torchlint says of it.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from accuracy import codes, markdown
from marked import written

from torchlint.count.join import covers, joined, rows_without_finding
from torchlint.count.result import CountedLine, LineStatus
from torchlint.count.run import Tally, counting, tally_of
from torchlint.engine.needed import reasons as needs
from torchlint.engine.run import EngineRun
from torchlint.rule import Finding
from torchlint.rule.terms import RuleSet
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
WRONG = "wrong"
REPORTED = (LineStatus.FIXABLE.value, LineStatus.REPORTED.value)
NEEDLESS = (*REPORTED, LineStatus.MISSED.value, LineStatus.UNCOVERED.value)


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


class Ran(NamedTuple):
    """How often a line ran, and in how many of the intervals between two updates."""

    times: int = 0
    updates: int = 0


@dataclass(frozen=True)
class Clocks:
    """The environment steps and the updates of a run."""

    steps: int
    updates: int

    def often(self, ran: Ran) -> bool:
        """Whether a line ran at most steps, or between most updates."""
        by_step = bool(self.steps) and ran.times >= OFTEN * self.steps
        return by_step or (bool(self.updates) and ran.updates >= OFTEN * self.updates)

    def as_often(self, ran: Ran, waits: int) -> bool:
        """Whether a line ran often, and as a rule waited then."""
        return self.often(ran) and waits >= OFTEN * min(ran.times, max(ran.updates, self.steps))


@dataclass(frozen=True)
class Counted:
    """What a program did: its clocks, its events by line, how often each row of a file ran, whether results agree.

    ``validated``: by file and row, which lines let distributions validate that which other lines built.
    """

    clocks: Clocks
    tally: Tally
    rows: Mapping[str, Mapping[int, Ran]]
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
    "PPO in one file": Program(["examples/single_file"], SINGLE / "ppo.py", ("--steps", "2048"), gymnasium, ON_CUDA),
    "SB3 PPO": trained("stable_baselines3", "ppo", 1024),
    "SB3 PPO with SDE": trained("stable_baselines3", "ppo-sde", 512),
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
    "PFRL A2C": trained("pfrl", "pfrl-a2c", 300),
    "PFRL TRPO": trained("pfrl", "pfrl-trpo", 512),
    "PFRL IQN": trained("pfrl", "pfrl-iqn", 200),
    "PFRL CategoricalDQN": trained("pfrl", "pfrl-categorical-dqn", 300),
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
    rows = {file: {int(row): Ran(*ran) for row, ran in told.items()} for file, told in found["rows"].items()}
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


def held(project: str, folder: Path, runs: Mapping[str, Counted]) -> tuple[list[Line], list[Held], dict[str, int]]:
    """Lint a project as ``torchlint count`` does, and hold its lines and findings against runs of programs.

    Returns:
        The lines that wait; the findings whose lines ran; and how many lines never wait and launch more than once each
        time that they run, and how many of these are reported.
    """
    folder = folder.resolve()
    root = folder.parent if (folder / "__init__.py").exists() else folder
    settings = Settings(root=root, isolated=True, device="cuda", preview=True)
    run = EngineRun.prepare([folder], settings, {})
    findings = run.checked().findings
    own = {name: within(counted.tally, folder) for name, counted in runs.items()}
    silent: dict[str, dict[int, bool]] = {}
    for tally in own.values():
        for file, rows in rows_without_finding(tally, root, findings).items():
            for row, sends in rows.items():
                silent.setdefault(file, {})[row] = sends and silent.get(file, {}).get(row, True)
    needed = needs(run, silent)
    lines: dict[tuple[str, int], dict[str, CountedLine]] = {}
    launching: dict[tuple[str, int], bool] = {}
    for name, tally in own.items():
        for line in joined(tally, root, findings, needed).lines:
            ran = runs[name].rows.get(str(root / line.path), {}).get(line.row, Ran())
            if runs[name].clocks.as_often(ran, line.events.waits):
                lines.setdefault((line.path, line.row), {})[name] = line
            elif runs[name].clocks.often(ran) and line.events.launches > ran.times:
                launching[line.path, line.row] = bool(line.findings)
    judging = Judging(project, root, runs, own, findings)
    waiting = [judging.line(by_program) for _, by_program in sorted(lines.items())]
    chosen = [judging.finding(finding) for finding in findings if finding.code in HELD]
    alone = [reported for place, reported in launching.items() if place not in lines]
    return waiting, [each for each in chosen if each.ran], {"lines": len(alone), "reported": sum(alone)}


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
        order = [LineStatus.UNCOVERED, LineStatus.MISSED, LineStatus.NEEDED, LineStatus.REPORTED, LineStatus.FIXABLE]
        line = min(lines.values(), key=lambda line: order.index(line.status))
        status, why, found = line.status.value, line.why, {finding.code for finding in line.findings}
        if line.status in (LineStatus.UNCOVERED, LineStatus.MISSED) and self._is_validated(line):
            status, why, found = LineStatus.REPORTED.value, "where the distribution is built", {VALIDATION}
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
            hot = max((rows.get(row, Ran()) for row in range(finding.start.row, finding.end.row + 1)), default=Ran())
            if not counted.clocks.often(hot):
                continue
            lines = self._own[name].lines
            events = [lines[place] for place in self._caused(finding, absolute, name)]
            ran[name], waited[name] = hot.times, sum(max(each.waits, each.copies) for each in events)
            confirmed = confirmed or counted.clocks.as_often(hot, waited[name])
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


def as_data(
    runs: Mapping[str, Counted],
    lines: Sequence[Line],
    findings: Sequence[Held],
    launching: Mapping[str, Mapping[str, int]],
) -> dict:
    """Return what is kept of the figures."""
    programs = {}
    for name, counted in runs.items():
        total = counted.tally.totals()
        events = {"waits": total.waits, "launches": total.launches, "copies": total.copies}
        clocks = {"steps": counted.clocks.steps, "updates": counted.clocks.updates}
        programs[name] = {**clocks, **events, "agrees": counted.agrees}
    rows = {"lines": list(map(vars, lines)), "findings": list(map(vars, findings))}
    return {"programs": programs, "launching": launching, **rows}


def of_data(data: Mapping) -> tuple[list[Line], list[Held]]:
    """Return the lines and the findings of the kept figures."""
    lines = [Line(**{**row, "codes": tuple(row["codes"])}) for row in data["lines"]]
    return lines, [Held(**row) for row in data["findings"]]


def kept(data: Mapping) -> str:
    """Return the text of the file of figures, a program, line or finding on each line."""
    programs = ",\n".join(f"  {json.dumps(name)}: {json.dumps(told)}" for name, told in data["programs"].items())
    lines, findings = (",\n".join(f"  {json.dumps(row)}" for row in data[part]) for part in ("lines", "findings"))
    launching = json.dumps(data["launching"])
    head = f'"programs": {{\n{programs}\n }},\n "launching": {launching}'
    return f'{{\n {head},\n "lines": [\n{lines}\n ],\n "findings": [\n{findings}\n ]\n}}\n'


def reasons() -> dict[tuple[str, str, int, str], tuple[str, str]]:
    """Return, by project, file, row and status, the rule that is about a line, or none, and why it is as it is."""
    with REASONS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["project"], row["file"], int(row["row"]), row["status"]): (row["rule"], row["why"]) for row in rows}


def wanting(lines: Sequence[Line], findings: Sequence[Held]) -> dict[tuple[str, str, int, str], Line | Held]:
    """Return what needs an explanation: lines that wait for no known reason unreported, and findings that are wrong."""
    silent = {(*line.place, line.status): line for line in lines if line.needless and not line.reported}
    wrong = {(*each.place, f"{WRONG} {each.code}"): each for each in findings if not each.confirmed}
    return {**silent, **wrong}


def problems(data: Mapping, why: Mapping[tuple[str, str, int, str], tuple[str, str]]) -> Iterator[str]:
    """Say what lacks an explanation, which explanations are out of date, and which programs ended otherwise."""
    wanted = wanting(*of_data(data))
    yield from (f"not explained: {' '.join(map(str, key))}" for key in sorted(wanted.keys() - why.keys()))
    yield from (f"no longer so: {' '.join(map(str, key))}" for key in sorted(why.keys() - wanted.keys()))
    for name, told in data["programs"].items():
        if not told["agrees"]:
            yield f"other parameters than on the CPU: {name}"


# text -----------------------------------------------------------------------------------------------------------------


def text(data: Mapping, why: Mapping[tuple[str, str, int, str], tuple[str, str]]) -> str:
    """Return the section of the page."""
    lines, findings = of_data(data)
    return "\n\n".join(
        (
            f"```\n{COMMAND}\n```",
            summary(data, lines, findings),
            programs(data),
            "The lines that force a GPU sync at most steps or updates of some program:",
            by_project(lines),
            "By rule: lines that are reported, lines that are not and that the rule is about, and findings whose lines "
            "ran at most steps or updates:",
            by_rule(lines, findings, why),
            "Why the GPU syncs of the needed lines have to stay:",
            by_need(lines),
            "The lines that are not reported, and the findings that are wrong:",
            explained(lines, findings, why),
        )
    )


def share(part: int, whole: int) -> str:
    """Return a share with two digits, a dash of nothing."""
    return f"{part / whole:.2f}" if whole else "-"


def summary(data: Mapping, lines: Sequence[Line], findings: Sequence[Held]) -> str:
    """Return the figures over all programs."""
    needless = [line for line in lines if line.needless]
    found = [line for line in needless if line.reported]
    default = [line for line in found if line.set == "default"]
    confirmed = sum(each.confirmed for each in findings)
    many, marked = (sum(told[name] for told in data["launching"].values()) for name in ("lines", "reported"))
    alike = sum(told["agrees"] for told in data["programs"].values())
    return (
        f"{len(lines)} lines force a GPU sync in {len(data['programs'])} programs, {len(lines) - len(needless)} of "
        f"them because the host needs it. Of the other {len(needless)} the default rules report {len(default)} "
        f"({share(len(default), len(needless))}), with the rules in preview {len(found)} "
        f"({share(len(found), len(needless))}). {confirmed} of {len(findings)} findings are confirmed "
        f"({share(confirmed, len(findings))}). {alike} of {len(data['programs'])} programs end with the parameters, "
        f"bit for bit, with which they end on the CPU. {many} more lines force none and launch more than once each "
        f"time that they run; {marked} of them have a finding. Whether one launch would do is not judged here."
    )


def programs(data: Mapping) -> str:
    """Return a row for each program."""
    clocks = ("steps", "updates", "waits", "launches", "copies")
    rows = [
        [name, *(f"{told[clock]:,}" for clock in clocks), "yes" if told["agrees"] else "no"]
        for name, told in data["programs"].items()
    ]
    counts = ("steps", "updates", "GPU syncs", "launches", "copies")
    return markdown(["program", *counts, "parameters as on the CPU"], rows)


def by_project(lines: Sequence[Line]) -> str:
    """Return how many lines have which status, for each project and for all."""
    rows = []
    for project in (*dict.fromkeys(line.project for line in lines), ""):
        own = [line for line in lines if project in ("", line.project)]
        counts = Counter(line.set if line.reported else line.status for line in own)
        needless = sum(line.needless for line in own)
        cells = (counts[name] for name in ("needed", "default", "preview", "missed", "uncovered"))
        found = counts["default"] + counts["preview"]
        rows.append([project or "all", str(len(own)), *map(str, cells), share(found, needless)])
    header = ["project", "lines", "needed", "reported", "by preview rules", "missed", "not covered", "recall"]
    return markdown(header, rows)


def by_rule(
    lines: Sequence[Line], findings: Sequence[Held], why: Mapping[tuple[str, str, int, str], tuple[str, str]]
) -> str:
    """Return recall and precision of each rule that reports a line, or is said to be about one that is missed."""
    reported = Counter(code for line in lines if line.reported for code in line.codes)
    missed = Counter(rule for key, (rule, _) in why.items() if not key[3].startswith(WRONG))
    ran = Counter(each.code for each in findings)
    confirmed = Counter(each.code for each in findings if each.confirmed)
    rows = []
    for code in sorted({*reported, *missed, *ran} - {""}):
        recall = share(reported[code], reported[code] + missed[code])
        held_ = (str(ran[code]), str(confirmed[code]), share(confirmed[code], ran[code])) if ran[code] else ("-",) * 3
        rows.append([code, str(reported[code]), str(missed[code]), recall, *held_])
    rows.append(["no rule", "-", str(missed[""]), "-", "-", "-", "-"])
    return markdown(["rule", "reported", "not reported", "recall", "findings", "confirmed", "precision"], rows)


def by_need(lines: Sequence[Line]) -> str:
    """Return how many lines are needed for which reason."""
    counts = Counter(line.why for line in lines if line.status == LineStatus.NEEDED.value)
    return markdown(["why", "lines"], [[why, str(count)] for why, count in counts.most_common()])


def explained(
    lines: Sequence[Line], findings: Sequence[Held], why: Mapping[tuple[str, str, int, str], tuple[str, str]]
) -> str:
    """Return every line that is not reported, and every finding that is wrong, with its explanation."""
    by_reason: dict[tuple[str, str, str], list[str]] = {}
    for key, each in wanting(lines, findings).items():
        rule, reason = why.get(key, ("", "not explained"))
        place = f"`{each.function}` ({each.project}, {each.file.rpartition('/')[2]}:{each.row})"
        by_reason.setdefault((key[3], rule or "none", reason), []).append(place)
    words = {LineStatus.UNCOVERED.value: "not covered"}
    rows = [
        [words.get(status, status), rule, reason, ", ".join(each)] for (status, rule, reason), each in by_reason.items()
    ]
    return markdown(["what", "rule", "why", "where"], rows)


def main() -> int:
    """Run, hold, and show or write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="PAGE", type=Path)
    parser.add_argument("--only", metavar="PROGRAM", nargs="+", choices=PROGRAMS, default=[])
    options = parser.parse_args()
    if options.only and options.write:
        parser.error("--write needs all programs")
    runs = {}
    for name in options.only or PROGRAMS:
        print(f"==> running: {name}", file=sys.stderr)
        runs[name] = run(PROGRAMS[name])
    lines, findings, launching = [], [], {}
    for project, folder in PROJECTS.items():
        using = {name: counted for name, counted in runs.items() if project in PROGRAMS[name].projects}
        if using:
            print(f"==> linting: {project}", file=sys.stderr)
            found = held(project, folder(), using)
            lines += found[0]
            findings += found[1]
            launching[project] = found[2]
    data, why = as_data(runs, lines, findings, launching), reasons()
    if options.write is None:
        print(text(data, why))
    else:
        DATA.write_text(kept(data), encoding="utf-8")
        page = options.write.read_text(encoding="utf-8")
        options.write.write_text(written(page, "oracle", text(data, why)), encoding="utf-8")
    found = list(problems(data, why))
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
