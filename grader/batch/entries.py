"""What lies in a folder: submissions, work that cannot be graded, and what is passed over."""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from grader.batch.folders import BELOW, HIDES
from grader.batch.meant import by_student, known_stems, of_platform
from grader.batch.members import ENGINE, like_a_chapter
from grader.batch.names import listed, printable, shortened
from grader.batch.no_chapter import nothing_called_so
from grader.batch.sources import LARGEST, Told
from grader.batch.uploads import ARCHIVES, OTHER_ARCHIVES, Loose
from grader.batch.versions import in_order
from grader.whose import TYPED, UPLOADED

Reads = Callable[[Path], bool]
# of systems, tools and the course, and nobody's work
LEFTOVERS = {
    "__macosx", "__pycache__", ".ds_store", ".git", ".gitignore", ".gitkeep",
    ".ipynb_checkpoints", "desktop.ini", "thumbs.db", "course.toml",
}  # fmt: skip
APPLE_DOUBLE = "._"
# beside the chapters in the kit itself
KITS_OWN = (BELOW, "solutions", "tests", ENGINE)

# why work is not graded
LINK = "it is a link, and links are not followed: give the place it leads to"
NOWHERE = "it is a link that leads nowhere: put the submission itself there"
HIDDEN_WORK = "its name begins with . or __, as those of tools do: give it another name"
NO_CHAPTER = (
    "it is called like no chapter: call it ex01_scores.py or as its chapter is, in a folder of "
    "its own"
)
ASTRAY = "beside submissions, and whose it is cannot be told: put it in a folder of its own"
TWO_WAYS = "handed in as loose files and as a folder of that name: put all into one"

# why an entry is passed over
NO_WORK = "no chapters were found in the folder, and loose files are called like it"
HIDDEN = "named as by a tool, with . or __ in front, and no chapters were found"
LOOSE = "neither a folder nor a .zip or .tar.gz"
BESIDE = "the chapters beside it are the submission: move it elsewhere to have it graded"


@dataclass
class Contents:
    """What a folder holds; no submissions if it is itself one.

    Attributes:
        submissions: for each the reason why it cannot be graded, or nothing.
        passed_over: for each reason the names of what is passed over.
        loose: of submissions that are loose files, these.
        beside: for those that loose files are, the names of what else came with them.
    """

    submissions: dict[Path, str] = field(default_factory=dict)
    passed_over: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    loose: dict[Path, Loose] = field(default_factory=dict)
    beside: dict[Path, tuple[str, ...]] = field(default_factory=dict)

    def tell(self, folder: Path, told: Told, own: Collection[Path]) -> None:
        """Say what is passed over, in one sentence for each reason.

        Args:
            folder: that was looked into.
            told: is told.
            own: the command's own files, which are not passed over.
        """
        for why, there in self.passed_over.items():
            names = [name for name in there if folder / name not in own]
            if not names:
                continue
            sentence = f"passed over {listed(names)} in {shortened(folder.name, 60)}: {why}"
            told.note(sentence, (shortened(name, 120) for name in names))


def look_into(folder: Path, reads: Reads, *, one: bool = False) -> Contents:
    """Sort what lies in a folder.

    Args:
        folder: whatever the user gave; what cannot be looked into counts as one submission.
        reads: tells whether chapters can be read from a folder or an archive.
        one: whether it is one student's where chapters lie in it, whatever lies beside them.
    """
    found = Contents()
    try:
        entries = [
            folder / name
            for name in sorted(os.listdir(folder))
            if not _left_over(folder / name, reads)
        ]
    except OSError:
        return found
    if not os.access(folder, os.X_OK):  # its names can be read, but nothing more
        return found
    if one and (_chapters(folder) or any(map(_chapters, filter(_is_below, entries)))):
        return found
    entries = _by_student(folder, entries, found)
    beside = None if found.loose else _beside_chapters(folder, entries, reads)
    if beside is None:
        loose = [e for e in entries if _of_the_kit(e.name) and not os.path.isdir(e)]
        for entry in entries:
            if entry not in loose:
                _sort_in(entry, found, reads)
        _take_work(found, folder)
        _put_beside_files(found, reads)
        if loose:
            more = f"with {len(loose) - 1} more " if loose[1:] else ""
            found.submissions[loose[0]] = f"it lies {more}{ASTRAY}"
            found.loose[loose[0]] = Loose(tuple((entry.name, entry) for entry in loose))
    elif beside:
        found.passed_over[BESIDE] = [entry.name for entry in beside]
    return found


def _take_work(found: Contents, folder: Path) -> None:
    """Where there are submissions, take for one what lies loose and is somebody's work, too."""
    if not found.submissions:
        return
    others = []
    for entry in (folder / name for name in found.passed_over.pop(LOOSE, [])):
        if not os.path.exists(entry):
            found.submissions[entry] = NOWHERE
        elif entry.name.lower().endswith(tuple(LARGEST)):
            found.submissions[entry] = LINK if entry.is_symlink() else NO_CHAPTER
        else:
            others.append(entry.name)
    if others:
        found.passed_over[LOOSE] = others


def _put_beside_files(found: Contents, reads: Reads) -> None:
    """Take what Moodle's students have typed online for a part of what they have uploaded."""
    by_name = {printable(place.name): place for place in found.submissions}
    for name, place in by_name.items():
        uploaded = by_name.get(name.replace(TYPED, UPLOADED))
        if TYPED in name and uploaded is not None and not reads(place):
            del found.submissions[place]
            found.beside[uploaded] = (name,)


def _by_student(folder: Path, entries: list[Path], found: Contents) -> list[Path]:
    """Take loose files that are several students' for submissions; return what is left."""
    # one may keep two drafts of a chapter beside it, in names that look like those of people
    enough = 3 if any(map(_of_the_kit, _chapters(folder))) else 2
    files = [entry for entry in entries if entry.is_file() and not entry.is_symlink()]
    taken: set[Path] = set()
    for whose, handed in by_student(files, enough).items():
        place = folder / whose
        found.loose[place], found.submissions[place] = in_order(handed)
        taken |= {path for _, path in handed}
    archives = {path for path in files if _called_archive(path)}
    further = set(files) - taken - archives
    for whose, others in of_platform(further, beside=taken | archives).items():
        place = folder / whose
        taken |= set(others)
        if place in found.loose:
            found.beside[place] = tuple(path.name for path in others)
        else:
            found.loose[place] = Loose(tuple((path.name, path) for path in others))
            found.submissions[place] = nothing_called_so([path.name for path in others])
    return [entry for entry in entries if entry not in taken]


def _beside_chapters(folder: Path, entries: list[Path], reads: Reads) -> list[Path] | None:
    """List the submissions beside a submission's chapters; None if there are no such chapters.

    An older version may lie beside somebody's chapters. Where two or more submissions do, it is
    a class, and the chapters are astray. What is only called like a chapter is so beside one.
    """
    below = filter(_is_below, entries)
    chapters = [*_chapters(folder), *itertools.chain.from_iterable(map(_chapters, below))]
    if not chapters:
        return None
    enough = 2 if any(map(_of_the_kit, chapters)) else 1
    others = filter(_beyond_doubt, entries)
    beside = list(itertools.islice(filter(reads, others), enough))
    return None if len(beside) == enough else beside


def _is_below(entry: Path) -> bool:
    return entry.name.lower() == BELOW


def _beyond_doubt(entry: Path) -> bool:
    plain = not entry.is_symlink() and not entry.name.startswith(HIDES)
    somebodys = plain and entry.name.lower() not in KITS_OWN
    return somebodys and (os.path.isdir(entry) or _called_archive(entry))


def _sort_in(entry: Path, found: Contents, reads: Reads) -> None:
    is_folder, is_archive = os.path.isdir(entry), _called_archive(entry)
    if not (is_folder or is_archive):
        found.passed_over[LOOSE].append(entry.name)
    elif entry in found.loose:  # loose files are called so, too
        if reads(entry):
            found.submissions[entry] = TWO_WAYS
        else:
            found.passed_over[NO_WORK].append(entry.name)
    elif entry.is_symlink():
        found.submissions[entry] = LINK if os.path.exists(entry) else NOWHERE
    elif not entry.name.startswith(HIDES):
        whose = _is_below(entry) and _chapters(entry)
        found.submissions[entry] = f"it lies {ASTRAY}" if whose else ""
    elif _chapters(entry) or reads(entry):
        found.submissions[entry] = HIDDEN_WORK
    else:
        found.passed_over[HIDDEN].append(entry.name)


def _chapters(folder: Path) -> list[str]:
    """List what is called like a chapter in a folder, but for folders that are."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [name for name in names if like_a_chapter(name) and not os.path.isdir(folder / name)]


def _of_the_kit(name: str) -> bool:
    return like_a_chapter(name) and PurePath(name).stem.lower() in known_stems()


def _called_archive(entry: Path) -> bool:
    # one of a kind that is not opened is somebody's submission, too, and gets a sentence
    return entry.name.lower().endswith(ARCHIVES + OTHER_ARCHIVES)


def _left_over(entry: Path, reads: Reads) -> bool:
    """Tell whether something was left behind by a system; a folder with chapters was not."""
    named = entry.name.lower() in LEFTOVERS or entry.name.startswith(APPLE_DOUBLE)
    return named and not (entry.is_dir() and not entry.is_symlink() and reads(entry))
