"""What does a row of cells.csv, samples.csv or witness.csv hold, and which rows belong to which cell?"""

import re
from collections import namedtuple
from decimal import Decimal

from blake3 import hash_many
from number_formats import triple_of
from rigel_inputs import RECIPES
from run_files import DIGEST, Fault, Lines, fields_of

CELLS = ("cell,device,driver,run,process,block,probe,work,path,triple,shape,tile,recipe,seed,cache,outcome,reason,gate,"
         "gate_error,gate_ulps,gate_tolerance,gate_visible,operations,repetitions,warmup,stop,median_ns,ci_low_ns,"
         "ci_high_ns,bootstrap_low_ns,bootstrap_high_ns,autocorrelation,effective_n,modes,clock_mhz,evidence")
SAMPLES, WITNESS = "cell,process,index,time_ns,clock_mhz", "cell,process,row,column,bits"
PROBES = ("types throughput clocks dispatch power arithmetic order layout specials alignment versions fusion "
          "attention").split()
PRODUCTS = ("gemm", "fused-tanh", "fused-erf", "decomposed-tanh", "decomposed-erf", "fused-attention",
            "decomposed-attention", "placed")
CACHES = ("warm", "cold", "none", "replayed")
WORDS = {
    "probe": PROBES, "recipe": ["", *RECIPES], "cache": CACHES,
    "work": [*PRODUCTS, "ceiling", "rung", "version", "unit", "conversion", "product", "meter"],
    "outcome": "right imprecise wrong mistrusted exact inexact absent refused-compile refused-load crashed hung out-of-memory "
               "device-lost failed".split(),
    "gate": ["", "full", "sampled", "inherited", "accumulators"], "stop": ["", "repetitions", "precise", "budget"],
}
WHOLE = {"process": 1 << 32, "seed": 1 << 64, "operations": 1 << 64, "repetitions": 1 << 32, "warmup": 1 << 32,
         "effective_n": 1 << 32}
REQUIRED = ("process", "seed")
NUMBERS = ("gate_error gate_ulps gate_tolerance gate_visible median_ns ci_low_ns ci_high_ns bootstrap_low_ns "
           "bootstrap_high_ns autocorrelation clock_mhz").split()
LONGEST_NUMBER = 32
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?")
COUNT = re.compile("0|[1-9][0-9]{0,19}")
CELL = re.compile("[0-9a-f]{12}")
SHAPE = re.compile("([1-9][0-9]{0,6})x([1-9][0-9]{0,6})x([1-9][0-9]{0,6})")
LARGEST_EXTENT = 1 << 20
SAMPLE_LINE = re.compile(rb"([0-9a-f]{12},(?:0|[1-9][0-9]{0,9})),(0|[1-9][0-9]{0,9}),"
                         rb"(0|[1-9][0-9]{0,18})(?:\.([0-9]{0,2}[1-9]))?,(|[1-9][0-9]{0,9})\n")
WITNESS_LINE = re.compile(rb"([0-9a-f]{12},(?:0|[1-9][0-9]{0,9})),(0|[1-9][0-9]{0,9}),(0|[1-9][0-9]{0,9}),"
                          rb"([0-9a-f]{1,16})\n")
GROUP_LIMIT, LINE_LIMIT = 1 << 20, 128

Cell = namedtuple("Cell", ["line", *CELLS.split(","), "formats", "extents"])
Group = namedtuple("Group", "key line offset rows text")


def spelled(value):
    """A finite number as a run writes it: the fewest digits that read back, plain from 1e-5 to below 1e16."""
    sign, figures, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, figures))
    sign, point = "-" if sign else "", len(digits) + exponent
    if value == 0:
        return sign + "0.0"
    if 0 < point <= 16:
        whole, part = digits[:point].ljust(point, "0"), digits[point:] or "0"
        return f"{sign}{whole}.{part}"
    if -5 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1}"


def number(text):
    """A finite number or `inf`; None for an empty field; ValueError for anything else, or another spelling of it."""
    if not text:
        return None
    if text == "inf":
        return float(text)
    value = float(text) if len(text) <= LONGEST_NUMBER and NUMBER.fullmatch(text) else None
    if value is None or value in (float("inf"), float("-inf")) or spelled(value) != text:
        raise ValueError(text)
    return value


def cell_of(path, line, fields):
    row = dict(zip(Cell._fields[1:], fields))

    def refuse(column, allowed):
        raise Fault(path, line, f"{column} is `{row[column][:60]}`: {allowed}")

    for column, allowed in WORDS.items():
        if row[column] not in allowed:
            refuse(column, "one of " + " ".join(word or "(empty)" for word in allowed))
    if not CELL.fullmatch(row["cell"]):
        refuse("cell", "12 lower-case hex digits")
    if not DIGEST.fullmatch(row["evidence"]):
        refuse("evidence", "64 lower-case hex digits")
    row["formats"] = triple_of(row["triple"]) or refuse("triple", "a type triple such as f16,f16->f32")
    shape = SHAPE.fullmatch(row["shape"])
    if row["shape"] and not (shape and max(map(int, shape.groups())) <= LARGEST_EXTENT):
        refuse("shape", f"MxNxK, each from 1 to {LARGEST_EXTENT}, or empty")
    row["extents"] = tuple(map(int, shape.groups())) if shape else None
    for column, limit in WHOLE.items():
        text = row[column]
        if not text and column not in REQUIRED:
            row[column] = None
        elif not COUNT.fullmatch(text) or int(text) >= limit:
            refuse(column, f"a whole number below {limit} without leading zeros")
        else:
            row[column] = int(text)
    for column in NUMBERS:
        try:
            value = number(row[column])
        except ValueError:
            refuse(column, "a finite number, or empty")
        if value == float("inf") and not column.startswith("gate_"):
            refuse(column, "a finite number, or empty")
        row[column] = value
    return Cell(line=line, **row)


def identity(cell):
    """The text whose digest names a cell."""
    return "|".join((cell.probe, cell.work, cell.path, cell.triple, cell.shape, cell.tile, cell.recipe, str(cell.seed),
                     cell.cache))


def cells_of(path, lines, origins):
    """Every cell row: keys unique and in order, ids those of the axes, origins those of provenance."""
    cells, last = [], None
    for line, text in lines:
        cell = cell_of(path, line, fields_of(path, line, text, CELLS.count(",") + 1))
        key = (cell.cell, cell.process)
        if last is not None and key <= last:
            what = "a duplicate of the row above" if key == last else "stands before the row above in order"
            raise Fault(path, line, f"cell {cell.cell}, process {cell.process}: {what}")
        last = key
        if origins.get(cell.run) != (cell.device, cell.driver):
            raise Fault(path, line, f"no run.json has run `{cell.run}`, device `{cell.device}`, driver `{cell.driver}`")
        cells.append(cell)
    texts = sorted({identity(cell) for cell in cells})
    ids = {}
    for at in range(0, len(texts), 1024):
        some = texts[at:at + 1024]
        ids.update(zip(some, hash_many([text.encode() for text in some])))
    for cell in cells:
        expected = ids[identity(cell)][:12]
        if cell.cell != expected:
            raise Fault(path, cell.line, f"cell is `{cell.cell}`; its axes are those of {expected}")
    return cells


def key_of(cell):
    return f"{cell.cell},{cell.process}".encode()


def groups(lines, pattern, follows, places):
    """The rows of each cell in one process, which must stand in the order of cells.csv; `places` holds its keys."""
    path, key, last_place, offset = lines.path, None, -1, len(lines.header)
    first = rows = text = None
    for line, data in lines:
        match = pattern.fullmatch(data)
        if not match:
            ending = "a carriage return" if data.endswith(b"\r\n") else "not written as a run writes its rows"
            raise Fault(path, line, f"`{data[:60].decode(errors='replace').strip()}`: {ending}")
        if match[1] != key:
            if key is not None:
                yield Group(key, first[0], first[1], rows, text)
            key, place = match[1], places.get(match[1], -1)
            if place <= last_place:
                where = "stands out of the order of cells.csv" if place >= 0 else "belongs to no row of cells.csv"
                raise Fault(path, line, f"cell, process {key.decode()}: {where}")
            first, rows, text, last_place = (line, offset), [], bytearray(), place
        wrong = follows(rows[-1] if rows else None, match)
        if wrong:
            raise Fault(path, line, wrong)
        if len(rows) == GROUP_LIMIT:
            raise Fault(path, line, f"more than {GROUP_LIMIT} rows of one cell")
        rows.append(match)
        text += data
        offset += len(data)
    if key is not None:
        yield Group(key, first[0], first[1], rows, text)


def sample_follows(previous, match):
    expected, index = (int(previous[2]) + 1 if previous else 0), int(match[2])
    if index == expected:
        return None
    if index > expected:
        return f"a row is missing: repetition {expected} must stand here"
    return "a duplicate of the row above" if index + 1 == expected else "rows are out of order"


def witness_follows(previous, match):
    place = (int(match[2]), int(match[3]))
    before = (int(previous[2]), int(previous[3])) if previous else (-1, -1)
    if place > before:
        return None
    return "a duplicate of the row above" if place == before else "rows are out of order"


def sample_groups(path, places):
    lines = Lines(path, SAMPLES, LINE_LIMIT)
    return lines, groups(lines, SAMPLE_LINE, sample_follows, places)


def witness_groups(path, places):
    lines = Lines(path, WITNESS, LINE_LIMIT)
    return lines, groups(lines, WITNESS_LINE, witness_follows, places)


def times_of(group):
    """(picoseconds, MHz or None) of each repetition."""
    times = [int(row[3]) * 1000 + (int(row[4].ljust(3, b"0")) if row[4] else 0) for row in group.rows]
    return times, [int(row[5]) if row[5] else None for row in group.rows]
