"""The page about the code of others shows its data, and these say what the project promises of fixes."""

import json
from types import ModuleType

import pytest
from programs import benchmark


@pytest.fixture(scope="module")
def packages() -> ModuleType:
    """The program that writes the page."""
    return benchmark("packages")


@pytest.fixture(scope="module")
def notes(packages: ModuleType) -> dict[str, dict]:
    """What a whole run noted."""
    return json.loads(packages.DATA.read_text(encoding="utf-8"))


def test_the_page_is_made_of_the_data(packages, notes) -> None:
    assert packages.PAGE.read_text(encoding="utf-8") == packages.page(notes)


def test_enough_fixes_and_enough_of_them_ran(packages, notes) -> None:
    safe = sum(notes[f"smells-{package}"]["safe"] for package in packages.PACKAGES)
    ran = {package: sum(kind for *_, kind in packages.ran(notes, package)) for package in packages.PACKAGES}
    assert safe >= 50
    assert ran["stable_baselines3"] >= 10
    assert ran["sb3_contrib"] >= 10


def test_no_test_failed_and_no_parameter_changed(packages, notes) -> None:
    suites = [note for name, note in notes.items() if name.startswith("suite-")]
    trained = {name.removeprefix("digest-"): note["digests"] for name, note in notes.items() if "digest-" in name}
    assert len(suites) == 2
    assert all(suite["other"] == {"injected": [], "safe": [], "unsafe": []} for suite in suites)
    assert trained.keys() >= {"ppo", "dqn", "sac", "recurrent-ppo"}
    assert all(set(found) == {"original", "injected", "safe", "unsafe"} for found in trained.values())
    assert all(len(set(found.values())) == 1 for found in trained.values())


def test_the_program_says_what_it_lacks(packages, monkeypatch, capsys) -> None:
    monkeypatch.setattr(packages, "NOTES", packages.ROOT / ".no-notes")
    assert packages.main([]) == 1
    assert "make test-packages" in capsys.readouterr().err
    assert packages.main(["--what"]) == 2
