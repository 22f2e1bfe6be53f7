"""Findings, costs, hot paths and fixes in known code are those of the golden files, which ``make golden`` writes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import golden
import pytest
from conftest import HAS_TORCH, SHARES, share_of, state_of_the_code
from test_packages import download

from torchlint.rule import Frequency, Position

pytestmark = pytest.mark.versions

SMELL = """\
import torch


def act(policy, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, *_ = env.step(policy(torch.FloatTensor(obs)))
"""


FOLDERS = ("fixtures", "examples")


@cache
def texts() -> dict[str, list[golden.Text]]:
    """The texts of fixtures and examples by the golden file that lists what is found in them."""
    found: dict[str, list[golden.Text]] = {}
    for text in golden.texts():
        found.setdefault(text.golden, []).append(text)
    return found


@cache
def kept() -> golden.Golden:
    """The golden files of fixtures and examples."""
    return {name: text for folder in FOLDERS for name, text in golden.kept(folder).items()}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All golden files on the one Python that has torch; on others a share, unless all is wanted."""
    if "golden_file" in metafunc.fixturenames:
        names = sorted(texts().keys() | kept().keys())
        if not HAS_TORCH and not metafunc.config.option.whole:
            state = state_of_the_code()
            names = [name for name in names if share_of(name, state, SHARES["third"]) == 0]
        metafunc.parametrize("golden_file", names)


def assert_as_kept(made: golden.Golden, said: golden.Golden) -> None:
    """Fail with what differs, by rule and file."""
    changes = golden.difference(said, made)
    assert not changes, f"not as in tests/golden; if it should be, run `make golden` and commit it:\n{changes}"


def test_what_is_found_in_our_code_is_what_was_found(golden_file: str) -> None:
    """With what fixes make of it on the one Python that has torch, for that takes as long again."""
    made = golden.own(texts().get(golden_file, []), with_fixed=HAS_TORCH)
    said = {name: text for name, text in kept().items() if name == golden_file}
    assert_as_kept(made, said if HAS_TORCH else golden.without_fixed(said))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_golden_file_has_texts_and_most_texts_have_one(folder: str) -> None:
    names = {name for name in kept() if name.startswith(folder)}
    assert len(names) > 80
    assert names <= texts().keys()


@pytest.mark.long
@pytest.mark.packages
@pytest.mark.once
@pytest.mark.parametrize("requirement", golden.PACKAGES)
def test_what_is_found_in_a_package_is_what_was_found(requirement: str) -> None:
    made = golden.package(requirement, download(requirement))
    assert_as_kept(made, {name: text for name, text in golden.kept("packages").items() if name in made})


def test_all_packages_have_a_golden_file_and_no_others() -> None:
    assert set(golden.kept("packages")) == {f"packages/{requirement}.txt" for requirement in golden.PACKAGES}


def made_of(text: str) -> golden.Golden:
    return golden.own([golden.Text("fixtures/TL101/hot.py", text)])


def test_equal_texts_have_no_difference() -> None:
    assert golden.difference(made_of(SMELL), made_of(SMELL)) == ""


def test_a_finding_that_is_gone_is_named_with_its_rule_and_file() -> None:
    changes = golden.difference(made_of(SMELL), {})
    assert changes.startswith("TL101: 1 lines gone, 0 new, in 1 files\n  fixtures/TL101/hot.py\n    - 7:35-7:57 TL101")
    assert "step 6 loop" in changes


def test_a_colder_line_is_a_difference() -> None:
    (finding,) = golden.findings(golden.Text("fixtures/TL101/hot.py", SMELL))
    colder = replace(finding, hot=replace(finding.hot, frequency=Frequency.EPISODE))
    before, after = ({"fixtures/TL101.txt": f"== hot.py\n{golden.Line(each).full}"} for each in (finding, colder))
    report = golden.difference(before, after).splitlines()
    assert report[:2] == ["TL101: 1 lines gone, 1 new, in 1 files", "  fixtures/TL101/hot.py"]
    assert ["| step 6 loop |" in report[2], "| episode 6 loop |" in report[3]] == [True, True]


def test_a_fix_that_writes_something_else_is_a_difference() -> None:
    changes = golden.difference(made_of(SMELL), made_of(SMELL.replace("FloatTensor", "DoubleTensor")))
    assert "fixed texts: 1 lines gone, 1 new" in changes


def test_a_measured_time_is_none_but_which_one_fits_is_a_difference() -> None:
    """Figures that are measured again leave the golden files as they are."""
    (finding,) = golden.findings(golden.Text("fixtures/TL101/hot.py", SMELL))
    assert finding.cost is not None
    line = golden.Line(finding).full
    assert golden.Line(replace(finding, cost=replace(finding.cost, saves_us=1e6, ratio=9.0))).full == line
    assert golden.Line(replace(finding, cost=replace(finding.cost, example="another"))).full != line


def test_the_code_of_others_is_not_in_their_golden_files() -> None:
    (line,) = (line for line in golden.kept("packages").popitem()[1].splitlines()[:2] if not line.startswith("== "))
    place, code, frequency, fix, digest = line.split()
    assert code.startswith("TL")
    assert frequency in {"once", "episode", "update", "step", "inner"}
    assert fix in {"-", "safe", "unsafe", "display"}
    assert all(part.isdigit() for part in place.split(":"))
    assert digest.startswith("#")


def test_the_place_of_a_finding_in_an_f_string_is_that_of_the_f_string() -> None:
    """Python 3.11 and older know no other, and the golden files are the same for all."""
    text = 'import torch\n\nx = f"ü {torch.FloatTensor([1])}"\n'
    (finding,) = golden.findings(golden.Text("fixtures/TL101/hot.py", SMELL))
    (settled,) = golden.settled([replace(finding, start=Position(3, 9), end=Position(3, 20))], text)
    assert (settled.start, settled.end) == (Position(3, 5), Position(3, 34))
    assert golden.settled([finding], SMELL) == [finding]
