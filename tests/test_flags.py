"""Flags that are seldom true, modes of modules, code that stays on the CPU, libraries that packages do not hide."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.facts.values.accelerators import Accelerators
from torchlint.facts.values.host_only import HostOnly
from torchlint.rule import Device, Frequency, Kind

O, E, U, S, I = Frequency  # noqa: E741  once, episode, update, step, inner
LOOP = "import torch\nfrom torch import nn\n{before}\nfor step in range(9):\n{body}\n    loss.backward()\n"
FLAGS = {
    "set at intervals": ("", "if step % 9 == 0:\n    show = True\nelse:\n    show = False\nif show:\n    f()  # A", O),
    "told by a comparison": ("", "show = step % 9 == 0\nif show:\n    f()  # A", O),
    "on both sides": ("", "show = step % 9 == 0\nif not show:\n    f()  # A", U),
    "always set": ("", "show = True\nif show:\n    f()  # A", U),
    "of unknown worth": ("", "show = g(step)\nif show:\n    f()  # A", U),
    "with another condition": ("", "show = step % 9 == 0\nif x and show:\n    f()  # A", O),
    "or another condition": ("", "show = step % 9 == 0\nif x or show:\n    f()  # A", U),
    "found once": (
        "try:\n    import a\n    HAS = True\nexcept ImportError:\n    HAS = False",
        "if not HAS:\n    f()  # A",
        U,
    ),
    "passed at intervals": ("def g(show):\n    if show:\n        f()  # A\n", "g(step % 9 == 0)", O),
    "passed under a name": ("def g(show):\n    if show:\n        f()  # A\n", "now = step % 9 == 0\ng(show=now)", O),
    "passed the other way round": ("def g(skip):\n    if not skip:\n        f()  # A\n", "g(not step % 9 == 0)", O),
    "passed by two": ("def g(show):\n    if show:\n        f()  # A\n", "g(step % 9 == 0)\ng(True)", U),
    "passed by few": ("def g(show=False):\n    if show:\n        f()  # A\n", "g()\nif step % 9 == 0:\n    g(True)", O),
    "kept over rounds": ("", "if step % 9 == 0:\n    late = True\nif late:\n    f()  # A", U),
    "kept over rounds either way": (
        "",
        "if step % 9 == 0:\n    if x:\n        late = True\n    else:\n        late = False\nif late:\n    f()  # A",
        U,
    ),
    "cleared by its branch": ("", "if step % 9 == 0:\n    due = True\nif due:\n    due = False\n    f()  # A", O),
    "cleared in each round": ("", "due = False\nif step % 9 == 0:\n    due = True\nif due:\n    f()  # A", O),
    "never passed": ("def g(show=False):\n    if show:\n        f()  # A\n", "g()", O),
}


@pytest.mark.parametrize(("before", "body", "expected"), FLAGS.values(), ids=FLAGS)
def test_flags(before: str, body: str, expected: Frequency) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    found = Code(LOOP.format(before=before, body=lines)).frequency("# A")
    assert (found if found < U else U) == expected


LATCH = """
import torch


class Trainer:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.fresh = True

    def update(self, batch):
        loss = batch.mean()
        loss.backward()
        self.optimizer.step()
        if self.fresh:
            {cleared}
            self.note(loss)  # A

    def end_epoch(self):
        self.fresh = True


def main(trainer: Trainer, batches):
    for batch in batches:
        trainer.update(batch)
"""


def test_a_flag_that_its_branch_clears_is_seldom_set() -> None:
    assert Code(LATCH.format(cleared="self.fresh = False")).frequency("# A") is E
    assert Code(LATCH.format(cleared="self.other = False")).frequency("# A") >= U
    assert Code(LATCH.format(cleared="self.fresh = False\n            self.fresh = True")).frequency("# A") >= U


def test_a_flag_that_its_branch_sets_is_seldom_false() -> None:
    code = LATCH.replace("if self.fresh", "if not self.fresh").replace("self.fresh = True", "self.fresh = False")
    assert Code(code.format(cleared="self.fresh = True")).frequency("# A") is E
    assert Code(code.format(cleared="self.other = True")).frequency("# A") >= U
    assert Code(code.format(cleared="self.fresh = True\n            self.fresh = False")).frequency("# A") >= U


MODES = """
import torch


class Agent:
    def train(self):
        f()  # A

    def think(self):
        pass


def act(env, net):
    while True:
        {calls}
        env.step(1)
"""


def test_the_mode_of_a_module_is_no_method_of_the_project() -> None:
    assert Code(MODES.format(calls="net.train(); net.eval()")).frequency("# A") is O
    assert Code(MODES.format(calls="net.train(True)")).frequency("# A") is O
    assert Code(MODES.format(calls="net.train()")).frequency("# A") is O
    assert Code(MODES.format(calls="net.train(); net.think()")).frequency("# A") is S
    assert Code(MODES.format(calls="net.train(); net.predict()")).frequency("# A") is O


INTERVALS = {
    "step % 9 == 0 or step == n - 1": O,
    "step % 9 == 0 or step == n": O,
    "step % 9 == 0 or step + 1 == n": O,
    "step % 9 == 0 or step == other(step)": U,
    "step == n - 1": E,
    "step >= n - 1": E,
    "n - 1 == step": E,
    "step == 0": E,
    "x and step == 4": E,
    "step > 0": U,
    "step < n - 1": U,
    "step == act(step)": U,
    "cfg.get('check_for_nan', True)": O,
    "cfg.get('adaptive', True)": U,
    "should_record_summaries": O,
}


@pytest.mark.parametrize(("test", "expected"), INTERVALS.items())
def test_intervals(test: str, expected: Frequency) -> None:
    body = f"    if {test}:\n        f()  # A"
    found = Code(LOOP.format(before="", body=body)).frequency("# A")
    assert (found if found < U else U) == expected


ROUNDS = """
import torch

def fit(batches, last):
    for i, batch in enumerate(tqdm(batches)):
        for epoch in range(9):
            loss = batch.mean()
            loss.backward()
            if i == last - 1:
                f(1)  # A
            for k in range(3):
                f(2)  # B
                if k == 2:
                    f(3)  # C
                k2 = k
                if k2 == 2:
                    f(6)  # G
                if k < n - 1:
                    continue
                f(4)  # D
                if k == epoch:
                    f(5)  # F
        for epoch in range(9):
            loss.backward()
            least = i
            if i == least - 1:
                f(7)  # H
            for at, other in zip(batch, batch):
                if at == 0:
                    f(8)  # J
"""


def test_a_condition_on_the_number_of_the_round_holds_in_one_round() -> None:
    code = Code(ROUNDS)
    found = {mark: code.frequency(f"# {mark}") for mark in "ABCDFGHJ"}
    assert found == {"A": E, "B": I, "C": U, "D": U, "F": U, "G": I, "H": U, "J": I}


def test_the_flag_of_the_loop_around_counts() -> None:
    text = """
import gymnasium as gym

env = gym.make_vec("a")
for _ in range(9):
    s, r, d, t, _ = env.step(1)
while True:
    obs, reward, done, t, info = env.step(1)
    for i, d in enumerate(done):
        if d and info["lives"][i] == 0:
            print(reward)  # A
"""
    assert Code(text).frequency("# A") is E


HOST = """
import torch


def made(n):
    return torch.zeros(n)  # B


class Agent:
    def __init__(self):
        self.device = torch.device({device})

    def act(self, n):
        return made(n).to(self.device)  # A


class Other:
    def act(self, n):
        return torch.zeros(n).cuda()  # C
"""


def test_a_class_on_the_cpu_and_what_only_it_calls() -> None:
    code = Code(HOST.format(device='"cpu"'))
    for name, expected in (("code.Agent.act", True), ("code.made", True), ("code.Other.act", False)):
        assert code.analyses[HostOnly].is_host_only(code.function(name)) is expected
        assert code.analyses[Accelerators].may_run(code.file(), code.function(name).returns[0]) is not expected
    either = Code(HOST.format(device='"cuda" if torch.cuda.is_available() else "cpu"'))
    assert not either.analyses[HostOnly].is_host_only(either.function("code.Agent.act"))


NAMED = """
import torch


def fit(n):
    device = {device}
    x = torch.zeros(n).to(device)
    return x.sum()
"""


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("torch.device('cpu')", True),
        ("'cpu'", True),
        ("torch.device('cuda')", False),
        ("n.device", False),
        ("torch.device('cpu') if n else 'cuda'", False),
    ],
)
def test_a_function_that_calls_the_cpu_its_device_runs_there(device: str, expected: bool) -> None:
    code = Code(NAMED.format(device=device))
    assert code.analyses[HostOnly].is_host_only(code.function("code.fit")) is expected


GIVEN = """
import torch


class Net(torch.nn.Module):
    def __init__(self, device=torch.device("cpu")):
        super().__init__()
        self.device = device

    def act(self, n):
        return torch.zeros(n).to(self.device)
"""


@pytest.mark.parametrize(
    ("made", "expected"), [("Net()", True), ("Net(torch.device('cpu'))", True), ("kinds[name](device)", False)]
)
def test_a_class_that_is_given_a_device_is_on_the_cpu_where_all_that_make_it_say_so(made: str, expected: bool) -> None:
    code = Code(f"{GIVEN}\n\nnet = {made}\n")
    assert code.analyses[HostOnly].is_host_only(code.function("code.Net.act")) is expected


UNMOVED = {
    "nets.py": """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width, device=None):
        super().__init__()
        self.body = nn.Linear(8, width)
        {placed}

    def forward(self, x):
        return self.body(x)
""",
    "actor.py": """
import torch
from nets import Net


class Actor:
    def __init__(self, net):
        self.net = net

    def act(self, frame):
        return self.net(torch.from_numpy(frame)).max().item()  # A


def play(env):
    actor = Actor(Net(64))
    {handed}
    while True:
        frame, *_ = env.step(actor.act(frame))
""",
    "learn.py": """
import torch
from actor import play
from nets import Net


def learn(batches, optimizer):
    net = Net(64).to("cuda")
    for batch in batches:
        loss = net(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
    play(make())
""",
    "tools.py": """
def moved(net, batches):
    net.to("cuda")


def counted(net):
    return sum(p.numel() for p in net.parameters())
""",
}


@pytest.mark.parametrize(
    ("placed", "handed", "expected"),
    [
        ("", "", True),
        ("", "tools.counted(actor.net)", False),  # a file that moves networks mentions it
        ("", "tools.moved(actor.net, ())", False),
        ("", "actor.net.cuda()", False),
        ("", "torch.set_default_device(chosen())", False),
        ("self.to(device or 'cuda')", "", False),
        ("self.to(device)", "", False),  # whoever calls it decides
        ("", "actor.net.to(device)", False),
        ("", "actor.net.to(env.settings.DEVICE)", False),
    ],
)
def test_a_network_that_nothing_moves_is_on_the_host(placed: str, handed: str, expected: bool) -> None:
    texts = {name: text.format(placed=placed, handed=handed) for name, text in UNMOVED.items()}
    texts["actor.py"] = texts["actor.py"].replace("import torch\n", "import tools\nimport torch\n", 1)
    code = Code(texts)
    assert code.analyses[HostOnly].is_host_only(code.function("actor.Actor.act")) is expected
    assert not code.analyses[HostOnly].is_host_only(code.function("learn.learn"))


def test_a_network_that_is_part_of_a_module_may_be_moved_with_it() -> None:
    texts = {name: text.format(placed="", handed="tools.moved(actor, ())") for name, text in UNMOVED.items()}
    texts["actor.py"] = texts["actor.py"].replace("class Actor:", "import tools\n\n\nclass Actor(torch.nn.Module):")
    code = Code(texts)
    assert not code.analyses[HostOnly].is_host_only(code.function("actor.Actor.act"))


MEMORY = """
    import elsewhere
    import torch
    import torch.nn.functional as F

    def learn(buffer, logger, dim):
        critic = {made}
        optimizer = torch.optim.Adam(critic.parameters())
        for _ in range(1000):
            values = critic(buffer.sample(32))
            loss = F.mse_loss(values, buffer.returns())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {read}
            logger.store(loss=loss.item())
"""


@pytest.mark.parametrize(
    ("made", "read", "expected"),
    [
        ("elsewhere.Critic()", "logger.store(values=values.detach().numpy())", True),
        ("elsewhere.Critic()", "logger.store(values=values.numpy())", False),
        ("torch.nn.Linear(dim, 1)", "logger.store(values=values.data[0].numpy())", True),
        ("elsewhere.Critic()", "logger.store(values=values.detach().cpu().numpy())", False),
        ("elsewhere.Critic().cuda()", "logger.store(values=values.detach().numpy())", False),
        ("elsewhere.Critic()", "if not values.is_cuda: logger.store(values=values.detach().numpy())", False),
        ("elsewhere.Critic()", "kept = values.cpu(); logger.store(kept.detach().numpy())", False),
    ],
)
def test_a_network_whose_results_share_memory_with_arrays_is_on_the_host(made: str, read: str, expected: bool) -> None:
    code = Code(MEMORY.format(made=made, read=read))
    assert code.analyses[HostOnly].is_host_only(code.function("code.learn")) is expected


def test_a_folder_of_a_package_hides_no_library() -> None:
    file = "agents/torch/ddpg.py"
    texts = {
        file: "import torch\nshow(torch.zeros(3))",
        "agents/torch/__init__.py": "zeros = 1",
        "agents/__init__.py": "",
    }
    assert Code(texts).value(file).kind is Kind.TENSOR
    assert (
        Code({"main.py": "import torch\nshow(torch.zeros)", "torch.py": "zeros = 1"}).value("main.py").kind
        is Kind.NUMBER
    )


def test_a_module_of_a_package_hides_no_framework_but_a_copy_of_it_does() -> None:
    file = "src/agents/trainers/builder.py"
    texts = {
        file: "from trl import GRPOTrainer\nshow(GRPOTrainer)",
        "src/agents/trainers/trl.py": "class GRPOTrainer: ...",
        "src/agents/trainers/__init__.py": "",
        "src/agents/__init__.py": "",
    }
    copy = {"trl/src/trl/trainer.py": "class GRPOTrainer: ...", "trl/src/trl/__init__.py": "from .trainer import *"}
    for code, name in ((Code(texts), "trl"), (Code(texts | copy), "trl.src.trl.trainer")):
        assert code.project.qualified(code.file(file), code.shown(file)) == f"{name}.GRPOTrainer"


VALUES = {
    "total = 0\nfor x in y:\n    total += torch.zeros(3).sum()\nshow(total)": Kind.TENSOR,
    "total = 0\nfor x in y:\n    total += 1\nshow(total)": Kind.NUMBER,
    "show(unknown.gather(1, i).squeeze(1))": Kind.TENSOR,
    "show(unknown.sum(dim=1))": Kind.TENSOR,
    "show(unknown.sum(axis=1))": Kind.UNKNOWN,
    "show(unknown.max(dim=1))": Kind.TUPLE,
    "show(unknown.entropy())": Kind.TENSOR,
    "show(torch.max(torch.zeros(3), unknown))": Kind.UNKNOWN,
    "show(torch.max(torch.zeros(3), 0))": Kind.TUPLE,
    "show(torch.randint(0, 9, ()))": Kind.TENSOR,
    "import jax.numpy as jnp\nshow(jnp.logical_not(unknown))": Kind.UNKNOWN,
}


@pytest.mark.parametrize(("text", "kind"), VALUES.items())
def test_kinds(text: str, kind: Kind) -> None:
    assert Code(f"import torch\n{text}").value().kind is kind


def test_callers_tell_the_device_of_a_parameter_but_not_those_that_nobody_runs() -> None:
    texts = {
        "env.py": "import torch\ndef env(device: torch.device):\n    show(torch.zeros(3, device=device))",
        "main.py": "import torch\nfrom env import env\nenv(torch.device('cpu'))",
    }
    assert Code(texts).value("env.py").device is Device.CPU
    old = {**texts, "old.py": "from env import env\ndef helper(device):\n    env(device)"}
    assert Code(old).value("env.py").device is Device.CPU
    started = {**texts, "old.py": "from env import env\ndef main(device):\n    env(device)"}
    assert Code(started).value("env.py").device is Device.UNKNOWN
    assert Code({**old, "use.py": "import old"}).value("env.py").device is Device.UNKNOWN


ARMS = {
    "x.numel() > 0": (U, O),
    "x.numel() == 0": (O, U),
    "not x.numel()": (O, U),
    "len(x) == 0": (O, U),
    "len(x)": (U, O),
    "x.shape[0] > 0": (U, O),
    "x.size(0) < 1": (O, U),
    "x.any()": (U, O),
    "torch.any(x)": (U, O),
    "not x.any()": (O, U),
    "(x > 0).any().item()": (U, O),
    "x.sum() > 0": (U, O),
    "count > 0": (U, O),
    "x is not None and len(x) > 0": (U, O),
    "len(x) > 0 and y.shape[0] != 0": (U, O),
    "len(x) == 0 or y.numel() == 0": (O, U),
    "len(x) > 0 and y.any()": (U, U),
    "x is None or len(x) == 0": (O, U),
    "not rows": (O, U),
    "rows": (U, O),
    "x.any() and flag": (U, U),
    "flag": (U, U),
    "not flag": (U, U),
    "len(x) > 5": (U, U),
    "x.mean() > 0": (U, U),
    "dones.any()": (E, U),
}


@pytest.mark.parametrize(("test", "expected"), ARMS.items(), ids=ARMS)
def test_the_branch_for_empty_data_is_not_hot(test: str, expected: tuple[Frequency, Frequency]) -> None:
    body = f"count = x.sum()\nfor row in rows:\n    pass\nif {test}:\n    y = f(x)  # A\nelse:\n    y = f(x)  # B"
    if expected[0] is O or "any" in test or "sum" in test or "count" in test:
        zero = "y = torch.zeros(3)"
        first, last = "y = f(x, dones)  # A", f"{zero}  # B"
        if expected[0] is O:
            first, last = f"{zero}  # A", "y = f(x, rows)  # B"
        body = body.replace("y = f(x)  # A", first).replace("y = f(x)  # B", last)
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    code = Code(LOOP.format(before="", body=lines))
    found = tuple(min(code.frequency(mark), U) for mark in ("# A", "# B"))
    assert found == expected


OTHER_ARMS = {
    "what is left after a return": (
        "def h(x):\n    if x.any():\n        return f(x)\n    return torch.tensor(0.0)  # A\n",
        O,
    ),
    "what is left to compute": ("def h(x):\n    if x.any():\n        return f(x)\n    return f(y)  # A\n", U),
    "no more than there are": ("k = min(9, len(x))\nif k > 0:\n    f(x, k)\nelse:\n    torch.tensor([])  # A", O),
    "no more than there are, of more work": ("k = min(9, len(x))\nif k > 0:\n    f(x)\nelse:\n    g(y)  # A", U),
    "what follows an alarm": (
        "def h(x):\n    if len(x) > 0:\n        log(x)\n        raise ValueError\n    return f(y)  # A\n",
        U,
    ),
    "a queue that is filled again": ("if len(plan) == 0:\n    plan.extend(f(x))  # A", U),
    "a plan that is made again": ("if not plan:\n    plan = list(f(x))  # A\nfor p in plan:\n    pass", U),
    "nothing found, which is common": ("ids = x.nonzero()\nif len(ids) > 0:\n    f(ids)\nelse:\n    g(x)  # A", U),
    "one element, of which a constant is made": (
        "def h(x):\n    if x.size(-1) == 1:\n        f(x)  # A\n        return torch.zeros(3)\n    return f(x)\n",
        O,
    ),
    "fewer than two elements": (
        "def h(x):\n    if len(x) < 2:\n        return torch.zeros_like(f(x))  # A\n    return f(x)\n",
        O,
    ),
    "one element that is taken": (
        "def h(x):\n    if len(x) == 1:\n        return f(x[0])  # A\n    return f(x)\n",
        U,
    ),
    "one element, to which a constant is added": (
        "def h(x):\n    if len(x) == 1:\n        return torch.zeros(3) + f(x)  # A\n    return f(x)\n",
        U,
    ),
    "several elements": (
        "def h(x):\n    if len(x) == 2:\n        f(x)  # A\n        return torch.zeros(3)\n    return f(x)\n",
        U,
    ),
    "an event that is rare": ("if (x > 9).any():\n    f(x)\nelse:\n    g(x)  # A", U),
}


@pytest.mark.parametrize(("body", "expected"), OTHER_ARMS.values(), ids=OTHER_ARMS)
def test_what_only_looks_like_a_branch_for_empty_data(body: str, expected: Frequency) -> None:
    before, body = (body, "h(x)") if body.startswith("def") else ("", body)
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    assert min(Code(LOOP.format(before=before, body=lines)).frequency("# A"), U) is expected


KEPT = """
import torch

def act(obs, plan):
    fresh = True if plan is None else False
    if fresh:
        plan = search(1)  # A
    if not fresh:
        return plan, 1
    search(2)  # B
    return plan, 2

def run(env, every, horizon):
    plan = None
    for step in range(9):
        if step > 3:
            action, plan = act(obs, plan)
            if plan is None:
                search(3)  # C
        obs, reward, done, _, info = env.step(action)
        due = step % every == 0
        first = step == horizon
        if {dropped}:
            plan = None
"""
STILL_NONE = """
import torch

def run(env, wanted):
    plan = None
    if wanted:
        plan = search(1)
    while True:
        if plan is None:
            action = search(2)  # A
        obs, reward, done, _, info = env.step(action)
        if info:
            plan = search(3)
"""


def test_a_value_that_a_loop_keeps_is_seldom_missing() -> None:
    code = Code(KEPT.format(dropped="(wanted and done) or due or first"))
    assert [code.frequency(f"# {mark}") for mark in "ABC"] == [E, E, S]


def test_a_value_that_is_dropped_in_each_round_is_missing_in_each() -> None:
    code = Code(KEPT.format(dropped="(wanted and done) or due or other"))
    assert [code.frequency(f"# {mark}") for mark in "AB"] == [S, S]
    assert Code(STILL_NONE).frequency("# A") is S


COUNTED = """
import torch

class Agent:
    def store(self, item):
        self.count += 1
        if self.count {condition}:
            return
        learn(item)  # A
        {after}

def main(agent: Agent, env):
    while True:
        obs, reward, done, _, info = env.step(1)
        agent.store(obs)
"""


@pytest.mark.parametrize(
    ("condition", "after", "expected"),
    [
        ("< self.most", "self.count = 0", E),
        ("!= self.most", "self.count = 0", E),
        ("< self.most", "self.other = 0", S),
        ("== self.most", "self.count = 0", S),
        ("< 2", "self.count = 0", S),
    ],
)
def test_an_early_return_on_a_counter_that_starts_again(condition: str, after: str, expected: Frequency) -> None:
    assert Code(COUNTED.format(condition=condition, after=after)).frequency("# A") is expected


LEAVING = """
import torch

def look(x, deep{default}):
    if not deep:
        return
    g(x)  # A

for step in range(9):
    {calls}
    loss.backward()
"""


@pytest.mark.parametrize(
    ("default", "calls", "expected"),
    [
        ("", "look(step, step % 9 == 0)", O),
        ("=False", "look(step)", O),
        ("=False", "look(step)\n    if step % 9 == 0:\n        look(step, True)", O),
        ("", "look(step, step % 9 == 0)\n    look(step, True)", U),
    ],
)
def test_an_early_return_on_a_flag_that_is_seldom_set(default: str, calls: str, expected: Frequency) -> None:
    assert Code(LEAVING.format(default=default, calls=calls)).frequency("# A") is expected


def test_a_field_that_may_be_left_out_beside_another_limits_nothing() -> None:
    text = """
import torch

def returns(trajectory, critic):
    if trajectory.next_obs is not None and critic.net is not None:
        return critic(trajectory)
    else:
        return f(trajectory)  # A

for trajectory in trajectories:
    returns(trajectory, critic).backward()
"""
    assert Code(text).frequency("# A") is U


OPTION = """
import torch
{above}
class Agent{base}:
    def __init__(self, prior="uniform"{more}):
        self.prior = prior
        {stored}

    def update(self, x, writer=None):
        if self.prior == "normal":
            f(x)  # A
        elif self.prior is "uniform":
            g(x)  # B
        if writer is not None:
            h(x)  # C
        {after}

def main(batches):
    writer = {writer}
    agent = {made}
    for batch in batches:
        agent.update(batch, writer)
        loss.backward()
"""
PLAIN = {
    "above": "",
    "base": "",
    "more": "",
    "stored": "pass",
    "after": "pass",
    "writer": "None",
    "made": "Agent()",
}
_OTHER = "class Other({base}):\n    def __init__(self, *args, **more):\n        {call}\n"
OPTIONS: dict[str, tuple[dict[str, str], tuple[Frequency, ...]]] = {
    "as the only call leaves it": ({}, (O, U, O)),
    "given": ({"made": 'Agent(prior="normal")'}, (U, O, O)),
    "given from the command line": ({"made": "Agent(args.prior)", "writer": "open(args.log)"}, (U, U, U)),
    "a setting of the module": ({"above": 'PRIOR = "uniform"', "made": "Agent(PRIOR)"}, (U, U, O)),
    "given twice": ({"made": 'Agent("normal") if normal else Agent()'}, (U, U, O)),
    "set by another method": ({"after": 'self.prior = "normal"'}, (U, U, O)),
    "set to what is not known": ({"stored": "self.prior = args.prior"}, (U, U, O)),
    "set from outside": ({"above": 'def use(agent):\n    agent.prior = "normal"\n'}, (U, U, O)),
    "set by any name": (
        {"more": ", **settings", "stored": "for k, v in settings.items(): setattr(self, k, v)"},
        (U, U, O),
    ),
    "a default that keywords may replace": ({"made": "Agent(**settings)"}, (U, U, O)),
    "a base that is not seen": ({"above": "from other import Base", "base": "(Base)"}, (U, U, O)),
    "another class hands everything to its base": (
        {"above": "from other import Base\n" + _OTHER.format(base="Base", call="super().__init__(*args, **more)")},
        (O, U, O),
    ),
    "another class hands everything to a base by its name": (
        {"above": "from other import Base\n" + _OTHER.format(base="Base", call="Base.__init__(self, *args, **more)")},
        (O, U, O),
    ),
    "another class hands everything to one of two bases": (
        {"above": "from other import A, B\n" + _OTHER.format(base="A, B", call="super().__init__(*args, **more)")},
        (U, U, O),
    ),
    "a writer on some ways": ({"writer": "open(path) if path else None"}, (O, U, U)),
}


@pytest.mark.parametrize(("given", "expected"), OPTIONS.values(), ids=OPTIONS)
def test_a_branch_for_an_option_that_no_call_gives_is_cold(
    given: dict[str, str], expected: tuple[Frequency, ...]
) -> None:
    parts = {**PLAIN, **given}
    code = Code(OPTION.format(**parts))
    assert tuple(min(code.frequency(f"# {mark}"), U) for mark in "ABC") == expected


def test_a_library_leaves_its_options_to_code_that_is_not_seen() -> None:
    texts = {
        "agents/__init__.py": "from agents.agent import Agent",
        "agents/agent.py": OPTION.format(**PLAIN),
    }
    code = Code(texts)
    file = "agents/agent.py"
    assert [min(code.frequency(f"# {mark}", file), U) for mark in "ABC"] == [U, U, U]


@pytest.mark.parametrize(
    ("test", "expected"),
    [("step <= 10", E), ("step < 3", E), ("not step > 5", E), ("step < 1000", S), ("step > 10", S), ("obs < 3", S)],
)
def test_the_first_rounds_of_a_loop_of_steps(test, expected) -> None:
    code = Code(f"""
        import torch

        def run(env, net):
            obs = env.reset()
            for step in range(1_000_000):
                obs, reward, done, info = env.step(net(obs))
                if {test}:
                    print(obs)  # A
    """)
    assert code.frequency("# A") == expected
