"""What is known of trainers of language models: registries of losses, what frameworks call and give, closures."""

from __future__ import annotations

import ast

from projects import Code

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.values.values import Values
from torchlint.rule import Device, Frequency, Kind, Value


def shown(text: str) -> Value:
    """The value of the argument of ``show(...)``."""
    code = Code(text)
    return code.analyses[Values].of(code.file(), code.shown())


def reached(text: str, call: str) -> set[str]:
    """The functions that a call may run."""
    code = Code(text)
    node = code.node(call)
    assert isinstance(node, ast.Call)
    return {scope.name for scope in code.analyses[CallGraph].callees.get(node, ())}


def frequency(text: str, expression: str) -> Frequency:
    """How often an expression runs."""
    code = Code(text)
    return code.analyses[Heat].at(code.file(), code.node(expression)).frequency


REGISTRIES = """
class Registry:
    table = {}
    @classmethod
    def register(cls, name, function):
        cls.table[name] = function
    @classmethod
    def get(cls, name):
        return cls.table[name]
class Losses(Registry):
    table = {}
class Estimators(Registry):
    table = {}
def clipped(x):
    return x
def plain(x):
    return x
def discounted(x):
    return x
Losses.register("clipped", clipped)
Losses.register("plain", plain)
Estimators.register("discounted", discounted)
def train(name, x):
    return Losses.get(name)(x)
"""


def test_registries_that_share_a_base_hold_their_own_functions() -> None:
    assert reached(REGISTRIES, "Losses.get(name)(x)") == {"clipped", "plain"}


PROMISED = """
import torch
from somewhere import compute
def losses(x) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = compute(x)
    return a, b
show(losses(1)[1])
"""


def test_a_promised_tuple_tells_what_the_code_does_not_show() -> None:
    assert shown(PROMISED).kind is Kind.TENSOR


def test_what_the_code_shows_counts_more_than_a_promise() -> None:
    assert shown(PROMISED.replace("return a, b", "return a, 3")).kind is Kind.NUMBER


def test_a_promise_of_nothing_does_not_count_where_something_is_given() -> None:
    text = """
    import torch
    def losses(x) -> None:
        {given}
    show(losses(1))
    """
    assert shown(text.format(given="return torch.ones(x)")).kind is Kind.TENSOR
    assert shown(text.format(given="return")).kind is Kind.NONE


def test_the_losses_of_a_trainer_are_tensors() -> None:
    text = """
    from trl import DPOTrainer
    class Trainer(DPOTrainer):
        def step(self, a, b, c, d):
            losses, chosen, rejected = self.dpo_loss(a, b, c, d)
            show(rejected)
    """
    assert shown(text).kind is Kind.TENSOR
    assert shown(text.replace("self.dpo_loss", "self.other_loss")).kind is Kind.UNKNOWN


SAVED = """
import torch
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, torch.Tensor([weight]))
        return x * weight
    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        show({})
"""


def test_saved_tensors_are_those_of_the_forward() -> None:
    assert shown(SAVED.format("x")).kind is Kind.TENSOR
    assert shown(SAVED.format("weight")).device is Device.CPU


CLOSURE = """
import torch
def make(batches):
    def step(model):
        batch = next(batches)
        batch = {{key: value.cuda() for key, value in batch.items()}}
        def loss(output):
            show(batch["mask"])
        {after}
        return loss
"""


def test_a_function_inside_sees_what_was_bound_before_it_was_defined() -> None:
    assert shown(CLOSURE.format(after="")).device is Device.CUDA


def test_a_function_inside_may_see_what_is_bound_later() -> None:
    assert shown(CLOSURE.format(after="batch = model(batch)")).kind is Kind.UNKNOWN


REPLACED = """
from trl import GRPOTrainer
def make(trainer: "GRPOTrainer"):
    def compute_loss(model, inputs):
        return work(inputs)
    return compute_loss
def train(model):
    trainer = GRPOTrainer(model)
    trainer.{name} = make(trainer)
    trainer.train()
"""


def test_a_function_that_replaces_a_method_of_a_trainer_runs_as_often() -> None:
    assert frequency(REPLACED.format(name="compute_loss"), "work(inputs)") is Frequency.UPDATE


def test_another_attribute_of_a_trainer_is_not_called() -> None:
    assert frequency(REPLACED.format(name="notes"), "work(inputs)") < Frequency.UPDATE


DRIVER = """
class Trainer:
    def step(self, episodes):
        for batch in episodes:
            loss = self.model(batch)
            loss.backward()
            self.optimizer.step()
class Runtime:
    def __init__(self, trainer):
        self.trainer = trainer
    def run(self, iterations):
        for iteration in range(iterations):
            episodes = generate(iteration)
            self.trainer.step(episodes)
Runtime(Trainer()).run(10)
"""


def test_a_step_of_a_trainer_with_a_loop_of_its_own_is_no_update() -> None:
    assert frequency(DRIVER, "generate(iteration)") < Frequency.UPDATE
    assert frequency(DRIVER, "loss.backward()") is Frequency.UPDATE


LOADER = """
import torch
from torch.utils.data import DataLoader
from tqdm import tqdm
def evaluate(model, dataset, **options):
    loader = DataLoader(dataset, **options)
    for inputs in tqdm(loader, desc="log probabilities"):
        show(inputs["attention_mask"])
        {moved}
        model(inputs)
"""


def test_a_batch_that_a_loop_moves_itself_comes_from_the_host() -> None:
    moved = "inputs = {key: value.to(model.device) for key, value in inputs.items()}"
    assert shown(LOADER.format(moved=moved)).device is Device.CPU
    assert shown(LOADER.format(moved="pass")).device is Device.UNKNOWN


ACTORS = """
import ray
@ray.remote(num_gpus=1)
class Learner:
    def fit(self, batch):
        return len(batch)
    def get(self):
        return 1
@ray.remote
def judge(text):
    return 1.0
class Plain:
    def fit(self, batch):
        return len(batch)
Made = ray.remote(num_cpus=1)(Plain)
"""


def test_a_relayed_call_reaches_the_method_of_the_actor() -> None:
    """Calls of handles run methods of their classes: made by a decorator, with options, or by a call."""
    assert reached(f"{ACTORS}show(Learner.remote().fit.remote([]))", "Learner.remote().fit.remote([])") == {"fit"}
    made = "Learner.options(num_cpus=1).remote()"
    assert reached(f"{ACTORS}show({made}.get.remote())", f"{made}.get.remote()") == {"get"}
    assert reached(f"{ACTORS}show(Made.remote().fit.remote([]))", "Made.remote().fit.remote([])") == {"fit"}
    assert reached(f"{ACTORS}show(judge.remote(1))", "judge.remote(1)") == {"judge"}


def test_a_relayed_call_makes_the_actor_and_a_method_of_that_name_relays_nothing() -> None:
    judge = "import ray\n@ray.remote\nclass Judge:\n    def __init__(self):\n        pass\n"
    made = "Judge.options(num_cpus=1).remote()"
    assert reached(f"{judge}show({made})", made) == {"__init__"}
    job = "class Job:\n    def remote(self, batch):\n        return len(batch)\n"
    assert reached(f"{job}job = Job()\nshow(job.remote([]))", "job.remote([])") == {"remote"}


def test_a_relayed_call_on_an_unknown_handle_is_linked_by_name() -> None:
    """A method of a name that containers have, too, is meant by a relayed call alone."""
    assert reached(f"{ACTORS}def run(actor):\n    actor.get.remote()", "actor.get.remote()") == {"get"}
    assert reached(f"{ACTORS}def run(actor):\n    actor.get()", "actor.get()") == set()
    trains = "class Actor:\n    def train(self, step):\n        return step\n"
    assert reached(f"{trains}def run(actor):\n    actor.train.remote(True)", "actor.train.remote(True)") == {"train"}


def test_what_a_handle_stands_for_is_the_result() -> None:
    """``ray.get`` gives what the method returns, of a list of handles a list; ``ray.put`` what it is given."""
    assert shown(f"{ACTORS}show(ray.get(judge.remote(1)))").kind is Kind.NUMBER
    found = shown(f"{ACTORS}show(ray.get([judge.remote(t) for t in texts]))")
    assert found.kind is Kind.LIST and found.element.kind is Kind.NUMBER
    assert shown(f"{ACTORS}show(ray.put(1.5))").kind is Kind.NUMBER
    assert shown("import asyncio\nasync def main():\n    return 1.5\nshow(asyncio.run(main()))").kind is Kind.NUMBER


FAN_OUT = """
import ray
import torch
class Learner:
    def fit(self, batch):
        self.loss(batch).backward()
        self.optimizer.step()
        log(batch)
def run(learners: list[Learner], batches):
    for batch in batches:
        refs = []
        for learner in learners:
            refs.append(learner.fit{relay}(batch))
"""


def test_each_actor_of_a_fan_out_runs_once_a_round() -> None:
    """A loop over handles starts one call on each of them, so the loop around it is the one of updates."""
    code = Code(FAN_OUT.format(relay=".remote"))
    path = code.analyses[Heat].at(code.file(), code.node("log(batch)")).path
    assert [step.row for step in path][:1] == [9]
    plain = Code(FAN_OUT.format(relay=""))
    assert [step.row for step in plain.analyses[Heat].at(plain.file(), plain.node("log(batch)")).path][:1] == [11]


COMPILED = """
import torch
attend = None
def compiled():
    return torch.compile(f)
def run(x):
    {declared}
    if attend is None:
        attend = compiled()
    return attend(x)
for x in y:
    run(x).backward()
"""


def test_a_global_that_is_none_at_first_is_made_once() -> None:
    """A variable of the module that a function fills is filled by the first call."""
    assert frequency(COMPILED.format(declared="global attend"), "torch.compile(f)") is Frequency.ONCE
    assert frequency(COMPILED.format(declared="attend = x.found"), "torch.compile(f)") is Frequency.UPDATE


GROUP = """
import ray
class Group:
    def __init__(self, workers):
        self.workers = workers
    def execute_all(self, name, *args):
        return [getattr(worker, name).remote(*args) for worker in self.workers]
class Worker:
    def fit(self, batch):
        self.loss(batch).backward()
        self.optimizer.step()
        log(batch)
    def store(self, path):
        write(path)
    def reload(self, weights):
        put(weights)
def run(workers, batches, llm):
    group = Group(workers)
    group.execute_all("store", "first")
    for batch in batches:
        group.execute_all("fit", batch)
        llm.collective_rpc("reload", args=(batch,))
"""


def test_methods_that_calls_name_by_a_text_are_reached() -> None:
    """A group runs the method that its caller names on all workers, and an engine the one that its argument names."""
    assert reached(GROUP, "getattr(worker, name).remote(*args)") == {"fit", "store"}
    assert reached(GROUP, "llm.collective_rpc('reload', args=(batch,))") == {"reload"}


def test_a_text_in_hot_code_makes_hot_the_method_that_it_names() -> None:
    """The method of another text, which a call outside of the loop gives, runs as often as that call."""
    assert frequency(GROUP, "log(batch)") is Frequency.UPDATE
    assert frequency(GROUP, "write(path)") is Frequency.ONCE


def test_what_a_tokenizer_makes_lies_on_the_host() -> None:
    """Tensors of texts are made on the host, unless the call says where."""
    made = "show(tokenizer(texts, return_tensors='pt')['input_ids'])"
    assert shown(made).device is Device.CPU
    assert shown("show(chat.apply_chat_template(x, return_tensors='pt', device='cuda'))").device is not Device.CPU


NAMED = {
    "agents.py": "class Ppo:\n    def act(self, x):\n        return 1.0\ndef advantages(x):\n    return 1.0\n",
    "run.py": "import importlib\nfrom hydra.utils import get_class, get_method, instantiate\nshow({})\n",
}


def test_texts_name_modules_classes_and_functions() -> None:
    """What settings of a program name in full is what the name means, where the program writes the name itself."""
    for made, kind in (
        ('instantiate({"_target_": "agents.Ppo", "rate": 1.0}).act(1)', Kind.NUMBER),
        ('get_class("agents.Ppo")().act(1)', Kind.NUMBER),
        ('get_method("agents.advantages")(1)', Kind.NUMBER),
        ('getattr(importlib.import_module("agents"), "Ppo")().act(1)', Kind.NUMBER),
        ('instantiate({"_target_": "agents.Sac"}).act(1)', Kind.UNKNOWN),
        ('getattr(importlib.import_module("numpy"), "Ppo")().act(1)', Kind.UNKNOWN),
    ):
        code = Code({**NAMED, "run.py": NAMED["run.py"].format(made)})
        assert code.value("run.py").kind is kind, made
