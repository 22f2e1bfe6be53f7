"""Parses the files of a project and links them: the start of all facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from torchlint.engine.limits import too_long_to_parse, too_much
from torchlint.engine.models import models_of
from torchlint.engine.syntax import Unparsed, tree_of
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.collect import collect
from torchlint.facts.code.graph import CallGraph, call_graph
from torchlint.facts.code.linking import module_name
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import link
from torchlint.facts.hotness.coldness import is_test
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.settings.model import Settings
from torchlint.sources.suppress import marks
from torchlint.sources.text import Source


def parse(sources: Mapping[str, Source]) -> tuple[list[FileFacts], dict[str, Unparsed]]:
    """Parse files and gather the facts of each; files that do not parse, or are too large, are reported by name.

    Tests are parsed for their syntax alone.
    """
    files: list[FileFacts] = []
    broken: dict[str, Unparsed] = {}
    for name in sorted(sources):
        found = _read(sources[name], name)
        if isinstance(found, Unparsed):
            broken[name] = found
        elif found is not None:
            files.append(found)
    return files, broken


def _read(source: Source, name: str) -> FileFacts | Unparsed | None:
    """The facts of one file, ``None`` of a test."""
    reason = too_long_to_parse(source.utf8)
    if reason:
        return Unparsed(reason, too_much=True)
    tree = tree_of(source.text)
    if isinstance(tree, Unparsed):
        return tree
    if is_test(name):
        return None
    module, package = module_name(name)
    facts = collect(source, tree, module, package)
    reason = too_much(facts)
    if reason:
        return Unparsed(reason, too_much=True)
    facts.marks = marks(source)
    return facts


def analyse(files: Iterable[FileFacts], settings: Settings, checkpoint: Callable[[], None] = lambda: None) -> Analyses:
    """Link the facts of all files.

    What a crash could come from in any project is found at once: imports, the call graph, and how often code runs.
    ``checkpoint`` is called again and again, see ``Analyses``.
    """
    project = link(files, models_of(settings))
    graph, values = call_graph(project, checkpoint)
    analyses = Analyses(settings, [project, graph, values], checkpoint=checkpoint)
    analyses[Heat]
    return analyses


def proven(analyses: Analyses) -> Analyses:
    """Return the same facts without guesses about values, or the given ones if no guess was made.

    How often code runs and what it calls is not part of a proof, so these are the same in both.
    """
    weak = analyses[CallGraph].weak
    if not analyses[Values].guessed and not weak:
        return analyses
    return analyses.supposing(Values, lambda values: values.proven(weak), "proven", keeping=(CallGraph, Heat))
