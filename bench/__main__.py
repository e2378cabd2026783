"""python -m bench [NAME …]: every measurement, or those named, each in a process of its own."""

import argparse
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
NOT_A_MEASUREMENT = {"__main__", "measure"}


def main() -> int:
    names = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NOT_A_MEASUREMENT)
    parser = argparse.ArgumentParser(prog="python -m bench", description="measure; a quiet machine tells the truth")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all if none is named")
    wanted = parser.parse_args().names or names
    if unknown := set(wanted) - set(names):
        parser.error(f"no measurement {', '.join(unknown)}; there are {', '.join(names)}")
    failed = False
    for name in wanted:
        print(f"\n{name}", flush=True)
        failed |= (
            subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=FOLDER.parent, check=False).returncode != 0
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
