"""Opening a page in process, as a session would."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

FRAME = Path(__file__).parents[2] / "pages" / "_frame.py"


@pytest.fixture
def open_page() -> Callable[..., AppTest]:
    """open_page("question", lang="zh", section="pitfalls"): the page, opened by a link with that query."""

    def opened(page_id: str, **query: str) -> AppTest:
        app = AppTest.from_file(str(FRAME), default_timeout=60)
        app.query_params.update(query)
        app.run()
        return app if page_id == "home" else app.switch_page(f"{page_id}.py").run()

    return opened


@pytest.fixture(params=["en", "zh"])
def lang(request: pytest.FixtureRequest) -> str:
    return request.param
