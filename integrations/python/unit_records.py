"""Do the records of units say what their own models, maps and rules give?

Evaluates the sampled vectors of a model, the sampled launches of a map and the sampled codes of a conversion again. It
does not draw their inputs from the seed again, nor compare models, words and published layouts: `rigel verify` does. What
cannot be evaluated here is counted and said.
"""

import json
import re

from number_formats import BITS, decode, is_integer, precision, triple_of
from rigel_inputs import below, stream
from run_files import Fault, text_of
from unit_models import Dot, Nan, Unsupported, convert, taken

FOLDER_OF = {"arithmetic": "models", "layout": "layouts", "specials": "conversions", "order": "orders"}
HEX = re.compile("0|[1-9a-f][0-9a-f]{0,15}")
DISTRIBUTIONS = "normal random_bits cancellation ladder subnormal specials".split()
HEAD = "operand,lane,slot,row,column"


def files_of(cell):
    """The files that a cell row commits to, sorted."""
    folder = FOLDER_OF.get(cell.probe)
    if folder is None or cell.outcome not in ("exact", "inexact"):
        return []
    name = "".join(c if c.isascii() and (c.isalnum() or c in "._+-") else "_" for c in cell.tile[:80]).lstrip(".")
    table = [".csv"] if cell.probe == "layout" and cell.outcome == "exact" else []
    return [f"{folder}/{name}-{cell.cell}{ending}" for ending in [*table, ".json"]]


def codes(text):
    """The codes of a text: hexadecimal, parted by single spaces."""
    found = text.split(" ") if text else []
    if not all(map(HEX.fullmatch, found)):
        raise ValueError(f"`{text[:40]}` holds something that is no code")
    return [int(code, 16) for code in found]


def read(path):
    text = text_of(path)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Fault(path, getattr(error, "lineno", 1), f"is no JSON: {str(error)[:120]}") from None
    if not isinstance(record, dict):
        raise Fault(path, 1, "is no record")
    return record


class Records:
    """Every record of a run; afterwards `items` looked at and `unevaluated` of their vectors, by reason."""

    def __init__(self, path_of, kinds):
        self.path_of, self.kinds = path_of, kinds
        self.items, self.unevaluated, self.flaws = 0, {}, []

    def check(self, cell):
        names = files_of(cell)
        if not names:
            return
        self.items += 1
        name = names[-1]
        record = read(self.path_of(name))
        try:
            for what in self.same(cell, record):
                self.flaws.append((name, what))
            look = {"arithmetic": self.arithmetic, "layout": self.layout, "specials": self.conversion, "order": self.order}[cell.probe]
            for what in look(cell, record, names):
                self.flaws.append((name, what))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError) as error:
            self.flaws.append((name, f"is not as a record is written: {type(error).__name__}: {str(error)[:120]}"))

    def same(self, cell, record):
        """What the record states otherwise than its row."""
        unit, origin = record["unit"], record["origin"]
        pairs = {"schema": (record["schema"], 1), "cell": (record["cell"], cell.cell),
                 "claim": (record["claim"], cell.outcome), "unit.name": (unit["name"], cell.tile),
                 "unit.path": (unit["path"], cell.path), "unit.triple": (unit["triple"], cell.triple),
                 "unit.shape": (unit["shape"], cell.shape), "origin.device": (origin["device"], cell.device),
                 "origin.driver": (origin["driver"], cell.driver),
                 "origin.kind": (origin["kind"], self.kinds.get(cell.run)), "seed": (record["seed"], cell.seed)}
        for field, (found, stated) in pairs.items():
            if found != stated:
                yield f"{field} is `{str(found)[:60]}`, its row or run has `{str(stated)[:60]}`"
        if (record["claim"] == "exact") != (record["why"] == ""):
            yield "`why` says why a claim is inexact, and nothing of an exact one"

    def arithmetic(self, cell, record, _):
        exact, model, validation = record["claim"] == "exact", record["model"], record["validation"]
        if exact and not (model and validation):
            yield "an exact claim needs a model and a validation"
        if validation:
            tested = validation["distributions"]
            if [one["distribution"] for one in tested] != DISTRIBUTIONS:
                yield "the validation does not name every distribution once, in order"
            if any(one["bound"] != 3 / one["asked"] or one["mismatches"] > one["asked"] for one in tested):
                yield "a bound is not 3 divided by the dot products asked"
            if exact and any(one["mismatches"] for one in tested):
                yield "an exact claim has mismatches"
        if exact and (record["counterexample"] or record["contradiction"]):
            yield "an exact claim has a counterexample"
        if [v["distribution"] for v in record["vectors"]] != [d for d in DISTRIBUTIONS for _ in range(16)]:
            yield "there are not 16 vectors of each distribution, in order"
        questions = [(f"vector {at}", v["inputs"], v.get("model", v["d"])) for at, v in enumerate(record["vectors"])]
        if exact and any("model" in vector for vector in record["vectors"]):
            yield "an exact model has vectors that it does not predict"
        if record["counterexample"]:
            counterexample = record["counterexample"]
            questions.append(("counterexample", counterexample["question"], counterexample["model"]))
            if counterexample["model"] == counterexample["unit"]:
                yield "the counterexample is none"
        if model and cell.extents[2] % model["k"]:
            yield "the unit's k is no multiple of the model's"
        formats = triple_of(cell.triple)[:3]
        for name, question, stated in questions if model else []:
            a, b, (c,), (says,) = (codes(text) for text in (question["a"], question["b"], question["c"], stated))
            if not len(a) == len(b) == cell.extents[2]:
                yield f"{name} has another number of codes than the unit takes"
                continue
            try:
                found = Dot(model, formats, a, b, c).code()
            except Unsupported as reason:
                self.unevaluated[str(reason)] = self.unevaluated.get(str(reason), 0) + 1
                continue
            if found != says:
                yield f"{name}: the model gives {found:x}, not {says:x}"

    def layout(self, cell, record, names):
        if record["claim"] != "exact":
            if record["sample"] or record["published"]:
                yield "there is a map beside a doubt"
            return
        maps = self.table(names[0], cell, record)
        m, n, k = cell.extents
        if len(record["sample"]) != 4:
            yield "there are not 4 sampled launches"
        for at, launch in enumerate(record["sample"]):
            values = {operand: [int(text) for text in launch[operand].split(" ")] for operand in "abcd"}
            held = {}
            for operand in "abc":
                for register, element in enumerate(maps[operand]):
                    known = held.setdefault((operand, element), values[operand][register])
                    if element and known != values[operand][register]:
                        yield f"launch {at}: two registers of {operand} hold {element} with other values"
            for register, element in enumerate(maps["d"]):
                if element is None:
                    continue
                row, column = element
                total = held["c", element] + sum(held["a", (row, x)] * held["b", (x, column)] for x in range(k))
                # Beyond what the output holds exactly, a launch says nothing.
                if total <= 1 << precision_of(cell) and total != values["d"][register]:
                    yield f"launch {at}: register {register} of d is {values['d'][register]}, the map says {total}"

    def table(self, name, cell, record):
        """{operand: the element of each register} from the table beside a record."""
        path, maps = self.path_of(name), {}
        lines = text_of(path).split("\n")
        if lines[0] != HEAD or lines[-1] != "":
            raise Fault(path, 1, f"its head is not `{HEAD}`, or its last line has no end")
        m, n, k = cell.extents
        slots = dict(zip("abc", record["slots"]), d=record["slots"][2])
        extents = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}
        for number, line in enumerate(lines[1:-1], 2):
            operand, lane, slot, row, column = line.split(",")
            registers = maps.setdefault(operand, [])
            if int(lane) * slots[operand] + int(slot) != len(registers):
                raise Fault(path, number, "stands out of order")
            element = (int(row), int(column)) if row else None
            if element and not all(0 <= at < most for at, most in zip(element, extents[operand])):
                raise Fault(path, number, f"{element} lies outside the operand")
            registers.append(element)
        maps.setdefault("d", maps.get("c", []))
        for operand in "abcd":
            if len(maps.get(operand, [])) != record["lanes"] * slots[operand]:
                raise Fault(path, None, f"has not every register of {operand}")
        return maps

    def conversion(self, cell, record, _):
        rule, sample, converted = record["rule"], codes(record["sample"]), codes(record["converted"])
        exact = record["deviating"] == 0
        if exact != (record["claim"] == "exact"):
            yield "the claim is exact where no code deviates, and only there"
        if len(sample) != len(converted) or sample != sorted(set(sample)):
            yield "the sample is not sorted, or has not as many results as codes"
        if BITS[rule["from"]] != BITS[record["from"]] or BITS[rule["to"]] != BITS[record["to"]]:
            yield "the rule has formats of another width"
        deviations = {(codes(d["code"])[0], codes(d["found"])[0]) for d in record["deviations"]}
        listed = len(deviations) == record["deviating"]
        for code, found in zip(sample, converted):
            try:
                says = convert(rule, code)
            except Unsupported as reason:
                self.unevaluated[str(reason)] = self.unevaluated.get(str(reason), 0) + 1
                continue
            agrees = found == says if says is not None else is_nan(rule["to"], found)
            if not agrees and (code, found) not in deviations and listed:
                yield f"code {code:x}: the rule gives {'a NaN' if says is None else format(says, 'x')}, not {found:x}"

    def order(self, cell, record, _):
        exact, tree, met, rows = record["claim"] == "exact", record["tree"], record["met"], record["row_zero"]
        batch, columns, k = cell.extents
        integers = all(map(is_integer, triple_of(cell.triple)[:3]))
        if exact != (tree is not None or integers and exact) or integers and tree is not None:
            yield "an exact claim needs a tree, a tree an exact claim; sums of integers have none"
        if tree is None and met:
            yield "pairs are counted without a tree"
        if tree is not None:
            sums = Sums(tree)
            if not record["by"] or int(record["by"].split("x")[2]) != k:
                yield "the tree was asked by products of another K, or of none"
            if sums.products != k:
                yield "the tree has other products than the shape"
            pairs = pairs_of(k, record["seed"])
            if met != [sums.meet(i, j) for i, j in pairs]:
                yield "the counts of the drawn pairs are not those of the tree"
        numbers = [record["dots"], *met, *(row["from"] for row in rows)]
        if not all(type(number) is int and number >= 0 for number in numbers) or record["dots"] < 2 * len(met):
            yield "a number is none, or fewer dot products were computed than pairs were counted"
        froms, codes_of = [row["from"] for row in rows], [codes(row["d"]) for row in rows]
        if exact and not rows or froms[:1] not in ([], [1]) or froms != sorted(set(froms)) or froms and froms[-1] > batch:
            yield "rows are not in the order of their batches, or none is there"
        if any(code >> BITS[triple_of(cell.triple)[2]] for row in codes_of for code in row):
            yield "a code of row 0 is wider than the output"
        if any(len(row) != columns for row in codes_of) or any(x == y for x, y in zip(codes_of, codes_of[1:])):
            yield "a row is not as the shape has it, or changes nothing"


class Sums:
    """A tree of sums, from its postfix notation: numbers are products, `a..b` several of them, `+n` adds the last n."""

    MOST = 8192

    def __init__(self, text):
        self.parent, self.size, self.leaf, stack = [], [], {}, []
        first, before, was_range = [], None, False
        for word in text.split(" "):
            found = re.fullmatch(r"(?:\+|(0|[1-9][0-9]{0,8})\.\.)?(0|[1-9][0-9]{0,8})", word)
            if not found:
                raise ValueError(f"`{word[:20]}` is no product, no range of products and no sum")
            if word.startswith("+"):
                count = int(found[2])
                if not 2 <= count <= len(stack):
                    raise ValueError(f"`{word}` where {len(stack)} values are")
                children = stack[-count:]
                del stack[-count:]
                firsts = [first[child] for child in children]
                if firsts != sorted(firsts):
                    raise ValueError("the children of a sum are not in the order of their first products")
                for child in children:
                    self.parent[child] = len(self.parent)
                self.node(stack, sum(self.size[child] for child in children))
                first.append(firsts[0])
                before = None
                continue
            low, high = int(found[1] or found[2]), int(found[2])
            # A range is three products or more, and consecutive products in a row are a range.
            run = high - low + 1
            after = before is not None and low == before[1] + 1
            if found[1] and run < 3 or after and (was_range or found[1] or before[1] > before[0]):
                raise ValueError("consecutive products are written otherwise than as one range")
            before, was_range = (before[0], high) if after else (low, high), bool(found[1])
            for index in range(low, min(high, self.MOST) + 1):
                if index in self.leaf or index >= self.MOST:
                    raise ValueError(f"product {index} is there twice, or is one of too many")
                self.leaf[index] = len(self.parent)
                self.node(stack, 1)
                first.append(index)
        if len(stack) != 1 or sorted(self.leaf) != list(range(len(self.leaf))):
            raise ValueError("the tree is not one tree over the products 0, 1, …")
        self.products = len(self.leaf)

    def node(self, stack, size):
        stack.append(len(self.parent))
        self.parent.append(None)
        self.size.append(size)

    def meet(self, i, j):
        """Products below the lowest sum that has both below it. Parents have larger numbers than their children."""
        x, y = self.leaf[i], self.leaf[j]
        while x != y:
            x, y = (self.parent[x], y) if x < y else (x, self.parent[y])
        return self.size[x]


def pairs_of(k, seed):
    """The 256 pairs of products that a tree is held against."""
    if k < 2:
        return []
    key = stream(seed, k)
    pairs = [(below(key, 2 * n, k), below(key, 2 * n + 1, k - 1)) for n in range(256)]
    return [(i, j + (j >= i)) for i, j in pairs]


def is_nan(name, code):
    return not is_integer(name) and decode(name, code) is None and isinstance(taken(name, {}, code), Nan)


def precision_of(cell):
    """Bits of the whole numbers that the output holds exactly, as far as samples go."""
    return min(precision(triple_of(cell.triple)[2]), 16)
