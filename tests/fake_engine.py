"""An engine that answers what a test tells it to, in the place of the real one."""

import io
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from reporting import COST, STEP, finding_of, fix_of

from torchlint.engine import figures
from torchlint.engine.result import FixedFile, Result
from torchlint.rule import Level, Rule, Trigger
from torchlint.rule.frequency import Why
from torchlint.settings.model import Settings
from torchlint.sources.text import Source

TEXT = "x = torch.FloatTensor(obs)\n"
FIXED = "x = torch.as_tensor(obs)\n"
CODE = "torch.FloatTensor(obs)"
WARNING = finding_of(TEXT, CODE, fix=fix_of(TEXT, CODE, "torch.as_tensor(obs)"), hot=STEP, cost=COST)
NOTE = finding_of(TEXT, CODE, level=Level.NOTE, code="TL301")
ERROR = finding_of(TEXT, CODE, level=Level.ERROR, code="TL000")
LINE = "agent.py:1:5: TL101 [*] use torch.as_tensor; once per step (train.py:88)\n"


class Sample(Rule):
    """A sample.

    ## What it does
    Nothing.
    """

    code = "TL101"
    name = "legacy-tensor-constructor"
    summary = "a sample"
    trigger = Trigger()


@dataclass
class Engine:
    """Answers with one result, and remembers what it was asked."""

    result: Result = field(default_factory=Result)
    error: Exception | None = None
    why: Why = field(default_factory=Why)
    paths: tuple = ()
    settings: Settings | None = None
    stdin: Source | None = None
    asked: tuple = ()
    own: object = None

    def check(self, paths, settings, stdin=None, own=None, memory=None):
        self.paths, self.settings, self.stdin, self.own = tuple(paths), settings, stdin, own
        if self.error:
            raise self.error
        return self.result

    def explain_hot(self, path, row, settings, *, paths=(), cell=None):
        self.asked = (path, row)
        if self.error:
            raise self.error
        return self.why

    def finds(self, *findings, files=1, problems=(), fixed=None):
        source = source_at(Path.cwd() / "agent.py", "agent.py", TEXT)
        self.result = Result(list(findings), {"agent.py": source}, list(problems), fixed or {}, files)
        return self


def source_at(path, name, text, **fields):
    return Source(path, name, text, text.encode(), **fields)


def install(monkeypatch, project):
    """A fake engine, in an empty project, without the settings of the environment."""
    fake = Engine()
    run, rules = ModuleType("torchlint.engine.run"), ModuleType("torchlint.engine.rules")
    explaining = ModuleType("torchlint.engine.explaining")
    run.check, explaining.explain_hot = fake.check, fake.explain_hot
    rules.load_rules = lambda *_: (Sample,)
    monkeypatch.setattr(figures, "shipped", lambda *_: {"TL101": figures.Shipped((COST,))})
    monkeypatch.setitem(sys.modules, "torchlint.engine.run", run)
    monkeypatch.setitem(sys.modules, "torchlint.engine.explaining", explaining)
    monkeypatch.setitem(sys.modules, "torchlint.engine.rules", rules)
    for name in ("TORCHLINT_OUTPUT_FORMAT", "NO_COLOR", "FORCE_COLOR", "GITHUB_STEP_SUMMARY", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    (project / "pyproject.toml").write_text("[tool.torchlint]\n")
    (project / "agent.py").write_text(TEXT)
    monkeypatch.chdir(project)
    return fake.finds()


def feed(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def fixed_file(before=TEXT, after=FIXED, name="agent.py", **fields):
    path = Path.cwd() / name
    return {
        name: FixedFile(source_at(path, name, before, **fields), source_at(path, name, after, **fields), (WARNING,))
    }
