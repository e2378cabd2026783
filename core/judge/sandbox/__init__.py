"""Runs a submission where it can do no harm, and asks it questions over a pipe.

    with start() as session:                        # in a process with one thread
        reply = session.ask(request, seconds=5)     # goes to Executor.handle in the child; raises Stopped
        session.printed

A child is forked and locked down before it sees the submission. `layers()` says what is in force on this computer: a
layer that is missing is done without, and `python -m core.judge --sandbox` tells so.

Covered, on Linux with all layers:
- Time. The parent holds the clock, for each request and for all of them, and kills whoever ignores it. Nothing of the
  child survives: it is the first process of its own process namespace, and it dies when its parent does.
- Resources. Memory (1.5 GiB beyond torch's own), processor time, threads, open files, the size of files and of the
  folder, what it prints (the rest is dropped) and what it replies.
- Files. It reads Python's and the system's libraries and what /proc and /sys say of the processor; it writes its
  private folder, which is in memory and goes with it. Not the home, the app's data, the project, /etc, other processes.
- Other processes and the network. No fork, no exec, no signals but to itself, no debugging, no sockets at all, no
  shared memory, no change of owner, mode or times of any file.
- The kernel. Calls that a submission has no use for, and all that are newer than Linux 6.5, are refused as errors.
- Privileges, of root too: none, and none to be had.
- Secrets. The worker starts with an environment of paths and locale alone; the child has HOME and TMPDIR.
- The grade. The child never holds what is expected: inputs and weights are drawn in the grader, most of them after the
  fork, and the grader compares what comes back, on the wire's own types, without unpickling. To patch torch, the
  executor or the wire, to print a verdict or to write to the pipe changes an answer, not how it is graded.

Not covered:
- Mistakes in the kernel. It is one process away: no virtual machine, no second kernel. Some 200 calls stay open.
- Side channels: timing, caches, speculative execution, what the load of the computer tells.
- What is already in memory. The child is a fork: through frames, gc or ctypes it can read the interpreter it came from,
  so also the references and the catalogue, which are hidden from `import` only, and submissions that wait to be judged.
  One that finds a reference and calls it answers rightly, as one that has it pasted in does.
- That a file exists. Landlock refuses reading and listing; `stat` of a known path still tells size and times.
- Load. One core for some seconds, 1.5 GiB, for each of the submissions judged at once; for a service to many, put
  cgroups around it.
- Its own account of itself. Traces, printed text and error messages are the child's word; a submission can lie about
  these, and the page must show them as text.
- Files in number, where there are no namespaces: each is limited, how many is not.
- Linux without Landlock or seccomp (old kernels, some containers), or on other machines than x86_64 and aarch64: then
  what `layers()` leaves out is open, and the rest holds.
- macOS: limits of resources, the clock and the killing of the group remain; files and network are open, and a child
  that sleeps outlives a judge that was killed.
- Windows: the clock remains, and an emptied environment. Do not judge code of strangers there.
"""

from core.judge.sandbox._child import Handler, Limits
from core.judge.sandbox._session import Session, Stopped, describe, layers, start

__all__ = ["Handler", "Limits", "Session", "Stopped", "describe", "layers", "start"]
