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
            ``COMMAND``: a parameter of the command that is no field.
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
        """Every word that stands for it on a command line, those that switch it off included."""
        return (word for flag in self.flags for word in flag.split("/"))


_IN_FILES_ALONE = (
    RunOption(
        "extend",
        "file-name",
        "A settings file whose settings hold where this one says nothing.",
        example='"../torchlint.toml"',
    ),
    RunOption(
        "plugins",
        "packages",
        "Installed packages whose rules are loaded beside the built-in ones.",
        example='["torchlint_acme"]',
        adds=True,
    ),
    RunOption(
        "rules",
        "tables",
        "Options of rules, a table for each; torchlint config rules lists them.",
        example='{ TL404 = { allow = ["episode_*"] } }',
    ),
    RunOption(
        "models",
        "models",
        "What functions and methods do that torchlint does not know, a table for each module and class.",
        example='{ methods = { "mylab.logs.Board" = { put = { logs = true } } } }',
    ),
    RunOption(
        "hot", "functions", "Functions that are hot although nothing shows it.", example='["mylib.agent:Agent.plan"]'
    ),
    RunOption("cold", "functions", "Functions that are not hot although it looks so.", example='["mylib.debug:dump"]'),
    RunOption(
        "ignore_guards",
        "selectors",
        "Guards to switch off, as --explain-hot names them.",
        example='["debug flag"]',
    ),
    RunOption(
        "docs_url",
        "address",
        "Where the documentation of the rules lies: findings link to the page of their rule there.",
        example='"https://docs.example.org/torchlint"',
    ),
)
_FIXES = (
    RunOption(
        "fix",
        "switch",
        "Apply the fixes that change nothing but the time, and those accepted.",
        "--fix/--no-fix",
        example="true",
        once=True,
    ),
    RunOption(
        "interactive",
        "switch",
        "With --fix: ask about each group of findings first, with its diff.",
        "--interactive",
        scope=COMMAND,
        once=True,
    ),
    RunOption("unsafe_fixes", "switch", "Take every fix, whatever it may change.", "--unsafe-fixes", example="true"),
    RunOption(
        "accept",
        "changes",
        "Take the fixes that change no more than this.",
        "--accept",
        help="Take the fixes that change no more than this, e.g. rounding,validation.",
        example='["rounding"]',
    ),
    RunOption("diff", "switch", "Show what --fix would change, and change nothing.", "--diff", scope=RUN, once=True),
    RunOption(
        "fix_only", "switch", "Apply the fixes, and report nothing else.", "--fix-only", example="true", once=True
    ),
    RunOption("show_fixes", "switch", "List what was fixed.", "--show-fixes", example="true"),
    RunOption(
        "fixable",
        "selectors",
        "Rules whose fixes are offered; empty: all.",
        "--fixable",
        help="Rules whose fixes are offered, in place of all.",
        example='["TL1"]',
    ),
    RunOption(
        "unfixable", "selectors", "Rules whose fixes are not offered.", "--unfixable", example='["TL104"]', adds=True
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
    RunOption("ignore", "selectors", "Rules not to run.", "--ignore", example='["TL301"]', adds=True),
    RunOption(
        "extend_select",
        "selectors",
        "Rules to run on top of the selected ones.",
        "--extend-select",
        example='["TL103"]',
        adds=True,
    ),
    RunOption(
        "extend_ignore",
        "selectors",
        "Rules not to run on top of the ignored ones.",
        "--extend-ignore",
        example='["TL301"]',
        adds=True,
    ),
    RunOption(
        "per_file_ignores",
        "ignores",
        "Rules not to run in some files, by pattern.",
        "--per-file-ignores",
        help="Rules not to run in some files, e.g. 'tests/*:TL1'.",
        example='{ "demos/*" = ["TL2"] }',
        adds=True,
    ),
    RunOption("preview", "switch", "Run preview rules, too.", "--preview/--no-preview", example="true"),
)
_MEASURED = (
    RunOption("profile", "path", "Rank by what a profile of the program says.", "--profile", scope=COMMAND, once=True),
    RunOption(
        "mapping",
        "texts",
        "What a prefix of paths in the profile is here.",
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
        "A file of findings that are known and not shown.",
        "--baseline",
        example='"torchlint-baseline.jsonl"',
    ),
    RunOption(
        "observations",
        "path",
        "A file with what a run of yours showed (torchlint verify --observe); fixes may rest on it.",
        "--observations",
        example='"torchlint-observations.json"',
    ),
    RunOption(
        "since",
        "text",
        "Report on lines changed since a git revision only, e.g. origin/main.",
        "--since",
        scope=RUN,
        metavar="REV",
        once=True,
    ),
    RunOption(
        "add_noqa",
        "text",
        "Silence what is found with noqa comments.",
        "--add-noqa",
        scope=COMMAND,
        metavar="[=REASON]",
        once=True,
    ),
    RunOption("ignore_noqa", "switch", "Show what comments silence, too.", "--ignore-noqa", scope=RUN),
)
_FILES = (
    RunOption(
        "exclude",
        "patterns",
        "Files and folders to leave out, in place of the defaults.",
        "--exclude",
        example='["legacy"]',
    ),
    RunOption(
        "extend_exclude",
        "patterns",
        "Files and folders to leave out besides.",
        "--extend-exclude",
        example='["legacy"]',
        adds=True,
    ),
    RunOption(
        "force_exclude", "switch", "Leave excluded files out even if they are given.", "--force-exclude", example="true"
    ),
    RunOption(
        "respect_gitignore",
        "switch",
        "Leave out what git ignores.",
        "--respect-gitignore/--no-respect-gitignore",
        help="Leave out what git ignores (the default).",
        example="false",
    ),
    RunOption(
        "stdin_filename",
        "path",
        "The name of what comes on standard input.",
        "--stdin-filename",
        scope=COMMAND,
        once=True,
    ),
    RunOption(
        "no_context", "switch", "Read the given files alone, not the rest of the project.", "--no-context", scope=RUN
    ),
)
_SETTINGS = (
    RunOption(
        "config", "texts", "A settings file, or one setting.", "--config", scope=COMMAND, metavar="PATH|'KEY = VALUE'"
    ),
    RunOption(
        "isolated",
        "switch",
        "Read no settings file, and quote no figures of this machine.",
        "--isolated",
        scope=COMMAND,
    ),
    RunOption(
        "device",
        "choice",
        "Where the code runs; auto: what it says itself.",
        "--device",
        choices=DEVICES,
        example='"cuda"',
    ),
    RunOption(
        "target_torch",
        "torch-version",
        "The oldest torch that the code has to run with; not set: what the project's dependencies or its lock "
        "file say, else 2.2.",
        "--target-torch",
        help="The oldest torch that the code has to run with, e.g. 2.2; else what the project says.",
        metavar="VERSION",
        example='"2.2"',
    ),
    RunOption(
        "target_version",
        "choice",
        "The oldest Python that the code has to run with; not set: what the project says, else py310.",
        "--target-version",
        help="The oldest Python that the code has to run with.",
        choices=PYTHONS,
        example='"py310"',
    ),
)
_SPEED = (
    RunOption(
        "jobs",
        "count",
        "How many processes may work at once; not set: as many as pay.",
        "-j",
        "--jobs",
        help="How many processes may work at once (default: as many as pay).",
        metavar="N",
        variable="TORCHLINT_JOBS",
        example="4",
    ),
    RunOption(
        "cache_dir",
        "folder",
        "Where to keep results (default: .torchlint_cache in the project).",
        "--cache-dir",
        scope=COMMAND,
        variable="TORCHLINT_CACHE_DIR",
    ),
    RunOption(
        "no_cache",
        "switch",
        "Neither read nor keep results.",
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
        "How to print.",
        "--output-format",
        variable="TORCHLINT_OUTPUT_FORMAT",
        choices=OUTPUT_FORMATS,
        example='"concise"',
    ),
    RunOption("output_file", "file", "Write findings to a file.", "-o", "--output-file", scope=RUN, once=True),
    RunOption("html", "file", "Write a page with the findings, too.", "--html", scope=COMMAND, once=True),
    RunOption("save", "file", "Keep the findings for --compare, too.", "--save", scope=COMMAND, once=True),
    RunOption(
        "compare",
        "file",
        "Show only what is new since --save wrote this file, and count the rest.",
        "--compare",
        scope=COMMAND,
        once=True,
    ),
    RunOption("badge", "file", "Write a badge for shields.io, too.", "--badge", scope=COMMAND, once=True),
    RunOption(
        "top",
        "count",
        "Print the N dearest entries (default on a terminal: what fits on two screens).",
        "--top",
        scope=COMMAND,
        metavar="N",
    ),
    RunOption("show_all", "switch", "Print every entry and every place on a terminal, too.", "--all", scope=COMMAND),
    RunOption("color", "choice", "Whether to colour; auto: on a terminal.", "--color", scope=RUN, choices=COLORS),
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
        "Say how often a line runs, and why.",
        "--explain-hot",
        scope=COMMAND,
        metavar="FILE:LINE",
        once=True,
    ),
    RunOption("show_files", "switch", "List the files that would be linted.", "--show-files", scope=COMMAND, once=True),
    RunOption(
        "show_settings",
        "switch",
        "Show the settings that hold for the paths, and where they are from.",
        "--show-settings",
        scope=COMMAND,
        once=True,
    ),
    RunOption("quiet", "switch", "Print findings and nothing else.", "-q", "--quiet", scope=COMMAND),
    RunOption("silent", "switch", "Print nothing but errors; the exit code tells.", "-s", "--silent", scope=COMMAND),
    RunOption("verbose", "switch", "Say which settings, rules and files were read.", "-v", "--verbose", scope=COMMAND),
)
_EXIT = (
    RunOption(
        "fail_level",
        "choice",
        "The least level that makes the exit code 1.",
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
    """The options that settings files may set, by key."""
    return {option.key: option for option in OPTIONS if option.scope == FILE}


def of_runs() -> frozenset[str]:
    """The fields of ``Settings`` that the command line alone sets."""
    return frozenset(option.name for option in OPTIONS if option.scope == RUN)
