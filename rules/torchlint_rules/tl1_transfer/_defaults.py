"""Whether a program leaves the defaults of torch as they are: what TL101 and TL110 ask about a site."""

from __future__ import annotations

from dataclasses import field

from torchlint.facts.analyses import Fact
from torchlint.facts.code.exporting import of_library
from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project
from torchlint.late import dataclass
from torchlint.rule.site import Site

_SETTING = (b"set_default_tensor_type", b"set_default_dtype", b"set_default_device")


@dataclass(eq=False, slots=True)
class TensorDefaults(Fact):
    """Answers whether any file of a project mentions setting a default dtype, device or type of tensors."""

    project: Project
    _unset: bool | None = field(default=None)

    def unset(self) -> bool:
        """Whether no file does."""
        if self._unset is None:
            texts = (facts.source.utf8 for facts in self.project.files.values())
            self._unset = not any(word in text for text in texts for word in _SETTING)
        return self._unset

    def closed(self, scope: Scope) -> bool:
        """Whether no file does, and the code is not a library's, which programs that are not seen may use."""
        return self.unset() and not of_library(self.project, scope)


def defaults_unset(site: Site) -> bool:
    """Whether no file of the project mentions setting a default dtype, device or type of tensors."""
    return site.fact(TensorDefaults).unset()


def defaults_kept(site: Site) -> bool:
    """Whether new tensors are proven to be of 32-bit floats on the CPU where nothing else is said."""
    return site.fact(TensorDefaults).closed(site.file.scope_of(site.twin))
