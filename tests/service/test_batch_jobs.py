"""Lines to jobs, and every fault at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from drafts.align.plan import Instruction, UnifiedDiff, UpdateSnippet
from service.batch_jobs import JobsError, read_jobs
from service.client_codec import SearchReplaceText

SECRET = "hunter2_is_the_callers_text"


def lines(*jobs: dict[str, Any]) -> list[str]:
    return [json.dumps(job) for job in jobs]


def test_every_form() -> None:
    jobs = read_jobs(
        [
            *lines({"file": "a.py", "update": "u", "instruction": "beside it"}, {"file": "b.py", "patch": "p"}),
            "",
            *lines({"file": "c.py", "blocks": "b", "language": "python"}, {"file": "d.py", "instruction": "i"}),
        ]
    )
    assert [job.edit for job in jobs] == [
        UpdateSnippet("u"),
        UnifiedDiff("p"),
        SearchReplaceText("b"),
        Instruction("i"),
    ]
    calls = [job.call(b"x", job.file.as_posix(), drafting=False) for job in jobs]
    assert [call.instruction for call in calls] == ["beside it", "", "", ""]
    assert [call.language for call in calls] == ["", "", "python", ""]
    assert not any(call.draft.enabled for call in calls)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (SECRET, "line 2: not JSON"),
        (json.dumps({"update": SECRET}), "line 2: no file"),
        (json.dumps({"file": "b.py"}), "line 2: needs one of"),
        (json.dumps({"file": "b.py", "update": SECRET, "patch": SECRET}), "line 2: needs one of"),
        (json.dumps({"file": "b.py", "update": 7}), "line 2: update: string_type"),
        (json.dumps({"file": "b.py", SECRET: SECRET}), "line 2: a field that is none of file, update"),
        (json.dumps({"file": "x/../a.py", "update": SECRET}), "line 2: another edit of the file of line 1"),
        (json.dumps([SECRET]), "line 2: the line: model_type"),
    ],
)
def test_faults_are_named_by_line_and_quote_nothing(line: str, says: str) -> None:
    with pytest.raises(JobsError) as failed:
        read_jobs([*lines({"file": "a.py", "update": "u"}), line])
    assert says in str(failed.value)
    assert SECRET not in str(failed.value)


def test_every_fault_is_named_up_to_a_number() -> None:
    with pytest.raises(JobsError) as failed:
        read_jobs(["x"] * 30)
    assert str(failed.value).count("not JSON") == 10
    assert "and 20 more" in str(failed.value)


def test_no_job() -> None:
    with pytest.raises(JobsError, match="no job"):
        read_jobs(["", "  "])
