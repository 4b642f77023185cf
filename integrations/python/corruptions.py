"""What may somebody do to a run? One list for both verifiers, which must say no to all of it.

SPOILED is what anybody might do to a file; FORGED what somebody does who makes digests and seal again; FORGED_RECORDS the same of
what was found of units. `test_verify.py` feeds them to `verify.py` and to `rigel verify`.
"""

import csv
import io
import json
import os

import blake3
from cell_rows import CELLS
from run_files import digest_of


class Lines(list):
    """The lines of a file, written back when the block ends."""

    def __init__(self, path):
        with open(path, "rb") as file:
            super().__init__(file.read().splitlines(keepends=True))
        self.path = path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with open(self.path, "wb") as file:
            file.write(b"".join(self))


def column(name):
    return CELLS.split(",").index(name)


def edit_cell(directory, wanted, **changes):
    """Changes columns of the first cell row for which `wanted` holds; gives its fields."""
    with Lines(os.path.join(directory, "cells.csv")) as lines:
        for at in range(1, len(lines)):
            fields = next(csv.reader([lines[at].decode()]))
            if wanted(fields):
                for name, value in changes.items():
                    fields[column(name)] = value(fields[column(name)]) if callable(value) else value
                out = io.StringIO()
                csv.writer(out, lineterminator="\n").writerow(fields)
                lines[at] = out.getvalue().encode()
                return fields
    raise AssertionError("the run has no such cell")


def edit_group(directory, name, cell, change):
    """Changes the rows of a cell and process in samples.csv or witness.csv."""
    start = f"{cell[0]},{cell[column('process')]},".encode()
    with Lines(os.path.join(directory, name)) as lines:
        lines[:] = [change(line) if line.startswith(start) else line for line in lines]


def reseal(directory, evidence_of=()):
    """MANIFEST as somebody would forge it, with the evidence digests of some cells."""
    for cell in evidence_of:
        start = f"{cell[0]},{cell[column('process')]},".encode()
        text = b"".join(line for name in ("samples.csv", "witness.csv")
                        for line in Lines(os.path.join(directory, name)) if line.startswith(start))
        for name in sorted(records_of(directory, cell[0])):
            with open(os.path.join(directory, name), "rb") as file:
                text += file.read()
        key = (cell[0], cell[column("process")])
        edit_cell(directory, lambda f: (f[0], f[column("process")]) == key, evidence=blake3.hash_many([text])[0])
    with Lines(os.path.join(directory, "MANIFEST")) as lines:
        for at in range(1, len(lines)):
            name = lines[at].decode().split(",")[0]
            digest, feeds = digest_of(os.path.join(directory, name))
            lines[at] = f"{name},{feeds - 1 if name.endswith('.csv') else ''},{digest}\n".encode()


def records_of(directory, cell):
    """The files of a unit's cell."""
    return [f"{folder}/{name}" for folder in ("models", "layouts", "conversions")
            if os.path.isdir(os.path.join(directory, folder))
            for name in os.listdir(os.path.join(directory, folder)) if f"-{cell}." in name]


def timed(fields):
    return fields[column("work")] == "gemm" and fields[column("repetitions")] != ""


def gated(fields):
    return timed(fields) and fields[column("gate")] == "full" and fields[column("outcome")] == "right"


def in_lines(name, change):
    """A corruption of one file's lines."""
    def spoil(directory):
        with Lines(os.path.join(directory, name)) as lines:
            change(lines)
    return spoil


def swap(lines):
    lines[3], lines[4] = lines[4], lines[3]


def next_digit(line):
    """The last hex digit before the line feed becomes another one."""
    return line[:-2] + (b"1" if line[-2:-1] != b"1" else b"2") + b"\n"


def crlf(lines):
    lines[2] = lines[2].replace(b"\n", b"\r\n")


def another_time(lines):
    fields = lines[2].split(b",")
    fields[3] = b"%d" % (int(fields[3].split(b".")[0]) + 1)
    lines[2] = b",".join(fields)


def link(directory):
    path = os.path.join(directory, "power.csv")
    os.rename(path, directory + ".power")
    os.symlink(directory + ".power", path)


def directory_for(name):
    def spoil(directory):
        os.remove(os.path.join(directory, name))
        os.mkdir(os.path.join(directory, name))
    return spoil


def add_file(directory):
    with open(os.path.join(directory, "notes.txt"), "w") as file:
        file.write("added\n")


def slower(line):
    fields = line.split(b",")
    fields[3] = b"%d" % (2 * int(fields[3].split(b".")[0]))
    return b",".join(fields)


def exponent_bit(line):
    """An element of f32, or of i32, that is far off."""
    return line[:-9] + b"%08x\n" % (int(line[-9:-1], 16) ^ 0x01000000)


ROWS = ("cells.csv", "samples.csv", "witness.csv")
# What anybody might do to a file: (name, the file that a message must name, change).
SPOILED = [
    *((f"swapped rows of {f}", f, in_lines(f, swap)) for f in ROWS + ("MANIFEST",)),
    *((f"dropped row of {f}", f, in_lines(f, lambda lines: lines.pop(3))) for f in ROWS + ("facts.csv", "MANIFEST")),
    *((f"dropped last row of {f}", f, in_lines(f, lambda lines: lines.pop())) for f in ROWS + ("facts.csv",)),
    *((f"duplicated row of {f}", f, in_lines(f, lambda lines: lines.insert(3, lines[2])))
      for f in ROWS + ("facts.csv", "MANIFEST")),
    *((f"garbage behind {f}", f, in_lines(f, lambda lines: lines.append(b"\xff\x00garbage")))
      for f in ROWS + ("facts.csv", "power.csv", "MANIFEST", "plan.toml", "run.json")),
    *((f"a long line behind {f}", f, in_lines(f, lambda lines: lines.append(b"7" * (1 << 20)))) for f in ROWS),
    *((f"torn row of {f}", f, in_lines(f, lambda lines: lines.append(lines.pop()[:-3])))
      for f in ROWS + ("facts.csv", "MANIFEST")),
    *((f"carriage return in {f}", f, in_lines(f, crlf)) for f in ROWS + ("facts.csv", "MANIFEST")),
    *((f"header of {f}", f, in_lines(f, lambda lines: lines.__setitem__(0, b"x" + lines[0])))
      for f in ROWS + ("facts.csv", "power.csv", "MANIFEST")),
    *((f"an empty {f}", f, in_lines(f, lambda lines: lines.clear())) for f in ROWS + ("MANIFEST", "run.json")),
    *((f"missing {f}", f, lambda d, f=f: os.remove(os.path.join(d, f)))
      for f in ROWS + ("plan.toml", "facts.csv", "power.csv", "MANIFEST")),
    ("edited time", "samples.csv", in_lines("samples.csv", another_time)),
    ("edited witness", "witness.csv", in_lines("witness.csv", lambda lines: lines.append(next_digit(lines.pop())))),
    ("edited outcome", "cells.csv", lambda d: edit_cell(d, gated, outcome="imprecise")),
    ("not a number", "cells.csv", lambda d: edit_cell(d, gated, gate_error="NaN")),
    ("changed digest", "MANIFEST", in_lines("MANIFEST", lambda lines: lines.append(next_digit(lines.pop())))),
    ("changed plan", "plan.toml", in_lines("plan.toml", lambda lines: lines.append(b"# more\n"))),
    ("path out of the run", "MANIFEST", in_lines("MANIFEST", lambda lines: lines.insert(
        1, b"../x.csv,0," + b"0" * 64 + b"\n"))),
    ("added file", "notes.txt", add_file),
    *((f"a directory for {f}", f, directory_for(f)) for f in ROWS + ("plan.toml", "power.csv", "run.json", "MANIFEST")),
    ("a link for a file", "power.csv", link),
]


def forged_time(directory):
    cell = edit_cell(directory, timed)
    edit_group(directory, "samples.csv", cell, slower)
    reseal(directory, [cell])


def forged_witness(directory):
    cell = edit_cell(directory, gated)
    edit_group(directory, "witness.csv", cell, exponent_bit)
    reseal(directory, [cell])


def sealed(spoil):
    return lambda directory: (spoil(directory), reseal(directory))


def of_cell(**changes):
    return sealed(lambda directory: edit_cell(directory, gated, **changes))


def in_witness(change):
    """The witness of a gated cell, its rows changed and its digest made again."""
    def spoil(directory):
        cell = edit_cell(directory, gated)
        start = f"{cell[0]},{cell[column('process')]},".encode()
        with Lines(os.path.join(directory, "witness.csv")) as lines:
            first = next(i for i, line in enumerate(lines) if line.startswith(start))
            count = sum(line.startswith(start) for line in lines)
            lines[first:first + count] = change(lines[first:first + count])
        reseal(directory, [cell])
    return spoil


def moved(rows):
    """The second element stands in the row of the output below; those of one row stay in order."""
    fields = rows[1].split(b",")
    places = {tuple(map(int, row.split(b",")[2:4])) for row in rows}
    fields[2:4] = next([b"%d" % r, b"%d" % c] for r in range(32) for c in range(32) if (r, c) not in places)
    rows[1] = b",".join(fields)
    return sorted(rows, key=lambda row: tuple(map(int, row.split(b",")[2:4])))


def without_rows(wanted):
    """Cell rows that are gone, with all that lay behind them."""
    def spoil(directory):
        path = os.path.join(directory, "cells.csv")
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        gone = {f"{row[0]},{row[column('process')]},".encode() for row in rows[1:] if wanted(row)}
        assert gone
        with Lines(path) as lines:
            lines[:] = [line for line, row in zip(lines, rows) if row[0] == "cell" or not wanted(row)]
        for name in ("samples.csv", "witness.csv"):
            with Lines(os.path.join(directory, name)) as lines:
                lines[:] = [line for line in lines if b",".join(line.split(b",")[:2]) + b"," not in gone]
        reseal(directory)
    return spoil


def is_loop(fields):
    return fields[column("work")] == "ceiling" and fields[column("repetitions")] != ""


def in_power(change):
    return sealed(in_lines("power.csv", change))


def another_value(text):
    def change(lines):
        fields = lines[3].split(b",")
        fields[2] = text
        lines[3] = b",".join(fields)
    return change


def phase_of_nothing(lines):
    at = next(i for i in range(1, len(lines)) if not lines[i].endswith(b",idle\n"))
    lines[at] = lines[at].rsplit(b",", 1)[0] + b",0123456789ab\n"


# What somebody would do who seals the run again: (name, the check that must say no, change).
FORGED = [
    ("times, digests and seal", "statistics", forged_time),
    ("witness, digests and seal", "gates", forged_witness),
    ("a time and the seal", "evidence", sealed(in_lines("samples.csv", another_time))),
    ("a witness and the seal", "evidence", sealed(SPOILED[[s[0] for s in SPOILED].index("edited witness")][2])),
    ("an outcome", "gates", of_cell(outcome="imprecise")),
    ("an outcome and its reason", "gates", of_cell(
        outcome="mistrusted", reason="the gate would have passed a planted fault")),
    ("an error", "gates", of_cell(gate_error=lambda x: "1e-9")),
    ("ulps", "gates", of_cell(gate_ulps=lambda x: "0.001")),
    ("a tolerance", "gates", of_cell(gate_tolerance="0.5")),
    ("no gate", "gates", of_cell(gate="", gate_error="", gate_ulps="", gate_tolerance="")),
    ("a median", "statistics", of_cell(median_ns=lambda x: repr(float(x) / 2))),
    ("an interval", "statistics", of_cell(ci_low_ns=lambda x: repr(float(x) / 2))),
    ("warm-up", "statistics", of_cell(warmup=lambda x: str(int(x) + 1))),
    ("operations", "statistics", of_cell(operations=lambda x: str(2 * int(x)))),
    ("autocorrelation", "statistics", of_cell(autocorrelation="0.987")),
    ("an effective n", "statistics", of_cell(effective_n=lambda x: str(int(x) + 1))),
    ("a clock", "statistics", of_cell(clock_mhz="1.5")),
    ("repetitions", "statistics", of_cell(repetitions=lambda x: str(int(x) - 1))),
    ("an axis", "rows", of_cell(path="scalar")),
    ("a device", "rows", of_cell(device="another")),
    ("a dropped cell row", "evidence", sealed(in_lines("cells.csv", lambda lines: lines.pop(2)))),
    ("a dropped witness element", "gates", in_witness(lambda rows: rows[:4] + rows[5:])),
    ("a moved witness element", "gates", in_witness(moved)),
    ("a doubled witness element", "evidence", in_witness(lambda rows: rows[:4] + rows[3:])),
    ("a process of a cell with all that lay behind it", "plan", without_rows(
        lambda f: timed(f) and f[column("process")] == "3")),
    ("a rung with all that lay behind it", "rows", without_rows(
        lambda f: f[column("work")] == "rung" and f[column("shape")] == "8x8x8")),
    ("a process of every loop", "plan", without_rows(lambda f: is_loop(f) and f[column("process")] == "5")),
    ("a gate that looked at a sample", "gates", of_cell(gate="sampled")),
    ("what a full gate would not have seen", "gates", of_cell(gate_visible="0.001")),
    ("a block", "plan", of_cell(block="gemm/64x64x64/near-normal/warm")),
    ("a block that was measured again", "plan", of_cell(block=lambda block: block + "~1")),
    ("a block's leavings", "plan", of_cell(block=lambda block: block + "!")),
    ("why sampling ended", "statistics", of_cell(stop="budget")),
    ("operations of a loop", "statistics", sealed(lambda d: edit_cell(
        d, lambda f: is_loop(f) and f[column("process")] == "2", operations=lambda x: str(2 * int(x))))),
    ("facts in another order", "rows", sealed(in_lines("facts.csv", swap))),
    ("a doubled fact", "rows", sealed(in_lines("facts.csv", lambda lines: lines.insert(3, lines[2])))),
    ("a doubled reading", "rows", in_power(lambda lines: lines.insert(3, lines[2]))),
    ("readings in another order", "rows", in_power(swap)),
    ("a reading of 400 digits", "rows", in_power(another_value(b"7" * 400 + b".0"))),
    ("a reading in another spelling", "rows", in_power(another_value(b"7.50"))),
    ("a reading under a cell that is not there", "rows", in_power(phase_of_nothing)),
    ("the plan", "provenance", sealed(in_lines("plan.toml", lambda lines: lines.append(b"# more\n")))),
]


def unit_cell(probe, name):
    return lambda fields: (fields[column("probe")], fields[column("tile")]) == (probe, name)


def forged_record(probe, name, change, ending=".json"):
    """A record that somebody changed who made every digest again."""
    def spoil(directory):
        cell = edit_cell(directory, unit_cell(probe, name))
        path = next(os.path.join(directory, f) for f in records_of(directory, cell[0]) if f.endswith(ending))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if ending == ".json":
            record = json.loads(text)
            change(record)
            text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        else:
            text = change(text)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        reseal(directory, [cell])
    return spoil


def last_code(text):
    """Codes of which the last has another last digit."""
    return text[:-1] + ("1" if text[-1] != "1" else "2")


def in_vector(key):
    def change(record):
        vector = record["vectors"][3]
        vector["inputs"][key] = last_code(vector["inputs"][key])
    return change


def round_down(node):
    """Every rounding of a model's steps becomes another one."""
    for key, value in node.items() if isinstance(node, dict) else ():
        if key == "rounding":
            node[key] = "down"
        round_down(value)


def swapped_elements(text):
    lines = text.split("\n")
    (first, second) = (line.split(",") for line in lines[1:3])
    first[3:], second[3:] = second[3:], first[3:]
    lines[1:3] = [",".join(first), ",".join(second)]
    return "\n".join(lines)


WELL = "well: f16 to e4m3, saturating"
# (name, change): both verifiers must say that the record contradicts itself.
FORGED_RECORDS = [
    ("an output", forged_record("arithmetic", "fma: one", lambda r: r["vectors"][3].update(
        d=last_code(r["vectors"][3]["d"])))),
    ("an output that the model is said to miss", forged_record("arithmetic", "fma: one", lambda r: r["vectors"][3].update(
        d="1", model=r["vectors"][3]["d"]))),
    ("an input of A", forged_record("arithmetic", "fma: one", in_vector("a"))),
    ("an input c", forged_record("arithmetic", "fma: one", in_vector("c"))),
    ("a dropped vector", forged_record("arithmetic", "fma: one", lambda r: r["vectors"].pop())),
    ("a rounding", forged_record("arithmetic", "fma: one", lambda r: round_down(r["model"]["body"]))),
    ("mismatches", forged_record("arithmetic", "fma: one", lambda r: r["validation"]["distributions"][2].update(
        mismatches=3))),
    ("a bound", forged_record("arithmetic", "fma: one", lambda r: r["validation"]["distributions"][2].update(bound=1e-9))),
    ("no validation", forged_record("arithmetic", "fma: one", lambda r: r.update(validation=None))),
    ("a claim", forged_record("arithmetic", "integers", lambda r: r.update(claim="inexact"))),
    ("measured instead of simulated", forged_record("arithmetic", "fma: one", lambda r: r["origin"].update(
        kind="measured"))),
    ("a driver", forged_record("layout", "integers", lambda r: r["origin"].update(driver="another"))),
    ("a map", forged_record("layout", "integers", swapped_elements, ".csv")),
    ("a launch", forged_record("layout", "integers", lambda r: r["sample"][1].update(
        d="7" + r["sample"][1]["d"][1:]))),
    ("a rule", forged_record("specials", WELL, lambda r: r["rule"].update(overflow="ieee"))),
    ("a converted code", forged_record("specials", WELL, lambda r: r.update(converted=last_code(r["converted"])))),
    ("deviating codes", forged_record("specials", WELL, lambda r: r.update(deviating=4))),
]
