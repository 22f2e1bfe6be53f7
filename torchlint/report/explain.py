"""A rule explained: its docstring, what it is, and its measured figures, as text, Markdown or JSON."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from torchlint.late import dataclass
from torchlint.report.cost import amount, factor, saving, spread_of
from torchlint.report.style import ASCII, LABEL, LEVELS, QUIET, UNICODE, Signs
from torchlint.rule import Cost, Counted, Option, Rule, RuleSet
from torchlint.rule.versions import ANY

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

MEASURED = "Measured"
COLUMNS = ("At", "Saves", "Ratio", "10th to 90th percentile", "On")
EVENTS = ("On a GPU, counted at", "Syncs", "Launches", "Copies", "Bytes copied")

_SETS = {RuleSet.DEFAULT: "default", RuleSet.PREVIEW: "with --preview", RuleSet.OPT_IN: "when selected by code"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What there is to say of a rule: the class, the docstring's introduction and sections, times, counts."""

    rule: type[Rule]
    introduction: str
    sections: tuple[tuple[str, str], ...]
    figures: tuple[Cost, ...]
    counts: tuple[Counted, ...] = ()

    @property
    def facts(self) -> str:
        """Level, set and fix in one line."""
        rule = self.rule
        changes = ", ".join(change.value for change in rule.may_change)
        fix = f"fix may change {changes}" if changes else "fix changes nothing but the time"
        gain = "; gain on CUDA only" if rule.cuda_only else ""
        since = f"; for torch {self.since} and newer" if self.since else ""
        return f"{rule.level.value}; set: {_SETS[rule.set]}; {fix if rule.fixable else 'no fix'}{gain}{since}"

    @property
    def since(self) -> str:
        """The oldest torch that the rule is for; empty: any."""
        return ".".join(map(str, self.rule.torch)) if self.rule.torch > ANY else ""


def explain(rule: type[Rule], figures: Sequence[Cost], counts: Sequence[Counted] = ()) -> Explanation:
    """Read a rule's docstring: an introduction, then sections under ``## Heading`` lines."""
    introduction: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    lines, fenced = introduction, False
    for line in (inspect.getdoc(rule) or "").splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            lines = []
            sections.append((line[3:].strip(), lines))
        else:
            lines.append(line)
    bodies = [(heading, "\n".join(body).strip()) for heading, body in sections]
    if rule.options:
        bodies.append(("Options", "\n".join(f"- {option_line(option)}" for option in rule.options)))
    return Explanation(rule, "\n".join(introduction).strip(), tuple(bodies), tuple(figures), tuple(counts))


def option_line(option: Option[Any]) -> str:
    """Describe an option in Markdown: ``allow: names that may grow (a list of strings; default [])``."""
    return f"`{option.name}`: {option.text} ({option.kind}; default `{json.dumps(option.plain)}`)"


def as_markdown(explanations: Sequence[Explanation]) -> str:
    """Return one Markdown document of all the rules."""
    return "\n".join(_markdown(explanation) for explanation in explanations)


def as_json(explanations: Sequence[Explanation], *, single: bool) -> str:
    """Return a JSON array of all the rules, or one object for a ``single`` one."""
    objects = [_object(explanation) for explanation in explanations]
    return json.dumps(objects[0] if single else objects, indent=2) + "\n"


def as_text(explanations: Sequence[Explanation], *, color: bool, unicode: bool, width: int) -> str:
    """Return text for people, of at most ``width`` cells a line."""
    pen = Pen(color, UNICODE if unicode else ASCII, width)
    return "\n".join("".join(f"{line}\n" for line in _page(explanation, pen)) for explanation in explanations)


def _markdown(explanation: Explanation) -> str:
    rule = explanation.rule
    parts = [f"# {rule.name} ({rule.code})", explanation.introduction, f"*{explanation.facts}*"]
    for heading, body in explanation.sections:
        parts += [f"## {heading}", body]
        if heading == MEASURED and explanation.figures:
            parts.append("\n".join(_markdown_table(COLUMNS, map(_cells, explanation.figures))))
        if heading == MEASURED and explanation.counts:
            parts.append(counts_as_markdown(explanation.counts))
    return "\n\n".join(part for part in parts if part) + "\n"


def counts_as_markdown(counts: Sequence[Counted]) -> str:
    """Return a table of the events before and after."""
    return "\n".join(_markdown_table(EVENTS, map(_event_cells, counts)))


def _markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"| --- |{' ---: |' * (len(columns) - 2)} --- |"
    for cells in rows:
        yield f"| {' | '.join(cells)} |"


def _event_cells(counted: Counted) -> tuple[str, ...]:
    one, other = counted.before, counted.after
    numbers = [(one.waits, other.waits), (one.launches, other.launches), (one.copies, other.copies)]
    arrows = [f"{before:,} > {after:,}" for before, after in numbers]
    sizes = f"{amount(one.bytes)} > {amount(other.bytes)}" if one.bytes or other.bytes else "0"
    return counted.size, *arrows, sizes


def _cells(cost: Cost) -> tuple[str, ...]:
    where = f"{cost.device.upper()}, here" if cost.source == "local" else cost.device.upper()
    return cost.size, saving(cost), f"{factor(cost.ratio)}x", spread_of(cost), where


def _object(explanation: Explanation) -> dict[str, object]:
    rule = explanation.rule
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "severity": rule.level.value,
        "set": rule.set.value,
        "fixable": rule.fixable,
        "may_change": [change.value for change in rule.may_change],
        "cuda_only": rule.cuda_only,
        "torch": explanation.since or None,
        "introduction": explanation.introduction,
        "sections": dict(explanation.sections),
        "figures": [asdict(cost) for cost in explanation.figures],
        "counts": [asdict(count) for count in explanation.counts],
    }


def _page(explanation: Explanation, pen: Pen) -> Iterator[str]:
    rule = explanation.rule
    title = Text.assemble((rule.code, LEVELS[rule.level]), " ", (rule.name, "bold"), " ")
    title.append(pen.signs.rule * max(0, pen.width - title.cell_len), QUIET)
    yield from pen.lines(title)
    yield from pen.lines(Text(explanation.facts, QUIET))
    for heading, body in (("", explanation.introduction), *explanation.sections):
        yield ""
        if heading:
            yield from pen.lines(Text(heading, LABEL))
        yield from _body(body, pen)
        if heading == MEASURED and explanation.figures:
            yield ""
            yield from pen.lines(_table(COLUMNS, map(_cells, explanation.figures)), indent=2)
        if heading == MEASURED and explanation.counts:
            yield ""
            yield from pen.lines(_table(EVENTS, map(_event_cells, explanation.counts)), indent=2)


def _body(body: str, pen: Pen) -> Iterator[str]:
    """Markdown prose, and code between fences, with a blank line between them."""
    from rich.markdown import Markdown
    from rich.syntax import Syntax

    parts = [part.strip("\n") for part in body.split("```")]
    for index, part in enumerate(parts):
        if not part.strip():
            continue
        if index > 1 or (index == 1 and parts[0].strip()):
            yield ""
        if index % 2:
            code = part.removeprefix("python\n")
            drawn = Syntax(code, "python", theme="ansi_dark", background_color="default", word_wrap=True)
            yield from pen.lines(drawn, indent=4)
        else:
            yield from pen.lines(Markdown(part), indent=2)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style=QUIET)
    for column in columns:
        table.add_column(column, justify="left" if column in (columns[0], columns[-1]) else "right")
    for cells in rows:
        table.add_row(*map(Text, cells))
    return table


@dataclass(frozen=True, slots=True)
class Pen:
    """Turns what rich can draw into lines of text."""

    color: bool
    signs: Signs
    width: int

    def lines(self, drawing: RenderableType, indent: int = 0) -> list[str]:
        """Return the lines of a drawing without blank ones at its ends, each at most ``width`` cells wide."""
        from rich.console import Console
        from rich.theme import Theme

        console = Console(
            file=io.StringIO(),
            width=self.width - indent,
            force_terminal=self.color,
            color_system="standard" if self.color else None,
            no_color=not self.color,
            legacy_windows=False,
            highlight=False,
            theme=Theme({"markdown.code": "cyan"}),
            _environ={},
        )
        with console.capture() as capture:
            console.print(drawing)
        # What is not coloured is padded with blanks up to the width.
        text = capture.get() if self.signs is UNICODE else capture.get().replace("•", "*")
        lines = text.strip("\n").split("\n")
        return [f"{'':{indent}}{line}".rstrip() for line in lines]
