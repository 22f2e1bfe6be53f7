"""Builders for findings in a known text, shared by the tests of output formats and of the command line."""

from pathlib import Path

from torchlint.report.context import Context
from torchlint.rule import Cost, Edit, Finding, Frequency, Hop, Hotness, Level, PlainFix, Position
from torchlint.sources.text import Source

ROOT = Path("/home/me/project")
STEP = Hotness(Frequency.STEP, (Hop("train.py", 88, "loop"), Hop("agent.py", 9, "Agent.act")))
UPDATE = Hotness(Frequency.UPDATE, (Hop("train.py", 90, "loop"), Hop("agent.py", 20, "Agent.update")))
COST = Cost(3.6, 3.1, 2.3, 3.14, "17-dim observations")


def source_of(text: str, name: str = "agent.py") -> Source:
    return Source(ROOT / name, name, text, text.encode(), raw=text.encode())


def place_of(text: str, index: int) -> Position:
    before = text[:index]
    return Position(before.count("\n") + 1, index - before.rfind("\n"))


def edit_of(text: str, old: str, new: str) -> Edit:
    start = len(text[: text.index(old)].encode())
    return Edit(start, start + len(old.encode()), new)


def fix_of(text: str, old: str, new: str, **fields) -> PlainFix:
    return PlainFix("rewrite it", (edit_of(text, old, new),), **fields)


def finding_of(text: str, code_text: str, **fields) -> Finding:
    """A finding about the first occurrence of some code in a text."""
    index = text.index(code_text)
    start, end = place_of(text, index), place_of(text, index + len(code_text))
    known = {
        "code": "TL101",
        "name": "legacy-tensor-constructor",
        "message": "use torch.as_tensor",
        "level": Level.WARNING,
        "path": "agent.py",
        "start": start,
        "end": end,
        "rows": (start.row, end.row),
        "fingerprint": "f00d",
    }
    return Finding(**{**known, **fields})


def context_of(text: str, *findings: Finding, name: str = "agent.py", **fields) -> Context:
    ordered = tuple(sorted(findings, key=lambda finding: finding.order))
    known = {"findings": ordered, "sources": {name: source_of(text, name)}, "files": 1}
    return Context(ROOT, **{**known, **fields})
