"""Run files of every kind, the page made of them, and a real Chromium to look at it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from evals.corpus.records import EditRecord, write_records
from evals.html.run_files import RunFile, read_run, read_runs
from evals.identity.report import IdentityReport
from evals.identity.samples import Difference, IdentitySample, Side
from evals.json_file import write_json
from evals.quality.report import QualityReport
from evals.quality.samples import QualitySample
from evals.quality.scorers import Score
from evals.replay.document import describe_corpus, describe_replay
from evals.replay.drafters import parse_drafters
from evals.replay.report import rows
from evals.replay.run import run_replay
from evals.replay.tokenizers import EMBEDDED, NamedTokenizer, load_tokenizer
from service.agreement import Agreement

LATENCY = Path(__file__).parents[3] / "evals" / "results" / "latency.json"
WAIT_SECONDS = 60.0
WIDTH = 1200
HOSTILE = 'edit-5"><script>window.hostile = 1</script>'

CORPUS = {"files": [{"file": "corpus.jsonl", "sha256": "0"}, {"file": "more.jsonl", "sha256": "1"}], "records": 6}

WriteRun = Callable[[str, dict[str, Any]], Path]


@pytest.fixture(scope="session")
def tokenizer() -> NamedTokenizer:
    return load_tokenizer(EMBEDDED)


@pytest.fixture(scope="session")
def records() -> list[EditRecord]:
    """Six edits of one line each, the last with a name and texts that are markup."""

    def record(number: int) -> EditRecord:
        lines = [f"def function_{number}_{line}(value):\n    return value + {line}\n\n" for line in range(12 + number)]
        before = "".join(lines)
        after = before.replace("return value + 7\n", f"return value - {number}\n")
        language = "python" if number % 2 else "go"
        return EditRecord(f"edit-{number}", "repo", f"c{number}", f"f{number}.py", language, "MIT", "Go", before, after)

    made = [record(number) for number in range(6)]
    made[5] = replace(made[5], id=HOSTILE, after="# </script><!-- <b>bold</b> -->\n" + made[5].after)
    return made


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def corpus(folder: Path, records: list[EditRecord]) -> Path:
    path = folder / "corpus.jsonl"
    write_records(path, records)
    return path


@pytest.fixture(scope="session")
def replay_file(folder: Path, records: list[EditRecord], corpus: Path, tokenizer: NamedTokenizer) -> Path:
    """A real replay of the six edits."""
    entrants = parse_drafters("none,whole-file,fixed-16,suffix,copy-64")
    replayed = run_replay(records, ("update",), entrants, tokenizer.tokenizer, seed=0)
    source = describe_corpus(corpus, records)
    write_json(folder / "replay.json", describe_replay(replayed, rows(replayed, entrants), source, tokenizer, seed=0))
    return folder / "replay.json"


@pytest.fixture(scope="session")
def identity_report(records: list[EditRecord]) -> IdentityReport:
    """Six edits, of which one comes out otherwise with drafting."""
    sides = Side(17, "plus", 0.002, (17, 23)), Side(23, "minus", 0.003, (23, 17))
    found = Difference(41, *sides, pass_width=65, plain_status="OK", drafted_status="OK")
    samples = []
    for number, record in enumerate(records):
        digest = record.to_json()["sha256"]
        difference = found if number == 2 else None
        samples.append(
            IdentitySample(record.id, "update", record.language, digest, 8, "OK", 90, 5, 85, difference, True, True)
        )
    return IdentityReport({}, CORPUS, {}, "copy", samples, {"update": 1}, True)


@pytest.fixture(scope="session")
def quality_report(records: list[EditRecord]) -> QualityReport:
    """Six edits, of which the last is wrong, and the model and the plan differ on the first and the last."""
    samples = []
    for number, record in enumerate(records):
        right = number != 5
        score = Score(right, right, True, 1, int(right), 0 if right else 2)
        difference = "" if right else "--- expected\n+++ result\n@@ -1 +1 @@\n-# </script>\n+# <i>otherwise</i>"
        digest = record.to_json()["sha256"]
        samples.append(
            QualitySample(
                id=record.id,
                form="update",
                no_op=False,
                language=record.language,
                digest=digest,
                lines=record.lines,
                status="OK",
                score=score,
                output_tokens=90,
                target_passes=5,
                difference=difference,
                agreement=Agreement.MODEL_ONLY if number in (0, 5) else Agreement.MODEL_AND_PLAN,
            )
        )
    return QualityReport({"configuration": "copy"}, CORPUS, {}, "copy", samples, {}, True)


@pytest.fixture(scope="session")
def latency_record() -> dict[str, Any]:
    """The run that the project publishes."""
    return read_run(LATENCY)[1]


@pytest.fixture(scope="session")
def faster_file(folder: Path, latency_record: dict[str, Any]) -> Path:
    """The same run with the copy drafter twice as fast, and 1% of noise on everything."""
    record = json.loads(json.dumps(latency_record))
    for number, sample in enumerate(record["samples"]):
        sample["total_seconds"] *= (0.5 if sample["configuration"] == "copy" else 1.0) * (0.99, 1.01)[number % 2]
    write_json(folder / "faster.json", record)
    return folder / "faster.json"


@pytest.fixture(scope="session")
def run_paths(
    folder: Path,
    faster_file: Path,
    replay_file: Path,
    identity_report: IdentityReport,
    quality_report: QualityReport,
) -> list[Path]:
    """Two latency runs, and one of each other kind."""
    write_json(folder / "identity.json", identity_report.to_json())
    write_json(folder / "quality.json", quality_report.to_json())
    return [LATENCY, faster_file, replay_file, folder / "identity.json", folder / "quality.json"]


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[[dict[str, Any]], RunFile]:
    """A run file of its own, read back."""

    def write(record: dict[str, Any]) -> RunFile:
        path = tmp_path / "run.json"
        write_json(path, record)
        return read_runs([path])[0]

    return write


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.fail(
            f"{name} is not there: `sh requirements/system.sh python3 chromium` sees to it, as `make test` does"
        )
    return found


class Browser:
    """Chromium with one page open at a time."""

    def __init__(self, driver: Chrome) -> None:
        self.driver: Any = driver  # partly untyped
        self.at: tuple[Path, bool] | None = None
        """The page that is open at its usual width, and whether in dark colours."""

    def open(self, page: Path, *, width: int = WIDTH, dark: bool = False) -> None:
        """Opens the page and waits until its plots are drawn."""
        self.at = (page, dark) if width == WIDTH else None
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.prefer(dark=dark)
        self.driver.get(page.as_uri())
        self.wait_drawn(dark=dark)

    def prefer(self, *, dark: bool) -> None:
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def wait_drawn(self, *, dark: bool = False) -> None:
        wanted = "dark" if dark else "light"
        self.wait(f"return document.documentElement.dataset.drawn === '{wanted}'")

    def wait(self, script: str) -> None:
        WebDriverWait(self.driver, WAIT_SECONDS, poll_frequency=0.05).until(
            lambda driver: driver.execute_script(script)
        )

    def ask(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def each(self, selector: str, expression: str) -> list[Any]:
        """A JavaScript expression of `one`, for every element that the selector finds."""
        script = f"return [...document.querySelectorAll(arguments[0])].map(one => {expression})"
        return list(self.driver.execute_script(script, selector))

    def text(self, selector: str) -> str:
        return str(self.ask("return document.querySelector(arguments[0]).innerText", selector))

    def texts(self, selector: str) -> list[str]:
        return [str(text).strip() for text in self.each(selector, "one.innerText")]

    def complaints(self) -> list[Any]:
        """What the console said: errors of scripts, and whatever the page's policy forbade."""
        return list(self.driver.get_log("browser"))

    def requests(self) -> set[str]:
        """The addresses that the page asked for."""
        messages: Sequence[Any] = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        return {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    options = ChromeOptions()
    options.binary_location = program("chromium")
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--force-device-scale-factor=1"),
        f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(program("chromedriver")))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
