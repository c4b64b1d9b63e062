"""Bugs that the tests must catch: each is the reference with one method of one part replaced.

Run as a program it plants each in turn, runs this folder's tests until one fails, and prints which did; the last line
is the count caught, and the exit status is 1 unless all were. One test run under one bug:
REDRAFT_PLANTED_BUG=NAME pytest tests/drafts/reference
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from drafts.reference.draft_model import DraftModel
from drafts.reference.loop import SpeculativeLoop
from drafts.reference.parts import Parts
from drafts.reference.penalties import Penalizer
from drafts.reference.prompt_lookup import PromptLookup
from drafts.reference.stops import Stopper
from drafts.reference.types import Uniform
from drafts.reference.verify import Verifier

TESTS = Path(__file__).parent


class DraftTakenForTarget(Verifier):
    def acceptance(self, p: Tensor, q: Tensor, x: int) -> float:
        return 1.0


class OneHotAtWrongIndex(Verifier):
    def one_hot(self, draft: Tensor, vocab_size: int) -> Tensor:
        # a little mass stays on the token itself, so that the check of the draft's own probability passes
        return 0.01 * super().one_hot(draft, vocab_size) + 0.99 * super().one_hot(draft, vocab_size).roll(1, dims=1)


class ResampledFromTarget(Verifier):
    def residual(self, p: Tensor, q: Tensor) -> Tensor:
        return p


class UniformsSwapped(Verifier):
    def pair(self, uniform: Uniform) -> tuple[float, float]:
        first, second = super().pair(uniform)
        return second, first


class ResampleDrawnOnlyWhenAccepted(Verifier):
    """Another order still: a rejected position reuses its first uniform."""

    def pair(self, uniform: Uniform) -> tuple[float, float]:
        first = uniform()
        return first, first


class GreedyKeepsMismatch(Verifier):
    def matches(self, row: Tensor, x: int) -> bool:
        return float(row[x]) >= float(row.topk(2).values[-1])  # the second best will do


class OwnTokenFromWrongRow(Verifier):
    def own_row(self, accepted: int, drafted: int) -> int:
        return max(accepted - 1, 0) if accepted == drafted else accepted


class PenaltiesBlindToKeptDrafts(Penalizer):
    def history(self, output: Sequence[int], kept: Sequence[int]) -> list[int]:
        return list(output)


class LookupOldest(PromptLookup):
    def places(self, end: int) -> Iterable[int]:
        return range(end)


class LookupShortest(PromptLookup):
    def lengths(self) -> Iterable[int]:
        return reversed(list(super().lengths()))


class LookupIgnoresK(PromptLookup):
    def take(self, start: int, limit: int) -> list[int]:
        return self.context[start:]


class DraftNotTruncated(DraftModel):
    def truncate(self, length: int) -> None:
        """Believes that it did."""
        del self._fed[length:]


class DraftNotRefed(DraftModel):
    def missing(self, start: int, end: int) -> list[int]:
        return []


class NoRollback(SpeculativeLoop):
    def surplus(self, offset: int, committed: list[int]) -> int:
        return 0


class OwnTokenCountedAsCached(SpeculativeLoop):
    def surplus(self, offset: int, committed: list[int]) -> int:
        return max(offset - len(committed), 0)


class OwnTokenNeverFed(SpeculativeLoop):
    def pending(self, committed: list[int], offset: int) -> list[int]:
        return committed if offset == 0 else committed[offset - 1 : -1]  # the token before it once more


class EndOfSequenceKept(Stopper):
    def ended(self, tokens: list[int], eos: int) -> list[int]:
        return [*tokens, eos]


class StopStringNotCut(Stopper):
    def cut(self, text: str, end: int | None) -> str:
        return text


class LimitIgnoresRemaining(SpeculativeLoop):
    def limit(self, remaining: int) -> int:
        return self.params.k


@dataclass(frozen=True, slots=True)
class Bug:
    """What it does, in words; the part that it replaces, a field of Parts; and by what."""

    says: str
    part: str
    replacement: type

    def plant(self) -> Parts:
        return replace(Parts(), **{self.part: self.replacement})

    @property
    def home(self) -> str:
        """The module whose tests are nearest."""
        return HOMES[self.part]


HOMES = {
    "verifier": "verify",
    "penalizer": "penalties",
    "stopper": "stops",
    "loop": "loop",
    "prompt_lookup": "prompt_lookup",
    "draft_model": "draft_model",
}

BUGS = {
    "q-is-p": Bug("the draft is treated as if q = p", "verifier", DraftTakenForTarget),
    "one-hot-index": Bug("a one-hot at the wrong index", "verifier", OneHotAtWrongIndex),
    "resample-p": Bug("resampling from p after a rejection", "verifier", ResampledFromTarget),
    "uniform-order": Bug("uniforms in another order", "verifier", UniformsSwapped),
    "uniform-reused": Bug("one uniform for accepting and resampling", "verifier", ResampleDrawnOnlyWhenAccepted),
    "greedy-mismatch": Bug("greedy keeps a mismatch", "verifier", GreedyKeepsMismatch),
    "bonus-row": Bug("the bonus token from the wrong row", "verifier", OwnTokenFromWrongRow),
    "penalty-history": Bug("penalties blind to this round's kept drafts", "penalizer", PenaltiesBlindToKeptDrafts),
    "lookup-oldest": Bug("lookup by oldest occurrence", "prompt_lookup", LookupOldest),
    "lookup-shortest": Bug("lookup by shortest n-gram", "prompt_lookup", LookupShortest),
    "lookup-k": Bug("lookup ignores k", "prompt_lookup", LookupIgnoresK),
    "draft-truncate": Bug("the draft model does not truncate", "draft_model", DraftNotTruncated),
    "draft-refeed": Bug("the draft model does not re-feed", "draft_model", DraftNotRefed),
    "no-rollback": Bug("no rollback of the target's cache", "loop", NoRollback),
    "own-token-cached": Bug("the extra token is counted as cached", "loop", OwnTokenCountedAsCached),
    "own-token-unfed": Bug("the extra token is never fed", "loop", OwnTokenNeverFed),
    "eos-kept": Bug("end-of-sequence is kept in the output", "stopper", EndOfSequenceKept),
    "stop-uncut": Bug("a stop string is not cut", "stopper", StopStringNotCut),
    "k-plus-one": Bug("k + 1 tokens are allowed when fewer remain", "loop", LimitIgnoresRemaining),
}


class _FirstFailure:
    """Remembers the first test that failed while it ran (not while it was set up)."""

    def __init__(self) -> None:
        self.test: str | None = None
        self.passed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.failed and self.test is None:
            self.test = report.nodeid.rsplit("/", 1)[-1]
        self.passed += report.when == "call" and report.passed


def run_tests(bug: str | None, *tests: str) -> _FirstFailure:
    """The tests named (FILE::TEST), or all of this folder, until the first failure; those nearest to the bug first."""
    first = _FirstFailure()
    os.environ.pop("REDRAFT_PLANTED_BUG", None)
    names = list(tests) or sorted(path.name for path in TESTS.glob("test_*.py"))
    if bug is not None:
        os.environ["REDRAFT_PLANTED_BUG"] = bug
        names.sort(key=lambda name: name != f"test_{BUGS[bug].home}.py")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main(["-x", "-q", "-p", "no:cacheprovider", *(str(TESTS / name) for name in names)], plugins=[first])
    finally:
        os.environ.pop("REDRAFT_PLANTED_BUG", None)
    return first


def catcher(bug: str) -> str | None:
    """The first test that fails with the bug and passes without it; None when that is not so."""
    test = run_tests(bug).test
    if test is None:
        return None
    again = run_tests(None, test)  # a test that fails anyhow has caught nothing
    return test if again.test is None and again.passed == 1 else None


def main() -> int:
    torch.set_num_threads(1)
    clean = run_tests(None)
    if clean.test is not None or clean.passed == 0:
        print(f"Without any bug the tests must pass; failed: {clean.test}", file=sys.stderr)
        return 1
    caught = 0
    for name, bug in BUGS.items():
        test = catcher(name)
        caught += test is not None
        print(f"{bug.says:<46} {test or 'NOT CAUGHT'}", flush=True)
    print(f"{caught} of {len(BUGS)} planted bugs caught")
    return 0 if caught == len(BUGS) else 1


if __name__ == "__main__":
    sys.exit(main())
