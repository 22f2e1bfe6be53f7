"""What is known of the expression that a small program shows. Unknown where unsure."""

from __future__ import annotations

import ast
import random
from textwrap import indent

import pytest
from projects import Code

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.values.values import Values
from torchlint.rule import Device, Kind, Value

HEAD = "import torch\nimport numpy as np\nimport gymnasium as gym\nfrom torch import nn\n"


def described(value: Value) -> str:
    """A value in words: kind, dtype, device, rank, name, elements."""
    words = [value.kind.value]
    words += [value.dtype] if value.dtype else []
    words += [value.device.value] if value.device is not Device.UNKNOWN else []
    words += [f"rank {value.rank}"] if value.rank is not None else []
    words += [value.name] if value.name else []
    if value.kind in (Kind.LIST, Kind.TUPLE) and value.items:
        words.append(f"({', '.join(described(item) for item in value.items)})")
    return " ".join(words)


def shown(text: str) -> str:
    """The shown expression's value in words."""
    return described(Code(HEAD + text).value())


EXPRESSIONS = {
    "1": "Python number int",
    "torch.ones(2) == None": "Python number bool",
    "torch.std_mean(torch.ones(2))[0]": "tensor cpu",
    "torch.linalg.norm(torch.ones(2))": "tensor float32 cpu rank 0",
    "torch.ones(2).not_equal(1)": "tensor bool cpu rank 1",
    "torch.ones(2, 2).tolist()": "list (list (Python number))",
    "torch.ones(2, 2).tile(2)": "tensor float32 cpu",
    "torch.distributions.kl_divergence(made(), made())": "tensor",
    "torch.autograd.grad(made(), made())": "list (tensor)",
    "list(zip(*made()))[0]": "list (unknown)",
    "np.where(np.ones(2) > 0)": "list (ndarray int64 rank 1)",
    "np.append(np.ones(2, np.float32), 0.5)": "ndarray",
    "np.ones(2, np.uint8).clip(0.5)": "ndarray rank 1",
    "np.quantile(np.ones(2), 0.5)": "numpy scalar",
    "np.r_[np.ones(2), 1.0]": "ndarray",
    "True": "Python number bool",
    "-1.5": "Python number float",
    "'a'": "string",
    "f'{1}'": "string",
    "None": "None",
    "b'a'": "unknown",
    "...": "unknown",
    "1 + 1": "Python number int",
    "1 / 2": "Python number float",
    "2 * 1.5": "Python number float",
    "not 1": "Python number bool",
    "1 < 2": "Python number bool",
    "x is None": "Python number bool",
    "x < 2": "unknown",
    "x in y": "Python number bool",
    "x + 1": "unknown",
    "(1, 'a')": "tuple (Python number int, string)",
    "(1, *x)": "unknown",
    "[1, 2]": "list (Python number int)",
    "[1, 'a']": "list (unknown)",
    "[]": "list",
    "[*x]": "list (unknown)",
    "[torch.zeros(1) for i in x]": "list (tensor float32 cpu rank 1)",
    "{}": "dict",
    "lambda: 1": "function code.<lambda>:5:5",
    "torch.zeros(3)": "tensor float32 cpu rank 1",
    "torch.zeros(3, dtype=torch.int64)": "tensor int64 cpu rank 1",
    "torch.zeros(3, dtype=x)": "tensor cpu rank 1",
    "torch.zeros(3, device='cuda')": "tensor float32 cuda rank 1",
    "torch.zeros(3, device='cuda:1')": "tensor float32 cuda rank 1",
    "torch.zeros(3, device=x)": "tensor float32 rank 1",
    "torch.zeros(3, **x)": "tensor",
    "torch.zeros(3, device=torch.device('cpu'))": "tensor float32 cpu rank 1",
    "torch.arange(3)": "tensor int64 cpu rank 1",
    "torch.arange(3.0)": "tensor cpu rank 1",
    "torch.bincount(torch.arange(3))": "tensor int64 cpu rank 1",
    "torch.bincount(torch.arange(3, device='cuda'), minlength=4)": "tensor int64 cuda rank 1",
    "torch.bincount(given)": "tensor int64",
    "torch.arange(3, out=torch.zeros(3, device='cuda'))": "tensor float32 cuda rank 1",
    "torch.tensor(1)": "tensor int64 cpu rank 0",
    "torch.tensor(1.0)": "tensor float32 cpu rank 0",
    "torch.tensor(x)": "tensor cpu",
    "torch.FloatTensor(x)": "tensor float32 cpu",
    "torch.cuda.FloatTensor(x)": "tensor float32 cuda",
    "torch.zeros(3).to('cuda')": "tensor float32 cuda rank 1",
    "torch.zeros(3).to(x)": "tensor rank 1",
    "torch.zeros(3).to(torch.float64)": "tensor float64 cpu rank 1",
    "torch.zeros(3).cuda().cpu()": "tensor float32 cpu rank 1",
    "torch.zeros(3).long()": "tensor int64 cpu rank 1",
    "torch.zeros(3) + torch.ones(3)": "tensor float32 cpu rank 1",
    "torch.zeros(3) + torch.ones(3, dtype=torch.float64)": "tensor float64 cpu rank 1",
    "torch.zeros(3) + torch.ones(3, device='cuda')": "tensor float32 cuda rank 1",
    "torch.zeros(3) > 0": "tensor bool cpu rank 1",
    "torch.zeros(3).item()": "Python number float",
    "torch.zeros(3).tolist()": "list (Python number)",
    "torch.zeros(3).numpy()": "ndarray float32 rank 1",
    "torch.zeros(3).shape": "torch.Size",
    "torch.zeros(3).shape[0]": "Python number int",
    "torch.zeros(3).size(0)": "Python number int",
    "torch.zeros(3).dtype": "dtype float32",
    "torch.zeros(3).device": "device cpu",
    "torch.zeros(3).max()": "tensor float32 cpu rank 0",
    "torch.zeros(3)[slice(1, made())]": "tensor float32 cpu rank 1",
    "torch.zeros(3).max(0)": "tuple (tensor float32 cpu rank 0, tensor int64 cpu rank 0)",
    "torch.zeros(3).max(0).values": "tensor float32 cpu rank 0",
    "torch.topk(torch.zeros(3), 2).indices": "tensor int64 cpu rank 1",
    "torch.zeros(3).max(dim=0)": "tuple (tensor float32 cpu rank 0, tensor int64 cpu rank 0)",
    "torch.zeros(3).made_up()": "unknown",
    "torch.zeros(3).made_up": "unknown",
    "torch.zeros(3)[0]": "tensor float32 cpu rank 0",
    "torch.stack([torch.zeros(3)])": "tensor float32 cpu rank 2",
    "torch.cat((torch.zeros(3), torch.ones(3, device='cuda')))": "tensor float32 cuda rank 1",
    "torch.where(torch.zeros(3) > 0)": "list (tensor int64 cpu rank 1)",
    "(torch.zeros(3, 3) > 0).nonzero(as_tuple=True)": "list (tensor int64 cpu rank 1)",
    "torch.nonzero(torch.zeros(3, 3) > 0)": "tensor int64 cpu rank 2",
    "made().done_tensor().to_torch().clone() == 1": "tensor bool",
    "made().to_torch(x)": "unknown",
    "made().inputs['mask'].to_torch()": "unknown",
    "torch.made_up(3)": "unknown",
    "torch.float32": "dtype float32",
    "torch.device('cuda')": "device cuda",
    "torch.nn.functional.relu(x)": "tensor",
    "torch.distributions.Categorical(logits=x)": "distribution Categorical",
    "torch.distributions.Categorical(logits=x).sample()": "tensor int64",
    "torch.optim.Adam(x)": "optimizer",
    "nn.Linear(3, 4)": "module torch.nn.Linear",
    "nn.Linear(3, 4)(x)": "tensor",
    "nn.GRU(3, 4)(x)[1]": "tensor",
    "nn.LSTM(3, 4)(x)[1][0]": "tensor",
    "nn.MultiheadAttention(4, 1)(x, x, x)[1]": "unknown",
    "nn.Linear(3, 4).to(x)(x)": "tensor",
    "nn.Parameter(x)": "tensor",
    "np.zeros(3)": "ndarray float64 rank 1",
    "np.zeros((3, 4))": "ndarray float64 rank 2",
    "np.zeros((3, 4))[0]": "ndarray float64 rank 1",
    "np.zeros((3, 4))[0, 1]": "numpy scalar float64",
    "np.zeros((3, 4))[0][1]": "numpy scalar float64",
    "np.zeros(3)[x]": "unknown",
    "np.zeros(3, dtype=np.float32)": "ndarray float32 rank 1",
    "np.zeros(3).astype('float32')": "ndarray float32 rank 1",
    "np.empty(3, dtype=object)": "unknown",
    "np.array([1, None], object)": "unknown",
    "np.zeros(3).astype('O')": "unknown",
    "np.array([1, 2])": "ndarray int64 rank 1",
    "np.array(x)": "ndarray",
    "np.zeros(3).mean()": "numpy scalar float64",
    "np.zeros(3).mean(0)": "numpy scalar float64",
    "np.float32(1)": "numpy scalar float32",
    "np.float32(x)": "array or numpy scalar float32",
    "np.array_split(np.zeros((4, 2)), 2)": "list (ndarray float64 rank 2)",
    "np.split(x, 2)[0]": "ndarray",
    "np.random.permutation(4)": "ndarray int64",
    "np.random.permutation(np.zeros(4))": "ndarray float64",
    "np.random.permutation(x)": "ndarray",
    "np.random.rand()": "Python number float",
    "np.random.rand(3)": "ndarray float64",
    "np.inf": "Python number float",
    "len(x)": "Python number int",
    "range(3)": "list (Python number int)",
    "list(range(3))": "list (Python number int)",
    "list(x)": "list (unknown)",
    "max(1, 2)": "Python number int",
    "max(x)": "unknown",
    "gym.make('a')": "environment gymnasium",
    "gym.make('a').reset()": "ndarray",
    "gym.make('a').step(0)[0]": "ndarray",
    "gym.make('a').step(0)[1]": "unknown",
    "x": "unknown",
    "x.y": "unknown",
    "x()": "unknown",
    "x.cpu()": "tensor cpu",
    "x.numpy()": "ndarray",
    "x.device": "device",
    "1 if x else 2.0": "Python number",
    "torch.zeros(1) if x else None": "tensor float32 cpu rank 1",
    "torch.zeros(1) if x else 1": "unknown",
    "x or torch.zeros(1)": "unknown",
    "None or torch.zeros(1)": "tensor float32 cpu rank 1",
    "(y := torch.zeros(1))": "tensor float32 cpu rank 1",
    "torch.zeros(3, 4).sum()": "tensor float32 cpu rank 0",
    "torch.zeros(3, 4).mean(1)": "tensor float32 cpu rank 1",
    "torch.zeros(3, 4).mean(dim=1, keepdim=True)": "tensor float32 cpu rank 2",
    "torch.zeros(3, 4).std()": "tensor float32 cpu rank 0",
    "torch.zeros(3, 4).norm()": "tensor float32 cpu rank 0",
    "torch.zeros(3, 4).max(1)[0]": "tensor float32 cpu rank 1",
    "torch.zeros(3, 4).argmax(1)": "tensor int64 cpu rank 1",
    "torch.zeros(3).bool().sum()": "tensor int64 cpu rank 0",
    "torch.zeros(3).bool().any()": "tensor bool cpu rank 0",
    "torch.zeros(3).unsqueeze(0)": "tensor float32 cpu rank 2",
    "torch.zeros(3)[None]": "tensor float32 cpu rank 2",
    "torch.zeros(3, 4).view(-1)": "tensor float32 cpu rank 1",
    "torch.zeros(3, 4).reshape(2, 3, 2)": "tensor float32 cpu rank 3",
    "torch.zeros(3, 4).flatten()": "tensor float32 cpu rank 1",
    "torch.zeros(3, 4)[:, 0]": "tensor float32 cpu rank 1",
    "torch.zeros(3, 4)[..., 0]": "tensor float32 cpu rank 1",
    "torch.zeros(3, 4)[x]": "tensor float32 cpu",
    "torch.zeros(3, 4)[torch.arange(2)]": "tensor float32 cpu rank 2",
    "torch.zeros(3, 4)[torch.zeros(3) > 0]": "tensor float32 cpu",
    "torch.arange(3) / 2": "tensor float32 cpu rank 1",
    "torch.arange(3) * 0.5": "tensor float32 cpu rank 1",
    "torch.arange(3) * 2": "tensor int64 cpu rank 1",
    "torch.arange(3).exp()": "tensor float32 cpu rank 1",
    "torch.zeros(3, 1) * torch.zeros(3)": "tensor float32 cpu rank 2",
    "torch.zeros(3).double() + 1": "tensor float64 cpu rank 1",
    "torch.nn.functional.mse_loss(x, y)": "tensor rank 0",
    "torch.nn.functional.mse_loss(x, y, reduction='none')": "tensor",
    "nn.CrossEntropyLoss()(x, y)": "tensor rank 0",
    "nn.CrossEntropyLoss(reduction='none')(x, y)": "tensor",
    "torch.zeros(3).full_tensor()": "tensor float32 cpu rank 1",
    "nn.Linear(3, 4).to_empty(device='cuda')(x)": "tensor",
    "nn.Linear(3, 4).cuda()(x)": "tensor cuda",
    "torch.device('cuda' if x else 'cpu')": "device cuda or cpu",
    "torch.zeros(3, device='cuda' if x else 'cpu')": "tensor float32 cuda or cpu rank 1",
    "torch.device(f'cuda:{x}')": "device cuda",
    "torch.where(torch.zeros(3) > 0, torch.zeros(3), 1.0)": "tensor float32 cpu rank 1",
    "torch.cat([torch.zeros(3), torch.zeros(3)])": "tensor float32 cpu rank 1",
    "torch.full((3,), 1)": "tensor int64 cpu rank 1",
    "torch.full((3,), True)": "tensor bool cpu rank 1",
    "torch.empty_like(torch.zeros(3).cuda())": "tensor float32 cuda rank 1",
    "torch.zeros(3).new_zeros(2, 3)": "tensor float32 cpu rank 2",
    "torch.distributions.Categorical(logits=torch.zeros(3, 4)).sample()": "tensor int64 cpu rank 1",
    "torch.distributions.Categorical(logits=torch.zeros(3, 4)).entropy()": "tensor float32 cpu rank 1",
    "torch.distributions.Normal(torch.zeros(3), 1.0).sample()": "tensor float32 cpu rank 1",
    "torch.nn.utils.clip_grad_norm_(x, 1.0)": "tensor rank 0",
    "np.zeros(3, dtype=np.uint8) / 255.0": "ndarray float64 rank 1",
    "np.zeros(3, dtype=np.uint8) * 2": "ndarray uint8 rank 1",
    "np.zeros(3, dtype=np.float32) / 2": "ndarray float32 rank 1",
    "np.zeros(3, dtype=np.float32) + np.zeros(3)": "ndarray float64 rank 1",
    "np.zeros(3) > 0": "ndarray bool rank 1",
    "(np.zeros(3) > 0).any()": "numpy scalar bool",
    "np.stack([np.zeros(3), np.zeros(3)])": "ndarray float64 rank 2",
    "np.array([np.zeros(3)], dtype=np.float32)": "ndarray float32 rank 2",
    "np.arange(3)": "ndarray int64 rank 1",
    "np.full(3, 1.0)": "ndarray float64 rank 1",
    "np.zeros((3, 4))[None]": "ndarray float64 rank 3",
    "torch.from_numpy(np.zeros((3, 4)))": "tensor float64 cpu rank 2",
    "torch.as_tensor(np.zeros(3), dtype=torch.float32)": "tensor float32 cpu rank 1",
    "torch.tensor([1.0, 2.0])": "tensor float32 cpu rank 1",
    "torch.tensor([[1, 2]])": "tensor int64 cpu rank 2",
    "torch.FloatTensor(np.zeros(3))": "tensor float32 cpu rank 1",
    "{'a': 1, 'b': 'c'}['b']": "string",
    "{'a': 1, 'b': 'c'}['d']": "unknown",
    "{'a': 1, 'b': 'c'}.get('a')": "Python number int",
    "{'a': 1}.get('a', 'b')": "unknown",
    "dict(a=1, b='c')['b']": "string",
    "{k: 1 for k in x}['a']": "Python number int",
    "gym.make('CartPole-v1').reset()": "ndarray float32 rank 1",
    "gym.make('HalfCheetah-v4').step(0)[0]": "ndarray float64 rank 1",
    "gym.make('a').observation_space.shape[0]": "Python number int",
    "gym.make('CartPole-v1').observation_space.shape": "tuple (Python number int)",
    "gym.make('a').action_space.n": "Python number int",
    "gym.spaces.Box(0, 255, (84, 84), np.uint8).sample()": "ndarray uint8 rank 2",
    "gym.spaces.Discrete(3).sample()": "numpy scalar int64",
    "gym.spaces.Dict({}).sample()": "unknown",
    "gym.wrappers.RecordEpisodeStatistics(gym.make('CartPole-v1')).reset()": "ndarray float32 rank 1",
}


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS.items())
def test_expressions(text: str, expected: str) -> None:
    assert shown(f"show({text})\n") == expected


_MOVED = """
class A(nn.Module):
    pass
class B(nn.Module):
    pass
class Base:
    def start(self, d):
        self.net = {value}
class One(Base):
    def __init__(self):
        self.net = A()
        self.other = A()
    def act(self):
        show(self.net)
class Two(Base):
    def __init__(self):
        self.net = B()
        self.other = B()
"""
PROGRAMS = {
    "the branch for a number": (
        "def f(x):\n    if type(x) is int:\n        show([x])\nf(np.zeros(3))",
        "list (Python number int)",
    ),
    "the branch for a number of a subclass": (
        "def f(x):\n    if y and isinstance(x, float):\n        show(x)\nf(np.zeros(3))",
        "Python number float",
    ),
    "the other branch": (
        "def f(x):\n    if isinstance(x, int):\n        pass\n    else:\n        show(x)\nf(np.zeros(3))",
        "ndarray float64 rank 1",
    ),
    "bound again in the branch for a number": (
        "def f(x):\n    if isinstance(x, int):\n        x = np.zeros(3)\n        show(x)\nf(np.ones(3))",
        "ndarray float64 rank 1",
    ),
    "the branch for a list": ("def f(x):\n    if isinstance(x, (list, tuple)):\n        show(x)", "list"),
    "the branch for a list or an array": (
        "def f(x):\n    if isinstance(x, (list, np.ndarray)):\n        show(x)",
        "unknown",
    ),
    "the branch for no list": ("def f(x):\n    if not isinstance(x, list):\n        show(x)", "unknown"),
    "the branch for a tensor": ("def f(x):\n    if isinstance(x, torch.Tensor):\n        show(x)", "tensor"),
    "the expression for a tensor": ("def f(x):\n    return show(x) if torch.is_tensor(x) else x", "tensor"),
    "a branch for a tensor or an array": (
        "def f(x):\n    if isinstance(x, (torch.Tensor, np.ndarray)):\n        show(x)",
        "unknown",
    ),
    "the branch for a tensor, of an array": (
        "def f(x):\n    if torch.is_tensor(x):\n        show(x)\nf(np.zeros(3))",
        "ndarray float64 rank 1",
    ),
    "one test of two": (
        "def f(x):\n    if y or isinstance(x, int):\n        show(x)\nf(np.zeros(3))",
        "ndarray float64 rank 1",
    ),
    "the branch for a class of the project": (
        "class A:\n    pass\ndef f(x):\n    if isinstance(x, A):\n        show(x)",
        "instance code.A",
    ),
    "the branch for two classes of the project": (
        "class A:\n    pass\nclass B:\n    pass\n"
        "def f(xs):\n    for x in xs:\n        assert isinstance(x, (A, B))\n        show(x)",
        "instance code.A|code.B",
    ),
    "the branch for a class of the project or another": (
        "class A:\n    pass\ndef f(x):\n    if isinstance(x, (A, dict)):\n        show(x)",
        "unknown",
    ),
    "the branch for a class of the project, bound again": (
        "class A:\n    pass\ndef f(x):\n    if isinstance(x, A):\n        x = x.rows()\n        show(x)",
        "unknown",
    ),
    "a test for the class of a parameter for which calls give too many to tell": (
        "class A:\n    pass\n"
        + "".join(f"class A{n}(A):\n    pass\n" for n in range(9))
        + "def f(x):\n    assert isinstance(x, A)\n    show(x)\n"
        + "".join(f"f(A{n}())\n" for n in range(9)),
        "unknown",
    ),
    "a list from a call that is said to hold objects": (
        "class A:\n    pass\ndef f(x):\n    return [g(y) for y in x]\nrows: list[A] = f(1)\nshow(rows[0])",
        "instance code.A",
    ),
    "a list from a call that is said to hold something else": (
        "class A:\n    pass\ndef f(x):\n    return [torch.zeros(1) for y in x]\nrows: list[A] = f(1)\nshow(rows[0])",
        "tensor float32 cpu rank 1",
    ),
    "a type that is ours": (
        "def isinstance(x, y):\n    pass\ndef f(x):\n    if isinstance(x, int):\n        show(x)\nf(np.zeros(3))",
        "ndarray float64 rank 1",
    ),
    "a name": ("x = torch.zeros(3)\nshow(x)", "tensor float32 cpu rank 1"),
    "rebinding": ("x = torch.zeros(3)\nx = x.numpy()\nshow(x)", "ndarray float32 rank 1"),
    "a shadowed module": ("def f(torch):\n    show(torch.zeros(3))", "unknown"),
    "a rebound module": ("torch = other()\nshow(torch.zeros(3))", "unknown"),
    "an optional module": (
        "try:\n    import torch as th\nexcept ImportError:\n    th = None\nshow(th.zeros(3))",
        "tensor float32 cpu rank 1",
    ),
    "an alias": ("zeros = torch.zeros\nshow(zeros(3))", "tensor float32 cpu rank 1"),
    "two possible functions": ("f = torch.zeros if a else torch.ones\nshow(f(3))", "tensor float32 cpu rank 1"),
    "branches that agree": (
        "if a:\n    x = torch.zeros(1)\nelse:\n    x = torch.ones(1)\nshow(x)",
        "tensor float32 cpu rank 1",
    ),
    "branches that differ in dtype": (
        "if a:\n    x = torch.zeros(1)\nelse:\n    x = torch.arange(1)\nshow(x)",
        "tensor cpu rank 1",
    ),
    "branches that differ in kind": ("x = 'a'\nif a:\n    x = torch.zeros(1)\nshow(x)", "unknown"),
    "None beside a tensor": ("x = None\nif a:\n    x = torch.zeros(1)\nshow(x)", "tensor float32 cpu rank 1"),
    "a literal is not that of both branches": ("x = 1\nif a:\n    x = 2\nshow((3, 'a')[x])", "unknown"),
    "unpacking": ("x, y = 1, 'a'\nshow(y)", "string"),
    "nested unpacking": ("x, (y, z) = 1, (2, 'a')\nshow(z)", "string"),
    "unpacking a call": ("x, y = torch.zeros(3).max(0)\nshow(y)", "tensor int64 cpu rank 0"),
    "a starred target": ("x, *y = 1, 2, 3\nshow(y)", "unknown"),
    "before a starred target": ("x, *y = 1, 'a', 3\nshow(x)", "Python number int"),
    "after a starred target": ("x, *y, z = 1, 2, 'a'\nshow(z)", "unknown"),
    "too many targets": ("x, y, z = 1, 2\nshow(z)", "unknown"),
    "two targets": ("x = y = 1\nshow(y)", "Python number int"),
    "augmented": ("x = torch.zeros(3)\nx += 1\nshow(x)", "tensor float32 cpu rank 1"),
    "augmented in a loop": ("x = 0\nfor i in y:\n    x += 0.5\nshow(x)", "Python number"),
    "a loop over a list": ("for x in [1, 2]:\n    show(x)", "Python number int"),
    "a loop over a tensor": ("for x in torch.arange(3):\n    show(x)", "tensor int64 cpu rank 0"),
    "a loop over an array": ("for x in np.zeros((3, 4)):\n    show(x)", "ndarray float64 rank 1"),
    "a loop over enumerate": ("for i, x in enumerate(['a']):\n    show(x)", "string"),
    "a loop over zip": ("for i, x in zip([1], ['a']):\n    show(x)", "string"),
    "a loop over what is not known": ("for x in y:\n    show(x)", "unknown"),
    "a comprehension's target": ("x = [show(i) for i in [1, 2]]", "Python number int"),
    "a second generator": ("x = [show(i) for r in [['a']] for i in r]", "string"),
    "append": ("x = []\nx.append(torch.zeros(1))\nshow(x)", "list (tensor float32 cpu rank 1)"),
    "append in a loop": ("x = []\nfor i in y:\n    x.append(i.numpy())\nshow(x)", "list (ndarray)"),
    "append of two kinds": ("x = []\nx.append(1)\nx.append('a')\nshow(x)", "list (unknown)"),
    "append of something unknown": ("x = [1]\nx.append(y)\nshow(x)", "list (unknown)"),
    "extend": ("x = []\nx.extend([1, 2])\nshow(x)", "list (Python number int)"),
    "+= on a list": ("x = []\nx += [1]\nshow(x)", "list (Python number int)"),
    "insert": ("x = []\nx.insert(0, 'a')\nshow(x)", "list (string)"),
    "an item stored": ("x = [1]\nx[0] = 'a'\nshow(x)", "list (unknown)"),
    "a deque": (
        "from collections import deque\nx = deque(maxlen=3)\nx.append(1)\nshow(x[0])",
        "Python number int",
    ),
    "zip(*batch)": (
        "b = []\nb.append((np.zeros(3), 1, 'a'))\nx, y, z = zip(*b)\nshow(z)",
        "list (string)",
    ),
    "rows of zip(*batch)": (
        "b = []\nb.append((np.zeros(3), 1))\nx, y = zip(*b)\nshow(x)",
        "list (ndarray float64 rank 1)",
    ),
    "a list that takes what another object of its class holds": (
        "class A:\n    def __init__(self):\n        self.rows = []\n"
        "    def add(self, row):\n        self.rows.append(row)\n"
        "    def merge(self, other):\n        self.rows += other.rows\n        show(self.rows)\n"
        "a = A()\na.add(1)\na.merge(received())",
        "list (Python number int)",
    ),
    "a list that takes another list of an object that is not known": (
        "class A:\n    def __init__(self):\n        self.rows = []\n"
        "    def add(self, row):\n        self.rows.append(row)\n"
        "    def merge(self, other):\n        self.rows += other.lines\n        show(self.rows)\n"
        "a = A()\na.add(1)\na.merge(received())",
        "list (unknown)",
    ),
    "a list that takes its own elements of an object that holds others": (
        "class A:\n    def __init__(self):\n        self.rows = []\n"
        "    def merge(self, other):\n        self.rows += other.rows\n        self.rows.append(1)\n"
        "        show(self.rows)\n"
        "class B:\n    rows = ['a']\n    def __init__(self):\n        self.rows = ['b']\n"
        "A().merge(B())",
        "list (unknown)",
    ),
    "what each branch runs backward": (
        "def f():\n    if y:\n        x = made()\n        x.backward()\n    else:\n        x = made()\n"
        "        x.backward()\n    show(x)",
        "tensor",
    ),
    "what a function of torch takes before a branch replaces it by a part of it": (
        "def f(x):\n    torch.zeros_like(x)\n    if y:\n        x = x[:, -1]\n    show(x)\nf(made())",
        "tensor",
    ),
    "what a function of torch takes before a branch replaces it by something else": (
        "def f(x):\n    torch.zeros_like(x)\n    if y:\n        x = made()\n    show(x)\nf(made())",
        "unknown",
    ),
    "fields of a named tuple that are taken apart": (
        "from typing import NamedTuple\nclass Batch(NamedTuple):\n    obs: torch.Tensor\n    size: int\n"
        "    names: list[str]\ndef f():\n    return Batch(*made())\n"
        "a, *b, c = f()\nd, e, _ = f()\nshow((a, b, c, d, e))",
        "tuple (tensor, unknown, unknown, tensor, Python number int)",
    ),
    "a metric that is computed at once": (
        "import torchmetrics\nshow(torchmetrics.functional.classification.accuracy(made(), made(), task='multiclass'))",
        "tensor",
    ),
    "fields of a named tuple by their places": (
        "from typing import NamedTuple\nclass Batch(NamedTuple):\n    obs: torch.Tensor\n    size: int\n"
        "class Named(Batch):\n    pass\nx = Named(*made())\nshow((x[0], x[1], x[2], x[0:1]))",
        "tuple (tensor, Python number int, unknown, unknown)",
    ),
    "what one of two branches runs backward": (
        "def f():\n    if y:\n        x = made()\n        x.backward()\n    else:\n        x = made()\n    show(x)",
        "unknown",
    ),
    "a tensor of the type of another": (
        "x = torch.ones(3)\nkind = type(x)\nshow(kind(x.size(0), 1).to(place))",
        "tensor rank 2",
    ),
    "a call of the type of what is not known": ("kind = type(made())\nshow(kind(3))", "unknown"),
    "random.sample of a buffer": (
        "import random\nb = []\nb.append((np.zeros(3), 1))\nx, y = zip(*random.sample(b, 2))\nshow(x)",
        "list (ndarray float64 rank 1)",
    ),
    "with an object that enters as something": (
        "class A:\n    def __enter__(self):\n        return 1\nwith A() as x:\n    show(x)",
        "Python number int",
    ),
    "with an environment": ("with gym.make('a') as x:\n    show(x)", "environment gymnasium"),
    "with": ("with torch.zeros(1) as x:\n    show(x)", "unknown"),
    "an annotation": ("x: torch.Tensor = y\nshow(x)", "tensor"),
    "an annotation of what is known better": (
        "x: torch.BoolTensor = torch.zeros(3, dtype=torch.bool)\nshow(x)",
        "tensor bool cpu rank 1",
    ),
    "an annotation of something else": ("x: torch.Tensor = np.zeros(3)\nshow(x)", "tensor"),
    "an annotated attribute": (
        "class A:\n    def __init__(self):\n        self.a: torch.Tensor = torch.zeros(3)\n"
        "    def f(self):\n        b = self.a.clone()\n        self.a = b\n        show(self.a)",
        "tensor float32 cpu rank 1",
    ),
    "a deleted name": ("x = 1\ndel x\nshow(x)", "unknown"),
    "an exception": ("try:\n    pass\nexcept ValueError as x:\n    show(x)", "unknown"),
    "a captured name": ("x = 1\nmatch y:\n    case x:\n        show(x)", "unknown"),
    "an import of a function": ("from torch import zeros\nshow(zeros(3))", "tensor float32 cpu rank 1"),
    "an imported module": ("show(torch)", "imported module torch"),
    "an argument of a star": ("x = [3]\nshow(torch.zeros(*x))", "tensor float32 cpu"),
    "parameters of no known caller": ("def f(x):\n    show(x)", "unknown"),
    "a parameter from its caller": ("def f(x):\n    show(x)\nf(torch.zeros(1))", "tensor float32 cpu rank 1"),
    "by keyword": ("def f(a, x):\n    show(x)\nf(x='a', a=1)", "string"),
    "from two callers": ("def f(x):\n    show(x)\nf(torch.zeros(1))\nf(torch.arange(1))", "tensor cpu rank 1"),
    "from callers that disagree": ("def f(x):\n    show(x)\nf(1)\nf('a')", "unknown"),
    "left out: the default": ("def f(x=1):\n    show(x)\nf()", "Python number int"),
    "a default without callers promises nothing": ("def f(x=1):\n    show(x)", "unknown"),
    "what a process is started with": (
        "from multiprocessing import Process\ndef f(x):\n    show(x)\nProcess(target=f, args=(1,)).start()",
        "Python number int",
    ),
    "what a process is started with, under a name": (
        "from multiprocessing import Process\ndef f(x):\n    show(x)\n"
        "def start():\n    given = (1,)\n    Process(target=f, args=given).start()",
        "Python number int",
    ),
    "star arguments": ("def f(x):\n    show(x)\nf(*y)\nf(1)", "unknown"),
    "double star": ("def f(x=1):\n    show(x)\nf(**y)", "unknown"),
    "settings": ("def f(x=1):\n    show(x)\ndef g():\n    y = {'x': None}\n    f(**y)\ng()", "None"),
    "settings that are filled": (
        "def f(x=1):\n    show(x)\ndef g(y):\n    y = dict(y)\n    y['x'] = 'a'\n    f(**y)\ng({})",
        "string",
    ),
    "settings that are replaced": (
        "def f(x=1):\n    show(x)\ndef g(y):\n    y['x'] = 'a'\n    y = dict(y)\n    f(**y)\ng({})",
        "unknown",
    ),
    "settings that are filled in a branch": (
        "def f(x=1):\n    show(x)\ndef g(y):\n    y = {'x': None}\n    if c:\n        y['x'] = 'a'\n    f(**y)\ng({})",
        "unknown",
    ),
    "settings that are made in a branch": (
        "def f(x=1):\n    show(x)\ndef g(y):\n    if y:\n        y = {'x': 'a'}\n        f(**y)\n"
        "    else:\n        y = {'x': 'b'}\n        f(**y)\ng({})",
        "string",
    ),
    "settings that a function makes": (
        "def f(x=1):\n    show(x)\ndef made(n):\n    y = dict(n)\n    y['x'] = 'a'\n    return y\n"
        "def g(n):\n    y = made(n)\n    f(**y)\ng({})",
        "string",
    ),
    "after a star": ("def f(a, x):\n    show(x)\nf(*y, 1)", "unknown"),
    "*args": ("def f(*x):\n    show(x)\nf(1)", "tuple (Python number int)"),
    "an annotated parameter": ("def f(x: np.ndarray):\n    show(x)\nf(y)", "ndarray"),
    "an annotation that one of two calls contradicts": ("def f(x: np.ndarray):\n    show(x)\nf('a')\nf(y)", "ndarray"),
    "an annotation that a shape contradicts": (
        "def f(x: torch.Tensor):\n    show(x)\nf(torch.ones(2).shape)\nf(y)",
        "unknown",
    ),
    "the shape of anything": ("show(y.shape)", "torch.Size"),
    "an annotation that all calls contradict": (
        "def f(x: torch.Tensor):\n    show(x)\nf(torch.ones(2).shape)",
        "unknown",
    ),
    "a device that a default names": (
        "def g(x, to='cpu'):\n    x = x.cuda()\n    return x.to(to), x\ndef h(x):\n    g(x, 'cuda')\nshow(g(y)[0])",
        "tensor cpu",
    ),
    "an optional parameter": ("from typing import Optional\ndef f(x: Optional[torch.Tensor]):\n    show(x)", "tensor"),
    "a union with None": ("def f(x: 'torch.Tensor | None'):\n    show(x)", "tensor"),
    "a union of two": ("from typing import Union\ndef f(x: Union[torch.Tensor, np.ndarray]):\n    show(x)", "unknown"),
    "a quoted annotation": ("def f(x: 'torch.Tensor'):\n    show(x)", "tensor"),
    "a quoted class": ("class A:\n    pass\ndef f(x: 'A'):\n    show(x)", "instance code.A"),
    "a broken annotation": ("def f(x: 'torch.'):\n    show(x)", "unknown"),
    "an annotated list": ("def f(x: list[torch.Tensor]):\n    show(x[0])", "tensor"),
    "an annotated tuple": ("def f(x: tuple[int, torch.Tensor]):\n    show(x[1])", "tensor"),
    "a parameter called device": ("def f(device):\n    show(device)", "device"),
    "a return": ("def f():\n    return torch.zeros(1)\nshow(f())", "tensor float32 cpu rank 1"),
    "two returns": (
        "def f(a):\n    if a:\n        return torch.zeros(1)\n    return torch.arange(1)\nshow(f(1))",
        "tensor cpu rank 1",
    ),
    "returns that disagree": ("def f(a):\n    if a:\n        return 1\n    return 'a'\nshow(f(1))", "unknown"),
    "no return": ("def f():\n    pass\nshow(f())", "None"),
    "falling off the end beside a return": ("def f(a):\n    if a:\n        return 1\nshow(f(1))", "Python number int"),
    "a returned tuple": ("def f():\n    return 1, 'a'\nx, y = f()\nshow(y)", "string"),
    "an annotated return": ("def f() -> torch.Tensor:\n    return g()\nshow(f())", "tensor"),
    "an annotated return of what is known better": (
        "def f() -> torch.Tensor:\n    return torch.zeros(3)\nshow(f())",
        "tensor float32 cpu rank 1",
    ),
    "an annotated return of a truth": (
        "def f(x) -> torch.Tensor:\n    y = x is not None and 'a' in set(x)\n    return y\nshow(f(z))",
        "Python number bool",
    ),
    "an annotated return that calls itself": (
        "def f(x) -> torch.Tensor:\n    return f(x)\nshow(f(z))",
        "tensor",
    ),
    "an annotated method without a body": ("def f(x) -> torch.Tensor:\n    ...\nshow(f(z))", "tensor"),
    "a generator": ("def f():\n    yield 1\nshow(f())", "instance types.GeneratorType"),
    "what a generator yields": ("def f():\n    yield 1\n    yield 2\nfor x in f():\n    show(x)", "Python number int"),
    "what two yields have not in common": (
        "def f():\n    yield 1\n    yield 'a'\nfor x in f():\n    show(x)",
        "unknown",
    ),
    "what a decorated generator yields": (
        "@torch.no_grad()\ndef f():\n    while True:\n        yield 'a', 1\nname, number = next(f())\nshow(number)",
        "Python number int",
    ),
    "what a generator yields of another": (
        "def f():\n    yield 1\ndef g():\n    yield from f()\nfor x in g():\n    show(x)",
        "Python number int",
    ),
    "a list of what a generator yields": ("def f():\n    yield 1\nshow(list(f())[0])", "Python number int"),
    "a method that yields": (
        "class A:\n    def parts(self):\n        yield torch.zeros(1)\nfor x in A().parts():\n    show(x)",
        "tensor float32 cpu rank 1",
    ),
    "a helper that hands through a tensor on the host": (
        "def f(x, y):\n    if g():\n        x = y\n    return x\na = f(torch.zeros(1), torch.zeros(1).cuda())\n"
        "show(f(torch.zeros(1), torch.zeros(1)))",
        "tensor float32 cpu rank 1",
    ),
    "a helper that hands through either": (
        "def f(x, y):\n    if g():\n        x = y\n    return x\na = f(torch.zeros(1), torch.zeros(1))\n"
        "show(f(torch.zeros(1), torch.zeros(1).cuda()))",
        "tensor float32 cuda or cpu rank 1",
    ),
    "a helper that adds what lies elsewhere": (
        "def f(x):\n    return x + h()\ndef h() -> torch.Tensor:\n    return k\n"
        "a = f(torch.zeros(1).cuda())\nshow(f(torch.zeros(1)))",
        "tensor",
    ),
    "what is moved to a dtype of integers": (
        "def f(x, d):\n    show(x['a'].to(d, torch.long).view(-1))",
        "tensor int64 rank 1",
    ),
    "what is moved to truths": ("def f(x, d):\n    show(x.to(device=d, dtype=torch.bool))", "tensor bool"),
    "what is moved to a dtype that modules have": ("def f(x):\n    show(x.to(torch.float16))", "unknown"),
    "what is moved to a place": ("def f(x, d):\n    show(x.to(d))", "unknown"),
    "a method that a class overrides of which the object is none": (
        "class A:\n    def make(self):\n        return 1\n"
        "class B(A):\n    def make(self):\n        return 'a'\nB()\nshow(A().make())",
        "Python number int",
    ),
    "a helper that gives its argument another shape": (
        "def f(x):\n    if g():\n        return x.view(-1)\n    return x.flatten(0, 1).unsqueeze(0)\n"
        "a = f(h())\nshow(f(torch.zeros(1, 2, 3).cuda()))",
        "tensor cuda",
    ),
    "a helper that gives what is not a tensor another shape": (
        "def f(x):\n    return x.reshape(-1)\na = f(h())\nshow(f(np.zeros(3)))",
        "unknown",
    ),
    "a helper that gives its argument another shape, or something else": (
        "def f(x):\n    if g():\n        return h()\n    return x.flatten(0)\na = f(h())\nshow(f(torch.zeros(1, 2)))",
        "unknown",
    ),
    "a helper that moves": (
        "def f(x, d):\n    return x.to(d)\na = f(torch.zeros(1), 'cuda')\nshow(f(torch.zeros(1), d))",
        "tensor rank 1",
    ),
    "a tensor on the host that another is added to": (
        "def f(x: torch.Tensor):\n    y = torch.zeros(3)\n    y += x\n    show(y)",
        "tensor cpu",
    ),
    "objects that a dict is annotated to hold": (
        "class A:\n    pass\nclass B:\n    def __init__(self):\n        self.x: dict[int, A] = {}\n"
        "        self.x[f()] = g()\n    def h(self):\n        show(self.x[k])",
        "instance code.A",
    ),
    "a key that one of two dicts lacks": (
        "def f(x):\n    if x:\n        return {'a': torch.zeros(3), 'n': 1}\n    return {'b': 2, 'n': torch.ones(3)}\n"
        "y = f(z)\nshow((y['a'], y['b'], y['n'], y['c']))",
        "tuple (tensor float32 cpu rank 1, Python number int, unknown, unknown)",
    ),
    "a key of a dict and of one with keys that are not known": (
        "def f(x):\n    if x:\n        return {'a': torch.zeros(3)}\n    return {k: 1 for k in x}\nshow(f(z)['a'])",
        "unknown",
    ),
    "dimensions that are named in another order": (
        "def f(x, y, z, o):\n    x, y, z = x.permute(1, 0), torch.permute(y, (2, 0, 1)), z.permute(*o)\n"
        "    show((x, y, z))",
        "tuple (tensor rank 2, tensor rank 3, tensor)",
    ),
    "a module that the base moves": (_MOVED.format(value="self.net.cuda()"), "module code.A"),
    "a module that the base moves where there is an accelerator": (
        _MOVED.format(value="self.net.to(d)"),
        "module code.A",
    ),
    "a tensor that the base moves": (
        _MOVED.format(value="self.net.to(d)").replace("A()", "torch.zeros(3)").replace("B()", "torch.ones(2)"),
        "tensor rank 1",
    ),
    "a module that the base takes from elsewhere": (
        _MOVED.format(value="self.other.cuda()"),
        "module code.A|code.B",
    ),
    "masks that callers do not show": (
        "class A(nn.Module):\n    def forward(self, x: torch.FloatTensor, m: torch.BoolTensor):\n        show((x, m))\n"
        "    def g(self, m: torch.Tensor, x: torch.Tensor):\n        self(x, m[:, 0])",
        "tuple (tensor, tensor bool)",
    ),
    "batches of rows": (
        "from torch.utils.data import DataLoader\nclass D:\n    def __getitem__(self, i):\n"
        "        return {'x': np.zeros(3), 'y': 1.5}\nfor b in DataLoader(D()):\n    show((b['x'], b['y']))",
        "tuple (tensor float64 cpu rank 2, tensor float64 cpu rank 1)",
    ),
    "batches of rows on an accelerator": (
        "from torch.utils.data import DataLoader\nclass D:\n    def __getitem__(self, i):\n"
        "        return torch.zeros(3).cuda()\nfor b in DataLoader(D(), num_workers=2):\n    show(b)",
        "tensor float32 cuda rank 2",
    ),
    "batches that workers make": (
        "from torch.utils.data import DataLoader\nfor b in DataLoader(d, num_workers=2):\n    show(b['x'].sum(dim=0))",
        "tensor cpu",
    ),
    "batches that workers make, moved": (
        "from torch.utils.data import DataLoader\nfor b in DataLoader(d, num_workers=2):\n"
        "    show(b['x'].to(k).sum(dim=0))",
        "tensor",
    ),
    "batches of a dataset that opens files": (
        "import h5py\nfrom torch.utils.data import DataLoader\nclass D:\n    def __init__(self, path):\n"
        "        self.file = h5py.File(path)\n    def __getitem__(self, i):\n        return read(self.file, i)\n"
        "for b in DataLoader(D('x')):\n    show(b['x'].sum(dim=0))",
        "tensor cpu",
    ),
    "batches of a dataset that opens files and moves": (
        "import h5py\nfrom torch.utils.data import DataLoader\nclass D:\n    def __init__(self, path, k):\n"
        "        self.rows = read(h5py.File(path)).to(k)\n    def __getitem__(self, i):\n        return self.rows[i]\n"
        "for b in DataLoader(D('x', k)):\n    show(b['x'].sum(dim=0))",
        "tensor",
    ),
    "batches that a function of the project collates": (
        "from torch.utils.data import DataLoader\ndef f(rows):\n"
        "    return torch.stack([torch.from_numpy(r) for r in rows])\n"
        "for b in DataLoader(d, collate_fn=f):\n    show(b.sum(dim=0))",
        "tensor cpu",
    ),
    "batches that a function collates where workers may be none": (
        "from torch.utils.data import DataLoader\nfor b in DataLoader(d, collate_fn=f, num_workers=n):\n"
        "    show(b['x'].sum(dim=0))",
        "tensor",
    ),
    "batches that a function collates": (
        "from torch.utils.data import DataLoader\nfor b in DataLoader(d, collate_fn=f):\n    show(b['x'].sum(dim=0))",
        "tensor",
    ),
    "batches that may lie anywhere": (
        "from torch.utils.data import DataLoader\nfor b in DataLoader(d):\n    show(b['x'].sum(dim=0))",
        "tensor",
    ),
    "a context manager": ("@contextmanager\ndef f():\n    yield 1\nwith f() as x:\n    show(x)", "unknown"),
    "a generator that yields from itself": (
        "def f(n):\n    yield 1\n    yield from f(n - 1)\nfor x in f(3):\n    show(x)",
        "Python number int",
    ),
    "an async function": ("async def f():\n    return 1\nasync def g():\n    show(await f())", "Python number int"),
    "a lambda": ("f = lambda: 1\nshow(f())", "Python number int"),
    "a function under no_grad": ("@torch.no_grad()\ndef f():\n    return 1\nshow(f())", "Python number int"),
    "recursion": ("def f(n):\n    return 1 if n == 0 else f(n - 1)\nshow(f(3))", "Python number int"),
    "endless recursion": ("def f(n):\n    return f(n)\nshow(f(3))", "unknown"),
    "recursion that grows": ("def f(n):\n    return (f(n), 1) if n else 0\nshow(f(3))", "unknown"),
    "two functions that call each other": (
        "def f(n):\n    return g(n)\ndef g(n):\n    return f(n) if n else 1\nshow(f(3))",
        "Python number int",
    ),
    "what a loop makes of a value": (
        "x = torch.zeros(1)\nfor i in z:\n    y = x\n    show(y)\n    x = y.double()",
        "tensor cpu rank 1",
    ),
    "what a loop leaves alone": (
        "x = torch.zeros(1)\nfor i in z:\n    x = x + 1\nshow(x)",
        "tensor float32 cpu rank 1",
    ),
    "a loop that nests without end": ("x = 1\nfor i in z:\n    x = (x, 1)\nshow(x)", "unknown"),
    "a name defined by itself": ("x = x\nshow(x)", "unknown"),
}


@pytest.mark.parametrize(("text", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_programs(text: str, expected: str) -> None:
    assert shown(text) == expected


_KEEPER = "class A:\n    def put(self, n):\n        setattr(self, f'kept_{n}', torch.zeros(1))\n"
_EITHER = (
    "class T:\n    def step(self):\n        return 1, torch.zeros(1) > 0\n"
    "class D:\n    def step(self):\n        return 1, {'a': True}\n"
    "class N:\n    def step(self):\n        return 1, np.zeros(1) > 0\n"
    "class E:\n    def step(self):\n        pass\n"
)
CLASSES = {
    "set by a text": (
        f"{_KEEPER}    def f(self, n):\n        show(getattr(self, f'kept_{{n}}'))",
        "tensor float32 cpu rank 1",
    ),
    "set by a text, or from what is not known": (
        f"{_KEEPER}    def load(self, n, x):\n        setattr(self, 'kept_' + n, x[n])\n"
        "    def f(self, n):\n        show(getattr(self, f'kept_{n}'))",
        "tensor float32 cpu rank 1",
    ),
    "set by texts to different things": (
        f"{_KEEPER}    def name(self, n):\n        setattr(self, f'kept_{{n}}_name', n + 'a')\n"
        "    def g(self):\n        setattr(self, 'kept_size', 'a')\n"
        "    def f(self, n):\n        show(getattr(self, f'kept_{n}'))",
        "unknown",
    ),
    "set by another text": (f"{_KEEPER}    def f(self, n):\n        show(getattr(self, f'left_{{n}}'))", "unknown"),
    "set by a text of another object": (
        "class A:\n    def put(self, other, n):\n        setattr(other, f'kept_{n}', torch.zeros(1))\n"
        "    def f(self, n):\n        show(getattr(self, f'kept_{n}'))",
        "unknown",
    ),
    "set by a text, and by an assignment": (
        f"{_KEEPER}        self.kept_size = 1\n    def f(self, n):\n        show(getattr(self, f'kept_{{n}}'))",
        "unknown",
    ),
    "what only one of two kinds has": (
        f"{_EITHER}def f(env: T | D):\n    a, b = env.step()\n    show(b.any())",
        "tensor bool cpu rank 0",
    ),
    "what only one of two kinds has, beside a method to be written": (
        f"{_EITHER}def f(env: T | D | E):\n    a, b = env.step()\n    show(b.all())",
        "tensor bool cpu rank 0",
    ),
    "what two of three kinds have": (
        f"{_EITHER}def f(env: T | D | N):\n    a, b = env.step()\n    show(b.any())",
        "unknown",
    ),
    "what one of several kinds has, of which one is not known": (
        f"{_EITHER}def f(env: T | D, y):\n    a, b = env.step()\n    if y:\n        b = y\n    show(b.any())",
        "unknown",
    ),
    "names that are bound to each other": (
        f"{_EITHER}def f(env: T | D, n):\n    a, b = env.step()\n    for _ in range(n):\n        a = b\n        b = a\n"
        "        show(b.any())",
        "unknown",
    ),
    "an attribute": (
        "class A:\n    def __init__(self):\n        self.x = 1\n    def f(self):\n        show(self.x)",
        "Python number int",
    ),
    "a sum of tensors that starts from a number": (
        "class A:\n    def __init__(self):\n        self.x = 0\n    def g(self):\n"
        "        self.x += torch.zeros(2).sum()\n    def f(self):\n        show(self.x)",
        "tensor float32 cpu rank 0",
    ),
    "a mean of tensors that starts from a number": (
        "class A:\n    def __init__(self):\n        self.x = 0.0\n    def g(self, y):\n"
        "        self.x = 0.9 * self.x + torch.tensor(y)\n    def f(self):\n        show(self.x)",
        "tensor cpu",
    ),
    "a sum of numbers": (
        "class A:\n    def __init__(self):\n        self.x = 0\n    def g(self, y):\n        self.x += y.item()\n"
        "    def f(self):\n        show(self.x)",
        "Python number int",
    ),
    "a tensor to which tensors are added stays where it lies": (
        "class A:\n    def __init__(self):\n        self.x = torch.zeros(1)\n    def g(self):\n"
        "        self.x += torch.ones(1, device='cuda')\n    def f(self):\n        show(self.x)",
        "tensor float32 cpu rank 1",
    ),
    "set in several methods": (
        "class A:\n    def __init__(self):\n        self.x = None\n    def g(self):\n        self.x = torch.zeros(1)\n"
        "    def f(self):\n        show(self.x)",
        "tensor float32 cpu rank 1",
    ),
    "set to different things": (
        "class A:\n    def __init__(self):\n        self.x = 'a'\n    def g(self):\n        self.x = torch.zeros(1)\n"
        "    def f(self):\n        show(self.x)",
        "unknown",
    ),
    "of a class body": ("class A:\n    x = 1\n    def f(self):\n        show(self.x)", "Python number int"),
    "of a base class": (
        "class B:\n    def __init__(self):\n        self.x = 1\nclass A(B):\n    def f(self):\n        show(self.x)",
        "Python number int",
    ),
    "of a derived class": (
        "class A:\n    def f(self):\n        show(self.x)\nclass B(A):\n    def __init__(self):\n        self.x = 1",
        "Python number int",
    ),
    "of derived classes that differ": (
        "class A:\n    def f(self):\n        show(self.x)\nclass B(A):\n    x = 1\nclass C(A):\n    x = 'a'",
        "unknown",
    ),
    "never set": ("class A:\n    def f(self):\n        show(self.x)", "unknown"),
    "that a base of torch keeps": (
        "class A(nn.parallel.DistributedDataParallel):\n    def f(self):\n        show(self.module)",
        "module torch.nn.Module",
    ),
    "that a base of torch keeps, under another name": (
        "class A(nn.parallel.DistributedDataParallel):\n    def f(self):\n        show(self.inner)",
        "unknown",
    ),
    "of an instance": ("class A:\n    def __init__(self):\n        self.x = 1\nshow(A().x)", "Python number int"),
    "of a derived class, that the base moves": (
        "class A:\n    def move(self):\n        self.x = self.x.cuda()\nclass N(nn.Module):\n    pass\n"
        "class M(nn.Module):\n    pass\nclass B(A):\n    def __init__(self):\n        self.x = N()\n"
        "class C(A):\n    def __init__(self):\n        self.x = M()\nshow(B().x)",
        "module code.N",
    ),
    "of a derived class, that the base replaces": (
        "class A:\n    def move(self):\n        self.x = self.y.cuda()\nclass N(nn.Module):\n    pass\n"
        "class M(nn.Module):\n    pass\nclass B(A):\n    def __init__(self):\n        self.x = N()\n"
        "class C(A):\n    def __init__(self):\n        self.y = M()\nshow(B().x)",
        "module code.M|code.N",
    ),
    "a tensor that is moved later": (
        "class A:\n    def __init__(self):\n        self.x = torch.zeros(3)\n"
        "    def f(self):\n        self.x = self.x.cuda()\n        show(self.x)",
        "tensor float32 cuda or cpu rank 1",
    ),
    "set from outside": (
        "class A:\n    def __init__(self):\n        self.x = 1\na = A()\na.x = 'a'\nshow(a.x)",
        "unknown",
    ),
    "a list filled in another method": (
        "class A:\n    def __init__(self):\n        self.x = []\n    def g(self):\n        self.x.append(np.zeros(3))\n"
        "    def f(self):\n        show(self.x)",
        "list (ndarray float64 rank 1)",
    ),
    "a list filled in a derived class": (
        "class A:\n    def __init__(self):\n        self.x = []\n    def f(self):\n        show(self.x)\n"
        "class B(A):\n    def g(self):\n        self.x.append('a')",
        "list (string)",
    ),
    "a module": (
        "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(3, 4)\n"
        "    def forward(self, x):\n        return self.l(x), 1\nshow(N()(y))",
        "tuple (tensor, Python number int)",
    ),
    "forward of a base": (
        "class B(nn.Module):\n    def forward(self, x):\n        return torch.zeros(1)\n"
        "class N(B):\n    pass\nshow(N()(y))",
        "tensor float32 cpu rank 1",
    ),
    "one of two modules": (
        "class N(nn.Module):\n    def forward(self, x):\n        return torch.zeros(1)\n"
        "class M(nn.Module):\n    def forward(self, x):\n        return torch.arange(1)\n"
        "n = N() if a else M()\nshow(n(y))",
        "tensor cpu rank 1",
    ),
    "an overridden forward": (
        "class B(nn.Module):\n    def forward(self, x):\n        raise NotImplementedError\n"
        "    def g(self, x):\n        show(self(x))\n"
        "class N(B):\n    def forward(self, x):\n        return torch.zeros(1)",
        "tensor float32 cpu rank 1",
    ),
    "a property": (
        "class A:\n    @property\n    def x(self):\n        return 1\nshow(A().x)",
        "Python number int",
    ),
    "a method not called": ("class A:\n    def x(self):\n        return 1\nshow(A().x)", "function code.A.x"),
    "a method": ("class A:\n    def x(self):\n        return 1\nshow(A().x())", "Python number int"),
    "a static method": ("class A:\n    @staticmethod\n    def x(y):\n        show(y)\nA.x(1)", "Python number int"),
    "a class method": ("class A:\n    @classmethod\n    def x(cls):\n        show(cls)", "class code.A"),
    "self": ("class A:\n    def f(self):\n        show(self)", "instance code.A"),
    "a parameter of a method": (
        "class A:\n    def f(self, x):\n        show(x)\nA().f(1)",
        "Python number int",
    ),
    "a parameter of __init__": (
        "class A:\n    def __init__(self, x):\n        self.x = x\nshow(A(torch.zeros(1)).x)",
        "tensor float32 cpu rank 1",
    ),
    "super": (
        "class B:\n    def f(self):\n        return 1\nclass A(B):\n    def f(self):\n        show(super().f())",
        "Python number int",
    ),
    "an overridden method": (
        "class B:\n    def f(self):\n        return 1\n    def g(self):\n        show(self.f())\n"
        "class A(B):\n    def f(self):\n        return 'a'",
        "unknown",
    ),
    "__call__": ("class A:\n    def __call__(self):\n        return 1\nshow(A()())", "Python number int"),
    "circular bases": ("class A(B):\n    pass\nclass B(A):\n    pass\nshow(A().x)", "unknown"),
    "an abstract method": (
        "class B:\n    def f(self):\n        raise NotImplementedError\n    def g(self):\n        show(self.f())\n"
        "class A(B):\n    def f(self):\n        return 'a'",
        "string",
    ),
    "a class without bases we know": ("class A(Unknown):\n    pass\nshow(A().x)", "unknown"),
    "unpacked into attributes": (
        "class A:\n    def __init__(self):\n        self.x, self.y = 1, 'a'\n    def f(self):\n        show(self.y)",
        "string",
    ),
    "what is restored from a file is what was saved": (
        "import pickle\nclass A:\n    def __init__(self):\n        self.x = torch.zeros(1)\n"
        "    def load(self, f):\n        self.x = pickle.load(f)\n    def f(self):\n        show(self.x)",
        "tensor float32 cpu rank 1",
    ),
    "what is a part of what is restored": (
        "class A:\n    def __init__(self, path):\n        self.x = torch.zeros(1)\n"
        "        if path:\n            self.x = torch.load(path)['x']\n    def f(self):\n        show(self.x)",
        "tensor float32 cpu rank 1",
    ),
    "what a name for a checkpoint holds": (
        "class A:\n    def __init__(self):\n        self.x = torch.zeros(1)\n"
        "    def load(self, path):\n        kept = torch.load(path)\n        self.x = kept['now']['x']\n"
        "    def f(self):\n        show(self.x)",
        "tensor float32 cpu rank 1",
    ),
    "a part of what is not restored": (
        "class A:\n    def __init__(self):\n        self.x = torch.zeros(1)\n"
        "    def load(self, kept):\n        self.x = kept['x']\n    def f(self):\n        show(self.x)",
        "unknown",
    ),
    "what is only restored": (
        "import pickle\nclass A:\n    def load(self, f):\n        self.x = pickle.load(f)\n"
        "    def f(self):\n        show(self.x)",
        "unknown",
    ),
    "a step of a wrapper of the project": (
        "class W(gym.Wrapper):\n    pass\nobs, *_ = W(make()).step(1)\nshow(obs)",
        "ndarray",
    ),
    "what a wrapper makes of observations": (
        "class W(gym.ObservationWrapper):\n    def observation(self, observation):\n"
        "        return torch.as_tensor(observation)\nobs, *_ = W(make()).step(1)\nshow(obs)",
        "tensor cpu",
    ),
    "what a wrapper gets": (
        "class W(gym.ObservationWrapper):\n    def observation(self, observation):\n        show(observation)",
        "ndarray",
    ),
    "what another class gets under this name": (
        "class W:\n    def observation(self, observation):\n        show(observation)",
        "unknown",
    ),
    "a step of a wrapper that has its own": (
        "class W(gym.Wrapper):\n    def step(self, action):\n        return 1, 2.0\n"
        "obs, reward = W(make()).step(1)\nshow(obs)",
        "Python number int",
    ),
    "an alias of types": (
        "class A:\n    pass\nclass B:\n    pass\nBoth = A | B\nMany = list[Both]\ndef f(x: Many):\n    show(x[0])",
        "instance code.A|code.B",
    ),
    "a variable of types with a bound": (
        "from typing import TypeVar\nclass A:\n    pass\nT = TypeVar('T', bound='A')\ndef f(x: T):\n    show(x)",
        "instance code.A",
    ),
    "a variable of types with choices": (
        "from typing import TypeVar\nT = TypeVar('T', int, bool)\ndef f(x: T):\n    show(x)",
        "Python number",
    ),
    "an alias of itself": ("Tree = dict[str, 'Tree']\ndef f(x: Tree):\n    show(x)", "dict"),
    "a name that is not an alias of types": ("Size = 3\ndef f(x: Size):\n    show(x)", "unknown"),
    "a list whose elements are replaced": (
        "class A:\n    def __init__(self):\n        self.x = [1]\n    def f(self, n):\n        self.x[:] = [2, n]\n"
        "        show(self.x)\nA().f(3)",
        "list (Python number int)",
    ),
    "a list that shows no elements, with a promise": (
        "class A:\n    pass\nclass P:\n    def __init__(self, x: list[A]):\n        self.x = x\n"
        "class Q(P):\n    def f(self):\n        show(self.x)\nP(list(make()))",
        "list (instance code.A)",
    ),
    "an element of a list of modules": (
        "class A(nn.Module):\n    def __init__(self):\n        self.x = nn.ModuleList([nn.Linear(1, 2)]).cuda()\n"
        "    def forward(self, y):\n        for net in self.x:\n            show(net)",
        "module cuda torch.nn.Linear",
    ),
    "an element of a list of modules that grows": (
        "class A(nn.Module):\n    def __init__(self):\n        self.x = nn.ModuleList()\n"
        "        self.x.append(nn.Linear(1, 2))\n    def forward(self, y):\n        show(self.x[0](y))",
        "tensor",
    ),
    "modules of two classes in a list": (
        "class A(nn.Module):\n    def __init__(self):\n        self.x = nn.ModuleList([nn.Linear(1, 2)])\n"
        "        self.x.append(nn.ReLU())\n    def forward(self, y):\n        show(self.x[0])",
        "module torch.nn.Linear|torch.nn.ReLU",
    ),
    "a list of modules that something else fills": (
        "class A(nn.Module):\n    def __init__(self, x):\n        self.x = nn.ModuleList(x)\n"
        "    def forward(self, y):\n        show(self.x[0])",
        "module torch.nn.Module",
    ),
    "a slice of a list of modules": (
        "x = nn.ModuleList([nn.Linear(1, 2)])\nshow(x[1:])",
        "list (module torch.nn.Linear)",
    ),
    "a module of a dict of these": (
        "x = nn.ModuleDict({'a': nn.Linear(1, 2)})\nfor net in x.values():\n    show(net)",
        "module torch.nn.Linear",
    ),
    "a module of a dict that is filled": (
        "class A(nn.Module):\n    def __init__(self):\n        self.x = nn.ModuleDict()\n"
        "        self.x['a'] = nn.Linear(1, 2)\n    def forward(self, k):\n        show(self.x[k])",
        "module torch.nn.Linear",
    ),
    "a name of a dict of modules": (
        "x = nn.ModuleDict({'a': nn.Linear(1, 2)})\nfor name in x:\n    show(name)",
        "unknown",
    ),
    "a part of a sequence of modules": ("x = nn.Sequential(nn.Linear(1, 2), nn.Tanh())\nshow(x[0](y))", "tensor"),
    "rows of which some are None": (
        "class A:\n    def __init__(self):\n        self.x = []\n    def add(self):\n"
        "        self.x.append((np.zeros(1), 1))\n        self.x.append((np.zeros(1), None))\n"
        "    def f(self):\n        show(self.x)",
        "list (tuple (ndarray float64 rank 1, Python number int))",
    ),
    "another object's attribute is not self's": (
        "class A:\n    def __init__(self, other):\n        self.x = 1\n        other.x = 'a'\n"
        "    def f(self):\n        show(self.x)",
        "Python number int",
    ),
}


@pytest.mark.parametrize(("text", "expected"), CLASSES.values(), ids=CLASSES)
def test_classes(text: str, expected: str) -> None:
    assert shown(text) == expected


SET_BEFORE = {
    "set just before": ("self.x = torch.ones(2)\n{}show(self.x)", "tensor float32 cpu rank 1"),
    "set before a branch": ("self.x = torch.ones(2)\n{}if flag:\n{}    show(self.x)", "tensor float32 cpu rank 1"),
    "set in a branch": ("if flag:\n{}    self.x = torch.ones(2)\n{}show(self.x)", "unknown"),
    "set again in a branch": ("self.x = torch.ones(2)\n{}if flag:\n{}    self.x = y\n{}show(self.x)", "unknown"),
    "perhaps set by a method": ("self.x = torch.ones(2)\n{}self.change()\n{}show(self.x)", "unknown"),
    "set in a round before": (
        "self.x = torch.ones(2)\n{}for y in ys:\n{}    show(self.x)\n{}    self.x = y",
        "unknown",
    ),
    "read later": ("self.x = torch.ones(2)\n{}def g():\n{}    show(self.x)", "unknown"),
}


@pytest.mark.parametrize(("body", "expected"), SET_BEFORE.values(), ids=SET_BEFORE)
def test_an_attribute_is_what_it_was_set_to_just_before(body: str, expected: str) -> None:
    head = "class A:\n    def __init__(self, x):\n        self.x = x\n"
    body = body.replace("{}", " " * 8)
    assert shown(f"{head}    def f(self, flag, y, ys):\n        {body}") == expected


def test_literals_are_kept() -> None:
    assert Code("show(-1)").value().literal == -1
    assert Code("def f(x):\n    show(x)\nf(1)").value().literal is None


def test_values_cross_files() -> None:
    code = Code(
        {
            "train.py": "from agents.sac import Agent\nshow(Agent(3).act())\n",
            "agents/__init__.py": "",
            "agents/sac.py": "from .net import head\nclass Agent:\n    def act(self):\n        return head()\n",
            "agents/net.py": "import torch\nSIZE = 3\ndef head():\n    return torch.zeros(SIZE)\n",
        }
    )
    assert described(code.value("train.py")) == "tensor float32 cpu rank 1"


TANGLE = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.state = torch.zeros(size)
        self.buffer = []

    def forward(self, x, depth=0):
        y = self.mix(x)
        for i in range(depth):
            y = self.forward(y.double(), depth - 1)
            self.state = y
        self.buffer.append((y, depth))
        return y

    def mix(self, x):
        self.state = self.state + x
        old, depths = zip(*self.buffer)
        return self.state if depths else old[0]

def run(net, x):
    while True:
        z = x
        x = net(z)
        if step(net, x):
            x = z.double()
            return x

def step(net, x):
    return run(net, x) if len(net.buffer) else x

run(Net(3), torch.zeros(3))
"""
)


@pytest.mark.parametrize("seed", range(20))
def test_answers_do_not_depend_on_the_order_of_questions(seed: int) -> None:
    def answers(shuffled: bool) -> dict[tuple[int, int, str], Value]:
        code = Code(TANGLE)
        nodes = [node for node in code.expressions() if not hasattr(node, "elts")]
        if shuffled:
            random.Random(seed).shuffle(nodes)
        found = {node: code.analyses[Values].of(code.file(), node) for node in nodes}
        return {(node.lineno, node.col_offset, ast.unparse(node)): value for node, value in found.items()}

    assert answers(shuffled=True) == answers(shuffled=False)


def test_a_long_chain_of_assignments_is_followed_from_its_end() -> None:
    lines = "".join(f"x{i + 1} = x{i} + 1\n" for i in range(300))
    assert shown(f"x0 = torch.zeros(1)\n{lines}show(x300)") == "tensor float32 cpu rank 1"


TRAINERS = """
class Learner:
    pass


class Actor:
    pass


class Trainer:
    def __init__(self, agent):
        self.agent = agent


class Early(Trainer):
    def __init__(self, agent):
        {early}


class Late(Trainer):
    def __init__(self, agent):
        super(Late, self).__init__(agent)

    def show(self):
        {what}


Early(Learner())
Late(Actor())
"""


@pytest.mark.parametrize(
    ("early", "what", "expected"),
    [
        ("super().__init__(agent)", "show(self.agent)", "instance Actor"),
        ("Trainer.__init__(self, agent)", "show(self.agent)", "instance Actor"),
        ("super().__init__(agent)", "show(Early(Learner()).agent)", "instance Learner"),
        ("super().__init__(agent)", "show(Trainer(Learner()).agent)", "instance Actor|Learner"),
    ],
)
def test_the_constructor_of_a_base_is_given_what_the_class_of_the_object_passes(
    early: str, what: str, expected: str
) -> None:
    assert shown(TRAINERS.format(early=early, what=what)).replace("code.", "") == expected


TAKEN_APART = """
class Net(nn.Module):
    def both(self, x, value=False):
        if value:
            return x, 3, torch.zeros(3)
        return torch.zeros(3), 3
    def forward(self, x):
        if x is None:
            return 1, "b"
        return torch.zeros(2), "a", x
def make(known):
    if not known:
        return 1
    if known > 1:
        return Net(), 2, 3
    return [Net(), 2] if known < 3 else Net(), 1
def several(x):
    yield 1, 2
    return 1, 2, 3
net = Net()
{code}
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a, b, c = net.both(y)\nshow(c)", "tensor float32 cpu rank 1"),
        ("a, b = net.both(y)\nshow(a)", "tensor float32 cpu rank 1"),
        ("a, *b = net.both(y)\nshow(a)", "unknown"),
        ("a, b, c, d = net.both(y)\nshow(a)", "unknown"),
        ("a = net.both(y)\nshow(a)", "unknown"),
        ("a, b, c = net(y)\nshow(a)", "tensor float32 cpu rank 1"),
        ("a, b, c = make(2)\nshow(a)", "module code.Net"),
        ("a, b = make(2)\nshow(a)", "unknown"),
        ("a, b = make(2)[0]\nshow(b)", "unknown"),
        ("a, b, c = several(2)\nshow(c)", "tuple (Python number int, Python number int)"),
    ],
)
def test_a_call_gives_as_many_parts_as_it_is_taken_apart_into(code: str, expected: str) -> None:
    assert shown(TAKEN_APART.format(code=code)) == expected


TWINS = """
class One(nn.Module):
    def forward(self, x):
        return torch.stack([x, x])
class Two(nn.Module):
    def forward(self, x):
        return torch.relu(x), 3
class Agent:
    def __init__(self, critic: One | Two):
        self.critic = critic
    def update(self, x):
{code}
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a, b = self.critic(x)\nshow(a)", "tensor"),
        ("a, b = self.critic(x)\nshow(b)", "unknown"),
        ("a, *b = self.critic(x)\nshow(a)", "unknown"),
        ("show(self.critic(x))", "unknown"),
    ],
)
def test_a_part_of_what_one_of_two_networks_gives(code: str, expected: str) -> None:
    assert shown(TWINS.format(code=indent(code, " " * 8))) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("torch.minimum(x, y)\n    show(y)", "tensor"),
        ("torch.max(x)\n    show(x)", "tensor"),
        ("torch.nn.functional.cross_entropy(x.view(-1, 3), y.reshape(-1))\n    show(x)", "tensor"),
        ("torch.nn.functional.cross_entropy(x.view(-1, 3), y.reshape(-1))\n    show(y)", "tensor"),
        ("torch.sort(np.squeeze(x))\n    show(np)", "imported module numpy"),
        ("torch.sort(other.squeeze(x))\n    show(x)", "unknown"),
        ("torch.max(x, y)\n    show(y)", "unknown"),
        ("torch.add(x, y)\n    show(y)", "unknown"),
    ],
)
def test_what_a_function_of_two_tensors_takes_is_one(code: str, expected: str) -> None:
    assert shown(f"def f(x, y):\n    {code}\n") == expected


ANSWERING = """
from lamorel import BaseModuleFunction, BaseUpdater
class Score(BaseModuleFunction):
    def forward(self, outputs, minibatch, tokenized_contexts, **kwargs):
        return self.head(outputs["logits"]).cpu()
class Value(BaseModuleFunction):
    def forward(self, outputs, minibatch, tokenized_contexts, **kwargs):
        return {value}
class Updater(BaseUpdater):
    def perform_update(self, contexts, candidates, ids, **kwargs):
        answers = self.{model}(["score"], contexts=contexts)
        scores = torch.stack([each["score"] for each in answers]).squeeze()
        show(torch.distributions.Categorical(logits=scores).entropy().mean())
"""


@pytest.mark.parametrize(
    ("value", "model", "expected"),
    [
        ("self.head(outputs).cpu()", "_llm_module", "tensor cpu rank 0"),
        ("self.head(outputs)", "_llm_module", "tensor rank 0"),
        ("self.head(outputs).cpu()", "_other", "tensor rank 0"),
    ],
)
def test_a_model_that_answers_with_what_methods_give_answers_where_they_give_it(
    value: str, model: str, expected: str
) -> None:
    assert shown(ANSWERING.format(value=value, model=model)) == expected


MOVED = """
class Player(nn.Module):
    pass


class Judge(nn.Module):
    pass


class Base:
    def prepare(self):
        {moves}


class Early(Base):
    def __init__(self):
        self.net = Player()
        self.prepare()
        show(self.net)


class Late(Base):
    def __init__(self):
        self.net = {late}
        self.prepare()
"""


@pytest.mark.parametrize(
    ("moves", "late", "expected"),
    [
        ("self.net = self.net.eval()", "Judge()", "module Player"),
        ("self.net = self.net.eval()", "unknown()", "module Player"),
        ("self.net = self.net.to(device='cuda')", "Judge()", "module Player"),
        ("self.net = self.other.eval()", "Judge()", "unknown"),
        ("self.net = wrapped(self.net)", "Judge()", "module Judge|Player"),
        ("self.net = wrapped(self.other)", "Judge()", "unknown"),
        ("self.net = Judge().eval()", "Judge()", "module Judge|Player"),
    ],
)
def test_a_base_that_moves_a_module_leaves_it_its_class(moves: str, late: str, expected: str) -> None:
    assert shown(MOVED.format(moves=moves, late=late)).replace("code.", "") == expected


def test_a_module_that_a_base_moves_may_lie_in_two_places() -> None:
    text = MOVED.format(moves="if y:\n            self.net = self.net.cuda()", late="Judge()")
    assert shown(text).replace("code.", "") == "module Player"


@pytest.mark.parametrize(
    ("sets", "below", "expected"),
    [
        ("super().__init__()\n        self.part = B()", "super().__init__()", "instance B"),
        ("self.part = B()\n        super().__init__()", "super().__init__()", "instance A|B"),
        ("super().__init__()\n        if x:\n            self.part = B()", "super().__init__()", "instance A|B"),
        ("super().__init__()\n        if x:\n            return\n        self.part = B()", "pass", "instance A|B"),
        ("super().__init__()\n        self.part = B()", "Base.__init__(self)", "instance A|B"),
        ("self.part = B()", "super().__init__()", "instance B"),
        ("Base.__init__(self)\n        if x:\n            self.part = B()", "super().__init__()", "instance A|B"),
    ],
)
def test_a_constructor_replaces_what_that_of_its_base_has_set(sets: str, below: str, expected: str) -> None:
    text = f"""
class A:
    pass


class B:
    pass


class Base:
    def __init__(self):
        self.part = A()


class Middle(Base):
    def __init__(self):
        {sets}

    def use(self):
        show(self.part)


class Below(Middle):
    def __init__(self):
        {below}
"""
    parts = shown(text).replace("code.", "").removeprefix("instance ").split("|")
    assert sorted(parts) == sorted(expected.removeprefix("instance ").split("|"))


NEEDED = {
    "torch.sigmoid(x)\n    show(x.mean())": "tensor rank 0",
    "torch.distributed.all_reduce(x)\n    show(x / 2)": "tensor",
    "y = x.masked_fill(m, 0)\n    show(x)": "tensor",
    "y = x.view(-1, x.shape[-1])\n    show(x)": "tensor",
    "y = x.view(m)\n    show(x)": "unknown",
    "if m: y = int(x)\n    else: y = x.view(-1, 1)\n    show(x)": "unknown",
    "if m: y = x.mean()\n    else: y = x.view(-1, 1)\n    show(x)": "tensor",
    "x = torch.sigmoid(x)\n    show(x)": "tensor",
    "torch.zeros_like(x)\n    show(x[0])": "tensor",
    "torch.sigmoid(x)\n    x = f(x)\n    show(x)": "unknown",
    "torch.is_tensor(x)\n    show(x)": "unknown",
    "torch.stack(x)\n    show(x)": "unknown",
    "torch.as_tensor(x)\n    show(x)": "unknown",
    "if isinstance(x, torch.Tensor): torch.exp(x)\n    show(x)": "unknown",
    "x.gather(0, m)\n    show(x)": "unknown",
    "y = x[:, m]\n    torch.sigmoid(y)\n    show(x)": "tensor",
    "y = x[:, m]\n    z = y[m, :]\n    torch.sigmoid(z)\n    show(x)": "tensor",
    "y = x[m]\n    torch.sigmoid(y)\n    show(x)": "unknown",
    "y = x[:, m]\n    y = f(y)\n    torch.sigmoid(y)\n    show(x)": "unknown",
    "y = x[:, m]\n    x = f(x)\n    torch.sigmoid(y)\n    show(x)": "unknown",
    "x.isfinite()\n    show(x)": "tensor",
    "x.isnan(m)\n    show(x)": "unknown",
}


@pytest.mark.parametrize("body", NEEDED)
def test_what_only_a_tensor_may_be_is_a_tensor_where_nothing_else_is_known(body: str) -> None:
    assert shown(f"def use(x, m):\n    {body}\n") == NEEDED[body]


BATCHES = {
    "what lies beside what a network takes": ("net(b['a'])\n    show(b['r'].mean())", "tensor rank 0"),
    "beside what it takes under a keyword": ("net(x=b.a)\n    show(b.r.max())", "tensor rank 0"),
    "beside what a name took to it": ("a, r = b['a'], b['r']\n    net(a)\n    show((r * 2).sum())", "tensor rank 0"),
    "items that are all moved": ("b = {k: v.to(d) for k, v in b.items()}\n    show(b['r'])", "tensor"),
    "items of which tensors are moved": (
        "b = {k: v.to(d) if torch.is_tensor(v) else v for k, v in b.items()}\n    show(b['r'].mean())",
        "tensor rank 0",
    ),
    "items that a function moves": ("b = moved(b, d)\n    show(b['r'].mean())", "tensor rank 0"),
    "items that a function keeps": ("b = kept(b, d)\n    show(b['r'].mean())", "unknown"),
    "beside what is moved alone": ("net(b['a'].to(d))\n    show(b['r'].mean())", "unknown"),
    "beside what something else takes": ("f(b['a'])\n    show(b['r'].mean())", "unknown"),
    "of another object": ("net(b['a'])\n    show(c['r'].mean())", "unknown"),
    "of an object of the same name": ("net(b['a'])\n    b = f()\n    show(b['r'].mean())", "unknown"),
    "of the object that the method is of": ("net(self.a)\n    show(self.r.mean())", "unknown"),
    "what is not used as a tensor": ("net(b['a'])\n    show(b['r'])", "unknown"),
}


HELPERS = """
def moved(x, d):
    return {k: v.to(d) if hasattr(v, "to") else v for k, v in x.items()}
def kept(x, d):
    return {k: v for k, v in x.items()}
net = nn.Linear(3, 3)
class A:
  def f(self, b, c, d):
    """


@pytest.mark.parametrize(("body", "expected"), BATCHES.values(), ids=BATCHES)
def test_items_of_a_batch_are_tensors_where_a_network_takes_another_one(body: str, expected: str) -> None:
    assert shown(HELPERS + body) == expected


GROWING = {
    "a dict of its own sums": "y = {}\nfor k, v in z.items():\n    y[k] = y.get(k, 0) + v\nshow(y)",
    "a dict of its own items": "y = {}\nfor k in z:\n    y[k] = y[k] + 1\nshow(y)",
    "a key of its own": "y = {}\ny['a'] = y.get('a', 0) + v\nshow(y)",
    "an attribute": (
        "class A:\n    def __init__(self):\n        self.y = {}\n    def f(self, v):\n"
        "        self.y[v] = self.y.get(v, 0) + v\n        show(self.y)"
    ),
}


RECORDS = {
    "a list of different things is kept": (
        "rows = []\nrows.append([np.ones(3), 1, 'a'])\nfor obs, *_ in rows:\n    show(obs)\n",
        "ndarray float64 rank 1",
    ),
    "a pair may be extended": ("rows = []\nrows.append([np.ones(3), 'a'])\nshow(rows[0][0])\n", "unknown"),
    "arrays beside numbers": (
        "rows = []\nrows.append([np.ones(3), 1, 0.5])\nshow(rows[0][0])\n",
        "ndarray float64 rank 1",
    ),
    "a list has a name": ("rows, row = [], [np.ones(3), 1, 'a']\nrows.append(row)\nshow(rows[0][0])\n", "unknown"),
    "a field is replaced": (
        "from collections import namedtuple\nStep = namedtuple('Step', 'obs done')\n"
        "rows = []\nrows.append(Step(np.ones(3), 1))\nrows[-1] = rows[-1]._replace(done=2)\nshow(rows[0].obs)\n",
        "ndarray float64 rank 1",
    ),
}

MOVING = "def moved(device, *args):\n    return [x.to(device) for x in args]\nmoved('cuda', nn.Linear(2, 2))\n"
MOVED_BACK = {
    "all arguments are moved": ("a, b = moved('cpu', np.ones(1), torch.ones(3))\nshow(b)\n", "tensor float32 rank 1"),
    "of different kinds": ("a, b = moved('cpu', made(), torch.ones(3))\nshow(b)\n", "tensor float32 rank 1"),
    "in a circle": (
        "def f(x, y):\n    x, y = moved('cpu', x, y)\n    x, y, z = moved('cuda', x, y, x)\n    show(z)\n"
        "f(torch.ones(3), made())\n",
        "tensor float32 rank 1",
    ),
    "some are hidden": ("a, b = moved('cpu', *made())\nshow(b)\n", "unknown"),
    "as many as a call gives": (
        "def f(*args):\n    show(args[0])\nf(torch.ones(3))\nf(torch.ones(3), torch.ones(3))\n",
        "tensor float32 cpu rank 1",
    ),
}

SLICED = {
    "args[1:]": "tuple (tensor float32 cpu rank 2)",
    "args[:-1]": "tuple (ndarray float64 rank 1)",
    "args[1:][0]": "tensor float32 cpu rank 2",
    "args[n:]": "list (unknown)",
    "[x for x in args[1:]]": "list (tensor float32 cpu rank 2)",
    "(1, 2, 3)[::-2]": "tuple (Python number int, Python number int)",
    "(1, 2)[n:]": "list (Python number int)",
}


@pytest.mark.parametrize(("text", "expected"), SLICED.items())
def test_a_slice_of_a_tuple_is_some_of_its_elements(text: str, expected: str) -> None:
    assert shown(f"def f(*args):\n    show({text})\nf(np.ones(3), torch.ones(2, 2))\n") == expected


@pytest.mark.parametrize(("text", "expected"), MOVED_BACK.values(), ids=MOVED_BACK)
def test_what_a_function_of_any_number_of_arguments_takes_and_gives_back(text: str, expected: str) -> None:
    assert shown(MOVING + text) == expected


@pytest.mark.parametrize(("text", "expected"), RECORDS.values(), ids=RECORDS)
def test_what_is_kept_in_rows(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING)
def test_a_dict_that_is_filled_from_its_own_elements_is_a_dict(text: str) -> None:
    assert shown(text) == "dict"


UPDATED = {
    "under names": ("y.update(a=torch.zeros(3))", "tensor"),
    "of a display": ("y.update({'a': torch.zeros(3)})", "tensor"),
    "of a dict": ("more = {'a': torch.zeros(3)}\ny.update(more)", "tensor"),
    "of keywords": ("y.update(**{'b': torch.zeros(3)}, a=torch.zeros(4))", "tensor"),
    "under computed keys": ("y.update({k: torch.zeros(3) for k in z})", "tensor"),
    "of different things": ("y.update(a=torch.zeros(3), b=np.zeros(3))", "unknown"),
    "of something unknown": ("y.update(a=torch.zeros(3))\ny.update(z)", "unknown"),
    "of unknown keywords": ("y.update(a=torch.zeros(3), **z)", "unknown"),
    "and set before": ("y['a'] = np.zeros(3)\ny.update(a=torch.zeros(3))", "unknown"),
}


@pytest.mark.parametrize(("text", "kind"), UPDATED.values(), ids=UPDATED)
def test_what_is_in_a_dict_after_updates(text: str, kind: str) -> None:
    assert shown(f"y = {{}}\n{text}\nfor k, v in y.items():\n    show(v)").partition(" ")[0] == kind


REWRITTEN = {
    "over the keys": ("for k in x.keys():\n    x[k] = torch.tensor(x[k])", "tensor"),
    "over the dict": ("for k in x:\n    x[k] = torch.tensor(x[k])", "tensor"),
    "over a list of its keys": ("for k in list(x.keys()):\n    x[k] = torch.tensor(x[k])", "tensor"),
    "over items": ("for k, v in x.items():\n    x[k] = v.cuda()", "tensor"),
    "in each branch": (
        "for k in x:\n    if k == 'u':\n        x[k] = y.long()\n    else:\n        x[k] = y.cuda()",
        "tensor",
    ),
    "in one branch": ("for k in x:\n    if k == 'u':\n        x[k] = torch.tensor(x[k])", "unknown"),
    "with several kinds": ("for k in x:\n    if k:\n        x[k] = 'a'\n    else:\n        x[k] = y.cuda()", "unknown"),
    "under another key": ("for k in x:\n    x[y] = torch.tensor(x[k])", "unknown"),
    "of another dict": ("for k in y:\n    x[k] = torch.tensor(y[k])", "unknown"),
    "but for some": ("for k in x:\n    if y:\n        continue\n    x[k] = torch.tensor(x[k])", "unknown"),
    "before another is put in": ("for k in x:\n    x[k] = torch.tensor(x[k])\nx['c'] = y", "unknown"),
    "after another is put in": ("x['c'] = y\nfor k in x:\n    x[k] = torch.tensor(x[k])", "tensor"),
    "before another dict": ("for k in x:\n    x[k] = torch.tensor(x[k])\nx = y", "unknown"),
    "where a test says so": ("if y:\n    for k in x:\n        x[k] = torch.tensor(x[k])", "unknown"),
}


@pytest.mark.parametrize(("text", "kind"), REWRITTEN.values(), ids=REWRITTEN)
def test_what_is_in_a_dict_behind_a_loop_that_rewrites_it(text: str, kind: str) -> None:
    assert shown(f"def f(x, y):\n{indent(text, '    ')}\n    show(x['c'])").partition(" ")[0] == kind


COLLECTIVES = {
    "accelerator.gather(x)": "tensor",
    "self.accelerator.reduce(x, 'mean')": "tensor",
    "tools.gather_for_metrics(x)": "tensor",
    "accelerator.gather(torch.zeros(3, dtype=torch.int64, device='cuda'))": "tensor int64",
    "accelerator.gather([1])": "unknown",
    "parts.reduce(x, 'mean')": "unknown",
    "model(x).logits": "tensor",
    "model(x).loss": "unknown",
}


@pytest.mark.parametrize("expression", COLLECTIVES)
def test_results_of_collectives_and_the_logits_of_an_output_are_tensors(expression: str) -> None:
    text = f"class A:\n    def use(self, x, accelerator, tools, parts, model):\n        show({expression})\n"
    code = Code(HEAD + text)
    assert described(code.value()) == COLLECTIVES[expression]
    assert not code.analyses[Values].proven(code.analyses[CallGraph].weak).of(code.file(), code.shown()).known


def test_a_tensor_that_is_inverted_is_taken_for_a_mask() -> None:
    assert shown("def use(x: torch.Tensor):\n    show(~x)\n") == "tensor bool"
    assert shown("def use(x):\n    show(~torch.zeros(3, dtype=torch.int64))\n") == "tensor int64 cpu rank 1"
    code = Code(HEAD + "def use(x: torch.Tensor):\n    show(~x)\n")
    assert (
        described(code.analyses[Values].proven(code.analyses[CallGraph].weak).of(code.file(), code.shown())) == "tensor"
    )


WRAPPED = {
    "model, optimizer, _, _ = deepspeed.initialize(model=net, config={})\n    show(model)": "module code.Net",
    "model, optimizer, _, _ = deepspeed.initialize(args, net)\n    show(model)": "module code.Net",
    "model, optimizer = accelerator.prepare(net, optimizer)\n    show(model)": "module code.Net",
    "show(self.accelerator.prepare(net))": "module code.Net",
    "model, optimizer, *_ = self.booster.boost(net, optimizer)\n    show(model)": "module code.Net",
    "show(peft.get_peft_model(net, config))": "module code.Net",
    "show(peft.prepare_model_for_kbit_training(model=net))": "module code.Net",
    "show(peft.get_peft_model(args, config))": "module",
    "show(peft.count(net))": "unknown",
    "show(kitchen.prepare(net))": "unknown",
    "show(with_adapters(net, 4))": "module code.Net",
    "show(with_adapters(3, 4))": "Python number int",
    "show(changed(net))": "module code.Net",
    "show(converted(net))": "unknown",
    "net = kitchen.prepare(net, 3)\n    show(net)": "module code.Net",
    "net = net.to_empty(device='cuda').apply(fill)\n    show(net)": "module code.Net",
    "net = kitchen.score(net(3))\n    show(net)": "unknown",
    "args = kitchen.prepare(args)\n    show(args)": "unknown",
    "net, loader = kitchen.prepare(net, 3)\n    show((net, loader))": "tuple (module code.Net, unknown)",
    "show(several(net)[1])": "Python number bool",
}


@pytest.mark.parametrize("body", WRAPPED)
def test_what_is_given_back_wrapped_or_as_it_came_is_what_was_given(body: str) -> None:
    text = f"""
import deepspeed
import peft


class Net(nn.Module):
    pass


def with_adapters(model, rank):
    model.extend(rank)
    return model


def changed(model):
    model = convert(model)
    return model


def converted(model):
    return convert(model)


def several(model) -> torch.Tensor:
    return model(1), False


def use(self, accelerator, kitchen, args, optimizer):
    with_adapters(unseen, 2)
    net = Net()
    {body}
"""
    assert shown(text) == WRAPPED[body]


def test_that_an_unknown_call_gives_back_what_it_prepares_is_a_guess() -> None:
    code = Code(HEAD + "net = nn.Linear(2, 2)\nnet = kitchen.prepare(net)\nshow(net)\n")
    assert code.value().kind is Kind.MODULE
    assert not code.analyses[Values].proven(code.analyses[CallGraph].weak).of(code.file(), code.shown()).known


def test_what_a_module_is_given_under_the_names_of_tokenizers_is_a_tensor() -> None:
    text = "class Net(nn.Module):\n    def forward(self, input_ids, other):\n        show({})\n"
    assert shown(text.format("input_ids")) == "tensor rank 2"
    assert shown(text.format("other")) == "unknown"
    assert shown("def collate(input_ids):\n    show(input_ids)\n") == "unknown"


def test_what_is_put_into_a_list_that_becomes_one_tensor_is_a_tensor() -> None:
    text = (
        "def use(xs):\n    found = []\n    for x in xs:\n        y = f(x)\n        found.append(y)\n{}\n    show(y)\n"
    )
    assert shown(text.format("    torch.stack(found[::-1])")) == "tensor"
    assert shown(text.format("    torch.tensor(found)")) == "unknown"


ELEMENTS = {
    "[np.ones(3)]": "ndarray float64 rank 1",
    "[] + [np.ones(3)]": "ndarray float64 rank 1",
    "list(xs) + [np.ones(3)]": "unknown",
    "[np.ones(3)] + sorted(xs)": "unknown",
    "[f(1), 2] + [np.ones(3)]": "unknown",
    "[*xs, 1] + [np.ones(3)]": "unknown",
    "list(xs) if done else [np.ones(3)]": "unknown",
    "[f(x) for x in xs] + [np.ones(3)]": "unknown",
    "[x for x in xs] if done else [np.ones(3)]": "unknown",
    "{x: f(x) for x in xs}.values()": "unknown",
    "({x: f(x) for x in xs} if done else {0: np.ones(3)}).values()": "unknown",
}


@pytest.mark.parametrize(("expression", "kind"), ELEMENTS.items(), ids=list(ELEMENTS))
def test_elements_of_unknown_kind_are_not_an_empty_list(expression: str, kind: str) -> None:
    text = f"import numpy as np\ndef use(xs, done):\n    found = {expression}\n    for x in found:\n        show(x)\n"
    assert shown(text) == kind


def test_a_list_that_also_grows_by_something_unknown_promises_no_elements() -> None:
    text = "import numpy as np\nrows = [f(x) for x in xs]\nrows.append(np.ones(3))\nshow(rows[0])\n"
    assert shown(text) == "unknown"


_AGENT = """
    import gymnasium as gym
    import numpy as np
    import torch

    class Agent:
        def act(self, rows):
            {normalised}
            show(rows)

    def main(agent: Agent):
        env = gym.make("CartPole-v1")
        obs, _ = env.reset()
        agent.act(obs)
"""


@pytest.mark.parametrize(
    "normalised",
    [
        "if not isinstance(rows, list):\n                rows = [rows]",
        "if not isinstance(rows, (list, tuple)):\n                rows = [rows]",
        "if isinstance(rows, np.ndarray):\n                rows = [rows]",
        "if type(rows) is not list:\n                rows = [rows]",
        "if isinstance(rows, list):\n                pass\n            else:\n                rows = [rows]",
        "rows = rows if isinstance(rows, list) else [rows]",
        "rows = [rows] if not isinstance(rows, list) else rows",
    ],
)
def test_what_is_made_a_list_where_it_is_none_is_a_list_of_arrays(normalised):
    found = Code(_AGENT.format(normalised=normalised)).value()
    assert (found.kind, found.element.kind) == (Kind.LIST, Kind.NDARRAY)


@pytest.mark.parametrize(
    "normalised",
    [
        "if not isinstance(rows, list) and len(rows) > 2:\n                rows = [rows]",
        "if not isinstance(rows, Sequence):\n                rows = [rows]",
        "if self.batched:\n                rows = [rows]",
        "for _ in rows:\n                use(rows)\n                if isinstance(rows, list): rows = [rows]",
    ],
)
def test_a_test_that_an_array_may_pass_says_nothing(normalised):
    assert Code(_AGENT.format(normalised=normalised)).value().kind is not Kind.LIST


PRETRAINED = """
from diffusers import DDIMScheduler, ModelMixin, ConfigMixin, StableDiffusionPipeline
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM
class Mine(LlamaForCausalLM):
    def forward(self, input_ids, attention_mask):
        return input_ids, attention_mask
class Drawing(StableDiffusionPipeline): ...
class Noise(DDIMScheduler): ...
class Block(ConfigMixin, ModelMixin): ...
model = AutoModelForCausalLM.from_pretrained("m").to("cuda")
tokenizer = AutoTokenizer.from_pretrained("m")
{}
"""


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("model", "module cuda transformers.AutoModelForCausalLM"),
        ("Mine.from_pretrained('m')", "module code.Mine"),
        ("Drawing.from_pretrained('m')", "instance code.Drawing"),
        ("Noise.from_config(x)", "instance code.Noise"),
        ("Block.from_config(x)", "module code.Block"),
        ("StableDiffusionPipeline.from_pretrained('m')", "unknown"),
        ("model.generate(x)", "tensor int64 rank 2"),
        ("model.generate(x, return_dict_in_generate=True)", "unknown"),
        ("actor.generate(input_ids=x, do_sample=True)", "tensor int64 rank 2"),
        ("engine.generate(texts, sampling_params)", "unknown"),
        ("engine.generate(texts, sampling_params=p, max_new_tokens=3)", "unknown"),
        ("tokenizer(x, return_tensors='pt')['input_ids']", "tensor cpu rank 2"),
        ("model(x).logits", "tensor"),
        ("model(x)[0]", "tensor"),
        ("model(x).hidden_states[-1]", "tensor"),
        ("model(x)[1]", "unknown"),
        ("x.size(0)", "Python number int"),
    ],
)
def test_what_pretrained_models_give(expression: str, wanted: str) -> None:
    assert shown(PRETRAINED.format(f"show({expression})")) == wanted


def test_inputs_of_a_pretrained_model_have_a_row_for_each_text() -> None:
    text = PRETRAINED.format("").replace("return input_ids", "show(attention_mask.sum(1))\n        return input_ids")
    assert shown(text) == "tensor rank 1"


@pytest.mark.parametrize("made", ["self.nets = nets", "self.nets = {}\n            self.nets[name] = nets"])
def test_what_is_asked_for_its_parameters_is_a_module_in_a_dict_too(made):
    code = Code(f"""
        import torch

        class Trainer:
            def __init__(self, nets, name):
                {made.replace("            ", "                ")}
                self.optimizer = torch.optim.Adam(self.nets[name].parameters())
                self.others = nets

            def act(self, name, obs):
                other = self.others[name]
                show(self.nets[name])
    """)
    assert code.value().kind is Kind.MODULE
    assert code.analyses[Values].of(code.file(), code.node("self.others[name]")).kind is Kind.UNKNOWN


MOVED_BY_BASE = """
    import torch
    from torch import nn

    class Wide(nn.Linear):
        pass

    class Deep(nn.Linear):
        pass

    class Base:
        def __init__(self):
            self.net = None
            self.table = torch.zeros(3)

        def prepare(self):
            self.net = {}
            self.table = self.table.cuda()

    class Learner(Base):
        def __init__(self):
            super().__init__()
            self.net = Wide(3, 3)

    class Other(Base):
        def __init__(self):
            super().__init__()
            self.net = Deep(3, 3)

    def main():
        learner = Learner()
        learner.prepare()
        show({})
"""


@pytest.mark.parametrize("moved", ["self.net.cuda()", "self.net.to('cuda').train()"])
def test_a_base_that_moves_a_module_says_nothing_of_its_class(moved: str) -> None:
    value = Code(MOVED_BY_BASE.format(moved, "learner.net")).value()
    assert (value.kind, value.name) == (Kind.MODULE, "code.Wide")


def test_a_base_that_wraps_a_module_may_give_it_another_class() -> None:
    assert Code(MOVED_BY_BASE.format("wrapped(self.net)", "learner.net")).value().name != "code.Wide"


def test_a_tensor_that_a_base_moves_lies_elsewhere_afterwards() -> None:
    assert Code(MOVED_BY_BASE.format("self.net.cuda()", "learner.table")).value().device is not Device.CPU


def _made_where(setting: str, made: str, importing: str = "import setup\n") -> Device:
    texts = {
        "code.py": f"{importing}import torch\nshow({made})\n",
        "setup.py": f"import torch\ndef prepare(where):\n    {setting}\n",
    }
    return Code(texts).value().device


@pytest.mark.parametrize(
    ("setting", "made"),
    [
        ("torch.set_default_device(where)", "torch.zeros(3)"),
        ("torch.set_default_device('cuda')", "torch.tensor([1.0])"),
        ("torch.set_default_tensor_type(torch.cuda.FloatTensor)", "torch.arange(3) > 1"),
        ("torch.set_default_tensor_type(TYPES[where])", "torch.Tensor([1.0])"),
    ],
)
def test_a_new_tensor_lies_where_a_module_says_that_its_file_imports(setting: str, made: str) -> None:
    assert _made_where(setting, made) is Device.UNKNOWN
    assert _made_where("pass", made) is Device.CPU
    assert _made_where(setting, made, "") is Device.CPU


@pytest.mark.parametrize(("setting", "expected"), [("torch.set_default_device(0)", Device.UNKNOWN), ("", Device.CPU)])
def test_a_new_tensor_lies_where_a_program_says_that_imports_its_file(setting: str, expected: Device) -> None:
    main = f"import env\nimport torch\n{setting}\nenv.Env()\n"
    made = Code(
        {"env.py": "import torch\nclass Env:\n    def reset(self):\n        show(torch.zeros(3))\n", "main.py": main}
    )
    assert made.value().device is expected


@pytest.mark.parametrize(
    ("setting", "made"),
    [
        ("torch.set_default_device('cpu')", "torch.zeros(3)"),
        ("torch.set_default_device(torch.device('cpu'))", "torch.zeros(3)"),
        ("torch.set_default_tensor_type('torch.DoubleTensor')", "torch.zeros(3)"),
        ("torch.set_default_tensor_type(torch.DoubleTensor)", "torch.zeros(3)"),
        ("torch.set_default_device(where)", "torch.zeros(3, device='cpu')"),
        ("torch.set_default_device(where)", "torch.tensor(torch.zeros(3, device='cpu'))"),
        ("torch.set_default_device(where)", "torch.from_numpy(made())"),
        ("torch.set_default_device(where)", "torch.zeros(3).cpu()"),
    ],
)
def test_a_default_device_moves_nothing_that_lies_on_the_host(setting: str, made: str) -> None:
    assert _made_where(setting, made) is Device.CPU


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("batch['attention_mask'][:, 1:]", "tensor"),
        ("input_ids[..., 1:]", "tensor"),
        ("batch.input_ids[:, 1:].sum(1)", "tensor"),
        ("batch['attention_mask'][1:]", "unknown"),
        ("batch['frames'][:, 1:]", "unknown"),
    ],
)
def test_a_part_along_several_axes_of_what_tokenizers_give_is_a_tensor(part: str, expected: str) -> None:
    assert shown(f"def train(batch, input_ids):\n    show({part})\n") == expected


_FLAGGED = """
import torch
class Agent:
    def __init__(self, gpu=False):
        self.device = torch.device("cuda" if gpu else "cpu")
    def act(self):
        show(self.device)
"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("Agent(gpu=False)", Device.CPU),
        ("Agent()", Device.CPU),
        ("gpu = False\nAgent(gpu=gpu)", Device.CPU),
        ("gpu = True\nAgent(gpu=gpu)", Device.EITHER),
        ("gpu = False\nif asked:\n    gpu = True\nAgent(gpu=gpu)", Device.EITHER),
        ("Agent()\nAgent(gpu=asked)", Device.EITHER),
        ("Agent(**asked)", Device.EITHER),
        ("", Device.EITHER),
    ],
)
def test_a_device_that_only_a_constant_chooses_is_the_one_it_chooses(made: str, expected: Device) -> None:
    assert Code(f"{_FLAGGED}{made}\n").value().device is expected


_CHOSEN_CLASS = """
from torch import nn
class Plain(nn.Module):
    pass
class Deep(nn.Module):
    pass
class Agent:
    def __init__(self, model_cls=Plain):
        self.model = model_cls()
    def act(self):
        show(self.model)
"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("", "Plain"),
        ("functools.partial(Agent, model_cls=Plain)", "Plain"),
        ("Agent(model_cls=Deep)", "Deep"),
        ("Agent(model_cls=asked())", ""),
    ],
)
def test_a_class_that_a_parameter_is_by_default_is_taken_where_no_call_is_known(made: str, expected: str) -> None:
    found = Code(f"{_CHOSEN_CLASS}{made}\n").value()
    assert found.name.rpartition(".")[2] == expected
