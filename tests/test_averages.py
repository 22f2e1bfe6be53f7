"""What the fix of TL603 makes of parameters that may be shared, or of several dtypes."""

import itertools

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize(("mine", "theirs"), [*itertools.product(DTYPES, DTYPES)])
@pytest.mark.parametrize("tau", [0.005, 1, torch.tensor(0.3), torch.tensor([0.3], dtype=torch.float64)])
def test_a_sum_that_is_written_where_it_belongs_is_the_sum_that_is_copied_there(mine, theirs, tau):
    generator = torch.Generator().manual_seed(0)
    p = torch.randn(64, 3, generator=generator).to(theirs)
    t = torch.randn(64, 3, generator=generator).to(mine)
    copied, written = t.clone(), t.clone()
    copied.copy_(tau * p + (1 - tau) * copied)
    torch.add(tau * p, (1 - tau) * written, out=written)
    assert written.dtype == copied.dtype
    assert torch.equal(copied, written)


def test_a_parameter_of_both_networks_is_read_before_it_is_written():
    shared = torch.randn(64, 3)
    copied, written = shared.clone(), shared.clone()
    copied.copy_(0.3 * copied + (1 - 0.3) * copied)
    torch.add(0.3 * written, (1 - 0.3) * written, out=written)
    assert torch.equal(copied, written)
