"""Whether a program has no complex numbers: what the fixes of TL202 and TL203 ask about means, losses and the like."""

from __future__ import annotations

import re
from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.exporting import of_library
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.late import dataclass

# The dtypes, literals and functions of Python, NumPy and torch that make complex numbers of others.
_MAKING = (
    rb"(?<!is_)complex(?:32|64|128|256|floating|_|\()|\.complex\b|view_as_complex|\bc(?:float|double|half)\b"
    rb"|\bclongdouble\b|fft|\b[ip]?stft\b|\bpolar\b(?!['\"])|hilbert|\beig(?:vals)?\b|\broots\b|[0-9.][jJ]\b"
)
# One of these stands wherever the above matches. To look for what begins with a letter is ten times as fast.
_WORDS = tuple(b"complex cfloat cdouble chalf longdouble fft stft polar hilbert roots".split())
_OTHERS = (rb"eig(?:vals)?\b", rb"j\b(?<=[0-9.]j)", rb"J\b(?<=[0-9.]J)")
# In these a complex step counts points between real ends: ``numpy.mgrid[-1:1:10j]``.
_GRIDS = rb"\b[mo]grid\[[^\]]*\]"


@dataclass(eq=False, slots=True)
class RealNumbers(Fact):
    """Answers whether no file of a program mentions complex numbers, or what makes them."""

    project: Project
    graph: CallGraph
    _only: dict[frozenset[str], bool] = field(default_factory=dict)

    def only(self, scope: Scope) -> bool:
        """Return whether no connected file mentions complex numbers, and the code is not a library's."""
        group = self.graph.groups[scope.file.path]
        if group not in self._only:
            texts = (self.project.files[path].source.utf8 for path in group)
            self._only[group] = not any(map(_makes_complex, texts))
        return self._only[group] and not of_library(self.project, scope)


def _makes_complex(text: bytes) -> bool:
    """Whether a text mentions complex numbers, or what makes them."""
    if not any(word in text for word in _WORDS) and not any(re.search(other, text) for other in _OTHERS):
        return False
    making = re.compile(_MAKING)
    return making.search(text) is not None and making.search(re.sub(_GRIDS, b"", text)) is not None
