"""What is wrong with a problem's file is said with the file, the field and what to do."""

import shutil
from pathlib import Path

import pytest

from core.errors import BadInput
from core.judge import problems
from core.judge.problems._load import load

FOLDER = Path(problems.__file__).parent
DOCSTRING = """\"\"\"x (B, L, d_model) to (B, L, d_model).

          mask: bool or 0/1, broadcasts to (B, H, L, L), True / 1 = may attend.
          \"\"\""""
FAULTS = [
    ("id: mha\n", "id: gqa\n", "id: 'gqa', and the file is called mha"),
    ("id: mha\n", "id: mhaa\n", "id: mhaa is none of sdpa, mha"),
    ("level: 1", "level: 4", "level: Input should be less than or equal to 3"),
    ("level: 1", "level: '1'", "level: Input should be a valid integer"),
    ("minutes: 20", "minutes: 1:30", "minutes: Input should be less than or equal to 60"),
    ("minutes: 20\n", "", "minutes: Field required"),
    ("minutes: 20", "minutes: 20\nhours: 1", "hours: Extra inputs are not permitted"),
    ("zh: 多头注意力}", "zh: Multi-head attention}", "title.zh: not translated: Multi-head attention"),
    ("en: Multi-head attention, ", "", "title.en: Field required"),
    ("en: Multi-head attention,", "en: 多头注意力,", "title.en: Chinese in the English"),
    ("en: Multi-head attention,", "en: no,", "title.en: Input should be a valid string"),
    ("[[B|H|L|d_h]]: cut", "[[B|H|L|d]]: cut", "hints.1.en: 'd' in [[B|H|L|d]] is not an axis"),
    ("x [[B|L|d_model]] to queries", "x * to queries", "statement.0.en: * without a partner or outside"),
    ("[mask, style,", "[masks, style,", "rules: no rule is called 'masks'"),
    ("print(mha(x).shape)", "print(mha(x).shape", "example: line 5 is no Python: '(' was never closed"),
    ("print(mha(x).shape)", f"print(mha(x){' ' * 60})", "example: line 5 has 73 columns; break it, 60 are the most"),
    (
        "class MultiHeadAttention(",
        "x = 1\n\n  class Other:\n      pass\n\n  class MultiHeadAttention(",
        "exactly one class",
    ),
    ("raise NotImplementedError", "return x", "starter: what is to be written is left open with raise"),
    (DOCSTRING, '"""Attends."""', "starter: the docstring gives the shapes"),
    (
        "def forward(self, x, mask=None)",
        "def forward(self, x, mask=None" + ", a=0" * 9 + ")",
        "starter: line 4 has 81 columns",
    ),
    ("https://docs.pytorch.org/", "http://docs.pytorch.org/", "follow_ups.4.source.url: String should match"),
]


def planted(folder: Path, right: str, wrong: str, name: str = "mha.yaml") -> Path:
    for path in FOLDER.glob("*.yaml"):
        shutil.copy(path, folder)
    text = (folder / name).read_text(encoding="utf-8")
    assert right in text
    (folder / name).write_text(text.replace(right, wrong, 1), encoding="utf-8")
    return folder


def test_an_unchanged_copy_has_no_fault(tmp_path: Path) -> None:
    assert load(planted(tmp_path, "id: mha", "id: mha")) == problems.problems()


@pytest.mark.parametrize(("right", "wrong", "fault"), FAULTS, ids=[fault for *_, fault in FAULTS])
def test_a_fault_is_said_with_its_file_and_field(tmp_path: Path, right: str, wrong: str, fault: str) -> None:
    with pytest.raises(BadInput) as raised:
        load(planted(tmp_path, right, wrong))
    given, _, action = raised.value.parts("en")
    assert given.startswith("mha.yaml has faults (")
    assert fault in given
    assert action == "Mend the fields that are named."
    assert raised.value.parts("zh").given.startswith("mha.yaml 有问题")


def test_all_faults_of_a_file_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"level: .*; minutes: ") as raised:
        load(planted(tmp_path, "level: 1\nminutes: 20", "level: 9\nminutes: 99"))
    assert raised.value.code == "judge.problem-faulty"


def test_too_few_hints_and_follow_ups_are_faults(tmp_path: Path) -> None:
    folder = planted(tmp_path, "id: mha", "id: mha")
    text = (folder / "mha.yaml").read_text(encoding="utf-8")
    (folder / "mha.yaml").write_text(text.partition("follow_ups:")[0] + "follow_ups: []\n", encoding="utf-8")
    with pytest.raises(BadInput, match="follow_ups: Tuple should have at least"):
        load(folder)


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"id: [mha", "expected ',' or ']'"),
        (b"- id: mha", "list"),
        (b"\xff\xfe\xfa", "invalid start byte"),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_no_problem_at_all(tmp_path: Path, content: bytes | None, detail: str) -> None:
    path = planted(tmp_path, "id: mha", "id: mha") / "mha.yaml"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=r"mha\.yaml cannot be read") as raised:
        load(tmp_path)
    assert detail in raised.value.parts("en").given
    assert str(tmp_path) not in str(raised.value)
