"""Programs around distributions that acting and learning build, whose arguments are checked (TL205)."""

from __future__ import annotations

import random

from fuzz.fixes.agents import HEADER, READERS, indented
from fuzz.fixes.program import Given, Program
from torchlint.rule import Change

_DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
_IMPORTS = "import torch.distributions as td\nfrom torch.distributions import Beta, Independent, kl_divergence\n"
_SPREADS = (
    "self.scale.exp()",
    "h.abs()",
    "h",
    "torch.ones_like(h)",
    "F.softplus(h) + 1e-3",
    "0.5",
    "self.scale",
    "self.scale.exp()",
)
_CHANCES = ("torch.sigmoid(h)", "torch.softmax(h, -1)", "h", "h.abs()", "torch.full_like(h, 0.5)")
_BUILT = (
    *("Categorical(logits={h})", "Categorical({p})", "Categorical(probs={p})", "td.Categorical(None, {h})"),
    *("Normal({h}, {s})", "Normal({h}, scale={s})", "td.Normal(loc={h}, scale={s})", "Own({h}, {s})"),
    *("Bernoulli(logits={h})", "Bernoulli({p})", "Independent(Normal({h}, {s}), 1)", "Beta({s} + 1, h.abs() + 1)"),
    *(
        "td.MultivariateNormal({h}, scale_tril=torch.eye(3))",
        "td.Laplace({h}, {s})",
        "td.OneHotCategorical(logits={h})",
    ),
    *("td.TransformedDistribution(Normal({h}, {s}), [td.transforms.TanhTransform()])", "td.Gamma({s}, h.exp())"),
    *("Normal({h}, {s}, None)", "Normal({h}, {s}, validate_args=True)", "Normal(*self.parts(h))"),
    "Normal(\n    {h},\n    {s},  # the spread\n)",
)
_USES = (
    *("action = dist.sample()", "action = dist.sample((2,))", "action = dist.sample() * 3", "action = h.argmax(-1)"),
    *("action = dist.rsample()", "action = torch.zeros(3)", "action = dist.sample()", "action = h"),
)
_ENDS = (
    *("dist.log_prob(action)", "dist.log_prob(action).sum(-1)", "dist.log_prob(dist.sample())", "action.detach()"),
    *("dist.entropy()", "dist.log_prob(action.clamp(0.1, 0.9))", "kl_divergence(dist, dist)", "dist.mean"),
)
_OWN = "class Own(Normal):\n    def __init__(self, loc, scale):\n        super().__init__(loc, scale)\n\n\n"


def distributing(code: str, choice: random.Random) -> Program:
    """Distributions in an update, once or more often, with what is computed from them."""
    rows = ["h = self.net(x.to(device).float().reshape(-1, 3))"]
    for number in range(choice.randint(1, 3)):
        h, s, p = choice.choice(("h", "h", "h * 2", "h.double()")), choice.choice(_SPREADS), choice.choice(_CHANCES)
        made = choice.choice(_BUILT).format(h=h, s=s, p=p)
        rows += [f"dist = {made}" if choice.random() < 0.7 else f"self.dist = dist = {made}", choice.choice(_USES)]
        rows.append(f"loss{number} = {choice.choice(_ENDS)}.float().mean()")
        if choice.random() < 0.3:
            rows.append("self.kept.append(action.detach().sum())")
    rows += ["loss = loss0 + loss0.detach()", "return loss"]
    read = choice.choice(READERS).format(call="learner.update(x)")
    text = (
        f"{_IMPORTS}\n{_DEVICE}\n\n{_OWN}class Learner:\n    def __init__(self):\n"
        "        self.net = nn.Linear(3, 3).to(device)\n"
        "        self.scale = nn.Parameter(torch.zeros(3, device=device))\n        self.kept, self.dist = [], None\n"
        "        self.optimizer = torch.optim.SGD([*self.net.parameters(), self.scale], lr=0.1)\n\n"
        "    def parts(self, h):\n        return h, self.scale.exp()\n\n"
        f"    def loss(self, x: torch.Tensor):\n{indented(chr(10).join(rows), 2)}\n"
        "    def update(self, x: torch.Tensor):\n        loss = self.loss(x)\n        self.optimizer.zero_grad()\n"
        "        if loss.requires_grad:\n            loss.backward()\n            self.optimizer.step()\n"
        "        return loss.item()\n\n\n"
        f"def main(learner: Learner, x):\n    for _ in range(2):\n        {read}\n"
    )
    if choice.random() < 0.3:
        text += '\n\nif __name__ == "__main__":\n    main(Learner(), None)\n'
    return Program(
        code,
        HEADER + text,
        "learner = Learner()",
        "lambda x: main(learner, x)",
        (Given("x", "rows"),),
        "[learner.net, learner.scale, learner.kept]",
        accept=(Change.VALIDATION,),
    )
