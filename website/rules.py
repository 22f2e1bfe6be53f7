"""A page for each rule, from its docstring, its metadata and its figures, and the list of all rules."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module

from torchlint.engine.figures import Shipped, shipped
from torchlint.report.cost import factor
from torchlint.report.explain import MEASURED, Explanation, counts_as_markdown, explain
from torchlint.rule import Change, Counted, Example, Frequency, Level, Rule, RuleSet
from website.measured import Measured
from website.plot import plot

CHANGES: Mapping[Change, str] = {
    Change.ROUNDING: "last digits of floating-point results",
    Change.NONFINITE: "results where infinities or NaN go in",
    Change.RNG: "which random numbers are drawn",
    Change.VALIDATION: "whether wrong values raise an error",
    Change.ALIASING: "which tensors share memory",
    Change.ORDER: "when side effects happen",
    Change.UPDATES: "what an optimizer does with gradients that are absent",
    Change.MEMORY: "how long memory is held",
    Change.OBSERVED: "nothing, if what a run of yours showed holds in every run",
}

_SETS = {
    RuleSet.DEFAULT: "yes",
    RuleSet.PREVIEW: "with `--preview`",
    RuleSet.OPT_IN: "no, select it by its code",
}
_LEVELS = {Level.NOTE: "note", Level.WARNING: "warning", Level.ERROR: "error"}
_LEAST = {
    Frequency.ONCE: "whatever how often it runs",
    Frequency.EPISODE: "once per episode or rollout, or more often",
    Frequency.UPDATE: "once per gradient update, or more often",
    Frequency.STEP: "once per environment step, or more often",
    Frequency.INNER: "in a loop inside a step or update",
}


def address(code: str) -> str:
    """Return the address of a rule's page in the site's sources."""
    return f"rules/{code}.md"


def rule_pages(rules: Sequence[type[Rule]], measured: Sequence[Measured]) -> dict[str, str]:
    """Return the texts of all rule pages and of their list, by address."""
    by_code: dict[str, list[Measured]] = {}
    for row in measured:
        by_code.setdefault(row.code, []).append(row)
    codes = {rule.code for rule in rules}
    known = shipped()
    pages = {}
    for rule in rules:
        explained = explain(rule, (), known.get(rule.code, Shipped()).counts)
        pages[address(rule.code)] = _page(explained, by_code.get(rule.code, []), codes)
    return {"rules/index.md": _list(rules, by_code), **pages}


def families(rules: Sequence[type[Rule]]) -> dict[str, list[type[Rule]]]:
    """Return the rules by family; a family is called what the docstring of its package says."""
    found: dict[str, list[type[Rule]]] = {}
    for rule in rules:
        package = import_module(rule.__module__.rpartition(".")[0])
        words = (inspect.getdoc(package) or "").splitlines()[0].rpartition(":")[2].strip().rstrip(".")
        words = words.replace("`", "")
        found.setdefault(f"{rule.code[:3]}: {words}", []).append(rule)
    return found


def _page(explanation: Explanation, measured: Sequence[Measured], codes: Collection[str]) -> str:
    rule, counted = explanation.rule, explanation.counts
    parts = [
        f"---\ntitle: {rule.code} {rule.name}\ndescription: {rule.summary}\n---",
        f"# {rule.code} {rule.name}",
        explanation.introduction,
        "\n".join(_facts(rule, codes)),
    ]
    for heading, body in explanation.sections:
        parts += [f"## {heading}", body]
        if heading == MEASURED:
            parts += _figures(rule, measured)
            parts += [_counts(counted)] if counted else []
    parts += ["## The fix at work" if rule.fixable else "## Before and after", *_examples(rule)]
    parts += ["## Switch it off", _switching(rule)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(rule: type[Rule], codes: Collection[str]) -> Iterator[str]:
    fix = "none"
    if rule.fixable:
        names = ", ".join(f"`{change.value}` ({CHANGES[change]})" for change in rule.may_change)
        fix = f"may change {names}" if names else "safe: changes nothing but the time"
    yield "| | |"
    yield "|---|---|"
    yield f"| Level | {_LEVELS[rule.level]} |"
    yield f"| On by default | {_SETS[rule.set]} |"
    yield f"| Reported in code that runs | {_LEAST[rule.least]} |"
    yield f"| Fix | {fix} |"
    if rule.cuda_only:
        yield "| Gain | on an accelerator only |"
    stronger = [f"[{code}]({code}.md)" for code in rule.yields_to if code in codes]
    if stronger:
        yield f"| Gives way to | {', '.join(stronger)} |"


def _figures(rule: type[Rule], measured: Sequence[Measured]) -> Iterator[str]:
    if not measured:
        why = "Its gain is on an accelerator" if rule.cuda_only else "It is about memory" if rule.about_memory else ""
        yield f"{why}{'; it' if why else 'It'} was not timed on the machines measured so far."
        return
    by_machine: dict[str, list[Measured]] = {}
    for row in measured:
        by_machine.setdefault(f"{row.device.upper()}: {row.machine}", []).append(row)
    for machine, rows in by_machine.items():
        yield f'<figure class="tl-figure">\n{plot(rows)}\n<figcaption>{machine}, one thread</figcaption>\n</figure>'
    yield (
        "The dot is the median of time before by time after, the line the 10th to 90th percentile; right of 1x the "
        f"better form is faster. `torchlint bench {rule.code}` measures it on your machine."
    )


def _counts(counted: Sequence[Counted]) -> str:
    return (
        f"{counts_as_markdown(counted)}\n\nEvents in one run of the example, before and after, as the counted device "
        "counts them: GPU syncs, kernel launches, copies between host and device."
    )


def _examples(rule: type[Rule]) -> Iterator[str]:
    for example in rule.examples:
        how = "What the fix makes of it" if not example.by_hand else "Written by hand, for there is no fix"
        diff = "\n".join(_diff(example))
        body = f"```diff\n{diff}\n```"
        indented = "\n".join(f"    {line}".rstrip() for line in body.splitlines())
        yield f'??? example "`{example.name}`: {how[0].lower()}{how[1:]}"\n\n{indented}'


def _diff(example: Example) -> Iterator[str]:
    lines = difflib.unified_diff(example.source.splitlines(), example.fixed.splitlines(), n=100, lineterm="")
    for line in lines:
        if not line.startswith(("---", "+++", "@@")):
            yield line


def _switching(rule: type[Rule]) -> str:
    return "\n".join(
        [
            "On one line, in one file, or everywhere:",
            "",
            "```python",
            f"...  # torchlint: ignore[{rule.code}] why it is right here",
            "```",
            "",
            "```toml",
            "[tool.torchlint]",
            f'per-file-ignores = {{ "demos/*" = ["{rule.code}"] }}',
            f'ignore = ["{rule.code}"]',
            "```",
        ]
    )


def _list(rules: Sequence[type[Rule]], measured: Mapping[str, Sequence[Measured]]) -> str:
    parts = [
        "---\ntitle: Rules\n---",
        "# Rules",
        f"{len(rules)} rules, by family. **On**: whether a rule runs by default, with `--preview` (P), or only when "
        "its code is selected (S). **Fix**: safe, or what it may change (taken when that is accepted). **Gain**: the "
        "medians measured over its examples, least to most, time before by time after.",
    ]
    for family, members in families(rules).items():
        parts += [f"## {family}", "\n".join(_rows(members, measured))]
    return "\n\n".join(parts) + "\n"


def _rows(rules: Sequence[type[Rule]], measured: Mapping[str, Sequence[Measured]]) -> Iterator[str]:
    short = {RuleSet.DEFAULT: "yes", RuleSet.PREVIEW: "P", RuleSet.OPT_IN: "S"}
    yield "| Rule | Finds | Level | On | Fix | Gain |"
    yield "|---|---|---|---|---|---|"
    for rule in rules:
        fix = ", ".join(change.value for change in rule.may_change) or "safe" if rule.fixable else ""
        gain = _gain(measured.get(rule.code, ())) or ("on CUDA" if rule.cuda_only else "")
        name = f'[{rule.code}]({rule.code}.md)<br><span class="tl-name">{rule.name}</span>'
        yield f"| {name} | {rule.summary} | {_LEVELS[rule.level]} | {short[rule.set]} | {fix} | {gain} |"


def _gain(rows: Sequence[Measured]) -> str:
    ratios = sorted(row.ratio for row in rows)
    if not ratios:
        return ""
    ends = dict.fromkeys(f"{factor(ratio)}x" for ratio in (ratios[0], ratios[-1]))
    return " to ".join(ends)
