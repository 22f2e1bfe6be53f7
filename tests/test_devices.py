"""Whether connected files may use an accelerator, which is read from their code and not from words in their bytes."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.facts.values.accelerators import Accelerators

HEAD = """\
import json
import torch
from torch import nn


class Agent:
    '''Runs on "cuda" where there is one, see net.cuda().'''

    def __init__(self):
        self.net = nn.Linear(4, 2)  # to("mps")

    def act(self, obs):
        return self.net(torch.as_tensor(obs)).argmax().item()  # A


"""
MAIN = """
def main(env):
    agent = Agent()
    obs = env.reset()
    for _ in range(9):
        obs, reward, done, info = env.step(agent.act(obs))
    print(json.dumps({"steps": 9}))


if __name__ == "__main__":
    main(make())
"""
NONE = {
    "a word inside another": "x = json.dumps([1])\n",
    "a comment": "# device: cuda\nx = 1\n",
    "a docstring": 'def f():\n    """Move it to cuda."""\n',
    "an unrelated name": "def poll(sensor):\n    return sensor.device_id, sensor.mps\n",
    "the CPU by name": 'net = nn.Linear(4, 2).to("cpu")\n',
    "the CPU as a setting": 'DEVICE = torch.device("cpu")\nx = torch.zeros(3, device=DEVICE)\n',
    "the CPU as a default": 'def f(n, device="cpu"):\n    return torch.zeros(n, device=device)\n\n\ny = f(3)\n',
    "nothing as a default": "def f(n, device=None):\n    return torch.zeros(n, device=device)\n\n\ny = f(3)\n",
    "the CPU by all callers": "def f(n, device):\n    return torch.zeros(n, device=device)\n\n\n"
    'y = f(3, torch.device("cpu"))\n',
    "where a tensor is": "def f(n):\n    x = torch.zeros(n)\n    return torch.ones(n, device=x.device)\n",
    "where a module is": "class N(nn.Module):\n    @property\n    def device(self):\n"
    "        return next(self.parameters()).device\n\n    def forward(self, x):\n"
    "        return torch.ones(3, device=self.device)\n",
    "an accelerator that the next line takes back": 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
    'device = torch.device("cpu")\n\n\ndef f(x):\n    return x.to(device)\n',
    "a seed": "def seed(n):\n    torch.manual_seed(n)\n    torch.cuda.manual_seed_all(n)\n",
    "a seed where there is an accelerator": "if torch.cuda.is_available():\n"
    "    torch.cuda.manual_seed(3)\n    torch.backends.cudnn.deterministic = True\n",
    "a cast": "def f(x, dtype):\n    return x.to(dtype), x.to(torch.float32)\n",
    "a camera": "def f(open_camera):\n    return open_camera(device=0)\n",
    "a field of a class": 'class C:\n    def __init__(self):\n        self.device = "cpu"\n\n    def f(self, x):\n'
    "        return x.to(self.device)\n",
}
SOME = {
    "an accelerator that the next line reads": 'device = "cuda"\ndevice = torch.device(device)\n',
    "an accelerator used before it is replaced": 'device = "cuda"\nx = torch.zeros(3, device=device)\ndevice = "cpu"\n',
    "cuda": 'net = nn.Linear(4, 2).to("cuda")\n',
    "a numbered device": 'net = nn.Linear(4, 2).to("cuda:1")\n',
    "a made number": 'def f(n, x):\n    return x.to(f"cuda:{n}")\n',
    "mps": 'DEVICE = torch.device("mps")\n',
    "xpu": 'x = torch.zeros(3, device="xpu")\n',
    "npu": 'x = torch.zeros(3, device="npu:0")\n',
    "a number": "x = torch.zeros(3, device=0)\n",
    "a call of cuda()": "net = nn.Linear(4, 2).cuda()\n",
    "a function of torch.cuda": "torch.cuda.synchronize()\n",
    "a seed beside a move": "if torch.cuda.is_available():\n    torch.cuda.manual_seed(3)\n"
    "    torch.set_default_tensor_type(torch.cuda.FloatTensor)\n",
    "a choice": "net = wrap(nn.Linear(4, 2), torch.cuda.is_available())\n",
    "torch.cuda under another name": "from torch.cuda import synchronize as wait\n\nwait()\n",
    "torch.accelerator": "device = torch.accelerator.current_accelerator()\n",
    "an option": "import argparse\n\nparser = argparse.ArgumentParser()\n"
    'parser.add_argument("--device", default="cpu")\n',
    "a given device": "def f(n, device):\n    return torch.zeros(n, device=device)\n",
    "a setting from outside": "def f(x, config):\n    return x.to(config.device)\n",
    "a field of settings": 'from dataclasses import dataclass\n\n\n@dataclass\nclass C:\n    device: str = "cpu"\n\n\n'
    "def f(x, c: C):\n    return x.to(c.device)\n",
    "one of two callers": "def f(n, device):\n    return torch.zeros(n, device=device)\n\n\n"
    'def g(n, device):\n    return f(n, "cpu"), f(n, device)\n',
    "a rank": "def work(rank):\n    return nn.Linear(4, 2).to(rank)\n",
    "Accelerate": "from accelerate import Accelerator\n",
    "Fabric": "from lightning.fabric import Fabric\n",
    "Lightning": "import pytorch_lightning as pl\n",
    "Trainer": "from transformers import Trainer\n",
    "Trainer behind its package": "import transformers\n\n\nclass T(transformers.Trainer):\n    pass\n",
    "device_map": 'def f(load):\n    return load("x", device_map="auto")\n',
    "DeepSpeed": "import deepspeed\n",
    "algorithms of Stable-Baselines3": "from stable_baselines3 import PPO\n",
    "the device of another library": "from elsewhere import find_device\n\nx = torch.zeros(3, device=find_device())\n",
}


def may_use_cuda(text: str) -> bool:
    """Whether the method of the agent in a text may use an accelerator."""
    code = Code(text)
    return code.analyses[Accelerators].may_run(code.file(), code.function("code.Agent.act").returns[0])


@pytest.mark.parametrize("extra", NONE.values(), ids=NONE)
def test_a_program_that_names_no_accelerator_stays_on_the_cpu(extra: str) -> None:
    assert not may_use_cuda(f"{HEAD}{extra}{MAIN}")


@pytest.mark.parametrize("extra", SOME.values(), ids=SOME)
def test_code_that_names_an_accelerator_may_use_it(extra: str) -> None:
    assert may_use_cuda(f"{HEAD}{extra}{MAIN}")


def test_a_module_of_the_project_is_no_framework_of_the_same_name() -> None:
    texts = {"code.py": f"{HEAD}{MAIN}\nfrom deepspeed import log\n", "deepspeed.py": "def log(x):\n    print(x)\n"}
    code = Code(texts)
    place = code.function("code.Agent.act").returns[0]
    assert not code.analyses[Accelerators].may_run(code.file("code.py"), place)
    alone = Code({"code.py": texts["code.py"]})
    assert alone.analyses[Accelerators].may_run(alone.file(), alone.function("code.Agent.act").returns[0])


LIBRARY = {
    "a device with a default": ('def f(n, device="cpu"):\n    return torch.zeros(n, device=device)\n', True),
    "a device that may be left out": ("def f(n, device=None):\n    return torch.zeros(n, device=device)\n", True),
    "where a tensor is": ("def f(x: torch.Tensor):\n    return torch.ones(3, device=x.device)\n", True),
    "no device": ("def f(x):\n    return torch.ones(3) + x\n", False),
}


@pytest.mark.parametrize(("extra", "expected"), LIBRARY.values(), ids=LIBRARY)
def test_what_a_library_is_given_may_be_anywhere(extra: str, expected: bool) -> None:
    assert may_use_cuda(f"{HEAD}{extra}") is expected
