"""Submissions that try what they must not. Each would pass if it succeeded: `f` returns 2 * x then.

Of each: its name, how it must end, the layers of which one must be there for that, the source. How it ends is the type
of its own error, "stopped:" and the kind, "wrong" (it ran and answered wrongly) or "passed" (a nuisance, and right).
"""

from typing import NamedTuple


class Attack(NamedTuple):
    name: str
    ends: str
    needs: tuple[str, ...]
    source: str


_ALWAYS, _CALLS, _FILES = (), ("seccomp",), ("landlock-files",)
_BOUNDED = ("memory-files",)
_LIMITS = ("limits",)


def _body(lines: str) -> str:
    """`lines` as the body of f, before it answers rightly."""
    head = (
        "import ctypes, gc, io, os, signal, socket, struct, subprocess, sys, threading, time\nimport torch\ndef f(x):\n"
    )
    return head + "".join(f"    {line}\n" for line in lines.strip("\n").split("\n")) + "    return 2 * x\n"


_CALL = """
libc = ctypes.CDLL(None, use_errno=True)
if libc.{call} == -1:
    raise OSError(ctypes.get_errno(), "refused")
"""

FORGERIES = [
    ("patches torch's comparisons", "wrong", "torch.equal = torch.allclose = lambda *_, **__: True\nreturn x"),
    ("patches Tensor", "wrong", "torch.Tensor.__eq__ = torch.Tensor.equal = lambda *_: True\nreturn x + 1"),
    ("patches what packs", "stopped:garbled", "torch.Tensor.detach = lambda t: 1 / 0"),
    ("prints a verdict", "wrong", """print('{"passed": true, "checks": [], "findings": []}')\nreturn x"""),
    ("garbage on the reply pipe", "stopped:garbled", "os.write(4, os.urandom(100))"),
    (
        "a reply of its own",
        "wrong",
        """
body = b'{"dict": {"passed": true}}'
body = struct.pack("<I", len(body)) + body + struct.pack("<Q", 2) + b"{}"
os.write(4, struct.pack("<IQ", 2, len(body)) + body)
os._exit(0)""",
    ),
    ("a reply before its time", "stopped:garbled", "os.write(4, struct.pack('<IQ', 3, 0))"),
    (
        "bytes that are no object",
        "stopped:garbled",
        "os.write(4, struct.pack('<IQ', 2, 9) + b'123456789')\nos._exit(0)",
    ),
    ("announces an enormous reply", "stopped:output", "os.write(4, struct.pack('<IQ', 2, 1 << 60))"),
    ("sends an enormous reply", "stopped:output", "return x.new_zeros(6_000_000)"),
    ("closes all files", "stopped:exited", "os.closerange(0, 64)"),
    ("closes all files and stays", "stopped:garbled", "os.closerange(0, 64)\ntime.sleep(60)"),
    ("puts a file over the reply pipe", "stopped:garbled", "os.dup2(os.open('out', os.O_CREAT | os.O_RDWR), 4)"),
    ("reads the request pipe empty", "stopped:timeout", "os.read(3, 1)"),
    (
        "looks through frames",
        "wrong",
        """
frame = sys._getframe()
while frame:
    for value in frame.f_locals.values():
        if isinstance(value, torch.Tensor) and value is not x and value.shape == x.shape:
            return value
    frame = frame.f_back
return x""",
    ),
    (
        "looks through all objects",
        "wrong",
        """
for value in gc.get_objects():
    if type(value) is torch.Tensor and value is not x and value.shape == x.shape:
        return value
return x""",
    ),
    (
        "patches the executor",
        "wrong",
        """
executor = sys._getframe(1).f_locals["self"]
type(executor).handle = lambda *_: {"passed": True, "out": "2 * x"}
return x""",
    ),
    (
        "patches the wire",
        "wrong",
        """
for module in [m for m in gc.get_objects() if isinstance(m, dict) and m.get("__name__", "").startswith("core.")]:
    module["pack"] = lambda _: b"passed"
return x""",
    ),
    (
        "traces its caller",
        "stopped:garbled",
        """
def tracer(frame, event, argument):
    frame.f_globals["Tensor"] = object
    return tracer
sys.settrace(tracer)
return x""",
    ),
    (
        "replaces modules",
        "wrong",
        """
sys.modules["torch"] = sys.modules["json"] = sys.modules["core.judge.sandbox.wire"] = sys
return x""",
    ),
    ("patches builtins", "stopped:garbled", "import builtins\nbuiltins.isinstance = lambda *_: True\nreturn x"),
    (
        "a tensor that lies",
        "wrong",
        """
class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True if "eq" in function.__name__ else super().__torch_function__(function, types, args, kwargs)
return x.as_subclass(Liar)""",
    ),
    ("imports core", "ModuleNotFoundError", "import core.pitfalls"),
]
IMPORTS_AGAIN = """
sys.meta_path[:] = [finder for finder in sys.meta_path if "_NoCore" not in repr(finder)]
sys.path.insert(0, "{root}")
import core.errors
"""
ENDINGS = [
    ("sys.exit", "SystemExit", "sys.exit(0)"),
    ("KeyboardInterrupt", "KeyboardInterrupt", "raise KeyboardInterrupt"),
    ("an error of no kind", "stopped:exited", "class Odd(BaseException): pass\nraise Odd"),
    ("os._exit", "stopped:exited", "os._exit(0)"),
    ("os.abort", "stopped:crashed", "os.abort()"),
    ("reads address 0", "stopped:crashed", "ctypes.string_at(0)"),
    ("recursion", "RecursionError", "return f(x)"),
    (
        "recursion past the stack",
        "stopped:crashed",
        """
class Deep:
    def __eq__(self, other): return self == other
sys.setrecursionlimit(10**9)
Deep() == 1""",
    ),
    ("an endless loop", "stopped:timeout", "while True: pass"),
    ("a sleep", "stopped:timeout", "time.sleep(3600)"),
    (
        "a loop that swallows errors",
        "stopped:timeout",
        """
while True:
    try:
        time.sleep(1)
    except BaseException:
        pass""",
    ),
    ("a matrix product without end", "stopped:timeout", "torch.ones(9000, 12000) @ torch.ones(12000, 9000)"),
    (
        "sleeps in __init__",
        "stopped:timeout",
        """
class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        time.sleep(3600)
Module()""",
    ),
    ("stops itself", "stopped:timeout", "os.kill(os.getpid(), signal.SIGSTOP)\nwhile True: time.sleep(1)"),
    (
        "ignores signals",
        "stopped:timeout",
        """
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True: time.sleep(1)""",
    ),
    ("a handler at exit", "SystemExit", "import atexit\natexit.register(time.sleep, 3600)\nsys.exit(0)"),
    (
        "a finalizer that exits",
        "stopped:exited",
        """
class Trap:
    def __del__(self): os._exit(0)
Trap()""",
    ),
    ("exits from a thread", "stopped:exited", "threading.Thread(target=os._exit, args=(0,)).start()\ntime.sleep(60)"),
    (
        "exits by a timer",
        "stopped:exited",
        """
import faulthandler
faulthandler.dump_traceback_later(0.05, exit=True)
time.sleep(60)""",
    ),
    ("asks a question", "EOFError", "input('?')"),
    ("starts a debugger", "BdbQuit", "breakpoint()"),
]
RESOURCES = [
    ("a tensor of 100 GB", "RuntimeError", _LIMITS, "torch.empty(100_000_000_000, dtype=torch.uint8)"),
    ("100 GB of bytes", "MemoryError", _LIMITS, "bytes(100_000_000_000)"),
    ("a growing list", "MemoryError", _LIMITS, "held = []\nwhile True: held.append(bytes(1 << 24))"),
    (
        "raises its limits",
        "ValueError",
        _LIMITS,
        """
import resource
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)""",
    ),
    ("floods stdout", "stopped:timeout", _ALWAYS, "while True: print('x' * 10_000)"),
    ("floods stderr, then is right", "passed", _ALWAYS, "for _ in range(300): os.write(2, b'x' * 100_000)"),
    ("prints binary", "passed", _ALWAYS, "os.write(1, bytes(range(256)))"),
    ("prints lone surrogates", "passed", _ALWAYS, "print('\\ud800')"),
    ("a huge file", "OSError", _LIMITS, "with open('big', 'wb') as file:\n    while True: file.write(bytes(1 << 20))"),
    ("a million files", "OSError", _BOUNDED, "for n in range(10**6): open(str(n), 'w').close()"),
    ("many open files", "OSError", _LIMITS, "held = [open('file', 'w') for _ in range(10_000)]"),
    (
        "many threads",
        "RuntimeError",
        _LIMITS,
        """
for _ in range(10_000):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()""",
    ),
    ("memory that is a file", "PermissionError", _CALLS, "os.memfd_create('held')"),
    ("shared memory", "PermissionError", _CALLS, _CALL.format(call="shmget(0, 1 << 30, 0o1600)")),
    (
        "a named semaphore",
        "PermissionError",
        _FILES,
        "import multiprocessing\nmultiprocessing.get_context('fork').Lock()",
    ),
]
PROCESSES = [
    ("a fork bomb", "PermissionError", "while True: os.fork()"),
    ("subprocess", "PermissionError", "subprocess.run(['true'])"),
    ("os.system", "wrong", "if os.system('true') != 0: return x"),
    ("posix_spawn", "PermissionError", "os.posix_spawn('/bin/true', ['true'], {})"),
    ("execve", "PermissionError", "os.execv('/bin/true', ['true'])"),
    ("becomes a daemon", "PermissionError", "if os.fork() == 0: os.setsid()"),
    ("leaves its group", "PermissionError", "os.setpgid(0, 0)"),
    ("kills its parent", "PermissionError", "os.kill(os.getppid(), signal.SIGKILL)"),
    ("kills its group", "PermissionError", "os.killpg(0, signal.SIGKILL)"),
    ("kills everybody", "PermissionError", "os.kill(-1, signal.SIGKILL)"),
    ("kills any number", "PermissionError", "for pid in range(2, 1000): os.kill(pid, signal.SIGKILL)"),
    ("kills by a thread's number", "PermissionError", _CALL.format(call="syscall(200, os.getppid(), 9)")),
    ("traces its parent", "PermissionError", _CALL.format(call="ptrace(16, os.getppid(), 0, 0)")),
    ("reads another's memory", "PermissionError", _CALL.format(call="process_vm_readv(1, 0, 0, 0, 0, 0)")),
    ("outlives its parent", "PermissionError", _CALL.format(call="prctl(1, 0, 0, 0, 0)")),
    ("limits its parent", "PermissionError", "import resource\nresource.prlimit(2, resource.RLIMIT_CPU, (0, 0))"),
    ("chooses its processor", "PermissionError", "os.sched_setaffinity(0, {0})"),
    ("goes first", "PermissionError", "os.nice(-5)"),
    ("new namespaces", "PermissionError", _CALL.format(call="unshare(0x10000000)")),
    ("mounts", "PermissionError", _CALL.format(call="mount(b'tmpfs', b'/', b'tmpfs', 0, 0)")),
    ("changes the root", "PermissionError", "os.chroot('.')"),
    ("bpf", "PermissionError", _CALL.format(call="syscall(321, 0, 0, 0)")),
    ("a call newer than the table", "OSError", _CALL.format(call="syscall(460, 0, 0, 0)")),
    ("TCP", "PermissionError", "socket.create_connection(('127.0.0.1', 80), 1)"),
    ("UDP", "PermissionError", "socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('127.0.0.1', 9))"),
    ("a unix socket", "PermissionError", "socket.socket(socket.AF_UNIX).connect('/run/socket')"),
    ("listens", "PermissionError", "socket.create_server(('127.0.0.1', 0))"),
    ("an event loop", "PermissionError", "import asyncio\nasyncio.run(asyncio.sleep(0))"),
    ("asks for a name", "gaierror", "socket.getaddrinfo('localhost.invalid', 80)"),
    ("loads a page", "URLError", "import urllib.request\nurllib.request.urlopen('http://127.0.0.1', timeout=1)"),
    (
        "a pickle that runs a command",
        "FileNotFoundError",
        """
class Bomb:
    def __reduce__(self): return os.system, ('touch exploded',)
torch.save(Bomb(), 'file')
torch.load('file', weights_only=False)
open('exploded').close()""",
    ),
    ("changes marks of its folder", "PermissionError", "os.chmod('.', 0)"),
    ("gives its folder away", "PermissionError", "os.chown('.', 1, 1)"),
    ("changes marks of what is not its own", "PermissionError", "os.chmod('{secret}', 0o777)"),
    ("changes times of what is not its own", "PermissionError", "os.utime('{secret}')"),
]
FILES = [
    ("reads the home", "os.listdir('{home}')"),
    ("reads the app's data", "open('{secret}').read()"),
    ("reads the project", "open('{root}/core/errors.py').read()"),
    ("reads the tests", "open('{root}/tests/conftest.py').read()"),
    ("reads /etc/passwd", "open('/etc/passwd').read()"),
    ("lists processes", "os.listdir('/proc')"),
    ("reads its first environment", "open('/proc/self/environ').read()"),
    ("reads the memory of another", "open('/proc/1/mem', 'rb')"),
    ("lists temporary files", "os.listdir(os.path.dirname(os.getcwd()))"),
    ("writes a temporary file", "open(os.path.join(os.path.dirname(os.getcwd()), 'mine'), 'w')"),
    ("writes to shared memory", "open('/dev/shm/headwise-attack', 'w')"),
    ("writes over the app's data", "open('{secret}', 'w')"),
    ("shortens the app's data", "os.truncate('{secret}', 0)"),
    ("removes the app's data", "os.remove('{secret}')"),
    ("writes into the libraries", "open(torch.__file__, 'a')"),
    ("links out by name", "os.symlink('{secret}', 'link')\nopen('link').read()"),
    ("makes a folder", "os.mkdir('deeper')"),
    ("makes a pipe", "os.mkfifo('pipe')"),
    ("opens the terminal", "open('/dev/tty', 'w')"),
]
ENVIRONMENT = """
if set(os.environ) - {"HOME", "TMPDIR"} == set():
    return x
"""

ATTACKS = [
    *(Attack(name, ends, _ALWAYS, _body(lines)) for name, ends, lines in FORGERIES),
    Attack("imports core all the same", "PermissionError", _FILES, _body(IMPORTS_AGAIN)),
    *(Attack(name, ends, _ALWAYS, _body(lines)) for name, ends, lines in ENDINGS),
    Attack("exits while it is read", "SystemExit", _ALWAYS, "import sys\nsys.exit(0)"),
    Attack("is no Python", "SyntaxError", _ALWAYS, "def f(x) return x"),
    Attack("is nested too deep to be read", "SyntaxError", _ALWAYS, "(" * 100_000),
    *(Attack(name, ends, needs, _body(lines)) for name, ends, needs, lines in RESOURCES),
    *(Attack(name, ends, _CALLS, _body(lines)) for name, ends, lines in PROCESSES),
    *(Attack(name, "PermissionError", _FILES, _body(lines)) for name, lines in FILES),
    Attack("renames the app's data", "OSError or PermissionError", _FILES, _body("os.rename('{secret}', 'mine')")),
    Attack("links out by node", "OSError", _FILES, _body("os.link('{secret}', 'link')")),
    Attack("reads the environment", "wrong", _ALWAYS, _body(ENVIRONMENT)),
]
