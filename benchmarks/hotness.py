"""Trains under a counter, and compares how often functions ran with how often torchlint says that they run.

    python benchmarks/hotness.py [--write docs/accuracy.md]

Each run is short and seeded, on the CPU. With ``--write`` the figures go to ``docs/benchmarks/hotness.json`` and the
text that is made of them between the markers of the page; without, the text is printed. Why a function that ran seldom
is taken for hot, or one that ran often for cold, is told by ``benchmarks/hotness.csv``; the exit status is 1 when one
has no explanation there, or an explanation no such function.
"""

from __future__ import annotations

import argparse
import ast
import csv
import enum
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from accuracy import markdown
from marked import written

from torchlint.engine.analysis import analyse, parse
from torchlint.facts.hotness.hotness import Heat
from torchlint.rule import Frequency
from torchlint.settings.model import Settings
from torchlint.sources.decode import read_source
from torchlint.sources.walk import python_files

ROOT = Path(__file__).resolve().parent.parent
COUNTING = ROOT / "benchmarks" / "counting.py"
DATA = ROOT / "docs" / "benchmarks" / "hotness.json"
REASONS = ROOT / "benchmarks" / "hotness.csv"
COMMAND = "make hotness"
CARTPOLE = "gymnasium.envs.classic_control.cartpole:CartPoleEnv"
PENDULUM = "gymnasium.envs.classic_control.pendulum:PendulumEnv"
# A function runs per step, or per update, when at least this share of them came with a call.
OFTEN = 0.5
# What ran between so few steps and updates ran when something began or ended.
FEW = 2


class Measured(enum.IntEnum):
    """How often a function ran."""

    NEVER = 0
    ONCE = 1
    SELDOM = 2
    UPDATE = 3
    STEP = 4


PHRASES = {
    Measured.NEVER: "never",
    Measured.ONCE: "at the start or end",
    Measured.SELDOM: "now and then",
    Measured.UPDATE: "per update",
    Measured.STEP: "per step",
}


@dataclass(frozen=True)
class Run:
    """A training run: its script with arguments, the classes whose ``step`` and ``reset`` are counted."""

    script: Path
    arguments: Sequence[str]
    stepped: str
    reset: str


@dataclass(frozen=True)
class Code:
    """Code that is linted as one project and trained with; what is needed first on the path."""

    folder: Callable[[], Path]
    runs: Mapping[str, Run]
    path: Callable[[], Sequence[Path]] = lambda: ()


@dataclass(frozen=True)
class Ran:
    """What a run counted of one function, and how many steps and updates the run had."""

    calls: int
    steps: int
    updates: int
    all_steps: int
    all_updates: int

    @property
    def often(self) -> Measured:
        """The most frequent that can be said of it."""
        if self.steps >= OFTEN * self.all_steps:
            return Measured.STEP
        if self.updates >= OFTEN * self.all_updates:
            return Measured.UPDATE
        return Measured.SELDOM if max(self.steps, self.updates) > FEW else Measured.ONCE

    @property
    def each_time(self) -> float:
        """The calls between two steps, or updates, that came with one."""
        return self.calls / (self.steps if self.often is Measured.STEP else self.updates)

    def fits(self, predicted: Frequency) -> bool:
        """Whether it ran as often as predicted; where every step has an update, one as well as the other is right."""
        often = self.often
        if predicted is Frequency.INNER:
            return often >= Measured.UPDATE and self.each_time >= 2
        if predicted is Frequency.UPDATE and often is Measured.STEP:
            return self.updates >= OFTEN * self.all_updates and self.steps <= 1.5 * self.all_updates
        return often in {
            Frequency.ONCE: (Measured.ONCE, Measured.SELDOM),
            Frequency.EPISODE: (Measured.SELDOM,),
            Frequency.UPDATE: (Measured.UPDATE,),
            Frequency.STEP: (Measured.STEP,),
        }.get(predicted, ())


@dataclass(frozen=True)
class Function:
    """A function of some code: how often it is said to run, and what each run counted, by name of the run.

    ``abstract`` when it is declared so, or does nothing but raise or pass.
    """

    code: str
    file: str
    name: str
    predicted: Frequency
    abstract: bool
    ran: Mapping[str, Ran] = field(default_factory=dict)

    @property
    def most(self) -> Ran | None:
        """The run in which it ran most often."""
        return max(self.ran.values(), key=lambda ran: (ran.often, ran.fits(self.predicted)), default=None)

    @property
    def hot(self) -> bool:
        """Whether rules take it for hot."""
        return self.predicted >= Frequency.UPDATE

    def misjudged(self, ran: Ran | None) -> bool:
        """Whether it is taken for hot and ran seldom, or for cold and ran often."""
        return ran is not None and self.hot is not (ran.often >= Measured.UPDATE)


# counting -------------------------------------------------------------------------------------------------------------


def stable_baselines() -> Path:
    """The sources of the pinned Stable-Baselines3; ``tests/packages`` has to be on the path."""
    from libraries import version

    return version("stable_baselines3", "original")


def site() -> Path:
    """What the packages need besides torch and NumPy, Gymnasium among it."""
    from libraries import site

    return site()


def stable(algorithm: str, steps: int, env: str) -> Run:
    """A run of ``tests/packages/train.py``."""
    script = ROOT / "tests" / "packages" / "train.py"
    return Run(script, ("stable_baselines3", algorithm, str(steps)), env, env)


AGENT = ROOT / "examples" / "agent"
SINGLE = ROOT / "examples" / "single_file"
CODES = {
    "Stable-Baselines3 2.9.2": Code(
        stable_baselines,
        {
            "PPO": stable("ppo", 2048, CARTPOLE),
            "DQN": stable("dqn", 1500, CARTPOLE),
            "SAC": stable("sac", 500, PENDULUM),
        },
        lambda: (stable_baselines(), ROOT / "tests" / "packages", site()),
    ),
    "examples/single_file": Code(
        lambda: SINGLE,
        {"PPO in one file": Run(SINGLE / "ppo.py", ("--steps", "4096"), "gymnasium.vector:SyncVectorEnv", CARTPOLE)},
        lambda: (site(),),
    ),
    "examples/agent": Code(
        lambda: AGENT,
        {"DQN on a grid": Run(AGENT / "train.py", ("--updates", "200"), "gridworld:GridWorld", "gridworld:GridWorld")},
        lambda: (AGENT,),
    ),
}


def counted(run: Run, folder: Path, path: Sequence[Path]) -> dict:
    """What ``counting.py`` tells of a run. Raises ``CalledProcessError`` when the training fails."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
    }
    with tempfile.TemporaryDirectory() as work:
        out = Path(work, "calls.json")
        command = [sys.executable, "-B", COUNTING, out, folder, run.stepped, run.reset, run.script, *run.arguments]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(out.read_text(encoding="utf-8"))


def predictions(folder: Path) -> dict[tuple[str, int], tuple[str, Frequency, bool]]:
    """For each function its name, how often torchlint says that it runs, and whether it is abstract.

    Functions are known by their files and first rows. Lambdas have none of their own and are left out.
    """
    settings = Settings(root=folder, isolated=True)
    names = {path.relative_to(folder).as_posix(): path for path in python_files(folder, settings)}
    files, _ = parse({name: read_source(path, name) for name, path in names.items()})
    heat = analyse(files, settings)[Heat]
    found = {}
    for file in files:
        for scope in file.scopes:
            if scope.kind == "function" and isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                row = min(node.lineno for node in (scope.node, *scope.node.decorator_list))
                frequency = heat.frequency(file, scope.node.body[0])
                found[file.path, row] = scope.qualname, frequency, _is_abstract(scope.node)
    return found


def _is_abstract(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function says so, or has nothing but a text, ``pass``, ``...`` and ``raise``."""
    return any("abstractmethod" in ast.unparse(node) for node in function.decorator_list) or all(
        isinstance(stmt, (ast.Pass, ast.Raise)) or (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant))
        for stmt in function.body
    )


def compared(title: str, code: Code) -> tuple[dict[str, dict[str, int]], list[Function]]:
    """The clocks of each run of some code, and its functions that ran in one or are taken for hot."""
    folder = code.folder()
    told = {name: counted(run, folder, code.path()) for name, run in code.runs.items()}
    ran: dict[tuple[str, int], dict[str, Ran]] = {}
    for name, run in told.items():
        for row in run.pop("functions"):
            numbers = row["calls"], row["steps"], row["updates"], run["steps"], run["updates"]
            ran.setdefault((row["file"], row["row"]), {})[name] = Ran(*numbers)
    functions = [
        Function(title, place[0], name, frequency, abstract, ran.get(place, {}))
        for place, (name, frequency, abstract) in predictions(folder).items()
    ]
    return told, [function for function in functions if function.hot or function.ran]


# data -----------------------------------------------------------------------------------------------------------------


def as_data(runs: Mapping[str, Mapping[str, Mapping[str, int]]], functions: Sequence[Function]) -> dict:
    """What is kept of the figures: the clocks of the runs, and a row for each function."""
    rows = [
        [
            function.code,
            function.file,
            function.name,
            function.predicted.name,
            function.abstract,
            {name: [ran.calls, ran.steps, ran.updates] for name, ran in function.ran.items()},
        ]
        for function in functions
    ]
    return {"runs": runs, "functions": rows}


def of_data(data: Mapping) -> list[Function]:
    """The functions of the kept figures."""
    found = []
    for code, file, name, predicted, abstract, ran in data["functions"]:
        clocks = {run: (told["steps"], told["updates"]) for run, told in data["runs"][code].items()}
        runs = {run: Ran(*numbers, *clocks[run]) for run, numbers in ran.items()}
        found.append(Function(code, file, name, Frequency[predicted], abstract, runs))
    return found


def kept(data: Mapping) -> str:
    """The text of the file of figures, a function on each line."""
    rows = ",\n".join(f"  {json.dumps(row)}" for row in data["functions"])
    return f'{{\n "runs": {json.dumps(data["runs"])},\n "functions": [\n{rows}\n ]\n}}\n'


def reasons() -> dict[tuple[str, str, str], str]:
    """Why functions are misjudged, by code, file and name."""
    with REASONS.open(encoding="utf-8", newline="") as file:
        return {(row["code"], row["file"], row["function"]): row["why"] for row in csv.DictReader(file)}


def gross(functions: Sequence[Function]) -> dict[tuple[str, str, str], Function]:
    """The functions that are misjudged in the run in which they ran most often."""
    return {(each.code, each.file, each.name): each for each in functions if each.misjudged(each.most)}


def idle(functions: Sequence[Function]) -> dict[tuple[str, str, str], Function]:
    """The functions taken for hot that never ran, though the runs call others of their class or, without one, file."""
    used = {_home(each) for each in functions if each.ran}
    return {
        (each.code, each.file, each.name): each
        for each in functions
        if not each.ran and not each.abstract and _home(each) in used
    }


def _home(function: Function) -> tuple[str, str, str]:
    return function.code, function.file, function.name.rpartition(".")[0]


# text -----------------------------------------------------------------------------------------------------------------


def text(data: Mapping, why: Mapping[tuple[str, str, str], str]) -> str:
    """The section of the page."""
    functions = of_data(data)
    parts = [
        f"```\n{COMMAND}\n```",
        agreement(data, functions),
        "Of all functions, each in the run that called it most often:",
        matrix(functions),
        "Misjudged in that run:",
        misjudged(functions, why),
        never(functions, why),
    ]
    return "\n\n".join(parts)


def agreement(data: Mapping, functions: Sequence[Function]) -> str:
    """A row for each run, for all runs of some code, and for everything."""
    rows = []
    for code, runs in data["runs"].items():
        own = [function for function in functions if function.code == code]
        for name, told in runs.items():
            clocks = [f"{told[clock]:,}" for clock in ("steps", "updates", "resets")]
            pairs = [(each, each.ran[name]) for each in own if name in each.ran]
            rows.append([f"{name}, {code}", *clocks, *_shares(pairs)])
        if len(runs) > 1:
            rows.append([f"any, {code}", "", "", "", *_shares(_most(own))])
    rows.append(["all functions", "", "", "", *_shares(_most(functions))])
    header = ["run", "steps", "updates", "resets", "functions called", "same class", "hot or not alike"]
    return markdown([*header, "hot, ran seldom", "not hot, ran often"], rows)


def _most(functions: Sequence[Function]) -> list[tuple[Function, Ran]]:
    return [(function, function.most) for function in functions if function.most is not None]


def _shares(pairs: Sequence[tuple[Function, Ran]]) -> list[str]:
    same = sum(ran.fits(function.predicted) for function, ran in pairs)
    wrong = Counter(function.hot for function, ran in pairs if function.misjudged(ran))
    shares = (f"{share / len(pairs):.2f}" for share in (same, len(pairs) - wrong.total()))
    return [str(len(pairs)), *shares, str(wrong[True]), str(wrong[False])]


def matrix(functions: Sequence[Function]) -> str:
    """How many functions of each prediction ran how often."""
    counts = Counter((each.predicted, each.most.often if each.most else Measured.NEVER) for each in functions)
    rows = []
    for predicted in reversed(Frequency):
        cells = (str(counts[predicted, often] or "") for often in reversed(Measured) if often)
        silent = str(counts[predicted, Measured.NEVER]) if predicted >= Frequency.UPDATE else "-"
        rows.append([predicted.phrase, *cells, silent])
    return markdown(["predicted", *(f"ran {PHRASES[often]}" for often in reversed(Measured))], rows)


def misjudged(functions: Sequence[Function], why: Mapping[tuple[str, str, str], str]) -> str:
    """Every gross disagreement with its explanation."""
    rows = []
    for key, each in gross(functions).items():
        ran = each.most
        assert ran is not None
        rates = (f"{ran.calls / clock:.2g}" for clock in (ran.all_steps, ran.all_updates))
        reason = why.get(key, "not explained")
        rows.append(
            [
                f"`{each.name}` ({each.file.rpartition('/')[2]})",
                each.predicted.phrase,
                PHRASES[ran.often],
                *rates,
                reason,
            ]
        )
    header = ["function", "predicted", "ran", "calls per step", "calls per update", "why"]
    return markdown(header, rows)


def never(functions: Sequence[Function], why: Mapping[tuple[str, str, str], str]) -> str:
    """What is taken for hot and never ran."""
    silent = [each for each in functions if not each.ran]
    abstract = sum(each.abstract for each in silent)
    found = idle(functions)
    by_reason: dict[str, list[str]] = {}
    for key, each in found.items():
        by_reason.setdefault(why.get(key, "not explained"), []).append(f"`{each.name}`")
    rows = [[reason, ", ".join(names)] for reason, names in by_reason.items()]
    return "\n\n".join(
        (
            f"{len(silent)} functions that are taken for hot never ran. {abstract} of them are abstract, and "
            f"{len(silent) - abstract - len(found)} belong to classes, or files of functions, of which these runs call "
            f"nothing: other algorithms, policies, wrappers and callbacks. The other {len(found)}:",
            markdown(["why", "functions"], rows),
        )
    )


def unexplained(functions: Sequence[Function], why: Mapping[tuple[str, str, str], str]) -> Iterator[str]:
    """What is wrong with the explanations: functions without one, explanations without a function."""
    needed = {*gross(functions), *idle(functions)}
    yield from (f"not explained: {' '.join(key)}" for key in sorted(needed - why.keys()))
    yield from (f"no longer so: {' '.join(key)}" for key in sorted(why.keys() - needed))


def main() -> int:
    """Train, compare, and show or write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="PAGE", type=Path)
    page = parser.parse_args().write
    runs, functions = {}, []
    for title, code in CODES.items():
        print(f"==> training: {title}", file=sys.stderr)
        runs[title], found = compared(title, code)
        functions += found
    data, why = as_data(runs, functions), reasons()
    if page is None:
        print(text(data, why))
    else:
        DATA.write_text(kept(data), encoding="utf-8")
        page.write_text(written(page.read_text(encoding="utf-8"), "hotness", text(data, why)), encoding="utf-8")
    problems = list(unexplained(functions, why))
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
