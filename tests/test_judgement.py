"""A rule that runs by default gains something by measurement, or says in its documentation why it runs all the same."""

from dataclasses import replace
from types import ModuleType
from typing import ClassVar

import pytest
from programs import benchmark

from torchlint.bench.judgement import Rationale, ground, section
from torchlint.engine.rules import load_rules
from torchlint.rule import Cost, Counted, Counts, Level, Rule, RuleSet

DEFAULT = [pytest.param(rule, id=rule.code) for rule in load_rules() if rule.set is RuleSet.DEFAULT]
GAIN = Cost(3.0, 1.5, 1.2, 1.7, "obs 17", "cpu")
NOISE = replace(GAIN, saves_us=0.1, ratio=1.03, low=1.05, high=1.1)


class Silent(Rule):
    """A rule that says nothing.

    ## Measured
    On the CPU nothing is gained; it is a note.

    ## References
    None.
    """

    code = "TL999"
    name = "silent"


@pytest.fixture(scope="module")
def judgement() -> ModuleType:
    """The program that writes the page."""
    return benchmark("judgement")


@pytest.mark.parametrize("rule", DEFAULT)
def test_a_default_rule_has_its_place(rule: type[Rule], judgement: ModuleType) -> None:
    assert judgement.ground_of(rule) is not Rationale.NONE


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.code) for rule in load_rules() if rule.kept])
def test_what_keeps_a_rule_stands_in_its_documentation(rule: type[Rule]) -> None:
    assert rule.kept in section(rule, "Measured")


def test_a_gain_on_one_device_at_one_size_is_enough() -> None:
    assert ground(Silent, [NOISE, GAIN], []) is Rationale.GAIN
    assert ground(Silent, [NOISE, NOISE], []) is Rationale.NONE
    assert ground(Silent, [], []) is Rationale.NONE


def test_without_a_gain_a_rule_is_a_note_that_says_so() -> None:
    class Note(Silent):
        level = Level.NOTE
        kept = "nothing is gained; it is a note"

    class Warns(Note):
        level = Level.WARNING

    class Hides(Note):
        kept = "words that stand nowhere"

    Note.__doc__ = Warns.__doc__ = Hides.__doc__ = Silent.__doc__
    assert ground(Note, [NOISE], []) is Rationale.NOTE
    assert ground(Warns, [NOISE], []) is Rationale.NONE
    assert ground(Hides, [NOISE], []) is Rationale.NONE
    assert ground(Warns, [], []) is Rationale.MISTAKE


def test_memory_counts_where_it_is_spoken_of() -> None:
    class Memory(Silent):
        """It costs memory.

        ## Measured
        The memory in use.
        """

        about_memory: ClassVar[bool] = True

    class Quiet(Memory):
        __doc__ = Silent.__doc__

    assert ground(Memory, [NOISE], []) is Rationale.MEMORY
    assert ground(Quiet, [NOISE], []) is Rationale.NONE


def test_events_of_an_accelerator_are_a_gain() -> None:
    class Cuda(Silent):
        level = Level.NOTE
        cuda_only = True

    fewer = Counted(Counts(waits=2), Counts(waits=1, launches=3), "obs 17")
    more = Counted(Counts(launches=3), Counts(waits=1), "obs 17")
    assert ground(Cuda, [], [more, fewer]) is Rationale.EVENTS
    assert ground(Cuda, [GAIN], [fewer]) is Rationale.GAIN
    assert ground(Cuda, [], [more]) is Rationale.NONE
    assert ground(Cuda, [], []) is Rationale.NONE


def test_the_page_is_up_to_date(judgement: ModuleType) -> None:
    rules = [rule for rule in load_rules() if rule.set is RuleSet.DEFAULT]
    assert judgement.PAGE.read_text(encoding="utf-8") == judgement.page(rules)
    moved = {rule.code: rule.level for rule in rules if rule.code in judgement.MOVED}
    assert moved == dict.fromkeys(judgement.MOVED, Level.NOTE)
