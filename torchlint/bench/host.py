"""The machine as the standard library knows it. Needs neither torch nor numpy."""

from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """Return the processor's name, if the system reports one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
