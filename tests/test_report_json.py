import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from reporting import COST, ROOT, STEP, context_of, finding_of

from torchlint.engine.run import check
from torchlint.report import as_json
from torchlint.report.context import Context
from torchlint.report.entries import group_of
from torchlint.rule import (
    Applicability,
    Basis,
    Change,
    Counted,
    Counts,
    Edit,
    Frequency,
    Hop,
    Level,
    Measured,
    PlainFix,
)
from torchlint.settings.model import Settings

TEXT = 'name = "日本語😀"; obs = torch.FloatTensor(\n    obs\n).to(d)\n'
CODE = "torch.FloatTensor(\n    obs\n).to(d)"


def fix():
    start = len(TEXT[: TEXT.index(CODE)].encode())
    return PlainFix("build it", (Edit(start, start + len(CODE.encode()), "y"), Edit(0, 0, "é\n")), (Change.RNG,))


def read(finding):
    return json.loads(as_json.render(context_of(TEXT, finding)))


def test_every_field_of_a_finding():
    finding = finding_of(TEXT, CODE, fix=fix(), cost=COST, hot=STEP, flow=(Hop("train.py", 90, "log(x)"),))
    assert json.loads(as_json.render(context_of(TEXT, finding))) == [
        {
            "code": "TL101",
            "name": "legacy-tensor-constructor",
            "message": "use torch.as_tensor",
            "severity": "warning",
            "filename": "/home/me/project/agent.py",
            "location": {"row": 1, "column": 22},
            "end_location": {"row": 3, "column": 8},
            "noqa_row": 3,
            "url": None,
            "fingerprint": "f00d",
            "group": group_of(finding),
            "hot": {
                "frequency": "step",
                "path": [
                    {"filename": "/home/me/project/train.py", "row": 88, "name": "loop"},
                    {"filename": "/home/me/project/agent.py", "row": 9, "name": "Agent.act"},
                ],
                "proven": True,
            },
            "flow": [{"filename": "/home/me/project/train.py", "row": 90, "name": "log(x)"}],
            "cost": {
                "saves_us": 3.6,
                "ratio": 3.1,
                "low": 2.3,
                "high": 3.14,
                "size": "17-dim observations",
                "unit": "call",
                "device": "cpu",
                "source": "bundled",
            },
            "fix": {
                "applicability": "unsafe",
                "may_change": ["rng"],
                "assumes": "",
                "message": "build it",
                "edits": [
                    {
                        "content": "é\n",
                        "location": {"row": 1, "column": 1},
                        "end_location": {"row": 1, "column": 1},
                    },
                    {
                        "content": "y",
                        "location": {"row": 1, "column": 22},
                        "end_location": {"row": 3, "column": 8},
                    },
                ],
            },
        }
    ]


def test_events_that_are_saved_stand_beside_the_time():
    events = Counted(
        Counts(waits=16, launches=8, copies=8, bytes=24), Counts(launches=16), "losses", runs=8, unit="update"
    )
    saved = {"waits": 2, "launches": -1, "copies": 1, "bytes": 3, "size": "losses", "unit": "update"}
    (alone,) = read(finding_of(TEXT, CODE, events=events))
    assert alone["cost"] == {"events": saved}
    (both,) = read(finding_of(TEXT, CODE, events=events, cost=COST))
    assert (both["cost"]["saves_us"], both["cost"]["events"]) == (COST.saves_us, saved)


def test_what_is_not_known_is_null():
    finding = finding_of(TEXT, CODE, level=Level.ERROR)
    (read,) = json.loads(as_json.render(context_of(TEXT, finding)))
    assert read["cost"] is None
    assert read["fix"] is None
    assert read["hot"] == {"frequency": "once", "path": [], "proven": True}
    assert read["severity"] == "error"


def test_nothing_found_is_an_empty_list():
    assert as_json.render(context_of(TEXT)) == "[]\n"


def test_hostile_names_survive_the_round_trip():
    hostile = 'a"\n\\\x1b\u2028\udcff.py'
    finding = finding_of(TEXT, CODE, path=hostile, message=hostile)
    text = as_json.render(context_of(TEXT, finding, name=hostile))
    (read,) = json.loads(text)
    assert text.isascii()
    assert read["message"] == hostile
    assert read["filename"] == f"{ROOT.as_posix()}/{hostile}"


def test_standard_input_without_a_name_stays_a_dash():
    (read,) = json.loads(as_json.render(context_of(TEXT, finding_of(TEXT, CODE, path="-"), name="-")))
    assert read["filename"] == "-"


def test_a_syntax_error_in_an_unknown_text_has_a_file_name_too():
    (read,) = json.loads(as_json.render(context_of(TEXT, finding_of(TEXT, CODE, path="broken.py"))))
    assert read["filename"] == "/home/me/project/broken.py"


# the schema -----------------------------------------------------------------------------------------------------------


@cache
def validator():
    schema = json.loads(as_json.schema_text())
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def test_the_schema_holds_for_findings_with_all_that_there_can_be():
    events = Counted(Counts(waits=3), Counts(launches=1), "losses")
    whole = replace(COST, unit="", most_us=9.0, most_size="256", open=True)
    seen = Measured(Basis.CALLS, 0.2, 12.0, 3, 1.5, "step", 2)
    text = as_json.render(
        context_of(
            TEXT,
            finding_of(TEXT, CODE, fix=fix(), cost=whole, hot=STEP, events=events, measured=seen),
            finding_of(TEXT, CODE, level=Level.ERROR, code="TL000", measured=Measured(Basis.UNSEEN)),
            cells={"agent.py": ("nb.ipynb", 3)},
        )
    )
    assert [error.message for error in validator().iter_errors(json.loads(text))] == []


def test_the_schema_knows_every_word_that_a_field_may_have():
    def words(name, *path):
        found = validator().schema["definitions"][name]["properties"]
        for key in path:
            found = found[key]
        return found["enum"]

    assert words("finding", "severity") == [level.value for level in Level]
    assert words("finding", "hot", "properties", "frequency") == [each.name.lower() for each in Frequency]
    assert words("fix", "applicability") == [each.value for each in Applicability]
    assert words("fix", "may_change", "items") == [change.value for change in Change]
    assert words("measured", "basis") == [basis.value for basis in Basis]


@pytest.mark.parametrize("name", ["message", "group", "hot", "fix"])
def test_the_schema_refuses_what_lacks_a_field_or_has_another(name):
    (known,) = read(finding_of(TEXT, CODE))
    assert validator().is_valid([known])
    assert not validator().is_valid([{key: value for key, value in known.items() if key != name}])
    assert not validator().is_valid([{**known, f"{name}s": 1}])


def test_what_the_engine_finds_in_the_examples_fits_the_schema():
    root = Path(__file__).resolve().parent.parent / "examples" / "agent"
    settings = Settings(root=root, preview=True, device="cuda")
    result = check((root,), settings)
    found = json.loads(as_json.render(Context.of(result, root)))
    assert len(found) > 10
    assert [error.message for error in validator().iter_errors(found)] == []
