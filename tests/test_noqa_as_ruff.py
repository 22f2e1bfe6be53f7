"""``# noqa`` silences what it silences for Ruff, spelling by spelling."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.rule import Finding, Level, Position
from torchlint.sources.decode import decode
from torchlint.sources.suppress import suppressions

pytestmark = pytest.mark.versions

# CODE stands for the code of the finding, ``code`` for the same in lower case, F4 and F for prefixes of it.
SPELLINGS = (
    "# noqa",
    "#noqa",
    "#  noqa",
    "# NOQA",
    "# NoQA",
    "# nOqA",
    "# noqa  ",
    "# noqa because of this",
    "# noqa - reason",
    "# noqa(reason)",
    "# noqa.",
    "# noqa,",
    "# noqa;",
    "# noqa!",
    "# noqa:CODE",
    "# noqa: CODE",
    "# noqa :CODE",
    "# noqa : CODE",
    "# noqa\t: CODE",
    "# noqa:code",
    "# noqa: code",
    "# NOQA:CODE",
    "# NoQA: code",
    "# noqa: E501, CODE",
    "# noqa: E501 CODE",
    "# noqa: E501,CODE for a reason",
    "# noqa: E501CODE",
    "# noqa: CODEE501",
    "# noqa: E501;CODE",
    "# noqa: E501|CODE",
    "# noqa: E501/CODE",
    "# noqa: E501\tCODE",
    "# noqa:CODE,",
    "# noqa:,CODE",
    "# noqa: ,CODE",
    "# noqa: CODE, because",
    "# noqa: CODE because",
    "# noqa: CODE: because",
    "# noqa: CODE. because",
    "# noqa: CODE(because)",
    "# noqa: CODE[because]",
    "# noqa: CODE- because",
    "# noqa: CODE - because",
    "# noqa: CODE; because",
    "# noqa: CODEbecause",
    "# noqa: F4",
    "# noqa: F",
    "# noqa: CODE0",
    "# noqa: CODE E501",
    "# noqa: CODE  E501",
    "# noqa: E501 because CODE",
    "# noqa: unused-import",
    "# noqa: unused-import, CODE",
    "# noqa:",
    "# noqa: ",
    "# noqa: because",
    "# noqa: because CODE",
    "# noqa:: CODE",
    "# noqas",
    "# noqa-ish",
    "# noqa_CODE",
    "# noqaCODE",
    "# noqa CODE",
    "# noqa E501",
    "# noqa = CODE",
    "# noqa=CODE",
    "# see noqa",
    "# see # noqa",
    "# type: ignore # noqa",
    "# type: ignore # noqa: CODE",
    "# type: ignore  #noqa:CODE",
    "# noqa # type: ignore",
    "# noqa: E501 # noqa: CODE",
    "# noqa: E501 # type: ignore CODE",
    "# noqa: CODE # reason",
    "# noqa: CODE# reason",
    "# noqa: CODE#noqa",
    "# # noqa",
    "## noqa",
    "#: noqa",
    "#:noqa",
    "#!noqa",
    "# ruff: noqa",
    "# flake8: noqa",
    "# ruff: noqa: CODE",
    "# flake8: noqa: CODE",
    "# noqa: E501, E502, CODE",
    "# noqa: [CODE]",
    "# noqa: (CODE)",
    "# noqa [CODE]",
    "# noqa: CODE # noqa: E501",
    "# fmt: skip # noqa: CODE",
    "# text noqa: CODE",
    "# noqa:  CODE",
    "# noqa:\tCODE",
    "# noqa: E501 , CODE",
    "# noqa: E501,,CODE",
    "# noqa: CODE,E501",
    "#\tnoqa",
    "# noqa: because # noqa: CODE",
    "# noqa-ish # noqa",
    "# noqas # noqa",
    "# noqa: E501 text # noqa",
    "# noqa: E501 # noqa",
    "# noqa # noqa: E501",
    "# see noqa # noqa: CODE",
    "# noqa: # noqa: CODE",
    "# noqa: # noqa",
    "# noqa(x) # noqa",
    "# noqa: E501 E711 # noqa: CODE",
)


def written(spelling, code, prefix):
    text = spelling.replace("CODE", code).replace("code", code.lower())
    return text.replace("F4010", f"{code}0").replace("F4", prefix) if "CODE" not in spelling else text


@pytest.fixture(scope="module")
def silenced_by_ruff(tmp_path_factory):
    """The spellings that silence Ruff."""
    folder = tmp_path_factory.mktemp("spellings")
    for number, spelling in enumerate(SPELLINGS):
        (folder / f"{number}.py").write_text(f"import os  {written(spelling, 'F401', 'F4')}\n")
    flags = ["--isolated", "--no-cache", "--select", "F401", "--output-format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *flags, "."], cwd=folder, capture_output=True, text=True, check=False
    )
    shown = {int(Path(row["filename"]).stem) for row in json.loads(done.stdout)}
    return {spelling for number, spelling in enumerate(SPELLINGS) if number not in shown}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_comment_silences_what_it_silences_for_ruff(silenced_by_ruff, spelling):
    source = decode(f"import os  {written(spelling, 'TL101', 'TL1')}\n".encode(), Path("/project/a.py"), "a.py")
    place = Position(1, 1)
    finding = Finding("TL101", "legacy-tensor-constructor", "message", Level.WARNING, "a.py", place, place, (1, 1))
    # Ruff warns that a code in lower case is none; here there is nothing else that it can mean.
    expected = spelling in silenced_by_ruff or "code" in spelling
    assert suppressions(source).covers(finding) == expected


def test_the_table_tells_apart(silenced_by_ruff):
    assert len(SPELLINGS) >= 40
    assert 20 <= len(silenced_by_ruff) <= len(SPELLINGS) - 20
