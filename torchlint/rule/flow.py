"""What becomes of a value, and what is known of a network."""

from __future__ import annotations

import enum

from torchlint.late import dataclass


class Use(enum.Enum):
    """An end that a value comes to, followed through names, arithmetic, containers, calls, returns and attributes.

    A value whose every use is known has none of ``STORED``, ``COLLECTED``,
    ``REPORTED``, ``RETURNED`` and ``PASSED``.
    """

    LOGGED = "printed, formatted, or handed to a logger or a writer"
    CONDITION = "decides a branch, in code that runs at least once per update"
    INDEX = "an index or a key"
    SIZE = "a size, a shape, a range or a count"
    ENVIRONMENT = "handed to an environment"
    TENSOR = "goes into tensor arithmetic, or into a new tensor"
    HOST = "computed with on the host: NumPy, sorting, a tree of priorities"
    READ = "a tensor is read back: item(), numpy(), tolist(), int()"
    DETACHED = "its graph ends: detach(), data, argmax(), a comparison, an operation without autograd"
    BACKWARD = "backward() runs through it, or autograd.grad"
    STORED = "kept on an object or in a global, and nothing says who reads it"
    COLLECTED = "put into a container that is not followed"
    REPORTED = "in a record (a dict, at any depth) that code which updates a network returns or sends to unknown code"
    RETURNED = "returned to callers that are not all known"
    PASSED = "handed to code that is not known"


EVERY_USE = frozenset(Use)
"""All ends that there are."""


@dataclass(frozen=True, slots=True)
class Network:
    """What is known of a module.

    Attributes:
        trained: whether an optimizer moves its parameters; ``None``: not known.
        frozen: whether its parameters are proven not to ask for gradients (``requires_grad_(False)``).
        target: whether it is a copy of another network, brought up to date by copying parameters.
        parts: qualified names of all library modules it is made of, at any depth; ``None``: some part is not known.
    """

    trained: bool | None = None
    frozen: bool = False
    target: bool = False
    parts: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A call that runs a network with parameters: a module, a method of one, or a function that gives its tensors.

    Attributes:
        returned: whether the function that holds the call hands the graph of the result on to its callers.
        keeps: whether what it runs may keep a tensor somewhere, so that more than the result comes of it.
        stores: whether code that is seen there stores a tensor; unknown code counts as code that stores none.
        differentiates: whether what it runs may itself run ``backward`` or switch autograd on.
        apart: whether one of its arguments is part of the graph of another network that is trained by another
            optimizer, and only that optimizer applies the gradients.
    """

    returned: bool = False
    keeps: bool = False
    stores: bool = False
    differentiates: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Average:
    """Parameters of one network that are brought nearer to those of another by hand.

    Attributes:
        whole: a state dict is built and loaded, rather than each parameter written.
        apart: both are ``parameters()`` of modules that are proven to share none, and to have one dtype.
        learned: what is written are ``parameters()`` of a module, which hold floating-point numbers.
    """

    whole: bool = False
    apart: bool = False
    learned: bool = False
