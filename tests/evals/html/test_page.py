"""The page in a real browser: what it shows, where clicks lead, and what it must not do."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, Protocol

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from typer.testing import CliRunner

from evals.cli import app
from evals.corpus.records import EditRecord

PHONE = 380


class Browser(Protocol):
    """What conftest's browser can do; with importlib there is nothing to import it from."""

    driver: Any
    at: tuple[Path, bool] | None

    def open(self, page: Path, *, width: int = 1200, dark: bool = False) -> None: ...
    def prefer(self, *, dark: bool) -> None: ...
    def wait_drawn(self, *, dark: bool = False) -> None: ...
    def wait(self, script: str) -> None: ...
    def ask(self, script: str, *arguments: Any) -> Any: ...
    def each(self, selector: str, expression: str) -> list[Any]: ...
    def text(self, selector: str) -> str: ...
    def texts(self, selector: str) -> list[str]: ...
    def complaints(self) -> list[Any]: ...
    def requests(self) -> set[str]: ...


@pytest.fixture(scope="session")
def page(folder: Path, run_paths: list[Path], corpus: Path) -> Path:
    """Made by the command, as users make it."""
    out = folder / "page.html"
    command = ["report", *map(str, run_paths), "--html", str(out), "--corpus", str(corpus)]
    done = CliRunner().invoke(app, [*command, "--json", str(folder / "page.json")])
    assert done.exit_code == 0, done.output
    assert str(out) in done.stdout.replace("\n", "")
    return out


@pytest.fixture(scope="session")
def report(page: Path, folder: Path) -> dict[str, Any]:
    """The object that the page was made of."""
    record = json.loads((folder / "page.json").read_bytes())
    assert (record["schema"], record["kind"]) == (1, "page")
    return dict(record)


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    """The page at its usual width, in its light colours, with nothing open. It is not loaded again for every test."""
    if browser.at != (page, False):
        browser.open(page)
    browser.ask("document.getElementById('edit').close(); document.getElementById('filter').value = ''")
    browser.ask("document.getElementById('filter').dispatchEvent(new Event('input'))")
    return browser


def close(browser: Browser) -> None:
    browser.driver.find_element(By.ID, "close").click()
    browser.wait("return !document.getElementById('edit').open")


def opened_edit(browser: Browser) -> None:
    browser.wait("return document.getElementById('edit').dataset.drawn === 'true'")


def test_headline_figures_are_those_of_the_runs(opened: Browser, latency_record: dict[str, Any]) -> None:
    rows = {row["configuration"]: row for row in latency_record["comparisons"]}
    rivals = [row["ratio"]["estimate"] for name, row in rows.items() if name.startswith("ngram")]
    assert opened.text("#latency-A-against-ngram .value") == f"{min(rivals):.2f}x"
    assert opened.text("#latency-A-median .value") == f"{rows['copy']['total_seconds_median']:.2f} s"
    assert opened.text("#latency-A-tokens-per-pass .value") == f"{rows['copy']['tokens_per_pass']:.1f}"
    assert opened.text("#identity-A-rate .value") == f"{100 * 5 / 6:.1f}%"
    assert opened.text("#quality-A-byte-exact .value") == f"{100 * 5 / 6:.1f}%"
    assert opened.text("#quality-A-agreed .value") == "100%"
    assert "4 of 4 results, form update; 95% interval 51.0% to 100%" in opened.text("#quality-A-agreed .detail")


def test_every_plot_is_drawn_and_says_in_words_what_it_shows(opened: Browser, report: dict[str, Any]) -> None:
    plots = [block for section in report["sections"] for block in section["blocks"] if "axis" in block]
    drawn = opened.each("[data-plot] svg", "one.closest('[data-plot]').dataset.plot")
    assert drawn == [plot["name"] for plot in plots]
    assert min(opened.each("[data-plot] svg", "one.clientWidth")) > 300
    assert opened.texts("figcaption p") == [plot["text"] for plot in plots]
    labels = opened.each("[data-plot] svg", "one.closest('[aria-label]').getAttribute('aria-label')")
    assert all(plot["title"] in label for plot, label in zip(plots, labels, strict=True))


def test_tables_have_captions_and_headings_nest(opened: Browser, report: dict[str, Any]) -> None:
    tables = [block for section in report["sections"] for block in section["blocks"] if "caption" in block]
    assert opened.each("main table", "one.caption.textContent.trim()") == [table["caption"] for table in tables]
    assert all(opened.each("main tbody tr", "one.cells[0].scope === 'row'"))
    levels = opened.each("body > header h1, main h1, main h2, main h3", "+one.tagName[1]")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_figures_in_tables_are_the_runs(opened: Browser, latency_record: dict[str, Any]) -> None:
    row = next(row for row in latency_record["comparisons"] if row["configuration"] == "plain")
    cells = opened.texts("#latency-A-summary tbody tr:nth-child(2) > *")
    assert cells[0] == "plain"
    assert cells[1] == str(row["examples"])
    found = row["ratio"]
    assert cells[-1] == f"{found['estimate']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
    assert opened.texts("#quality-A-table tbody tr:nth-child(2) > *")[:4] == ["update", "go", "3", "100% (43.9 to 100)"]
    assert opened.texts("#quality-A-size-table tbody tr > *") == [
        *("update", "up to 50 lines", "5", "100% (56.6 to 100)", "100%", "100%"),
        *("update", "51-100 lines", "1", "0% (0 to 79.3)", "0%", "100%"),
    ]
    assert opened.texts("#quality-A-agreement tbody tr > *") == [
        *("update", "agree", "4", "4", "100% (51.0 to 100)"),
        *("update", "differ", "2", "1", "50.0% (9.5 to 90.5)"),
    ]
    assert opened.texts("#identity-A-differences tbody tr > *") == [
        *("edit-2", "update, 8 in flight", "41", "17 'plus'", "23 'minus'", "0.002", "0.003", "65", "OK")
    ]


def test_a_click_on_a_point_shows_the_diff_of_its_edit(opened: Browser, records: list[EditRecord]) -> None:
    holder = opened.driver.find_element(By.CSS_SELECTOR, '[data-plot="replay-A-update-sizes"]')
    point = holder.find_elements(By.CSS_SELECTOR, '[aria-roledescription="point"]')[0]
    name = str(point.get_attribute("aria-label"))
    opened.ask("arguments[0].scrollIntoView({block: 'center'})", point)
    ActionChains(opened.driver).move_to_element(point).click().perform()
    opened_edit(opened)
    shown = opened.text("#edit-title")
    record = next(record for record in records if record.id == shown)
    assert shown in name
    assert f"{record.path}, {record.language}" in opened.text("#edit-body")
    assert opened.texts("#edit-body .diff .removed")[0].startswith("-")
    number = shown.partition("-")[2]
    if number.isdigit():
        assert f"+    return value - {number}" in opened.texts("#edit-body .diff .added")
    close(opened)
    assert opened.ask("return document.getElementById('edit-body').childElementCount") == 0


def test_the_region_strip_shows_the_passes_of_an_edit(opened: Browser, report: dict[str, Any]) -> None:
    edit = next(edit for edit in report["edits"] if edit["title"] == "edit-1")
    opened.driver.find_element(By.CSS_SELECTOR, f'.edits [data-edit="{edit["key"]}"]').click()
    opened_edit(opened)
    assert opened.ask("return document.querySelectorAll('#edit-body [data-strip] svg').length") == 1
    bars = opened.ask("return document.querySelectorAll('#edit-body [data-strip] svg .mark-rect path').length")
    strip = edit["strip"]
    assert bars == len(strip["regions"]) + 3 * len(strip["passes"])
    opened.driver.find_element(By.CSS_SELECTOR, "#edit-body details summary").click()
    rows = opened.each("#edit-body .passes tbody tr", "[...one.cells].map(cell => cell.innerText.trim())")
    assert [[int(cell) for cell in row[1:5]] for row in rows] == [
        [one["start"], one["end"], one["k"], one["accepted"]] for one in strip["passes"]
    ]
    close(opened)


def test_edits_can_be_found_by_name_and_opened_by_keyboard(opened: Browser) -> None:
    box = opened.driver.find_element(By.ID, "filter")
    box.send_keys("go_kv")
    opened.wait("return [...document.querySelectorAll('.edits li')].filter(li => !li.hidden).length === 1")
    box.send_keys(Keys.TAB, Keys.ENTER)
    opened_edit(opened)
    assert opened.text("#edit-title") == "go_kv_store"
    assert "request class: update snippet, medium" in opened.texts("#edit-body li")
    assert opened.texts("#edit-body .diff .added")
    ActionChains(opened.driver).send_keys(Keys.ESCAPE).perform()
    opened.wait("return !document.getElementById('edit').open")


def test_what_moved_between_two_runs_is_marked(opened: Browser) -> None:
    found = opened.each("#compare-latency-A-B-table tbody tr", "[...one.cells].map(cell => cell.innerText.trim())")
    rows = {(row[0], row[1]): row for row in found}
    assert rows["copy", "time of an edit"][-1].split() == ["moved:", "better"]
    assert rows["copy", "time of an edit"][4].startswith("-50")
    assert rows["plain", "time of an edit"][-1] == "within noise"
    assert rows["copy", "tokens per pass"][-1] == "within noise"
    assert rows["ngram-5", "time over copy"][-1].split() == ["moved:", "better"]


def test_texts_stay_texts(opened: Browser, records: list[EditRecord]) -> None:
    button = opened.driver.find_element(By.XPATH, "//section[@id='edits']//li/button[contains(., 'window.hostile')]")
    button.click()
    opened_edit(opened)
    assert opened.text("#edit-title") == records[5].id
    assert "+# </script><!-- <b>bold</b> -->" in opened.texts("#edit-body .diff .added")
    assert "+# <i>otherwise</i>" in opened.texts("#edit-body .diff .added")
    assert opened.ask("return document.querySelectorAll('#edit-body b, #edit-body i, #edit-body script').length") == 0
    assert opened.ask("return window.hostile === undefined")


def test_dark_mode_changes_the_page_and_the_plots(opened: Browser) -> None:
    def colours() -> tuple[str, str, str]:
        found = opened.ask(
            "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color,"
            " document.querySelector('[data-plot] .mark-symbol path').getAttribute('fill')]"
        )
        return str(found[0]), str(found[1]), str(found[2])

    light = colours()
    assert light[0] == "rgb(255, 255, 255)"
    opened.prefer(dark=True)
    opened.wait_drawn(dark=True)
    dark = colours()
    assert all(one != other for one, other in zip(light, dark, strict=True))
    red, green, blue = (int(part) for part in dark[0].removeprefix("rgb(").removesuffix(")").split(","))
    assert max(red, green, blue) < 64
    opened.prefer(dark=False)
    opened.wait_drawn()
    assert colours() == light


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Browser, page: Path, dark: bool) -> None:
    browser.open(page, width=PHONE, dark=dark)
    assert browser.ask("return document.documentElement.scrollWidth") == PHONE
    assert (
        browser.ask(
            "return Math.max(...[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().right))"
        )
        <= PHONE
    )
    # A dialog is as narrow, and its tables scroll inside of it.
    browser.driver.find_element(By.CSS_SELECTOR, ".edits [data-edit]").click()
    opened_edit(browser)
    assert browser.ask("const d = document.getElementById('edit'); return d.scrollWidth <= d.clientWidth")
    assert browser.ask("return document.documentElement.scrollWidth") == PHONE


def test_nothing_is_fetched_and_nothing_goes_wrong(browser: Browser, page: Path, report: dict[str, Any]) -> None:
    browser.open(page)
    for edit in report["edits"]:
        if edit["strip"] is not None:
            browser.ask("document.querySelector(arguments[0]).click()", f'.edits [data-edit="{edit["key"]}"]')
            opened_edit(browser)
            close(browser)
    assert browser.complaints() == []
    assert {address for address in browser.requests() if not address.startswith("data:")} == {page.as_uri()}


def test_the_policy_stops_what_would_leave_the_page(browser: Browser, page: Path) -> None:
    """Were there ever markup that got in, it could neither run nor call out."""
    browser.open(page)
    browser.ask(
        "document.body.insertAdjacentHTML('beforeend',"
        ' \'<img src="http://127.0.0.1:9/x.png" onerror="window.ran = 1">\');'
        "const s = document.createElement('script'); s.textContent = 'window.ran = 2'; document.body.append(s);"
    )
    assert browser.ask("return window.ran === undefined")
    assert any("Content Security Policy" in entry["message"] for entry in browser.complaints())
