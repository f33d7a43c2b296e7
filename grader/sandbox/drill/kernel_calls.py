"""Attacks on the kernel: calls that a worker has no use for, and ways to get rights back."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import struct

from grader.sandbox.drill.attack import Target, attack
from grader.sandbox.kernel import call, prctl

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x20000
_TYPE_A_KEY = 0x5412
_ONLY_USER_MODE = 1
_REMOVE = 0


def _reached(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> str:
    """Make a call that means nothing, and see whether it is the kernel that says so."""
    try:
        return f"{name} gives {call(name, *arguments)}"
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            raise
        return f"{name} says {error.strerror}"


@attack("perhaps")
def new_user_namespace(_: Target) -> object:
    """Become root in a user namespace."""
    return call("unshare", _NEW_USER) or "become"


@attack("root")
def new_mount_namespace(_: Target) -> object:
    """Take a mount namespace, to mount in."""
    return call("unshare", _NEW_MOUNTS) or "taken"


@attack("root")
def mount_something(world: Target) -> object:
    """Mount an empty file system over a folder."""
    place = os.fsencode(os.path.dirname(world.inner))
    call("mount", b"tmpfs", place, b"tmpfs", 0, None)
    call("umount2", place, 2)
    return "mounted"


@attack("root")
def unmount_something(world: Target) -> object:
    """Unmount what lies over a hidden folder."""
    return _reached("umount2", os.fsencode(os.path.dirname(world.inner)), 2)


@attack("root")
def change_root(_: Target) -> object:
    """Change what / means."""
    return call("chroot", b"/") or "changed"


@attack("tracers")
def join_namespace_of_judge(world: Target) -> object:
    """Open the judge's mount namespace, to move there."""
    return os.open(f"/proc/{world.judge}/ns/mnt", os.O_RDONLY)


@attack("root")
def new_way_to_mount(_: Target) -> object:
    """Open a file system with the newer calls."""
    return call("fsopen", b"tmpfs", 0)


@attack("perhaps")
def clone_tree(_: Target) -> object:
    """Copy a tree of files with the newer calls."""
    return call("open_tree", -100, b"/", 1)


@attack()
def file_in_memory(_: Target) -> object:
    """Make a file in memory, which no limit counts."""
    return os.memfd_create("mine")


@attack("perhaps")
def secret_memory(_: Target) -> object:
    """Make memory that even the kernel does not see."""
    return call("memfd_secret", 0)


@attack("perhaps")
def faults_of_ones_own(_: Target) -> object:
    """Stop the kernel in the middle of a copy."""
    return call("userfaultfd", _ONLY_USER_MODE)


@attack("perhaps")
def keys_of_user(_: Target) -> object:
    """Keep something in the kernel's ring of keys."""
    return call("add_key", b"user", b"left", b"left", 4, -4)


@attack("perhaps")
def ring_of_keys(_: Target) -> object:
    """Ask for one's ring of keys."""
    return call("keyctl", 0, -3, 0, 0, 0)


@attack("perhaps")
def program_in_kernel(_: Target) -> object:
    """Load something into the kernel's own machine."""
    return _reached("bpf", 0, ctypes.create_string_buffer(128), 128)


@attack("perhaps")
def watch_performance(_: Target) -> object:
    """Watch the processor's counters."""
    wanted = ctypes.create_string_buffer(struct.pack("<IIQ", 1, 128, 0), 128)
    return call("perf_event_open", wanted, 0, -1, -1, 0)


@attack("root")
def watch_all_files(_: Target) -> object:
    """Watch what others do with files."""
    return call("fanotify_init", 0, 0)


@attack()
def watch_a_folder(_: Target) -> object:
    """Watch what happens in a folder."""
    return call("inotify_init1", 0)


@attack("root")
def read_kernels_log(_: Target) -> object:
    """Read the kernel's log."""
    return call("syslog", 3, ctypes.create_string_buffer(64), 64)


@attack()
def shared_segment(_: Target) -> object:
    """Make shared memory that stays when one ends."""
    segment = call("shmget", 0, 4096, 0o1600)
    call("shmctl", segment, _REMOVE, None)
    return f"segment {segment}"


@attack()
def queue_of_messages(_: Target) -> object:
    """Make a queue of messages that stays when one ends."""
    queue = call("msgget", 0, 0o1600)
    call("msgctl", queue, _REMOVE, None)
    return f"queue {queue}"


@attack()
def semaphores(_: Target) -> object:
    """Make semaphores that stay when one ends."""
    semaphores = call("semget", 0, 1, 0o1600)
    call("semctl", semaphores, 0, _REMOVE, None)
    return f"set {semaphores}"


@attack("perhaps")
def queue_by_name(_: Target) -> object:
    """Make a queue with a name, for another submission to find."""
    return _reached("mq_open", b"left", 0o102, 0o600, None)


@attack()
def other_kind_of_machine(_: Target) -> object:
    """Have the kernel treat one's memory as older programs want it."""
    return hex(call("personality", 0xFFFFFFFF))


@attack("perhaps")
def older_input_and_output(_: Target) -> object:
    """Set up the kernel's older way to read and write later."""
    return call("io_setup", 1, ctypes.create_string_buffer(bytes(8), 8)) or "set up"


@attack("root")
def set_clock(_: Target) -> object:
    """Set the clock."""
    return _reached("clock_settime", 99, ctypes.create_string_buffer(16))


@attack("root")
def restart_machine(_: Target) -> object:
    """Try the call that restarts the machine, with a wrong password."""
    return _reached("reboot", 0, 0, 0, None)


@attack("perhaps")
def load_module(_: Target) -> object:
    """Try the call that loads a driver, with nothing to load."""
    return _reached("init_module", None, 0, b"")


@attack()
def type_for_the_user(world: Target) -> object:
    """Try the call that types at a terminal, on one's own connection."""
    try:
        fcntl.ioctl(world.talk, _TYPE_A_KEY, b"x")
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            raise
        return error.strerror
    return "typed"


@attack()
def be_traced(_: Target) -> object:
    """Ask to be traced, so that one's memory can be read from outside."""
    prctl(4, 1)
    return "can be"


@attack("perhaps")
def name_a_tracer(_: Target) -> object:
    """Let any process trace this one."""
    return _reached("prctl", 0x59616D61, -1, 0, 0, 0)


@attack()
def another_filter(_: Target) -> object:
    """Try the call that filters calls, which can also pass them on to others."""
    return _reached("seccomp", 2, 0, ctypes.create_string_buffer(4))


@attack()
def raise_limits(_: Target) -> object:
    """Raise a limit."""
    for kind in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        hard = resource.getrlimit(kind)[1]
        if hard == resource.RLIM_INFINITY:
            return f"there is none on {kind}"
        resource.setrlimit(kind, (hard + 1, hard + 1))
    return "raised"


@attack("root")
def become_root(_: Target) -> object:
    """Become root."""
    os.setresuid(0, 0, 0)
    return os.getuid() == 0 or None


@attack("root")
def capabilities(_: Target) -> object:
    """Take capabilities back."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    call("capset", header, (ctypes.c_uint32 * 6)(1 << 21, 1 << 21, 0, 0, 0, 0))
    return "taken"


@attack("perhaps")
def second_set_of_calls(_: Target) -> object:
    """Make a call by its number in x86_64's second set."""
    if platform.machine() != "x86_64":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(ctypes.c_long(0x40000000 + 41), 2, 1, 0) >= 0:
        return "a socket"
    return None if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS) else "reached"


@attack("perhaps")
def calls_of_older_machines(_: Target) -> object:
    """Make a call the way programs for 32 bits do."""
    if platform.machine() != "x86_64":
        return None
    # mov eax, 20 (getpid); int 0x80; ret
    code = bytes.fromhex("b814000000cd80c3")
    own, rights = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
    memory = mmap.mmap(-1, 4096, flags=own, prot=rights | mmap.PROT_EXEC)
    memory.write(code)
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return ctypes.CFUNCTYPE(ctypes.c_int)(at)()


@attack()
def core_file(_: Target) -> object:
    """Leave one's memory in a file when one crashes."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return f"up to {hard}" if hard else None
