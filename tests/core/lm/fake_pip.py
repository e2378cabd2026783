"""Stands in for pip: `fake_pip.py BEHAVIOUR WHEEL CALLS download … --dest FOLDER …`; each run adds a line to CALLS."""

import shutil
import sys
import time
from pathlib import Path

behaviour, wheel, calls, command, *rest = sys.argv[1:]
assert command == "download"
assert "--no-deps" in rest
target = Path(rest[rest.index("--dest") + 1]) / Path(wheel).name
with Path(calls).open("a") as log:
    log.write(f"{behaviour}\n")

if behaviour == "fetches":
    shutil.copyfile(wheel, target)
elif behaviour == "takes its time":
    time.sleep(1)
    shutil.copyfile(wheel, target)
elif behaviour == "truncates":
    target.write_bytes(Path(wheel).read_bytes()[:-100])
elif behaviour == "brings nothing":
    print("Successfully downloaded")
elif behaviour == "is offline":
    print(
        "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(no route to host)': /simple/"
    )
    sys.exit("ERROR: Could not find a version that satisfies the requirement (from versions: none)")
elif behaviour == "fills the disk":
    sys.exit("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device")
elif behaviour == "hangs":
    target.write_bytes(Path(wheel).read_bytes()[:5000])
    time.sleep(600)
