"""Edits and a tokenizer to replay."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from drafts.align.plan import UpdateSnippet
from evals.corpus.records import EditRecord
from evals.replay.case import ReplayCase, make_case
from evals.replay.forms import form_edit
from evals.replay.tokenizers import EMBEDDED, load_tokenizer
from service.prompts.tokenization import TextTokenizer

MakeRecord = Callable[[str, str], EditRecord]
MakeCase = Callable[..., ReplayCase]


@pytest.fixture(scope="session")
def tokenizer() -> TextTokenizer:
    return load_tokenizer(EMBEDDED).tokenizer


@pytest.fixture(scope="session")
def make_record() -> MakeRecord:
    def make(before: str, after: str) -> EditRecord:
        return EditRecord("edit-1", "r", "c", "a.py", "python", "MIT", "Change it", before, after)

    return make


@pytest.fixture(scope="session")
def make_replay_case(make_record: MakeRecord, tokenizer: TextTokenizer) -> MakeCase:
    """A case in one form; `snippet` is an update snippet to send instead of the derived one."""

    def make(before: str, after: str, form: str = "update", snippet: str | None = None) -> ReplayCase:
        record = make_record(before, after)
        edit = form_edit(record, form, 0) if snippet is None else UpdateSnippet(snippet)
        assert edit is not None
        return make_case(record, form, edit, tokenizer, after)

    return make
