"""What the layout promises, as rules: each is a function from a tree of files to the faults in it."""

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

COMMON = {"errors", "markup"}  # modules of core that all of core may import
# What each package of core may import of the others. A new package is entered here first.
CORE: dict[str, set[str]] = {
    "attention": set(),
    "trace": set(),
    "costs": set(),
    "lm": {"attention"},
    "pitfalls": {"trace", "attention"},
    "judge": {"pitfalls", "trace", "attention"},
    "content": {"attention", "costs", "trace", "pitfalls"},
    "quiz": {"judge", "pitfalls", "trace", "costs"},
    "progress": {"quiz"},
}
LAYERS = ("app", "frame", "page", "ui", "core")  # each may import what comes after it, never what comes before
OURS = ("app", "pages", "core", "tests", "bench", "tools")
FAR_FROM_CORE = {"streamlit", "plotly"}
STATE = "pages/_ui/state.py"
MAX_LINES = 500
PRODUCT_NAME = "Headwise"
IN_ANY_LANGUAGE = {"pages/_ui/i18n.py", "pages/_ui/maps/samples.py"}  # names of languages, sample sentences


# Reading the tree ----------------------------------------------------------------------------------------------------


def files(root: Path, *suffixes: str) -> list[Path]:
    """The project's own files: what git knows, or would take in; everything, where there is no git."""
    listing = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    run = subprocess.run(listing, capture_output=True, text=True, check=False)
    inside = (root / ".git").exists() and run.returncode == 0
    paths = [root / name for name in run.stdout.split("\0") if name] if inside else root.rglob("*")
    return sorted(path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes))


def product(root: Path) -> Iterator[tuple[str, ast.Module]]:
    """Each Python file that the app is made of: its path in the project, and its tree."""
    for path in files(root, ".py"):
        name = path.relative_to(root).as_posix()
        if name == "app.py" or name.startswith(("core/", "pages/")):
            yield name, ast.parse(path.read_text(encoding="utf-8"), name)


def imports(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of all that a file imports, wherever in it: relative and lazy imports, and those by string.

    `from core.lm import cards` gives core.lm.cards, which may be a module or a name in one: the rules need not know.
    """
    package = name.removesuffix(".py").removesuffix("/__init__").split("/")
    if not name.endswith("__init__.py"):
        package = package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__") and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield node.lineno, argument.value
            else:
                yield node.lineno, "<computed>"


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def layer(module: str) -> str:
    """Which layer a path or dotted name belongs to; "" for what is none of the app's."""
    parts = module.removesuffix(".py").replace("/", ".").split(".")
    match parts:
        case ["app", *_]:
            return "app"
        case ["pages", "_frame", *_]:
            return "frame"
        case ["pages", "_ui", *_]:
            return "ui"
        case ["pages", *_]:
            return "page"
        case ["core", *_]:
            return "core"
    return ""


# The rules -----------------------------------------------------------------------------------------------------------


def upward_imports(root: Path) -> Iterator[str]:
    for name, tree in product(root):
        mine = layer(name)
        for line, module in imports(name, tree):
            theirs = layer(module)
            if module == "<computed>":
                yield f"{name}:{line} imports a name that is computed, which no rule can follow"
            elif theirs and (LAYERS.index(theirs) < LAYERS.index(mine) or mine == theirs in ("page", "frame")):
                yield f"{name}:{line} ({mine}) imports {module} ({theirs})"
            elif module.split(".")[0] in OURS and not theirs:
                yield f"{name}:{line} imports {module}, which is not part of the app"


def core_imports(root: Path) -> Iterator[str]:
    for name, tree in product(root):
        if not name.startswith("core/") or name == "core/__init__.py":
            continue
        mine = name.removesuffix(".py").split("/")[1]
        allowed = COMMON | CORE.get(mine, set())
        if mine not in CORE.keys() | COMMON:
            yield f"{name}: say in CORE what the package {mine} may import"
            continue
        for line, module in imports(name, tree):
            parts = module.split(".")
            if parts[0] in FAR_FROM_CORE:
                yield f"{name}:{line} imports {module}: core knows nothing of how it is shown"
            elif parts[0] == "core" and len(parts) > 1 and parts[1] not in allowed | {mine}:
                yield f"{name}:{line} imports {module}: {mine} may import {', '.join(sorted(allowed))}"


def private_imports(root: Path) -> Iterator[str]:
    """`_x.py` belongs to its package alone."""
    for name, tree in product(root):
        for line, module in imports(name, tree):
            parts = module.split(".")
            private = next((i for i, part in enumerate(parts) if part.startswith("_") and part != "_ui"), None)
            if parts[0] not in OURS or private is None or parts[private].startswith("__"):
                continue
            owner = "/".join(parts[:private])
            if not name.startswith(f"{owner}/"):
                yield f"{name}:{line} imports {module}, which is private to {owner}"


def state_elsewhere(root: Path) -> Iterator[str]:
    for name, tree in product(root):
        if name == STATE:
            continue
        for node in ast.walk(tree):
            used = getattr(node, "attr", None) or (node.name if isinstance(node, ast.alias) else None)
            if used in ("session_state", "query_params"):
                yield f"{name}:{node.lineno} uses {used}: only {STATE} does"


def stolen_names(root: Path) -> Iterator[str]:
    """`pages/` comes first on sys.path: a page called like a library would be imported in its stead."""
    taken = sys.stdlib_module_names | importlib.metadata.packages_distributions().keys() | set(OURS)
    for path in files(root, ".py"):
        if path.parent == root / "pages" and path.stem in taken:
            yield f"pages/{path.name}: {path.stem} is the name of a library"


def too_long(root: Path) -> Iterator[str]:
    for path in files(root, ".py"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_LINES:
            yield f"{path.relative_to(root)}: {lines} lines, more than {MAX_LINES}"


# In pieces, so that this file does not hold what it looks for.
_OF_A_MACHINE = re.compile(r"(?<![\w.~/-])/(?:root|home|Users|work|mnt|srv|tmp|private/var|var/folders)/[\w.]")
_REGISTRIES = re.compile(
    "|".join(
        rf"\b{name}\.{domain}\b"
        for name, domain in (
            ("pypi", "org"),
            ("pythonhosted", "org"),
            ("npmjs", "(?:org|com)"),
            ("yarnpkg", "com"),
            (r"download\.pytorch", "org"),
            (r"deb\.debian", "org"),
            (r"(?:archive|ports|security)\.ubuntu", "com"),
        )
    )
)


def foreign_places(root: Path) -> Iterator[str]:
    for path in files(root):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a picture
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in (("a path of one machine", _OF_A_MACHINE), ("a registry's host", _REGISTRIES)):
                if found := pattern.search(line):
                    yield f"{path.relative_to(root)}:{number} names {what}: {found[0]}"


# What a person reads of what Streamlit's calls are given: the first argument, and these by name.
_SHOWN = {"label", "body", "text", "help", "placeholder", "caption", "title", "alt", "value", "header"}
_SILENT = {
    "Page",
    "component",
    "form",
    "set_page_config",
    "page_link",
    "switch_page",
    "fragment",
    "cache_data",
    "cache_resource",
}
_OF_CONTAINERS = {"button", "caption", "checkbox", "error", "expander", "header", "html", "info", "markdown", "metric"}
_OF_CONTAINERS |= {
    "radio",
    "selectbox",
    "slider",
    "subheader",
    "success",
    "tabs",
    "title",
    "toggle",
    "warning",
    "write",
}
_NOT_WORDS = re.compile(r"<[^>]*>|&\w+;|:material/\w+:|\{\}|" + PRODUCT_NAME)
_CHINESE = re.compile(r"[\u3400-\u9fff]")


def literal_text(root: Path) -> Iterator[str]:
    """Words on a page come from the locales, through t(); a literal would show in one language only."""
    for name, tree in product(root):
        if not name.startswith("pages/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                for argument in _shown(node):
                    words = _NOT_WORDS.sub("", _literal(argument)).strip()
                    if re.search(r"[^\W\d_]", words):
                        yield f"{name}:{node.lineno} shows {words!r}, which is not from the locales"
            elif isinstance(node, ast.Constant) and _CHINESE.search(_literal(node)) and name not in IN_ANY_LANGUAGE:
                yield f"{name}:{node.lineno} holds Chinese words: {_literal(node)[:20]}"


def _shown(call: ast.Call) -> list[ast.expr]:
    """What is shown of the arguments, where it is a call of `st` or of one of its containers."""
    if not isinstance(call.func, ast.Attribute):
        return []
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not (isinstance(root, ast.Name) and root.id == "st") and call.func.attr not in _OF_CONTAINERS:
        return []
    first = [] if call.func.attr in _SILENT else call.args[:1]
    return [*first, *(k.value for k in call.keywords if k.arg in _SHOWN)]


def _literal(node: ast.expr) -> str:
    """The text that stands in the code itself: of a string, an f-string (its gaps as {}), or strings added together."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _literal(left) + _literal(right)
        case ast.IfExp(body=one, orelse=other):
            return _literal(one) + _literal(other)
    return ""


def requirements(root: Path) -> Iterator[str]:
    """Each is pinned and says why it is there; what the app imports is listed, and what is listed is imported."""
    listed: set[str] = set()
    for number, line in enumerate((root / "requirements.txt").read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if not re.fullmatch(r"[\w.-]+==[\w.]+  # \S.*", line):
            yield f"requirements.txt:{number} is not `name==version  # why`: {line}"
        listed.add(re.split(r"[=<>~ ]", line)[0].lower())
    sources = importlib.metadata.packages_distributions()
    used: dict[str, str] = {}
    for name, tree in product(root):
        for line, module in imports(name, tree):
            top = module.split(".")[0]
            if top not in OURS and top not in sys.stdlib_module_names and module != "<computed>":
                used.setdefault(sources.get(top, [top])[0].lower().replace("_core", ""), f"{name}:{line}")
    yield from (f"{used[name]} imports {name}, which requirements.txt lacks" for name in sorted(used.keys() - listed))
    yield from (f"requirements.txt: nothing imports {name}" for name in sorted(listed - used.keys()))
