"""Which exact values stand in a row of A or a column of B?

A line of an operand is remade once and kept while cells with the same inputs are looked at. Its values are integers in
units of 2^e, with one e for the line, so that a dot product is a sum of products of integers.
"""

from operator import mul

from number_formats import cut, decode, least_exponent, precision
from rigel_inputs import FLOATS, G, element, key_of, mix

# Elements that are kept before all are forgotten: about 300 MB.
KEPT = 4_000_000


def places(operand, index, first, length):
    """Row and column of elements `first` to `length` of row `index` of A, or of column `index` of B."""
    if operand == "A":
        return ((index, k) for k in range(first, length))
    return ((k, index) for k in range(first, length))


def near_normal(name, seed, operand, some):
    """Values of a signed floating format. The recipe's sum S of three terms is rounded to the format's precision and
    never beyond its range, so a value is S with its last bits rounded away, in units of 2^-L."""
    wide, fraction_bits = name in ("f64", "f32"), precision(name) - 1
    lane = 64 if wide else 21
    mask, middle, least = (1 << lane) - 1, 3 << lane, least_exponent(name) + lane + 1
    key, values = key_of("near-normal", seed, operand), []
    for row, column in some:
        w = mix(key + G * ((row << 32) + column + 1))
        if wide:
            second = mix(w + G)
            total = 2 * (w + second + mix(second + G)) + 3 - middle
        else:
            total = 2 * ((w & mask) + (w >> 21 & mask) + (w >> 42 & mask)) + 3 - middle
        size = abs(total)
        dropped = max(size.bit_length(), least) - 1 - fraction_bits
        if dropped > 0:
            size = size + (1 << dropped - 1) - 1 + (size >> dropped & 1) >> dropped << dropped
        values.append((-size if total < 0 else size, -lane))
    return values


def scaled(values):
    """(integers, e) of some values, or None when one is not finite."""
    if None in values:
        return None
    e = min((exponent for s, exponent in values if s), default=0)
    return [s << (exponent - e) if s else 0 for s, exponent in values], e


class Inputs:
    """The operands of one recipe and seed."""

    def __init__(self, recipe, seed):
        self.recipe, self.seed = recipe, seed
        self.values, self.lines, self.kept, self.decoded = {}, {}, 0, {}

    def line(self, name, operand, index, length, way=None):
        """(integers, e) of a line; `way` is (format, to nearest) to which its values are cut first."""
        key = (name, operand, index, length, way)
        if key not in self.lines:
            values = self.line_values(name, operand, index, length)
            if way:
                values = [cut(value, *way) for value in values]
            self.count(length)
            self.lines[key] = scaled(values)
        return self.lines[key]

    def line_values(self, name, operand, index, length):
        """Shapes of another K share the beginning of a line."""
        values = self.values.setdefault((name, operand, index), [])
        if len(values) < length:
            self.count(length - len(values))
            some = places(operand, index, len(values), length)
            if self.recipe == "near-normal" and name in FLOATS and FLOATS[name][0]:
                values += near_normal(name, self.seed, operand, some)
            else:
                values += [self.value(name, element(name, self.recipe, self.seed, operand, *place)) for place in some]
        return values[:length]

    def value(self, name, code):
        known = self.decoded.setdefault(name, {})
        if code not in known:
            if len(known) == 1 << 16:
                known.clear()
            known[code] = decode(name, code)
        return known[code]

    def count(self, more):
        self.kept += more
        if self.kept > KEPT:
            self.values, self.lines, self.decoded, self.kept = {}, {}, {}, more

    def dot(self, formats, row, column, k, way=None, bias=False):
        """(sum of a*b, sum of |a|*|b|, e) in units of 2^e, or None when an operand is not finite; with the bias, which is
        row k of B, as one more term of both.
        """
        ways = way or (None, None)
        if bias:
            left, right = self.line(formats[0], "A", row, k), self.line(formats[1], "B", column, k + 1)
            if left is None or right is None:
                return None
            products = list(map(mul, left[0], right[0]))
            common = min(left[1], 0)
            products = [product << left[1] - common for product in products] + [right[0][k] << -common]
            return sum(products), sum(map(abs, products)), common + right[1]
        left = self.line(formats[0], "A", row, k, ways[0])
        right = self.line(formats[1], "B", column, k, ways[1])
        if left is None or right is None:
            return None
        products = list(map(mul, left[0], right[0]))
        return sum(products), sum(map(abs, products)), left[1] + right[1]
