"""TL901: an environment variable is set after torch has read it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint import cst
from torchlint.rule import Example, Frequency, Input, Kind, Level, Report, Rule, Site
from torchlint.rule.environ import SETTING, Setting, settings_at

from ._importing import cuda_before, threads_set_before, torch_before

_THREADS = re.compile(r"(OMP|MKL)_(NUM_THREADS|DYNAMIC|PROC_BIND|PLACES|WAIT_POLICY)$|KMP_(?!DUPLICATE_LIB_OK$)\w+$")
_ALLOCATOR = frozenset({"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"})
# Processes that are started get the new environment; which of them load torch again is not known.
_CHILDREN = ("Process", "ProcessPool", "subprocess", "spawn", "ray.init", "Popen", "os.system", "os.popen", "os.exec")

_SOURCE = """\
import os

import torch

os.environ["OMP_NUM_THREADS"] = "1"


class Learner:
    def __init__(self):
        self.net = torch.nn.Linear(17, 6)

    def update(self, obs):
        return self.net(obs).square().mean()
"""


class EnvVarAfterImport(Rule):
    """An environment variable is set after torch has read it.

    ## What it does
    Finds `OMP_NUM_THREADS`, `MKL_NUM_THREADS`, `KMP_*` and their relatives set in code that runs after torch was
    imported, by the same file or by all files that import it. Of `PYTORCH_CUDA_ALLOC_CONF` it finds `backend:` set
    after the import, and everything else set after a call that starts CUDA.

    ## Why is this slow
    The OpenMP runtime reads its variables when torch loads it. Set later they change nothing: many threads go on
    competing for the cores although the code says one.

    ## Example
    ```python
    import torch
    os.environ["OMP_NUM_THREADS"] = "1"
    ```

    ## Use instead
    ```python
    import torch
    torch.set_num_threads(1)
    ```

    ## What the fix may change
    There is no automatic fix. A limit that takes effect changes how sums are split, and with it rounding.

    ## When to ignore it
    Where the variable is meant for processes that are started later. Files that start some are left alone, and so are a
    number of threads that the same function has given to `torch.set_num_threads` before, and a variable that the
    importing file sets before it imports torch.

    ## Measured
    After `import torch` the number of threads stays what it was; before it, also after NumPy, it follows the variable.
    What that costs depends on what else runs on the machine. The suite runs on one thread, where it costs nothing, so
    this is a note.

    ## References
    - PyTorch documentation, "CPU threading and TorchScript inference", and "CUDA semantics: memory management".
    """

    code = "TL901"
    name = "env-var-after-import"
    summary = "an environment variable is set after torch has read it"
    level = Level.NOTE
    kept = "The suite runs on one thread, where it costs nothing, so this is a note"
    trigger = SETTING
    least = Frequency.ONCE
    gate = ("torch",)
    examples = (
        Example(
            name="threads-after-torch",
            source=_SOURCE,
            fixed=_SOURCE.replace(
                """\
import os

import torch

os.environ["OMP_NUM_THREADS"] = "1"
""",
                """\
import torch

torch.set_num_threads(1)
""",
            ),
            setup="torch.manual_seed(0)\nlearner = Learner()",
            workload="learner.update(obs)",
            inputs=(Input("obs", Kind.TENSOR, (256, 17)),),
            by_hand=True,
        ),
    )

    def check(self, site: Site) -> Iterator[Report]:
        """Report a variable that torch has read by the time it is set."""
        for setting in settings_at(site):
            threads = sorted(name for name in setting.names if _THREADS.match(name))
            if threads:
                yield from _after_import(site, setting, threads[0])
            elif setting.names & _ALLOCATOR:
                yield from _allocator(site, setting)


def _after_import(site: Site, setting: Setting, name: str) -> Iterator[Report]:
    place = torch_before(site, name)
    if "NUM_THREADS" in name and threads_set_before(site):
        return
    if place and not any(site.names.in_file(word) for word in _CHILDREN):
        text = f"`{name}` has no effect here: torch was imported before ({place}) and has read it; "
        advice = "set it before the import" + (", or call torch.set_num_threads" if "NUM_THREADS" in name else "")
        yield Report(setting.node, text + advice)


def _allocator(site: Site, setting: Setting) -> Iterator[Report]:
    name = min(setting.names & _ALLOCATOR)
    backend = isinstance(setting.value, cst.SimpleString) and "backend:" in setting.value.value
    place = torch_before(site, name) if backend else ""
    row = cuda_before(site)
    if place:
        yield Report(setting.node, f"the allocator's backend is chosen before this; set it before the import ({place})")
    elif row:
        yield Report(setting.node, f"`{name}` is set after CUDA was started (row {row}); set it before the first use")
