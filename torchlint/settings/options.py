"""Every option of ``torchlint check`` and every key of the settings, one row each.

The command line, the replay of unchanged runs, the reader of settings files, their JSON schema and the documentation
are all made from this table. A new option is a row here and, where it is a setting, a field of ``Settings``. The module
imports next to nothing, because the replay reads it before anything else is loaded.
"""

from __future__ import annotations

from types import MappingProxyType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FAIL_LEVELS = ("note", "warning", "never")
OUTPUT_FORMATS = (
    *("full", "concise", "grouped", "json", "json-lines", "github", "gitlab", "sarif", "junit", "rdjson"),
    *("azure", "pylint", "lintrunner", "markdown", "html", "agent"),
)
COLORS = ("auto", "always", "never")
DEVICES = ("auto", "cpu", "cuda")
PYTHONS = tuple(f"py3{minor}" for minor in range(7, 16))

# Where an option may be given: in settings files, too; on the command line, for the run; or there, for the command.
FILE, RUN, COMMAND = "file", "run", "command"


class RunOption:
    """One option, one key of the settings, or both.

    Attributes:
        name: the parameter of the command and the field of ``Settings``; with dashes, the key of the settings.
        kind: what its value may be, a word that ``torchlint.settings.check`` and ``torchlint.cli.declared`` know.
        text: what it does, in one sentence.
        flags: how it is spelled on the command line; empty: only settings files have it.
        scope: ``FILE``: a field of ``Settings`` that files may set; ``RUN``: one that the command line alone sets;
            ``COMMAND``: a parameter of the command that is not a field.
        choices: the words that its value may be.
        example: a value in TOML.
        help: the sentence on the command line, where it differs from ``text``.
        metavar: what stands for its value in the help.
        variable: the environment variable that stands for it.
        adds: values of several settings files are put together; without, the nearest file wins.
        once: a run with it writes files, asks more than the file system, or does not end, so it is never replayed.
    """

    __slots__ = (
        *("name", "kind", "text", "flags", "scope", "choices", "example", "help", "metavar"),
        *("variable", "adds", "once"),
    )

    def __init__(
        self,
        name: str,
        kind: str,
        text: str,
        *flags: str,
        scope: str = FILE,
        choices: tuple[str, ...] = (),
        example: str = "",
        help: str = "",
        metavar: str = "",
        variable: str = "",
        adds: bool = False,
        once: bool = False,
    ) -> None:
        """Take the row."""
        self.name = name
        self.kind = kind
        self.text = text
        self.flags = flags
        self.scope = scope
        self.choices = choices
        self.example = example
        self.help = help or text
        self.metavar = metavar
        self.variable = variable
        self.adds = adds
        self.once = once

    @property
    def key(self) -> str:
        """The key of the settings."""
        return self.name.replace("_", "-")

    def spellings(self) -> Iterator[str]:
        """Yield every spelling of the option on a command line, including those that switch it off."""
        return (word for flag in self.flags for word in flag.split("/"))


_IN_FILES_ALONE = (
    RunOption(
        "extend",
        "file-name",
        "A parent settings file; settings of this file override it.",
        example='"../torchlint.toml"',
    ),
    RunOption(
        "plugins",
        "packages",
        "Installed packages that provide further rules.",
        example='["torchlint_acme"]',
        adds=True,
    ),
    RunOption(
        "rules",
        "tables",
        "Rule options, one table per rule; torchlint config rules lists them.",
        example='{ TL404 = { allow = ["episode_*"] } }',
    ),
    RunOption(
        "models",
        "models",
        "Models of functions and methods that torchlint does not know, one table per module or class.",
        example='{ methods = { "mylab.logs.Board" = { put = { logs = true } } } }',
    ),
    RunOption("hot", "functions", "Functions to treat as hot.", example='["mylib.agent:Agent.plan"]'),
    RunOption("cold", "functions", "Functions to treat as not hot.", example='["mylib.debug:dump"]'),
    RunOption(
        "ignore_guards",
        "selectors",
        "Guards to disable, by their name in --explain-hot.",
        example='["debug flag"]',
    ),
    RunOption(
        "docs_url",
        "address",
        "Base URL of the rule documentation; findings link to the page of their rule.",
        example='"https://docs.example.org/torchlint"',
    ),
)
_FIXES = (
    RunOption(
        "fix",
        "switch",
        "Apply the safe fixes, which change nothing but the time, and the accepted ones.",
        "--fix/--no-fix",
        example="true",
        once=True,
    ),
    RunOption(
        "interactive",
        "switch",
        "With --fix: show the diff of each group of findings and ask before applying it.",
        "--interactive",
        scope=COMMAND,
        once=True,
    ),
    RunOption("unsafe_fixes", "switch", "Accept every fix, whatever it may change.", "--unsafe-fixes", example="true"),
    RunOption(
        "accept",
        "changes",
        "Accept fixes that may change only these properties.",
        "--accept",
        help="Accept fixes that may change only these properties, e.g. rounding,validation.",
        example='["rounding"]',
    ),
    RunOption(
        "diff", "switch", "Print the changes of --fix as a diff, and write nothing.", "--diff", scope=RUN, once=True
    ),
    RunOption(
        "fix_only",
        "switch",
        "Apply the fixes without reporting the remaining findings.",
        "--fix-only",
        example="true",
        once=True,
    ),
    RunOption("show_fixes", "switch", "List the applied fixes.", "--show-fixes", example="true"),
    RunOption(
        "fixable",
        "selectors",
        "Rules whose fixes may be applied; empty: all.",
        "--fixable",
        help="Rules whose fixes may be applied (default: all).",
        example='["TL1"]',
    ),
    RunOption(
        "unfixable", "selectors", "Rules whose fixes may not be applied.", "--unfixable", example='["TL104"]', adds=True
    ),
)
_RULES = (
    RunOption(
        "select",
        "selectors",
        "Rules to run: codes, prefixes, names, or ALL; empty: the default set.",
        "--select",
        help="Rules to run: codes, prefixes, names, or ALL.",
        example='["TL1", "TL201"]',
    ),
    RunOption("ignore", "selectors", "Rules to ignore.", "--ignore", example='["TL301"]', adds=True),
    RunOption(
        "extend_select",
        "selectors",
        "Further rules to run.",
        "--extend-select",
        example='["TL103"]',
        adds=True,
    ),
    RunOption(
        "extend_ignore",
        "selectors",
        "Further rules to ignore.",
        "--extend-ignore",
        example='["TL301"]',
        adds=True,
    ),
    RunOption(
        "per_file_ignores",
        "ignores",
        "Rules to ignore in some files, by pattern.",
        "--per-file-ignores",
        help="Rules to ignore in some files, e.g. 'tests/*:TL1'.",
        example='{ "demos/*" = ["TL2"] }',
        adds=True,
    ),
    RunOption("preview", "switch", "Also run preview rules.", "--preview/--no-preview", example="true"),
)
_MEASURED = (
    RunOption(
        "profile", "path", "Rank the findings by a profile of the program.", "--profile", scope=COMMAND, once=True
    ),
    RunOption(
        "mapping",
        "texts",
        "Map a path prefix in the profile to a local path.",
        "--map",
        scope=COMMAND,
        metavar="FROM=TO",
        once=True,
    ),
)
_KNOWN = (
    RunOption(
        "baseline",
        "path",
        "File of known findings, which are not reported.",
        "--baseline",
        example='"torchlint-baseline.jsonl"',
    ),
    RunOption(
        "observations",
        "path",
        "File of facts observed in a run (torchlint verify --observe), on which fixes may rest.",
        "--observations",
        example='"torchlint-observations.json"',
    ),
    RunOption(
        "since",
        "text",
        "Report only lines changed since a git revision, e.g. origin/main.",
        "--since",
        scope=RUN,
        metavar="REV",
        once=True,
    ),
    RunOption(
        "add_noqa",
        "text",
        "Add noqa comments that suppress the findings.",
        "--add-noqa",
        scope=COMMAND,
        metavar="[=REASON]",
        once=True,
    ),
    RunOption("ignore_noqa", "switch", "Also report findings that comments suppress.", "--ignore-noqa", scope=RUN),
)
_FILES = (
    RunOption(
        "exclude",
        "patterns",
        "Files and folders to exclude, replacing the defaults.",
        "--exclude",
        example='["legacy"]',
    ),
    RunOption(
        "extend_exclude",
        "patterns",
        "Further files and folders to exclude.",
        "--extend-exclude",
        example='["legacy"]',
        adds=True,
    ),
    RunOption(
        "force_exclude",
        "switch",
        "Exclude files even if they are given on the command line.",
        "--force-exclude",
        example="true",
    ),
    RunOption(
        "respect_gitignore",
        "switch",
        "Exclude what git ignores.",
        "--respect-gitignore/--no-respect-gitignore",
        help="Exclude what git ignores (the default).",
        example="false",
    ),
    RunOption(
        "stdin_filename",
        "path",
        "File name of the code on standard input.",
        "--stdin-filename",
        scope=COMMAND,
        once=True,
    ),
    RunOption(
        "no_context", "switch", "Analyze the given files without the rest of the project.", "--no-context", scope=RUN
    ),
)
_SETTINGS = (
    RunOption(
        "config", "texts", "A settings file, or one setting.", "--config", scope=COMMAND, metavar="PATH|'KEY = VALUE'"
    ),
    RunOption(
        "isolated",
        "switch",
        "Ignore settings files and figures measured on this machine.",
        "--isolated",
        scope=COMMAND,
    ),
    RunOption(
        "device",
        "choice",
        "Device that the code runs on; auto: inferred from the code.",
        "--device",
        choices=DEVICES,
        example='"cuda"',
    ),
    RunOption(
        "target_torch",
        "torch-version",
        "The oldest torch that the code has to run with; not set: what the project's dependencies or its lock "
        "file say, those of a folder for the files in it, else 2.2.",
        "--target-torch",
        help="Oldest supported torch, e.g. 2.2 (default: as the project declares).",
        metavar="VERSION",
        example='"2.2"',
    ),
    RunOption(
        "target_version",
        "choice",
        "Oldest supported Python; not set: as the project declares, else py310.",
        "--target-version",
        help="Oldest supported Python (default: as the project declares).",
        choices=PYTHONS,
        example='"py310"',
    ),
)
_SPEED = (
    RunOption(
        "jobs",
        "count",
        "Number of parallel processes; not set: by the size of the project.",
        "-j",
        "--jobs",
        help="Number of parallel processes (default: by the size of the project).",
        metavar="N",
        variable="TORCHLINT_JOBS",
        example="4",
    ),
    RunOption(
        "cache_dir",
        "folder",
        "Cache folder (default: .torchlint_cache in the project).",
        "--cache-dir",
        scope=COMMAND,
        variable="TORCHLINT_CACHE_DIR",
    ),
    RunOption(
        "no_cache",
        "switch",
        "Do not use the cache.",
        "--no-cache",
        scope=COMMAND,
        variable="TORCHLINT_NO_CACHE",
        once=True,
    ),
)
_OUTPUT = (
    RunOption(
        "output_format",
        "choice",
        "Output format.",
        "--output-format",
        variable="TORCHLINT_OUTPUT_FORMAT",
        choices=OUTPUT_FORMATS,
        example='"concise"',
    ),
    RunOption("output_file", "file", "Write findings to a file.", "-o", "--output-file", scope=RUN, once=True),
    RunOption("html", "file", "Also write an HTML page of the findings.", "--html", scope=COMMAND, once=True),
    RunOption("save", "file", "Also save the findings for --compare.", "--save", scope=COMMAND, once=True),
    RunOption(
        "compare",
        "file",
        "Report only findings that are not in this file of --save, and count the rest.",
        "--compare",
        scope=COMMAND,
        once=True,
    ),
    RunOption("badge", "file", "Also write a badge for shields.io.", "--badge", scope=COMMAND, once=True),
    RunOption(
        "top",
        "count",
        "Print the N costliest entries (default on a terminal: two screens).",
        "--top",
        scope=COMMAND,
        metavar="N",
    ),
    RunOption("show_all", "switch", "Print all entries and places on a terminal.", "--all", scope=COMMAND),
    RunOption("color", "choice", "When to use color; auto: on a terminal.", "--color", scope=RUN, choices=COLORS),
    RunOption(
        "statistics",
        "switch",
        "Count the findings of each rule instead of listing them.",
        "--statistics",
        scope=COMMAND,
    ),
    RunOption("watch", "switch", "Lint again whenever a file changes.", "-w", "--watch", scope=COMMAND, once=True),
    RunOption(
        "explain_hot",
        "text",
        "Explain how often a line runs, and why.",
        "--explain-hot",
        scope=COMMAND,
        metavar="FILE:LINE",
        once=True,
    ),
    RunOption("show_files", "switch", "List the files that would be linted.", "--show-files", scope=COMMAND, once=True),
    RunOption(
        "show_settings",
        "switch",
        "Print the settings that apply to the paths, and their source.",
        "--show-settings",
        scope=COMMAND,
        once=True,
    ),
    RunOption("quiet", "switch", "Print findings and nothing else.", "-q", "--quiet", scope=COMMAND),
    RunOption("silent", "switch", "Print errors only; the exit code shows findings.", "-s", "--silent", scope=COMMAND),
    RunOption("verbose", "switch", "Print which settings, rules and files are used.", "-v", "--verbose", scope=COMMAND),
)
_EXIT = (
    RunOption(
        "fail_level",
        "choice",
        "Lowest level of finding that makes the exit code 1.",
        "--fail-level",
        choices=FAIL_LEVELS,
        example='"note"',
    ),
    RunOption("exit_zero", "switch", "Exit with 0 even if there are findings.", "-e", "--exit-zero", scope=RUN),
    RunOption(
        "exit_non_zero_on_fix",
        "switch",
        "Exit with 1 if something was fixed, even if nothing is left.",
        "--exit-non-zero-on-fix",
        scope=RUN,
    ),
)

# By heading of the help.
SECTIONS: Mapping[str, tuple[RunOption, ...]] = MappingProxyType(
    {
        "": _IN_FILES_ALONE,
        "Fixes": _FIXES,
        "Rules": _RULES,
        "Measured": _MEASURED,
        "Known findings": _KNOWN,
        "Files": _FILES,
        "Settings": _SETTINGS,
        "Speed": _SPEED,
        "Output": _OUTPUT,
        "Exit code": _EXIT,
    }
)
OPTIONS = tuple(option for section in SECTIONS.values() for option in section)


def in_files() -> dict[str, RunOption]:
    """Return the options that settings files may set, by key."""
    return {option.key: option for option in OPTIONS if option.scope == FILE}


def of_runs() -> frozenset[str]:
    """Return the fields of ``Settings`` that the command line alone sets."""
    return frozenset(option.name for option in OPTIONS if option.scope == RUN)
