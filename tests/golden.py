"""What torchlint finds in known code, kept in text files: a changed finding, cost, path or fix shows as a line.

``golden/fixtures`` and ``golden/examples`` hold one file for each rule's folder of fixtures and for its examples, and
``golden/packages`` one for each pinned package. A line is one finding; above the findings of a file stand its name and,
where there are such fixes, digests of what the safe fixes and what all fixes make of it. Findings in packages
have only place, rule, frequency, kind of fix and digest.

``make golden`` writes them, ``make golden ARGS=--packages`` those of the packages too; what changed is printed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from torchlint.bench.fixed import KNOWS_ALL
from torchlint.engine.codec import to_row
from torchlint.engine.rules import load_rules
from torchlint.engine.run import check
from torchlint.rule import Applicability, Cost, Counted, Finding, Hop, PlainFix, Position
from torchlint.settings.model import Settings
from torchlint.testing.fixtures import fixtures, unmarked
from torchlint.testing.linting import LintedText, target_of

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "golden"
WIDTH = 120
"""Characters in a line of what fixes write."""
PACKAGES = (
    *("stable-baselines3==2.9.2", "sb3-contrib==2.9.2", "pfrl==0.4.0", "cleanrl==0.4.8", "tianshou==2.0.1"),
    *("skrl==2.1.1", "elegantrl==0.3.6", "agilerl==2.58.0", "rl-games==1.6.5", "xuance==1.4.4"),
    *("gpytorch==1.15.2", "pyro-ppl==1.9.2", "accelerate==1.15.0", "torchmetrics==1.9.0"),
)
Golden = dict[str, str]
"""Texts by the name of their file below ``golden``."""


@dataclass(frozen=True)
class Text:
    """A file that is linted: its name, what is in it, and the torch that it is for."""

    name: str
    text: str
    torch: str | None = None

    @property
    def golden(self) -> str:
        """The golden file that tells of it."""
        return f"{self.name.rpartition('/')[0]}.txt"


def texts() -> list[Text]:
    """All fixtures, without their marks, and all examples of rules."""
    found = []
    for path in fixtures(ROOT / "tests" / "fixtures"):
        text = unmarked(path)
        found.append(Text(f"fixtures/{path.parent.name}/{path.name}", text, target_of(text)))
    for rule in load_rules():
        for example in rule.examples:
            found.append(Text(f"examples/{rule.code}/{example.name}.py", example.source, KNOWS_ALL))
    return found


def settings(folder: Path) -> Settings:
    """All rules, with the shipped figures alone."""
    codes = tuple(rule.code for rule in load_rules())
    return Settings(root=folder, isolated=True, select=codes, line_length=WIDTH)


def findings(text: Text) -> list[Finding]:
    """What all rules find in a file, which is a project of its own."""
    return linted(text).findings()


def linted(text: Text) -> LintedText:
    """A text as the engine lints and fixes it, with all rules and the shipped figures alone."""
    codes = tuple(rule.code for rule in load_rules())
    return LintedText(text.text, codes, torch=text.torch, width=WIDTH, name=text.name)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def digest(*parts: object) -> str:
    """Eight letters that change with what they are made of."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


# lines ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A finding as a line: in words, and as a digest of all that is known of it but times that were measured."""

    finding: Finding

    @property
    def place(self) -> str:
        """The row and the column where it begins."""
        return f"{self.finding.start.row}:{self.finding.start.column}"

    @property
    def words(self) -> str:
        """Rule, level, frequency and hot path, flow, which figures fit, its fix and its message."""
        finding = self.finding
        parts = [
            f"{finding.code} {finding.level.value}",
            _hot(finding),
            *([f"flow {_way(finding, finding.flow)}"] if finding.flow else []),
            *([_cost(finding.cost)] if finding.cost else []),
            *([_events(finding.events)] if finding.events else []),
            *([_fix(finding.fix)] if finding.fix else []),
            finding.message,
        ]
        return f"{self.place}-{finding.end.row}:{finding.end.column} " + " | ".join(map(_on_one_line, parts))

    @cached_property
    def digest(self) -> str:
        """Eight letters that change with anything in the finding but the numbers of a measured time."""
        cost = self.finding.cost
        plain = cost and replace(cost, saves_us=0.0, ratio=0.0, low=0.0, high=0.0, most_us=0.0)
        return digest(to_row(replace(self.finding, cost=plain)))

    @property
    def full(self) -> str:
        """The line for our own code: all words, and the digest."""
        return f"{self.words} #{self.digest}"

    @property
    def compact(self) -> str:
        """The line for the code of others: place, rule, frequency, what the fix may do, digest."""
        finding = self.finding
        kind = finding.fix.applicability.value if finding.fix else "-"
        return f"{self.place} {finding.code} {finding.hot.frequency.name.lower()} {kind} #{self.digest}"


def _hot(finding: Finding) -> str:
    """The frequency and the path: ``step 12 loop > 30 Agent.act``; names of files only where they are others."""
    when = f" ({finding.hot.when})" if finding.hot.when else ""
    return f"{finding.hot.frequency.name.lower()}{when} {_way(finding, finding.hot.path)}".rstrip()


def _way(finding: Finding, hops: tuple[Hop, ...]) -> str:
    return " > ".join(f"{'' if hop.path == finding.path else f'{hop.path}:'}{hop.row} {hop.name}" for hop in hops)


def _cost(cost: Cost) -> str:
    most = f" to {cost.most_size}" if cost.most_size else ""
    return f"cost of {cost.example}{most} on {cost.device}{f' per {cost.unit}' if cost.unit else ''}"


def _events(events: Counted) -> str:
    saves = events.saves
    numbers = {"waits": saves.waits, "launches": saves.launches, "copies": saves.copies, "bytes": saves.bytes}
    told = ", ".join(f"{number} {name}" for name, number in numbers.items() if number)
    return f"saves {told} per {events.unit} as {events.example}"


def _fix(fix: PlainFix) -> str:
    changes = ", ".join(change.value for change in fix.may_change)
    assumes = f", assumes {fix.assumes}" if fix.assumes else ""
    edits = f"{len(fix.edits)} edits {digest(*((edit.start, edit.end, edit.text) for edit in fix.edits))}"
    return f"fix {fix.applicability.value}{f' ({changes})' if changes else ''}{assumes}, {edits}"


def _on_one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", "\\\\n ", text)


# files ----------------------------------------------------------------------------------------------------------------


def own(given: Iterable[Text], *, with_fixed: bool = True) -> Golden:
    """The golden texts of our own code, by name; without digests of fixed texts they take half the time."""
    blocks: dict[str, list[str]] = defaultdict(list)
    for text in given:
        each = linted(text)
        found = each.findings()
        if lines := [Line(finding).full for finding in settled(found, text.text)]:
            head = text.name.rpartition("/")[2]
            kinds = {finding.fix.applicability for finding in found if finding.fix}
            if with_fixed and Applicability.SAFE in kinds:
                head += f" safe #{digest(each.fixed(unsafe=False))}"
            if with_fixed and Applicability.UNSAFE in kinds:
                head += f" all #{digest(each.fixed(unsafe=True))}"
            blocks[text.golden] += [f"== {head}", *sorted(lines, key=_order)]
    return {name: "\n".join([*lines, ""]) for name, lines in blocks.items()}


def without_fixed(texts_: Golden) -> Golden:
    """Golden texts without the digests of what fixes make."""
    return {name: re.sub(r"(?m)^(== \S+) .*", r"\1", text) for name, text in texts_.items()}


def settled(found: Sequence[Finding], text: str) -> list[Finding]:
    """Findings that have the same places on all Pythons: one inside an f-string takes that of the f-string.

    Python 3.11 and older do not say where in the f-string it is.
    """
    lines = text.encode().split(b"\n")
    spans = [
        (_position(node.lineno, node.col_offset, lines), _position(node.end_lineno, node.end_col_offset, lines))
        for node in (ast.walk(ast.parse(text)) if found else ())
        if isinstance(node, ast.JoinedStr)
    ]
    moved = []
    for finding in found:
        around = [span for span in spans if span[0] <= finding.start < span[1]]
        start, end = around[0] if around else (finding.start, finding.end)
        moved.append(replace(finding, start=start, end=end, fingerprint="") if around else finding)
    return moved


def _position(row: int | None, column: int | None, lines: Sequence[bytes]) -> Position:
    assert row is not None
    return Position(row, len(lines[row - 1][:column].decode()) + 1)


def package(requirement: str, folder: Path) -> Golden:
    """The golden text of a package whose source lies in a folder."""
    result = check([folder], settings(folder))
    assert [problem for problem in result.problems if problem.internal] == []
    assert result.unpaired == 0
    blocks: dict[str, list[str]] = defaultdict(list)
    for name, source in result.sources.items():
        found = [finding for finding in result.findings if finding.path == name]
        blocks[name] += [Line(finding).compact for finding in settled(found, source.text)]
    lines = [
        line
        for name in sorted(filter(blocks.get, blocks))
        for line in (f"== {name}", *sorted(blocks[name], key=_order))
    ]
    return {f"packages/{requirement}.txt": "\n".join([*lines, ""])}


def _order(line: str) -> tuple[int, int, str]:
    row, column = re.findall(r"\d+", line)[:2]
    return int(row), int(column), line


def kept(folder: str) -> Golden:
    """The golden texts of ``fixtures``, ``examples`` or ``packages`` as they lie in the repository."""
    paths = sorted((FOLDER / folder).glob("*.txt"))
    return {f"{folder}/{path.name}": path.read_text(encoding="utf-8") for path in paths}


# differences ----------------------------------------------------------------------------------------------------------


def _by_file(texts_: Golden) -> dict[tuple[str, str], list[str]]:
    """Lines by golden file and by the file they tell of."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, text in texts_.items():
        file = ""
        for line in text.splitlines():
            if line.startswith("== "):
                file, _, rest = line[3:].partition(" ")
                if rest:
                    found[name, file].append(f"fixed {rest}")
            else:
                found[name, file].append(line)
    return found


def _rule_of(line: str) -> str:
    match = re.search(r"\bTL\d{3}\b", line)
    return match[0] if match and not line.startswith("fixed ") else "fixed texts"


def difference(before: Golden, after: Golden) -> str:
    """Report changed findings by rule and file: ``-`` for lines that are gone and ``+`` for new ones; empty: none."""
    old, new = _by_file(before), _by_file(after)
    changed: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key in sorted({*old, *new}):
        one, other = Counter(old.get(key, [])), Counter(new.get(key, []))
        name = f"{key[0].removesuffix('.txt')}/{key[1]}"
        marked = [("-", line) for line in (one - other).elements()] + [("+", line) for line in (other - one).elements()]
        for sign, line in sorted(marked, key=lambda pair: (_order_of_any(pair[1]), pair[0] == "+")):
            changed[_rule_of(line)][name].append(f"    {sign} {line}")
    return "\n".join(_report(changed))


def _order_of_any(line: str) -> tuple[int, int, str]:
    """The place of a line, without what may have changed in it."""
    if line.startswith("fixed "):
        return 0, 0, ""
    row, column, _ = _order(line)
    return row, column, _rule_of(line)


def _report(changed: Mapping[str, Mapping[str, list[str]]]) -> Iterator[str]:
    for rule in sorted(changed):
        lines = [line for file in changed[rule].values() for line in file]
        gone = sum(line.startswith("    -") for line in lines)
        yield f"{rule}: {gone} lines gone, {len(lines) - gone} new, in {len(changed[rule])} files"
        for name, own_lines in changed[rule].items():
            yield f"  {name}"
            yield from own_lines


# writing --------------------------------------------------------------------------------------------------------------


def _replaced(folder: str, new: Golden) -> str:
    """Write the golden files of a folder; what changed."""
    old = kept(folder)
    for name in old.keys() - new.keys():
        (FOLDER / name).unlink()
    for name, text in new.items():
        _write(FOLDER / name, text)
    return difference(old, new)


def main(arguments: list[str], download: Callable[[str], Path]) -> int:
    """Write the golden files and print what changed."""
    parser = argparse.ArgumentParser(description="write what torchlint finds in known code into tests/golden")
    parser.add_argument("--packages", action="store_true", help="also in pinned packages, which are downloaded")
    options = parser.parse_args(arguments)
    made = own(texts())
    for folder in ("fixtures", "examples"):
        print(_replaced(folder, {name: text for name, text in made.items() if name.startswith(folder)}) or folder)
    if options.packages:
        new: Golden = {}
        for requirement in PACKAGES:
            new |= package(requirement, download(requirement))
            print(requirement, flush=True)
        print(_replaced("packages", new) or "packages: as before")
    return 0


if __name__ == "__main__":
    from test_packages import download

    sys.exit(main(sys.argv[1:], download))
