"""What training learns: one factor for each named block of the circuit's weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import OPTForCausalLM


@dataclass(frozen=True)
class Gain:
    """Elements of a parameter that training scales by one factor, under one name.

    elements: flat indices into the parameter, int64.
    """

    name: str
    parameter: str
    elements: Tensor

    @classmethod
    def of(cls, model: torch.nn.Module, name: str, weight: Tensor, *index: int | slice | list[int]) -> Gain:
        """weight[index], where `weight` is one of the model's parameters or a view of one."""
        parameter = next(found for found, tensor in model.named_parameters() if same_storage(tensor, weight))
        mask = torch.zeros_like(weight)
        mask[index] = 1.0
        offset = torch.tensor(weight.storage_offset())
        return cls(name, parameter, offset + (mask.nonzero() * torch.tensor(weight.stride())).sum(dim=1))


class GainedModel(torch.nn.Module):
    """The circuit with one learned factor a gain; `factors` starts at one."""

    def __init__(self, model: OPTForCausalLM, gains: list[Gain]) -> None:
        super().__init__()
        self.model = model
        self.names = list(dict.fromkeys(gain.name for gain in gains))
        self.factors = torch.nn.Parameter(torch.ones(len(self.names)))
        self._gains = gains
        model.requires_grad_(False)

    def weights(self) -> dict[str, Tensor]:
        """The scaled parameters by name."""
        scaled: dict[str, Tensor] = {}
        for gain in self._gains:
            weight = scaled.get(gain.parameter, self.model.get_parameter(gain.parameter))
            elements = gain.elements.to(weight.device)
            flat = weight.flatten()
            part = flat[elements] * self.factors[self.names.index(gain.name)]
            scaled[gain.parameter] = flat.index_put((elements,), part).view_as(weight)
        return scaled

    def forward(self, ids: Tensor, picked: Tensor) -> Tensor:
        """Logits at the picked positions. ids: int64 [rows, length]; picked: bool [rows, length - 1]."""
        inner = {name.removeprefix("model."): weight for name, weight in self.weights().items()}
        # Padding stands after every answer, so the causal mask hides it.
        arguments = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "use_cache": False}
        hidden = torch.func.functional_call(self.model.model, inner, kwargs=arguments).last_hidden_state
        logits: Tensor = self.model.lm_head(hidden[:, :-1][picked])
        return logits


def same_storage(a: Tensor, b: Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
