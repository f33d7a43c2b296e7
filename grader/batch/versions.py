"""What a student has handed in several times as loose files: which counts, and what was before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.batch.meant import Meant
from grader.batch.names import listed
from grader.batch.uploads import Loose
from grader.naming import in_words

Versions = dict[str, list[Path]]
TWICE = "{}: it is not clear which one is {}: leave one, or say --duplicates latest"


def in_order(handed: Sequence[tuple[Meant, Path]]) -> tuple[Loose, str]:
    """Lay the versions of each file in order; the last one counts.

    Returns:
        The files, and a sentence if nothing but the files' own times tells the order.
    """
    found: dict[str, list[tuple[Meant, Path]]] = {}
    for said, path in handed:
        found.setdefault(said.file, []).append((said, path))
    unsure = ""
    versions: Versions = {}
    for file, each in found.items():
        if all(said.nth for said, _ in each):
            each.sort(key=lambda one: (one[0].nth or (), one[1].name))
        else:
            each.sort(key=lambda one: (one[1].lstat().st_mtime, one[1].name))
        versions[file] = [path for _, path in each]
        if len(each) > 1 and not all(said.nth for said, _ in each):
            near = in_words([path.name for _, path in handed if path in versions[file]])
            unsure = unsure or TWICE.format(near, file)
    return _loose(versions), unsure


def _loose(versions: Versions) -> Loose:
    return Loose(
        tuple((file, paths[-1]) for file, paths in versions.items()),
        tuple((file, path) for file, paths in versions.items() for path in paths[:-1]),
    )


def states(loose: Loose) -> list[Loose]:
    """List what lay there after each time that something was handed in; the last is the whole."""
    versions: Versions = {}
    for file, path in (*loose.earlier, *loose.files):
        versions.setdefault(file, []).append(path)
    times = max(map(len, versions.values()))
    return [
        Loose(tuple((file, paths[min(time, len(paths) - 1)]) for file, paths in versions.items()))
        for time in range(times - 1)
    ] + [loose]


def told(loose: Loose) -> Iterator[tuple[str, list[str]]]:
    """Say of each file with earlier versions which one counts, and name those."""
    for file, path in loose.files:
        before = [other.name for name, other in loose.earlier if name == file]
        if before:
            yield f"{path.name} counts as {file}, not {listed(before)}, handed in before", before
