"""The floor that rules stand on: everything a rule module may import besides ``torchlint.cst``.

A name is imported when it is first asked for (PEP 562): a run that comes to no rule needs a few of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.rule.base import Example, Fix, InFile, Input, Report, Rule
    from torchlint.rule.compiling import Break, Bypass, BypassKind, Changing, Splits, Taken
    from torchlint.rule.finding import (
        Basis,
        Cost,
        Counted,
        Counts,
        Edit,
        Finding,
        Measured,
        PlainFix,
        Position,
    )
    from torchlint.rule.flow import EVERY_USE, Average, Network, Run, Use
    from torchlint.rule.frequency import CallSite, Frequency, Hop, Hotness
    from torchlint.rule.loop import Loop, Picked, Row
    from torchlint.rule.option import Option
    from torchlint.rule.purpose import Purpose
    from torchlint.rule.site import Link, Site
    from torchlint.rule.terms import Applicability, Change, Level, RuleSet
    from torchlint.rule.trigger import Call, Comment, Found, Import, Method, NetworkCall, Statement, Store, Trigger
    from torchlint.rule.value import UNKNOWN, Device, Kind, Value

API_VERSION = 1
"""The version of what is offered here. A rule package says in ``TORCHLINT_API`` which one it is written for."""

__all__ = [
    "API_VERSION",
    "EVERY_USE",
    "UNKNOWN",
    "Applicability",
    "Average",
    "Basis",
    "Break",
    "Bypass",
    "Call",
    "CallSite",
    "Change",
    "Changing",
    "Comment",
    "Cost",
    "Counted",
    "Counts",
    "Device",
    "Edit",
    "Example",
    "Finding",
    "Fix",
    "Found",
    "Frequency",
    "Hop",
    "Hotness",
    "Import",
    "InFile",
    "Input",
    "Kind",
    "Level",
    "Link",
    "Loop",
    "Measured",
    "Method",
    "Network",
    "NetworkCall",
    "Picked",
    "PlainFix",
    "Option",
    "Position",
    "Purpose",
    "Report",
    "Row",
    "Rule",
    "RuleSet",
    "Run",
    "Site",
    "Splits",
    "Statement",
    "Store",
    "Taken",
    "Trigger",
    "Use",
    "Value",
    "BypassKind",
]

# By module, the names that it defines; a test holds the table equal to the imports above.
_HOMES = {
    "base": "Example Fix InFile Input Report Rule",
    "compiling": "Break Bypass BypassKind Changing Splits Taken",
    "finding": "Basis Cost Counted Counts Edit Finding Measured PlainFix Position",
    "flow": "EVERY_USE Average Network Run Use",
    "frequency": "CallSite Frequency Hop Hotness",
    "loop": "Loop Picked Row",
    "option": "Option",
    "purpose": "Purpose",
    "site": "Link Site",
    "terms": "Applicability Change Level RuleSet",
    "trigger": "Call Comment Found Import Method NetworkCall Statement Store Trigger",
    "value": "UNKNOWN Device Kind Value",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        home = next((module for module, names in _HOMES.items() if name in names.split()), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return found
