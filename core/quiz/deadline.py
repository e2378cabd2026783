"""Breaking off Python code that takes too long, in the thread that runs it."""

import ctypes
import threading
from collections.abc import Generator
from contextlib import contextmanager


class Late(BaseException):
    """The time is up. No `Exception`, so that the code that is broken off does not catch it by the way."""


@contextmanager
def deadline(seconds: float) -> Generator[None]:
    """Raise `Late` in this thread when the body takes longer than `seconds`.

    It comes between two steps of the interpreter: a single long call into a library is waited for.
    """
    thread, lock, is_over = threading.get_ident(), threading.Lock(), False

    def late() -> None:
        with lock:
            if not is_over:
                _raise_in(thread, Late)

    timer = threading.Timer(seconds, late)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            is_over = True
        timer.cancel()
        _raise_in(thread, None)  # what was raised while the body came to its end


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    # the only way that Python offers; it works on every platform and outside the main thread too
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error) if error else None)
