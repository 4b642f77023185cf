"""What may stand in a row of facts.csv or power.csv, and in which order?"""

import re

from cell_rows import CACHES, CELL, PROBES, PRODUCTS, RECIPES, SHAPE, number
from number_formats import BITS, triple_of
from run_files import Fault

FACTS = "probe,path,triple,shape,recipe,cache,name,value,unit,low,high,words,evidence"
POWER = "meter,time_ns,value,unit,phase"
TIME = re.compile(r"(0|[1-9][0-9]{0,18})(?:\.([0-9]{0,2}[1-9]))?")
FORMATS = list(BITS)
IDLE, PERIOD = "idle", "period"


class Facts:
    """Facts in their order: by probe, path, triple, shape, recipe, cache state, name, value, words; each once."""

    def __init__(self, cells, _):
        self.ids, self.last = {cell.cell for cell in cells}, None

    def take(self, path, line, fields):
        key = fact_key(path, line, fields)
        if self.last is not None and key <= self.last:
            what = "a duplicate: the same fact stands above" if key == self.last else "stands before the row above in order"
            raise Fault(path, line, what)
        self.last = key
        for column, text in (("low", fields[9]), ("high", fields[10])):
            try:
                number(text)
            except ValueError:
                raise Fault(path, line, f"{column} is `{text[:60]}`: a number, or empty") from None
        strangers = [cell for cell in fields[12].split() if cell not in self.ids]
        if strangers:
            raise Fault(path, line, f"evidence names cell `{strangers[0][:60]}`, which has no row in cells.csv")


def fact_key(path, line, fields):
    """What facts are sorted by: formats, recipes and cache states in the order in which they are declared, empty first."""
    def refuse(column, text, allowed):
        raise Fault(path, line, f"{column} is `{text[:60]}`: {allowed}")

    probe, where, triple, shape, recipe, cache, name = fields[:7]
    if probe not in PROBES:
        refuse("probe", probe, "one of " + " ".join(PROBES))
    formats = triple_of(triple) if triple else ()
    if formats is None:
        refuse("triple", triple, "a type triple such as f16,f16->f32, or empty")
    extents = SHAPE.fullmatch(shape)
    if shape and not extents:
        refuse("shape", shape, "MxNxK, or empty")
    for column, text, known in (("recipe", recipe, RECIPES), ("cache", cache, CACHES)):
        if text and text not in known:
            refuse(column, text, "one of " + " ".join(known) + ", or empty")
    ranks = (tuple(map(FORMATS.index, formats)), tuple(map(int, extents.groups())) if extents else (),
             RECIPES.index(recipe) + 1 if recipe else 0, CACHES.index(cache) + 1 if cache else 0)
    # One name can say several things, as of a unit that is composed of the steps of several others.
    return (PROBES.index(probe), where, *ranks, name, fields[7], fields[11])


class Readings:
    """Readings of meters in their order, by meter and time, each once, under a phase that the run knows."""

    def __init__(self, cells, whole):
        # Meters and loops can be in different shards.
        self.loads, self.last, self.whole = {cell.cell for cell in cells if cell.work == "ceiling" or cell.work in PRODUCTS}, None, whole
        self.unit, self.value = "", 0.0

    def take(self, path, line, fields):
        meter, time, value, unit, phase = fields
        match = TIME.fullmatch(time)
        if not match:
            raise Fault(path, line, f"time_ns is `{time[:60]}`: digits, then at most three decimals")
        try:
            fine = value != "inf" and number(value) is not None
        except ValueError:
            fine = False
        if not fine:
            raise Fault(path, line, f"value is `{value[:60]}`: a finite number in its shortest spelling")
        key = (meter, int(match[1]) * 1000 + int((match[2] or "").ljust(3, "0")))
        if self.last is not None and key <= self.last:
            what = ("a duplicate: the meter has a reading of this time on the line above" if key == self.last
                    else "stands before the row above in order of meter and time")
            raise Fault(path, line, what)
        if self.last is not None and self.last[0] == meter:
            if self.unit != unit:
                raise Fault(path, line, f"unit is `{unit[:60]}`; the meter's reading above has `{self.unit[:60]}`")
            if unit == "J" and number(value) < self.value:
                raise Fault(path, line, f"value is {value} J after {self.value} J: a counter of energy never falls")
        self.last, self.unit, self.value = key, unit, number(value)
        if phase not in (IDLE, PERIOD) and phase not in self.loads and (self.whole or not CELL.fullmatch(phase)):
            raise Fault(path, line, f"phase is `{phase[:60]}`: {IDLE}, {PERIOD}, or the cell of a loop or product that has a row in cells.csv")
