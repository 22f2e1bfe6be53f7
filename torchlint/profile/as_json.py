"""A profile joined to the findings as JSON; the documentation describes it, and ``version`` counts its changes."""

from __future__ import annotations

import json

from torchlint.profile.agree import Agreement
from torchlint.profile.join import Group
from torchlint.profile.report import HotSpot, ProfileReport
from torchlint.profile.sole import Shared
from torchlint.profile.words import remedy, sentence
from torchlint.report.as_json import measure
from torchlint.report.escape import defused_json, encodable
from torchlint.rule import Finding, Frequency

VERSION = 1


def as_json(report: ProfileReport) -> str:
    """Return one object.

    Times are in microseconds, shares between 0 and 1, rows 1-based, paths relative to the project.
    """
    profile = report.profile
    told = {
        "version": VERSION,
        "trace": report.trace,
        "source": profile.source.name.lower(),
        "total_us": profile.total_us,
        "steps": report.pace.steps or None,
        "steps_announced": report.pace.announced,
        "updates": report.pace.updates or None,
        "stacks": profile.stacks,
        "lines": profile.exact_lines,
        "device": profile.device,
        "shares_only": profile.assumed_rate,
        "files": report.files,
        "outside_us": report.attribution.outside_us,
        "imports_us": report.attribution.imports_us,
        "unmatched": list(report.attribution.unmatched),
        "findings": [_group(group) for group in (*report.groups, *report.idle)],
        "operators": [_shared(each) for each in report.shared],
        "hot": [_spot(spot) for spot in report.spots],
        "agreement": None if report.agreement is None else _agreement(report.agreement),
    }
    return defused_json(encodable(json.dumps(told, indent=2, ensure_ascii=False))) + "\n"


def _group(group: Group) -> dict[str, object]:
    return {
        "code": group.code,
        "name": group.name,
        "path": group.path,
        "function": group.function,
        "function_calls": group.runs or None,
        "sentence": sentence(group),
        "measured": measure(group.measured),
        "copies": group.copies,
        "syncs": group.syncs,
        "launches": group.launches,
        "operators": list(group.named),
        "fix": remedy(group.findings) or None,
        "places": [_place(finding) for finding in group.findings],
    }


def _place(finding: Finding) -> dict[str, object]:
    return {
        "row": finding.start.row,
        "column": finding.start.column,
        "message": finding.message,
        "frequency": _word(finding.hot.frequency),
        "fingerprint": finding.fingerprint,
        "measured": None if finding.measured is None else measure(finding.measured),
    }


def _spot(spot: HotSpot) -> dict[str, object]:
    return {
        "path": spot.path,
        "function": spot.function,
        "row": spot.row,
        "line_exact": spot.exact,
        "us": spot.us,
        "share": spot.share,
        "calls": spot.calls or None,
        "copies": spot.copies,
        "syncs": spot.syncs,
        "launches": spot.launches,
        "mostly": list(spot.mostly),
        "rest": spot.rest,
        "inside": [{"where": each.where, "copies": each.copies, "syncs": each.syncs} for each in spot.inside],
    }


def _shared(each: Shared) -> dict[str, object]:
    found = [{"path": one.path, "row": one.start.row, "code": one.code} for one in each.findings]
    return {"name": each.name, "us": each.us, "calls": each.calls, "findings": found}


def _agreement(found: Agreement) -> dict[str, object]:
    return {
        "compared": found.compared,
        "near": found.near,
        "rank_correlation": found.correlation,
        "gross": [
            {
                "path": each.path,
                "function": each.name,
                "row": each.row,
                "predicted": _word(each.predicted),
                "seen": _word(each.seen),
                "calls": each.calls,
            }
            for each in found.gross
        ],
    }


def _word(found: Frequency) -> str:
    return found.name.lower()
