"""Attacks that read what they should not."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from pathlib import Path

from grader.sandbox.drill.attack import Target, attack
from grader.sandbox.kernel import call

_ATTACH, _DETACH = 16, 17
_PEER_PROCESS = 77
_SECRET = b"JUDGE-SECRET"


@attack()
def read_secret(world: Target) -> object:
    """Read a solution by its path."""
    return Path(world.secret).read_text()


@attack()
def list_secrets(world: Target) -> object:
    """List the folder of the solutions."""
    return os.listdir(Path(world.secret).parent)


@attack()
def read_through_link(world: Target) -> object:
    """Read a solution through a link in one's own folder."""
    return Path(world.own, "link.py").read_text()


@attack()
def read_through_dots(world: Target) -> object:
    """Read a solution by a path out of one's own folder."""
    return Path(world.own, os.path.relpath(world.secret, world.own)).read_text()


@attack()
def read_through_proc_root(world: Target) -> object:
    """Read a solution through /proc/self/root."""
    return Path(f"/proc/self/root{world.secret}").read_text()


@attack("tracers")
def read_through_judges_root(world: Target) -> object:
    """Read a solution through /proc/<judge>/root."""
    return Path(f"/proc/{world.judge}/root{world.secret}").read_text()


@attack("tracers")
def read_through_judges_folder(world: Target) -> object:
    """List the folder that the judge is in."""
    return os.listdir(f"/proc/{world.judge}/cwd")


@attack()
def read_through_path_descriptor(world: Target) -> object:
    """Open the folder for its path only, then read a solution from there."""
    folder = os.open(Path(world.secret).parent, os.O_PATH)
    return os.read(os.open(Path(world.secret).name, os.O_RDONLY, dir_fd=folder), 99)


@attack()
def read_by_openat2(world: Target) -> object:
    """Open a solution with a newer call than most filters know."""
    how = ctypes.create_string_buffer(struct.pack("<QQQ", os.O_RDONLY, 0, 0), 24)
    return os.read(call("openat2", -100, os.fsencode(world.secret), how, 24), 99)


@attack()
def read_through_hard_link(world: Target) -> object:
    """Give a solution a second name in one's own scratch folder."""
    os.link(world.secret, Path(world.scratch, "hard"))
    return Path(world.scratch, "hard").read_text()


@attack()
def read_hidden_inside_readable(world: Target) -> object:
    """Read a hidden file under a folder that may be read."""
    return Path(world.inner).read_text()


@attack()
def read_other_submission(world: Target) -> object:
    """Read another student's answer."""
    return Path(world.other).read_text()


@attack()
def read_home(world: Target) -> object:
    """List the home folder of the one who grades."""
    return os.listdir(Path(world.secret).parents[1] / "home")


@attack()
def read_machine(_: Target) -> object:
    """Read a file of the machine that Python does not need."""
    return Path("/etc/passwd").read_text()


@attack("perhaps")
def read_library(world: Target) -> object:
    """Read a library of the system's."""
    return len(Path(world.library).read_bytes())


@attack()
def forget_pages_of_a_library(world: Target) -> object:
    """Have the kernel drop what it keeps of a library in memory: a bit for whoever looks later."""
    file = os.open(world.library, os.O_RDONLY)
    os.posix_fadvise(file, 0, 4096, os.POSIX_FADV_DONTNEED)
    return "dropped"


@attack()
def ask_for_pages_of_a_library(world: Target) -> object:
    """Ask what the kernel keeps of a library in memory: a bit from whoever has read there."""
    file = os.open(world.library, os.O_RDONLY)
    try:
        return os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return "not there, which is the other answer"


@attack("perhaps")
def handle_of_secret(world: Target) -> object:
    """Ask for a handle that opens a solution past all folders."""
    handle = ctypes.create_string_buffer(struct.pack("<I", 128), 136)
    call("name_to_handle_at", -100, os.fsencode(world.secret), handle, (ctypes.c_int * 1)(), 0)
    return "a handle"


@attack()
def judges_environment(world: Target) -> object:
    """Read the judge's environment."""
    return Path(f"/proc/{world.judge}/environ").read_bytes()


@attack("tracers")
def judges_memory_file(world: Target) -> object:
    """Read the judge's memory through /proc."""
    with open(f"/proc/{world.judge}/mem", "rb", buffering=0) as memory:
        memory.seek(world.address)
        return memory.read(len(_SECRET))


@attack("tracers")
def judges_memory_call(world: Target) -> object:
    """Read the judge's memory with process_vm_readv."""
    into = ctypes.create_string_buffer(len(_SECRET))
    here = (ctypes.c_size_t * 2)(ctypes.addressof(into), len(_SECRET))
    there = (ctypes.c_size_t * 2)(world.address, len(_SECRET))
    call("process_vm_readv", world.judge, here, 1, there, 1, 0)
    return into.raw


@attack("tracers")
def trace_judge(world: Target) -> object:
    """Attach to the judge as a debugger does."""
    call("ptrace", _ATTACH, world.judge, 0, 0)
    os.waitpid(world.judge, 0x40000000)
    call("ptrace", _DETACH, world.judge, 0, 0)
    return "attached"


@attack("tracers")
def trace_nursery(world: Target) -> object:
    """Attach to the nursery, from which the next workers are forked."""
    call("ptrace", _ATTACH, world.nursery, 0, 0)
    os.waitpid(world.nursery, 0x40000000)
    call("ptrace", _DETACH, world.nursery, 0, 0)
    return "attached"


@attack("tracers")
def judges_descriptor(world: Target) -> object:
    """Take an open file out of the judge."""
    return call("pidfd_getfd", call("pidfd_open", world.judge, 0), 0, 0)


@attack("perhaps")
def judge_at_the_other_end(world: Target) -> object:
    """Ask one's own connection for a handle of the process at its other end."""
    with socket.socket(fileno=os.dup(world.talk)) as talk:
        return talk.getsockopt(socket.SOL_SOCKET, _PEER_PROCESS)


@attack("perhaps")
def environment_holds_secret(_: Target) -> object:
    """Find a secret of the judge's in one's own environment."""
    return os.environ.get("JUDGE_SECRET")


@attack("perhaps")
def own_first_environment(_: Target) -> object:
    """Read what the nursery was started with."""
    return Path("/proc/self/environ").read_bytes() or None
