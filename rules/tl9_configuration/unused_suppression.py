"""TL909: a comment that silences findings where there are none."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rule import Comment, Example, Frequency, Input, Kind, Level, Report, Rule, RuleSet, Site

_SOURCE = """\
import torch


class Agent:
    def __init__(self, device):
        self.device = device

    def act(self, obs):
        # torchlint: ignore[TL101] measured, not worth it
        obs_t = torch.as_tensor(obs, dtype=torch.float32, device=self.device)
        return obs_t.sum(dim=-1)


def train(agent, env, steps):
    obs = env.reset()
    for _ in range(steps):
        obs, reward, done, info = env.step(agent.act(obs))
"""


class UnusedSuppression(Rule):
    """A suppression comment has no effect.

    ## What it does
    Finds `# torchlint: ignore` and `# torchlint: ignore-file` comments, and codes of torchlint in `# noqa` comments,
    that silence nothing. A rule that is not selected counts as well: a comment for it is used if the rule would find
    something there. Codes of other tools, and a bare `# noqa`, are left alone.

    ## Why is this slow
    It is not. But a comment that outlives its finding will silence the next one at its place before it was ever seen.

    ## Example
    ```python
    # torchlint: ignore[TL101] measured, not worth it
    obs_t = torch.as_tensor(obs, device=self.device)
    ```

    ## Use instead
    ```python
    obs_t = torch.as_tensor(obs, device=self.device)
    ```

    ## What the fix may change
    Nothing: it removes the comment with its reason, or the codes that silence nothing. Where no rule fits a selector
    there is no fix: it may be a typing error.

    ## When to ignore it
    Where a rule finds something with some settings only, for instance another `target-torch`.

    ## Measured
    Nothing: a comment does not run.

    ## References
    - Ruff, rule RUF100, which looks at `# noqa` comments for codes of Ruff.
    """

    code = "TL909"
    name = "unused-suppression"
    summary = "a suppression comment has no effect"
    level = Level.NOTE
    set = RuleSet.OPT_IN
    trigger = Comment()
    least = Frequency.ONCE
    fixable = True
    examples = (
        Example(
            name="comment-without-finding",
            source=_SOURCE,
            fixed=_SOURCE.replace("        # torchlint: ignore[TL101] measured, not worth it\n", ""),
            setup="agent = Agent(device)",
            workload="agent.act(obs)",
            inputs=(Input("obs", Kind.NDARRAY, (17,)),),
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:  # noqa: ARG002
        """Yield nothing: comments are not nodes, so there is nothing to see at a site."""
        yield from ()
