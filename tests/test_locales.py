"""Both languages say everything. Each rule is first shown to find what it is for, on a small made-up tree."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import yaml

from pages._ui.links import PAGES
from tests.architecture import ROOT
from tests.wording import avoided_terms, catalogues, error_words, keys_differ, languages_differ

EN, ZH, PAGE = "pages/_ui/locales/en.yaml", "pages/_ui/locales/zh.yaml", "pages/home.py"
ERRORS, CODE = "core/trace/errors.yaml", "core/trace/run.py"
SOUND = {
    EN: 'nav.home: Home\nwalk.step: "Step of {last}"\nwalk.kind.view: view\nwalk.kind.copy: copy\n',
    ZH: 'nav.home: 首页\nwalk.step: "第几步（共 {last} 步）"\nwalk.kind.view: view\nwalk.kind.copy: 拷贝\n',
    PAGE: "t('nav.home'); t('walk.step', last=3); t(f'walk.kind.{kind}'); open('walk.py')",
    "quiz_data/glossary.yaml": "- {id: view, avoid: [视图], term: {en: view, zh: view}}\n",
    ERRORS: "odd:\n"
    "  given: {en: 'n = {n}', zh: '给的是 n = {n}'}\n"
    "  expected: {en: even, zh: 应为偶数}\n"
    "  action: {en: Add one., zh: 请加一。}\n",
    CODE: "raise BadInput('trace.odd', n=3)",
}

Rule = Callable[[Path], Iterable[str]]
BROKEN: list[tuple[Rule, dict[str, str], str]] = [
    (languages_differ, {EN: SOUND[EN] + "walk.next: Next\n"}, "walk.next is missing in zh"),
    (languages_differ, {ZH: SOUND[ZH] + "walk.next: 下一步\n"}, "walk.next is missing in en"),
    (languages_differ, {ZH: SOUND[ZH].replace("{last}", "{end}")}, "walk.step: en fills in ['last'], zh ['end']"),
    (languages_differ, {ZH: SOUND[ZH].replace("首页", "Home")}, "nav.home: no Chinese, and no technical term: Home"),
    (languages_differ, {EN: SOUND[EN].replace("Home", "首页")}, "nav.home: Chinese in the English"),
    (languages_differ, {EN: SOUND[EN].replace("Home", "no")}, "nav.home: not words in both languages: False"),
    (languages_differ, {ZH: SOUND[ZH].replace("首页", "''")}, "nav.home: not words in both languages"),
    (keys_differ, {EN: SOUND[EN] + "walk.next: Next\n"}, "walk.next is said nowhere"),
    (keys_differ, {PAGE: SOUND[PAGE] + "; t('walk.back')"}, "pages/home.py:1: there is no key walk.back"),
    (keys_differ, {PAGE: SOUND[PAGE] + "; key = 'walk.back'"}, "there is no key walk.back"),
    (keys_differ, {PAGE: SOUND[PAGE] + "; i18n.t('other')"}, "there is no key other"),
    (keys_differ, {PAGE: SOUND[PAGE] + "; t(f'walk.{x}.help')"}, "no key is like f'walk.{x}.help'"),
    (keys_differ, {PAGE: SOUND[PAGE] + "; keys = [f'walk.tag.{x}' for x in y]"}, "no key is like f'walk.tag.{x}'"),
    (keys_differ, {PAGE: SOUND[PAGE].replace(", last=3", "")}, "walk.step fills in ['last'], given []"),
    (keys_differ, {PAGE: SOUND[PAGE].replace("'nav.home'", "'nav.home', n=1")}, "nav.home fills in [], given ['n']"),
    (error_words, {ERRORS: SOUND[ERRORS].replace("  action", "  todo")}, "trace.odd: an error has the parts"),
    (error_words, {ERRORS: SOUND[ERRORS].replace(", zh: 应为偶数", "")}, "trace.odd.expected: words in en and zh"),
    (error_words, {ERRORS: SOUND[ERRORS].replace("应为偶数", "even")}, "trace.odd.expected: no Chinese"),
    (error_words, {ERRORS: SOUND[ERRORS].replace("'n = {n}'", "odd")}, "trace.odd.given: en fills in [], zh ['n']"),
    (error_words, {CODE: ""}, "trace.odd is raised nowhere"),
    (error_words, {CODE: "raise BadInput(f'trace.e{why}')"}, "trace.odd is raised nowhere"),
    (error_words, {CODE: "", "core/quiz/a.py": SOUND[CODE]}, "trace.odd is raised nowhere"),
    (
        error_words,
        {CODE: SOUND[CODE] + "\nraise Unavailable('trace.gone')"},
        "run.py:2 raises trace.gone, which has no",
    ),
    (error_words, {CODE: "raise BadInput('trace.odd', m=3)"}, "run.py:1 raises trace.odd without n"),
    (avoided_terms, {ZH: SOUND[ZH].replace("首页", "视图")}, "zh.yaml nav.home: 视图 is said view"),
    (
        avoided_terms,
        {ERRORS: SOUND[ERRORS].replace("应为偶数", "应为视图")},
        "errors.yaml odd.expected: 视图 is said view",
    ),
    (avoided_terms, {"quiz_data/questions/a.yaml": "- {id: q, prompt: {en: x, zh: 看视图}}"}, "q.prompt: 视图 is said"),
    (avoided_terms, {"README.zh-CN.md": "形状视图"}, "README.zh-CN.md: 视图 is said view"),
]
RULES = sorted({rule for rule, *_ in BROKEN}, key=lambda rule: rule.__name__)


def plant(root: Path, tree: dict[str, str]) -> Path:
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("rule", "tree", "fault"), BROKEN, ids=[f"{rule.__name__}-{fault}" for rule, _, fault in BROKEN]
)
def test_each_rule_finds_what_breaks_it(tmp_path: Path, rule: Rule, tree: dict[str, str], fault: str) -> None:
    found = list(rule(plant(tmp_path, SOUND | tree)))
    assert [one for one in found if fault in one], found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_each_rule_lets_a_sound_tree_pass(tmp_path: Path, rule: Rule) -> None:
    assert list(rule(plant(tmp_path, SOUND))) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_project_keeps_the_rule(rule: Rule) -> None:
    assert "\n".join(rule(ROOT)) == ""


def test_a_code_may_have_a_gap(tmp_path: Path) -> None:
    assert list(error_words(plant(tmp_path, SOUND | {CODE: "raise BadInput(f'trace.o{why}', n=3)"}))) == []


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """YAML takes the last and says nothing."""
    twice = SOUND | {EN: SOUND[EN] + "nav.home: Start\n"}
    assert yaml.safe_load(twice[EN])["nav.home"] == "Start"
    with pytest.raises(ValueError, match=r"nav\.home stands twice"):
        catalogues(plant(tmp_path, twice))


@pytest.mark.parametrize("page_id", PAGES)
def test_each_page_has_its_words(page_id: str) -> None:
    """The code asks for them with the page's id filled in, so nothing else would notice that one is missing."""
    keys = {f"nav.{page_id}", f"nav.{page_id}.help"}
    if f'chrome.heading("{page_id}")' in (ROOT / "pages" / PAGES[page_id].file).read_text(encoding="utf-8"):
        keys.add(f"{page_id}.lead")
    for words in catalogues(ROOT).values():
        assert keys <= words.keys()
