"""Score torchlint against lines of unread projects that readers labelled before it was run on them.

    labels.py get CHECKOUTS                fetch every labelled project at its commit, with git
    labels.py score CHECKOUTS [--only PROJECT ...] [--first] [--write] [--show]

The labels are two tables. benchmarks/labels.csv has a row for each smell or look-alike: project, commit, path, the
first and last row of the statement, rule, verdict (``smell``, ``look-alike``, ``borderline``: counts neither way), the
reason, what the second reader changed (``second``), whether the first run after labelling found it (``first``), and
the mechanism that is missing where it did not. benchmarks/labelled_files.csv lists the files that were read whole, with
their field: classical RL, or RL of language models.

A smell is found by a finding of its rule that starts on its statement, one row of slack; one finding is one smell.
``--first`` writes the column ``first`` of the smells that were never scored, ``--write`` the tables of
docs/accuracy.md. Projects that lack in CHECKOUTS are named and left out.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from linted import findings as linted
from marked import written

ROOT = Path(__file__).resolve().parent.parent
LABELS = ROOT / "benchmarks" / "labels.csv"
FILES = ROOT / "benchmarks" / "labelled_files.csv"
PAGE = ROOT / "docs" / "accuracy.md"
HOST = "https://github.com/{project}.git"
COLUMNS = ("project", "commit", "path", "row", "end_row", "rule", "verdict", "why", "second", "first", "mechanism")
SLACK = 1
SMELL, LOOK_ALIKE = "smell", "look-alike"


@dataclass(frozen=True)
class Label:
    """A labelled statement: ``found`` says how the first run did, ``mechanism`` what it lacked."""

    project: str
    commit: str
    path: str
    row: int
    end_row: int
    rule: str
    verdict: str
    why: str
    second: str
    first: str
    mechanism: str

    @property
    def place(self) -> tuple[str, str]:
        """The project and the file."""
        return self.project, self.path

    def holds(self, rule: str, row: int) -> bool:
        """Whether a finding is one of this label's rule on its statement."""
        return rule == self.rule and self.row - SLACK <= row <= self.end_row + SLACK


@dataclass
class Score:
    """Counts of one group of labels; ``other`` are findings in the files that meet no label."""

    smells: int = 0
    first: int = 0
    found: int = 0
    alikes: int = 0
    wrong: int = 0
    other: list[str] = field(default_factory=list)


def read_labels(path: Path = LABELS) -> list[Label]:
    """Read the table of labels."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [Label(**{**row, "row": int(row["row"]), "end_row": int(row["end_row"])}) for row in rows]  # type: ignore[arg-type]


def read_files(path: Path = FILES) -> dict[tuple[str, str], str]:
    """Read the field of each file that was read whole, by project and path."""
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["project"], row["path"]): row["field"] for row in csv.DictReader(file)}


def folder(project: str, commit: str) -> str:
    """Name the folder of a project at a commit."""
    return f"{project.replace('/', '+')}@{commit[:8]}"


def get(labels: Sequence[Label], checkouts: Path) -> None:
    """Fetch each labelled project at its commit, one commit deep."""
    for project, commit in sorted({(label.project, label.commit) for label in labels}):
        place = checkouts / folder(project, commit)
        if place.exists():
            continue
        place.mkdir(parents=True)
        for command in (["init", "-q"], ["fetch", "-q", "--depth", "1", HOST.format(project=project), commit]):
            subprocess.run(["git", *command], cwd=place, check=True)
        subprocess.run(["git", "checkout", "-q", "FETCH_HEAD"], cwd=place, check=True)


def lint(tree: Path) -> list[tuple[str, str, int]]:
    """List what torchlint says of a tree: rule, path in it and row, with the rules that are on by default."""
    return [(row["code"], row["filename"], row["location"]["row"]) for row in linted(tree)]


def matched(labels: Sequence[Label], findings: Iterable[tuple[str, str, int]]) -> dict[Label, int]:
    """Count the findings on each label, no more than there are equal labels, and smells before look-alikes."""
    met: Counter[Label] = Counter()
    wanted = Counter(labels)
    for rule, path, row in findings:
        fitting = [label for label in wanted if label.path == path and label.holds(rule, row)]
        fitting.sort(key=lambda label: (label.verdict != SMELL, abs(label.row - row)))
        free = next((label for label in fitting if met[label] < wanted[label]), None)
        if free is not None:
            met[free] += 1
    return dict(met)


def scored(
    labels: Sequence[Label], fields: Mapping[tuple[str, str], str], found: Mapping[str, Sequence[tuple[str, str, int]]]
) -> tuple[dict[tuple[str, str], Score], dict[Label, int]]:
    """Score the labels of the projects that were linted, by field and rule, and give the findings on each label."""
    scores: dict[tuple[str, str], Score] = defaultdict(Score)
    met: dict[Label, int] = {}
    for project, findings in found.items():
        own = [label for label in labels if label.project == project]
        met.update(matched(own, findings))
        for label, count in Counter(own).items():
            score = scores[fields[label.place], label.rule]
            if label.verdict == SMELL:
                score.smells += count
                score.found += met.get(label, 0)
                score.first += sum(each.first == "found" for each in own if each == label)
            elif label.verdict == LOOK_ALIKE:
                score.alikes += count
                score.wrong += met.get(label, 0)
        for rule, path, row in findings:
            if (project, path) in fields and not any(label.path == path and label.holds(rule, row) for label in own):
                scores[fields[project, path], rule].other.append(f"{project} {path}:{row}")
    return dict(scores), met


def table(scores: Mapping[tuple[str, str], Score]) -> str:
    """Write the scores as Markdown: a table for each field, with its macro recall."""
    parts = []
    for kind in sorted({kind for kind, _ in scores}):
        rows = {rule: score for (each, rule), score in sorted(scores.items()) if each == kind}
        lines = ["| rule | smells | found at first | found now | look-alikes | reported | without a label |"]
        lines.append("| --- | --- | --- | --- | --- | --- | --- |")
        lines += [line(rule, score) for rule, score in rows.items() if score.smells or score.alikes or score.other]
        total = Score(
            *(
                sum(getattr(each, name) for each in rows.values())
                for name in ("smells", "first", "found", "alikes", "wrong")
            )
        )
        total.other = [place for score in rows.values() for place in score.other]
        lines.append(line("all", total))
        shares = [score.found / score.smells for score in rows.values() if score.smells >= 3]
        macro = f"{sum(shares) / len(shares):.2f} over {len(shares)} rules" if shares else "-"
        recall = f"{total.found / total.smells:.2f}" if total.smells else "-"
        first = f"{total.first / total.smells:.2f}" if total.smells else "-"
        parts.append(
            f"{kind}: recall {first} at first sight, {recall} now; macro recall now {macro} with at least 3 smells.\n\n"
            + "\n".join(lines)
        )
    return "\n\n".join(parts)


def line(rule: str, score: Score) -> str:
    """Write one row of the table."""
    cells = (rule, score.smells, score.first, score.found, score.alikes, score.wrong, len(score.other))
    return f"| {' | '.join(map(str, cells))} |"


def answered(labels: Sequence[Label], met: Mapping[Label, int]) -> Iterator[tuple[Label, bool]]:
    """Give each label with whether a finding is on it."""
    left = dict(met)
    for label in labels:
        yield label, left.get(label, 0) > 0
        left[label] = left.get(label, 0) - 1


def mechanisms(labels: Sequence[Label], met: Mapping[Label, int]) -> str:
    """Write how many smells the first run missed for want of each mechanism, and how many are missed still."""
    smells = [(label, hit) for label, hit in answered(labels, met) if label.verdict == SMELL]
    first = Counter(label.mechanism or "not known" for label, _ in smells if label.first == "missed")
    now = Counter(label.mechanism or "not known" for label, hit in smells if not hit)
    rows = [f"| {name} | {first[name]} | {now[name]} |" for name, _ in (first | now).most_common()]
    return "\n".join(["| what was missing | missed at first | missed now |", "| --- | --- | --- |", *rows])


def by_project(labels: Sequence[Label], met: Mapping[Label, int]) -> str:
    """Write what was found in each project, in the order in which they were labelled."""
    counts: dict[str, Counter[str]] = {}
    for label, hit in answered(labels, met):
        count = counts.setdefault(label.project, Counter())
        if label.verdict == SMELL:
            count.update(smells=1, first=label.first == "found", now=hit)
        elif label.verdict == LOOK_ALIKE:
            count.update(alikes=1, wrong=hit)
    columns = ("smells", "first", "now", "alikes", "wrong")
    rows = [f"| {name} | {' | '.join(str(count[each]) for each in columns)} |" for name, count in counts.items()]
    head = "| project | smells | found at first | found now | look-alikes | reported |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows])


def noted(labels: Sequence[Label], met: Mapping[Label, int]) -> list[Label]:
    """Give the labels, those that were never scored with what this run found."""
    return [
        replace(label, first="found" if hit else "missed") if label.verdict == SMELL and not label.first else label
        for label, hit in answered(labels, met)
    ]


def save(labels: Sequence[Label], path: Path = LABELS) -> None:
    """Write the table of labels."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        out.writerows([getattr(label, column) for column in COLUMNS] for label in labels)


def main() -> None:
    """Read the arguments, fetch or score, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("get", "score"))
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--first", action="store_true", help="keep this run as the first one of new labels")
    parser.add_argument("--only", nargs="+", metavar="PROJECT", help="score these projects alone")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/accuracy.md")
    parser.add_argument("--show", action="store_true", help="list missed smells, reported look-alikes, other findings")
    options = parser.parse_args()
    labels = read_labels()
    if options.what == "get":
        get(labels, options.checkouts)
        return
    if options.write and options.only:
        parser.error("the tables of --write are about all projects: leave out --only")
    wanted = set(options.only or (label.project for label in labels))
    if unknown := wanted - {label.project for label in labels}:
        parser.error(f"no labels of {', '.join(sorted(unknown))}")
    found = {}
    for project, commit in sorted({(label.project, label.commit) for label in labels if label.project in wanted}):
        tree = (options.checkouts / folder(project, commit)).resolve()
        if tree.is_dir():
            found[project] = lint(tree)
        else:
            print(f"not in {options.checkouts}: {project}, left out", file=sys.stderr)
    kept = [label for label in labels if label.project in found]
    scores, met = scored(kept, read_files(), found)
    if options.first:
        first = iter(noted(kept, met))
        save([next(first) if label.project in found else label for label in labels])
        kept = [label for label in read_labels() if label.project in found]
        scores, met = scored(kept, read_files(), found)
    text = "\n\n".join((table(scores), by_project(kept, met), mechanisms(kept, met)))
    print(text)
    if options.show:
        show(kept, met, scores)
    if options.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), "labels", text), encoding="utf-8")


def show(labels: Sequence[Label], met: Mapping[Label, int], scores: Mapping[tuple[str, str], Score]) -> None:
    """List what lies behind the figures."""
    for label, hit in answered(labels, met):
        if hit is (label.verdict == LOOK_ALIKE) and label.verdict in (SMELL, LOOK_ALIKE):
            word = "wrong" if hit else "missed"
            print(word, label.rule, f"{label.project} {label.path}:{label.row}", label.why)
    for (_, rule), score in sorted(scores.items()):
        for place in score.other:
            print("other", rule, place)


if __name__ == "__main__":
    main()
