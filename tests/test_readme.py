"""The READMEs are true: their file maps, in both languages, and the commands they name."""

import re
from pathlib import Path

import pytest

from tests.architecture import ROOT, files

READMES = ("README.md", "README.zh-CN.md")
TREE = "app.py  starts\npages/  scripts\n  home.py  first\n  _ui/  parts\ncore/  computes\n  lm/  models\n"


def file_map(text: str) -> dict[str, str]:
    """Path → comment, of the fenced block that starts with app.py; folders end in a slash, two spaces go one deeper."""
    block = re.search(r"^```\n(app\.py.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert block, "there is no file map"
    folders: list[str] = []
    found = {}
    for line in block[1].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name, comment = re.split(r"\s{2,}", line.strip(), maxsplit=1)
        del folders[depth:]
        found["".join([*folders, name])] = comment
        if name.endswith("/"):
            folders.append(name)
    return found


def expected(names: list[str]) -> set[str]:
    """What a map has to list, of these files: what lies at the top, the pages, the packages and modules of core."""
    wanted = set()
    for name in names:
        top, *rest = name.split("/")
        if not top.startswith("."):
            wanted.add(f"{top}/" if rest else top)
        if top in ("pages", "core") and rest and not rest[-1].startswith("__init__"):
            wanted.add(f"{top}/{rest[0]}/" if len(rest) > 1 else f"{top}/{rest[0]}")
    of_the_tools = {"requirements-dev.txt", "requirements-bench.txt", "README.md", "README.zh-CN.md"}
    return wanted - of_the_tools


def map_faults(listed: set[str], names: list[str]) -> set[str]:
    folders = {f"{parent}/" for name in names for parent in map(str, Path(name).parents) if parent != "."}
    invented = {f"{path} is not there" for path in listed - set(names) - folders}
    return invented | {f"{path} is not listed" for path in expected(names) - listed}


NAMES = [path.relative_to(ROOT).as_posix() for path in files(ROOT)]
COMMANDS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("readme", READMES)
def test_the_file_map_is_true(readme: str) -> None:
    listed = file_map((ROOT / readme).read_text(encoding="utf-8"))
    assert map_faults(set(listed), NAMES) == set()
    assert all(listed.values())


def test_a_map_that_is_not_true_is_found_out() -> None:
    names = ["app.py", "pages/home.py", "pages/_ui/i18n.py", "core/__init__.py", "core/lm/model.py"]
    listed = set(file_map(f"Map:\n```\n{TREE}```\n"))
    assert listed == {"app.py", "pages/", "pages/home.py", "pages/_ui/", "core/", "core/lm/"}
    assert map_faults(listed, names) == set()
    assert map_faults(listed, [*names, "pages/quiz.py", "new/a.txt", "core/costs/a.py", "core/errors.py"]) == {
        "pages/quiz.py is not listed",
        "new/ is not listed",
        "core/costs/ is not listed",
        "core/errors.py is not listed",
    }
    assert map_faults(listed, ["app.py", "pages/_ui/i18n.py", "core/lm/model.py"]) == {"pages/home.py is not there"}


def test_both_maps_list_the_same() -> None:
    english, chinese = (list(file_map((ROOT / readme).read_text(encoding="utf-8"))) for readme in READMES)
    assert english == chinese


@pytest.mark.parametrize("readme", [*READMES, "CONTRIBUTING.md"])
def test_every_command_is_in_the_makefile(readme: str) -> None:
    named = set(re.findall(r"\bmake ([a-z]+)", (ROOT / readme).read_text(encoding="utf-8")))
    assert {"check", "test"} <= named <= COMMANDS


@pytest.mark.parametrize("readme", READMES)
def test_every_link_leads_somewhere(readme: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / readme).read_text(encoding="utf-8"))
    assert "docs/shape_walk.png" in links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_the_help_lists_every_command() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r"@echo 'make ([a-z]+)", text)) == COMMANDS - {"help"}
