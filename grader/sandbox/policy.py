"""Which system calls an enclosed worker may make: what Python and PyTorch need, and no more.

A call that is not named here is refused, those too that kernels will only get in years to come.
"""

from __future__ import annotations

from grader.sandbox.bpf import SELF, Among, Excludes, Flags, Implies, NotAmong, Nothing, Test

# the frequent ones first: the filter is read from its start
_FREE = """
read write futex munmap madvise mprotect brk close fstat newfstatat lseek
clock_gettime gettimeofday getrandom sched_yield readv writev pread64 pwrite64 preadv pwritev
close_range dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create
epoll_create1 epoll_ctl epoll_wait epoll_pwait sendfile copy_file_range fsync fdatasync ftruncate
fallocate
stat lstat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat getcwd chdir fchdir
getdents getdents64 mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 umask
mremap msync membarrier
set_robust_list rseq set_tid_address gettid exit exit_group restart_syscall
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack
pause
clock_getres clock_nanosleep nanosleep time getitimer setitimer alarm times getrusage
getpid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp uname sysinfo
getcpu getrlimit wait4 waitid sched_get_priority_max sched_get_priority_min arch_prctl
shutdown getsockname getpeername
"""

# what the drivers of a GPU call besides: eventfd2 and get_mempolicy were seen (NVIDIA 580), others
# were reported; a socket without connect, accept and send is of use to nobody but them
_FREE_WITH_GPU = """
eventfd2 timerfd_create timerfd_settime mlock munlock mlock2 mbind get_mempolicy set_mempolicy
mincore memfd_create bind listen
"""

_THREAD = 0x10000
_NEW_NAMESPACES = 0x7E020000
_TRUNCATE, _FOR_WRITING = 0x200, 0x3
# descriptors may be copied and asked about, but nobody is named who gets a signal for them
_FCNTL = (0, 1, 2, 3, 4, 1030, 1032)
# terminal or not, how large, how much to read, blocking or not
_TCGETS, _TCGETS2, _TIOCGWINSZ, _FIONREAD, _FIONBIO = 0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421
_FIOCLEX, _FIONCLEX = 0x5451, 0x5450
_IOCTL = (_TCGETS, _TCGETS2, _TIOCGWINSZ, _FIONREAD, _FIONBIO, _FIOCLEX, _FIONCLEX)
# typing for a terminal's user, signals to others
_TIOCSTI, _TIOCLINUX, _TIOCSCTTY, _FIOSETOWN, _SIOCSPGRP = 0x5412, 0x541C, 0x540E, 0x8901, 0x8902
_IOCTL_NEVER = (_TIOCSTI, _TIOCLINUX, _TIOCSCTTY, _FIOSETOWN, _SIOCSPGRP)
# peek, truncate, at once, all, no signal; not the rarer ones, such as data out of turn
_NO_MESSAGE_FLAGS = 0xFFFFFFFF & ~(0x2 | 0x20 | 0x40 | 0x100 | 0x4000)
_SET_NAME, _GET_NAME, _NAME_MEMORY = 15, 16, 0x53564D41
_SOCKET_LEVEL, _SOCKET_FACTS = 1, (3, 4, 38, 39)  # type, error, protocol, family
# a worker that ends itself by it would seem to be killed from outside
_KILL = (9,)
_SHARED, _ANONYMOUS, _GROWS_DOWN = 0x1, 0x20, 0x100
# the limit on data counts neither of these kinds of memory
_MAPS: tuple[Test, ...] = (
    Excludes(3, _ANONYMOUS, _SHARED),
    Flags(3, has=0, lacks=_GROWS_DOWN),
)
# NVIDIA's libcuda fails unless it may bind and listen at a name of its own, `@cuda-uvmfd-...`
_UNIX, _SEQPACKET_CLOEXEC = 1, 0x80005
_SOCKET_OF_GPU: tuple[Test, ...] = (Among(0, (_UNIX,)), Among(1, (_SEQPACKET_CLOEXEC,)))

_CONDITIONAL: dict[str, tuple[Test, ...]] = {
    "sendto": (Nothing(4), Flags(3, has=0, lacks=_NO_MESSAGE_FLAGS)),
    "recvfrom": (Flags(3, has=0, lacks=_NO_MESSAGE_FLAGS),),
    # an open that truncates what it may not write would get past Landlock before ABI 3
    "openat": (Implies(2, _TRUNCATE, _FOR_WRITING),),
    "open": (Implies(1, _TRUNCATE, _FOR_WRITING),),
    # which pages of a library the system keeps in memory is a note to whoever is graded later:
    # who may drop them (fadvise64) writes it, and who may ask for them (RWF_NOWAIT) reads it
    "preadv2": (Nothing(5),),
    "pwritev2": (Nothing(5),),
    "clone": (Flags(0, has=_THREAD, lacks=_NEW_NAMESPACES),),
    "fcntl": (Among(1, _FCNTL),),
    "kill": (Among(0, (SELF,)), NotAmong(1, _KILL)),
    "tkill": (Among(0, (SELF,)), NotAmong(1, _KILL)),
    "tgkill": (Among(0, (SELF,)), NotAmong(2, _KILL)),
    "rt_sigqueueinfo": (Among(0, (SELF,)), NotAmong(1, _KILL)),
    "rt_tgsigqueueinfo": (Among(0, (SELF,)), NotAmong(2, _KILL)),
    "getpgid": (Among(0, (0, SELF)),),
    "sched_getaffinity": (Among(0, (0, SELF)),),
    # limits are only read: a larger stack is memory that no limit counts, and past a limit of its
    # own on time the kernel would kill a worker as if from outside
    "prlimit64": (Among(0, (0, SELF)), Nothing(2)),
    "prctl": (Among(0, (_SET_NAME, _GET_NAME, _NAME_MEMORY)),),
    "getsockopt": (Among(1, (_SOCKET_LEVEL,)), Among(2, _SOCKET_FACTS)),
}


def allowed(gpu: bool) -> tuple[str, ...]:
    """Return the calls that are let through whatever their arguments."""
    return tuple((_FREE + _FREE_WITH_GPU * gpu).split())


def conditional(gpu: bool) -> dict[str, tuple[Test, ...]]:
    """Return the calls that are let through if all their tests hold."""
    if gpu:
        ioctl = NotAmong(1, _IOCTL_NEVER)
        return {"mmap": (), **_CONDITIONAL, "socket": _SOCKET_OF_GPU, "ioctl": (ioctl,)}
    return {"mmap": _MAPS, **_CONDITIONAL, "ioctl": (Among(1, _IOCTL),)}
