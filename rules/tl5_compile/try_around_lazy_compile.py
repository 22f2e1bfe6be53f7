"""TL507: a handler waits for errors that `torch.compile` does not raise yet."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, Site

from ._try_around_lazy_compile import tried_uncalled

_SOURCE = """\
import torch
from torch import nn


class Agent:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 6))
        try:
            self.policy = torch.compile(self.policy, backend="eager")
        except Exception as error:
            print(f"not compiled: {error}")

    def act(self, obs):
        with torch.no_grad():
            return self.policy(obs).argmax(dim=-1)
"""


class TryAroundLazyCompile(Rule):
    """A `try` block calls `torch.compile` but not its result.

    ## What it does
    Finds `torch.compile` in the body of a `try` with handlers, where nothing in that body calls what was compiled.
    Handlers for a torch without `compile` (`AttributeError`, `ImportError`) are left alone.

    ## Why is this slow
    `torch.compile` only wraps the module; compiling happens at the first call. An error of the compiler is raised there
    and stops the run, and the fallback that the handler promises never runs.

    ## Example
    ```python
    try:
        self.policy = torch.compile(self.policy)
    except Exception:
        print("not compiled")
    ```

    ## Use instead
    ```python
    compiled = torch.compile(self.policy)
    try:
        compiled(example_input)
    except Exception:
        print("not compiled")
    else:
        self.policy = compiled
    ```

    ## What the fix may change
    There is no automatic fix: which input to try is not known.

    ## When to ignore it
    Where only the arguments of `torch.compile` themselves may be wrong. A `try` that begins with the import of what is
    compiled asks whether there is such a thing, and is left alone.

    ## Measured
    Nothing: no run is faster, but one that would stop goes on.

    ## References
    - PyTorch documentation, `torch.compile`.
    """

    code = "TL507"
    name = "try-around-lazy-compile"
    summary = "a try block around torch.compile expects errors that are raised later"
    level = Level.NOTE
    kept = "no run is faster, but one that would stop goes on"
    trigger = Call("torch.compile")
    least = Frequency.ONCE
    examples = (
        Example(
            name="wrapped-not-called",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                """\
        try:
            self.policy = torch.compile(self.policy, backend="eager")
        except Exception as error:
            print(f"not compiled: {error}")
""",
                """\
        compiled = torch.compile(self.policy, backend="eager")
        try:
            compiled(torch.zeros(1, 17))
        except Exception as error:
            print(f"not compiled: {error}")
        else:
            self.policy = compiled
""",
            ),
            setup="torch.manual_seed(0)\nagent = Agent()",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a ``torch.compile`` whose ``try`` ends before the first call."""
        match site.node:
            case cst.Call(func=func) as call if site.names.of(func) == "torch.compile" and tried_uncalled(site, call):
                yield Report(
                    call,
                    "torch.compile only wraps: the compiler's errors come at the first call, outside this try; call "
                    "the result inside it",
                )
