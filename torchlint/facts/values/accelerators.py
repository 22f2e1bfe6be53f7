"""Whether code may run on an accelerator: by the settings, the project, the function and the branch that hold it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.facts.analyses import Analyses, Fact
from torchlint.facts.code.model import FileFacts
from torchlint.facts.code.project import Project
from torchlint.facts.values.devices import Devices
from torchlint.facts.values.host_only import HostOnly
from torchlint.late import dataclass, regex

_DEVICE = regex(r"(^|_)device$")


@dataclass(eq=False, slots=True)
class Accelerators(Fact):
    """Answers whether code may run on an accelerator; ``setting`` is the device that the user gave."""

    devices: Devices
    host_only: HostOnly
    setting: str

    @classmethod
    def build(cls, analyses: Analyses) -> Accelerators:
        """Build the fact with the device of the settings."""
        return cls(analyses[Devices], analyses[HostOnly], analyses.settings.device)

    def may_run(self, facts: FileFacts, node: ast.AST) -> bool:
        """Return whether the connected files, and the code around a node, may ever leave the CPU."""
        if self.setting != "auto":
            return self.setting == "cuda"
        if self.host_only.is_host_only(facts.scope_of(node).function):
            return False
        return not in_host_branch(self.devices.project, facts, node) and self.devices.may_leave(facts)


def in_host_branch(project: Project, facts: FileFacts, node: ast.AST) -> bool:
    """Return whether a node is in a branch for tensors on the host: ``if not x.is_cuda:``, behind ``else`` too.

    Also behind a name that holds such a test: ``on_gpu = device.type == "cuda"``.
    """
    around = facts.climb(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tests = (led for child, parent in around for led in _led_in(parent, child))
    return any(_says_host(_held(project, facts, test), truth) for test, truth in tests)


def _held(project: Project, facts: FileFacts, test: ast.expr) -> ast.expr:
    """The test that a name holds where it is bound to one, else the expression itself."""
    match test:
        case ast.UnaryOp(op=ast.Not() as op, operand=ast.Name() as name):
            return ast.UnaryOp(op, _held(project, facts, name))
        case ast.Name():
            value = project.reaching(facts, test).value
            return test if value is None else value
    return test


def _led_in(parent: ast.AST, child: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The tests that a part of a node runs behind, each with its truth value then."""
    match parent:
        case ast.If(test=test, body=body) if child is not test:
            yield test, child in body
        case ast.IfExp(test=test, body=body) if child is not test:
            yield test, child is body
        case ast.BoolOp(op=op, values=parts) if isinstance(child, ast.expr):
            yield from ((part, isinstance(op, ast.And)) for part in parts[: parts.index(child)])


def _says_host(test: ast.expr, truth: bool) -> bool:
    """Whether a tensor lies on the host where a test is true, or false."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _says_host(operand, not truth)
        case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.And) is truth:
            return any(_says_host(part, truth) for part in parts)
        case ast.Attribute(attr="is_cuda"):
            return not truth
        case ast.Attribute(attr="is_cpu"):
            return truth
        case ast.Compare(
            left=ast.Attribute(value=ast.Attribute(attr=device) | ast.Name(id=device), attr="type"),
            ops=[ast.Eq() | ast.NotEq() as op],
            comparators=[ast.Constant(value=("cpu" | "cuda") as name)],
        ):
            return bool(_DEVICE.search(device)) and (isinstance(op, ast.Eq) is truth) is (name == "cpu")
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="str"), args=[ast.Attribute(attr="device")]),
            ops=[ast.Eq() | ast.NotEq() as op],
            comparators=[ast.Constant(value="cpu")],
        ):
            return isinstance(op, ast.Eq) is truth
    return False
