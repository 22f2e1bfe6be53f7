"""The slow and plain way to lint: every file is parsed, by LibCST too, and every rule looks at every node.

No gate, no trigger, no cut-out statement, no memory between runs, one process. Tests compare the fast way with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import libcst as cst

from torchlint.engine.analysis import analyse, parse
from torchlint.engine.lint import Draft, Linter, finish
from torchlint.engine.pair import Pairs, pair
from torchlint.engine.site import PairedSite
from torchlint.engine.sites import hot_enough
from torchlint.engine.unused import unused
from torchlint.facts.analyses import Analyses
from torchlint.facts.code.linking import connected
from torchlint.facts.code.model import FileFacts
from torchlint.rule import Finding
from torchlint.settings.model import Settings
from torchlint.sources.suppress import suppressions
from torchlint.sources.text import Source


def whole_file(source: Source, tree: ast.Module) -> Pairs:
    """Pair every node of a file, bodies included, in the order of the source.

    Raises:
        libcst.ParserSyntaxError: LibCST does not understand the file.
        PairingError: the trees do not say the same.
    """
    return pair(tree, cst.parse_module(source.text), header_only=False)


def slow_findings(sources: Mapping[str, Source], settings: Settings, linter: Linter) -> list[Finding]:
    """Return the findings of all files that parse, in order, without the suppressed ones.

    Raises:
        libcst.ParserSyntaxError: LibCST does not understand a file that Python reads.
        PairingError: the trees of a file do not say the same.
    """
    files, _ = parse(sources)
    found: list[Finding] = []
    for group in connected({facts.path: facts.links for facts in files}):
        unit = [facts for facts in files if facts.path in group]
        analyses = analyse(unit, settings)
        for facts in unit:
            silenced = suppressions(facts.source)
            drafts = [draft for draft in _drafts(analyses, facts, linter) if not silenced.covers(draft.finding)]
            found.extend(finish(drafts, facts))
            found.extend(unused(facts.source, linter, lambda: linter, analyses, facts))
    return sorted(found, key=lambda finding: finding.order)


def _drafts(analyses: Analyses, facts: FileFacts, linter: Linter) -> Iterator[Draft]:
    pairs = whole_file(facts.source, facts.tree)
    for node, twin in pairs:
        if isinstance(twin, (ast.expr, ast.stmt)):
            site = PairedSite(analyses, facts, pairs, node, twin)
            for rule in hot_enough(analyses, facts, twin, linter.rules):
                yield from linter.apply(rule, site)
