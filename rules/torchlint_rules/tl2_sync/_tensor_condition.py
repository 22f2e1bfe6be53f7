"""What TL202 asks about a site."""

from __future__ import annotations

import ast

from torchlint.facts.hotness.guards import reports
from torchlint.rule.site import Site


def ends_loop(site: Site) -> bool:
    """Of an ``if`` or its test, whether the body ends in ``break``; of the test of a ``while``, true."""
    branch = site.decided
    return isinstance(branch, ast.While) or (isinstance(branch, ast.If) and isinstance(branch.body[-1], ast.Break))


def only_reports(site: Site) -> bool:
    """Of an ``if`` or its test, whether the body only writes messages."""
    branch = site.decided
    return isinstance(branch, ast.If) and not branch.orelse and reports(branch.body)
