"""The delay of a hop, in integers only."""

from __future__ import annotations

_LN2_32 = 2977044472  # ln 2 in units of 2^-32


def exponential(seed: int) -> int:
    """-ln(seed / 2^64) with 24 fractional bits."""
    u = seed | 1
    if u >= 2**64:
        raise ValueError("a delay seed has 64 bits")
    leading_zeros = 64 - u.bit_length()
    mantissa = (u << leading_zeros) >> 32
    fraction = 0
    for _ in range(24):
        # Squaring doubles the logarithm; its integer part is the next binary digit.
        squared = mantissa * mantissa
        fraction *= 2
        if squared >= 2**63:
            fraction += 1
            mantissa = squared >> 32
        else:
            mantissa = squared >> 31
    log2 = (leading_zeros + 1) * 2**24 - fraction
    return (log2 * _LN2_32) >> 32


def delay_us(seed: int, mean_us: int) -> int:
    return (mean_us * exponential(seed)) >> 24
