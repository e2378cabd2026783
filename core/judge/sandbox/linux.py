"""What Linux offers beside Landlock and seccomp: namespaces, a private file system in memory, no privileges."""

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38
_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = (
    *(0x00020000, 0x08000000, 0x10000000),
    *(0x20000000, 0x40000000),
)
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_CAPABILITY_VERSION_3 = 0x20080522


def c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def adopt_orphans(yes: bool) -> None:
    """Whether processes that lose their parent become this process's children, when they descend from it."""
    c_library().prctl(_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


def enter_namespaces() -> bool:
    """Own users, network (none), mounts and System V IPC from now on; own process numbers for the next child.

    Where it is allowed; a user's own namespace needs no privilege. Raises OSError when it was only half allowed.
    """
    uid, gid = os.getuid(), os.getgid()
    if c_library().unshare(_CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWNS):
        return False
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    return True


def mount_memory(folder: str, most_bytes: int) -> bool:
    """An empty file system of limited size at `folder`, seen by this process alone and gone with it."""
    options = f"size={most_bytes},nr_inodes=1000,mode=700".encode()
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    return c_library().mount(b"tmpfs", folder.encode(), b"tmpfs", flags, options) == 0


def drop_capabilities() -> bool:
    libc = c_library()
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    return libc.capset(header, (ctypes.c_uint32 * 6)()) == 0


def refuse_new_privileges() -> bool:
    libc = c_library()
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    return libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0


def die_with_parent() -> bool:
    """After all changes of privileges, which undo it."""
    return c_library().prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) == 0


def mapped_bytes() -> int:
    """Address space in use now."""
    with contextlib.suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0
