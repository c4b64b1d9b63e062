"""How often a result is right, by whether the model and the plan agree on it. Pure.

The service compares the model's text with the one that aligning the edit with the file predicts, and says so in every
answer (service/agreement.py). Two merges that come to the same text are seldom both wrong: the claim is that at least
99.5% of the results on which they agree are byte-exact. It says less about diffs and search/replace blocks: a model
that knows only snippets reads one made from the plan, and shares the plan's errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evals.proportion import Proportion
from evals.quality.samples import QualitySample
from service.agreement import Agreement


@dataclass(frozen=True, slots=True)
class AgreementFigures:
    """Byte-exact results among those of each agreement, and the results of which a run's file does not say it.

    Only results are counted: refused and cut-off edits have none, while in report.Figures they count as wrong.
    """

    byte_exact: dict[Agreement, Proportion]
    not_recorded: int

    @property
    def recorded(self) -> int:
        return sum(share.total for share in self.byte_exact.values())

    def to_json(self) -> dict[str, Any]:
        """Agreement -> edits, byte-exact ones of them, and the 95% interval of their share."""
        return {
            agreement.name: {"edits": share.total, "byte_exact": share.count, "interval": [share.low, share.high]}
            for agreement, share in self.byte_exact.items()
        }


def agreement_figures(samples: Sequence[QualitySample]) -> AgreementFigures:
    """samples: without edits that change nothing, which are too easy to say anything about the others."""
    results = [sample for sample in samples if sample.status == "OK"]
    shares = {}
    for agreement in Agreement:
        right = [sample.score.byte_exact for sample in results if sample.agreement is agreement]
        shares[agreement] = Proportion(sum(right), len(right))
    return AgreementFigures(shares, sum(sample.agreement is None for sample in results))
