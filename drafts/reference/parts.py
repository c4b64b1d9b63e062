"""The parts that a reference decoder is made of, so that a test can replace one of them."""

from __future__ import annotations

from dataclasses import dataclass

from drafts.reference.draft_model import DraftModel
from drafts.reference.loop import SpeculativeLoop
from drafts.reference.penalties import Penalizer
from drafts.reference.prompt_lookup import PromptLookup
from drafts.reference.stops import Stopper
from drafts.reference.verify import Verifier


@dataclass(frozen=True, slots=True)
class Parts:
    """Classes to build from; the defaults are the reference."""

    verifier: type[Verifier] = Verifier
    penalizer: type[Penalizer] = Penalizer
    stopper: type[Stopper] = Stopper
    loop: type[SpeculativeLoop] = SpeculativeLoop
    prompt_lookup: type[PromptLookup] = PromptLookup
    draft_model: type[DraftModel] = DraftModel
