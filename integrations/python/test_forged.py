"""What does an edit that is sealed again have to get past, column by column?

    python3 -m unittest discover integrations/python

docs/verifying.md has a table of every column of every file of a run: who says no to an edit of it that is sealed again, with the
digests over evidence made again. This test makes every one of these edits, asks both verifiers, and holds their answers
against that table; so neither of them, nor the table, can drift from the others.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from cell_rows import CELLS, SAMPLES, WITNESS
from corruptions import Lines, column, edit_cell, gated, reseal
from fact_rows import FACTS, POWER
from test_verify import ROOT, python_says, rigel, rust_says

PAGE = os.path.join(ROOT, "docs", "verifying.md")
HEADERS = {"cells.csv": CELLS, "samples.csv": SAMPLES, "witness.csv": WITNESS, "facts.csv": FACTS, "power.csv": POWER,
           "MANIFEST": "file,rows,blake3"}
ANSWERS = {(True, True): "both", (False, True): "rigel", (True, False): "python", (False, False): "neither"}
# A run with everything that a column can hold: loops, products, a ladder, meters, a triple that is absent.
MADE = ["--device", "sim:plain", "--filter", "matmul2d", "--axis", "shape=32", "--axis", "types-shape=8,9"]
OTHER = {
    "process": "1", "probe": "types", "work": "ceiling", "path": "tiled", "triple": "bf16,bf16->f32", "shape": "16x16x16",
    "tile": "16x16", "recipe": "uniform", "cache": "cold", "outcome": "imprecise", "reason": "cosmic rays", "gate": "sampled",
    "gate_visible": "0.001", "stop": "budget", "modes": "20@5.0@;10@7.0@", "unit": "op/cycle", "phase": "idle", "words": "trust me",
    "seed": "7", "name": "rate.of_ceiling", "value": "1.5",
}


def another(name, text):
    """A plausible other value of a column."""
    if name in OTHER and OTHER[name] != text:
        return OTHER[name]
    if re.fullmatch(r"[0-9a-f]{8,}", text) and not text.isdigit():
        return ("1" if text[0] != "1" else "2") + text[1:]
    if re.fullmatch(r"-?[0-9]+", text):
        return str(int(text) + 1)
    if re.fullmatch(r"-?[0-9]+\.[0-9]+(e-?[0-9]+)?", text):
        return repr(float(text) * 2 or 0.5)
    return text + "x" if text else "x"


def edit_field(path, line, index, change):
    """Changes one field of a line of a file; gives the fields as they are then."""
    with Lines(path) as lines:
        fields = next(csv.reader([lines[line].decode()]))
        fields[index] = change(fields[index])
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerow(fields)
        lines[line] = out.getvalue().encode()
        return fields


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def spoil_cell(name):
    def spoil(directory):
        edit_cell(directory, gated, **{name: lambda text: another(name, text)})
    return spoil


def spoil_evidence(file, name, which=-1, change=another):
    """A row of a gated cell in samples.csv or witness.csv, its last one or another; its digest is made again."""
    index = (SAMPLES if file == "samples.csv" else WITNESS).split(",").index(name)

    def spoil(directory):
        cell = edit_cell(directory, gated)
        rows = rows_of(os.path.join(directory, file))
        key = [cell[0], cell[column("process")]]
        line = [number for number, row in enumerate(rows) if row[:2] == key][which]
        edit_field(os.path.join(directory, file), line, index, lambda text: change(name, text))
        reseal(directory, [cell])
    return spoil


def spoil_line(file, name, wanted=lambda row: True):
    """A row in the middle of a file."""
    index = HEADERS[file].split(",").index(name)

    def spoil(directory):
        path = os.path.join(directory, file)
        rows = rows_of(path)
        fitting = [number for number, row in enumerate(rows) if number and wanted(row)]
        edit_field(path, fitting[len(fitting) // 2], index, lambda text: another(name, text))
    return spoil


def spoil_plan(directory):
    with Lines(os.path.join(directory, "plan.toml")) as lines:
        at = next(i for i, line in enumerate(lines) if line.startswith(b"accelerated"))
        lines[at] = b"accelerated = 1.4\n"


def spoil_record(keys):
    """A value of run.json."""
    def spoil(directory):
        path = os.path.join(directory, "run.json")
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        place = record
        for key in keys[:-1]:
            place = place[key]
        old = place[keys[-1]]
        if isinstance(old, bool):
            new = not old
        elif isinstance(old, int):
            new = old + 1
        elif isinstance(old, float) or old is None:
            new = 2.0 * (old or 1.5)
        elif isinstance(old, list):
            new = old + (["more"] if not old or isinstance(old[0], str) else [])
        else:
            new = {"kind": "measured", "backend": "cpu", "partition": "slice:1/2", "triple": "f64,f64->f64"}.get(keys[-1], f"{old}x")
        place[keys[-1]] = new
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    return spoil


def keys_of(record, before=()):
    """The paths of the values of a record; of lists of records those of the first."""
    for key, value in record.items():
        if isinstance(value, dict):
            yield from keys_of(value, (*before, key))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from keys_of(value[0], (*before, key, 0))
        else:
            yield (*before, key)


def dotted(keys):
    return ".".join(str(key) for key in keys if key != 0)


def all_cells(name, change, wanted):
    """Every row of a kind of cell at once, so that no neighbour contradicts."""
    def spoil(directory):
        path = os.path.join(directory, "cells.csv")
        for line, row in enumerate(rows_of(path)):
            if line and wanted(row):
                edit_field(path, line, column(name), change)
    return spoil


def of_work(work):
    return lambda row: row[column("work")] == work


def best_witness(directory):
    """The last bit of an element that is not the worst: it stays inside the error of the worst."""
    cell = edit_cell(directory, lambda f: gated(f) and f[column("gate_error")] != "0.0")
    key = [cell[0], cell[column("process")]]
    path = os.path.join(directory, "witness.csv")
    for line, row in enumerate(rows_of(path)):
        if row[:2] == key:
            with open(path, "rb") as file:
                before = file.read()
            edit_field(path, line, 4, lambda text: text[:-1] + "%x" % (int(text[-1], 16) ^ 1))
            reseal(directory, [cell])
            if python_says(directory)[0] == 0:
                return
            with open(path, "wb") as file:
                file.write(before)
    raise AssertionError("every element is the worst")


def edits(run):
    """(file, column, the edit in words, how it is made) for every row of the table."""
    for file in ("cells.csv",):
        for name in CELLS.split(","):
            yield file, name, "", spoil_cell(name)
    yield "cells.csv", "operations", "of a loop, in every process", all_cells(
        "operations", lambda text: text and str(2 * int(text)), of_work("ceiling"))
    yield "cells.csv", "reason", "of a row without a gate", all_cells(
        "reason", lambda text: "another" if text else text, lambda row: row[column("gate")] == "")
    for file, header in (("samples.csv", SAMPLES), ("witness.csv", WITNESS)):
        for name in header.split(","):
            yield file, name, "", spoil_evidence(file, name)
    yield "samples.csv", "time_ns", "nine times as long", spoil_evidence(
        "samples.csv", "time_ns", change=lambda _, text: str(9 * int(text.split(".")[0])))
    yield "samples.csv", "time_ns", "of a repetition that was found to be warm-up", spoil_evidence("samples.csv", "time_ns", 0)
    yield "witness.csv", "bits", "the last bit of an element that is not the worst", best_witness
    for name in FACTS.split(","):
        yield "facts.csv", name, "", spoil_line("facts.csv", name, lambda row: row[6] == "rate")
    for name in POWER.split(","):
        yield "power.csv", name, "", spoil_line("power.csv", name)
    yield "power.csv", "value", "of a counter of energy", spoil_line("power.csv", "value", lambda row: row[3] == "J")
    for name in HEADERS["MANIFEST"].split(","):
        yield "MANIFEST", name, "", spoil_line("MANIFEST", name, lambda row: row[0].endswith(".csv"))
    yield "plan.toml", "any key", "", spoil_plan
    with open(os.path.join(run, "run.json"), encoding="utf-8") as file:
        for keys in keys_of(json.load(file)):
            yield "run.json", dotted(keys), "", spoil_record(keys)


def table():
    """{(file, column, edit): answer} as the page has it."""
    rows = {}
    with open(PAGE, encoding="utf-8") as file:
        for line in file:
            match = re.fullmatch(r"\| `([^`]+)` \| (.+?) \| (both|rigel|python|neither) \| .* \|\n", line)
            if match:
                for name in match[2].split("; ")[0].split(", "):
                    words = match[2].split("; ")[1] if "; " in match[2] else ""
                    rows[match[1], name.strip("`"), words] = match[3]
    return rows


@unittest.skipUnless(rigel(), "skipped: no rigel binary; build one or name it in RIGEL")
class EveryColumn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.run_directory = os.path.join(cls.folder.name, "run")
        done = subprocess.run([rigel(), "run", *MADE, "--out", cls.run_directory], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def answers(self, file, spoil):
        directory = tempfile.mkdtemp(dir=self.folder.name)
        shutil.copytree(self.run_directory, directory, dirs_exist_ok=True)
        spoil(directory)
        if file != "MANIFEST":
            reseal(directory)
        (python, python_text), (rust, rust_text) = python_says(directory), rust_says(directory)
        shutil.rmtree(directory)
        self.assertTrue({python, rust} <= {0, 1, 2}, python_text + rust_text)
        return ANSWERS[python != 0, rust != 0]

    def test_the_page_says_of_every_column_what_both_verifiers_say(self):
        stated, found = table(), {}
        for file, name, words, spoil in edits(self.run_directory):
            found[file, name, words] = self.answers(file, spoil)
        differ = {key: (found.get(key), stated.get(key)) for key in found.keys() | stated.keys()
                  if found.get(key) != stated.get(key)}
        self.assertEqual(differ, {}, f"(what both say, what the page says): {differ}")


if __name__ == "__main__":
    unittest.main()
