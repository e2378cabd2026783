"""Faults in the files of generators: told with their place, and the rest goes on."""

import re
from pathlib import Path

import pytest

from core.quiz import generators
from core.quiz.generators._template import FOLDER, load_templates

FAULTY = {
    "yaml-broken": "- [",
    "file-not-a-list": "id: gen-x",
    "field-missing": "- {id: gen-strides-element, kind: number}",
    "kind-unknown": None,
    "generator-draws-nothing": None,
    "id-twice": None,
}


@pytest.mark.parametrize("code", FAULTY)
def test_a_generator_with_a_fault_is_left_out_and_named(code: str, tmp_path: Path) -> None:
    """The sound ones beside it stay; each fault has its place, and words in both languages."""
    sound = (FOLDER / "cross.yaml").read_text(encoding="utf-8")
    (tmp_path / "a.yaml").write_text(sound, encoding="utf-8")
    faulty = FAULTY[code] or (FOLDER / "mla.yaml").read_text(encoding="utf-8")
    if code == "kind-unknown":
        faulty = re.sub(r"kind: .*", "kind: riddle", faulty)
    if code == "generator-draws-nothing":
        faulty = re.sub(r"id: gen-.*", "id: gen-nothing", faulty)
    if code == "id-twice":
        faulty = sound
    (tmp_path / "b.yaml").write_text(faulty, encoding="utf-8")
    read = load_templates(tmp_path)
    assert list(read.entries) == re.findall(r"^- id: (\S+)", sound, re.MULTILINE)
    assert read.faults
    assert {fault.place.path.name for fault in read.faults} == {"b.yaml"}
    if code != "kind-unknown":  # pydantic tells of a literal as of any other value
        assert f"quiz.{code}" in {fault.problem.code for fault in read.faults}
    assert all(fault.text("zh") and fault.text("en") for fault in read.faults)


def test_ours_have_no_fault() -> None:
    assert not generators.FAULTS
