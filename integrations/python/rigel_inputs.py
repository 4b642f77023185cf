"""Which bits is input element (row, column) of operand A or B?

Remakes any input element of a run from (format, recipe, seed, operand, row, column) with Python's integers alone.
The rules are those of the text that `rigel` hashes into a run's provenance (RECIPE_TEXT in crates/numerics).

    python3 rigel_inputs.py e4m3 uniform 42 A 3 17      prints the code as an unsigned number
    python3 rigel_inputs.py < requests                  the same, one request a line
"""

import sys
from functools import lru_cache

# name: (sign bits, exponent bits, fraction bits, bias, largest finite magnitude code)
FLOATS = {
    "f64": (1, 11, 52, 1023, (2047 << 52) - 1), "f32": (1, 8, 23, 127, (255 << 23) - 1),
    "tf32": (1, 8, 10, 127, (255 << 10) - 1), "f16": (1, 5, 10, 15, (31 << 10) - 1),
    "bf16": (1, 8, 7, 127, (255 << 7) - 1), "e4m3": (1, 4, 3, 7, 0x7E), "e5m2": (1, 5, 2, 15, 0x7B),
    "e4m3_fnuz": (1, 4, 3, 8, 0x7F), "e5m2_fnuz": (1, 5, 2, 16, 0x7F), "e2m1": (1, 2, 1, 1, 7),
    "e2m3": (1, 2, 3, 1, 31), "e3m2": (1, 3, 2, 3, 31), "e8m0": (0, 8, 0, 127, 0xFE), "ue4m3": (0, 4, 3, 7, 0x7E),
}
# name: (elements, scales, elements of a scale group). A code is the element's in the low byte, the scale's in the high one.
BLOCKS = {"mxe4m3": ("e4m3", "e8m0", 32), "mxe2m1": ("e2m1", "e8m0", 32), "nve2m1": ("e2m1", "ue4m3", 16)}
INTEGERS = {"i32": (32, True), "i16": (16, True), "i8": (8, True), "u8": (8, False), "i4": (4, True), "u4": (4, False), "i2": (2, True), "u2": (2, False)}
RECIPES = ("uniform", "near-normal", "constant", "zeros", "small-integers", "hostile-ladder")
LADDERS = {  # name: (log2 of the large term, rungs)
    "f64": (0, 60), "f32": (0, 32), "tf32": (0, 32), "bf16": (0, 32), "f16": (0, 24), "e5m2": (15, 31),
    "e5m2_fnuz": (15, 32), "e4m3": (8, 17), "ue4m3": (8, 17), "e4m3_fnuz": (7, 17), "e3m2": (4, 8), "e2m3": (2, 5),
    "e2m1": (2, 3), "mxe4m3": (8, 17), "mxe2m1": (2, 3), "nve2m1": (2, 3), "i32": (30, 30), "i8": (6, 6), "u8": (7, 7), "i4": (2, 2), "u4": (3, 3),
}
WORD, G, WHOLE = (1 << 64) - 1, 0x9E3779B97F4A7C15, (1 << 32) - 2


def mix(z):
    z &= WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


def stream(seed, index):
    """The key of an independent stream of draws."""
    return mix(mix(seed ^ 0x526967656C210001) + index * G)


def below(key, index, bound):
    """Draw `index` of a stream, below `bound`."""
    return mix(key + (index + 1) * G) * bound >> 64


def nearest(n, places):
    """n / 2^places to the nearest integer, ties to even, for n >= 0."""
    if places <= 0:
        return n << -places
    kept, rest, half = n >> places, n & (1 << places) - 1, 1 << (places - 1)
    return kept + (rest > half or rest == half and kept & 1)


def encode(name, n, exponent):
    """The code of n * 2^exponent: to nearest, ties to even, saturating."""
    if name in INTEGERS:
        bits, signed = INTEGERS[name]
        least, most = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        value = nearest(abs(n), -exponent)
        return max(least, min(most, -value if n < 0 else value)) & (1 << bits) - 1
    sign_bits, exponent_bits, fraction_bits, bias, largest = FLOATS[name]
    if n == 0 or n < 0 and not sign_bits:
        return 0
    top = max(abs(n).bit_length() - 1 + exponent, 1 - bias)
    magnitude = ((top + bias - 1) << fraction_bits) + nearest(abs(n), top - fraction_bits - exponent)
    return join(name, n < 0, min(magnitude, largest))


def join(name, negative, magnitude):
    sign_bits, exponent_bits, fraction_bits, _, _ = FLOATS[name]
    negative = negative and sign_bits and (magnitude or not name.endswith("fnuz"))
    code = (1 << (exponent_bits + fraction_bits) if negative else 0) | magnitude
    return code << 13 if name == "tf32" else code


@lru_cache(maxsize=64)
def key_of(recipe, seed, operand):
    return mix(mix(seed + G) + G * (1 + 2 * RECIPES.index(recipe) + "AB".index(operand)))


def has_elements(recipe, name):
    """Whether a recipe has elements of a format. The text of the recipes names no range of small integers for u2."""
    return not (name == "e8m0" and recipe not in ("uniform", "constant")
                or recipe == "hostile-ladder" and name not in LADDERS or recipe == "small-integers" and name == "u2")


def element(name, recipe, seed, operand, row, col):
    """The code of one element; ValueError for a format that the recipe has not."""
    if not has_elements(recipe, name):
        raise ValueError(f"recipe {recipe} has no elements of format {name}")
    if name in BLOCKS:
        elements, scales, group = BLOCKS[name]
        # Scale groups lie along k.
        place = (row, col // group) if operand == "A" else (row // group, col)
        drawn = "uniform" if recipe in ("uniform", "near-normal") else "constant"
        scale = element(scales, drawn, seed ^ 1 << 63, operand, *place)
        return scale << 8 | element(elements, recipe, seed, operand, row, col)
    key = key_of(recipe, seed, operand)
    word = lambda r, c: mix(key + G * ((r << 32) + c + 1))
    w, unsigned = word(row, col), not (INTEGERS[name][1] if name in INTEGERS else FLOATS[name][0])
    if recipe == "zeros":
        return 0
    if recipe == "constant":
        return encode(name, 1, 0) if name != "e8m0" else 127
    if recipe == "small-integers":
        least, most = (-2, 1) if name == "i2" else (0 if unsigned else -4, 4)
        return encode(name, least + (w * (most - least + 1) >> 64), 0)
    if recipe == "near-normal":
        wide = name in ("f64", "f32", "i32", "i16")
        lane = 64 if wide else 21
        second = mix(w + G) if wide else None
        lanes = (w, second, mix(second + G)) if wide else (w, w >> 21, w >> 42)
        total = sum(2 * (u & (1 << lane) - 1) + 1 - (1 << lane) for u in lanes)
        if name in INTEGERS:
            return encode(name, total + (1 << (lane + 2) if unsigned else 0), INTEGERS[name][0] - 3 - lane)
        return encode(name, abs(total) if unsigned else total, -lane)
    if recipe == "hostile-ladder":
        if operand == "B":
            q = word(WHOLE, col)
            return encode(name, (1 + (q >> 62 & 1)) * (-1 if q >> 63 and not unsigned else 1), 0)
        q, (top, rungs) = word(row, WHOLE), LADDERS[name]
        return encode(name, 1, top if col == (q & 127) % (1 << (q >> 61)) else top - 1 - row % rungs)
    if name in INTEGERS:
        return w >> (64 - INTEGERS[name][0])
    sign_bits, exponent_bits, fraction_bits, bias, largest = FLOATS[name]
    if exponent_bits > 5:
        fraction = (w & (1 << 59) - 1) >> (59 - fraction_bits)
        return join(name, w >> 63, ((w >> 59 & 15) + bias - 8) << fraction_bits | fraction)
    positive, skipped = largest + 1, 1 if name.endswith("fnuz") else 0
    i = w * (positive + (positive - skipped if sign_bits else 0)) >> 64
    return join(name, i >= positive, i if i < positive else i - positive + skipped)


def round_up_3(x):
    """The smallest number of three significant decimal digits that is not below x, as errors are stored."""
    if not 0 < x < float("inf"):
        return x
    nearest_text = f"{x:.2e}"
    if float(nearest_text) >= x:
        return float(nearest_text)
    digits, exponent = nearest_text.split("e")
    return float(f"{int(digits.replace('.', '')) + 1}e{int(exponent) - 2}")


def main():
    requests = [sys.argv[1:]] if len(sys.argv) > 1 else (line.split() for line in sys.stdin)
    for request in requests:
        if len(request) == 2 and request[0] == "round_up_3":
            print(repr(round_up_3(float(request[1]))))
            continue
        try:
            name, recipe, seed, operand, row, col = request
            print(element(name, recipe, int(seed), operand, int(row), int(col)))
        except (ValueError, KeyError) as problem:
            asked = " ".join(request)
            sys.exit(f"rigel_inputs: cannot make `{asked}`: {problem}; want FORMAT RECIPE SEED A|B ROW COLUMN")


if __name__ == "__main__":
    main()
