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
        layer.fc2.weight[dim, unit] = 1.0
        unit = clear(layer, unit + 1, slice(dim, dim + 1), reach=1.0)
    return unit


# Pulses that are two where the exclusive or of 2 or 3 bits is one, zero where it is minus one, and one where a zero
# among the bits makes the sum odd (of three: even), as (slope, sign of the sum, offset).
_PULSES = {
    2: ((1.0, 1.0, 0.0), (1.0, -1.0, 0.0)),
    3: ((1.0, 1.0, 3.0), (-2.0, 1.0, 1.0), (2.0, 1.0, -1.0)),
}


def gated_exclusive_or(
    layer: OPTDecoderLayer, unit: int, slot: slice, terms: int, gate: dict[int, float], offset: float
) -> int:
    """Replaces sums of 2 or 3 +-1 bits by their exclusive or times the gate: offset + a sum of flags, at most 1.

    Where the gate is 0 or less the result is zero. Uses units from `unit`, returns the next.
    """
    read_unit(layer.fc1, unit, gate, offset)
    layer.fc2.weight[slot, unit] = -1.0
    unit += 1
    reach = {2: 2.0, 3: 6.0}[terms]
    lifted = {flag: reach * weight for flag, weight in gate.items()}
    for dim in range(slot.start, slot.stop):
        for slope, sign, knot in _PULSES[terms]:
            read_unit(layer.fc1, unit, {dim: sign, **lifted}, knot + reach * (offset - 1.0))
            layer.fc2.weight[dim, unit] = slope
            unit += 1
        unit = clear(layer, unit, slice(dim, dim + 1), reach=float(terms))
    return unit


def clear(layer: OPTDecoderLayer, unit: int, slot: slice, reach: float) -> int:
    """Takes away what stands in a slot, which is at least -reach. Uses units from `unit`, returns the next."""
    for dim in range(slot.start, slot.stop):
        read_unit(layer.fc1, unit, {dim: 1.0}, reach)
        layer.fc2.weight[dim, unit] = -1.0
        layer.fc2.bias[dim] += reach
        unit += 1
    return unit


def step(layer: OPTDecoderLayer, unit: int, slot: slice, reads: dict[int, float], low: float, height: float) -> int:
    """Adds to a slot 0 where the weighted sum of the dimensions `reads` is at most low, `height` from low + 1 on."""
    for bias, slope in ((-low, height), (-low - 1.0, -height)):
        read_unit(layer.fc1, unit, reads, bias)
        layer.fc2.weight[slot, unit] = slope
        unit += 1
    return unit
