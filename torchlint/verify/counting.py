"""Counts events of the command on the counted device, with some fixes: what a fix spares is exact."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace

from torchlint.count.run import PREFIX, CannotCountError, counting, tally_of
from torchlint.late import dataclass
from torchlint.sources.text import Source
from torchlint.verify.failure import CannotVerifyError
from torchlint.verify.metric import Fall
from torchlint.verify.trials import Failing, Trials, changed


@dataclass(frozen=True, slots=True)
class Counting:
    """A kind of event, as ``waits``, and what runs the command."""

    what: str
    trials: Trials

    def spared(self, fixes: Sequence[str]) -> tuple[dict[str, Failing], Fall]:
        """Return the fixes that save nothing, each with the reason, and the counts without fixes and with the others.

        Each fix is left out in turn; where the count does not rise, the command does better without it.

        Raises:
            CannotVerifyError: the command fails, or nothing can be counted.
        """
        before = self._count({}, "counting without fixes")
        kept = list(fixes)
        after = self._with(kept, "counting with fixes") if kept else before
        idle: dict[str, Failing] = {}
        for number, key in enumerate(fixes, 1):
            others = [other for other in kept if other != key]
            without = self._with(others, f"counting without fix {number} of {len(fixes)}")
            if without <= after:
                idle[key] = Failing(f"{self.what}: {without:,} without it, {after:,} with it", "")
                kept, after = others, without
        return idle, Fall(self.what, before, after)

    def _with(self, fixes: Sequence[str], doing: str) -> int:
        return self._count(changed(self.trials.fixed(frozenset(fixes))), doing)

    def _count(self, texts: dict[str, Source], doing: str) -> int:
        command = self.trials.command
        with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
            roots = [self.trials.scratch.work]
            environment = counting(command.environment, folder, roots, None, None)
            ended = self.trials.run(texts, doing, replace(command, environment=environment))
            if not ended.passed:
                raise CannotVerifyError(f"the command failed ({ended.reason}) {doing}", self.trials.tail(ended))
            try:
                totals = tally_of(folder, command.words, ended.code or 0).totals()
            except CannotCountError as error:
                raise CannotVerifyError(str(error)) from error
        return int(getattr(totals, self.what))
