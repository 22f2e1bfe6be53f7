"""The manager of facts: what is built when, what is shared, and what is wrong with a fact."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from projects import Code

from torchlint.engine.analysis import proven
from torchlint.facts.analyses import Analyses, Fact
from torchlint.facts.autograd.members import Members
from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.project import Project
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.loops.growth import Growth
from torchlint.facts.state.provenance import Provenance
from torchlint.facts.values.values import Values
from torchlint.rule import Kind
from torchlint.settings.model import Settings

CODE = """
class Env:
    def reset(self):
        return np.zeros(3)


def run(env):
    return env.reset()
"""


@dataclass(eq=False)
class Ground(Fact):
    level: int = 0


@dataclass(eq=False)
class House(Fact):
    ground: Ground


@dataclass(eq=False)
class Garden(Fact):
    seen: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Street(Fact):
    house: House
    garden: Garden


@dataclass(eq=False)
class Circle(Fact):
    other: Round


@dataclass(eq=False)
class Round(Fact):
    circle: Circle


@dataclass(eq=False)
class Odd(Fact):
    number: int


@pytest.fixture
def analyses() -> Analyses:
    return Analyses(Settings(root=Path()), [Ground(1)])


def test_a_fact_is_built_once_from_its_required_fields(analyses):
    street = analyses[Street]
    assert analyses[Street] is street
    assert street.house is analyses[House]
    assert street.house.ground.level == 1


def test_a_fact_may_say_itself_how_it_is_built(analyses):
    @dataclass
    class Root(Fact):
        folder: Path

        @classmethod
        def build(cls, analyses):
            return cls(analyses.settings.root)

    assert analyses[Root].folder == Path()


def test_nothing_is_built_before_it_is_asked_for(analyses):
    class Never(Fact):
        @classmethod
        def build(cls, analyses):
            raise AssertionError("asked for")

    assert analyses[House].ground.level == 1
    with pytest.raises(AssertionError, match="asked for"):
        analyses[Never]


def test_what_rests_on_a_changed_fact_is_built_again_and_all_else_is_shared(analyses):
    before = analyses[Street]
    higher = analyses.supposing(Ground, lambda ground: Ground(ground.level + 1), "higher")
    assert higher[House].ground.level == 2
    assert higher[Street] is not before
    assert higher[Street].garden is before.garden
    assert analyses[Street] is before
    assert analyses.supposing(Ground, lambda ground: ground, "higher") is higher


def test_what_was_built_at_any_height_is_shared_where_it_would_be_the_same(analyses):
    before = analyses[Street]
    higher = analyses.supposing(Ground, lambda ground: Ground(ground.level + 1), "higher")
    highest = higher.supposing(Ground, lambda ground: Ground(ground.level + 1), "higher")
    assert highest[Street].house.ground.level == 3
    assert highest[Street].garden is before.garden
    before_beside = higher[Street]
    beside = higher.supposing(Garden, replace, "another garden")
    assert beside[Street].house is before_beside.house
    assert beside[Street] is not before_beside


def test_one_fact_may_be_changed_for_several_reasons(analyses):
    higher = analyses.supposing(Ground, lambda ground: Ground(ground.level + 1), "higher")
    lower = analyses.supposing(Ground, lambda ground: Ground(ground.level - 1), "lower")
    assert (higher[House].ground.level, lower[House].ground.level) == (2, 0)


def test_a_fact_that_is_kept_is_kept_with_what_rests_on_it_alone(analyses):
    before = analyses[Street]
    higher = analyses.supposing(Ground, lambda ground: Ground(ground.level + 1), "higher", keeping=(House,))
    assert higher[Ground].level == 2
    assert higher[Street] is before


def test_a_fact_that_rests_on_itself_is_an_error(analyses):
    with pytest.raises(TypeError, match="a fact rests on itself: Circle -> Round -> Circle"):
        analyses[Circle]


def test_a_required_field_that_is_no_fact_is_an_error(analyses):
    with pytest.raises(TypeError, match=r"Odd\.number: int is not a fact"):
        analyses[Odd]


def test_without_a_guess_the_proven_facts_are_the_same():
    code = Code("x = 1")
    assert proven(code.analyses) is code.analyses


def test_proven_facts_rest_on_values_without_guesses():
    code = Code("import numpy as np\n" + CODE)
    guess = code.node("env.reset()")
    assert code.analyses[Values].of(code.file(), guess).kind is Kind.NDARRAY
    guessing = {kind: code.analyses[kind] for kind in (Provenance, Growth, Members)}
    strict = proven(code.analyses)
    assert strict[Values].of(code.file(), guess).kind is Kind.UNKNOWN
    assert strict[Provenance].values is strict[Values]
    assert strict[Growth].flow.values is strict[Values]
    assert strict[Members] is guessing[Members]
    assert all(strict[kind] is code.analyses[kind] for kind in (Project, CallGraph, Heat))
