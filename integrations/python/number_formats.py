"""Which value does a code stand for, and what do narrower operands make of it?

A value is a pair (s, e) of integers that stands for s * 2^e; None for infinities and NaN. The fields of the formats are
those of `rigel_inputs`.
"""

import re

from rigel_inputs import BLOCKS, FLOATS, INTEGERS

BITS = {"f64": 64, "f32": 32, "tf32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "e4m3_fnuz": 8, "e5m2_fnuz": 8,
        "e2m1": 4, "e2m3": 6, "e3m2": 6, "e8m0": 8, "ue4m3": 8, "i32": 32, "i16": 16, "i8": 8, "u8": 8, "i4": 4, "u4": 4, "i2": 2, "u2": 2,
        "mxe4m3": 16, "mxe2m1": 16, "nve2m1": 16}
MAGNITUDE_BITS = {"i32": 31, "i16": 15, "i8": 7, "u8": 8, "i4": 3, "u4": 4, "i2": 1, "u2": 2}
TRIPLE = re.compile(r"([a-z0-9_]+),([a-z0-9_]+)->([a-z0-9_]+)(?:\+([a-z0-9_]+))?")


def is_integer(name):
    return name in INTEGERS


def precision(name):
    """Significant bits, the hidden one included, of element times scale; magnitude bits of integers."""
    if name in BLOCKS:
        element, scale, _ = BLOCKS[name]
        return precision(element) + (precision(scale) if precision(scale) > 1 else 0)
    return MAGNITUDE_BITS[name] if name in INTEGERS else FLOATS[name][2] + 1


def least_exponent(name):
    """Exponent of the smallest normal value of a floating format. e8m0 has no subnormal values."""
    return -FLOATS[name][3] if name == "e8m0" else 1 - FLOATS[name][3]


def decode(name, code):
    if name in INTEGERS:
        bits, signed = INTEGERS[name]
        code &= (1 << bits) - 1
        return (code - (1 << bits) if signed and code >> (bits - 1) else code), 0
    if name in BLOCKS:
        element, scale = decode(BLOCKS[name][0], code & 0xFF), decode(BLOCKS[name][1], code >> 8 & 0xFF)
        return element and scale and (element[0] * scale[0], element[1] + scale[1])
    sign_bits, exponent_bits, fraction_bits, bias, largest = FLOATS[name]
    if name == "tf32":
        code >>= 13
    width = exponent_bits + fraction_bits
    negative, magnitude = sign_bits and code >> width & 1, code & (1 << width) - 1
    if magnitude > largest or name.endswith("fnuz") and negative and magnitude == 0:
        return None
    field, fraction = magnitude >> fraction_bits, magnitude & (1 << fraction_bits) - 1
    first_normal = least_exponent(name) + bias
    exponent = least_exponent(name) - fraction_bits
    if field >= first_normal:
        fraction |= 1 << fraction_bits
        exponent += field - first_normal
    return (-fraction if negative else fraction), exponent


def cut(value, name, to_nearest):
    """A value rounded to a floating format, to nearest with ties to even or toward zero; None where it overflows."""
    s, e = value
    if s == 0:
        return value
    _, _, fraction_bits, bias, largest = FLOATS[name]
    top = max(abs(s).bit_length() - 1 + e, least_exponent(name))
    last_place = top - fraction_bits
    dropped = last_place - e
    if dropped > 0:
        kept, rest, half = abs(s) >> dropped, abs(s) & (1 << dropped) - 1, 1 << (dropped - 1)
        if to_nearest:
            kept += rest > half or rest == half and kept & 1
    else:
        kept = abs(s) << -dropped
    most, most_exponent = decode(name, largest << 13 if name == "tf32" else largest)
    common = min(last_place, most_exponent)
    if kept << (last_place - common) > most << (most_exponent - common):
        if to_nearest:
            return None
        kept, last_place = most, most_exponent
    return (-kept if s < 0 else kept), last_place


def triple_of(text):
    """(A, B, C, declared accumulate type) of `A,B->C` or `A,B->C+ACC`; None for another text."""
    match = TRIPLE.fullmatch(text)
    if not match:
        return None
    a, b, c, accumulate = match.groups()
    names = (a, b, c, accumulate or c)
    whole = [name in INTEGERS for name in names]
    # Integers may meet a floating sum; an integer one has integer operands alone.
    kinds = whole[2] == whole[3] and (not whole[2] or all(whole))
    fine = all(name in BITS for name in names) and kinds and accumulate != c and not {c, accumulate} & set(BLOCKS)
    return names if fine else None
