"""What a person changes who follows the findings in a program of ``gain.py``: patterns, and what takes their place.

The programs are those of others, which change with their versions, so nothing of their text is kept here but the names
that a change is about. Every pattern must match as often as it says; else the version by hand is not the one meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Rewrite:
    """A change of one file: a regular expression, what takes its place, and how often it matches."""

    file: str
    pattern: str
    new: str
    times: int = 1


class StrayRewriteError(Exception):
    """A pattern matches another number of times than it says."""


def rewrite(folder: Path, changes: Iterable[Rewrite]) -> None:
    """Make the changes in a folder."""
    for change in changes:
        path = folder / change.file
        text, times = re.subn(change.pattern, change.new, path.read_text(encoding="utf-8"))
        if times != change.times:
            raise StrayRewriteError(f"{path}: {change.pattern} matches {times} times, not {change.times}")
        path.write_text(text, encoding="utf-8")


def _kept_losses(file: str) -> tuple[Rewrite, ...]:
    """Losses of a round that stay on the device until they are logged (TL203)."""
    return (
        Rewrite(file, r"append\((policy_loss|value_loss|entropy_loss)\.item\(\)\)", r"append(\1.detach())", 3),
        Rewrite(file, r"(clip_fraction = .*)\.item\(\)", r"\1"),
        Rewrite(
            file,
            r"np\.mean\((entropy_losses|pg_losses|value_losses|clip_fractions)\)",
            r"th.stack(\1).mean().item()",
            4,
        ),
    )


def _tracked(file: str, losses: Sequence[str], tensors: Sequence[str]) -> tuple[Rewrite, ...]:
    """Figures that are tracked one by one, read by one copy (TL203): losses, and reductions of tensors."""
    kinds = ("max", "min", "mean")
    names = [f"{name}_now" for name in losses] + [f"{name}_{kind}" for name in tensors for kind in kinds]
    read = [*losses, *(f"torch.{kind}({name})" for name in tensors for kind in kinds)]
    joined = f"{', '.join(names)} = torch.stack([{', '.join(read)}]).tolist()"
    reduced = rf"torch\.({'|'.join(kinds)})\(({'|'.join(tensors)})\)\.item\(\)"
    return (
        Rewrite(file, rf"\n( +)(self\.track_data\(.*{losses[0]}\.item)", rf"\n\1{joined}\n\1\2"),
        Rewrite(file, rf"\b({'|'.join(losses)})\.item\(\)", r"\1_now", len(losses)),
        Rewrite(file, reduced, r"\2_\1", len(kinds) * len(tensors)),
    )


_RECURRENT = "sb3_contrib/ppo_recurrent/ppo_recurrent.py"
_SEQUENCES = "sb3_contrib/common/recurrent/buffers.py"
_REWARDS = "skrl/agents/torch/base.py"
# Rows drawn on the host moved once, the rewards of a step read at once, the end of an episode asked once.
_SKRL = (
    Rewrite("skrl/memories/torch/random.py", r"(names=names, indexes=indexes)(, mini)", r"\1.to(self.device)\2"),
    Rewrite(
        _REWARDS,
        r"\n( +)(self\.tracking_data\[.*torch\.max\(rewards\))",
        r"\n\1highest, lowest, mean = torch.stack([rewards.max(), rewards.min(), rewards.mean()]).tolist()\n\1\2",
    ),
    *(
        Rewrite(_REWARDS, rf"torch\.{kind}\(rewards\)\.item\(\)", name)
        for kind, name in (("max", "highest"), ("min", "lowest"), ("mean", "mean"))
    ),
    Rewrite("skrl/trainers/torch/base.py", r"(terminated\.any\(\)) or ", r"\1 | ", 2),
)
_FLOAT = "dtype=torch.float32, device="

CHANGES: dict[str, tuple[Rewrite, ...]] = {
    # Checks behind a flag, constants and moves by one call, masks by `torch.where`, the loss read where it is printed.
    "agent": (
        Rewrite("networks.py", r"\nclass QNetwork", "\nDEBUG = False\n\n\nclass QNetwork"),
        Rewrite("networks.py", r"if (torch\.isnan.*):", r"if DEBUG and (\1):", 3),
        Rewrite("networks.py", r"torch\.tensor\((-float\(\"inf\"\))\)", r"\1"),
        Rewrite("agent.py", r"torch\.FloatTensor\(obs\)(\.unsqueeze\(0\))\.to\(", rf"torch.as_tensor(obs, {_FLOAT}%"),
        Rewrite("agent.py", r"%self\.device\)", r"self.device).unsqueeze(0)"),
        Rewrite("agent.py", r"@torch\.no_grad\(\)", "@torch.inference_mode()", 2),
        Rewrite("agent.py", r"(batch_size)\)\.long\(\)\.to\(self\.device\)", r"\1, device=self.device)"),
        Rewrite("agent.py", r" +next_q = torch\.zeros.*\n", ""),
        Rewrite(
            "agent.py",
            r"next_q\[alive\] = (.*\[\n +rows, best\n +\])\[alive\]",
            r"next_q = torch.where(alive, \1, 0.0)",
        ),
        Rewrite("agent.py", r" +bounds = .*\n", ""),
        Rewrite("agent.py", r"bounds\[0\], bounds\[1\]", "-2.0, 1.0"),
        Rewrite("agent.py", r"return loss\.item\(\)", "return loss.detach()"),
        Rewrite("replay.py", r"torch\.FloatTensor\(obs\)\.to\(", rf"torch.as_tensor(np.stack(obs), {_FLOAT}"),
        Rewrite("replay.py", r"torch\.tensor\(\n +next_obs,", "torch.as_tensor(np.stack(next_obs),"),
    ),
    # No validation, moves by one call, the index of a minibatch moved once.
    "one-file": (
        Rewrite("ppo.py", r"(Categorical\(logits=.*)\)\n", r"\1, validate_args=False)\n"),
        Rewrite("ppo.py", r"torch\.Tensor\((ended|after)\)\.to\(", rf"torch.as_tensor(\1, {_FLOAT}", 2),
        Rewrite(
            "ppo.py",
            r"\n( +)(for part in minibatches.*)",
            r"\n\1\2\n\1    part = torch.as_tensor(part, device=device)",
        ),
    ),
    # Losses kept on the device, no validation of actions.
    "ppo": (
        *_kept_losses("stable_baselines3/ppo/ppo.py"),
        Rewrite(
            "stable_baselines3/common/distributions.py",
            r"Categorical\(logits=action_logits\)",
            "Categorical(logits=action_logits, validate_args=False)",
        ),
    ),
    # The same, sequences padded on the host and moved at once, and means over masks as weighted sums.
    "recurrent-ppo": (
        *_kept_losses(_RECURRENT),
        Rewrite(_SEQUENCES, r"(th\.tensor\(tensor\[start : end \+ 1\]), device=device", r"\1"),
        Rewrite(_SEQUENCES, r"(return th\.nn\.utils\.rnn\.pad_sequence\(.*\))\n", r"\1.to(device)\n"),
        Rewrite(
            _RECURRENT,
            r"\n( +)(mask = .*)",
            r"\n\1\2\n\1count = mask.sum()\n\1weight = mask / count",
        ),
        Rewrite(
            _RECURRENT,
            r"\n( +)advantages = \(advantages - .*",
            r"\n\1centred = advantages - (advantages * weight).sum()"
            r"\n\1deviation = ((centred * mask).square().sum() / (count - 1)).sqrt()"
            r"\n\1advantages = centred / (deviation + 1e-8)",
        ),
        Rewrite(_RECURRENT, r"th\.mean\((.+)\[mask\]\)", r"(\1 * weight).sum()", 6),
    ),
    # Records of tensors, which are read where statistics are asked for; the mode toggled around updates alone; no
    # validation of actions.
    "pfrl-ppo": (
        Rewrite("pfrl/policies/softmax_policy.py", r"(Categorical\(logits=logits)\)", r"\1, validate_args=False)"),
        Rewrite("pfrl/agents/ppo.py", r"append\(float\((loss_\w+)\)\)", r"append(\1.detach())", 2),
        Rewrite("pfrl/agents/ppo.py", r"np\.mean\(xs\) if", "np.mean([float(x) for x in xs]) if"),
        Rewrite("pfrl/agents/ppo.py", r"(extend\(.*)\.cpu\(\)\.numpy\(\)\)", r"\1)", 2),
        Rewrite(
            "pfrl/agents/ppo.py", r"torch\.no_grad\(\), pfrl\.utils\.evaluating\(self\.model\)", "torch.no_grad()", 3
        ),
        Rewrite("pfrl/agents/ppo.py", r"self\.model = model\n", "self.model = model.eval()\n"),
        Rewrite(
            "pfrl/agents/ppo.py",
            r"\n( +)(self\._update\(dataset\))",
            r"\n\1self.model.train()\n\1\2\n\1self.model.eval()",
        ),
    ),
    # Tracked figures read at once, and exploration without a size that depends on data.
    "dqn": (
        *_SKRL,
        *_tracked("skrl/agents/torch/dqn/dqn.py", ("q_network_loss",), ("target_values",)),
        Rewrite(
            "skrl/agents/torch/dqn/dqn.py",
            r"indexes = (.*)\.nonzero\(\)\.view\(-1\)\n( +)if indexes\.numel\(\):\n +(with .*)\n.*\n"
            r" +actions\[indexes\] = (.*)",
            r"greedy = \1.view(-1, 1)\n\2\3\n\2    actions = torch.where(greedy, \4, actions)",
        ),
    ),
    "sac": (
        *_SKRL,
        *_tracked(
            "skrl/agents/torch/sac/sac.py",
            ("policy_loss", "critic_loss"),
            ("critic_1_values", "critic_2_values", "target_values"),
        ),
        Rewrite(
            "skrl/agents/torch/sac/sac.py",
            r"\n( +)(self\.track_data\(.*)entropy_loss\.item\(\)\)\n( +.*)self\._entropy_coefficient\.item\(\)",
            r"\n\1coefficient = self._entropy_coefficient.reshape(())"
            r"\n\1entropy_loss_now, coefficient_now = torch.stack([entropy_loss, coefficient]).tolist()"
            r"\n\1\2entropy_loss_now)\n\3coefficient_now",
        ),
    ),
}
"""The changes of each program that is rewritten, by its name in ``gain.py``."""
