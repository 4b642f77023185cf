"""Does the verifier believe neither outcomes that were not inherited nor sums that the gate cannot have seen?

    python3 -m unittest discover integrations/python

What a cell of zeros may state follows from its own witness and its random siblings; that sums of a sampled check stayed
unexplained is known to the gate alone, so it is believed only where it can be and only where it makes things worse.
"""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import gates
import test_verify
from corruptions import column, edit_cell, edit_group, exponent_bit, reseal
from test_verify import rigel

SUMS = "sums: 9 rows and 0 columns exceed their bound; no element that explains it was found in them"
TRIPLE = ("f32", "f32", "f32", "f32")


class Row:
    """The columns of a cell row that a judgement reads."""

    def __init__(self, outcome, reason="", visible=None):
        self.outcome, self.reason, self.gate_visible = outcome, reason, visible


def look(error, fault=None):
    """What a witness says whose worst element has this error."""
    made = gates.Look.__new__(gates.Look)
    made.formats, made.tolerance = TRIPLE, gates.Tolerance(TRIPLE, 64, "near-normal")
    made.fault, made.operands, made.error, made.ulps = fault, None, error, 0.0
    return made


class Activated(unittest.TestCase):
    def test_values_are_those_of_tables_and_stay_right_where_they_are_tiny(self):
        # Abramowitz and Stegun, table 26.1: the normal distribution at 1, at -1 and at -10.
        for x, value in ((1.0, 0.841344746068543), (-1.0, -0.158655253931457), (-10.0, -7.61985302416053e-23)):
            self.assertAlmostEqual(gates.activated("erf", x) / value, 1.0, places=12)
        for name in ("tanh", "erf"):
            self.assertEqual([gates.activated(name, x) for x in (0.0, 1e4, -1e300)], [0.0, 1e4, 0.0])

    def test_sums_become_exactly_the_double_and_keep_their_magnitude(self):
        for total, exponent in ((12, -3), (-7, 0), (1, -60), (0, -5)):
            sums, magnitude, common = gates.after("tanh", (total, 40, exponent))
            self.assertEqual(sums * 2.0 ** common, gates.activated("tanh", total * 2.0 ** exponent))
            self.assertEqual(magnitude * 2.0 ** common, 40 * 2.0 ** exponent)

    def test_a_bound_behind_an_activation_counts_the_bias_and_is_never_exact(self):
        plain, behind = (gates.Tolerance(TRIPLE, 64, "small-integers", name) for name in ("", "tanh"))
        self.assertTrue(plain.exact)
        self.assertFalse(behind.exact)
        self.assertGreater(behind.relative, 65 * 1.13 * 2.0 ** -24)


class Inherited(unittest.TestCase):
    def test_the_worse_of_its_own_and_its_siblings_stands(self):
        for (i, mine), (j, theirs) in itertools.product(enumerate(gates.BADNESS), repeat=2):
            own = [(mine, "mine" if i else "")]
            found = gates.inherited(own, [(theirs, "theirs" if j else "", "near-normal")])
            words = "" if i == j == 0 else "mine" if i >= j else "as its random sibling near-normal: theirs"
            self.assertEqual(found, [(gates.BADNESS[max(i, j)], words)])

    def test_nobody_to_inherit_from_is_mistrusted_or_worse(self):
        for i, mine in enumerate(gates.BADNESS):
            (outcome, _), = gates.inherited([(mine, "mine")], [])
            self.assertEqual(outcome, gates.BADNESS[max(i, gates.BADNESS.index("mistrusted"))])

    def test_what_is_no_outcome_is_no_cover(self):
        (outcome, reason), = gates.inherited([("right", "")], [("splendid", "so they say", "uniform")])
        self.assertEqual((outcome, reason), ("splendid", "as its random sibling uniform: so they say"))
        self.assertFalse(gates.agrees("right", "", (outcome, reason)))


class Sums(unittest.TestCase):
    def test_they_are_believed_of_a_sampled_check_only(self):
        inside = look(1e-9)
        self.assertEqual(inside.judgements(Row("mistrusted", SUMS, 1e-6), 1e-2), [("mistrusted", SUMS)])
        self.assertEqual(inside.judgements(Row("mistrusted", SUMS), 1e-2), [("right", "")])
        for outcome in ("right", "imprecise", "wrong"):
            self.assertEqual(inside.judgements(Row(outcome, SUMS, 1e-6), 1e-2), [("right", "")], outcome)

    def test_they_hide_nothing_worse(self):
        row = Row("mistrusted", SUMS, 1e-6)
        for error, outcome in ((2e-3, "mistrusted"), (0.5, "wrong")):
            self.assertEqual({found for found, _ in look(error).judgements(row, 1e-2)}, {outcome})
        self.assertEqual({found for found, _ in look(2e-3).judgements(Row("mistrusted", SUMS), 1e-2)}, {"imprecise"})
        unwritten = look(None, "element (0, 0) was not written")
        self.assertEqual({found for found, _ in unwritten.judgements(row, 1e-2)}, {"wrong"})


def of(recipe, gate, outcome, reason="", **more):
    wanted = {"recipe": recipe, "gate": gate, "outcome": outcome, **more}
    return lambda fields: (all(fields[column(name)] == value for name, value in wanted.items())
                           and fields[column("reason")].startswith(reason))


ZEROS = of("zeros", "inherited", "right")
CUT_ZEROS = of("zeros", "inherited", "imprecise", "as its random sibling near-normal: operands: ")
RANDOM = of("near-normal", "full", "right")
# A cell of the ladder has no siblings, so nobody inherits what is changed about it.
LONE = of("near-normal", "full", "right", work="rung")
CUT = "as its random sibling near-normal: operands: cut to tf32 before the product; error 6.01e-4 before timing"


def far_off(directory):
    """One zero that is none, sealed as if it always had been there."""
    cell = edit_cell(directory, lambda f: ZEROS(f) and f[column("triple")].endswith("f32"))
    edit_group(directory, "witness.csv", cell, exponent_bit)
    reseal(directory, [cell])


def changed(wanted, **columns):
    return lambda directory: (edit_cell(directory, wanted, **columns), reseal(directory))


# (name, change of a run that inherits): the check of gates says no.
CASES = [
    ("right, although its sibling's operands were cut", changed(CUT_ZEROS, outcome="right", reason="")),
    ("imprecise, although its sibling is right", changed(ZEROS, outcome="imprecise", reason=CUT)),
    ("wrong, and no sibling is", changed(
        ZEROS, outcome="wrong",
        reason="as its random sibling near-normal: element (0, 0) is not finite before timing")),
    ("another reason than its sibling's", changed(CUT_ZEROS, reason=lambda said: said.replace("tf32", "bf16"))),
    ("a sibling of another recipe", changed(CUT_ZEROS, reason=lambda said: said.replace("near-normal", "uniform"))),
    ("zeros that are none", far_off),
    ("zeros that inherit nothing", changed(ZEROS, gate="full")),
    ("random elements that inherit", changed(RANDOM, gate="inherited")),
    ("sums of a sampled check, of a product that the plan has checked whole", changed(
        LONE, gate="sampled", gate_visible="1e-6", outcome="mistrusted", reason=SUMS)),
    ("sums of a full check", changed(LONE, outcome="mistrusted", reason=SUMS)),
    ("sums, and right", changed(LONE, gate="sampled", gate_visible="1e-6", reason=SUMS)),
    ("another word than sums", changed(
        LONE, gate="sampled", gate_visible="1e-6", outcome="mistrusted", reason=SUMS.replace("sums", "rows"))),
]


@unittest.skipUnless(rigel(), "skipped: no rigel binary; build one or name it in RIGEL")
class BothVerifiers(unittest.TestCase):
    def test_both_say_the_same_of_what_was_inherited_and_summed(self):
        with tempfile.TemporaryDirectory() as folder:
            whole = os.path.join(folder, "whole")
            command = [rigel(), "run", *test_verify.RUNS["liar"], "--out", whole]
            subprocess.run(command, capture_output=True, text=True, check=True)
            for at, (name, change) in enumerate(CASES):
                directory = shutil.copytree(whole, os.path.join(folder, str(at)))
                change(directory)
                for says in (test_verify.python_says, test_verify.rust_says):
                    with self.subTest(name, verifier=says.__name__):
                        _, text = says(directory)
                        lines = [line.split() for line in text.splitlines()]
                        words = [line[3] for line in lines if len(line) >= 4 and line[1] == "gates"]
                        self.assertEqual(words[:1], ["no"], text)


if __name__ == "__main__":
    unittest.main()
