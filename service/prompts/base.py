"""What a prompt format is: how one family of models is asked, and how its answer is cut out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from drafts.align.plan import Plan, RegionKind
from drafts.align.structure import node_spans
from drafts.core.types import DraftNode, DraftRegion, DraftRequest, SourceKind
from service.prompts.cutters import AnswerCutter
from service.prompts.tokenization import TextTokenizer
from service.text_stream import TextStream
from service.types import ApplyRequest, StopReason

# A plan this sure is hardly ever left, so that its syntax is not worth the parsing.
_SURE_PLAN = 0.95


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """A half-open range of token positions in the prompt."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """The plan's predicted text as the model would write it, wrapped in the format's prefix and suffix.

    end_token: what follows it. newline_tokens: the vocabulary's ids whose text holds a line feed.
    regions: one per plan region, in order (regions[i] is plan.regions[i]; a deleted one is empty). The prefix
    belongs to the first and the suffix to the last, so that they tile the tokens. Empty when the plan has none.
    confidence: the plan's own. nodes: syntax nodes on lines of their own; empty where the plan is sure without them.
    """

    token_ids: tuple[int, ...]
    regions: tuple[DraftRegion, ...]
    end_token: int
    newline_tokens: frozenset[int]
    confidence: float = 0.0
    nodes: tuple[DraftNode, ...] = ()


class Answer:
    """One answer being read: tokens in, the file's text out. All texts concatenate to the file."""

    def __init__(self, stream: TextStream, cutter: AnswerCutter) -> None:
        self._stream = stream
        self._cutter = cutter

    @property
    def stop_reason(self) -> StopReason:
        return self._cutter.stop_reason

    def feed(self, token_ids: Sequence[int]) -> str:
        """The text of the file that is certain by now; what may be the format's end is held back."""
        return self._cutter.feed(self._stream.feed(token_ids))

    def finish(self) -> str:
        """The rest of the file. Call it when the model has ended its turn.

        Raises ResultRejected when the answer does not follow the format (RESULT_TRUNCATED when its end is missing).
        """
        return self._cutter.feed(self._stream.finish()) + self._cutter.finish()


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt ready for the engine.

    original, edit: where the caller's file and edit lie in `token_ids` (the edit is empty for an instruction alone).
    stop_token_ids: the end of the model's turn.
    new_answer: makes the reader of one answer to this prompt.
    """

    token_ids: tuple[int, ...]
    original: TokenSpan
    edit: TokenSpan
    stop_token_ids: tuple[int, ...]
    expected: ExpectedAnswer
    new_answer: Callable[[], Answer]

    def draft_request(self, max_draft_tokens: int) -> DraftRequest:
        """Everything that a drafter may copy from, k at most `max_draft_tokens`."""
        return DraftRequest(
            predicted=self.expected.token_ids,
            regions=self.expected.regions,
            confidence=self.expected.confidence,
            nodes=self.expected.nodes,
            original=self.token_ids[self.original.start : self.original.end],
            edit=self.token_ids[self.edit.start : self.edit.end],
            max_draft_tokens=max_draft_tokens,
            end_token=self.expected.end_token,
            # Those that may come up: the whole vocabulary's would be sent to the engine with every request.
            newline_tokens=self.expected.newline_tokens.intersection({*self.token_ids, *self.expected.token_ids}),
        )


class PromptFormat(Protocol):
    """Renders prompts for one loaded model. Stateless: it may be called from several threads."""

    def render(self, request: ApplyRequest, plan: Plan) -> RenderedPrompt:
        """Raises EditNotApplicable when the model cannot do this form of edit."""


def expect(
    tokenizer: TextTokenizer, plan: Plan, language: str = "", *, end_token: int, prefix: str = "", suffix: str = ""
) -> ExpectedAnswer:
    """Tokenizes the whole answer in one go, as a model writes it: tokens may straddle regions.

    A token that lies across a border counts as edited when either side is. Changes next to each other with the same
    confidence come from one part of the edit: its place is in doubt only once, where the first of them begins.
    language: a canonical name, for the syntax; "" for none.
    """
    token_ids = tokenizer.encode_text(prefix + plan.predicted + suffix)
    ends = tokenizer.byte_ends(token_ids)
    shift = len(prefix.encode())
    regions: list[DraftRegion] = []
    doubt = None
    for index, region in enumerate(plan.regions):
        kind = _source_kind(region.kind)
        if index == len(plan.regions) - 1:
            end = len(token_ids)
        else:
            border = region.predicted.end + shift
            ended = bisect_right(ends, border)
            straddled = border > (ends[ended - 1] if ended else 0)
            end = ended + 1 if straddled and kind is SourceKind.EDITED and len(region.predicted) else ended
        confidence = 1.0
        if region.kind is not RegionKind.KEPT and region.confidence != doubt:
            confidence = doubt = region.confidence
        regions.append(DraftRegion(max(end, regions[-1].end if regions else 0), kind, confidence))
    nodes = () if plan.confidence >= _SURE_PLAN else _nodes(plan.predicted, language, ends, shift)
    return ExpectedAnswer(
        tuple(token_ids), tuple(regions), end_token, tokenizer.newline_tokens, plan.confidence, tuple(nodes)
    )


def _nodes(text: str, language: str, ends: list[int], shift: int) -> list[DraftNode]:
    """The syntax nodes of more than one line, in tokens: from the one that holds the first byte to the one that holds
    the last. ends: where each token ends, in bytes. shift: bytes before the text."""
    data = text.encode()
    nodes: list[DraftNode] = []
    for span in node_spans(text, language):
        if data.find(b"\n", span.start, span.end - 1) < 0:
            continue
        node = DraftNode(bisect_right(ends, span.start + shift), bisect_left(ends, span.end + shift) + 1)
        if nodes[-1:] != [node]:
            nodes.append(node)
    return nodes


def _source_kind(kind: RegionKind) -> SourceKind:
    return SourceKind.KEPT if kind is RegionKind.KEPT else SourceKind.EDITED


class PromptBuilder:
    """Collects token ids and remembers where a part lies."""

    def __init__(self) -> None:
        self.token_ids: list[int] = []

    def add(self, token_ids: Sequence[int]) -> TokenSpan:
        start = len(self.token_ids)
        self.token_ids.extend(token_ids)
        return TokenSpan(start, len(self.token_ids))
