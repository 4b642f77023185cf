"""Which code does an arithmetic model give for a row, a column and c?

Walks the model as its JSON says, with fractions of any length. The words are those of `docs/arithmetic.md`; nothing is
shared with the evaluators of `rigel`. Models with scale factors are not evaluated here: `Unsupported`.
"""

from collections import namedtuple
from fractions import Fraction

from number_formats import BITS, decode, is_integer, least_exponent, precision
from rigel_inputs import FLOATS, INTEGERS, encode

# A finite value: its exponent as hardware counts it is None for zeros; a raw one left a step unrounded.
Finite = namedtuple("Finite", "value negative exponent raw")
Infinite = namedtuple("Infinite", "negative")
# A NaN's fraction is aligned to the left of 64 bits.
Nan = namedtuple("Nan", "negative fraction")
ZERO = Finite(Fraction(0), False, None, False)
WITH_INFINITY = ("f64", "f32", "tf32", "f16", "bf16", "e5m2")
# Formats in which every NaN has one magnitude, or which have none.
ONE_NAN, NO_NAN = ("e4m3", "ue4m3", "e8m0"), ("e2m1", "e2m3", "e3m2")
QUIET = 1 << 63


class Unsupported(Exception):
    """A model, or a code, that is not evaluated here."""


def power(exponent):
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def lead(value):
    """The exponent of the leading place of a nonzero binary fraction."""
    return abs(value.numerator).bit_length() - value.denominator.bit_length()


def goes_up(mode, negative, kept, rest, half):
    """Whether a magnitude between two neighbours becomes the upper one."""
    if rest == 0:
        return False
    return {"toward_zero": False, "up": not negative, "down": negative, "odd": kept % 2 == 0,
            "nearest_even": rest > half or rest == half and kept % 2 == 1, "nearest_away": rest >= half}[mode]


def to_multiple(value, place, mode):
    """A value as a multiple of 2^place."""
    scaled = abs(value) / power(place)
    kept = scaled.numerator // scaled.denominator
    kept += goes_up(mode, value < 0, kept, scaled - kept, Fraction(1, 2))
    return (-kept if value < 0 else kept) * power(place)


def fraction_of(name):
    return FLOATS[name][2]


def most_of(name, bits):
    """The largest finite value with so many significant bits, and the exponent of its last place."""
    s, e = decode(name, FLOATS[name][4] << (13 if name == "tf32" else 0))
    own = s * power(e)
    last = lead(own) - bits + 1
    return (own, last) if bits == precision(name) else (power(lead(own) + 1) - power(last), last)


def beyond(form, negative):
    name = form["format"]
    if name in WITH_INFINITY:
        return Infinite(negative)
    return at_most(form, negative) if name in NO_NAN else Nan(negative, QUIET)


def at_most(form, negative):
    most, _ = most_of(form["format"], bits_of(form))
    return Finite(-most if negative else most, negative, lead(most), False)


def bits_of(form):
    return form.get("precision") or precision(form["format"])


def infinity_in(form, negative):
    return at_most(form, negative) if form.get("overflow") == "largest" else beyond(form, negative)


def rounded(form, value, negative):
    """A value in a form; `negative` is the sign of a zero."""
    if value == 0:
        return Finite(Fraction(0), negative, None, False)
    name, bits, mode = form["format"], bits_of(form), form["rounding"]
    least, negative = least_exponent(name), value < 0
    result = to_multiple(value, max(lead(value), least) - bits + 1, mode)
    tiny = {"keep": None, "flush_before": value, "flush_stored": result,
            "flush_after": to_multiple(value, lead(value) - bits + 1, mode)}[form.get("subnormals", "keep")]
    if result == 0 or tiny is not None and abs(tiny) < power(least):
        return Finite(Fraction(0), negative and form.get("vanished", "keeps_sign") == "keeps_sign", None, False)
    most, last = most_of(name, bits)
    if abs(result) <= most:
        return Finite(result, negative, max(lead(result), least), False)
    directed = {"nearest_even": True, "nearest_away": True, "toward_zero": False, "up": not negative, "down": negative,
                "odd": int(most / power(last)) % 2 == 0}
    away = {"infinity": True, "largest": False, "directed": directed[mode]}[form.get("overflow", "infinity")]
    return beyond(form, negative) if away else at_most(form, negative)


def whole(form, value):
    """A whole number in its width."""
    least = -(1 << form["bits"] - 1) if form["signed"] else 0
    past = least + (1 << form["bits"])
    if form["overflow"] == "saturate":
        kept = min(max(value, Fraction(least)), Fraction(past - 1))
    else:
        kept = least + (value - least) % (past - least)
    return Finite(Fraction(kept), kept < 0, 0, False)


def taken(name, intake, code):
    """What a code of an operand stands for."""
    if is_integer(name):
        value, _ = decode(name, code)
        return Finite(Fraction(value), value < 0, None, False)
    negative = bool(FLOATS[name][0] and code >> BITS[name] - 1 & 1)
    held = decode(name, code)
    if held is None:
        ignored = 13 if name == "tf32" else 0
        magnitude = (code & (1 << BITS[name] - 1) - 1) >> ignored
        if name in WITH_INFINITY and magnitude == FLOATS[name][4] + 1:
            return infinity_in(intake["convert"], negative) if intake.get("convert") else Infinite(negative)
        places = fraction_of(name)
        return Nan(negative, ((magnitude & (1 << places) - 1) << 64 - places if places else 0) | QUIET)
    value = held[0] * power(held[1])
    if value and abs(value) < power(least_exponent(name)):
        flush = intake.get("subnormals", "keep")
        if flush != "keep":
            value, negative = Fraction(0), negative and flush == "to_signed_zero"
    if intake.get("convert"):
        return rounded(intake["convert"], value, negative)
    return Finite(value, negative, max(lead(value), least_exponent(name)) if value else None, False)


def parts_of(split, indices):
    """The parts into which a split divides indices, none of them empty."""
    if split == "whole":
        return [indices]
    (kind, how), = split.items()
    if kind in ("blocks", "parts"):
        size = how["of"] if kind == "blocks" else -(-len(indices) // how["count"])
        parts = [indices[at:at + size] for at in range(0, len(indices), size)]
        return parts[::-1] if how.get("descending") else parts
    if kind == "strided":
        lists, period = [[j] for j in range(how["count"])], how["count"]
    else:
        lists, period = how["parts"], sum(map(len, how["parts"]))
    parts = [[indices[start + at] for start in range(0, len(indices), period) for at in part
              if start + at < len(indices)] for part in lists]
    return [part for part in parts if part]


class Dot:
    """One dot product by one model."""

    def __init__(self, model, formats, a, b, c):
        if model.get("scales"):
            raise Unsupported("scale factors")
        self.model, self.formats = model, formats
        padded = -(-len(a) // model["k"]) * model["k"]
        self.a, self.b = ([taken(name, model.get(operand, {}), code) for code in codes + [0] * (padded - len(codes))]
                          for name, operand, codes in zip(formats, "ab", (a, b)))
        self.c = taken(formats[2], model.get("c", {}), c)

    def code(self):
        d = self.node(self.model["body"], list(range(len(self.a))), self.c)
        form = self.model.get("store")
        if form and isinstance(d, Finite):
            d = rounded(form, d.value, d.negative)
        elif form and isinstance(d, Infinite):
            d = infinity_in(form, d.negative)
        return self.encoded(d)

    def encoded(self, d):
        name, (kind, rule) = self.formats[2], next(iter(self.model["nan"].items()))
        sign = 0 if is_integer(name) else int(d.negative) << BITS[name] - 1
        if isinstance(d, Nan):
            if kind == "word":
                return rule
            if is_integer(name) or name in NO_NAN:
                return rule["invalid"]
            if name in ONE_NAN:
                return FLOATS[name][4] + 1 | sign
            if name.endswith("fnuz"):
                return 1 << BITS[name] - 1
            kept = d.fraction >> 64 - fraction_of(name)
            return sign | (FLOATS[name][4] + 1 | kept) << (13 if name == "tf32" else 0)
        if isinstance(d, Infinite):
            if name not in WITH_INFINITY:
                raise Unsupported(f"an infinity in {name}")
            return sign | FLOATS[name][4] + 1 << (13 if name == "tf32" else 0)
        if d.value == 0:
            return sign if not name.endswith("fnuz") else 0
        places = d.value.denominator.bit_length() - 1
        code = encode(name, d.value.numerator, -places)
        s, e = decode(name, code)
        if s * power(e) != d.value:
            raise Unsupported(f"a result that is no value of {name}")
        return code

    def node(self, node, indices, c):
        (kind, how), = node.items()
        if kind == "step":
            return self.step(how["sum"], indices, [(c, True)] if how["c"] else [], how.get("product_limit"))
        parts = parts_of(how["split"], indices)
        if kind == "chain":
            late = how.get("late_c")
            if late is None:
                for part in parts:
                    c = self.node(how["each"], part, c)
                return c
            value = ZERO
            for part in parts[:late["after"]]:
                value = self.node(how["each"], part, value)
            value = self.step(late["sum"], [], [(value, False), (c, True)])
            for part in parts[late["after"]:]:
                value = self.node(how["each"], part, value)
            return value
        return self.joined(how, [(self.node(how["each"], part, ZERO), False) for part in parts], (c, True))

    def joined(self, how, leaves, c):
        (order, place), = how["order"].items()
        if order == "together":
            return self.step(how["sum"], [], leaves + [c] * place["c"])
        where, last = place["c"], []
        if where == "last":
            last = [c]
        elif where != "nowhere":
            leaves.insert(0 if where == "first" else min(where["after"], len(leaves)), c)

        def add(x, y):
            return self.step(how["sum"], [], [x, y]), False

        while order == "pairwise" and len(leaves) > 1:
            leaves = [add(*leaves[at:at + 2]) if at + 1 < len(leaves) else leaves[at]
                      for at in range(0, len(leaves), 2)]
        total, *rest = leaves + last
        for leaf in rest:
            total = add(total, leaf)
        return total[0]

    def step(self, rule, indices, terms, limit=None):
        """A fused sum of products and values."""
        pairs = [(self.a[i], self.b[i]) for i in indices]
        special = self.special(pairs, [term for term, _ in terms], limit)
        if isinstance(special, Infinite) and isinstance(rule["output"], dict) and "rounded" in rule["output"]:
            return infinity_in(rule["output"]["rounded"], special.negative)
        if special is not None:
            return special
        align = rule["align"]
        how = align["largest"] if align != "exact" else {}
        products = [self.product(how, x, y) for x, y in pairs]
        if align == "exact":
            total = sum((value for value, _, _ in products), Fraction(0)) + sum(term.value for term, _ in terms)
            exponents = [e for _, _, e in products] + [t.exponent for t, _ in terms if t.raw or t.value]
            top = max((e for e in exponents if e is not None), default=None)
        else:
            total, top = aligned(how, products, terms)
        negative = total < 0
        if total == 0 and rule.get("zero") == "ieee":
            signs = [sign for _, sign, _ in products] + [term.negative for term, _ in terms]
            form = rule["output"].get("rounded", {}) if rule["output"] != "unrounded" else {}
            negative = all(signs) or form.get("rounding") == "down" and any(signs)
        if rule["output"] == "unrounded":
            return Finite(total, negative, top, True)
        (kind, form), = rule["output"].items()
        return rounded(form, total, negative) if kind == "rounded" else whole(form, total)

    def product(self, how, x, y):
        """(value, sign, exponent) of a product."""
        zeros, counted, value = how.get("zero_products", "ignored"), how.get("products", "raw"), x.value * y.value
        exponents = []
        for factor in (x, y):
            exponent = factor.exponent
            if factor.value and counted == "operands_normalised":
                exponent = lead(factor.value)
            elif not factor.value and isinstance(zeros, dict) and "operand" in zeros:
                exponent = zeros["operand"]
            exponents.append(exponent)
        exponent = None if None in exponents else sum(exponents)
        if value and counted == "normalised":
            exponent = lead(value)
        elif not value and isinstance(zeros, dict) and "product" in zeros:
            exponent = zeros["product"]
        return value, x.negative != y.negative, exponent

    def special(self, pairs, terms, limit):
        """The NaN or infinity that terms come to; None where all are finite."""
        kind, rule = next(iter(self.model["nan"].items()))
        arisen = Nan(False, QUIET) if kind == "word" else taken(self.formats[2], {}, rule["invalid"])
        sources = {"a": [x for x, _ in pairs], "b": [y for _, y in pairs], "c": terms}
        for source in rule["order"] if kind == "first" else "abc":
            found = [held for held in sources[source] if isinstance(held, Nan)]
            if found:
                return found[0]
        signs = {term.negative for term in terms if isinstance(term, Infinite)}
        for x, y in pairs:
            if isinstance(x, Infinite) or isinstance(y, Infinite):
                if any(isinstance(held, Finite) and held.value == 0 for held in (x, y)):
                    return arisen
            elif limit is None or x.value * y.value == 0 or lead(x.value * y.value) < limit:
                continue
            signs.add(x.negative != y.negative)
        return arisen if len(signs) == 2 else Infinite(signs.pop()) if signs else None


def aligned(how, products, terms):
    """Terms cut where the alignment says and added, and the exponent that they were aligned to."""
    def exponent(term):
        if how.get("values", "raw") == "raw" and term.raw:
            return term.exponent
        if not term.value:
            return how.get("zero_values")
        return term.exponent if how.get("values", "raw") == "raw" else lead(term.value)

    exponents = [e for _, _, e in products] + [exponent(term) for term, _ in terms] + [how.get("floor")]
    top = max((e for e in exponents if e is not None), default=None)
    if top is None:
        return Fraction(0), None
    total = sum((to_multiple(value, top - how["fraction_bits"], how["cut"]) for value, _, _ in products), Fraction(0))
    for term, is_c in terms:
        own = how.get("c") if is_c else None
        far = own and own.get("reach") is not None and exponent(term) is not None and exponent(term) < top - own["reach"]
        rule = own or how
        total += 0 if far else to_multiple(term.value, top - rule["fraction_bits"], rule["cut"])
    if how.get("carry_bits") is not None:
        end = power(top + how["carry_bits"])
        total = (total + end) % (2 * end) - end
    return total, top


def convert(rule, code):
    """What a rule of conversion makes of a code; None for a NaN, which may become any."""
    def value_of(held):
        return held.value

    held = taken(rule["from"], {}, code)
    if isinstance(held, Nan):
        return None
    name, mode = rule["to"], rule["rounding"]
    saturates = rule["overflow"] == "saturate"
    if is_integer(name):
        bits, signed = INTEGERS[name]
        value = to_multiple(value_of(held), 0, mode)
        form = {"bits": bits, "signed": signed, "overflow": "saturate" if saturates else "wrap"}
        return int(whole(form, value).value) & (1 << bits) - 1
    form = {"format": name, "rounding": mode, "overflow": "largest" if saturates else "directed"}
    if isinstance(held, Infinite):
        result = infinity_in(form, held.negative)
    else:
        value, negative = held.value, held.negative
        if rule["flushes_in"] and value and abs(value) < power(least_exponent(rule["from"])):
            value = Fraction(0)
        result = rounded(form, value, negative)
        if rule["flushes_out"] and isinstance(result, Finite) and abs(result.value) < power(least_exponent(name)):
            result = Finite(Fraction(0), negative, None, False)
    dot = Dot.__new__(Dot)
    dot.model, dot.formats = {"nan": {"word": -1}}, (None, None, name)
    found = dot.encoded(result)
    return None if found == -1 else found
