"""Which definitions the programs of a project come to, and what that means for hotness."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from projects import Code

from torchlint.facts.code.live import Live
from torchlint.facts.hotness.hotness import Heat
from torchlint.facts.hotness.why import explain
from torchlint.rule import Frequency
from torchlint.settings.target import packages_of

NETS = """
    import torch
    from torch import nn


    class Used(nn.Module):
        def forward(self, x):
            return x.relu()


    class Left(nn.Module):
        def forward(self, x):
            return x.tanh()
"""
RUN = """
    import torch
    from nets import Left, Used


    def main():
        net = Used()
        print(net(torch.zeros(3)))


    if __name__ == "__main__":
        main()
"""
OTHER = """
    def run(text):
        return eval(text)


    def show():
        for name in globals():
            print(name)
"""
# What a program adds to RUN so that it may come to the class that is left.
WAYS = {
    "it reads the name": "NETS = {'left': Left}",
    "a text names it": "chosen = 'Left'",
    "a text of another form names it": "chosen = 'nets.Left, nets.Used'",
    "it is imported by another name": "from nets import Left as Other\nOther()",
    "a text that is not seen names it": "import sys\nimport nets\ngetattr(nets, sys.argv[1])()",
    "members of a module are listed": "import inspect\nimport nets\ndict(inspect.getmembers(nets))['Le' + 'ft']()",
    "a file names what it loads": "import importlib, sys\ngetattr(importlib.import_module(sys.argv[1]), sys.argv[2])()",
    "a framework makes what a text names": "from hydra.utils import instantiate\ninstantiate({})",
    "code is evaluated": "import sys\nfrom nets import Left\neval(sys.argv[1])",
    "code of a module is evaluated": "import sys\nimport nets\neval(sys.argv[1])",
    "code is evaluated among other names": "import sys\nimport names\neval(sys.argv[1], vars(names))",
    "names are looked up": "import sys\nfrom nets import Left\nglobals()[sys.argv[1]]()",
    "all names of a module are looked up": "import sys\nfrom nets import *\nglobals()[sys.argv[1]]()",
    "a text names what a module imports": "import sys\nimport offers\ngetattr(offers, sys.argv[1])()",
    "a text names what a package holds": "import sys\nimport pkg.offers\nprint(getattr(pkg, sys.argv[1]))",
    "a package lists what it holds": "import sys\nimport lists\nprint(getattr(lists, sys.argv[1]))",
    "a class derives from it": "class More(Left):\n    pass\nMore()",
}
# What names nothing.
MENTIONS = {
    "nothing": "",
    "a flag that is called like a builtin": "def other(eval=False):\n    return 0 if eval else 1\nother()",
    "a list of exports": "__all__ = ['Left']",
    "a docstring": "def other():\n    'As Left does.'",
    "a text that it reads from its options": "import sys\ngetattr(sys, 'argv')",
    "a class that is dead itself": "class More(Left):\n    pass",
    "a function that is dead": "def other():\n    return Left()",
    "a dictionary of its own": "print(main.__dict__)",
    "members of an object": "import inspect\nprint(inspect.getmembers(main))",
    "names of another file are looked up": "import other\nother.show()",
    "a text names what another module holds": "import sys\nimport other\ngetattr(other, sys.argv[1])()",
    "no file imports what a package holds": "import sys\nimport pkg\nprint(getattr(pkg, sys.argv[1]))",
    "code of another file is evaluated": "import other\nother.run('1 + 1')",
    "its own file is named": "print(globals()['__file__'])",
}


def _dead(texts: dict[str, str], **settings: object) -> set[str]:
    code = Code(texts, **{"distributed": False, **settings})
    live = code.analyses[Live]
    scopes = [*code.project.classes.values(), *code.project.functions.values()]
    return {scope.dotted for scope in scopes if live.is_dead(scope)}


def _with(text: str) -> dict[str, str]:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    others = {
        "other.py": OTHER,
        "offers.py": "from nets import Left",
        "pkg/offers.py": "from nets import Left",
        "pkg/__init__.py": "",
        "lists/__init__.py": "__all__ = ['offers']",
        "lists/offers.py": "from nets import Left",
    }
    return {"nets.py": NETS, **others, "run.py": RUN.replace("\n\n    def main", f"\n{lines}\n    def main")}


@pytest.mark.parametrize("text", WAYS.values(), ids=WAYS)
def test_what_a_program_may_come_to_is_live(text: str) -> None:
    assert "nets.Left" not in _dead(_with(text))


@pytest.mark.parametrize("text", MENTIONS.values(), ids=MENTIONS)
def test_what_no_program_comes_to_is_dead(text: str) -> None:
    found = _dead(_with(text))
    assert "nets.Left" in found
    assert "nets.Left.forward" in found
    assert "nets.Used" not in found
    assert "run.main" not in found


def test_all_is_live_in_a_distribution_and_where_nothing_starts() -> None:
    assert not _dead(_with(""), distributed=True)
    assert not _dead({"nets.py": NETS})


def test_all_is_live_beside_programs_that_import_no_file_of_the_project() -> None:
    agent = """
        from nets import Used


        class Agent:
            def __init__(self):
                self.net = Used()

            def learn_from(self, batch):
                return self.net(batch)
    """
    alone = "import torch\n\n\nclass Own:\n    pass\n\n\nfor _ in range(9):\n    print(torch.zeros(3))\n"
    texts = {"nets.py": NETS, "agent.py": agent, "alone.py": alone}
    assert _dead(texts) == {"alone.Own"}
    assert "agent.Agent" in _dead({**texts, "run.py": RUN})


def test_what_lies_outside_of_the_packages_of_a_distribution_is_dead_where_no_program_comes_to_it() -> None:
    scripts = {f"models/{name}": text for name, text in _with("").items()}
    texts = {**scripts, "pkg/__init__.py": "", "pkg/core.py": NETS}
    found = _dead(texts, distributed=True, packages=("pkg",))
    assert "models.nets.Left" in found
    assert "pkg.core.Left" not in found
    assert not _dead(texts, distributed=True)


def test_packages_that_export_nothing_are_there_for_the_programs_that_import_them() -> None:
    """An ``__init__`` that imports something offers it to others, and so does one that no program here uses."""
    program = "from pkg.core import Used\n\nif __name__ == '__main__':\n    print(Used())\n"
    texts = {"pkg/__init__.py": "", "pkg/core.py": NETS, "pkg/rest.py": NETS, "scripts/run.py": program}
    found = _dead(texts, distributed=True, packages=("pkg",))
    assert found >= {"pkg.core.Left", "pkg.rest.Left", "pkg.rest.Used"}
    assert "pkg.core.Used" not in found
    said = {**texts, "pkg/__init__.py": '"""Networks."""\n\n__version__ = "1.0"\n'}
    assert _dead(said, distributed=True, packages=("pkg",)) == found
    for exported in ("from pkg.core import Left", "print(1)"):
        assert "pkg.rest.Left" not in _dead({**texts, "pkg/__init__.py": exported}, distributed=True, packages=("pkg",))
    own = {**texts, "scripts/run.py": "def main():\n    print(1)\n\nmain()\n"}
    assert "pkg.rest.Left" not in _dead(own, distributed=True, packages=("pkg",))


def test_a_package_whose_files_import_each_other_without_its_name_is_a_folder_of_scripts() -> None:
    program = "from core.nets import Used\n\nif __name__ == '__main__':\n    print(Used())\n"
    inits = {"pkg/__init__.py": "", "pkg/core/__init__.py": "print(1)\n"}
    texts = {**inits, "pkg/core/nets.py": NETS, "pkg/run.py": program}
    found = _dead(texts, distributed=True, packages=("pkg",))
    assert {name.rpartition(".")[2] for name in found} == {"Left", "forward"}
    assert all("Left" in name for name in found)
    named = {**texts, "pkg/run.py": program.replace("from core", "from pkg.core")}
    assert not _dead(named, distributed=True, packages=("pkg",))
    relative = {**texts, "pkg/run.py": program.replace("from core", "from .core")}
    assert not _dead(relative, distributed=True, packages=("pkg",))


MODELS = """
    import torch
    from transformers import PreTrainedModel


    class Base(PreTrainedModel):
        def _init_weights(self, module):
            if isinstance(module, Classifier):
                module.head.bias.data.zero_()


    class Decoder(Base):
        def forward(self, x):
            return x.relu()


    class Classifier(Base):
        def forward(self, x):
            return x.tanh()


    class Tagger(Classifier):
        def forward(self, x):
            return x.exp()


    __all__ = ["Classifier", "Decoder", "Tagger"]
"""
# What a packaged project adds to a copied file of models, of which it makes one alone, so that another one may be made.
OFFERS = {
    "the package offers it": ("pkg/__init__.py", "from pkg.models import Classifier\n"),
    "the package offers all": ("pkg/__init__.py", "from pkg.models import *\n"),
    "another file names it": ("pkg/other.py", "import torch\nfrom pkg.models import Classifier\n"),
    "a text names it": ("pkg/other.py", "import torch\nNAME = 'pkg.models.Classifier'\n"),
    "its own file names it": ("pkg/models.py", textwrap.dedent(MODELS) + "MODELS = {'tag': Classifier}\n"),
    "no file imports its file, which may be loaded by its path": ("pkg/core.py", "import torch\n"),
}


def _packaged(*others: tuple[str, str]) -> dict[str, str]:
    core = "import torch\nfrom pkg.models import Decoder\ndef make(config):\n    return Decoder(config)\n"
    return {"pkg/__init__.py": "", "pkg/models.py": MODELS, "pkg/core.py": core, **dict(others)}


def test_models_that_a_copied_file_brings_along_are_dead_in_a_distribution() -> None:
    assert _dead(_packaged(), distributed=True) >= {"pkg.models.Classifier", "pkg.models.Tagger"}
    assert not _dead(_packaged(), distributed=True) & {"pkg.models.Base", "pkg.models.Decoder", "pkg.core.make"}
    code = Code(_packaged(), distributed=True)
    assert code.frequency("tanh", "pkg/models.py") is Frequency.ONCE
    assert code.frequency("relu", "pkg/models.py") is not Frequency.ONCE


@pytest.mark.parametrize("other", OFFERS.values(), ids=OFFERS)
def test_a_model_that_may_be_made_by_its_name_is_live_in_a_distribution(other: tuple[str, str]) -> None:
    assert "pkg.models.Classifier" not in _dead(_packaged(other), distributed=True)


def test_packages_are_the_folders_that_an_installer_takes(tmp_path: Path) -> None:
    for name in ("pkg", "src/other", "tests", "scripts"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "models").mkdir()
    assert packages_of(tmp_path) == ("pkg", "src/other")


def test_what_a_decorator_or_a_base_class_keeps_is_live() -> None:
    kept = """
        import torch
        from torch import nn
        from somewhere import add_start_docstrings, register


        @register("one")
        class Registered(nn.Module):
            pass


        @add_start_docstrings("...")
        class Documented(nn.Module):
            pass


        class Base:
            def __init_subclass__(cls):
                print(cls)


        class Derived(Base):
            pass


        @torch.no_grad()
        def act(x):
            return x
    """
    run = "import kept\nif __name__ == '__main__':\n    print(kept)\n"
    assert _dead({"kept.py": kept, "run.py": run}) == {"kept.Documented"}


def test_a_name_that_an_import_tells_means_one_of_several_definitions() -> None:
    other = NETS.replace("class Left", "class Rest")
    texts = {"nets.py": NETS, "other/__init__.py": "", "other/nets.py": other, "run.py": RUN}
    found = _dead(texts)
    assert {"other.nets.Used", "other.nets.Rest", "nets.Left"} <= found
    assert "nets.Used" not in found


def test_one_name_may_be_imported_for_several_functions() -> None:
    modes = "def train():\n    import torch\n\n\ndef play():\n    import torch\n"
    run = """
        import sys
        if __name__ == "__main__":
            if sys.argv[1] == "train":
                from modes import train as main
            else:
                from modes import play as main
            main()
    """
    assert not _dead({"modes.py": modes, "run.py": run})


@pytest.mark.parametrize(
    ("start", "dead"),
    [
        ("class Config:\n    pass\n", False),
        ("import torch\nfrom nets import Used\nfor _ in range(3):\n    Used()\n", True),
        ("from nets import Used\ntrainer = Used()\ntrainer.fit()\n", True),
        ("from nets import Used\ndef main():\n    Used()\n", False),
        ("from nets import Used\ndef helper():\n    Used()\nif True:\n    helper()\n", True),
    ],
    ids=["definitions", "a loop", "a call that trains", "main", "a call of its own function"],
)
def test_where_programs_begin(start: str, dead: bool) -> None:
    assert ("nets.Left" in _dead({"nets.py": NETS, "run.py": start})) is dead


def test_a_method_that_no_code_names_is_dead() -> None:
    agent = """
        import torch
        from torch import nn
        from somewhere import Trainer, hook


        class Agent(nn.Module):
            def __init__(self):
                super().__init__()

            def forward(self, x):
                return self.act(x)

            def act(self, x):
                return x

            def left(self, x):
                return self.left_too(x)

            def left_too(self, x):
                return x

            def named_by_a_text(self):
                return 1

            @hook
            def kept(self):
                return 2

            def extra_repr(self):
                return ""


        class Mine(Trainer):
            def called_by_the_framework(self):
                return 3


        if __name__ == "__main__":
            print(Agent()(torch.ones(3)), getattr(Agent(), "named_by_a_text")(), Mine())
    """
    # What a dead method names is named all the same: a method is part of its class, which is live.
    assert _dead({"agent.py": agent}) == {"agent.Agent.left"}


def test_a_network_that_no_program_makes_is_not_hot() -> None:
    texts = _with("def other():\n    return Left()")
    assert Code(texts, distributed=True).frequency("tanh", "nets.py") is not Frequency.ONCE
    code = Code(texts, distributed=False)
    assert code.frequency("tanh", "nets.py") is Frequency.ONCE
    row = next(
        stmt for stmt in code.file("nets.py").places if "tanh" in ast.unparse(stmt) and isinstance(stmt, ast.Return)
    )
    (reason,) = explain(code.analyses[Heat], code.file("nets.py"), row).reasons
    assert reason == "no program of the project mentions Left, and no setup.py or pyproject.toml packages it"


@pytest.mark.parametrize(("made", "expected"), [("Left", Frequency.UPDATE), ("Used", Frequency.ONCE)])
def test_live_code_that_a_dead_class_calls_or_overrides_makes_it_not_hot(made: str, expected: Frequency) -> None:
    trainers = """
        class Trainer:
            def __init__(self, net, optimizer):
                self.net, self.optimizer = net, optimizer

            def prepared(self, batch):
                return batch

            def learn(self, loss):
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


        class Left(Trainer):
            def prepared(self, batch):
                return batch.detach()

            def update(self, batch):
                self.learn(self.net(batch).clone().mean())


        class Used(Trainer):
            def update(self, batch):
                self.learn(self.net(batch).mean())
    """
    run = f"""
        import torch
        from trainers import {made}, Trainer


        def train(trainer: Trainer, batches):
            for batch in batches:
                trainer.update(trainer.prepared(batch))


        if __name__ == "__main__":
            net = torch.nn.Linear(3, 1)
            train({made}(net, torch.optim.Adam(net.parameters())), [torch.ones(2, 3)])
    """
    code = Code({"trainers.py": trainers, "run.py": run}, distributed=False)
    assert code.frequency("clone", "trainers.py") is expected
    assert code.frequency("detach", "trainers.py") is expected


@pytest.mark.parametrize(("other", "expected"), [("Agent", Frequency.UPDATE), ("Other", Frequency.ONCE)])
def test_what_a_program_may_import_under_the_same_name_is_as_hot(other: str, expected: Frequency) -> None:
    base = """
        class Base:
            def learn(self, loss):
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
    """
    agent = """
        from base import Base


        class {}(Base):
            def update(self, batch):
                self.learn(self.net(batch).clone().mean())
    """
    run = """
        import torch
        from agents.one import Agent

        if __name__ == "__main__":
            for batch in [torch.ones(2, 3)]:
                Agent().update(batch)
    """
    texts = {
        "base.py": base,
        "agents/one.py": agent.format("Agent"),
        "agents/two.py": agent.format(other),
        "run.py": run,
    }
    assert f"agents.two.{other}" in _dead(texts)
    assert Code(texts, distributed=False).frequency("clone", "agents/two.py") is expected


def test_a_function_that_trains_may_be_named_by_a_command() -> None:
    loop = """
        import torch


        def train(net, optimizer, batches):
            for batch in batches:
                loss = net(batch).mean()
                loss.backward()
                optimizer.step()


        def helper():
            return 1


        if __name__ == "__main__":
            print(torch.ones(3))
    """
    assert _dead({"loop.py": loop, "other.py": "import torch\nimport loop\n"}) == {"loop.helper"}


def test_a_function_that_trains_among_helpers_is_none_that_a_command_names() -> None:
    helpers = """
        import torch


        def played(env, policy):
            obs = env.reset()
            while True:
                obs, reward, done, info = env.step(policy(obs))


        def main():
            print(torch.ones(3))


        def scale(x):
            return x / 255
    """
    run = "from helpers import scale\n\nif __name__ == '__main__':\n    print(scale(1))\n"
    assert _dead({"helpers.py": helpers, "run.py": run}) == {"helpers.played"}
    apart = {
        "helpers.py": helpers,
        "other.py": "def scale(x):\n    return x\n",
        "run.py": run.replace("helpers", "other"),
    }
    assert _dead(apart) == {"helpers.scale"}


def test_what_a_notebook_defines_is_live() -> None:
    cell = "import torch\n\n\nclass Left:\n    pass\n\n\nprint(1)\n"
    assert not _dead({"one.ipynb": cell})
    assert _dead({"one.py": cell + "for _ in range(3):\n    pass\n"}) == {"one.Left"}


def test_what_a_framework_calls_is_hot_where_a_program_comes_to_its_class() -> None:
    heads = """
        from transformers import PreTrainedModel


        class Head(PreTrainedModel):
            def prepare_inputs_for_generation(self, input_ids):
                return {"input_ids": input_ids.clone()}


        class Other(PreTrainedModel):
            def prepare_inputs_for_generation(self, input_ids):
                return {"input_ids": input_ids.detach()}
    """
    run = "import torch\nfrom heads import Head, Other\n\nif __name__ == '__main__':\n    Head().generate()\n"
    code = Code({"heads.py": heads, "run.py": run}, distributed=False)
    assert code.frequency("clone", "heads.py") is Frequency.STEP
    assert code.frequency("detach", "heads.py") is Frequency.ONCE


@pytest.mark.parametrize(("named", "expected"), [("Worker", Frequency.ONCE), ("Worker.collect", Frequency.STEP)])
def test_what_no_program_calls_generates_for_nobody(named: str, expected: Frequency) -> None:
    text = f"""
        from transformers import AutoModelForCausalLM


        class Worker:
            def __init__(self, rewards):
                self.model = AutoModelForCausalLM.from_pretrained("m")
                self.rewards = rewards

            def ask(self):
                return self.rewards

            def collect(self, prompts):
                answers = self.model.generate(prompts, max_new_tokens=8)
                for answer, prompt in zip(answers, prompts):
                    print(answer)
                return answers


        if __name__ == "__main__":
            print(Worker(1).ask(), {named})
    """
    assert Code(text, distributed=False).frequency("print(answer)", "code.py") is expected


def test_what_a_distribution_offers_counts_but_for_methods_that_its_scripts_do_not_lead_to() -> None:
    agent = """
        class Agent:
            def named(self):
                return 1

            def unnamed(self):
                return 2
    """
    run = "from {} import Agent\n\nif __name__ == '__main__':\n    print(Agent().named())\n"
    texts = {"pkg/__init__.py": "", "pkg/agent.py": agent, "scripts/run.py": run.format("pkg.agent")}
    assert _dead(texts, distributed=True, packages=("pkg",)) == {"pkg.agent.Agent.unnamed"}
    del texts["scripts/run.py"]
    assert not _dead(texts, distributed=True, packages=("pkg",))
    beside = {"pkg/__init__.py": "", "scripts/agent.py": agent, "scripts/run.py": run.format("agent")}
    assert _dead(beside, distributed=True, packages=("pkg",)) == {"scripts.agent.Agent.unnamed"}


@pytest.mark.parametrize(
    ("program", "dead"),
    [
        ("from agents import Actor, Critic, Other\nOther()\nLearner()\n", set()),
        ("from agents import Actor, Critic\nCritic()\nLearner()\n", {"agents.Other"}),
        ("from agents import Actor\nActor()\nLearner()\n", {"agents.Critic", "agents.Other"}),
        ("from agents import Actor\nprint(Learner)\n", {"agents.Actor", "agents.Critic", "agents.Other"}),
        ("from agents import Actor\nprint(1)\n", {"agents.Actor", "agents.Critic", "agents.Other"}),
        (
            "from agents import Actor\nfrom toolbox import *\nLearner()\n",
            {"agents.Actor", "agents.Critic", "agents.Other"},
        ),
        (
            "from agents import Actor\nclass Learner:\n    pass\nLearner()\n",
            {"agents.Actor", "agents.Critic", "agents.Other"},
        ),
    ],
)
def test_a_name_that_nothing_defines_means_what_the_file_imports_and_does_not_read(
    program: str, dead: set[str]
) -> None:
    agents = "class Actor:\n    pass\nclass Critic:\n    pass\nclass Other:\n    pass\n"
    body = program.replace("\n", "\n    ").rstrip()
    head, _, rest = body.partition("\n    ")
    rest = rest.replace("from toolbox import *\n    ", "")
    star = "from toolbox import *\n" if "toolbox" in program else ""
    main = f"{head}\n{star}if __name__ == '__main__':\n    {rest}\n"
    assert _dead({"agents.py": agents, "main.py": main}) == dead
