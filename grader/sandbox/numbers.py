"""The numbers of the kernel's system calls on the two machines that the sandbox knows."""

from __future__ import annotations

import os

# name, number on x86_64, number on aarch64; - where the machine has no such call
_TABLE = """
read 0 63, write 1 64, open 2 -, close 3 57, stat 4 -, fstat 5 80, lstat 6 -, poll 7 -,
lseek 8 62, mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214, rt_sigaction 13 134,
rt_sigprocmask 14 135, rt_sigreturn 15 139, ioctl 16 29, pread64 17 67, pwrite64 18 68,
readv 19 65, writev 20 66, access 21 -, pipe 22 -, select 23 -, sched_yield 24 124,
mremap 25 216, msync 26 227, mincore 27 232, madvise 28 233, shmget 29 194, shmctl 31 195,
dup 32 23, dup2 33 -, pause 34 -, nanosleep 35 101, getitimer 36 102, alarm 37 -,
setitimer 38 103, getpid 39 172, sendfile 40 71, socket 41 198, connect 42 203, sendto 44 206,
recvfrom 45 207, sendmsg 46 211, recvmsg 47 212, shutdown 48 210, bind 49 200, listen 50 201,
getsockname 51 204, getpeername 52 205, socketpair 53 199, setsockopt 54 208,
getsockopt 55 209, clone 56 220, fork 57 -, vfork 58 -, execve 59 221, exit 60 93,
wait4 61 260, kill 62 129, uname 63 160, semget 64 190, semctl 66 191, msgget 68 186,
msgctl 71 187, fcntl 72 25, flock 73 32, fsync 74 82, fdatasync 75 83, truncate 76 45,
ftruncate 77 46, getdents 78 -, getcwd 79 17, chdir 80 49, fchdir 81 50, rename 82 -,
mkdir 83 -, rmdir 84 -, unlink 87 -, readlink 89 -, chmod 90 -, umask 95 166,
gettimeofday 96 169, getrlimit 97 163, getrusage 98 165, sysinfo 99 179, times 100 153,
ptrace 101 117, getuid 102 174, syslog 103 116, getgid 104 176, geteuid 107 175,
getegid 108 177, getppid 110 173, getpgrp 111 -, getgroups 115 158, setgroups 116 159,
setresuid 117 147, getresuid 118 148, getresgid 120 150, getpgid 121 155, capset 126 91,
rt_sigpending 127 136, rt_sigtimedwait 128 137, rt_sigqueueinfo 129 138, rt_sigsuspend 130 133,
sigaltstack 131 132, personality 135 92, statfs 137 43, fstatfs 138 44, getpriority 140 141,
setpriority 141 140, sched_setscheduler 144 119, sched_get_priority_max 146 125,
sched_get_priority_min 147 126, mlock 149 228, munlock 150 229, mlockall 151 230,
modify_ldt 154 -, pivot_root 155 41, prctl 157 167, arch_prctl 158 -, setrlimit 160 164,
chroot 161 51, acct 163 89, mount 165 40, umount2 166 39, swapon 167 224, reboot 169 142,
setdomainname 171 162, init_module 175 105, quotactl 179 60, gettid 186 178, setxattr 188 5,
tkill 200 130, time 201 -, futex 202 98, sched_setaffinity 203 122, sched_getaffinity 204 123,
io_setup 206 0, epoll_create 213 -, remap_file_pages 216 234, getdents64 217 61,
set_tid_address 218 96, restart_syscall 219 128, fadvise64 221 223, timer_create 222 107,
clock_settime 227 112, clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115,
exit_group 231 94, epoll_wait 232 -, epoll_ctl 233 21, tgkill 234 131, mbind 237 235,
set_mempolicy 238 237, get_mempolicy 239 236, mq_open 240 180, kexec_load 246 104,
waitid 247 95, add_key 248 217, keyctl 250 219, ioprio_set 251 30, openat 257 56,
mkdirat 258 34, mknodat 259 33, newfstatat 262 79, unlinkat 263 35, renameat 264 38,
linkat 265 37, symlinkat 266 36, readlinkat 267 78, fchmodat 268 53, faccessat 269 48,
pselect6 270 72, ppoll 271 73, unshare 272 97, set_robust_list 273 99, get_robust_list 274 100,
splice 275 76, tee 276 77, vmsplice 278 75, utimensat 280 88, epoll_pwait 281 22,
timerfd_create 283 85, fallocate 285 47, timerfd_settime 286 86, signalfd4 289 74,
eventfd2 290 19, epoll_create1 291 20, dup3 292 24, pipe2 293 59, inotify_init1 294 26,
preadv 295 69, pwritev 296 70, rt_tgsigqueueinfo 297 240, perf_event_open 298 241,
fanotify_init 300 262, prlimit64 302 261, name_to_handle_at 303 264, open_by_handle_at 304 265,
setns 308 268, getcpu 309 168, process_vm_readv 310 270, process_vm_writev 311 271,
kcmp 312 272, finit_module 313 273, sched_setattr 314 274, renameat2 316 276, seccomp 317 277,
getrandom 318 278, memfd_create 319 279, bpf 321 280, execveat 322 281, userfaultfd 323 282,
membarrier 324 283, mlock2 325 284, copy_file_range 326 285, preadv2 327 286, pwritev2 328 287,
statx 332 291, rseq 334 293, pidfd_send_signal 424 424, io_uring_setup 425 425,
open_tree 428 428, move_mount 429 429, fsopen 430 430, pidfd_open 434 434, clone3 435 435,
close_range 436 436, openat2 437 437, pidfd_getfd 438 438, faccessat2 439 439,
process_madvise 440 440, mount_setattr 442 442, landlock_create_ruleset 444 444,
landlock_add_rule 445 445, landlock_restrict_self 446 446, memfd_secret 447 447
"""
MACHINES = ("x86_64", "aarch64")


def _column(machine: str) -> dict[str, int]:
    at = 1 + MACHINES.index(machine)
    rows = (row.split() for row in _TABLE.split(","))
    return {row[0]: int(row[at]) for row in rows if row[at] != "-"}


NUMBERS = {machine: _column(machine) for machine in MACHINES}


def machine() -> str:
    """Return this machine's name, or an empty text where the sandbox has no numbers for it."""
    name = os.uname().machine if hasattr(os, "uname") else ""
    return name if name in MACHINES and os.sysconf("SC_LONG_BIT") == 64 else ""
