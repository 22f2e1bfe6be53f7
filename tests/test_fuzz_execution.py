"""Random inputs through the code before and after every fix that rests on no assumption."""

from __future__ import annotations

import random

import pytest
from fuzz.execution import different, safe

pytestmark = pytest.mark.torch
INPUTS = 3


def test_random_inputs_give_equal_results() -> None:
    choice = random.Random(8)
    wrong = [
        f"{rule.code} {example.name}: {told}"
        for rule, example, fixed in safe()
        for _ in range(INPUTS)
        if (told := different(rule, example, fixed, choice))
    ]
    assert wrong == []
