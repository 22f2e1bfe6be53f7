"""What the fixer makes of an example: the program "after" of every comparison."""

from __future__ import annotations

import tempfile
from pathlib import Path

from torchlint.engine.rules import home_of
from torchlint.engine.run import check
from torchlint.late import dataclass
from torchlint.rule import Change, Example, Rule
from torchlint.settings.model import Settings
from torchlint.sources.decode import decode

# Examples are run with the torch at hand, whatever fixes ask for.
KNOWS_ALL = "999.0"
_NAME = "example.py"


class UnfixableError(Exception):
    """The fixer made nothing of an example that should have a fix."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """An example after its fix.

    Attributes:
        text: the program.
        may_change: what the fixes that were applied say they may change.
        assumes: whether one of them takes something for granted that could not be proven.
    """

    text: str
    may_change: frozenset[Change]
    assumes: bool


def fixed(rule: type[Rule], example: Example) -> Fixed:
    """Run the fixer over an example; of a rule without a fix, take the version written by hand.

    A version written by hand may round otherwise, as its author cannot ask the rule.

    Raises:
        UnfixableError: nothing was fixed, or the rule failed on its own example.
    """
    if example.by_hand:
        return Fixed(example.fixed, frozenset({*rule.may_change, Change.ROUNDING}), assumes=True)
    package = home_of(rule)
    with tempfile.TemporaryDirectory() as folder:  # away from any project
        root = Path(folder)
        settings = Settings(
            root=root,
            isolated=True,
            select=(rule.code,),
            preview=True,
            fix=True,
            unsafe_fixes=True,
            device="auto",
            target_torch=KNOWS_ALL,
            plugins=(package,) if package is not None else (),
        )
        result = check((), settings, stdin=decode(example.source.encode(), root / _NAME, _NAME))
    if result.problems or _NAME not in result.fixed:
        reason = "; ".join(problem.message for problem in result.problems) or "the fixer changes nothing"
        raise UnfixableError(f"{rule.code} {example.name}: {reason}")
    file = result.fixed[_NAME]
    fixes = [finding.fix for finding in file.applied if finding.fix is not None]
    changes = frozenset(change for fix in fixes for change in fix.may_change)
    return Fixed(file.after.text, changes, any(fix.assumes for fix in fixes))
