"""Which branches run seldom because no call of a program gives an option that leads into them."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.rule import Frequency

CHAIN = """
from diffusers import SchedulerMixin, ConfigMixin
from somewhere import Unknown

class Scheduler({base}):
    def __init__(self):
        self.custom = False

    def set_up(self, count=None, steps=None):
        if steps is not None:
            self.custom = True
        else:
            self.custom = {other}

    def step(self, x):
        if self.custom:
            print(x)  # A
        return x

def fit(net, optimizer, scheduler, data):
    scheduler.set_up({given})
    for x in data:
        net(scheduler.step(x)).sum().backward()
        optimizer.step()

fit(make(), make(), Scheduler(), make())
"""
ONCE, UPDATE = Frequency.ONCE, Frequency.UPDATE


@pytest.mark.parametrize(
    ("base", "other", "given", "expected"),
    [
        ("", "False", "30", ONCE),
        ("SchedulerMixin, ConfigMixin", "False", "30", ONCE),
        ("", "False", "30, [5, 3, 1]", UPDATE),
        ("", "False", "steps=make()", UPDATE),
        ("", "False", "**make()", UPDATE),
        ("", "count > 5", "30", UPDATE),
        ("Unknown", "False", "30", UPDATE),
    ],
)
def test_what_a_branch_sets_that_no_call_leads_into_is_not_set(base, other, given, expected) -> None:
    assert Code(CHAIN.format(base=base, other=other, given=given)).frequency("# A") is expected


BOUND = """
def fit(net, optimizer, data, names=None):
    chosen = False
    {how}
    for x in data:
        if chosen:
            print(x)  # A
        net(x).sum().backward()
        optimizer.step()

fit({given})
"""


@pytest.mark.parametrize(
    ("how", "given", "expected"),
    [
        ("if names: chosen = True", "make(), make(), make()", ONCE),
        ("if names: chosen = True", "make(), make(), make(), ['a']", UPDATE),
        ("if not names: chosen = True", "make(), make(), make()", UPDATE),
        ("while chosen or names:\n        if chosen: chosen = 3\n        if names: chosen = 2", "1, 2, make()", UPDATE),
    ],
)
def test_what_a_branch_binds_that_no_call_leads_into_is_not_bound(how, given, expected) -> None:
    assert Code(BOUND.format(how=how, given=given)).frequency("# A") is expected


MODEL = """
import torch
from torch import nn
from transformers import PreTrainedModel, Trainer, AutoTokenizer

class Scorer(PreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.head = nn.Linear(8, 1)

    def forward(self, inputs, labels=None):
        scores = self.head(inputs)
        if labels is not None:
            print(labels)  # A
        return scores

class Learner(Trainer):
    def {method}(self, model, inputs):
        return {call}

scorer = Scorer.from_pretrained("m")
{program}
"""
RANKED, STEP = "model(inputs=inputs['ids']).mean()", Frequency.STEP


@pytest.mark.parametrize(
    ("method", "call", "program", "expected"),
    [
        ("compute_loss", RANKED, "Learner(scorer).train()", ONCE),
        ("compute_loss", "model(inputs['ids'], inputs['labels'])", "Learner(scorer).train()", STEP),
        ("compute_loss", "model(**inputs)", "Learner(scorer).train()", STEP),
        ("compute_loss", "super().compute_loss(model, inputs)", "Learner(scorer).train()", STEP),
        ("save_model", RANKED, "Learner(scorer).train()", STEP),
        ("compute_loss", RANKED, "Trainer(scorer).train()", STEP),
        ("compute_loss", RANKED, "scorer(**scorer.prepare_inputs_for_generation(make()))", ONCE),
        ("compute_loss", RANKED, "scorer(**make())", STEP),
    ],
)
def test_a_model_has_labels_where_a_call_or_the_trainer_of_a_framework_gives_them(
    method, call, program, expected
) -> None:
    texts = _parts(MODEL.format(method=method, call=call, program=program))
    assert Code(texts, distributed=False).frequency("# A", "nets.py") is expected
    assert Code(texts, distributed=True).frequency("# A", "nets.py") is STEP


def _parts(text: str) -> dict[str, str]:
    """The model in a file of its own."""
    nets, _, run = text.partition("class Learner")
    return {"nets.py": nets, "run.py": f"from nets import *\nclass Learner{run}"}


def test_a_model_that_no_file_imports_is_trained_by_code_that_is_not_seen() -> None:
    text = MODEL.format(method="compute_loss", call=RANKED, program="Learner(scorer).train()")
    assert (
        Code({**_parts(text), "nets.py": "", "model.py": text}, distributed=False).frequency("# A", "model.py") is STEP
    )


def test_what_makes_an_object_gives_nothing_to_a_model() -> None:
    made = "def made(cls, *args, **kwargs):\n    return cls(*args, **kwargs)\n"
    text = MODEL.format(method="compute_loss", call=RANKED, program=made)
    assert Code(_parts(text), distributed=False).frequency("# A", "nets.py") is ONCE
    assert Code(_parts(text.replace("cls", "run")), distributed=False).frequency("# A", "nets.py") is STEP
