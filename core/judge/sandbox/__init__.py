"""Runs a submission where it can do no harm. (Docstring follows.)"""

from core.judge.sandbox._child import Handler, Limits
from core.judge.sandbox._session import Session, Stopped, describe, layers, start

__all__ = ["Handler", "Limits", "Session", "Stopped", "describe", "layers", "start"]
