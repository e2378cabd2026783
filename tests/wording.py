"""What holds for the words in both languages, as rules: each is a function from a tree of files to the faults in it."""

import ast
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from tests.architecture import product

LANGS = ("en", "zh")
LOCALES = "pages/_ui/locales"
PARTS = ("given", "expected", "action")
# Said in English inside Chinese text, beside what the glossary leaves in English.
TERMS = {"token", "batch", "einsum", "Python", "bit"}
# What is no word of either language: code, gaps, chips, calls and sizes, names that are given a value.
_CODE = re.compile(r"`[^`]*`|<[^>]*>|\{[^}]*\}|\[\[[^\]]*\]\]|\w+ ?\([^)]*\)|\w+ =|\b[A-Z](?:_kv)?\b")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_KEY = re.compile(r"[a-z_]+(?:\.[A-Za-z_0-9]+)+")
_NO_KEY = (".py", ".yaml", ".css", ".html", ".svg", ".png")


class _OneOfEach(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML silently takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise ValueError(f"{', '.join(map(str, twice))} stands twice")
        return super().construct_mapping(node, deep)


def read(path: Path) -> dict:
    return yaml.load(path.read_text(encoding="utf-8"), _OneOfEach)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def catalogues(root: Path) -> dict[str, dict[str, str]]:
    return {lang: read(root / LOCALES / f"{lang}.yaml") for lang in LANGS}


# The rules -----------------------------------------------------------------------------------------------------------


def languages_differ(root: Path) -> Iterator[str]:
    """The same keys in both, the same gaps to fill, each in its own language."""
    both = catalogues(root)
    glossary = yaml.safe_load((root / "quiz_data/glossary.yaml").read_text(encoding="utf-8"))
    terms = TERMS.union(*(re.findall(r"[A-Za-z_]+", str(term["term"]["zh"])) for term in glossary))
    for key in sorted(both["en"].keys() ^ both["zh"].keys()):
        yield f"{key} is missing in {'zh' if key in both['en'] else 'en'}"
    for key in sorted(both["en"].keys() & both["zh"].keys()):
        yield from _pair(key, both["en"][key], both["zh"][key], terms)


def _pair(where: str, en: object, zh: object, terms: set[str]) -> Iterator[str]:
    if not (isinstance(en, str) and isinstance(zh, str) and en.strip() and zh.strip()):
        yield f"{where}: not words in both languages: {en!r}, {zh!r}"
        return
    if placeholders(en) != placeholders(zh):
        yield f"{where}: en fills in {sorted(placeholders(en))}, zh {sorted(placeholders(zh))}"
    if _CHINESE.search(en):
        yield f"{where}: Chinese in the English: {en}"
    if not _CHINESE.search(zh) and set(re.findall(r"[A-Za-z_]+", _CODE.sub("", zh))) - terms:
        yield f"{where}: no Chinese, and no technical term: {zh}"


def keys_differ(root: Path) -> Iterator[str]:
    """Each key that the code says is in the catalogue with the gaps that the code fills, and each in it is said."""
    words = catalogues(root)["en"]
    namespaces = {key.split(".")[0] for key in words}
    used: set[str] = set()
    for name, tree in product(root):
        if not name.startswith("pages/"):
            continue
        asked = {id(node.args[0]): node for node in ast.walk(tree) if _asks(node)}
        for node in ast.walk(tree):
            place = f"{name}:{getattr(node, 'lineno', 0)}"
            call = asked.get(id(node))
            if isinstance(node, ast.JoinedStr) and (call or _starts_in(node, namespaces)):
                meant = {key for key in words if _pattern(node).fullmatch(key)}
                used |= meant
                if not meant:
                    yield f"{place}: no key is like {ast.unparse(node)}"
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                key = node.value
                is_key = _KEY.fullmatch(key) and key.split(".")[0] in namespaces and not key.endswith(_NO_KEY)
                if not (call or is_key):
                    continue
                used.add(key)
                if key not in words:
                    yield f"{place}: there is no key {key}"
                elif call and not any(keyword.arg is None for keyword in call.keywords):
                    given = {keyword.arg for keyword in call.keywords}
                    if given != placeholders(words[key]):
                        yield f"{place}: {key} fills in {sorted(placeholders(words[key]))}, given {sorted(given)}"
    yield from (f"{key} is said nowhere" for key in sorted(words.keys() - used))


def _asks(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and node.args):
        return False
    function = node.func
    return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) == "t"


def _starts_in(node: ast.JoinedStr, namespaces: set[str]) -> bool:
    """Whether an f-string begins with a namespace and a dot, and goes on like a key."""
    first = node.values[0]
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
        return False
    namespace, dot, _ = first.value.partition(".")
    fixed = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
    return bool(dot) and namespace in namespaces and re.fullmatch(r"[\w.]+", fixed) is not None


def _pattern(node: ast.JoinedStr | ast.Constant) -> re.Pattern[str]:
    """What a string in the code can say; a gap of an f-string is filled with anything but a dot."""
    if isinstance(node, ast.Constant):
        return re.compile(re.escape(str(node.value)))
    parts = [re.escape(str(v.value)) if isinstance(v, ast.Constant) else r"[^.]+" for v in node.values]
    return re.compile("".join(parts))


def error_words(root: Path) -> Iterator[str]:
    """Each error that core raises has three parts in both languages, filled with what it is raised with."""
    trees = {name: tree for name, tree in product(root) if name.startswith("core/")}
    words = {path.parent.name: read(path) for path in sorted(root.glob("core/*/errors.yaml"))}
    for package, entries in words.items():
        said = [
            _pattern(node).fullmatch
            for name, tree in trees.items()
            for node in ast.walk(tree)
            if (isinstance(node, ast.Constant) and isinstance(node.value, str))
            or (isinstance(node, ast.JoinedStr) and ast.unparse(node)[2:].startswith(f"{package}."))
            if name.startswith(f"core/{package}/")
        ]
        for code, parts in entries.items():
            yield from _error(f"{package}.{code}", parts)
            if not any(is_said(code) or is_said(f"{package}.{code}") for is_said in said):
                yield f"{package}.{code} is raised nowhere"
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("BadInput", "Unavailable"):
                yield from _raised(f"{name}:{node.lineno}", node, words)


def _error(where: str, parts: object) -> Iterator[str]:
    if not isinstance(parts, Mapping) or tuple(parts) != PARTS:
        yield f"{where}: an error has the parts {', '.join(PARTS)}"
        return
    for part, texts in parts.items():
        if not isinstance(texts, Mapping) or tuple(texts) != LANGS:
            yield f"{where}.{part}: words in en and zh are expected"
        else:
            yield from _pair(f"{where}.{part}", texts["en"], texts["zh"], set())


def _raised(place: str, call: ast.Call, words: Mapping[str, Mapping[str, dict]]) -> Iterator[str]:
    code = call.args[0] if call.args else None
    if not (isinstance(code, ast.Constant) and isinstance(code.value, str)):
        return
    package, _, name = code.value.partition(".")
    if name not in words.get(package, {}):
        yield f"{place} raises {code.value}, which has no words"
        return
    given = {keyword.arg for keyword in call.keywords}
    needed = {gap for texts in words[package][name].values() for text in texts.values() for gap in placeholders(text)}
    if None not in given and not needed <= given:
        yield f"{place} raises {code.value} without {', '.join(sorted(needed - given))}"


def avoided_terms(root: Path) -> Iterator[str]:
    """No Chinese text says a term in a way that the glossary tells to avoid."""
    glossary = yaml.safe_load((root / "quiz_data/glossary.yaml").read_text(encoding="utf-8"))
    better = {word: term["term"]["zh"] for term in glossary for word in term["avoid"]}
    for where, text in chinese_texts(root):
        for word, instead in better.items():
            if word in text:
                yield f"{where}: {word} is said {instead}: …{text[max(text.index(word) - 10, 0) :][:30]}…"


def chinese_texts(root: Path) -> Iterator[tuple[str, str]]:
    """(place, text) of all that is written in Chinese, the glossary's own list of words to avoid aside."""
    for path in sorted([*root.glob("core/*/*.yaml"), *root.glob("quiz_data/**/*.yaml")]):
        name = path.relative_to(root)
        yield from ((f"{name} {where}", text) for where, text in _zh(yaml.safe_load(path.read_text(encoding="utf-8"))))
    for key, text in catalogues(root)["zh"].items():
        yield f"{LOCALES}/zh.yaml {key}", str(text)
    for path in sorted(root.glob("*.zh-CN.md")):
        yield path.name, path.read_text(encoding="utf-8")


def _zh(value: object, where: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "zh" and isinstance(inner, str):
                yield where, inner
            elif key != "avoid":
                yield from _zh(inner, f"{where}.{key}".strip("."))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            place = inner.get("id", number) if isinstance(inner, Mapping) else number
            yield from _zh(inner, f"{where}.{place}".strip("."))
