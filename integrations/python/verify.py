"""Do the files of a run say what follows from them?

Reads run directories and nothing else, with Python's standard library alone, and shares no code with `rigel verify`.

    python3 verify.py RUN...

Checks, one line each:

    files       every file of MANIFEST is there and no other; digests and numbers of rows are those it states
    provenance  plan.toml has the hash that run.json states; recipes and seed are those that are remade here
    rows        headers, spelling and ranges of cells, facts and power; cell ids are those of their
                axes; keys are unique
    plan        the plan asks for every cell row, which names its block; what is missing is what the facts say
    evidence    the lines of samples.csv and witness.csv behind each cell row have the digest that the row states
    statistics  repetitions, warm-up, median, 95 % interval, autocorrelation, effective n and clock follow from samples
    units       models, maps and conversions of single units give the outputs of their sampled vectors, launches and codes;
                orders of sums the counts of their drawn pairs
    gates       error, ulps, tolerance, outcome and reason follow from witness elements, whose inputs are remade from
                the seed and multiplied exactly

Bootstrap intervals, modes and facts are held to their digests only; `rigel verify` derives them as well. Exit code: 0
when every check says yes, 1 when one says no, 2 when there is nothing that can be read.
"""

import argparse
import itertools
import math
import os
import sys

import cell_statistics as statistics
import gates
import witness_places
from attention import Attention, Tolerance as AttentionTolerance
from blake3 import hash_many
from cell_rows import CELLS, PRODUCTS, WITNESS_LINE, cells_of, key_of, sample_groups, times_of, witness_groups
from check_lines import CHECKS, check_lines
from fact_rows import FACTS, POWER, Facts, Readings
from input_lines import Inputs
from plan_rows import Asked, words
from provenance import RECIPES, is_whole, offers_of, plan_of, record_of
from run_files import Fault, Lines, NotARun, digest_of, fields_of, listing, manifest_of, opened, small, text_of
from unit_records import Records, files_of

BATCH = 1 << 19


class Verification:
    """The checks of one run directory."""

    def __init__(self, directory):
        self.directory = directory
        self.items = dict.fromkeys(CHECKS, None)
        self.failures = {check: [] for check in CHECKS}
        self.manifest, self.plan, self.cells, self.spans = {}, {}, [], {}
        self.of_units, self.unevaluated, self.incomplete, self.short, self.loops = set(), {}, [], None, {}

    def path(self, name):
        return os.path.join(self.directory, *name.split("/"))

    def say(self, check, name, line, what):
        self.failures[check].append(Fault(self.path(name), line, what))

    def run(self):
        """Makes the checks; a fault of one keeps those from being made that rest on it."""
        steps = (("files", self.files), ("provenance", self.provenance), ("rows", self.rows), ("plan", self.asked),
                 ("evidence", self.evidence), ("units", self.units), ("gates", self.gates))
        for check, step in steps:
            try:
                step()
            except Fault as fault:
                self.failures[check].append(fault)
                break
        return not any(self.failures.values())

    def digest(self, name, digest, rows):
        stated = self.manifest.get(name)
        if stated is None:
            return
        if rows is not None and stated[0] != rows:
            self.say("files", name, None, f"{rows} rows, MANIFEST states {stated[0]}: rows were added or are missing")
        elif digest != stated[1]:
            self.say("files", name, None, f"its digest is `{digest}`, MANIFEST states `{stated[1]}`: it was changed")

    def files(self):
        record, foreign, sealed = listing(self.directory)
        if not sealed:
            raise Fault(self.path("MANIFEST"), None, "is missing: the run was never sealed; resume it")
        self.manifest = manifest_of(self.directory)
        self.items["files"] = len(self.manifest)
        for name in sorted(record - set(self.manifest)) + foreign:
            self.say("files", name, None, "is no file of MANIFEST: it was added")
        for name in sorted(set(self.manifest) - record):
            self.say("files", name, None, "is missing")
        self.records = sorted(name for name in record if name == "run.json" or name.startswith("runs/"))
        self.of_units = {name for name in record if "/" in name and not name.startswith("runs/")}
        for name in ["plan.toml", *self.records, *sorted(self.of_units)]:
            if not name.endswith(".csv"):
                small(self.path(name))
            digest, feeds = digest_of(self.path(name))
            self.digest(name, digest, max(0, feeds - 1) if name.endswith(".csv") else None)

    def provenance(self):
        text = text_of(self.path("plan.toml"))
        plan_hash = hash_many([text.encode()])[0]
        self.plan = plan_of(self.path("plan.toml"), text)
        self.items["provenance"], self.origins, self.kinds, self.offers, self.parts = len(self.records), {}, {}, [], []
        for name in self.records:
            record = record_of(self.path(name), name)
            self.origins[record["run"]] = (record["device"]["id"], record["device"]["driver"])
            self.kinds[record["run"]] = record["kind"]
            self.parts.append(record["partition"])
            self.offers += offers_of(self.path(name), record)
            if record["plan_hash"] != plan_hash:
                what = f"its hash is `{plan_hash}`, {name} states `{record['plan_hash']}`: the plan is another one"
                raise Fault(self.path("plan.toml"), None, what)
            if record["recipe_hash"] != RECIPES:
                what = f"recipe_hash is `{record['recipe_hash']}`; rigel_inputs.py follows recipes of `{RECIPES}`"
                self.say("provenance", name, None, what)
            if record["plan"] != self.plan["name"]:
                what = f"plan is `{record['plan'][:100]}`; plan.toml has the name `{self.plan['name']}`"
                self.say("provenance", name, None, what)
            if record["seed"] != self.plan["seed"]:
                self.say("provenance", name, None, f"seed is {record['seed']}; the plan has {self.plan['seed']}")
        if "run.json" in self.records and len(self.records) > 1:
            raise Fault(self.path("run.json"), None, "stands beside runs/: a merged run has no run.json")

    def rows(self):
        lines = Lines(self.path("cells.csv"), CELLS)
        self.cells = cells_of(lines.path, lines, self.origins)
        self.digest("cells.csv", lines.digest(), lines.rows)
        self.items["rows"] = lines.rows
        for name, header, kind in (("facts.csv", FACTS, Facts), ("power.csv", POWER, Readings)):
            lines, look = Lines(self.path(name), header), kind(self.cells, is_whole(self.parts))
            for line, text in lines:
                fields = fields_of(lines.path, line, text, header.count(",") + 1)
                look.take(lines.path, line, fields)
                if name == "facts.csv" and fields[6] == "incomplete.rows":
                    self.incomplete.append((fields[7], fields[11]))
            self.digest(name, lines.digest(), lines.rows)
            self.items["rows"] += lines.rows

    def asked(self):
        asked = Asked(self.plan, self.offers)
        self.items["plan"] = len(self.cells)
        strangers = [(cell, what) for cell in self.cells if (what := asked.stranger(cell))]
        for cell, what in sorted(strangers + asked.repeated(self.cells), key=lambda fault: fault[0].line):
            self.say("plan", "cells.csv", cell.line, what)
        rows, missing = asked.short(self.cells)
        devices = {(cell.device, cell.driver) for cell in self.cells}
        derived = [(str(sum(missing.values())), words(rows, missing))] if missing and len(devices) < 2 else []
        if self.incomplete != derived:
            stated = "; ".join(said for _, said in self.incomplete) or "nothing"
            what = f"incomplete.rows states: {stated}; derived: {words(rows, missing) if missing else 'nothing is missing'}"
            self.say("plan", "facts.csv", None, what)
        self.short = words(rows, missing) if missing else None

    def evidence(self):
        places = {key_of(cell): place for place, cell in enumerate(self.cells)}
        sample_lines, samples = sample_groups(self.path("samples.csv"), places)
        witness_lines, witness = witness_groups(self.path("witness.csv"), places)
        self.items["evidence"] = self.items["statistics"] = len(self.cells)
        sample_group, witness_group = next(samples, None), next(witness, None)
        waiting, size = [], 0
        for cell in self.cells:
            key, text, times, clocks = key_of(cell), b"", [], []
            if sample_group and sample_group.key == key:
                text, (times, clocks) = bytes(sample_group.text), times_of(sample_group)
                sample_group = next(samples, None)
            if witness_group and witness_group.key == key:
                text += witness_group.text
                self.spans[key] = (witness_group.offset, len(witness_group.text))
                witness_group = next(witness, None)
            for name in files_of(cell):
                if name in self.of_units:
                    text += text_of(self.path(name)).encode()
            self.statistics(cell, times, clocks)
            waiting.append((cell, text))
            size += len(text)
            if size > BATCH:
                self.hold(waiting)
                waiting, size = [], 0
        self.hold(waiting)
        for lines in (sample_lines, witness_lines):
            self.digest(os.path.basename(lines.path), lines.digest(), lines.rows)

    def hold(self, waiting):
        for (cell, _), found in zip(waiting, hash_many([text for _, text in waiting])):
            if found != cell.evidence:
                behind = ", ".join(files_of(cell)) or "its lines of samples.csv and witness.csv"
                what = f"evidence is `{cell.evidence}`; {behind} have `{found}`"
                self.say("evidence", "cells.csv", cell.line, what)

    def statistics(self, cell, times, clocks):
        derived = dict.fromkeys(("repetitions", "warmup", "median_ns", "ci_low_ns", "ci_high_ns", "effective_n",
                                 "clock_mhz"))
        timed = cell.repetitions is not None
        derived["operations"] = None
        if timed and cell.work == "ceiling":
            # A loop does the same operations in every process.
            derived["operations"] = self.loops.setdefault(cell.cell, cell.operations)
        if timed and cell.work in PRODUCTS and cell.extents:
            m, n, k = cell.extents
            # An attention is two products.
            derived["operations"] = (4 if cell.work.endswith("-attention") else 2) * m * n * k
        if times:
            leading = statistics.warmup(times)
            settled = times[leading:]
            ordered = sorted(settled)
            derived.update(repetitions=len(times), warmup=leading, median_ns=statistics.median(ordered))
            derived["ci_low_ns"], derived["ci_high_ns"] = statistics.interval(ordered)
            if not statistics.autocorrelation_fits(settled, cell.autocorrelation):
                what = f"autocorrelation is `{cell.autocorrelation}`, which is not that of its samples"
                self.say("statistics", "cells.csv", cell.line, what)
            elif cell.autocorrelation is not None:
                derived["effective_n"] = statistics.effective_n(len(settled), cell.autocorrelation)
            derived["clock_mhz"] = statistics.median_clock(clocks[leading:])
            derived["stop"] = statistics.stop(self.plan, times, cell.stop)
        else:
            derived.update(stop="", modes="", autocorrelation=None, bootstrap_low_ns=None, bootstrap_high_ns=None)
        self.differ("statistics", cell, derived)

    def differ(self, check, cell, derived):
        columns = [(column, getattr(cell, column), value) for column, value in derived.items()]
        wrong = [f"{column} is `{'' if stated is None else stated}`, derived is `{'' if value is None else value}`"
                 for column, stated, value in columns if stated != value]
        if wrong:
            self.say(check, "cells.csv", cell.line, "; ".join(wrong))

    def units(self):
        records = Records(self.path, self.kinds)
        strangers = self.of_units.difference(*(files_of(cell) for cell in self.cells))
        for name in sorted(strangers):
            self.say("files", name, None, "belongs to no row of cells.csv")
        for cell in self.cells:
            records.check(cell)
        self.items["units"] = records.items
        for name, what in records.flaws:
            self.say("units", name, None, what)
        self.unevaluated = records.unevaluated

    def gates(self):
        self.items["gates"] = len(self.cells)
        siblings = {}
        for cell in self.cells:
            if cell.gate in ("full", "sampled") and cell.recipe not in ("", *gates.ALIKE):
                siblings.setdefault(block_of(cell), []).append((cell.outcome, cell.reason, cell.recipe))
        # Cells with the same operands stand side by side, so that these are made once.
        ordered = sorted(self.cells, key=lambda cell: (cell.recipe, cell.seed, cell.triple, cell.shape,
                                                             gates.activation(cell.work), cell.line))
        with opened(self.path("witness.csv")) as file:
            for (recipe, seed), some in itertools.groupby(ordered, lambda cell: (cell.recipe, cell.seed)):
                inputs = Inputs(recipe, seed), Attention(recipe, seed)
                for _, alike in itertools.groupby(some, lambda cell: (cell.triple, cell.shape, gates.activation(cell.work))):
                    dots = {}
                    for cell in alike:
                        self.gate(cell, file, inputs, dots, siblings.get(block_of(cell), []))
        self.failures["gates"].sort(key=lambda fault: fault.line)

    def gate(self, cell, file, inputs, dots, siblings):
        columns = dict.fromkeys(("gate_error", "gate_ulps", "gate_tolerance"))
        judged = cell.outcome in ("right", "imprecise", "wrong", "mistrusted")
        if cell.gate in ("", "accumulators"):
            self.differ("gates", cell, {**columns, "gate_visible": None})
            if cell.gate == "" and judged:
                self.say("gates", "cells.csv", cell.line, f"outcome is `{cell.outcome}` without a gate")
            if cell.outcome in ("exact", "inexact") and cell.work not in ("unit", "conversion", "product"):
                self.say("gates", "cells.csv", cell.line, f"outcome is `{cell.outcome}`, which only a unit has")
            fine = ((cell.outcome, cell.reason) == ("right", "")
                    or cell.outcome == "wrong" and cell.reason.startswith("accumulators: "))
            if cell.gate == "accumulators" and not fine:
                what = f"outcome `{cell.outcome}` with reason `{cell.reason[:200]}` is none of accumulators"
                self.say("gates", "cells.csv", cell.line, what)
            return
        if not cell.extents or not cell.recipe:
            self.say("gates", "cells.csv", cell.line, "a product needs a shape and a recipe")
            return
        (m, n, k), offset_size = cell.extents, self.spans.get(key_of(cell), (0, 0))
        file.seek(offset_size[0])
        rows = map(WITNESS_LINE.fullmatch, file.read(offset_size[1]).splitlines(keepends=True))
        witness = [(int(row[2]), int(row[3]), row[4].decode()) for row in rows]
        whole = m * n * k <= self.plan["thresholds.full_check"]
        if cell.work.endswith("-attention") and m % k:
            self.say("gates", "cells.csv", cell.line, f"{m} queries are no whole number of heads of {k} keys")
            return
        why = gates.unusable(cell.formats, cell.recipe, m, n, witness) or witness_places.fault(cell, witness, whole)
        if why:
            self.say("gates", "cells.csv", cell.line, why)
            return
        activation, (inputs, attention) = gates.activation(cell.work), inputs
        if activation == "attention":
            tolerance = AttentionTolerance(cell.formats, cell.extents, cell.recipe)
            attention.fill(dots, witness, cell.formats, cell.extents, tolerance)
        else:
            tolerance = gates.Tolerance(cell.formats, k, cell.recipe, activation)
        look = gates.Look(inputs, cell.formats, k, tolerance, witness, dots, activation)
        bound = tolerance.relative if math.isfinite(tolerance.relative) else None
        columns.update(gate_error=look.error, gate_ulps=look.ulps, gate_tolerance=bound)
        if whole:
            columns["gate_visible"] = None
        if cell.gate != "inherited":
            columns["gate"] = "full" if whole else "sampled"
        self.differ("gates", cell, columns)
        if whole and not look.fault and witness_places.stray(cell, look.errors):
            what = "its witness holds an element that neither the seed prescribes nor is the worst"
            self.say("gates", "cells.csv", cell.line, what)
        if cell.work == "version":
            effect, output = gates.effect_of(cell.reason), gates.digest_of(witness)
            if effect is None or effect[1] != output:
                stated = "no effect and no digest of the output" if effect is None else f"the output's digest `{effect[1]}`"
                self.say("gates", "cells.csv", cell.line, f"reason has {stated}; its witness gives `{output}`")
                return
            cell = cell._replace(reason=effect[0])
        cap, inherits = self.plan["thresholds.coarse_cap"], cell.gate == "inherited"
        allowed = look.judgements(cell, cap)
        if cell.recipe in gates.ALIKE:
            own = look.judgements(cell, cap, planted=False)
            kept = allowed if not inherits and cell.outcome == "mistrusted" else []
            allowed = gates.inherited(own, siblings if inherits else []) + kept
        elif inherits:
            what = "a cell that is neither of zeros nor of constants inherits nothing"
            self.say("gates", "cells.csv", cell.line, what)
            return
        if not any(gates.agrees(cell.outcome, cell.reason, judgement) for judgement in allowed):
            stated = f"outcome is `{cell.outcome}` because `{cell.reason[:200]}`"
            says = " or ".join(f"`{outcome}` because `{reason[:200]}`" for outcome, reason in allowed[:2])
            self.say("gates", "cells.csv", cell.line, f"{stated}; what was found says {says}")


def block_of(cell):
    return cell.block, cell.process, cell.path, cell.triple, cell.shape


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run directory")
    code = 0
    for directory in parser.parse_args(arguments).runs:
        verification = Verification(directory)
        try:
            passed = verification.run()
        except (NotARun, OSError) as error:
            print(printable(f"verify: {error}"), file=sys.stderr)
            code = 2
            continue
        print("\n".join(map(printable, check_lines(verification))))
        code = max(code, 0 if passed else 1)
    sys.stdout.flush()
    return code


def printable(line):
    """A line without what could disturb a terminal or that no encoding has."""
    return "".join(char if char.isprintable() else f"[U+{ord(char):04X}]" for char in line)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # Whoever read the output has gone; nothing more can be said to them.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        # The output could not be written: what the checks said is not known to whoever asked.
        print(f"verify: {error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
