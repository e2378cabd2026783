"""Landlock: the kernel lets this process read and write these paths alone, and reach no network or process outside.

https://docs.kernel.org/userspace-api/landlock.html; system call numbers are the same on every architecture.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # by ABI, how many of the rights in linux/landlock.h it knows
_READ = 1 << 2 | 1 << 3  # READ_FILE, READ_DIR
_WRITE = _READ | 1 << 1 | 1 << 5 | 1 << 8 | 1 << 14  # and WRITE_FILE, REMOVE_FILE, MAKE_REG, TRUNCATE: no folder in it
_OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # rights that a rule for a file may have
_NET = 1 << 0 | 1 << 1  # bind and connect TCP, from ABI 4
_SCOPED = 1 << 0 | 1 << 1  # abstract unix sockets and signals to the outside, from ABI 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("fd", ctypes.c_int32))


def restrict(libc: ctypes.CDLL, readable: Iterable[str], writable: str) -> dict[str, bool]:
    """Needs PR_SET_NO_NEW_PRIVS. Says which of landlock-files, landlock-network and landlock-scope are in force."""
    abi = libc.syscall(_CREATE, None, 0, 1)
    if abi < 1 or not _enforce(libc, abi, readable, writable):
        return {"landlock-files": False, "landlock-network": False, "landlock-scope": False}
    return {"landlock-files": True, "landlock-network": abi >= 4, "landlock-scope": abi >= 6}


def _enforce(libc: ctypes.CDLL, abi: int, readable: Iterable[str], writable: str) -> bool:
    handled = (1 << _FILE_RIGHTS[min(abi, 5)]) - 1
    rules = _Ruleset(handled, _NET if abi >= 4 else 0, _SCOPED if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24  # an older kernel refuses fields that it does not know
    ruleset = libc.syscall(_CREATE, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    try:
        for path, rights in [*((path, _READ) for path in readable), ("/dev/null", _READ | _WRITE), (writable, _WRITE)]:
            with contextlib.suppress(FileNotFoundError):  # what is not there needs no rule
                _allow(libc, ruleset, path, rights & handled)
        return libc.syscall(_RESTRICT, ruleset, 0) == 0
    except OSError:
        return False
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _Beneath(rights if Path(path).is_dir() else rights & _OF_FILES, fd)
        if libc.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0):
            raise OSError(ctypes.get_errno(), "landlock_add_rule")
    finally:
        os.close(fd)
