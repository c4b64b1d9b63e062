"""Two independent merges of an edit, the model's and the alignment's: what is answered when they differ. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

SURE: Final = 0.7
"""A plan whose confidence is less than this may well be wrong."""


class Agreement(StrEnum):
    """Whose text a result is."""

    MODEL_AND_PLAN = "model_and_plan"
    MODEL_ONLY = "model_only"
    """The plan predicts another text, or none: the edit is an instruction, or was not placed. Or it leaves the file as
    it is, and is not sure of that."""
    PLAN_ONLY = "plan_only"
    """The model wrote another text, or none that is a result."""


class AgreementPolicy(StrEnum):
    """What to answer where the model's text is not the predicted one."""

    MODEL = "model"
    PLAN = "plan"
    """The plan's text where the plan is sure of it, else the model's."""
    REFUSE = "refuse"
    """Nothing. Edits without a plan (instructions) cannot be checked, and are answered by the model."""
