"""What is an element of softmax(Q * K^T / sqrt(n)) * V, and how far may it be off?

A shape m x n x k reads: m queries in m / k heads of k keys and values, n columns a head. A is Q, m x n; B has 2m rows: all keys,
then all values. Everything is in doubles: scores q * k / sqrt(n), weights exp(score - largest score), the output
sum(weight * v) / sum(weight).
"""

import math
from operator import mul

from input_lines import near_normal
from number_formats import decode, least_exponent, precision
from rigel_inputs import FLOATS, element

EVALUATION, GROWTH = 16.0, 17.0 / 16.0
# Numbers that are kept before all are forgotten: about 130 MB.
KEPT = 4_000_000


def gamma(formats, n):
    total = n / 2.0 ** precision(formats[3])
    return total / (1.0 - total) if total < 1.0 else math.inf


class Tolerance:
    """relative * magnitude + absolute; the weights are an operand of the second product, in the format of A."""

    exact = False

    def __init__(self, formats, extents, recipe):
        a, b, c, accumulate = formats
        n, k = extents[1:]
        unit, weight = 2.0 ** -precision(accumulate), 2.0 ** -precision(a)
        stored = 2.0 ** -precision(c) if precision(c) < precision(accumulate) else unit
        self.relative = 2.0 * weight + 2.0 * gamma(formats, k * GROWTH) + 2.0 * EVALUATION * unit + stored
        largest = 3.0 if recipe == "near-normal" else 65536.0
        self.absolute = k * weight * 2.0 ** least_exponent(a) * largest + 2.0 ** least_exponent(c)
        self.scores = 2.0 * gamma(formats, float(n + 8)) / self.relative

    def allowed(self, magnitude):
        return self.relative * magnitude + self.absolute


def exactly(value):
    """(numerator, exponent) of a double."""
    numerator, denominator = value.as_integer_ratio()
    return numerator, 1 - denominator.bit_length()


class Attention:
    """The elements of one recipe and seed; keys are kept from shape to shape, since their places do not depend on heads."""

    def __init__(self, recipe, seed):
        self.recipe, self.seed, self.rows, self.kept = recipe, seed, {}, 0

    def values(self, name, operand, some):
        if self.recipe == "near-normal" and name in FLOATS and FLOATS[name][0]:
            return [math.ldexp(*value) for value in near_normal(name, self.seed, operand, some)]
        codes = (decode(name, element(name, self.recipe, self.seed, operand, *place)) for place in some)
        return [math.ldexp(*code) if code and code[0] else 0.0 for code in codes]

    def key(self, name, row, n):
        if (name, row, n) not in self.rows:
            if self.kept > KEPT:
                self.rows, self.kept = {}, 0
            self.kept += n
            self.rows[name, row, n] = self.values(name, "B", ((row, column) for column in range(n)))
        return self.rows[name, row, n]

    def fill(self, dots, witness, formats, extents, tolerance):
        """Sum and magnitude, as integers in units of 2^e, of every element of a witness that `dots` lacks."""
        m, n, k = extents
        root, heads, lines = math.sqrt(n), {}, {}
        for row, column, _ in witness:
            if (row, column) in dots:
                continue
            first = row // k * k
            if first not in heads:
                keys = [self.key(formats[1], first + j, n) for j in range(k)]
                heads[first] = keys, max(math.sqrt(sum(map(mul, key, key))) for key in keys)
            keys, longest = heads[first]
            if row not in lines:
                query = self.values(formats[0], "A", ((row, column) for column in range(n)))
                scores = [sum(map(mul, query, key)) / root for key in keys]
                largest = max(scores)
                weights = [math.exp(score - largest) for score in scores]
                t = math.sqrt(sum(map(mul, query, query))) * longest / root
                lines[row] = weights, sum(weights), 1.0 + tolerance.scores * t
            weights, whole, more = lines[row]
            values = self.values(formats[1], "B", ((m + first + j, column) for j in range(k)))
            products = list(map(mul, weights, values))
            total, low = exactly(sum(products) / whole)
            size, high = exactly(sum(map(abs, products)) / whole * more)
            common = min(low, high)
            dots[row, column] = total << low - common, size << high - common, common
