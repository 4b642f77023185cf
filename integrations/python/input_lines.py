"""Which exact values stand in a row of A or a column of B?

A line of an operand is remade once and kept while cells with the same inputs are looked at. Its values are integers in
units of 2^e, with one e for the line, so that a dot product is a sum of products of integers.
"""

from operator import mul

from number_formats import cut, decode
from rigel_inputs import element

# Elements that are kept before all are forgotten: about 300 MB.
KEPT = 4_000_000


def codes(name, recipe, seed, operand, index, first, length):
    """The codes of elements `first` to `length` of row `index` of A, or of column `index` of B."""
    if operand == "A":
        return [element(name, recipe, seed, "A", index, k) for k in range(first, length)]
    return [element(name, recipe, seed, "B", k, index) for k in range(first, length)]


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
            known = self.decoded.setdefault(name, {})
            for code in codes(name, self.recipe, self.seed, operand, index, len(values), length):
                value = known.get(code)
                if value is None:
                    value = decode(name, code)
                    if len(known) < 1 << 16:
                        known[code] = value
                values.append(value)
        return values[:length]

    def count(self, more):
        self.kept += more
        if self.kept > KEPT:
            self.values, self.lines, self.decoded, self.kept = {}, {}, {}, more

    def dot(self, formats, row, column, k, way=None):
        """(sum of a*b, sum of |a|*|b|, e) in units of 2^e, or None when an operand is not finite."""
        ways = way or (None, None)
        left = self.line(formats[0], "A", row, k, ways[0])
        right = self.line(formats[1], "B", column, k, ways[1])
        if left is None or right is None:
            return None
        products = list(map(mul, left[0], right[0]))
        return sum(products), sum(map(abs, products)), left[1] + right[1]
