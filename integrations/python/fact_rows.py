"""What may stand in a row of facts.csv or power.csv?"""

from cell_rows import CELL, NUMBER, PROBES, number
from run_files import Fault

FACTS = "probe,path,triple,shape,recipe,cache,name,value,unit,low,high,words,evidence"
POWER = "meter,time_ns,value,unit,phase"


def check_fact(path, line, fields, ids, seen):
    """`ids` are the cells of the run, `seen` the keys above this row."""
    key = tuple(fields[:7])
    if key in seen:
        raise Fault(path, line, "a duplicate: a fact of the same name stands above")
    seen.add(key)
    if fields[0] not in PROBES:
        raise Fault(path, line, f"probe is `{fields[0][:60]}`: one of {' '.join(PROBES)}")
    for column, text in (("low", fields[9]), ("high", fields[10])):
        try:
            number(text)
        except ValueError:
            raise Fault(path, line, f"{column} is `{text[:60]}`: a number, or empty") from None
    strangers = [cell for cell in fields[12].split() if cell not in ids]
    if strangers:
        raise Fault(path, line, f"evidence names cell `{strangers[0][:60]}`, which has no row in cells.csv")


def check_reading(path, line, fields, ids, _):
    for column, text in (("time_ns", fields[1]), ("value", fields[2])):
        if not NUMBER.fullmatch(text):
            raise Fault(path, line, f"{column} is `{text[:60]}`: a finite number")
    if CELL.fullmatch(fields[4]) and fields[4] not in ids:
        raise Fault(path, line, f"phase names cell `{fields[4]}`, which has no row in cells.csv")
