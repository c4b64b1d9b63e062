from __future__ import annotations

from drafts.align.plan import Plan, Region, RegionKind, Span
from drafts.core.types import DraftNode
from service.config import EMBEDDED_MODEL_PATH
from service.prompts.base import expect
from service.prompts.tokenization import TextTokenizer

TEXT = '''import os


class Clock:
    """Tells the time."""

    def tick(self) -> int:
        if self.paused:
            return self.now

        self.now += 1
        return self.now


def main() -> None:
    print(Clock().tick())
'''


def expected_nodes(confidence: float, prefix: str = "") -> tuple[list[str], tuple[DraftNode, ...]]:
    tokenizer = TextTokenizer.load(EMBEDDED_MODEL_PATH)
    size = len(TEXT.encode())
    plan = Plan(TEXT, (Region(RegionKind.KEPT, Span(0, size), Span(0, size), confidence),), confidence)
    answer = expect(tokenizer, plan, "python", end_token=0, prefix=prefix)
    texts = [
        b"".join(tokenizer.token_bytes(token) for token in answer.token_ids[node.start : node.end]).decode()
        for node in answer.nodes
    ]
    assert answer.confidence == confidence
    return texts, answer.nodes


def test_nodes_of_several_lines_are_ranges_of_tokens() -> None:
    texts, nodes = expected_nodes(0.0)
    starts = [text.strip().splitlines()[0].strip() for text in texts]
    assert {"class Clock:", "def tick(self) -> int:", "if self.paused:", "def main() -> None:"} <= set(starts)
    assert all(text.count("\n") >= 2 for text in texts)
    # They end with a line, and the next token begins one.
    assert all(text.rstrip(" ").endswith("\n") for text in texts)
    assert list(nodes) == sorted(nodes, key=lambda node: (node.start, -node.end))


def test_prefix_of_the_format_shifts_the_nodes() -> None:
    plain, _ = expected_nodes(0.0)
    wrapped, _ = expected_nodes(0.0, prefix="```\n")
    assert [text.strip() for text in wrapped] == [text.strip() for text in plain]


def test_sure_plan_needs_no_syntax() -> None:
    assert expected_nodes(0.99)[1] == ()


def test_a_part_of_the_edit_is_in_doubt_once() -> None:
    """Two changes of one part, with one confidence, and one of another part."""
    kinds = (RegionKind.KEPT, RegionKind.REPLACED, RegionKind.KEPT, RegionKind.INSERTED, RegionKind.DELETED)
    confidences = (0.9, 0.8, 0.9, 0.8, 0.7)
    regions = tuple(
        Region(kind, Span(20 * i, 20 * i + 20), Span(20 * i, 20 * i + 20), confidence)
        for i, (kind, confidence) in enumerate(zip(kinds, confidences, strict=True))
    )
    plan = Plan(TEXT[:100], regions, 0.56)
    answer = expect(TextTokenizer.load(EMBEDDED_MODEL_PATH), plan, end_token=0)
    assert [region.confidence for region in answer.regions] == [1.0, 0.8, 1.0, 1.0, 0.7]
