"""Mistakes in mechanisms that follow values, calls and hotness, each with a test that notices it.

``make mutants ARGS=--by-hand`` puts them in, one at a time, and runs the test. Where random mutants tell how much the
tests notice in general, these tell that they notice what a change of such a mechanism is likely to get wrong.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class HandMutant:
    """One changed place.

    Attributes:
        mistake: what becomes wrong, in words. path: the file.
        old: a part of one row that stands once in the file. new: what takes its place.
        test: the test that fails then, as pytest names it below ``tests``, with all its cases.
    """

    mistake: str
    path: str
    old: str
    new: str
    test: str

    @property
    def name(self) -> str:
        """The file, and what becomes wrong in it."""
        return f"{self.path}: {self.mistake}"

    @property
    def text(self) -> str:
        """The file as it is."""
        return (ROOT / self.path).read_text(encoding="utf-8")

    def apply(self) -> None:
        """Put it into the loaded module.

        Raises:
            LookupError: no loaded function has that code.
        """
        put(self.codes(), self.name)

    def codes(self) -> Iterator[CodeType]:
        """The code of the functions that the change makes others of, each with its first row as it was."""
        texts = self.text, self.text.replace(self.old, self.new)
        before, after = (compile(text, str(ROOT / self.path), "exec", dont_inherit=True) for text in texts)
        known = set(within(before))
        for code in within(after):
            if code not in known and code.co_name != "<module>":
                yield code


def within(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that lie in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from within(constant)


def put(codes: Iterable[CodeType], name: str) -> None:
    """Give the loaded functions of some codes, which name their files and first rows, these codes.

    Raises:
        LookupError: no function is loaded.
    """
    wanted = {(code.co_filename, code.co_firstlineno, code.co_name): code for code in codes}
    found = 0
    for each in gc.get_objects():
        if isinstance(each, FunctionType):
            old = each.__code__
            new = wanted.get((old.co_filename, old.co_firstlineno, old.co_name))
            if new is not None:
                each.__code__ = new
                found += 1
    if not found:
        raise LookupError(name)


HAND_MUTANTS = (
    HandMutant(
        "a function whose value is read by another is not asked again",
        "torchlint/facts/code/propagate.py",
        "for each in (node, *self._readers.get(node, ())):",
        "for each in (node,):",
        "test_propagate.py::test_an_edge_is_asked_again_when_what_it_read_elsewhere_changes",
    ),
    HandMutant(
        "a value that comes later takes the place of the one before",
        "torchlint/facts/code/propagate.py",
        "new = value if old is None else join(old, value)",
        "new = value",
        "test_propagate.py::test_no_order_of_nodes_and_edges_changes_the_result",
    ),
    HandMutant(
        "the name of a method alone heats what a certain path enters",
        "torchlint/facts/hotness/spreading.py",
        "return target not in heat.roots.programs and (known is None or known.weak)",
        "return target not in heat.roots.programs",
        "test_hotness.py::test_a_call_by_name_alone_does_not_outdo_a_proven_loop",
    ),
    HandMutant(
        "a generator that a framework calls runs as often as its items are drawn",
        "torchlint/facts/hotness/spreading.py",
        "called = Seed(min(frequency, Frequency.EPISODE)",
        "called = Seed(max(frequency, Frequency.EPISODE)",
        "test_hotness.py::test_entry_points_of_frameworks",
    ),
    HandMutant(
        "a function that sets things up heats what has the name of its method",
        "torchlint/facts/hotness/spreading.py",
        "if edge.weak and (SETS_UP.fits(target.name) or SETS_UP.fits(scope.name)):",
        "if edge.weak and SETS_UP.fits(target.name):",
        "test_hotness.py::test_what_sets_up_heats_nothing_by_a_name_alone",
    ),
    HandMutant(
        "a loss runs in each step, another module in each update",
        "torchlint/facts/hotness/spreading.py",
        "Frequency.UPDATE if loss else Frequency.STEP)",
        "Frequency.STEP if loss else Frequency.UPDATE)",
        "test_hotness.py::test_a_function_that_nobody_calls_is_cold_in_an_application_and_hot_where_a_library_exports_it",
    ),
    HandMutant(
        "a list under a key counts although its dict gets another list before the loop",
        "torchlint/facts/hotness/collected.py",
        "replaced = any(_starts(node) <= _ends(loop) for node",
        "replaced = any(_starts(node) > _ends(loop) for node",
        "test_hotness.py::test_a_list_under_a_key_of_a_dict_is_collected_too",
    ),
    HandMutant(
        "a list counts that some rounds leave as it is",
        "torchlint/facts/hotness/collected.py",
        "_comes_to(stmt.body, wanted) and _comes_to(stmt.orelse, wanted)",
        "(_comes_to(stmt.body, wanted) or _comes_to(stmt.orelse, wanted))",
        "test_hotness.py::test_a_loop_over_what_a_loop_collects_has_as_many_rounds",
    ),
    HandMutant(
        "a loop over the end of a list counts as one over all of it",
        "torchlint/facts/hotness/collected.py",
        "slice=ast.Slice(lower=None, upper=None)",
        "slice=ast.Slice(upper=None)",
        "test_hotness.py::test_a_loop_over_what_a_loop_collects_has_as_many_rounds",
    ),
    HandMutant(
        "a list counts that holds something before the loop",
        "torchlint/facts/hotness/collected.py",
        "at.value == key and _is_empty(value)",
        "at.value == key",
        "test_hotness.py::test_a_list_under_a_key_of_a_dict_is_collected_too",
    ),
    HandMutant(
        "a list counts that begins again in each round",
        "torchlint/facts/hotness/collected.py",
        "loop not in around(scope, found[0].stmt)",
        "True",
        "test_hotness.py::test_a_loop_over_what_a_loop_collects_has_as_many_rounds",
    ),
    HandMutant(
        "a decorator that gives something else back on one way is a registry",
        "torchlint/facts/code/registering.py",
        "return bool(given) and all(isinstance(node",
        "return bool(given) and any(isinstance(node",
        "test_indirect.py::test_what_runs_a_function",
    ),
    HandMutant(
        "a decorator that is called counts as one that is not",
        "torchlint/facts/code/registering.py",
        "if each.configured is (maker is not decorator):",
        "if each.configured is (maker is decorator):",
        "test_indirect.py::test_what_runs_a_function",
    ),
    HandMutant(
        "a wrapper that a registry keeps counts as lost",
        "torchlint/facts/code/registering.py",
        "return any(node.id in wrappers for node in kept)",
        "return False",
        "test_indirect.py::test_what_runs_a_function",
    ),
    HandMutant(
        "a method of the project that is called remote relays",
        "torchlint/facts/code/relaying.py",
        "or project.methods.get(func.attr):",
        "or False:",
        "test_trainers.py::test_a_relayed_call_makes_the_actor_and_a_method_of_that_name_relays_nothing",
    ),
    HandMutant(
        "settings of a remote call are taken for what it runs",
        "torchlint/facts/code/relaying.py",
        "return receiver_of(func.value, _CONFIGURES)",
        "return func.value",
        "test_trainers.py::test_a_relayed_call_makes_the_actor_and_a_method_of_that_name_relays_nothing",
    ),
    HandMutant(
        "each round of a loop that calls one process runs in a process of its own",
        "torchlint/facts/code/relaying.py",
        "return any(isinstance(part, ast.Name) and part.id in names for",
        "return any(isinstance(part, ast.Name) for",
        "test_trainers.py::test_each_actor_of_a_fan_out_runs_once_a_round",
    ),
    HandMutant(
        "a record is kept as tensors although it is read as often as it grows",
        "rules/tl2_sync/_recording.py",
        ">= least for node in reads",
        "> least for node in reads",
        "test_recording.py::test_records_stay_as_they_are_where_not_all_of_them_is_seen",
    ),
    HandMutant(
        "a record is kept as tensors although a text names it",
        "rules/tl2_sync/_recording.py",
        "or self._is_named(name):",
        "or False:",
        "test_recording.py::test_records_stay_as_they_are_where_not_all_of_them_is_seen",
    ),
    HandMutant(
        "a record is kept as tensors that has another name, too",
        "rules/tl2_sync/_recording.py",
        "or any(_several(stmt) for stmt in made)",
        "or False",
        "test_recording.py::test_records_stay_as_they_are_where_not_all_of_them_is_seen",
    ),
    HandMutant(
        "a record is kept as tensors although another object may be of its class",
        "rules/tl2_sync/_recording.py",
        "any(cls is None or self._share(cls, classes) for cls in known)",
        "any(cls is None for cls in known)",
        "test_recording.py::test_records_stay_as_they_are_where_not_all_of_them_is_seen",
    ),
    HandMutant(
        "a record may be changed by what its name alone finds",
        "rules/tl2_sync/_recording.py",
        "return call not in self.graph.weak and all(",
        "return all(",
        "test_recording.py::test_records_stay_as_they_are_where_not_all_of_them_is_seen",
    ),
    HandMutant(
        "a record may begin with a list of something",
        "rules/tl2_sync/_recording.py",
        "return not value.elts and not bounded",
        "return not bounded",
        "test_recording.py::test_a_list_is_a_record_where_it_is_made_again_and_begins_empty",
    ),
    HandMutant(
        "complex numbers of connected files are overlooked",
        "rules/tl2_sync/_real_numbers.py",
        "source.utf8 for path in group)",
        "source.utf8 for path in (scope.file.path,))",
        "test_connected.py::test_numbers_are_real_where_no_connected_file_makes_complex_ones",
    ),
    HandMutant(
        "complex numbers of programs that use a library are overlooked",
        "rules/tl2_sync/_real_numbers.py",
        "and not of_library(self.project, scope)",
        "and True",
        "test_connected.py::test_numbers_of_a_library_may_be_complex",
    ),
    HandMutant(
        "devices that a connected file enters are overlooked",
        "rules/tl1_transfer/_defaults.py",
        "group = self.graph.groups[scope.file.path]",
        "group = frozenset({scope.file.path})",
        "test_connected.py::test_new_tensors_are_on_the_cpu_where_no_connected_file_enters_a_device",
    ),
    HandMutant(
        "defaults that programs of a library set are overlooked",
        "rules/tl1_transfer/_defaults.py",
        "return self.unset() and not of_library(self.project, scope)",
        "return self.unset()",
        "test_connected.py::test_programs_of_a_library_may_set_the_default_dtype",
    ),
    HandMutant(
        "a remainder of the number of a process is an interval",
        "torchlint/facts/hotness/intervals.py",
        "and not _is_process(part.left)",
        "and True",
        "test_hotness.py::test_a_remainder_of_the_number_of_a_process_is_no_interval",
    ),
    HandMutant(
        "eval of a text means any class that takes the call",
        "torchlint/facts/code/dynamic.py",
        'if not wanted or name.rpartition(".")[2] in wanted]',
        "if True]",
        "test_hotness.py::test_a_class_that_is_found_by_its_name_is_one_that_the_file_knows_and_that_takes_the_call",
    ),
    HandMutant(
        "the beginning of a name finds no method",
        "torchlint/facts/code/dynamic.py",
        "texts = found.texts or _fitting(ask, source, found)",
        "texts = found.texts",
        "test_indirect.py::test_what_runs_a_function",
    ),
    HandMutant(
        "a branch of a worker is another command although no text was received",
        "torchlint/facts/hotness/roots.py",
        "isinstance(func, ast.Attribute) and func.attr in _RECEIVES for func",
        "isinstance(func, ast.Attribute) for func",
        "test_hotness.py::test_loops",
    ),
    HandMutant(
        "a round of a loop begins with all that its body binds",
        "torchlint/facts/code/reach.py",
        "found.extend(self.round_ends(parent))",
        "found.extend(self.anywhere(parent.body))",
        "test_reach.py::test_reaching",
    ),
    HandMutant(
        "of what an unknown call prepares nothing is known",
        "torchlint/facts/values/calls.py",
        "if result == UNKNOWN and name not in project.classes:",
        "if result != UNKNOWN and name not in project.classes:",
        "test_values.py::test_what_is_given_back_wrapped_or_as_it_came_is_what_was_given",
    ),
)
