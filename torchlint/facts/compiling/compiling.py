"""All that is known of what a project compiles, in one place."""

from __future__ import annotations

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.project import Project
from torchlint.facts.compiling.breaks import Breaks
from torchlint.facts.compiling.bypass import Bypasses
from torchlint.facts.compiling.calling import Calling
from torchlint.facts.compiling.compiled import Compilations
from torchlint.facts.compiling.holders import Holders
from torchlint.facts.compiling.inside import Inside
from torchlint.facts.compiling.integers import Integers
from torchlint.facts.compiling.machines import Machines
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.late import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Compiling:
    """What answers questions about ``torch.compile``."""

    holders: Holders
    inside: Inside
    breaks: Breaks
    calling: Calling
    bypasses: Bypasses
    integers: Integers
    machines: Machines

    @classmethod
    def of(cls, project: Project, graph: CallGraph, values: Values, heat: Heat, mentions: Mentions) -> Compiling:
        """Nothing is looked at before it is asked for."""
        compilations = Compilations(project, graph, values)
        holders = Holders(graph, values, mentions)
        inside = Inside(project, graph, compilations)
        return cls(
            holders=holders,
            inside=inside,
            breaks=Breaks(project, values, graph, inside),
            integers=Integers(project, graph, values, heat, inside),
            machines=Machines(project, graph, values, compilations),
            calling=Calling(project, heat, compilations, holders),
            bypasses=Bypasses(project, graph, values, heat, compilations, holders),
        )
