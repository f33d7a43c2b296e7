"""Attacks that change files."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import threading
import time
from pathlib import Path

from grader.sandbox.drill.attack import Target, attack
from grader.sandbox.kernel import call

_TEXT = "print('not mine')\n"


def _answer(world: Target) -> Path:
    return Path(world.own, "ex01_scores.py")


@attack()
def overwrite_own_answer(world: Target) -> object:
    """Overwrite one's own answer."""
    return _answer(world).write_text(_TEXT)


@attack()
def append_to_own_answer(world: Target) -> object:
    """Append to one's own answer."""
    with _answer(world).open("a") as file:
        return file.write(_TEXT)


@attack()
def truncate_without_writing(world: Target) -> object:
    """Empty one's own answer by opening it to read."""
    before = _answer(world).stat().st_size
    os.close(os.open(_answer(world), os.O_RDONLY | os.O_TRUNC))
    return before != _answer(world).stat().st_size or None


@attack()
def truncate_by_path(world: Target) -> object:
    """Cut one's own answer without opening it."""
    os.truncate(_answer(world), 1)
    return "cut"


@attack()
def add_file_to_own(world: Target) -> object:
    """Put a file beside one's own answer."""
    return Path(world.own, "conftest.py").write_text(_TEXT)


@attack()
def delete_own(world: Target) -> object:
    """Delete a file of one's own submission."""
    Path(world.own, "spare.py").unlink()
    return "deleted"


@attack()
def rename_own(world: Target) -> object:
    """Give a file of one's own submission another name."""
    Path(world.own, "notes.py").rename(Path(world.own, "torch.py"))
    return "renamed"


@attack()
def make_folder_in_own(world: Target) -> object:
    """Make a folder in one's own submission."""
    Path(world.own, "made").mkdir()
    return "made"


@attack()
def link_in_own(world: Target) -> object:
    """Make a link in one's own submission."""
    Path(world.own, "linked").symlink_to("/etc")
    return "linked"


@attack()
def change_mode(world: Target) -> object:
    """Change the mode of one's own answer."""
    _answer(world).chmod(0o666)
    return "changed"


@attack()
def change_mode_by_descriptor(world: Target) -> object:
    """Change the mode of one's own answer through an open file."""
    with _answer(world).open() as file:
        os.fchmod(file.fileno(), 0o644)
    return "changed"


@attack()
def change_times(world: Target) -> object:
    """Change the times of one's own answer, which say when it was handed in."""
    os.utime(_answer(world), (0, 0))
    return "changed"


@attack("perhaps")
def change_attributes(world: Target) -> object:
    """Set an extended attribute on one's own answer."""
    os.setxattr(_answer(world), "user.grade", b"100")
    return "set"


@attack("root")
def change_owner(world: Target) -> object:
    """Give one's own answer to another user."""
    os.chown(_answer(world), 1, 1)
    return "given"


@attack()
def overwrite_other(world: Target) -> object:
    """Overwrite another student's answer."""
    return Path(world.other).write_text(_TEXT)


@attack()
def overwrite_secret(world: Target) -> object:
    """Overwrite a solution."""
    return Path(world.secret).write_text(_TEXT)


@attack()
def write_to_tmp(_: Target) -> object:
    """Leave a file in /tmp for the next submission."""
    path = Path("/tmp/left-by-a-worker")
    path.write_text(_TEXT)
    path.unlink()
    return "left"


@attack()
def write_to_shared_memory(_: Target) -> object:
    """Leave a file in /dev/shm for the next submission."""
    path = Path("/dev/shm/left-by-a-worker")
    path.write_text(_TEXT)
    path.unlink()
    return "left"


@attack()
def make_pipe(world: Target) -> object:
    """Make a named pipe."""
    path = Path(world.own, "pipe")
    os.mkfifo(path)
    return "made"


@attack("root")
def make_device(world: Target) -> object:
    """Make a device file for the machine's disk."""
    os.mknod(Path(world.own, "disk"), stat.S_IFBLK | 0o600, os.makedev(254, 0))
    return "made"


@attack()
def file_without_name(world: Target) -> object:
    """Open a file that has no name in one's own submission."""
    return os.open(world.own, os.O_TMPFILE | os.O_WRONLY, 0o600)


@attack("root")
def write_kernel_setting(_: Target) -> object:
    """Open a setting of the kernel's for writing."""
    with open("/proc/sys/kernel/core_pattern", "r+b", buffering=0):
        return "opened"


@attack("perhaps")
def spare_oneself_from_the_kernel(_: Target) -> object:
    """Have the kernel end others first when memory runs out."""
    return Path("/proc/self/oom_score_adj").write_text("1000")


@attack("root")
def write_to_own_threads(_: Target) -> object:
    """Open for writing what the kernel has of one's own threads, but their names."""
    return _writable(Path("/proc/self/task"), but="comm")


@attack("perhaps")
def spare_own_thread_from_the_kernel(_: Target) -> object:
    """Have the kernel end others first, by the way of one's own threads."""
    thread = next(Path("/proc/self/task").iterdir())
    return os.write(os.open(thread / "oom_score_adj", os.O_WRONLY), b"0")


@attack()
def name_own_thread(_: Target) -> object:
    """Write a thread's name through its file, as a GPU's drivers do."""
    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
    other = max(map(int, os.listdir("/proc/self/task")))
    return Path(f"/proc/self/task/{other}/comm").write_text("named")


@attack()
def write_to_judges_threads(world: Target) -> object:
    """Open for writing what the kernel has of the judge's threads."""
    return _writable(Path(f"/proc/{world.judge}/task"))


@attack()
def write_to_nurserys_threads(world: Target) -> object:
    """Open for writing what the kernel has of the nursery's threads."""
    return _writable(Path(f"/proc/{world.nursery}/task"))


@attack("root")
def write_beside_own_threads(_: Target) -> object:
    """Open a setting of the kernel's for writing by the way of one's own threads."""
    thread = next(Path("/proc/self/task").iterdir())
    ways = (thread / way for way in ("root/proc", "../../.."))
    return [str(way) for way in ways if _opens(way / "sys/kernel/core_pattern")] or None


def _writable(folder: Path, but: str = "") -> object:
    """Name the files of the first thread that can be opened for writing, if there is one."""
    thread = next(folder.iterdir())
    files = (path for path in thread.iterdir() if path.name != but and path.is_file())
    return [path.name for path in files if _opens(path)] or None


def _opens(path: Path) -> bool:
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY))
        return True
    return False


@attack()
def program_in_scratch(world: Target) -> object:
    """Write a library to the scratch folder and load it."""
    source = next(Path(os.__file__).parent.glob("lib-dynload/_*.so"))
    copy = Path(world.scratch, "library.so")
    copy.write_bytes(source.read_bytes())
    with contextlib.suppress(AttributeError):
        return ctypes.CDLL(str(copy))
    return "loaded"


@attack()
def lock_shared_file(_: Target) -> object:
    """Lock a file that other workers read."""
    import fcntl

    with open(os.__file__) as file:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return "locked"


@attack("perhaps")
def remount_writable(world: Target) -> object:
    """Mount one's own submission again, so that it can be written to."""
    call("mount", None, os.fsencode(world.own), None, 0x1000 | 32, None)
    return _answer(world).write_text(_TEXT)
