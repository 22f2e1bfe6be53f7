import json

from reporting import COST, ROOT, STEP, context_of, finding_of

from torchlint.report import as_json
from torchlint.report.entries import group_of
from torchlint.rule import Change, Counted, Counts, Edit, Level, PlainFix

TEXT = 'name = "日本語😀"; obs = torch.FloatTensor(\n    obs\n).to(d)\n'
CODE = "torch.FloatTensor(\n    obs\n).to(d)"


def fix():
    start = len(TEXT[: TEXT.index(CODE)].encode())
    return PlainFix("build it", (Edit(start, start + len(CODE.encode()), "y"), Edit(0, 0, "é\n")), (Change.RNG,))


def read(finding):
    return json.loads(as_json.render(context_of(TEXT, finding)))


def test_every_field_of_a_finding():
    finding = finding_of(TEXT, CODE, fix=fix(), cost=COST, hot=STEP)
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
