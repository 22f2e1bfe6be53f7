"""The table of framework protocols: which methods frameworks call, and how often."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from conftest import HAS_TORCH
from projects import Code
from test_hotness import frequencies
from test_models import exists

from torchlint.facts.code.project import is_external_module
from torchlint.facts.hotness import protocols
from torchlint.facts.hotness.hotness import Heat
from torchlint.models import protocols as table
from torchlint.rule import Frequency

FREQUENCIES = {"O": Frequency.ONCE, "E": Frequency.EPISODE, "U": Frequency.UPDATE, "S": Frequency.STEP}

# What a class derives from, and the first letters of how often its methods run.
CLASSES: dict[str, tuple[str, str, dict[str, str]]] = {
    "Stable-Baselines3 algorithm": (
        "from stable_baselines3 import SAC",
        "SAC",
        {"_sample_action": "S", "train": "U", "learn": "O"},
    ),
    "Stable-Baselines3 on-policy algorithm": (
        "from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm",
        "OnPolicyAlgorithm",
        {"collect_rollouts": "E", "predict": "S"},
    ),
    "Stable-Baselines3 buffer": (
        "from stable_baselines3.common.buffers import ReplayBuffer",
        "ReplayBuffer",
        {"add": "S", "sample": "U", "size": "O"},
    ),
    "Stable-Baselines3 VecEnv wrapper": (
        "from stable_baselines3.common.vec_env import VecEnvWrapper",
        "VecEnvWrapper",
        {"step_wait": "S", "reset": "E"},
    ),
    "TorchRL loss": ("from torchrl.objectives import PPOLoss", "PPOLoss", {"forward": "U"}),
    "TorchRL environment": (
        "from torchrl.envs import EnvBase",
        "EnvBase",
        {"_step": "S", "_reset": "E", "_set_seed": "O"},
    ),
    "TorchRL transform": ("from torchrl.envs.transforms import Transform", "Transform", {"_call": "S"}),
    "transform of a distribution": (
        "from torch import distributions as pyd",
        "pyd.transforms.Transform",
        {"_call": "S", "_inverse": "S", "log_abs_det_jacobian": "S", "with_cache": "O"},
    ),
    "TensorDict module": ("from tensordict.nn import TensorDictModuleBase", "TensorDictModuleBase", {"forward": "S"}),
    "Gymnasium environment": ("import gymnasium", "gymnasium.Env", {"step": "S", "reset": "E", "render": "O"}),
    "Gymnasium vector wrapper": (
        "from gymnasium.vector import VectorObservationWrapper",
        "VectorObservationWrapper",
        {"observations": "S"},
    ),
    "PettingZoo": ("from pettingzoo import AECEnv", "AECEnv", {"step": "S", "observe": "S"}),
    "Lightning": (
        "import pytorch_lightning as pl",
        "pl.LightningModule",
        {"training_step": "U", "validation_step": "E", "configure_optimizers": "O"},
    ),
    "TRL preferences": (
        "from trl import DPOTrainer",
        "DPOTrainer",
        {"get_batch_loss_metrics": "U", "concatenated_forward": "U", "evaluate": "E", "save": "O"},
    ),
    "TRL groups": ("from trl import GRPOTrainer", "GRPOTrainer", {"_compute_loss": "U", "_calculate_rewards": "U"}),
    "TRL PPO": ("from trl import PPOTrainer", "PPOTrainer", {"batched_forward_pass": "U", "step": "E"}),
    "Tianshou 1": (
        "from tianshou.policy import BasePolicy",
        "BasePolicy",
        {"forward": "S", "learn": "U", "process_fn": "U"},
    ),
    "Tianshou 2": ("from tianshou.algorithm import PPO", "PPO", {"_update_with_batch": "U"}),
    "RLlib model": (
        "from ray.rllib.models.torch.torch_modelv2 import TorchModelV2",
        "TorchModelV2",
        {"forward": "S", "value_function": "S"},
    ),
    "RLlib module": (
        "from ray.rllib.core.rl_module.torch import TorchRLModule",
        "TorchRLModule",
        {"_forward_train": "S", "setup": "O"},
    ),
    "RLlib policy": ("from ray.rllib.policy.torch_policy_v2 import TorchPolicyV2", "TorchPolicyV2", {"loss": "U"}),
    "RLlib learner": (
        "from ray.rllib.core.learner.torch.torch_learner import TorchLearner",
        "TorchLearner",
        {"compute_loss_for_module": "U"},
    ),
    "skrl agent": (
        "from skrl.agents.torch import Agent",
        "Agent",
        {"act": "S", "_update": "E", "record_transition": "S"},
    ),
    "skrl model": ("from skrl.models.torch import GaussianMixin", "GaussianMixin", {"compute": "S"}),
    "Acme": ("from acme import core", "core.Actor", {"select_action": "S", "observe": "S", "observe_first": "E"}),
    "PFRL": ("from pfrl.agent import BatchAgent", "BatchAgent", {"batch_act": "S", "batch_observe": "S"}),
    "PFRL agent": (
        "import pfrl",
        "pfrl.agents.PPO",
        {"_update_if_dataset_is_ready": "E", "_update_once_recurrent": "U", "get_statistics": "O"},
    ),
    "PyTorch optimizer": ("import torch", "torch.optim.Optimizer", {"step": "U"}),
    "someone's Agent": ("from mylib import Agent", "Agent", {"act": "O"}),
    "someone's Wrapper": ("from mylib import Wrapper", "Wrapper", {"step": "O"}),
}


@pytest.mark.parametrize(("line", "base", "methods"), CLASSES.values(), ids=CLASSES)
def test_methods_that_frameworks_call(line: str, base: str, methods: dict[str, str]) -> None:
    bodies = "".join(f"    def {name}(self, x):\n        return g(x)  # {name}.\n" for name in methods)
    text = f"import torch\n{line}\nclass Mine({base}):\n{bodies}"
    found = frequencies({"code.py": text})
    assert found == {f"{name}.": FREQUENCIES[letter] for name, letter in methods.items()}


@pytest.mark.parametrize(
    "call",
    [
        "from torchrl.collectors import SyncDataCollector\nSyncDataCollector(make, policy=act)",
        "from torchrl.collectors import SyncDataCollector\nSyncDataCollector(make, act)",
        "from gymnasium.wrappers import TransformObservation\nTransformObservation(e, act)",
        "from stable_baselines3 import PPO\nPPO('a', 'b').learn(9, callback=act)",
    ],
)
def test_functions_given_to_frameworks_run_each_step(call: str) -> None:
    assert frequencies(f"def act(x):\n    return g(x)  # A\n{call}\n") == {"A": Frequency.STEP}


def test_what_runs_for_each_micro_batch_says_so() -> None:
    methods = {"compute_loss": "A", "prediction_step": "B"}
    bodies = "".join(f"    def {name}(self, x):\n        return g(x)  # {mark}\n" for name, mark in methods.items())
    text = f"from transformers import Trainer\nclass Mine(Trainer):\n{bodies}"
    code = Code(text)
    place = code.function("code.Mine.compute_loss").returns[0]
    hot = code.analyses[Heat].at(code.file(), place)
    assert hot.describe() == "once per micro-batch (code.py:3 Mine.compute_loss)"
    assert code.frequency("# A") is Frequency.UPDATE
    assert code.frequency("# B") is Frequency.EPISODE


@pytest.mark.parametrize(
    "given",
    [
        "class Mine(Trainer):\n    def __init__(self):\n        self.compute_loss_func = loss",
        "Trainer(model, compute_loss_func=loss)",
        "class Mine(Trainer):\n    def __init__(self):\n        self.compute_loss_func = partial(loss, low=1)",
    ],
)
def test_a_loss_function_that_a_trainer_holds_runs_for_each_batch(given: str) -> None:
    head = "from functools import partial\nfrom transformers import Trainer\n"
    text = f"{head}def loss(x, low=0):\n    return g(x)  # A\n{given}\n"
    assert frequencies(text) == {"A": Frequency.UPDATE}


def test_a_collate_function_runs_for_each_batch() -> None:
    text = (
        "from torch.utils.data import DataLoader\ndef join(x):\n    return g(x)  # A\nDataLoader(d, collate_fn=join)\n"
    )
    assert frequencies(text) == {"A": Frequency.UPDATE}


def test_a_name_alone_means_a_framework_only_where_no_other_project_has_it() -> None:
    assert protocols.entry_points("somewhere.BaseFeaturesExtractor")["forward"].framework == "Stable-Baselines3"
    assert protocols.entry_points("somewhere.Agent") == {}
    assert protocols.entry_points("BaseFeaturesExtractor") == {}


def test_modules_of_frameworks() -> None:
    assert is_external_module("stable_baselines3.common.policies.BasePolicy")
    assert is_external_module("torchrl.objectives.SACLoss")
    assert is_external_module("torch.nn.modules.loss._Loss")
    assert is_external_module("transformers.models.bert.modeling_bert.BertLayer")
    assert is_external_module("transformers.modeling_bert.BertSelfAttention")
    assert is_external_module("transformers.pytorch_transformers.modeling_bert.BertEncoder")
    assert not is_external_module("transformers.modeling_outputs.ModelOutput")
    assert not is_external_module("transformers.modeling_bert.BertConfig")
    assert not is_external_module("torch.nn.modules.utils._pair")
    assert not is_external_module("pydantic.BaseModel")
    assert not is_external_module("stable_baselines3.common.callbacks.BaseCallback")


PIECES = ["", "a", "Env", "Vec", "agents.", "agents.torch.", "Wrapper", "PPO", "Policy", "rllib.models.torch."]


def patterns():
    """All patterns of the table."""
    for protocol in table.frameworks():
        yield from (pattern for role in protocol["roles"] for pattern in role["classes"])
        yield from (pattern for entry in protocol.get("given", ()) for pattern in entry["calls"])


def test_each_row_has_known_keys() -> None:
    """A key with a slip of the pen would say nothing."""
    for protocol in table.frameworks():
        assert protocol.keys() <= table.Protocol.__annotations__.keys()
        for role in protocol["roles"]:
            assert role.keys() <= table.Role.__annotations__.keys()
            assert role.get("held", {}).keys() <= table.HeldFunctions.__annotations__.keys()
        for entry in protocol.get("given", ()):
            assert entry.keys() <= table.Given.__annotations__.keys()


@pytest.mark.once
@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
def test_each_class_and_method_is_in_the_installed_framework() -> None:
    """A method that no base has, such as ``__getitems__``, has a name of Python's."""
    missing, read = [], 0
    for protocol in table.frameworks():
        for role in protocol["roles"]:
            methods = [name for often in table.RATES for name in role.get(often, ()) if not name.startswith("__")]
            for cls in (f"{module}.{name}" for module in protocol["modules"] for name in role["classes"]):
                found = [] if "*" in cls else [exists(cls, method) for method in methods]
                missing += [cls] if False in found else []
                read += len(found) - found.count(None)
    assert missing == []
    assert read > 10


@pytest.mark.parametrize("pattern", [*sorted(set(patterns())), "", "*", "**", "a*a", "*a*", "*Env*Vec*", "Vec*Vec*"])
def test_patterns_mean_what_they_mean_to_a_shell(pattern):
    assert not set("?[]") & set(pattern)
    bare = pattern.replace("*", "")
    names = {one + other + third for one in [*PIECES, bare] for other in [*PIECES, bare] for third in PIECES}
    for name in names:
        assert table._matches(name, pattern) == fnmatchcase(name, pattern), name
