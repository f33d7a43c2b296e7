"""The filter of system calls, worked through by hand for both kinds of machine."""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
import struct

import pytest

from grader.sandbox.bpf import ALLOW, JUMP_AT_LEAST, JUMP_BITS, JUMP_EQUAL, KILL, LOAD, RETURN
from grader.sandbox.numbers import MACHINES, NUMBERS
from grader.sandbox.seccomp import build

each_machine = pytest.mark.parametrize("machine", MACHINES)


def verdict(machine: str, name: str, *arguments: int, gpu: bool = False, own: int = 1234) -> str:
    """Ask a filter what becomes of a call, as the kernel would."""
    architecture = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    number = NUMBERS[machine].get(name, -1)
    return _verdict(build(machine, gpu).of(own), architecture, number, arguments)


def _verdict(code: bytes, architecture: int, number: int, arguments: tuple[int, ...]) -> str:
    values = [value & 0xFFFFFFFFFFFFFFFF for value in (*arguments, *[0] * (6 - len(arguments)))]
    call = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *values)
    steps = list(struct.iter_unpack("<HBBI", code))
    held, at = 0, 0
    while True:
        what, yes, no, value = steps[at]
        at += 1
        if what == LOAD:
            held = struct.unpack_from("<I", call, value)[0]
        elif what == RETURN:
            refused = errno.errorcode.get(value & 0xFFFF, "?")
            return {ALLOW: "let through", KILL: "killed"}.get(value, refused)
        else:
            holds = {
                JUMP_EQUAL: held == value,
                JUMP_AT_LEAST: held >= value,
                JUMP_BITS: bool(held & value),
            }[what]
            at += yes if holds else no


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", ()),
        ("futex", ()),
        ("mmap", (0, 4096, 3, 0x22)),
        ("mmap", (0, 4096, 1, 0x01, 5)),
        ("mmap", (0, 4096, 0, 0x20022)),
        ("openat", (-100, 1, 0)),
        ("openat", (-100, 1, os.O_WRONLY | 0x200)),
        ("clone", (0x3D0F00,)),
        ("kill", (1234, 6)),
        ("tgkill", (1234, 1240, 6)),
        ("sendto", (3, 1, 1, 0x4000, 0)),
        ("recvfrom", (3, 1, 1, 0x100, 0)),
        ("fcntl", (3, 1030)),
        ("ioctl", (3, 0x5401)),
        ("prctl", (15,)),
        ("prlimit64", (0, 7)),
        ("getsockopt", (3, 1, 3)),
    ],
)
@each_machine
def test_lets_through(machine, name, arguments):
    assert verdict(machine, name, *arguments) == "let through"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *((name, ()) for name in ("execve", "socket", "connect", "bind", "socketpair", "ptrace")),
        *((name, ()) for name in ("unshare", "bpf", "keyctl", "userfaultfd")),
        *((name, ()) for name in ("mount", "setns", "memfd_create")),
        *((name, ()) for name in ["io_uring_setup", "process_vm_readv", "truncate", "setsockopt"]),
        *((name, ()) for name in ["setresuid", "seccomp", "timer_create", "sendmsg", "linkat"]),
        ("openat", (-100, 1, 0x200)),
        ("clone", (17,)),
        ("clone", (0x3D0F00 | 0x10000000,)),
        ("kill", (1235, 6)),
        ("kill", (-1, 6)),
        ("kill", (0, 6)),
        ("tkill", (1235, 6)),
        ("tgkill", (1, 1234, 6)),
        ("kill", (1234, 9)),
        ("tkill", (1234, 9)),
        ("tgkill", (1234, 1240, 9)),
        ("tgkill", (1234, 1240, 9 | 1 << 32)),
        ("rt_sigqueueinfo", (1234, 9)),
        ("rt_tgsigqueueinfo", (1234, 1240, 9)),
        ("pidfd_send_signal", (3, 9)),
        ("mmap", (0, 4096, 3, 0x21)),
        ("mmap", (0, 4096, 3, 0x23)),
        ("mmap", (0, 4096, 3, 0x122)),
        ("mmap", (0, 4096, 3, 0x21 | 1 << 32)),
        ("setrlimit", (0, 1)),
        ("prlimit64", (0, 0, 1)),
        ("prlimit64", (0, 0, 1 << 32)),
        ("sendto", (3, 1, 1, 0, 1)),
        ("sendto", (3, 1, 1, 0, 1 << 32)),
        ("sendto", (3, 1, 1, 1, 0)),
        ("fcntl", (3, 8)),
        ("fcntl", (3, 15)),
        ("ioctl", (3, 0x5412)),
        ("prctl", (1,)),
        ("prctl", (4,)),
        ("prlimit64", (1, 7)),
        ("getsockopt", (3, 1, 77)),
        ("getsockopt", (3, 6, 3)),
    ],
)
@each_machine
def test_refuses(machine, name, arguments):
    assert verdict(machine, name, *arguments) == "EPERM"


@each_machine
def test_refuses_what_only_x86_64_has(machine):
    for name in {"fork", "vfork", "modify_ldt"} & set(NUMBERS[machine]):
        assert verdict(machine, name) == "EPERM"


@pytest.mark.parametrize("name", ["clone3", "openat2"])
@each_machine
def test_newer_calls_seem_not_to_be_there(machine, name):
    assert verdict(machine, name) == "ENOSYS"


@each_machine
def test_calls_of_the_future_seem_not_to_be_there(machine):
    architecture = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    code = build(machine, False).of(1234)
    assert {_verdict(code, architecture, n, ()) for n in range(460, 600)} == {"ENOSYS"}
    assert _verdict(code, architecture, 0x40000000, ()) == "ENOSYS"


@each_machine
def test_kills_what_speaks_for_another_machine(machine):
    code = build(machine, False).of(1234)
    assert _verdict(code, 0x40000003, NUMBERS[machine]["read"], ()) == "killed"


@each_machine
def test_gpu_may_talk_to_its_driver_but_not_type(machine):
    assert verdict(machine, "ioctl", 3, 0xC0084600) == "EPERM"
    assert verdict(machine, "ioctl", 3, 0xC0084600, gpu=True) == "let through"
    assert verdict(machine, "ioctl", 3, 0x5412, gpu=True) == "EPERM"
    assert verdict(machine, "socket", 1, 1, 0, gpu=True) == "EPERM"


@each_machine
def test_gpu_may_share_memory_with_its_driver(machine):
    assert verdict(machine, "mmap", 0, 4096, 3, 0x21, gpu=True) == "let through"


@each_machine
def test_numbers_are_those_of_libseccomp(machine):
    found = ctypes.util.find_library("seccomp")
    if not found:
        pytest.skip("libseccomp is not installed")
    resolve = ctypes.CDLL(found).seccomp_syscall_resolve_name_arch
    architecture = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    theirs = {name: resolve(architecture, name.encode()) for name in NUMBERS["x86_64"]}
    known = {name: number for name, number in theirs.items() if number >= 0}
    ours = {name: NUMBERS[machine][name] for name in NUMBERS[machine] if name in known}
    assert ours == known
    assert len(known) > 200 - 40 * (machine == "aarch64")
