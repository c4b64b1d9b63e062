"""From a request on the wire to a request that the pipeline can trust. Pure: no clock, no network, no files.

Every violation of a request is found before any is reported. Descriptions name fields and limits, never the
caller's text.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

from drafts.align import (
    Edit,
    EditParseError,
    Instruction,
    SearchReplace,
    SearchReplaceBlock,
    UnifiedDiff,
    UpdateSnippet,
    parse_search_replace,
    parse_unified_diff,
)
from service import languages
from service.config import Settings
from service.errors import BaseMismatch, FieldViolation, InvalidRequest, ModelNotFound
from service.pb import apply_edit_pb2 as pb
from service.types import ApplyRequest, DraftOptions, Newline, RequestClass, Sampling, SourceFile

WireRequest: TypeAlias = pb.ApplyEditRequest | pb.StreamApplyEditRequest | pb.BatchApplyEditsRequest

MAX_PATH_BYTES: Final = 4096
MAX_ITEM_ID_BYTES: Final = 256
MAX_TEMPERATURE: Final = 2.0
BYTE_ORDER_MARK: Final = "\ufeff"

_LANGUAGE_NAME = re.compile(r"[a-z][a-z0-9+#-]{0,31}")
REQUEST_CLASSES: Final = {
    pb.REQUEST_CLASS_UNSPECIFIED: RequestClass.INTERACTIVE,
    pb.REQUEST_CLASS_INTERACTIVE: RequestClass.INTERACTIVE,
    pb.REQUEST_CLASS_BATCH: RequestClass.BATCH,
}
_DRAFTING: Final = {pb.DRAFTING_UNSPECIFIED: True, pb.DRAFTING_ON: True, pb.DRAFTING_OFF: False}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a service admits. Sizes are in bytes of UTF-8; max_edit_bytes includes the instruction."""

    max_file_bytes: int
    max_edit_bytes: int
    max_draft_tokens: int
    model: str

    @classmethod
    def of(cls, settings: Settings) -> Self:
        return cls(
            max_file_bytes=settings.server.max_file_bytes,
            max_edit_bytes=settings.server.max_edit_bytes,
            max_draft_tokens=settings.drafting.max_draft_tokens,
            model=settings.model.name,
        )


class _Violations(list[FieldViolation]):
    def add(self, field: str, reason: str, description: str) -> None:
        self.append(FieldViolation(field, reason, description))


def validate(request: WireRequest, *, request_id: str, limits: Limits) -> ApplyRequest:
    """Raises InvalidRequest with every violation, then ModelNotFound, then BaseMismatch."""
    violations = _Violations()
    if isinstance(request, pb.BatchApplyEditsRequest):
        _item_id(request.item_id, violations)
    file = _file(request.file, limits, violations)
    edit = _edit(request.edit, limits, violations)
    sampling = _sampling(request.sampling, violations)
    draft = _draft(request.draft, limits, violations)
    request_class = REQUEST_CLASSES.get(request.request_class)
    if request_class is None:
        violations.add("request_class", "UNKNOWN", "not a value of RequestClass")
    if violations or file is None or edit is None or request_class is None:
        raise InvalidRequest(violations)
    if request.model not in ("", limits.model):
        raise ModelNotFound(
            f"this service does not run that model; it runs {limits.model!r}: name it or leave `model` empty",
            name=request.model,
        )
    _check_base(request.file, file.data)
    return ApplyRequest(
        request_id=request_id,
        file=file,
        edit=edit,
        instruction=_normalize(request.edit.accompanying_instruction),
        request_class=request_class,
        sampling=sampling,
        draft=draft,
    )


def _item_id(item_id: str, violations: _Violations) -> None:
    if not item_id:
        violations.add("item_id", "REQUIRED", "name the item, so that its outcome can be told from the others'")
    elif len(item_id.encode()) > MAX_ITEM_ID_BYTES:
        violations.add("item_id", "TOO_LARGE", f"an item's id may have {MAX_ITEM_ID_BYTES} bytes")


def edit_bytes(edit: pb.Edit) -> int:
    """The size that `max_edit_bytes` limits."""
    blocks = sum(len(b.search.encode()) + len(b.replace.encode()) for b in edit.search_replace.blocks)
    texts = (edit.update_snippet, edit.unified_diff, edit.search_replace_text, edit.instruction)
    return blocks + sum(len(text.encode()) for text in texts) + len(edit.accompanying_instruction.encode())


def file_bytes(file: pb.SourceFile) -> bytes:
    """The file as sent."""
    return file.data if file.WhichOneof("content") == "data" else file.text.encode()


def _file(file: pb.SourceFile, limits: Limits, violations: _Violations) -> SourceFile | None:
    before = len(violations)
    if len(file.path.encode()) > MAX_PATH_BYTES:
        violations.add("file.path", "TOO_LARGE", f"longer than {MAX_PATH_BYTES} bytes")
    if "\0" in file.path:
        violations.add("file.path", "MALFORMED", "holds a NUL character")
    language = languages.canonical(file.language) if file.language else languages.detect(file.path)
    if language not in languages.KNOWN:
        violations.add("file.language", "UNKNOWN", _unknown_language(language))
    if file.HasField("sha256") and len(file.sha256) != hashlib.sha256().digest_size:
        violations.add("file.sha256", "BAD_LENGTH", "a SHA-256 digest has 32 bytes (not the 64 hexadecimal digits)")
    decoded = _content(file, limits, violations)
    if decoded is None or len(violations) > before:
        return None
    data, text = decoded
    carriage_returns = text.count("\r\n")
    return SourceFile(
        path=file.path,
        data=data,
        text=_normalize(text),
        language=language,
        newline=Newline.CRLF if carriage_returns > text.count("\n") - carriage_returns else Newline.LF,
        byte_order_mark=text.startswith(BYTE_ORDER_MARK),
    )


def _unknown_language(language: str) -> str:
    """A hint for the usual slip, a file extension given as a language."""
    if _LANGUAGE_NAME.fullmatch(language):
        guess = languages.detect(f"x.{language}")
        if guess != languages.PLAIN_TEXT:
            return f"not a known language; did you mean {guess!r}?"
    return "not a known language; leave it empty to detect it from the path, or use a name from proto/README.md"


def _content(file: pb.SourceFile, limits: Limits, violations: _Violations) -> tuple[bytes, str] | None:
    which = file.WhichOneof("content")
    if which is None:
        violations.add("file.content", "REQUIRED", "the file has no content: set `text` or `data`")
        return None
    field = f"file.{which}"
    data = file_bytes(file)
    if len(data) > limits.max_file_bytes:
        violations.add(field, "TOO_LARGE", f"{len(data)} bytes, and the limit is {limits.max_file_bytes}")
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        violations.add(field, "NOT_UTF8", f"not UTF-8 at byte {error.start}: convert the file before sending it")
        return None
    if not text.removeprefix(BYTE_ORDER_MARK):
        violations.add(field, "EMPTY", "the file is empty: there is nothing to edit")
        return None
    return data, text


def _edit(edit: pb.Edit, limits: Limits, violations: _Violations) -> Edit | None:
    size = edit_bytes(edit)
    if size > limits.max_edit_bytes:
        violations.add("edit", "TOO_LARGE", f"{size} bytes, and the limit is {limits.max_edit_bytes}")
        return None
    match edit.WhichOneof("form"):
        case "update_snippet":
            return _text(edit.update_snippet, "edit.update_snippet", UpdateSnippet, violations)
        case "unified_diff":
            return _text(edit.unified_diff, "edit.unified_diff", _parse_diff, violations)
        case "search_replace_text":
            return _text(edit.search_replace_text, "edit.search_replace_text", parse_search_replace, violations)
        case "search_replace":
            return _blocks(edit.search_replace, violations)
        case "instruction":
            if edit.accompanying_instruction:
                violations.add(
                    "edit.accompanying_instruction", "CONFLICT", "put the whole text into edit.instruction instead"
                )
            return _text(edit.instruction, "edit.instruction", Instruction, violations)
        case None:
            violations.add(
                "edit.form",
                "REQUIRED",
                "there is no edit: set update_snippet, unified_diff, search_replace or instruction",
            )
            return None


def _text(text: str, field: str, parse: Callable[[str], Edit], violations: _Violations) -> Edit | None:
    """An edit that is one text; `parse` may raise EditParseError."""
    text = _normalize(text)
    if not text.strip():
        violations.add(field, "EMPTY", "the edit is empty: there is nothing to apply")
        return None
    try:
        edit = parse(text)
    except EditParseError as error:
        violations.add(field, "MALFORMED", str(error))
        return None
    if isinstance(edit, SearchReplace):
        _check_blocks(edit.blocks, field, violations)
    return edit


def _parse_diff(text: str) -> UnifiedDiff:
    parse_unified_diff(text)
    return UnifiedDiff(text)


def _blocks(edit: pb.SearchReplace, violations: _Violations) -> SearchReplace | None:
    if not edit.blocks:
        violations.add("edit.search_replace.blocks", "EMPTY", "the edit is empty: there is no block to apply")
        return None
    blocks = tuple(SearchReplaceBlock(_normalize(b.search), _normalize(b.replace)) for b in edit.blocks)
    _check_blocks(blocks, "edit.search_replace", violations)
    return SearchReplace(blocks)


def _check_blocks(blocks: tuple[SearchReplaceBlock, ...], field: str, violations: _Violations) -> None:
    for index, block in enumerate(blocks):
        if not block.search:
            violations.add(f"{field}.blocks[{index}].search", "EMPTY", "there is no text to search for")


def _sampling(sampling: pb.Sampling, violations: _Violations) -> Sampling:
    # The comparison is written so that NaN fails it.
    if not 0.0 <= sampling.temperature <= MAX_TEMPERATURE:
        violations.add("sampling.temperature", "OUT_OF_RANGE", f"must be from 0 to {MAX_TEMPERATURE:g}")
    seed = sampling.seed if sampling.HasField("seed") else None
    if seed is not None and seed < 0:
        violations.add("sampling.seed", "OUT_OF_RANGE", "must be 0 or more")
    max_output_tokens = sampling.max_output_tokens if sampling.HasField("max_output_tokens") else None
    if max_output_tokens is not None and max_output_tokens < 1:
        violations.add("sampling.max_output_tokens", "OUT_OF_RANGE", "must be 1 or more; leave it out for the default")
    return Sampling(temperature=sampling.temperature, seed=seed, max_output_tokens=max_output_tokens)


def _draft(draft: pb.DraftOptions, limits: Limits, violations: _Violations) -> DraftOptions:
    enabled = _DRAFTING.get(draft.drafting)
    if enabled is None:
        violations.add("draft.drafting", "UNKNOWN", "not a value of Drafting")
    if not draft.HasField("max_draft_tokens"):
        return DraftOptions(enabled=bool(enabled))
    if draft.max_draft_tokens < 0:
        violations.add("draft.max_draft_tokens", "OUT_OF_RANGE", "must be 0 or more; 0 is plain decoding")
    return DraftOptions(enabled=bool(enabled), max_draft_tokens=min(draft.max_draft_tokens, limits.max_draft_tokens))


def _check_base(file: pb.SourceFile, data: bytes) -> None:
    if file.HasField("sha256") and not hmac.compare_digest(file.sha256, hashlib.sha256(data).digest()):
        raise BaseMismatch(
            "file.sha256 is not the digest of the content sent: the file changed since the edit was made; read it "
            "again, make the edit again and send both"
        )


def _normalize(text: str) -> str:
    """As models see text: no byte-order mark, LF line ends."""
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n")
