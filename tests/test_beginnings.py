"""The tables of what begins hot code and of what keeps it from doing so: each row by its name and by code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from projects import Code

from torchlint.facts.hotness.beginnings import BEGINNINGS, deciding, runs
from torchlint.facts.hotness.exemptions import EXEMPTIONS
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.why import explain
from torchlint.facts.values.values import Values
from torchlint.rule import Frequency

# By the name of the row that decides: code with one call that is asked about, the last one.
CALLS = {
    "backward pass": "loss.backward()",
    "trainer of batches": "ppo_trainer.step(queries, responses, rewards)",
    "optimizer by its name": "critic_optim.step()",
    "other object that steps": "lr_scheduler.step()",
    "environment by its name": "eval_env.step(action)",
    "step that is unpacked": "obs, reward, done, info = sim.step(action)",
    "one of several environments": "for e, a in zip(envs, actions):\n    e.step(a)",
    "optimizer": "import torch\nadam = torch.optim.Adam(net.parameters())\nadam.step()",
    "environment": "import gymnasium\npole = gymnasium.make('CartPole-v1')\npole.step(0)",
    "other step of an environment": "venv.step_wait()",
    "environment that acts": "reward, done = env.act(action)",
    "environment that answers as a step does": "obs, _, done, infos = envs.plan_and_act(goals)",
    "environment that is called": "obs, reward, done = on_device(env)(action)",
}

# By the name of the exemption: code, in which ``g`` is called where a step or an update would make it hot.
EXEMPT = {
    "loop that shows": "while True:\n    g(1)\n    env.step(1)\n    env.render()\n",
    "trainer with its own loop": "class Trainer:\n    def step(self):\n        pass\ntrainer = Trainer()\n"
    "for x in y:\n    g(x)\n    trainer.step()\n",
    "environment for one step": "def probe():\n    env = make()\n    g(1)\n    env.step(1)\nfor x in y:\n    probe()\n",
    "step without gradients": "def build(net):\n    opt = SGD(net)\n    g(1)\n    opt.step()\n"
    "for x in y:\n    build(x)\n",
    "answer to a request": "class H:\n    def do_POST(self):\n        g(1)\n        self.x = env.step(0)\n",
    "function that is shown": "def saliency(loss):\n    g(1)\n    loss.backward()\n"
    "def save_picture(loss):\n    saliency(loss)\nfor x in y:\n    save_picture(x)\n",
    "interval that shows": "for i in y:\n    if i % render_every == 0:\n        env.step(1)\n    g(1)\n",
    "trial": "def main(env):\n    for _ in range(3):\n        g(1)\n        env.step(1)\nmain(1)\n",
    "set-up before a loop": "def main(env):\n    g(1)\n    env.step(0)\n    while True:\n        env.step(1)\n",
    "fresh environment": "def probe(env):\n    env.reset()\n    g(1)\n    env.step(1)\n",
}


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("answers = {}\na, b, done, d = answers", True),
        ("answers: list = {}\na, b, done, d = [list(x) for x in zip(*answers)]", True),
        ("a, b, dones, d = map(np.stack, zip(*{}))", True),
        ("a, b, dones, d = list(zip(*{}))", True),
        ("a, b, other, d = zip(*{})", False),
        ("answers = {}\na, b, c, d = answers", False),
        ("answers = {}\na, done, c = answers", False),
        ("a, b, done, d = answers\nanswers = {}", False),
        ("answers = {}\na, b, done, d = zip(*others)", False),
        ("answers = f({})\na, b, done, d = answers", False),
    ],
)
def test_the_answer_to_a_step_may_have_a_name(text: str, begins: bool) -> None:
    code = Code("def run(tasks, actions):\n    " + text.format("tasks.step(actions)").replace("\n", "\n    "))
    call = next(node for node in code.expressions() if ast.unparse(node) == "tasks.step(actions)")
    assert isinstance(call, ast.Call)
    assert bool(runs(code.file(), call, code.analyses[Values])) is begins


@pytest.mark.parametrize(("name", "text"), CALLS.items(), ids=CALLS)
def test_a_row_decides_what_a_call_runs(name: str, text: str) -> None:
    code = Code(text)
    call = max((node for node in code.expressions() if isinstance(node, ast.Call)), key=lambda node: node.lineno)
    found = deciding(code.file(), call, code.analyses[Values])
    assert found is not None and found.name == name
    assert runs(code.file(), call, code.analyses[Values]) == (found.runs or "")


@pytest.mark.parametrize(
    "text",
    [
        "obs, _, done, infos = env.reset_to(state)",
        "obs, _, done, infos = planner.plan(goals)",
        "obs, reward, done = env.read(goals)",
        "obs, low, high, names = env.read(goals)",
        "obs, _, done, infos = env.last()",
    ],
)
def test_a_method_of_any_name_is_a_step_only_by_what_it_is_given_and_gives(text: str) -> None:
    code = Code(text)
    call = next(node for node in code.expressions() if isinstance(node, ast.Call))
    assert deciding(code.file(), call, code.analyses[Values]) is None


def test_a_step_that_a_class_of_a_library_has_is_one_if_it_is_unpacked() -> None:
    """What the project defines itself steps where its own body does."""
    own = "class Own:\n    def env_step(self, a):\n        return 1, 2, 3, 4\n"
    for base, row in (("lib.Agent", "step that is unpacked"), ("Own", None)):
        text = f"import lib\n{own}class Agent({base}):\n    def run(self, a):\n        s, r, d, i = self.env_step(a)\n"
        code = Code(text)
        found = deciding(code.file(), code.node("self.env_step(a)"), code.analyses[Values])
        assert (found.name if found is not None else None) == row


def test_a_backward_pass_that_a_framework_runs_begins_an_update() -> None:
    code = Code("self.manual_backward(loss)")
    assert runs(code.file(), code.node("self.manual_backward(loss)"), code.analyses[Values]) == "update"


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("i, (a, e) in enumerate(zip(actions, envs))", "one of several environments"),
        ("i, (e, a) in enumerate(zip(actions, envs))", "environment"),
        ("e in list(reversed(envs))", "one of several environments"),
        ("e in sorted(envs)", "environment"),
    ],
)
def test_an_environment_is_drawn_from_its_place_in_what_a_loop_goes_over(head: str, row: str) -> None:
    code = Code(f"for {head}:\n    e.step(a)\n")
    found = deciding(code.file(), code.node("e.step(a)"), code.analyses[Values])
    assert (found.name if found is not None else "environment") == row


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("image, _, episode_done = sim.step(action)", "step that is unpacked"),
        ("done, image, reward = sim.step(action)", None),
        ("scores, indices, beams = search.step(action)", None),
        ("image, done = sim.step(action)", None),
    ],
)
def test_of_three_parts_of_an_answer_the_last_is_the_end_of_the_episode(text: str, row: str | None) -> None:
    code = Code(text)
    found = deciding(code.file(), code.node(text.partition(" = ")[2]), code.analyses[Values])
    assert (found.name if found is not None else None) == row


@pytest.mark.parametrize(
    ("text", "runs_"), [("self.game.make_action(a, skip)", "step"), ("agent.make_action(obs)", "")]
)
def test_an_action_goes_to_a_game(text: str, runs_: str) -> None:
    code = Code(text)
    assert runs(code.file(), code.node(text), code.analyses[Values]) == runs_


@pytest.mark.parametrize(
    "text",
    [
        *("step(1)", "x.step()", "meter.update()", "env.step()", "x.backward_hook()", "agent.act(obs)", "env.act()"),
        *("env(action)", "make(env)(action)"),
    ],
)
def test_other_calls_begin_nothing(text: str) -> None:
    code = Code(text)
    assert runs(code.file(), code.node(text), code.analyses[Values]) == ""


@pytest.mark.parametrize(("name", "text"), EXEMPT.items(), ids=EXEMPT)
def test_an_exemption_is_named_where_it_holds(name: str, text: str) -> None:
    code = Code(text)
    found = explain(code.analyses[Heat], code.file(), code.node("g(x)" if "g(x)" in text else "g(1)"))
    assert found.frequency is Frequency.ONCE
    assert [f"({name})" in reason for reason in found.reasons] == [True]


@pytest.mark.parametrize(
    ("first", "step", "expected"),
    [
        ("env.reset()", "env.step(0)", Frequency.EPISODE),
        ("env.reset()", "other.step(0)", Frequency.STEP),
        ("env.env.reset()", "env.step(0)", Frequency.EPISODE),
        ("env.rows.reset()", "env.step(0)", Frequency.STEP),
        ("pass", "env.step(0)", Frequency.STEP),
    ],
)
def test_the_first_moves_of_an_episode_make_no_loop_of_steps(first: str, step: str, expected: Frequency) -> None:
    text = f"def play(env, other_env, batches):\n    for batch in batches:\n        {first}\n        g(1)\n"
    text += f"        {step.replace('other.', 'other_env.')}\n        while True:\n            env.step(1)\n"
    code = Code(text)
    assert explain(code.analyses[Heat], code.file(), code.node("g(1)")).frequency is expected


EVALUATED = {
    "at intervals": ("evaluate", "if i % 1000 == 0:\n        {}(env)", Frequency.ONCE),
    "at intervals, and alone by another program": (
        "evaluate",
        "if i % 1000 == 0:\n        {0}(env)\nif alone:\n    {0}(env)",
        Frequency.ONCE,
    ),
    "at intervals that say so, by a name that does not": (
        "roll",
        "if i % eval_every == 0:\n        {}(env)",
        Frequency.ONCE,
    ),
    "at any intervals, by a name that does not say so": ("roll", "if i % 1000 == 0:\n        {}(env)", Frequency.STEP),
    "by a name that does not say so, and elsewhere": (
        "roll",
        "if i % eval_every == 0:\n        {0}(env)\nif alone:\n    {0}(env)",
        Frequency.STEP,
    ),
    "in each round": ("evaluate", "{}(env)", Frequency.STEP),
}


@pytest.mark.parametrize(("name", "calls", "expected"), EVALUATED.values(), ids=EVALUATED)
def test_steps_of_a_function_that_evaluates_at_intervals_are_no_rollout(
    name: str, calls: str, expected: Frequency
) -> None:
    evaluation = f"def {name}(env):\n    for _ in y:\n        g(1)\n        env.step(1)\n"
    code = Code(f"{evaluation}for i in y:\n    env.step(0)\n    {calls.format(name)}\n")
    assert code.analyses[Heat].frequency(code.file(), code.node("g(1)")) is expected


@pytest.mark.parametrize(
    ("name", "mode", "last", "expected"),
    [
        ("evaluate", "no_grad", "    play()", Frequency.ONCE),
        ("evaluate", "enable_grad", "    play()", Frequency.STEP),
        ("evaluate", "no_grad", "    for j in y:\n        play()", Frequency.STEP),
        ("evaluate", "no_grad", "    pass\nplay()", Frequency.STEP),
        ("roll", "no_grad", "    play()", Frequency.STEP),
    ],
)
def test_steps_of_an_evaluation_behind_the_loop_that_learns_are_no_rollout(
    name: str, mode: str, last: str, expected: Frequency
) -> None:
    evaluation = f"@torch.{mode}()\ndef {name}(env):\n    for _ in y:\n        g(1)\n        env.step(1)\n"
    learning = f"def play():\n    {name}(env)\ndef train(loss):\n    for i in y:\n        loss.backward()\n{last}\n"
    code = Code(f"import torch\n{evaluation}{learning}train(1)\nplay()\n")
    assert code.analyses[Heat].frequency(code.file(), code.node("g(1)")) is expected


@pytest.mark.parametrize(("made", "expected"), [("cls(env)", Frequency.ONCE), ("env", Frequency.STEP)])
def test_a_second_constructor_that_tries_its_environment_out_is_no_rollout(made: str, expected: Frequency) -> None:
    body = f"        g(1)\n        env.step(1)\n        return {made}\n"
    code = Code(f"class Pole:\n    @classmethod\n    def of(cls, env):\n{body}")
    assert code.analyses[Heat].frequency(code.file(), code.node("g(1)")) is expected


def test_what_is_not_exempt_names_no_exemption() -> None:
    code = Code("def act(env):\n    g(1)\n    for x in y:\n        env.step(x)\n")
    found = explain(code.analyses[Heat], code.file(), code.node("g(1)"))
    assert [reason for reason in found.reasons if "nothing hot begins" in reason] == []


SHOWING = """
def show(env, policy, agent, make_video={default}):
    frames = []
    while True:
        g(1)
        obs, reward, done, info = env.step(policy(1))
        {passed}
            frames.append(env.render())
        {more}
show(a, b, c{given})
"""


@pytest.mark.parametrize(
    ("default", "passed", "more", "given", "expected"),
    [
        ("True", "if make_video:", "pass", "", Frequency.ONCE),
        ("True", "if make_video:", "bar.update(1)", ", not off", Frequency.ONCE),
        ("True", "if make_video:", "pass", ", False", Frequency.STEP),
        ("True", "if make_video and d:", "pass", "", Frequency.STEP),
        ("True", "if make_video:", "agent.update(obs)", "", Frequency.STEP),
        ("True", "if make_video:", "agent.learn(obs)", "", Frequency.STEP),
        ("False", "if make_video:", "pass", "", Frequency.STEP),
        ("None", "if make_video:", "pass", "", Frequency.STEP),
        ("SHOWN", "if make_video:", "pass", "", Frequency.STEP),
    ],
)
def test_a_loop_that_renders_by_default_only_shows(
    default: str, passed: str, more: str, given: str, expected: Frequency
) -> None:
    code = Code(SHOWING.format(default=default, passed=passed, more=more, given=given))
    assert code.analyses[Heat].frequency(code.file(), code.node("g(1)")) is expected


@pytest.mark.parametrize(("rounds", "expected"), [(4, Frequency.ONCE), (5, Frequency.STEP)])
def test_a_trial_has_fewer_than_five_rounds(rounds: int, expected: Frequency) -> None:
    code = Code(f"def main(env):\n    for _ in range({rounds}):\n        g(1)\n        env.step(1)\nmain(1)\n")
    assert code.analyses[Heat].frequency(code.file(), code.node("g(1)")) is expected


@pytest.mark.parametrize(("name", "expected"), [("trainer", Frequency.ONCE), ("optimizer", Frequency.UPDATE)])
def test_an_object_that_is_named_for_an_optimizer_begins_updates_whatever_its_class(
    name: str, expected: Frequency
) -> None:
    made = f"class Trainer:\n    def step(self):\n        pass\n{name} = Trainer()\n"
    code = Code(f"{made}for x in y:\n    g(x)\n    {name}.step()\n")
    assert code.analyses[Heat].frequency(code.file(), code.node("g(x)")) is expected


def test_every_row_has_a_case_and_a_name_of_its_own() -> None:
    assert [row.name for row in BEGINNINGS] == list(CALLS)
    assert [row.name for row in EXEMPTIONS] == list(EXEMPT)


def test_the_documentation_lists_every_row(root: Path) -> None:
    listed = (root / "docs" / "hotness.md").read_text(encoding="utf-8").splitlines()
    for row in BEGINNINGS:
        assert f"| {row.name} | {row.says} | {row.runs or 'nothing'} |" in listed
    for exemption in EXEMPTIONS:
        assert f"| {exemption.name} | {exemption.says} |" in listed
