"""What the circuit's ReLU layers compute, unit by unit: exclusive ors of bits, and slots switched off by flags."""

from __future__ import annotations

from torch import nn
from transformers.models.opt.modeling_opt import OPTDecoderLayer

# Of the wave that takes a sum of +-1 bits to what is added to it: its value at the right end, and (slope, knot) pairs
# going left. Sums that a zero among the bits makes odd (of three: even) become zero, as the wave is linear between.
_WAVES = {
    2: (-1.0, ((2.0, 0.0),)),
    3: (-2.0, ((2.0, 1.0), (-2.0, -1.0))),
    4: (-3.0, ((2.0, 2.0), (-2.0, 0.0), (2.0, -2.0))),
}


def read_unit(fc1: nn.Linear, unit: int, reads: dict[int, float], bias: float) -> None:
    """Sets the unit to relu(bias + the weighted sum of the dimensions `reads`)."""
    for dim, weight in reads.items():
        fc1.weight[unit, dim] = weight
    fc1.bias[unit] = bias


def exclusive_or(layer: OPTDecoderLayer, unit: int, slot: slice, terms: int) -> int:
    """Replaces sums of 2, 3 or 4 +-1 bits by their exclusive or, in place, with units from `unit`. Returns the next."""
    top, knots = _WAVES[terms]
    for dim in range(slot.start, slot.stop):
        for slope, knot in knots:
            read_unit(layer.fc1, unit, {dim: -1.0}, knot)
            layer.fc2.weight[dim, unit] = slope
            unit += 1
        layer.fc2.bias[dim] = top
    return unit


def gated(layer: OPTDecoderLayer, unit: int, slot: slice, gate: dict[int, float], offset: float = 0.0) -> int:
    """Multiplies a slot in [-1, 1] by offset + a sum of flags, where that is 1; zero where it is 0 or less.

    x * g = relu(x + 2g - 1) - relu(g). Uses units from `unit`, returns the next.
    """
    read_unit(layer.fc1, unit, gate, offset)
    layer.fc2.weight[slot, unit] = -1.0
    unit += 1
    for dim in range(slot.start, slot.stop):
        doubled = {flag: 2 * weight for flag, weight in gate.items()}
        read_unit(layer.fc1, unit, {dim: 1.0, **doubled}, 2 * offset - 1.0)
        read_unit(layer.fc1, unit + 1, {dim: 1.0}, 1.0)
        layer.fc2.weight[dim, unit], layer.fc2.weight[dim, unit + 1] = 1.0, -1.0
        layer.fc2.bias[dim] = 1.0
        unit += 2
    return unit
