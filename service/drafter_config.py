"""What drafts, and its own settings: `drafting.drafter` of the configuration, told apart by `kind`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, NonNegativeInt, PositiveInt, Tag, model_validator


class _Drafter(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CopyDrafterConfig(_Drafter):
    """redraft's own: each request says whether and from what it drafts."""

    kind: Literal["copy"] = "copy"
    max_batch_draft_tokens: PositiveInt = Field(
        default=1024, description="Sum of k over the batch in one target pass: logits are computed for each of them."
    )
    cost_ratio: float = Field(
        default=0.05,
        gt=0,
        le=1,
        description="Time of a draft token over the time of a pass: about 0.05 on CPUs, 0.006 on a large GPU.",
    )
    fit_cost: bool = Field(default=False, description="Fit cost_ratio to the engine's own steps as it runs.")


class NgramDrafterConfig(_Drafter):
    """vLLM's n-gram drafting: what followed the earliest longest match. k is always drafting.max_draft_tokens."""

    kind: Literal["ngram"] = "ngram"
    min_n: PositiveInt = Field(default=2, description="Shortest n-gram, in tokens.")
    max_n: PositiveInt = Field(default=4, description="Longest n-gram, in tokens.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min_n > self.max_n:
            raise ValueError(f"min_n is {self.min_n}, more than max_n, {self.max_n}")
        return self


class SuffixDrafterConfig(_Drafter):
    """Suffix decoding by arctic-inference (the extra `suffix`); the defaults are vLLM's. It keeps past outputs, of all
    callers, in the engine's memory and drafts from them."""

    kind: Literal["suffix"] = "suffix"
    max_tree_depth: PositiveInt = Field(default=24, description="Tokens of match and draft together.")
    max_cached_requests: NonNegativeInt = Field(
        default=10_000, description="Past outputs to draft from; 0 drafts from the request's own tokens only."
    )
    max_spec_factor: float = Field(default=1.0, ge=0, description="Draft tokens per token of the match.")
    min_token_prob: float = Field(default=0.1, ge=0, le=1, description="By frequency in the tree.")


class DraftModelConfig(_Drafter):
    """A smaller model with the target's tokenizer."""

    kind: Literal["draft_model"] = "draft_model"
    path: Path = Field(description="Directory of the draft model.")
    length: NonNegativeInt = Field(default=4, description="Tokens of a draft; 0 decodes plainly.")


class EagleDrafterConfig(_Drafter):
    """An EAGLE or EAGLE-3 head that was trained for the target."""

    kind: Literal["eagle"] = "eagle"
    path: Path = Field(description="Directory of the head.")
    version: Literal["eagle", "eagle3"] = "eagle3"
    length: PositiveInt = Field(default=4, description="Tokens of a draft.")


class MtpDrafterConfig(_Drafter):
    """Multi-token prediction by layers that the target itself came with."""

    kind: Literal["mtp"] = "mtp"
    length: PositiveInt = Field(
        default=1, description="Tokens of a draft. Longer than the model has layers for, it must be a multiple of them."
    )


class NoDrafterConfig(_Drafter):
    """Plain decoding."""

    kind: Literal["none"] = "none"


_UNKNOWN: Final = "an unknown kind of drafter: it must be copy, ngram, suffix, draft_model, eagle, mtp or none"


def _kind(value: Any) -> str:
    """Settings come from several sources, of which none needs to name the kind."""
    found = value.get("kind", "copy") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return str(found)


DrafterConfig = Annotated[
    Annotated[CopyDrafterConfig, Tag("copy")]
    | Annotated[NgramDrafterConfig, Tag("ngram")]
    | Annotated[SuffixDrafterConfig, Tag("suffix")]
    | Annotated[DraftModelConfig, Tag("draft_model")]
    | Annotated[EagleDrafterConfig, Tag("eagle")]
    | Annotated[MtpDrafterConfig, Tag("mtp")]
    | Annotated[NoDrafterConfig, Tag("none")],
    Discriminator(_kind, custom_error_type="unknown_drafter", custom_error_message=_UNKNOWN),
]
