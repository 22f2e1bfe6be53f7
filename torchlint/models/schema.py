"""The attributes that a row about a library may have, and the check of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from torchlint.late import dataclass

SECTIONS = ("functions", "methods")
"""The sections of rows that anyone can add; in the table of libraries ``operations`` are both at once."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a row: what it says, and its values; without values it is ``true``, an integer, or a text."""

    says: str
    values: tuple[str, ...] = ()
    kind: type = str


ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {
        "about": Attribute("tells of a tensor or an object without reading its elements", kind=bool),
        "accelerators": Attribute(
            "the argument that says how many accelerators the process has in which it runs; without it, none",
            ("num_gpus",),
        ),
        "adds": Attribute(
            "puts an argument into the receiver: as one element, all that is in it, as a part of a module, or as one "
            "of its tensors",
            ("element", "elements", "module", "tensor"),
        ),
        "array": Attribute("always returns an array, never a number", kind=bool),
        "at": Attribute("the position of the argument that it adds, 0 where not given", kind=int),
        "autograd": Attribute(
            "adds up gradients (``backward``) or returns them, hooks into their computation, makes a leaf record "
            "(``leaf``), switches recording on (``records``), off (``pauses``) or as its argument says (``sets``)",
            ("backward", "gradient", "hooks", "leaf", "pauses", "records", "sets"),
        ),
        "axis": Attribute(
            "the axis along which it joins: a new one, one that is given, or a fixed one", ("fixed", "given", "new")
        ),
        "caches": Attribute("keeps the result of the function that it decorates", kind=bool),
        "called": Attribute(
            "a framework calls this method of all that derives from its class: in a forward pass, once per step of an "
            "environment, per gradient update, per batch, per episode, or in an evaluation",
            ("batch", "episode", "evaluation", "forward", "step", "update"),
        ),
        "casts": Attribute(
            "the dtype of what it returns",
            ("bfloat16", "bool", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint8"),
        ),
        "clock": Attribute(
            "reads a clock: of the wall, of the time spent on the CPU, of the date, or of a device; or makes the "
            "context manager of a ``block`` that reads the clock before and behind it",
            ("block", "cpu", "date", "device", "wall"),
        ),
        "compares": Attribute("compares the elements", kind=bool),
        "constant": Attribute("a constant that is not a finite number", ("infinity", "nan")),
        "decorates": Attribute("makes a property of the function that it decorates", ("property",)),
        "draws": Attribute("draws at random: a real number, an integer, or items", ("integer", "items", "number")),
        "dtype": Attribute("a dtype, of what numbers", ("floating", "integer", "truth")),
        "elements": Attribute(
            "the elements of what it returns: all of what it is given in another form, some, repeated ones, pairs, or "
            "what a function makes of each",
            ("all", "made", "pairs", "repeated", "some"),
        ),
        "elsewhere": Attribute("objects of other kinds have other methods of that name", kind=bool),
        "environment": Attribute(
            "acts on an environment, takes its answer, or begins an episode", ("acts", "answers", "begins")
        ),
        "exchanges": Attribute(
            "sends objects of Python to other processes, or gets theirs; or returns its argument, computed over all "
            "processes",
            ("objects", "values"),
        ),
        "files": Attribute("writes its argument, as data, to a file", kind=bool),
        "fills": Attribute("gives an object of the class that is its first argument, filled with settings", kind=bool),
        "finds": Attribute("returns the places at which a condition holds", kind=bool),
        "folds": Attribute("computes one number of what it is given", kind=bool),
        "fused": Attribute("has a fused form", kind=bool),
        "gives": Attribute("gives the parts of a module", ("modules", "parameters", "state")),
        "graph": Attribute(
            "no autograd graph leads from what it returns to what it is given; or it says whether there is a graph",
            ("ends", "told"),
        ),
        "hands": Attribute("gives its first argument, or what that is a handle of", kind=bool),
        "declares": Attribute("gives its second argument, and the first one says its type", kind=bool),
        "holds": Attribute("a container of modules, or a layer without parameters", ("modules", "nothing")),
        "indices": Attribute("with an axis it returns values and their indices", kind=bool),
        "integral": Attribute("returns integers or truth values", kind=bool),
        "joins": Attribute(
            "makes one tensor or array of many: of parts in a sequence, of the elements of a list, or of two arguments",
            ("elements", "parts", "two"),
        ),
        "keeps": Attribute("keeps the dtype of what it is given", ("dtype",)),
        "kernel": Attribute("compiles the function that it decorates to a kernel of the device", kind=bool),
        "layer": Attribute("a layer that takes tensors alone and gives one of at least one dimension", kind=bool),
        "loads": Attribute("gives batches of data, items of a data set, or tensors", ("batches", "items", "tensors")),
        "logs": Attribute("writes what it is given into a log", kind=bool),
        "loss": Attribute("computes a loss", kind=bool),
        "makes": Attribute(
            "makes a tensor or array: a copy, filled with a number, of a pattern, of indices, like another one, of "
            "random numbers (``random``: of a size that is given, ``samples``: of parameters), of data, by a legacy "
            "constructor, of an array, or from a file; or a sequence",
            (
                "array",
                "copy",
                "data",
                "file",
                "filled",
                "indices",
                "legacy",
                "like",
                "pattern",
                "random",
                "samples",
                "sequence",
            ),
        ),
        "maps": Attribute(
            "gives a structure like its second argument: of each leaf what the first argument, a function, makes of it",
            ("leaves",),
        ),
        "member": Attribute("is a member of its class, of which nothing more is said", kind=bool),
        "moves": Attribute(
            "moves a tensor to the host, to an accelerator, or to the device that is given", ("device", "given", "host")
        ),
        "names": Attribute(
            "takes a text and gives the module, the class, or an object of the class of that name, or runs the method "
            "of that name",
            ("class", "method", "module", "object"),
        ),
        "norm": Attribute("returns the norm of gradients: a tensor, or of some engines a number", kind=bool),
        "number": Attribute("makes a number of Python", kind=bool),
        "optimizes": Attribute("an optimizer of parameters", kind=bool),
        "parses": Attribute(
            "makes a parser of settings: of options of a command line, or of the fields of classes",
            ("fields", "options"),
        ),
        "profiles": Attribute("profiles a program: by a schedule, or all of it", ("scheduled", "whole")),
        "pure": Attribute("changes nothing and keeps nothing", kind=bool),
        "quiet": Attribute("runs no code but that of the library, and keeps nothing", kind=bool),
        "rank": Attribute("returns as many axes as it is given", ("same",)),
        "receives": Attribute("returns what another thread or process sent", kind=bool),
        "reduces": Attribute("reduces an axis, or all elements, to one number", kind=bool),
        "relays": Attribute("runs what it is given, or is an attribute of, in another process", kind=bool),
        "removed": Attribute("the version of the library that has it no more"),
        "removes": Attribute("takes elements out of the receiver", kind=bool),
        "reorders": Attribute("changes the order or the values of what is in the receiver", kind=bool),
        "restores": Attribute("gives back the object that a file or a text of bytes keeps", kind=bool),
        "returns": Attribute(
            "what it returns: the receiver; of a container an element, its elements (``parts``), its keys or a copy; "
            "a number, a truth value, a list, an array, a tensor",
            ("array", "bool", "copy", "element", "keys", "list", "number", "parts", "receiver", "tensor"),
        ),
        "runs": Attribute("each call is a step of an environment, or a gradient update", ("step", "update")),
        "says": Attribute("writes a message, or one of something wrong", ("alarm", "message")),
        "scales": Attribute("returns its argument times a number", kind=bool),
        "sends": Attribute("hands its argument to another thread or process", kind=bool),
        "shapes": Attribute("changes the sizes of axes, or their order", ("order", "sizes")),
        "shows": Attribute("draws a frame or a picture for people", kind=bool),
        "stops": Attribute("ends the program, with the status that it is given", kind=bool),
        "tests": Attribute("tests for infinities and NaN, or for finite numbers", ("finite", "nonfinite")),
        "text": Attribute("makes a text", kind=bool),
        "value": Attribute("the position of the argument with which it fills a tensor", kind=int),
        "variables": Attribute(
            "the argument that says which variables of the environment the processes have that it starts, or that "
            "holds them under ``env_vars``",
            ("env_vars", "runtime_env"),
        ),
        "waits": Attribute(
            "the host waits for the device: to read elements, to know a shape, or for all that is queued",
            ("queue", "reads", "shape"),
        ),
        "wraps": Attribute("returns its argument in another form, to be called like it", ("function", "module")),
    }
)


class WrongRowError(Exception):
    """A row that cannot be.

    Attributes:
        message: what is wrong with it.
        path: the keys that lead to what is wrong.
    """

    def __init__(self, message: str, *path: str) -> None:
        """Say what is wrong, and where."""
        super().__init__(message)
        self.message = message
        self.path = path


def check_rows(data: object, sections: Sequence[str] = SECTIONS) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    """Check a table of rows: section, owner, name, attribute.

    Raises:
        WrongRowError: a section or an attribute is unknown, or a value is not one of those that the attribute has.
    """
    checked: dict[str, dict[str, dict[str, dict[str, object]]]] = {}
    for section, owners in _table(data).items():
        if section not in sections:
            raise WrongRowError(f"{section!r} is not one of {', '.join(sections)}", section)
        for owner, names in _table(owners, section).items():
            for name, row in _table(names, section, owner).items():
                path = (section, owner, name)
                found = _table(row, *path)
                for attribute, value in found.items():
                    _check(attribute, value, *path, attribute)
                checked.setdefault(section, {}).setdefault(owner, {})[name] = found
    return checked


def _table(value: object, *path: str) -> dict[str, object]:
    if not isinstance(value, dict) or not value:
        raise WrongRowError("expected a table", *path)
    return {str(key): part for key, part in value.items()}


def _check(attribute: str, value: object, *path: str) -> None:
    known = ATTRIBUTES.get(attribute)
    if known is None:
        raise WrongRowError(f"{attribute!r} is not one of {', '.join(sorted(ATTRIBUTES))}", *path)
    if known.values and value not in known.values:
        raise WrongRowError(f"{value!r} is not one of {', '.join(known.values)}", *path)
    if type(value) is not known.kind or value is False:
        expected = {bool: "true", int: "an integer", str: "a string"}[known.kind]
        raise WrongRowError(f"expected {expected}, not {value!r}", *path)
