"""Where tensors lie that meet what a function makes on the host: an operation takes tensors of one device."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.facts.values.host_only import HostOnly
from torchlint.rule import Device

HEAD = """\
import torch
from torch.nn import functional as F


def f(x: torch.Tensor, u: torch.Tensor, n: int, flag: bool):
"""

ON_HOST = {
    "joined": "torch.cat([x, torch.zeros(n)])",
    "joined with a copy on the host, whatever its shape": "torch.stack([x, u.cpu()])",
    "a part that is joined": "torch.cat((x[:, 1:].float(), torch.zeros((x.shape[0], 1))), dim=1)",
    "added": "y = 2 * torch.ones(len(u)) + x",
    "added in place": "x.add_(torch.arange(4))",
    "compared": "torch.equal(x, torch.tensor([1, 2]))",
    "compared with a name": "h = torch.zeros(x.shape[0])\n    h = h.unsqueeze(0)\n    y = (h * 2)[None] < x",
    "compared with a sum": "y = (torch.arange(4) + u) == x",
    "chosen": "torch.where(x > 0, x, torch.zeros(4))",
    "lost": "F.mse_loss(x, torch.zeros(4, 4))",
    "a method of a tensor of the host": "torch.rand(4).lt(x)",
    "an index of a tensor of the host": "x = x > 0\n    torch.zeros(4)[x]",
    "shared with an array": "a = x.numpy()",
    "a view shared with an array": "if flag:\n        a = x.detach()[0].numpy()",
    "in a branch of data": "if flag:\n        x = x + torch.ones(4)",
}
NOT = {
    "a number": "y = x + torch.zeros(())",
    "a copy that may be a number": "y = x + u.cpu()",
    "a shape that may be that of a number": "y = x + torch.zeros(u.shape)",
    "made on a device": "y = x + torch.zeros(4, device=u.device)",
    "moved": "y = x + torch.zeros(4).to(u)",
    "a moved name": "h = torch.zeros(4)\n    if flag:\n        h = h.to(u)\n    y = x + h",
    "moved before": "y = x.cpu() + torch.zeros(4)",
    "bound again": "x = u * 2\n    y = x + torch.zeros(4)\n    x = u.abs()",
    "stored": "x[0] = torch.zeros(4)",
    "copied": "x.copy_(torch.zeros(4))",
    "an index that may be a number": "torch.zeros(4)[x]",
    "indexed by what lies on the host": "x[torch.arange(4)]",
    "compared with what fills another tensor": "y = torch.arange(4, out=x.new()) == x",
    "chosen by a device": "if x.is_cuda:\n        pass\n    else:\n        y = x + torch.zeros(4)",
    "where an operation failed": "try:\n        y = x + torch.zeros(4)\n    except RuntimeError:\n        pass",
    "moved by its own name": "if flag:\n        x = x.cpu()\n    y = x + torch.zeros(4)",
    "chosen by a type": "if isinstance(u, torch.Tensor):\n        y = x + torch.zeros(4)",
    "copied to an array": "a = x.cpu().numpy()",
    "copied by force": "a = x.numpy(force=True)",
    "another name": "a = (x + u).sum().item(), u.numpy()",
    "shared where a device says so": "if not x.is_cuda:\n        a = x.numpy()",
    "a size": "y = x.expand(torch.tensor([4, 4]))",
}


@pytest.mark.parametrize("body", ON_HOST.values(), ids=ON_HOST)
def test_what_meets_a_tensor_of_the_host_lies_there(body: str) -> None:
    assert Code(f"{HEAD}    {body}\n    show(x)\n").value().device is Device.CPU


@pytest.mark.parametrize("body", NOT.values(), ids=NOT)
def test_what_may_stand_beside_a_tensor_of_the_host_may_lie_anywhere(body: str) -> None:
    assert Code(f"{HEAD}    {body}\n    show(x)\n").value().device is Device.UNKNOWN


@pytest.mark.parametrize("where", ["torch.set_default_device(d)", "with torch.device(d):\n    pass"])
def test_nothing_is_made_on_the_host_where_a_program_says_where_tensors_are_made(where: str) -> None:
    code = Code(f"{HEAD}    y = x + torch.zeros(4)\n    show(x)\n\n\nd = 'cuda'\n{where}\n")
    assert code.value().device is Device.UNKNOWN


CLASS = """
import torch


class Space:
    def __init__(self, device):
        self.device = device

    def masks(self, x):
        return torch.zeros(4).to(self.device) > 0

    def sample(self, x):
        steps = torch.tensor(x, device=self.device)[x > 0]
        return torch.cat((steps, torch.zeros({size})), dim=1)


class Other(Space):
    def sample(self, x):
        return torch.zeros(x, device=self.device)


def main(env, device):
    space = {made}(device)
    obs, _ = env.reset()
    for _ in range(100):
        obs, reward, done, _, _ = env.step({used})
"""


@pytest.mark.parametrize(
    ("size", "used", "derived", "expected"),
    [
        ("(4, 1)", "space.sample(obs)", False, True),
        ("(4, 1), device=x.device", "space.sample(obs)", False, False),
        ("(4, 1)", "obs", False, False),
        ("(4, 1)", "space.sample(obs)", True, False),
    ],
    ids=["joined", "made on a device", "not run", "in another class"],
)
def test_a_class_that_joins_its_tensors_with_those_of_the_host_runs_there(
    size: str, used: str, derived: bool, expected: bool
) -> None:
    text = CLASS.format(size=size, used=used, made="Space")
    text = text if derived else text.replace("class Other(Space)", "class Other")
    code = Code(text)
    assert code.analyses[HostOnly].is_host_only(code.function("code.Space.masks")) is expected
