"""Takes the README's picture from the running app: `python -m tools.screenshot`."""

from playwright.sync_api import expect, sync_playwright

from tools import browser
from tools.server import ROOT, serve

PICTURE = ROOT / "docs" / "shape_walk.png"
STEP = 3  # the transpose: a view in another order
PATH = f"/shape_walk?lang=en&step={STEP}"
SIZE = (1280, 860)


def main() -> None:
    with serve() as server, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.find(), args=list(browser.FLAGS))
        page = chromium.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, device_scale_factor=2)
        page.goto(server.url + PATH)
        expect(page.get_by_role("slider")).to_have_value(str(STEP), timeout=60_000)
        expect(page.locator("[data-testid='stApp'][data-test-script-state='notRunning']")).to_be_attached()
        page.screenshot(path=PICTURE)
        chromium.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
