"""Training with Stable-Baselines3 from a fixed seed ends with the same parameters, to the bit, after fixes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from libraries import Copy, copies, run

pytestmark = [pytest.mark.packages, pytest.mark.torch]

TRAIN = str(Path(__file__).with_name("train.py"))
LONG = {"ppo": 8192, "ppo-sde": 4096, "dqn": 4000, "sac": 1200}


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Copy]:
    """The library as it is, and after each kind of fix."""
    return copies(tmp_path_factory.mktemp("sb3"))


def trained(copy: Copy, algorithm: str, steps: int) -> dict[str, str | float]:
    """What a training run says of itself; it must have used the copy."""
    done = run(copy, TRAIN, algorithm, str(steps))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert Path(found["library"]).is_relative_to(copy.path)
    return found


def test_there_is_something_to_fix(versions: dict[str, Copy]) -> None:
    assert versions["before"].changed == ()
    assert versions["safe"].changed
    assert set(versions["safe"].changed) < set(versions["unsafe"].changed)


def test_training_ends_with_the_same_parameters(versions: dict[str, Copy]) -> None:
    digests = {name: trained(versions[name], "ppo-sde", 512)["digest"] for name in ("before", "safe", "unsafe")}
    assert set(digests.values()) == {digests["before"]}


@pytest.mark.long
@pytest.mark.parametrize(("algorithm", "steps"), LONG.items(), ids=LONG)
def test_longer_training_with_each_kind_of_fix(
    versions: dict[str, Copy], algorithm: str, steps: int, record_property: pytest.RecordProperty
) -> None:
    """Also tells how fast they ran, for people to read; on a busy machine a few percent mean nothing."""
    found = {name: trained(copy, algorithm, steps) for name, copy in versions.items()}
    speeds = {name: round(float(run["steps_per_cpu_second"])) for name, run in found.items()}
    record_property("steps_per_cpu_second", json.dumps(speeds))
    print(f"{algorithm}: steps per CPU second {speeds}")
    assert {run["digest"] for run in found.values()} == {found["before"]["digest"]}
