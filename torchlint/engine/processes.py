"""Linting in several processes: the work is shared out, and each does its part with a copy of what is known so far.

What is found, and in which order, does not depend on how many there are.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO

from torchlint.engine.codec import from_row, to_row
from torchlint.engine.result import Problem
from torchlint.engine.units import Unit
from torchlint.late import dataclass
from torchlint.rule import Finding

# Bytes of source for each process: with less, a second one costs a fifth more and ends hardly earlier.
_ENOUGH = 500_000
_FAILED = b"! "
# SIGHUP, SIGINT and SIGTERM, which have these numbers on every system that can fork.
_ENDING = (1, 2, 15)


@dataclass(frozen=True, slots=True)
class Done:
    """The findings of a file, or what went wrong with it; and how many statements no rule saw."""

    unit: int
    name: str
    findings: Sequence[Finding] = ()
    problems: Sequence[Problem] = ()
    unpaired: int = 0


_Job = tuple[int, str]


def lint_all(units: Sequence[Unit], jobs: int | None) -> Iterator[Done]:
    """Lint the targets of all units, with at most ``jobs`` processes, ``None`` for an automatic number."""
    count = _processes(units, jobs)
    if count == 1:
        yield from _work(units, [(number, name) for number, unit in enumerate(units) for name in unit.targets])
        return
    yield from _Crew(units, count).work()


def _processes(units: Sequence[Unit], jobs: int | None) -> int:
    """How many processes to work with."""
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return 1
    targets = sum(len(unit.targets) for unit in units)
    if jobs is not None:
        return max(1, min(jobs, targets))
    size = sum(unit.size for unit in units)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, targets, size // _ENOUGH))


def _work(units: Sequence[Unit], share: Sequence[_Job]) -> Iterator[Done]:
    """Do a share; each unit is forgotten after its last job."""
    left = Counter(number for number, _ in share)
    for job in share:
        yield _lint(units, job)
        left[job[0]] -= 1
        if not left[job[0]]:
            units[job[0]].forget()


def _lint(units: Sequence[Unit], job: _Job) -> Done:
    number, name = job
    unit = units[number]
    linter = unit.targets[name].scope.linter
    findings = unit.lint(name)
    problems = [*unit.problems, *linter.problems]
    unpaired = linter.unpaired
    unit.problems.clear()
    linter.problems.clear()
    linter.unpaired = 0
    return Done(number, name, findings, problems, unpaired)


class _Crew:
    """This process and its children, each with its share of the work."""

    def __init__(self, units: Sequence[Unit], count: int) -> None:
        self.units = units
        self.shares = _shares(units, count)
        self.bond = _Bond()

    def work(self) -> Iterator[Done]:
        """Yield all findings, in no order."""
        total = sum(unit.size for unit in self.units)
        for unit in self.units:
            if unit.size * len(self.shares) > total:
                unit.analyses()  # of a large unit everyone has a part, so it is linked once, before they part
        own, *others = self.shares
        children: list[_Child] = []
        try:
            self._start(others, children)
            yield from _work(self.units, own)
            while children:
                yield from children[0].results()
                left = children.pop(0)
                yield from self._rest(left, children)
        finally:
            with _undisturbed():
                for child in children:
                    child.stop()
                self.bond.close()

    def _start(self, shares: Sequence[Sequence[_Job]], children: list[_Child]) -> None:
        """Start children; no interrupt comes before each of them is known."""
        with _undisturbed():
            for share in shares:
                children.append(_Child.start(self.units, share, self.bond))

    def _rest(self, child: _Child, children: list[_Child]) -> Iterator[Done]:
        """Blame what a child broke off at, and have another do what comes after it."""
        if left := child.left():
            number, name = left[0]
            problem = Problem(name, f"the process that linted it {child.end}", internal=True)
            yield Done(number, name, problems=[problem])
            if left[1:]:
                self._start([left[1:]], children)


def _shares(units: Sequence[Unit], count: int) -> list[list[_Job]]:
    """Jobs for each process, about as much work for each: small units whole, large ones file by file."""
    total = sum(unit.size for unit in units)
    lots: list[tuple[int, list[_Job]]] = []
    for number, unit in enumerate(units):
        jobs = [(number, name) for name in unit.targets]
        if unit.size * count > total:
            lots += [(len(unit.targets[name].source.utf8), [(number, name)]) for _, name in jobs]
        elif jobs:
            lots.append((unit.size, jobs))
    shares: list[list[_Job]] = [[] for _ in range(count)]
    loads = [0] * count
    for size, jobs in sorted(lots, key=lambda lot: (-lot[0], lot[1])):
        least = loads.index(min(loads))
        shares[least] += jobs
        loads[least] += size
    return [share for share in shares if share] or [[]]


@dataclass(eq=False, slots=True)
class _Child:
    """A forked process, its share, and where it writes what it found: a line for each job, so that none waits."""

    pid: int
    written: BinaryIO
    share: Sequence[_Job]
    done: int = 0
    end: str = ""

    @classmethod
    def start(cls, units: Sequence[Unit], share: Sequence[_Job], bond: _Bond) -> _Child:
        written = _memory_file()
        with bond.tie() as tied:
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    with _Last(written):
                        bond.hold(tied)
                        code = _serve(units, share, written)
                finally:
                    os._exit(code)  # nothing of the parent is to be cleaned up twice
        return cls(pid, written, share)

    def results(self) -> Iterator[Done]:
        """Yield the results of the child once it has ended."""
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        code = os.waitstatus_to_exitcode(status)
        self.end = f"ended with signal {-code}" if code < 0 else f"ended with status {code}"
        with self.written as stream:
            stream.seek(0)
            for line in stream:
                if line.startswith(_FAILED):
                    self.end = f"failed: {line[len(_FAILED) :].decode().strip()}"
                elif line.endswith(b"\n"):
                    number, name = self.share[self.done]
                    self.done += 1
                    yield _read(line, number, name)

    def left(self) -> Sequence[_Job]:
        """Return the jobs that the child did not do."""
        return self.share[self.done :]

    def stop(self) -> None:
        """End the child if it has not ended."""
        if self.pid:
            import signal

            with suppress(ProcessLookupError, ChildProcessError):  # an interrupt may have come when it was waited for
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)


class _Bond:
    """What ends the children with this process, however it ends: for each a pipe that the parent holds open."""

    def __init__(self) -> None:
        self._parent = os.getpid()
        self._held: list[int] = []

    @contextmanager
    def tie(self) -> Iterator[int]:
        """Yield the reading end of a new pipe for the child that is started meanwhile."""
        read, write = os.pipe()
        self._held.append(write)
        try:
            yield read
        finally:
            os.close(read)

    def hold(self, tied: int) -> None:
        """Tie this child to its parent: end when the parent ends, and ignore interrupts."""
        import fcntl
        import signal

        self.close()
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
        # The signal that says that a pipe was closed ends a process.
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(tied, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(tied, fcntl.F_SETFL, fcntl.fcntl(tied, fcntl.F_GETFL) | os.O_ASYNC)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        if os.getppid() != self._parent:  # it ended before
            os._exit(1)

    def close(self) -> None:
        """Close all pipes."""
        while self._held:
            os.close(self._held.pop())


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let signals that end the process come later, so that nothing is left half done."""
    import signal

    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _memory_file() -> BinaryIO:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("torchlint"), "w+b")
    import tempfile

    return os.fdopen(os.dup(tempfile.TemporaryFile().fileno()), "w+b")


class _Last:
    """Writes down the exception that ends a child."""

    def __init__(self, written: BinaryIO) -> None:
        self._written = written

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            told = " ".join(f"{type(error).__name__}: {error}".split())
            self._written.write(_FAILED + told.encode("utf-8", "backslashreplace") + b"\n")
            self._written.flush()


def _serve(units: Sequence[Unit], share: Sequence[_Job], written: BinaryIO) -> int:
    """Do a share in a child, and write it down for the parent."""
    for done in _work(units, share):
        told = [
            [to_row(finding) for finding in done.findings],
            [[each.path, each.message, each.internal, each.code, each.trace] for each in done.problems],
            done.unpaired,
        ]
        written.write(json.dumps(told, separators=(",", ":")).encode() + b"\n")
        written.flush()
    return 0


def _read(line: bytes, number: int, name: str) -> Done:
    rows, problems, unpaired = json.loads(line)
    told = [Problem(path, message, internal, code, trace=trace) for path, message, internal, code, trace in problems]
    return Done(number, name, [from_row(row) for row in rows], told, unpaired)
