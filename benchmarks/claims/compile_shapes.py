"""torch.compile for fixed shapes, called with changing ones."""

import sys

from claim import Claim, by_hand, main

from torchlint.rule import Example, Input, Kind

SOURCE = """\
import torch
from torch import nn


def network():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 6))
    return torch.compile(net, dynamic=False, backend="eager")
"""
SIZES = "(1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233)"
FIRST = f"""\
def calls():
    torch.compiler.reset()
    net = network()
    with torch.no_grad():
        return [net(obs[:size]) for size in {SIZES}]
"""
LATER = f"""\
torch.compiler.reset()
net = network()

def calls():
    with torch.no_grad():
        return [net(obs[:size]) for size in {SIZES}]

calls()
"""


def example(name: str, setup: str) -> Example:
    """Twelve batch sizes through a network."""
    return by_hand(
        Example(
            name=name,
            source=SOURCE,
            fixed=SOURCE.replace('torch.compile(net, dynamic=False, backend="eager")', "net"),
            setup=setup,
            workload="calls()",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
        )
    )


CLAIM = Claim(
    title="torch.compile over changing shapes",
    words="not compiling is 2-5x as fast",
    least=2.0,
    most=5.0,
    rule="",
    examples=(example("first-calls-with-12-batch-sizes", FIRST), example("later-calls-with-12-batch-sizes", LATER)),
    remark=(
        'Without code generation (`backend="eager"`), so the first calls count tracing alone; a generating backend '
        "takes seconds for each graph. With the default `dynamic=None` two or three graphs serve all sizes, so TL501 "
        "reports `dynamic=False` and CUDA-graph modes only."
    ),
)

if __name__ == "__main__":
    sys.exit(main(CLAIM))
