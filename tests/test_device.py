"""The counted device changes nothing but what it counts, and errors are those of CUDA or name what is not known."""

from __future__ import annotations

import copy
import gc
import io
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from torchlint.device.events import Events  # noqa: E402
from torchlint.device.ledger import Ledger  # noqa: E402
from torchlint.device.operators import UnknownOperatorError, model_of  # noqa: E402
from torchlint.device.session import counted_device  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.once]

HERE = Path(__file__).resolve()
DEVICE = "cuda"


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with counted_device(Ledger([HERE.parent])) as counting:
        yield counting


def triple(events: Events) -> tuple[int, int, int]:
    """Launches, waits and copies."""
    return events.launches, events.waits, events.copies


def train(device: str) -> list[torch.Tensor]:
    """A few seeded updates of several kinds of networks; all that came of them."""
    torch.manual_seed(0)
    lstm, attention = nn.LSTM(3, 4, 2).to(device), nn.MultiheadAttention(4, 2, batch_first=True).to(device)
    convolution, norm = nn.Conv2d(3, 4, 3).to(device), nn.BatchNorm2d(4).to(device)
    embedding, head = nn.Embedding(5, 4).to(device), nn.Linear(4, 2).to(device)
    parameters = [p for net in (lstm, attention, convolution, norm, embedding, head) for p in net.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(3):
        state, _ = lstm(torch.randn(5, 2, 3).to(device))
        mixed = attention(state, state, state, need_weights=False)[0]
        image = norm(convolution(torch.randn(2, 3, 8, 8).to(device)))
        words = embedding(torch.randint(5, (7,)).to(device))
        policy = torch.distributions.Categorical(logits=head(F.dropout(mixed, 0.3)))
        action = policy.sample()
        loss = -policy.log_prob(action).mean() + image.pow(2).mean() + words[words > 0].sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
    state_dicts = [value for net in (lstm, norm) for value in net.state_dict().values()]
    return [tensor.detach().cpu() for tensor in (*parameters, *state_dicts, action, loss)] + [torch.rand(3)]


def test_a_program_computes_what_it_computes_on_the_cpu() -> None:
    expected = train("cpu")
    with counted_device(Ledger([HERE.parent])) as ledger:
        found = train(DEVICE)
    assert ledger.totals().waits
    assert all(torch.equal(one, other) for one, other in zip(expected, found, strict=True))


def recur(device: str) -> list[torch.Tensor]:
    """A recurrent network with a state that is not zero, where nothing records; the CPU has cells of its own there."""
    torch.manual_seed(0)
    lstm = nn.LSTM(4, 64).to(device)
    state = tuple(torch.randn(1, 1, 64).to(device) for _ in range(2))
    with torch.no_grad():
        output, state = lstm(torch.randn(1, 1, 4).to(device), state)
    return [tensor.cpu() for tensor in (output, *state)]


def test_a_recurrent_network_that_records_nothing_computes_what_it_computes_on_the_cpu() -> None:
    expected = recur("cpu")
    with counted_device(Ledger([HERE.parent])):
        found = recur(DEVICE)
    assert not any(tensor.requires_grad for tensor in found)
    assert all(torch.equal(one, other) for one, other in zip(expected, found, strict=True))


def test_events_belong_to_the_line_that_caused_them(ledger: Ledger) -> None:
    x = torch.ones(3, device=DEVICE)
    ledger.lines.clear()
    first = x.sum().item()
    row = test_events_belong_to_the_line_that_caused_them.__code__.co_firstlineno + 3
    assert first == 3
    ((line, record),) = ledger.lines.items()
    assert (line.path, line.row) == (str(HERE), row)
    assert record.waiting == {"aten::_local_scalar_dense": 1}


@pytest.mark.parametrize(("data", "reads"), [("[x[0], x[1]]", 2), ("[[x[0]], [1.0]]", 1), ("x", 0), ("[1.0, 2.0]", 0)])
def test_tensors_in_a_list_are_read_one_by_one_where_it_becomes_a_tensor(ledger: Ledger, data: str, reads: int) -> None:
    x = torch.ones(2, device=DEVICE)
    given = eval(data, {"x": x})
    ledger.lines.clear()
    torch.as_tensor(given)
    read = [record.waiting.get("aten::_local_scalar_dense", 0) for record in ledger.lines.values()]
    assert sum(read) == reads


def test_tensors_say_that_they_lie_on_the_device(ledger: Ledger) -> None:
    x = torch.zeros(2, device=0)
    view = x.detach()[1:]
    assert x.device == torch.device("cuda", 0)
    assert view.is_cuda
    assert not view.is_cpu
    assert view.get_device() == 0
    assert x.type() == "torch.cuda.FloatTensor"
    assert x.cpu().device.type == "cpu"
    assert nn.Parameter(x).is_cuda
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1


def test_types_of_torch_cuda_are_those_of_the_device(ledger: Ledger) -> None:
    x = torch.cuda.FloatTensor([1.0, 2.0])
    assert isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x.cpu(), torch.cuda.FloatTensor)
    assert not isinstance(x.long(), torch.cuda.FloatTensor)
    assert torch.cuda.LongTensor(2, 3).shape == (2, 3)
    assert x.cpu().type(torch.cuda.FloatTensor).is_cuda
    try:
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
        assert torch.zeros(2).is_cuda
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    assert not torch.zeros(2).is_cuda


def test_the_legacy_constructor_of_a_tensor_keeps_its_side(ledger: Ledger) -> None:
    x, host = torch.ones(2, device=DEVICE), torch.ones(2)
    ledger.lines.clear()
    assert x.new(3).is_cuda
    assert x.new().is_cuda
    assert x.new(torch.Size([2, 2])).shape == (2, 2)
    assert x.new(x).data_ptr() == x.data_ptr()
    assert triple(ledger.totals()) == (0, 0, 0)
    assert x.new([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert triple(ledger.totals()) == (0, 2, 2)
    assert not host.new(3).is_cuda
    assert not x.new(3, device="cpu").is_cuda
    assert torch.distributions.Laplace(x, x).sample().is_cuda


def test_packed_sequences_keep_their_sizes_on_the_host(ledger: Ledger) -> None:
    padded = torch.arange(6.0, device=DEVICE).view(2, 3, 1)
    packed = nn.utils.rnn.pack_padded_sequence(padded, [3, 2], batch_first=True)
    assert packed.data.is_cuda
    assert not packed.batch_sizes.is_cuda
    output, _ = nn.LSTM(1, 2, device=DEVICE)(packed)
    assert nn.utils.rnn.pad_packed_sequence(output)[0].is_cuda


def test_functions_of_torch_cuda_that_change_nothing(ledger: Ledger) -> None:
    torch.cuda.nvtx.range_push("update")
    torch.cuda.nvtx.range_pop()
    torch.cuda.set_sync_debug_mode("warn")
    torch.cuda.set_per_process_memory_fraction(0.5)
    with torch.cuda.device_of(torch.ones(1, device=DEVICE)):
        assert torch.cuda.initial_seed() == torch.initial_seed()
    assert torch.cuda.memory_snapshot() == []


def test_gradients_come_back_to_the_host(ledger: Ledger) -> None:
    leaf = torch.ones(3, requires_grad=True)
    (leaf.to(DEVICE) * 2).sum().backward()
    assert leaf.grad is not None
    assert not leaf.grad.is_cuda
    assert leaf.grad.tolist() == [2, 2, 2]


def test_copies_and_files_keep_the_side(ledger: Ledger) -> None:
    net = nn.Linear(2, 2).to(DEVICE)
    twin = copy.deepcopy(net)
    stream = io.BytesIO()
    torch.save(net.state_dict(), stream)
    loaded = torch.load(io.BytesIO(stream.getvalue()))
    on_host = torch.load(io.BytesIO(stream.getvalue()), map_location="cpu")
    assert twin.weight.is_cuda
    assert loaded["weight"].is_cuda
    assert not on_host["weight"].is_cuda


def test_an_optimizer_made_before_the_move_trains_what_was_moved(ledger: Ledger) -> None:
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    net.to(DEVICE)
    before = net.weight.detach().cpu()
    net(torch.ones(1, 2, device=DEVICE)).sum().backward()
    optimizer.step()
    assert not torch.equal(before, net.weight.detach().cpu())


def test_threads_are_counted(ledger: Ledger) -> None:
    x = torch.ones(3, device=DEVICE)
    ledger.lines.clear()
    thread = threading.Thread(target=lambda: x.sum().item())
    thread.start()
    thread.join()
    assert triple(ledger.totals()) == (1, 1, 1)


def test_the_default_device(ledger: Ledger) -> None:
    torch.set_default_device(DEVICE)
    try:
        assert torch.zeros(2).is_cuda
        assert torch.tensor([1.0]).is_cuda
        assert nn.Linear(2, 2).weight.is_cuda
    finally:
        torch.set_default_device(None)
    with torch.device("cuda"):
        assert torch.ones(1).is_cuda


def test_scripts_run(ledger: Ledger) -> None:
    @torch.jit.script
    def double(x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(3) + x * 2

    assert double(torch.ones(3, device=DEVICE)).is_cuda


@pytest.mark.parametrize(
    ("program", "error", "words"),
    [
        (lambda: torch.ones(2, device=DEVICE) + torch.ones(2), RuntimeError, "same device"),
        (lambda: torch.ones(2, device=DEVICE).numpy(), TypeError, "cuda:0"),
        (lambda: np.asarray(torch.ones(2, device=DEVICE)), TypeError, "cuda:0"),
        (lambda: torch.ones(2, device="cuda:1"), RuntimeError, "invalid device ordinal"),
        (lambda: torch.ones(2, device=DEVICE).to_sparse(), UnknownOperatorError, "sparse"),
    ],
)
def test_what_cuda_refuses_or_nobody_counts_is_an_error(
    program: Callable[[], object], error: type[Exception], words: str, ledger: Ledger
) -> None:
    with pytest.raises(error, match=words):
        program()


def test_an_operator_of_another_library_is_named(ledger: Ledger) -> None:
    library = torch.library.Library("stranger", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    with pytest.raises(UnknownOperatorError, match="stranger::twice"):
        torch.ops.stranger.twice(torch.ones(2, device=DEVICE))
    assert "stranger::twice" in (ledger.unknown or "")


def test_the_device_leaves_torch_as_it_was() -> None:
    before = {name: getattr(torch, name) for name in ("zeros", "tensor", "Generator", "load", "compile")}
    methods = {name: getattr(torch.Tensor, name) for name in ("to", "cpu", "numpy", "tolist", "new_zeros")}
    start = threading.Thread.start
    with counted_device(Ledger()):
        assert torch.zeros is not before["zeros"]
    assert before == {name: getattr(torch, name) for name in before}
    assert methods == {name: getattr(torch.Tensor, name) for name in methods}
    assert "device" not in vars(torch.Tensor)
    assert threading.Thread.start is start
    assert not torch.cuda.is_available() or torch.version.cuda


def test_threads_lose_no_event() -> None:
    ledger = Ledger([str(HERE.parent)])
    threads = [threading.Thread(target=lambda: [ledger.book(Events(launches=1)) for _ in range(3000)]) for _ in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.totals().launches == 12_000


def test_memory_does_not_grow_with_code_that_is_made_at_run_time() -> None:
    ledger = Ledger([str(HERE.parent)])
    for _ in range(50):
        exec(compile("ledger.book(Events(launches=1))", "<made>", "exec"), {"ledger": ledger, "Events": Events})
    assert len(ledger._files) < 20
    assert len(ledger.lines) == 1


def test_memory_grows_with_lines_and_not_with_time(ledger: Ledger) -> None:
    x = torch.ones(3, device=DEVICE)
    ledger.lines.clear()
    for _ in range(100):
        x = x * 2
    assert len(ledger.lines) == 1
    assert ledger.totals().launches == 100


def test_rows_of_operators_name_operators_of_torch() -> None:
    """Each row of the table names an operator, or one of its overloads, that torch has, and says why it is there."""
    table = json.loads((HERE.parent.parent / "torchlint" / "device" / "operators.json").read_text())["operators"]
    known = {schema.name for schema in torch._C._jit_get_all_schemas()}
    known |= {f"{schema.name}.{schema.overload_name}" for schema in torch._C._jit_get_all_schemas()}
    assert not [name for name in table if name not in known]
    assert all(row["source"] for row in table.values())


def test_operators_with_a_kernel_for_cuda_are_not_taken_apart() -> None:
    """What torch composes for other devices but has a kernel for on CUDA counts as one operator."""
    yaml = pytest.importorskip("yaml")
    torchgen = pytest.importorskip("torchgen")
    listed = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    own = set()
    for function in yaml.load(listed.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        devices = {key.strip() for keys in function.get("dispatch") or {} for key in keys.split(",")}
        if {"CUDA", "CompositeExplicitAutograd"} <= devices:
            own.add(function["func"].split("(")[0])
    operators = [getattr(torch.ops.aten, name.split(".")[0]) for name in sorted(own)]
    overloads = [getattr(packet, name) for packet in operators for name in packet.overloads()]
    assert len(own) > 100
    assert not [one.name() for one in overloads if one.name()[6:] in own and model_of(one).inside]


def stepping(steps: int) -> dict[str, int]:
    """Act, keep, learn, start threads and make code for some steps; how much is kept to count them."""
    torch.manual_seed(0)
    kept: deque[torch.Tensor] = deque(maxlen=8)
    with counted_device(Ledger([HERE.parent])) as ledger:
        net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2)).to(DEVICE)
        optimizer = torch.optim.Adam(net.parameters())
        for step in range(steps):
            kept.append(torch.tensor([1.0, float(step)], device=DEVICE))
            action = torch.distributions.Categorical(logits=net(kept[-1])).sample().item()
            exec(compile(f"x.add_({action})", f"<made {step}>", "exec"), {"x": kept[-1]})
            loss = F.dropout(net(torch.stack(list(kept))), 0.1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            thread = threading.Thread(target=lambda: kept[0].sum().item())
            thread.start()
            thread.join()
            torch.save(net.state_dict(), io.BytesIO())
        del net, optimizer, loss, thread
        gc.collect()
        ours = (str(type(each).__module__).startswith("torchlint.device") for each in gc.get_objects())
        return {
            "lines": len(ledger.lines),
            "operators that wait": sum(len(record.waiting) for record in ledger.lines.values()),
            "names of files": len(ledger._files),
            "objects": sum(ours),
        }


def test_what_is_kept_grows_with_lines_and_not_with_steps() -> None:
    stepping(3)  # what is made on first use, such as models of operators
    few, more, many = stepping(6), stepping(12), stepping(24)
    assert few == more == many
    assert few["lines"] >= 8
