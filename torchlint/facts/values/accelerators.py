"""Whether code may run on an accelerator, by what the settings say, the project, and the function that holds it."""

from __future__ import annotations

import ast

from torchlint.facts.analyses import Analyses, Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.values.devices import Devices
from torchlint.facts.values.host_only import HostOnly
from torchlint.late import dataclass


@dataclass(eq=False, slots=True)
class Accelerators(Fact):
    """Answers whether code may run on an accelerator; ``setting`` is the device that the user gave."""

    devices: Devices
    host_only: HostOnly
    setting: str

    @classmethod
    def build(cls, analyses: Analyses) -> Accelerators:
        """Take the device from the settings."""
        return cls(analyses[Devices], analyses[HostOnly], analyses.settings.device)

    def may_run(self, facts: FileFacts, node: ast.AST) -> bool:
        """Whether the files that a file is connected with may ever leave the CPU, and the function of a node too."""
        if self.setting != "auto":
            return self.setting == "cuda"
        if self.host_only.is_host_only(facts.scope_of(node).function):
            return False
        return self.devices.may_leave(facts)
