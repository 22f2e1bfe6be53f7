"""Whether a program has no complex numbers: what the fixes of TL202 and TL203 ask about means, losses and the like."""

from __future__ import annotations

import re
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.exporting import of_library
from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.late import dataclass

# The dtypes, literals and functions of Python, NumPy and torch that make complex numbers of others.
_MAKING = (
    rb"complex(?:32|64|128|256|floating|_|\()|\.complex\b|view_as_complex|\bc(?:float|double|half)\b|\bclongdouble\b"
    rb"|fft|\b[ip]?stft\b|\bpolar\b|hilbert|\beig(?:vals)?\b|\broots\b|[0-9.][jJ]\b"
)


@dataclass(eq=False, slots=True)
class RealNumbers(Fact):
    """Answers whether no file of a project mentions complex numbers, or of what makes them."""

    project: Project
    _only: bool | None = field(default=None)

    def only(self, scope: Scope) -> bool:
        """Whether no file does, and the code is not a library's, which programs that are not seen may use."""
        if self._only is None:
            making = re.compile(_MAKING)
            self._only = not any(making.search(facts.source.utf8) for facts in self.project.files.values())
        return self._only and not of_library(self.project, scope)
