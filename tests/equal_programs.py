"""Seeded programs of RL for the tests of the counted device: each trains a little and returns all that came of it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical, Normal
from torch.utils.data import DataLoader, Dataset, TensorDataset

Told = dict[str, object]
Program = Callable[[str], Told]


class Cart:
    """An environment of four numbers, which ends after some steps or when the first of them is large."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._state = np.zeros(4)
        self._time = 0

    def reset(self) -> np.ndarray:
        self._time = 0
        self._state = self._generator.normal(size=4) / 10
        return self._state.astype(np.float32)

    def step(self, push: float) -> tuple[np.ndarray, float, bool]:
        self._time += 1
        self._state = 0.9 * self._state + 0.1 * push + self._generator.normal(size=4) / 20
        left = bool(abs(self._state[0]) > 1)
        return self._state.astype(np.float32), float(1 - self._state[1] ** 2), left or self._time >= 12


def network(inputs: int, outputs: int, device: str) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, outputs)).to(
        device
    )


def told(losses: list[float], *modules: nn.Module, **more: object) -> Told:
    """Losses, and the parameters, gradients and buffers of networks."""
    found: Told = {"losses": losses, **more}
    for place, module in enumerate(modules):
        found[f"state {place}"] = list(module.state_dict().values())
        found[f"gradients {place}"] = [parameter.grad for parameter in module.parameters()]
    return found


def policy_gradient(device: str) -> Told:
    """A policy gradient with a baseline and clipped gradients."""
    env, net = Cart(1), network(4, 3, device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        obs, done = env.reset(), False
        seen, actions, rewards = [], [], []
        while not done:
            policy = Categorical(logits=net(torch.as_tensor(obs, device=device))[:2])
            action = policy.sample()
            seen.append(torch.from_numpy(obs))
            obs, reward, done = env.step(action.item() * 2 - 1.0)
            actions.append(action)
            rewards.append(reward)
        returns = torch.tensor(np.cumsum(rewards[::-1])[::-1].copy(), dtype=torch.float32, device=device)
        out = net(torch.stack(seen).to(device))
        chosen = Categorical(logits=out[:, :2])
        advantage = (returns - out[:, 2]).detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        loss = -(chosen.log_prob(torch.stack(actions)) * advantage).mean() + F.mse_loss(out[:, 2], returns)
        loss = loss - 0.01 * chosen.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    return told(losses, net, optimizer=optimizer.state_dict())


def q_learning(device: str) -> Told:
    """Q-learning with a replay buffer, a target network and exploration by chance."""
    env, net, target = Cart(2), network(4, 2, device), network(4, 2, device)
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    replay: deque[tuple[np.ndarray, int, float, np.ndarray, bool]] = deque(maxlen=50)
    obs, losses = env.reset(), []
    for step in range(40):
        with torch.no_grad():
            values = net(torch.from_numpy(obs).to(device).unsqueeze(0))
        action = random.randrange(2) if random.random() < 0.3 else int(values.argmax(1))
        following, reward, done = env.step(2.0 * action - 1)
        replay.append((obs, action, reward, following, done))
        obs = env.reset() if done else following
        if step < 15:
            continue
        batch = random.sample(replay, 8)
        states, actions, rewards, nexts, ends = (np.array(part) for part in zip(*batch, strict=True))
        picked = torch.tensor(actions, device=device).view(-1, 1)
        q = net(torch.as_tensor(states).to(device)).gather(1, picked).squeeze(1)
        with torch.no_grad():
            best = target(torch.as_tensor(nexts).to(device)).max(1).values
            best[torch.from_numpy(ends).to(device)] = 0.0
            goal = torch.as_tensor(rewards, dtype=torch.float32, device=device) + 0.99 * best
        loss = F.smooth_l1_loss(q, goal)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        if step % 10 == 0:
            target.load_state_dict(net.state_dict())
    return told(losses, net, target)


def soft_actor_critic(device: str) -> Told:
    """Squashed samples with gradients through them, two critics, a temperature that is learnt, averaged targets."""
    actor, critics, targets = (network(4, 4, device), network(6, 2, device), network(6, 2, device))
    targets.load_state_dict(critics.state_dict())
    temperature = torch.zeros(1, requires_grad=True, device=device)
    optimizers = [
        torch.optim.AdamW(actor.parameters(), lr=1e-3),
        torch.optim.Adam(critics.parameters(), lr=1e-3, amsgrad=True),
        torch.optim.Adam([temperature], lr=1e-2),
    ]

    def act(obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_std = actor(obs).chunk(2, -1)
        policy = Normal(mean, log_std.clamp(-5, 2).exp())
        raw = policy.rsample()
        action = raw.tanh()
        return action, (policy.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1)

    losses = []
    for _ in range(4):
        obs, following = torch.randn(2, 16, 4, device=device)
        action, reward = torch.rand(16, 2, device=device) * 2 - 1, torch.randn(16, device=device)
        with torch.no_grad():
            then, log_then = act(following)
            worst = targets(torch.cat([following, then], -1)).min(-1).values
            goal = reward + 0.99 * (worst - temperature.exp() * log_then)
        critic_loss = F.mse_loss(critics(torch.cat([obs, action], -1)), goal.unsqueeze(-1).expand(-1, 2))
        optimizers[1].zero_grad()
        critic_loss.backward()
        optimizers[1].step()
        mine, log_mine = act(obs)
        actor_loss = (temperature.exp().detach() * log_mine - critics(torch.cat([obs, mine], -1)).amin(-1)).mean()
        optimizers[0].zero_grad()
        actor_loss.backward()
        optimizers[0].step()
        temperature_loss = -(temperature * (log_mine.detach() - 2)).mean()
        optimizers[2].zero_grad()
        temperature_loss.backward()
        optimizers[2].step()
        with torch.no_grad():
            for slow, fast in zip(targets.parameters(), critics.parameters(), strict=True):
                slow.lerp_(fast, 0.05)
        losses += [loss.item() for loss in (critic_loss, actor_loss, temperature_loss)]
    return told(losses, actor, critics, targets, temperature=temperature)


def recurrent_policy(device: str) -> Told:
    """An LSTM with a state that is reset by masks, a GRU on packed sequences, and a GRU cell."""
    env, encoder = Cart(4), nn.LSTM(4, 8, num_layers=2, dropout=0.2).to(device)
    packed_net, cell, head = nn.GRU(4, 8, bidirectional=True).to(device), nn.GRUCell(8, 8).to(device), nn.Linear(8, 2)
    head.to(device)
    nets = [encoder, packed_net, cell, head]
    optimizer = torch.optim.SGD([p for net in nets for p in net.parameters()], lr=1e-2, momentum=0.9)
    losses = []
    for _ in range(3):
        obs, state, memory = env.reset(), None, torch.zeros(1, 8, device=device)
        total = torch.zeros((), device=device)
        for _ in range(6):
            out, state = encoder(torch.as_tensor(obs, device=device).view(1, 1, 4), state)
            memory = cell(out[0], memory)
            policy = Categorical(logits=head(memory))
            action = policy.sample()
            obs, reward, done = env.step(float(action) - 0.5)
            mask = torch.tensor(0.0 if done else 1.0, device=device)
            state = tuple(part * mask for part in state)
            total = total - policy.log_prob(action).sum() * reward
            if done:
                obs = env.reset()
        lengths = torch.tensor([5, 3, 2])
        padded = torch.randn(5, 3, 4, device=device)
        packed = nn.utils.rnn.pack_padded_sequence(padded, lengths)
        unpacked, _ = nn.utils.rnn.pad_packed_sequence(packed_net(packed)[0])
        loss = total + unpacked.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return told(losses, *nets)


def dropout(device: str) -> Told:
    """All kinds of dropout, norms, an embedding and a convolution, in training and out of it."""
    image = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout2d(0.5), nn.MaxPool2d(2)).to(
        device
    )
    words = nn.Embedding(10, 6).to(device)
    mixed = nn.TransformerEncoderLayer(6, 2, 12, dropout=0.3, batch_first=True).to(device)
    head = nn.Sequential(nn.Flatten(), nn.AlphaDropout(0.2), nn.LayerNorm(36), nn.Linear(36, 3)).to(device)
    nets = [image, words, mixed, head]
    optimizer = torch.optim.Adagrad([p for net in nets for p in net.parameters()], lr=1e-2)
    losses = []
    for _ in range(3):
        seen = head(image(torch.randn(5, 3, 8, 8, device=device)))
        read = mixed(words(torch.randint(10, (5, 7), device=device))).mean((1, 2))
        kept = F.dropout(seen, 0.1) + F.feature_alpha_dropout(seen, 0.1) * F.dropout1d(seen, 0.4)
        loss = F.cross_entropy(kept, torch.arange(5, device=device) % 3) + read.abs().sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(head.parameters(), 0.3)
        optimizer.step()
        losses.append(loss.item())
    for net in nets:
        net.eval()
    with torch.inference_mode():
        last = head(image(torch.ones(2, 3, 8, 8, device=device)))
    return told(losses, *nets, last=last.tolist())


class Squares(Dataset[torch.Tensor]):
    """Numbers with noise that each worker draws for itself."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([float(index), float(index) ** 2]) + torch.rand(2)


def loaders(device: str) -> Told:
    """A loader with two workers and pinned memory, one in this process, and one by weights."""
    net = network(2, 1, device)
    optimizer = torch.optim.Adamax(net.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(7)
    sampler = torch.utils.data.WeightedRandomSampler([1.0, 2.0, 3.0] * 8, 12, generator=generator)
    several = [
        DataLoader(Squares(), batch_size=6, shuffle=True, num_workers=2, pin_memory=True, generator=generator),
        DataLoader(Squares(), batch_size=6, shuffle=True, pin_memory=True),
        DataLoader(TensorDataset(torch.randn(24, 2)), batch_size=4, sampler=sampler),
    ]
    losses = []
    for loader in several:
        for batch in loader:
            rows = batch[0] if isinstance(batch, list) else batch
            loss = net(rows.to(device, non_blocking=True) / 100).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return told(losses, net, generator=generator.get_state())


def mixed_precision(device: str) -> Told:
    """Autocast to a half that is named, with and without a scaler."""
    net = network(4, 2, device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(device, init_scale=256.0, growth_interval=2)
    losses = []
    for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
        with torch.autocast(device, dtype=dtype):
            out = net(torch.randn(8, 4, device=device))
            loss = F.mse_loss(out.float(), torch.zeros(8, 2, device=device))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return told(losses, net, scale=scaler.get_scale())


def sampling(device: str) -> Told:
    """Every way to draw numbers, in place and out of place."""
    weights = torch.rand(5, 7, device=device)
    drawn = [
        torch.multinomial(weights, 1),
        torch.multinomial(weights, 4),
        torch.multinomial(weights, 20, replacement=True),
        torch.randperm(13, device=device),
        torch.randint(3, 90, (4,), device=device),
        torch.randn(3, device=device),
        torch.rand_like(weights),
        torch.randn_like(weights),
        torch.randint_like(weights, 9),
        torch.normal(0.0, 2.0, (3,), device=device),
        torch.normal(weights, weights),
        torch.normal(weights, 0.5),
        torch.bernoulli(weights),
        torch.poisson(weights * 5),
        weights.clone().exponential_(),
        weights.clone().uniform_(-1, 1),
        weights.clone().normal_(),
        weights.clone().cauchy_(),
        weights.clone().log_normal_(),
        weights.clone().geometric_(0.3),
        weights.clone().bernoulli_(0.4),
        weights.clone().random_(0, 50),
        nn.init.orthogonal_(torch.empty(4, 4, device=device)),
        nn.init.xavier_uniform_(torch.empty(4, 4, device=device)),
        nn.init.trunc_normal_(torch.empty(4, 4, device=device)),
        torch.distributions.Gamma(weights + 1, weights + 1).rsample(),
        torch.distributions.Beta(weights + 1, weights + 1).sample(),
        torch.distributions.Dirichlet(weights + 1).rsample(),
        torch.distributions.Laplace(weights, weights + 1).sample(),
        torch.distributions.Binomial(10, weights).sample(),
        torch.distributions.OneHotCategorical(weights).sample(),
        torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5, device=device), weights).rsample(),
        torch.distributions.MultivariateNormal(torch.zeros(2, device=device), torch.eye(2, device=device)).sample(),
        F.gumbel_softmax(weights, hard=True),
        F.rrelu(weights - 0.5, training=True),
    ]
    return {"drawn": drawn}


def generators(device: str) -> Told:
    """Generators of the device, seeded, copied and put back."""
    generator = torch.Generator(device=device)
    generator.manual_seed(3)
    first = torch.rand(4, generator=generator, device=device)
    state = generator.get_state()
    second = torch.randn(4, generator=generator, device=device)
    generator.set_state(state)
    again = torch.randn(4, generator=generator, device=device)
    other = torch.Generator(device)
    other.set_state(generator.get_state())
    drawn = [
        *(first, second, again),
        torch.randperm(9, generator=other, device=device),
        torch.randint(9, (4,), generator=other, device=device),
        torch.multinomial(first, 3, generator=other),
        torch.bernoulli(first, generator=other),
        torch.empty(4, device=device).exponential_(generator=other),
        torch.normal(first, first, generator=other),
    ]
    with torch.random.fork_rng():
        torch.manual_seed(11)
        drawn.append(torch.rand(3, device=device))
    return {
        "drawn": drawn,
        "state": generator.get_state(),
        "other": other.get_state(),
        "seed": generator.initial_seed(),
    }


PROGRAMS: tuple[Program, ...] = (
    policy_gradient,
    q_learning,
    soft_actor_critic,
    recurrent_policy,
    dropout,
    loaders,
    mixed_precision,
    sampling,
    generators,
)


def flat(value: object) -> Iterator[tuple[object, ...]]:
    """All numbers in what a program returned, as bits with their shapes and dtypes; the device is left out."""
    if isinstance(value, torch.Tensor):
        host = value.detach().cpu().contiguous()
        yield str(host.dtype), tuple(value.shape), host.reshape(-1).view(torch.uint8).numpy().tobytes()
    elif isinstance(value, dict):
        for key, part in value.items():
            yield (str(key),)
            yield from flat(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from flat(part)
    else:
        yield type(value).__name__, repr(value)


def run(program: Program, device: str) -> list[tuple[object, ...]]:
    """Run a program from fixed seeds; all that it returned, and the states of all random streams, as bits."""
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    found = list(flat(program(device)))
    streams = random.getstate(), [str(part) for part in np.random.get_state()], torch.get_rng_state()
    return [*found, *flat(list(streams))]
