"""seccomp: the kernel refuses system calls that a submission has no use for, so that they fail like any other error.

Refused is what the table names, and every call newer than the table. Numbers from the kernel's
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

import ctypes
import errno
import os
import platform
import struct

# name, number on x86_64, number on aarch64
_REFUSED = """
    # new processes and programs; other processes
    fork 57 -; vfork 58 -; execve 59 221; execveat 322 281; ptrace 101 117; process_vm_readv 310 270;
    process_vm_writev 311 271; process_madvise 440 440; process_mrelease 448 448; kcmp 312 272;
    pidfd_open 434 434; pidfd_getfd 438 438; pidfd_send_signal 424 424; tkill 200 130; rt_sigqueueinfo 129 138;
    rt_tgsigqueueinfo 297 240; setsid 112 157; setpgid 109 154; setpriority 141 140; sched_setaffinity 203 122;
    sched_setscheduler 144 119; sched_setparam 142 118; sched_setattr 314 274; ioprio_set 251 30;
    move_pages 279 239; migrate_pages 256 238;
    # network
    socket 41 198; socketpair 53 199; connect 42 203; bind 49 200; listen 50 201; accept 43 202;
    accept4 288 242;
    # memory that no limit counts
    memfd_create 319 279; memfd_secret 447 447; shmget 29 194; shmat 30 196; msgget 68 186; semget 64 190;
    mq_open 240 180;
    # marks on files, which Landlock leaves open; watching files
    chmod 90 -; fchmod 91 52; fchmodat 268 53; chown 92 -; lchown 94 -; fchown 93 55; fchownat 260 54;
    utime 132 -; utimes 235 -; futimesat 261 -; utimensat 280 88; setxattr 188 5; lsetxattr 189 6;
    fsetxattr 190 7; removexattr 197 14; lremovexattr 198 15; fremovexattr 199 16; inotify_init 253 -;
    inotify_init1 294 26; fanotify_init 300 262; sync 162 81; syncfs 306 267;
    # mounts and namespaces
    mount 165 40; umount2 166 39; pivot_root 155 41; chroot 161 51; open_tree 428 428; move_mount 429 429;
    fsopen 430 430; fsconfig 431 431; fsmount 432 432; fspick 433 433; mount_setattr 442 442; setns 308 268;
    unshare 272 97; name_to_handle_at 303 264; open_by_handle_at 304 265;
    # the kernel's larger machinery
    bpf 321 280; perf_event_open 298 241; userfaultfd 323 282; io_uring_setup 425 425; io_uring_enter 426 426;
    io_uring_register 427 427; keyctl 250 219; add_key 248 217; request_key 249 218; init_module 175 105;
    finit_module 313 273; kexec_load 246 104; kexec_file_load 320 294; personality 135 92; modify_ldt 154 -;
    iopl 172 -; ioperm 173 -; syslog 103 116; acct 163 89; quotactl 179 60; swapon 167 224; swapoff 168 225;
    reboot 169 142; settimeofday 164 170; clock_settime 227 112; clock_adjtime 305 266; adjtimex 159 171;
"""
_NEWEST = 451  # cachestat, Linux 6.5; the same on both
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of the table, AUDIT_ARCH_…
_CLONE, _CLONE3, _KILL, _TGKILL, _PRCTL, _PRLIMIT = (56, 220), (435, 435), (62, 129), (234, 131), (157, 167), (302, 261)

_PR_SET_SECCOMP, _MODE_FILTER, _PR_SET_NAME, _CLONE_THREAD = 22, 2, 15, 0x10000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = (
    0x20,
    0x15,
    0x35,
    0x45,
    0x06,
)  # BPF_LD|W|ABS, BPF_JMP|JEQ, JGE, JSET, BPF_RET
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data (little-endian: the low half)

_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, k


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def restrict(libc: ctypes.CDLL) -> bool:
    """Needs PR_SET_NO_NEW_PRIVS. Whether the filter is in force, for this process and all of its threads to come."""
    if platform.machine() not in _MACHINES:
        return False
    code = b"".join(struct.pack("=HBBI", *step) for step in _filter(*_MACHINES[platform.machine()], os.getpid()))
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    return libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0


def _filter(column: int, architecture: int, pid: int) -> list[_Instruction]:
    return [
        *((_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _REFUSE)),
        *((_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _NEWEST + 1), (_RETURN, 0, 0, _UNKNOWN)),
        # The C library tries clone3 first and, where there is none, clone, whose flags can be looked at.
        *((_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, _UNKNOWN)),
        *_only_if(_CLONE[column], _ANY_BIT, _CLONE_THREAD),
        *_only_if(_KILL[column], _EQUAL, pid),
        *_only_if(_TGKILL[column], _EQUAL, pid),
        *_only_if(_PRCTL[column], _EQUAL, _PR_SET_NAME),  # else it could wish to outlive its parent
        *_only_if(_PRLIMIT[column], _EQUAL, 0),  # its own limits
        *(step for number in _refused(column) for step in ((_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE))),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _refused(column: int) -> list[int]:
    lines = (line for line in _REFUSED.splitlines() if not line.lstrip().startswith("#"))
    entries = (entry.split() for line in lines for entry in line.split(";") if entry.strip())
    return [int(entry[1 + column]) for entry in entries if entry[1 + column] != "-"]


def _only_if(number: int, test: int, value: int) -> list[_Instruction]:
    """Allows the call when its first argument passes, refuses it otherwise."""
    return [
        *((_EQUAL, 0, 4, number), (_LOAD, 0, 0, _FIRST_ARGUMENT)),
        *((test, 0, 1, value), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)),
    ]
