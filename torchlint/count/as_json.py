"""A counted run as JSON."""

from __future__ import annotations

import json

from torchlint.count.result import CountedLine, CountedRun
from torchlint.device.events import Events

VERSION = 1


def as_json(run: CountedRun) -> str:
    """Return the run: totals, events per environment step and per update, and every line, the costliest first."""
    content = {
        "version": VERSION,
        "torch": run.torch,
        "seconds": round(run.seconds, 3),
        "steps": run.steps,
        "updates": run.updates,
        "totals": _counts(run.totals),
        "per_step": _rates(run.totals, run.steps),
        "per_update": _rates(run.totals, run.updates),
        "elsewhere": _counts(run.elsewhere),
        "lines": [_line(line, run) for line in by_cost(run.lines)],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def by_cost(lines: object) -> list[CountedLine]:
    """Sort lines by waits, then launches, the most first."""
    assert isinstance(lines, (list, tuple))
    return sorted(lines, key=lambda line: (-line.events.waits, -line.events.launches, line.path, line.row))


def _counts(events: Events) -> dict[str, int]:
    counts = events.as_dict()
    return {"waits": events.waits, "launches": events.launches, "copies": events.copies, **counts}


def _rates(events: Events, times: int) -> dict[str, float] | None:
    if not times:
        return None
    return {name: round(count / times, 4) for name, count in _counts(events).items()}


def _line(line: CountedLine, run: CountedRun) -> dict[str, object]:
    return {
        "filename": line.path,
        "row": line.row,
        **_counts(line.events),
        "per_step": _rates(line.events, run.steps),
        "per_update": _rates(line.events, run.updates),
        "waiting": dict(line.waiting),
        "libraries": dict(line.libraries),
        "status": line.status.value,
        "codes": sorted({finding.code for finding in line.findings}),
        "why": line.why or None,
    }
