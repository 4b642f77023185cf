"""Do error, tolerance, outcome and reason of a cell follow from its witness elements?

An element's residual is |d - c| / sum of |a*b|, with d the device's value and c the exact product: both terms are
rounded to a double once, then divided. It is also told in units in the last place of the output at c. Stored are those
of the worst element, rounded up to three digits. Integer outputs are compared modulo their width: 0 or 1.
"""

import math
import re
from decimal import Decimal

from blake3 import hash_many
from number_formats import BITS, decode, is_integer, least_exponent, precision
from rigel_inputs import has_elements, round_up_3

POISON = 0xA5A5A5A5A5A5A5A5
FAULTS = ("zeros for the product", "one k-step dropped", "one element swapped", "B transposed")
CUTS = ("tf32", "f16", "bf16", "e4m3", "e5m2")
ALIKE = ("zeros", "constant")
SUMS = "sums: "
TOOK = "took effect: "
# From good to bad.
BADNESS = ("right", "imprecise", "mistrusted", "wrong")
UNSEEN = ", which would not have seen: "
INFINITY = math.inf


def rounded(n, exponent):
    """n * 2^exponent, n >= 0, as the nearest double."""
    try:
        return n / (1 << -exponent) if exponent < 0 else float(n << exponent)
    except OverflowError:
        return INFINITY


def scientific(x):
    """A number as reasons hold it: the shortest digits that read back, `e` and the exponent."""
    if x == 0 or math.isinf(x):
        return "0e0" if x == 0 else "inf"
    digits = Decimal(repr(x)).normalize()
    figures = "".join(map(str, digits.as_tuple().digits))
    return f"{figures[0]}{'.' if figures[1:] else ''}{figures[1:]}e{digits.adjusted()}"


def largest_integer(recipe, name):
    """The largest magnitude that a recipe of integers draws."""
    return {"constant": 1, "zeros": 0}.get(recipe, 2 if name == "i2" else 4)


def activation(work):
    """What follows the product and the bias: `tanh`, `erf` or the empty string."""
    return work.partition("-")[2] if work.startswith(("fused-", "decomposed-")) else ""


def activated(name, x):
    """GELU of a double in a form that stays right where it is tiny."""
    if name == "erf":
        return 0.5 * x * math.erfc(-x * math.sqrt(0.5))
    exponent = -2.0 * math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x))
    return x / (1.0 + math.exp(exponent)) if exponent < 709.0 else -0.0


def after(name, dot):
    """The sums of an element once its activation was applied: the activation of the sum, exactly as a double has it."""
    total, magnitude, exponent = dot
    sign = -1.0 if total < 0 else 1.0
    value = activated(name, sign * rounded(abs(total), exponent))
    numerator, denominator = value.as_integer_ratio()
    common = min(exponent, 1 - denominator.bit_length())
    return numerator << -common - (denominator.bit_length() - 1), magnitude << exponent - common, common


class Tolerance:
    """How far a right output of a triple may lie from the exact one at this K: relative * sum of |a*b| + absolute.

    Every order of summation passes a term through at most K roundings of unit roundoff u = 2^-p of the declared
    accumulate type: gamma = K*u / (1 - K*u). A narrower output adds its own u * (1 + gamma).
    An activation stretches all of this, of K + 1 terms, by at most 1.13 and may cost 16 u of its own.
    """

    def __init__(self, formats, k, recipe, activation=""):
        a, b, c, accumulate = formats
        least = min(precision(accumulate), precision(c))
        integral = recipe in ALIKE + ("small-integers",)
        k += 1 if activation else 0
        self.exact = not activation and (is_integer(c) or (
            integral and k * largest_integer(recipe, a) * largest_integer(recipe, b) <= 1 << least))
        self.relative = self.absolute = 0.0
        if self.exact:
            return
        sums = k / 2.0 ** precision(accumulate)
        gamma = sums / (1.0 - sums) if sums < 1.0 else INFINITY
        stored = (1.0 + gamma) / 2.0 ** precision(c) if precision(c) < precision(accumulate) else 0.0
        self.relative = gamma + stored
        self.absolute = k * 2.0 ** least_exponent(accumulate) + 2.0 ** least_exponent(c)
        if activation:
            self.relative = 1.13 * self.relative + 16.0 / 2.0 ** precision(accumulate)
            self.absolute *= 1.13

    def allowed(self, magnitude):
        return 0.0 if self.exact else self.relative * magnitude + self.absolute


def difference(dot, c, code):
    """(|d - c| as a double, the same in units in the last place); infinite where d is."""
    total, _, exponent = dot
    value = decode(c, code)
    if is_integer(c):
        off = float((total - code) & (1 << BITS[c]) - 1 != 0)
        return off, off
    if value is None:
        return INFINITY, INFINITY
    s, e = value
    common = min(e, exponent) if s else exponent
    off = abs((total << exponent - common) - (s << e - common if s else 0))
    top = total.bit_length() - 1 + exponent if total else -(1 << 30)
    unit = max(top, least_exponent(c)) - (precision(c) - 1)
    return rounded(off, common), rounded(off, common - unit)


def unusable(formats, recipe, m, n, witness):
    """What keeps a witness from being computed again, or None."""
    a, b, c, _ = formats
    for name in (a, b):
        if not has_elements(recipe, name):
            return f"recipe {recipe} has no elements of format {name}"
    for row, column, code in witness:
        if row >= m or column >= n or len(code) != (BITS[c] + 3) // 4 or int(code, 16) >> BITS[c]:
            return f"witness ({row}, {column}) = {code} is no element of a {m}x{n} output of {c}"
    return None


class Look:
    """What the witness of one cell says: `fault` or `error` and `ulps`."""

    def __init__(self, inputs, formats, k, tolerance, witness, dots, activation=""):
        self.formats, self.tolerance, self.fault, self.operands, self.errors = formats, tolerance, None, None, {}
        c, worst, ulps = formats[2], 0.0, 0.0
        for row, column, text in witness:
            code, place = int(text, 16), (row, column)
            if place not in dots:
                dots[place] = inputs.dot(formats, row, column, k, bias=bool(activation))
                if activation and dots[place] is not None:
                    dots[place] = after(activation, dots[place])
            dot = dots[place]
            off, off_ulps = difference(dot, c, code)
            if is_integer(c):
                magnitude, relative = 1.0, off
            else:
                magnitude = rounded(dot[1], dot[2])
                meaningless = off == INFINITY or magnitude in (0.0, INFINITY)
                relative = 0.0 if off == 0.0 else INFINITY if meaningless else off / magnitude
            self.errors[place] = relative
            finite = relative < INFINITY
            inside = finite and off <= tolerance.allowed(magnitude)
            if not inside and code == POISON & (1 << BITS[c]) - 1:
                self.fault = f"element ({row}, {column}) was not written"
            elif not finite and not (self.fault or "").endswith("written"):
                self.fault = f"element ({row}, {column}) is not finite"
            elif relative > worst:
                worst, ulps = relative, off_ulps
        self.error, self.ulps = (None, None) if self.fault else (round_up_3(worst), round_up_3(ulps))
        if not self.fault and self.error > tolerance.relative and not is_integer(c) and not activation:
            self.operands = cut_operands(inputs, formats, k, tolerance, witness)

    def judgements(self, cell, coarse_cap, planted=True):
        """(outcome, reason) as they would be had this been seen before timing, and after it.

        Which planted faults the gate would have let pass, and which sums of a sampled check no element explains, is
        known to the gate alone: it is taken from the row, where it lowers the outcome. Not `planted`: no such fault.
        """
        outcome, reason = cell.outcome, cell.reason
        if self.fault:
            return [("wrong", f"{self.fault} {when} timing") for when in ("before", "after")]
        blind = next((f for f in FAULTS if planted and outcome == "mistrusted" and reason.endswith(f"planted fault: {f}")), None)
        if blind:
            return [("mistrusted", f"the gate would have passed a planted fault: {blind}")]
        error, limit = self.error, self.tolerance.relative
        doubted = outcome == "mistrusted" and reason.startswith(SUMS) and cell.gate_visible is not None
        if error <= limit:
            return [(outcome, reason) if doubted else ("right", "")]
        found = []
        for when in ("before", "after"):
            over = f"error {scientific(error)} {when} timing exceeds the tolerance {scientific(limit)}"
            cap = f"the plan's coarse cap {scientific(coarse_cap)}"
            if is_integer(self.formats[2]):
                found.append(("wrong", f"{over}: integers are compared exactly"))
            elif self.operands:
                found.append(("imprecise", f"operands: cut to {self.operands} before the product; {over}"))
            elif error <= coarse_cap:
                found.append(("imprecise", f"{over}, inside {cap}"))
            else:
                found.append(("wrong", f"{over} and {cap}"))
        return [(outcome, reason) if doubted and judged == "imprecise" else (judged, why) for judged, why in found]


def cut_operands(inputs, formats, k, tolerance, witness):
    """The widest format to which operands were cut first if that explains every witness element, else None."""
    a, b, c, accumulate = formats
    # Integers are not cut.
    floats = [name for name in (a, b) if not is_integer(name)]
    widest = max(map(precision, floats), default=0)
    for to in CUTS if accumulate == "f32" else ():
        for to_nearest in (True, False) if precision(to) < widest else ():
            way = [(to, to_nearest) if name in floats and precision(to) < precision(name) else None for name in (a, b)]
            for row, column, text in witness:
                dot = inputs.dot(formats, row, column, k, way)
                if dot is None or difference(dot, c, int(text, 16))[0] > tolerance.allowed(rounded(dot[1], dot[2])):
                    break
            else:
                return to
    return None


def effect_of(reason):
    """(judgement, digest of the output) of a product by a toolchain; None where its reason tells no effect. Behind the judgement's own
    reason, if there is one, stands `took effect: WORDS; output DIGEST`.
    """
    rest, _, digest = reason.rpartition("; output ")
    if not re.fullmatch("[0-9a-f]{16}", digest):
        return None
    if rest.startswith(TOOK):
        return "", digest
    judgement, took, _ = rest.rpartition("; " + TOOK)
    return (judgement, digest) if took else None


def digest_of(witness):
    """The first sixteen digits of BLAKE3 over the codes of a whole output, eight bytes each, the lowest first."""
    return hash_many([b"".join(int(code, 16).to_bytes(8, "little") for _, _, code in witness)])[0][:16]


def agrees(outcome, reason, judgement):
    """Whether a row states a judgement. Faults that a wider limit would not have seen are known to the gate alone."""
    rest = reason[len(judgement[1]):] if reason.startswith(judgement[1]) else None
    return outcome == judgement[0] and (rest == "" or outcome == "imprecise" and (rest or "").startswith(UNSEEN))


def inherited(own, siblings):
    """What a cell of zeros or constants may state: the worse of its own (outcome, reason) and that of a random sibling
    in its block, each given as (outcome, reason, recipe). Without a sibling it is mistrusted or worse.
    """
    theirs = [(outcome, "" if outcome == "right" else f"as its random sibling {recipe}: {reason}")
              for outcome, reason, recipe in siblings]
    theirs = theirs or [("mistrusted", "no random sibling in the block to inherit a gate from")]
    return [mine if badness(mine[0]) >= badness(other[0]) else other for other in theirs for mine in own]


def badness(outcome):
    """What is no outcome of a judgement is as bad as can be."""
    return BADNESS.index(outcome) if outcome in BADNESS else len(BADNESS) - 1
