"""Modules that no known code calls: somebody calls their ``forward`` all the same."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts.code.graph import CallGraph, references
from torchlint.facts.code.model import Scope
from torchlint.facts.code.project import Project, exported
from torchlint.facts.hotness.roots import cold_file


def forwards(project: Project, graph: CallGraph) -> Iterator[Scope]:
    """``forward`` of modules that the project builds or mentions, or that a library exports."""
    idle = project.unused()
    mentioned = set(graph.built)
    for facts in project.files.values():
        if not cold_file(facts.path):
            mentioned |= references(project, facts) & set(project.classes)
    used = set(mentioned)
    for name in mentioned:
        used.update(project.ancestry(name))
    for name, cls in project.classes.items():
        if cold_file(cls.file.path) or not project.is_module(name):
            continue
        if (name in used and cls.file.path not in idle) or exported(project, cls):
            for binding in cls.bindings.get("forward", ()):
                if binding.scope is not None:
                    yield binding.scope
