"""Which files a worker may see: what Python and PyTorch need, what is readable, nothing hidden."""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_OF_THE_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64"),
    *("/nix/store", "/gnu/store"),
)
_FACTS = (
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"),
    *("/sys/devices/system/cpu", "/proc/cpuinfo"),
)
_LIBRARIES_OF_GPU = ("/usr/local/cuda", "/usr/local/nvidia", "/opt/rocm", "/sys")
# not /dev/zero: mapped to be shared, it is memory that the limit on data does not count
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
_PROCESS_FACTS_OF_GPU = ("driver", "devices", "modules", "cpuinfo", "meminfo", "sys/vm")
# whether the system's libraries are shown
_shows = {"system": True}


@dataclass(frozen=True)
class VisibleFiles:
    """What a worker sees of the files of this machine.

    Attributes:
        shown: files and folders, with all beneath them, without links in their paths.
        hidden: those that are not to be seen though they lie under what is shown; what is shown
            by a longer path stays so.
        links: the links on the way to what is shown, and where they lead.
    """

    shown: tuple[Path, ...]
    hidden: tuple[Path, ...]
    links: tuple[tuple[Path, str], ...]


def view(readable: Iterable[Path], hidden: Iterable[Path], gpu: bool) -> VisibleFiles:
    """Work out what a worker sees."""
    real, links = _followed(readable)
    base, base_links = needed(gpu)
    covered = {Path(os.path.realpath(path)) for path in hidden}
    shown = {*real, *base} - covered
    return VisibleFiles(
        tuple(sorted(shown)),
        tuple(sorted(path for path in covered if _is_within(path, shown))),
        tuple(
            (path, to)
            for path, to in sorted({**links, **base_links}.items())
            if not _is_within(path, shown)
        ),
    )


def show_libraries(of_the_system: bool) -> None:
    """Say whether the system's libraries are shown from now on; with a GPU they always are."""
    _shows["system"] = of_the_system
    needed.cache_clear()


@functools.cache
def needed(gpu: bool) -> tuple[tuple[Path, ...], dict[Path, str]]:
    """Return what Python and PyTorch need, and the links on the way there."""
    python = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    prefixes = [str(Path(prefix, "lib")) for prefix in (sys.prefix, sys.base_prefix)]
    found_by_linker = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    names = {
        *(path for path in python if path),
        *prefixes,
        *site.getsitepackages(),
        *filter(_holds_torch, sys.path),
        *_FACTS,
        *(_LIBRARIES_OF_GPU if gpu else ()),
        *filter(os.path.isabs, found_by_linker),
    }
    real, links = _followed(Path(name) for name in names if Path(name).exists())
    system, more_links = _followed(Path(name) for name in _OF_THE_SYSTEM if Path(name).exists())
    links |= more_links
    # the prefix of a system's own Python is the system's
    real = real | system if gpu or _shows["system"] else real - system
    return tuple(path for path in sorted(real) if not _is_within(path, real)), links


def _is_within(path: Path, folders: set[Path]) -> bool:
    return any(above in folders for above in path.parents)


def _holds_torch(folder: str) -> bool:
    return bool(folder) and any(Path(folder, name).is_dir() for name in ("torch", "numpy"))


def _followed(paths: Iterable[Path]) -> tuple[set[Path], dict[Path, str]]:
    """Return the paths without links in them, and the links."""
    real: set[Path] = set()
    links: dict[Path, str] = {}
    for path in paths:
        at = Path("/")
        rest = list(reversed(Path(os.path.abspath(path)).parts[1:]))
        while rest:
            step = at / rest.pop()
            if not step.is_symlink():
                at = step
                continue
            links[step] = os.readlink(step)
            to = Path(os.path.abspath(at / links[step]))
            at, rest = Path("/"), rest + list(reversed(to.parts[1:]))
        real.add(at)
    return real - {Path("/")}, links


def devices(gpu: bool) -> Iterator[Path]:
    """Name the devices that a worker may use."""
    yield from map(Path, _DEVICES)
    if gpu:
        yield Path("/dev/zero")
        yield from sorted(Path("/dev").glob("nvidia*"))
        yield from (path for path in (Path("/dev/kfd"), Path("/dev/dri")) if path.exists())


def process_facts() -> Iterator[Path]:
    """Name what the drivers of a GPU read of /proc."""
    yield Path("/proc/self").resolve()
    yield from (Path("/proc", name) for name in _PROCESS_FACTS_OF_GPU)


def own_threads() -> Path:
    """Return where drivers from 570 on write the names of their threads, `<thread>/comm`."""
    return Path("/proc/self").resolve() / "task"


def without_hidden(seen: VisibleFiles) -> Iterator[tuple[Path, bool]]:
    """Cut what is shown into pieces that hold nothing hidden.

    Yields:
        Each piece, and whether it may be read with all beneath it. Else it may only be listed:
        Python asks a folder what is in it before it imports from there.
    """
    for path in seen.shown:
        yield from _cut(path, [away for away in seen.hidden if path in away.parents])


def _cut(path: Path, away: list[Path]) -> Iterator[tuple[Path, bool]]:
    if not away:
        yield path, True
        return
    yield path, False
    for child in path.iterdir():
        if child not in away and not child.is_symlink():
            yield from _cut(child, [other for other in away if child in other.parents])
