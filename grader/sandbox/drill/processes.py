"""Attacks that see, signal or start processes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from grader.sandbox.drill.attack import Target, attack
from grader.sandbox.kernel import call, prctl

_NO_SIGNAL = 0
_NOBODYS = 0x7FFFFFF0  # above the largest number that the kernel gives
_SET_SIGNAL, _NEW_USER = 10, 0x10000000
_SET_OWNER_OF = 0x8901


@attack()
def signal_judge(world: Target) -> object:
    """Ask whether the judge could be killed."""
    os.kill(world.judge, _NO_SIGNAL)
    return "it could"


@attack()
def signal_nursery(world: Target) -> object:
    """Ask whether the nursery could be killed."""
    os.kill(world.nursery, _NO_SIGNAL)
    return "it could"


@attack()
def signal_parent(world: Target) -> object:
    """Ask whether one's parent could be killed, by the number that one sees."""
    os.kill(os.getppid() or world.nursery, _NO_SIGNAL)
    return "it could"


@attack()
def signal_everyone(_: Target) -> object:
    """Ask whether all processes could be killed that may be."""
    os.kill(-1, _NO_SIGNAL)
    return "they could"


@attack()
def tell_by_refusal(world: Target) -> object:
    """Find out whether the judge's number is in use, by how a signal to it is refused."""
    answers: list[int | None] = []
    for number in (world.judge, _NOBODYS):
        try:
            os.kill(number, _NO_SIGNAL)
            answers.append(0)
        except OSError as error:
            answers.append(error.errno)
    return answers if answers[0] != answers[1] else None


@attack()
def signal_thread_of_judge(world: Target) -> object:
    """Signal a thread of the judge's."""
    call("tgkill", world.judge, world.judge, _NO_SIGNAL)
    return "it could"


@attack()
def signal_by_thread_number(world: Target) -> object:
    """Signal a thread by its number alone."""
    call("tkill", world.judge, _NO_SIGNAL)
    return "it could"


@attack()
def queue_signal(world: Target) -> object:
    """Send the judge a signal with a message."""
    message = ctypes.create_string_buffer(struct.pack("<iii", signal.SIGUSR1, 0, -1), 128)
    call("rt_sigqueueinfo", world.judge, _NO_SIGNAL, message)
    return "it could"


@attack()
def signal_by_handle(world: Target) -> object:
    """Signal the judge through a handle of it."""
    call("pidfd_send_signal", call("pidfd_open", world.judge, 0), _NO_SIGNAL, None, 0)
    return "it could"


@attack()
def signal_when_pipe_is_ready(world: Target) -> object:
    """Have the kernel signal the judge when a pipe can be read."""
    read, _ = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETOWN, world.judge)
    fcntl.fcntl(read, _SET_SIGNAL, signal.SIGKILL)
    return "it would"


@attack()
def signal_when_socket_is_ready(world: Target) -> object:
    """Have the kernel signal the judge when one's own connection can be read."""
    fcntl.ioctl(world.talk, _SET_OWNER_OF, struct.pack("<i", world.judge))
    return "it would"


@attack()
def kill_oneself(_: Target) -> None:
    """End as if killed from outside."""
    os.kill(os.getpid(), signal.SIGKILL)


@attack()
def kill_own_thread(_: Target) -> None:
    """End as if killed from outside, by the number of one's thread."""
    call("tkill", call("gettid"), signal.SIGKILL)


@attack()
def kill_own_thread_by_both_numbers(_: Target) -> None:
    """End as if killed from outside, by the numbers of process and thread."""
    call("tgkill", os.getpid(), call("gettid"), signal.SIGKILL)


@attack()
def queue_own_end(_: Target) -> None:
    """End as if killed from outside, by a signal with a message."""
    message = ctypes.create_string_buffer(struct.pack("<iii", signal.SIGKILL, 0, -1), 128)
    call("rt_sigqueueinfo", os.getpid(), signal.SIGKILL, message)


@attack()
def kill_oneself_by_handle(_: Target) -> None:
    """End as if killed from outside, through a handle of oneself."""
    call("pidfd_send_signal", call("pidfd_open", os.getpid(), 0), signal.SIGKILL, None, 0)


@attack()
def be_killed_for_time(_: Target) -> object:
    """Set a limit on one's own time, past which the kernel ends one as if from outside."""
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    return "it would"


@attack()
def outlive_nursery(_: Target) -> object:
    """Take back that one ends with the nursery."""
    prctl(1, 0)
    return "it is taken back"


@attack()
def slow_judge_down(world: Target) -> object:
    """Give the judge less of the processor."""
    os.setpriority(os.PRIO_PROCESS, world.judge, 19)
    return "slowed down"


@attack()
def move_judge(world: Target) -> object:
    """Say which processor the judge may use."""
    os.sched_setaffinity(world.judge, os.sched_getaffinity(0))
    return "moved"


@attack()
def limit_judge(world: Target) -> object:
    """Read the judge's limits, as the first step to lower them."""
    return resource.prlimit(world.judge, resource.RLIMIT_NOFILE)


@attack()
def see_group_of_judge(world: Target) -> object:
    """Find out whether a process with the judge's number is there, by its group."""
    return os.getpgid(world.judge)


@attack()
def see_priority_of_judge(world: Target) -> object:
    """Find out whether a process with the judge's number is there, by its priority."""
    return os.getpriority(os.PRIO_PROCESS, world.judge) + 100


@attack()
def see_processors_of_judge(world: Target) -> object:
    """Find out whether a process with the judge's number is there, by its processors."""
    return os.sched_getaffinity(world.judge)


@attack()
def list_processes(_: Target) -> object:
    """List all processes."""
    return [name for name in os.listdir("/proc") if name.isdigit()] or None


@attack()
def judges_command(world: Target) -> object:
    """Read with which words the judge was started."""
    return Path(f"/proc/{world.judge}/cmdline").read_bytes()


@attack()
def judge_is_there(world: Target) -> object:
    """Find out in /proc whether a process has the judge's number."""
    return os.stat(f"/proc/{world.judge}")


@attack()
def fork(_: Target) -> object:
    """Fork."""
    if (child := os.fork()) == 0:
        os._exit(0)
    return child


@attack()
def fork_twice(_: Target) -> object:
    """Leave an orphan behind."""
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(1)
        os._exit(0)
    return os.wait()[0]


@attack()
def fork_by_clone(_: Target) -> object:
    """Fork with the older call."""
    if (child := call("clone", signal.SIGCHLD, 0, None, None, 0)) == 0:
        os._exit(0)
    return child


@attack()
def fork_by_newer_clone(_: Target) -> object:
    """Fork with the newer call, whose flags no filter can read."""
    flags = ctypes.create_string_buffer(struct.pack("<QQQQQ", 0, 0, 0, 0, signal.SIGCHLD), 64)
    if (child := call("clone3", flags, 64)) == 0:
        os._exit(0)
    return child


@attack("perhaps")
def fork_into_new_user_namespace(_: Target) -> object:
    """Fork into a user namespace, where one may do more."""
    if (child := call("clone", signal.SIGCHLD | _NEW_USER, 0, None, None, 0)) == 0:
        os._exit(0)
    return child


@attack()
def run_program(_: Target) -> object:
    """Run a program."""
    return subprocess.run(["/bin/true"], check=True)


@attack()
def spawn_program(_: Target) -> object:
    """Run a program without Python's fork."""
    return os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})


@attack()
def become_program(world: Target) -> object:
    """Become another program, which has the connection too."""
    os.set_inheritable(world.talk, True)
    words = f"import os; os.write({world.talk}, b'through: it runs')"
    os.execv(sys.executable, [sys.executable, "-I", "-c", words])


@attack()
def become_program_in_memory(world: Target) -> object:
    """Become a program that lies in memory only."""
    program = os.memfd_create("program")
    words = f"#!/bin/sh\nprintf 'through: it runs' >&{world.talk}\n"
    os.write(program, words.encode())
    os.set_inheritable(world.talk, True)
    os.set_inheritable(program, True)
    os.execve(program, ["program"], {})
