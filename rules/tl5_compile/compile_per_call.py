"""TL502: `torch.compile` is called again and again."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Call, Example, Frequency, Input, Kind, Level, Report, Rule, Site, Statement

from ._compile_per_call import kept

_SOURCE = """\
import torch


def discounted(reward, value, gamma: float = 0.99):
    return reward + gamma * value.clamp(-10.0, 10.0)


def target(reward, value):
    return torch.compile(discounted, backend="eager")(reward, value)


def update(optimizer, net, batches):
    for obs, reward, value in batches:
        loss = (net(obs).squeeze(-1) - target(reward, value)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


class CompilePerCall(Rule):
    """`torch.compile` is called for every step or update.

    ## What it does
    Finds `torch.compile(f)` in hot code, called at once or bound to a local name, and functions with the decorator
    that are defined in hot code. What is kept, on an object or by a cache, and set-up code are left alone.

    ## Why is this slow
    The graph is found again, because it belongs to the code of `f`, so nothing is compiled twice. But each call of
    `torch.compile` reads its options, builds a wrapper, and checks what was compiled before.

    ## Example
    ```python
    def target(reward, value):
        return torch.compile(discounted)(reward, value)
    ```

    ## Use instead
    ```python
    compiled_discounted = torch.compile(discounted)


    def target(reward, value):
        return compiled_discounted(reward, value)
    ```

    ## What the fix may change
    There is no automatic fix: where the compiled function can live depends on what it refers to.

    ## When to ignore it
    Where the options change from call to call.

    ## Measured
    The figures compare one call through a fresh `torch.compile` with one through a kept one, with `backend="eager"`, so
    that neither gains from generated code.

    ## References
    - PyTorch documentation, `torch.compile`.
    """

    code = "TL502"
    name = "compile-per-call"
    summary = "torch.compile is called repeatedly"
    level = Level.WARNING
    trigger = Call("torch.compile") | Statement("FunctionDef", mentioning={"torch.compile"})
    examples = (
        Example(
            name="compiled-in-the-call",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                '    return torch.compile(discounted, backend="eager")(reward, value)\n',
                "    return compiled_discounted(reward, value)\n",
            ).replace(
                "def target(",
                'compiled_discounted = torch.compile(discounted, backend="eager")\n\n\ndef target(',
            ),
            setup="target(reward, value)",
            workload="target(reward, value)",
            inputs=(Input("reward", Kind.TENSOR, (256,)), Input("value", Kind.TENSOR, (256,))),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a hot ``torch.compile``, by its call or as a bare decorator of a function defined in hot code."""
        match site.node:
            case cst.Call() as call if site.names.of(call.func) == "torch.compile" and not kept(site, call):
                yield Report(
                    call,
                    f"torch.compile is called {site.hot.here.phrase}; call it before, and keep what it gives",
                )
            case cst.FunctionDef() as function if site.hot.of(function) >= Frequency.UPDATE:
                for decorator in function.decorators:
                    if site.names.of(decorator.decorator) == "torch.compile":
                        phrase = site.hot.of(function).phrase
                        yield Report(
                            decorator.decorator,
                            f"compiles a function that is defined {phrase}; define it once, outside",
                        )
