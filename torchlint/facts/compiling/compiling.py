"""All that is known of what a project compiles, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.mentions import Mentions
from torchlint.facts.code.project import Project
from torchlint.facts.compiling.calling import Calling
from torchlint.facts.compiling.compiled import Compilations
from torchlint.facts.compiling.holders import Holders
from torchlint.facts.compiling.inside import Inside
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values


@dataclass(frozen=True, eq=False, slots=True)
class Compiling:
    """What answers questions about ``torch.compile``."""

    inside: Inside
    calling: Calling

    @classmethod
    def of(cls, project: Project, graph: CallGraph, values: Values, heat: Heat, mentions: Mentions) -> Compiling:
        """Nothing is looked at before it is asked for."""
        compilations = Compilations(project, graph, values)
        holders = Holders(graph, values, mentions)
        return cls(
            inside=Inside(project, graph, compilations),
            calling=Calling(project, heat, compilations, holders),
        )
