"""Every format and every nasty file through the whole pipeline, in bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from service.agreement import Agreement
from service.config import PromptFormatName, Settings
from service.engine.base import GenerateRequest
from service.engine.scripted import Script, ScriptedEngine
from service.pb import apply_edit_pb2 as pb
from service.pipeline import Pipeline
from service.prompts import PromptFormat
from service.types import ApplyRequest, ApplyResult, TextChunk

EDIT = pb.Edit(search_replace=pb.SearchReplace(blocks=[pb.SearchReplaceBlock(search="old", replace="new")]))


def as_drafted(request: GenerateRequest) -> Script:
    """The model writes what the plan predicts, in the format's own wrapping, three tokens a pass."""
    if request.draft is None:
        return Script()
    answer = [*request.draft.predicted, request.stop_token_ids[0]]
    return Script([answer[at : at + 3] for at in range(0, len(answer), 3)])


@pytest.mark.parametrize("name", list(PromptFormatName))
async def test_the_file_comes_back_to_the_byte(
    name: PromptFormatName,
    nasty: bytes,
    formats: dict[PromptFormatName, PromptFormat],
    make_request: Callable[[bytes, pb.Edit], ApplyRequest],
) -> None:
    pipeline = Pipeline(ScriptedEngine(as_drafted), formats[name], Settings())
    events = [event async for event in pipeline.apply(make_request(nasty, EDIT))]
    result = events[-1]
    assert isinstance(result, ApplyResult)
    assert result.data == nasty.replace(b"old", b"new", 1)
    assert b"".join(event.data for event in events[:-1] if isinstance(event, TextChunk)) == result.data
    assert result.agreement is Agreement.MODEL_AND_PLAN
    (hunk,) = result.hunks
    assert b"old" in nasty[hunk.original.start : hunk.original.end]
