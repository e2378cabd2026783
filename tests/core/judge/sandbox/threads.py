"""The worker as it is where there is no fork."""

import functools
import sys

from core.judge.worker import main
from tests.core.judge.sandbox.helpers import grade

if __name__ == "__main__":
    main(
        functools.partial(grade, fresh="tests.core.judge.sandbox.fresh_child"),
        float(sys.argv[1]),
        sys.argv[2],
        forks=False,
    )
