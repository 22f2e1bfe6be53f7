"""Findings of an edited file right after an edit inside of its functions, before its unit is analysed as a whole.

The file gets new facts, its calls are resolved, and how often code runs is found for the calls as they are now. What
else is known of the rest of the unit is kept, although some of it may rest on what the edit changed. So a preview says
nothing final: whoever shows it has the unit analysed as soon as there is time, and shows that. Nor does it make fixes,
because a fix is a proof.
"""

from __future__ import annotations

from collections.abc import Mapping

from torchlint.engine.notebooks import inner_name
from torchlint.engine.run import EngineRun
from torchlint.engine.session_state import SessionState
from torchlint.engine.syntax import Unparsed
from torchlint.engine.units import LintTarget, Unit
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.file_edits import FileEdits, outline
from torchlint.facts.code.graph import CallGraph, call_graph_after
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.rule import Finding
from torchlint.sources.text import Source


def is_inside(old: FileFacts, new: FileFacts) -> bool:
    """Return whether an edit changed nothing that other files can see without looking into functions."""
    return outline(old) == outline(new)


def edited(analyses: Analyses, files: Mapping[FileFacts, FileFacts]) -> Analyses:
    """Return the facts of a project after edits of files inside of their functions, old to new."""
    edits = FileEdits(files)
    project = analyses[Project].edited(edits)
    graph, values = call_graph_after(project, analyses[CallGraph], analyses[Values], edits)
    heat = analyses[Heat].edited(project, graph, values, edits)
    return Analyses(analyses.settings, [project, graph, values, heat], checkpoint=analyses.checkpoint)


def previewed(session: SessionState, name: str, texts: Mapping[str, Source]) -> list[Finding] | None:
    """Return what to show of a file's new text until its unit is analysed as a whole; nothing has a fix.

    ``texts`` are those of all open files, by name. ``None`` where only the whole analysis can tell: the file is new, or
    an edit changed more than the inside of functions.
    """
    unit, run = session.units.get(name), session.run
    if unit is None or run is None:
        return None
    facts = run.linting.facts(texts[name])
    if isinstance(facts, Unparsed):
        return run.broken(name, facts)
    files = _edited_files(run, unit, texts)
    if files is None or facts not in files.values():
        return None
    target = LintTarget.of(texts[name], unit.targets[name].scope, heed=unit.targets[name].heed, fixes=False)
    passing = Unit(lambda: (), unit.size, {name: target}, unit.settings)
    passing.take(edited(unit.analyses(), files))
    return run.offered(texts[name], passing.lint(name))


def _edited_files(run: EngineRun, unit: Unit, texts: Mapping[str, Source]) -> dict[FileFacts, FileFacts] | None:
    """The files of a unit that changed since it was linked, old to new; ``None`` where one changed too much."""
    before = unit.analyses()[Project].files
    files: dict[FileFacts, FileFacts] = {}
    for name, target in unit.targets.items():
        if name in texts and texts[name].utf8 != target.source.utf8:
            old, new = before.get(inner_name(name)), run.linting.facts(texts[name])
            if old is None or not isinstance(new, FileFacts) or not is_inside(old, new):
                return None
            files[old] = new
    return files
