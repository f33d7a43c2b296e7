"""The students' pack: the exercises, the checks and the commands, without any solution."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.usage import UsageError

HELP = "write the students' pack: no solutions, no instructors' parts"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the folder."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to; new or empty")
    parser.add_argument("--chapters", metavar="FIRST..LAST",
                       help="the pack of a week: these chapters only, as in ex01..ex03 or "
                            "ex01,ex05 (default: all)")  # fmt: skip
    parser.add_argument("--zip", action="store_true", help="write DIR.zip as well")
    parser.add_argument("--no-compare", action="store_true",
                       help="leave out the sealed reference answers")  # fmt: skip
    parser.add_argument("--notebooks", action="store_true",
                       help="put the chapters in as Jupyter notebooks, too")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Prove the pack and write it."""
    from grader.chapters.catalogue import stems as all_stems
    from grader.naming import chapters
    from grader.release import ReleaseError
    from grader.release.pack import pack
    from grader.release.write import refuse_what_is_there, release

    folder: Path = given.folder
    archive = folder.absolute().parent / f"{folder.absolute().name}.zip" if given.zip else None
    try:
        refuse_what_is_there(folder, archive)
        stems = chapters(given.chapters, all_stems()) if given.chapters is not None else ()
        files = pack(notebooks=given.notebooks, compare=not given.no_compare, stems=stems)
        release(files, folder, archive)
    except LookupError as problem:
        raise UsageError(f"--chapters: {problem.args[0]}") from problem
    except (ReleaseError, OSError) as problem:
        raise UsageError(problem) from problem
    size = sum(map(len, files.values())) / 1000
    but = "" if given.no_compare else ", but under the seals that right answers open"
    print(f"wrote {len(files)} files, {size:.0f} kB, to {folder}: no answer is in them{but}")
    if archive is not None:
        print(f"wrote {archive}")
    return 0
