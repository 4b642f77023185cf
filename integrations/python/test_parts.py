"""Are the parts of the verifier right: digests, numbers, statistics?

    python3 -m unittest discover integrations/python
"""

import bisect
import json
import math
import os
import random
import re
import struct
import sys
import tempfile
import unittest
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import blake3
import cell_statistics
import gates
import number_formats
import provenance
import run_files
from input_lines import Inputs
from rigel_inputs import BLOCKS, FLOATS, INTEGERS, RECIPES, element


class Digests(unittest.TestCase):
    # From the test vectors of the algorithm's authors: the input is 0, 1, ... 250, 0, 1, ...
    KNOWN = {
        0: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        1: "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
        64: "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98",
        65: "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee",
        1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
        1025: "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
        2048: "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a",
        3072: "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2",
        31744: "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47",
        102400: "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
    }

    def test_known_ones(self):
        texts = [bytes(i % 251 for i in range(length)) for length in self.KNOWN]
        self.assertEqual(blake3.hash_many(texts), list(self.KNOWN.values()))

    def test_pieces_are_one_text(self):
        text = bytes(i % 251 for i in range((2 << 20) + 4099))
        for length in (1 << 20, (1 << 20) + 1, 2 << 20, len(text)):
            hasher = blake3.Hasher()
            for at in range(0, length, 100_003):
                hasher.update(text[at:min(length, at + 100_003)])
            self.assertEqual(hasher.hexdigest(), blake3.hash_many([text[:length]])[0])


class Numbers(unittest.TestCase):
    def test_decoding_is_that_of_the_machine(self):
        for name, pack, unpack, bits in (("f16", "<H", "<e", 16), ("f32", "<I", "<f", 32), ("f64", "<Q", "<d", 64)):
            draw = random.Random(name)
            for code in [0, 1, 1 << bits - 1, *(draw.getrandbits(bits) for _ in range(3000))]:
                value, = struct.unpack(unpack, struct.pack(pack, code))
                found = number_formats.decode(name, code)
                if found is None:
                    self.assertFalse(math.isfinite(value))
                else:
                    self.assertEqual(Fraction(found[0]) * Fraction(2) ** found[1], Fraction(value))

    def test_cuts_are_nearest_or_toward_zero(self):
        draw = random.Random(7)
        for name in ("f16", "bf16", "e4m3", "e5m2"):
            values = [number_formats.decode(name, code) for code in range(1 << number_formats.BITS[name])]
            known = sorted({Fraction(s) * Fraction(2) ** e for s, e in filter(None, values)})
            for _ in range(500):
                s, e = draw.getrandbits(24) - (1 << 23), draw.randrange(-40, -5)
                value = Fraction(s) * Fraction(2) ** e
                at = bisect.bisect_left(known, value)
                below = known[max(0, at - 1)] if known[min(at, len(known) - 1)] != value else value
                above = known[min(at, len(known) - 1)]
                down, up = (number_formats.cut((s, e), name, nearest) for nearest in (False, True))
                toward_zero = Fraction(down[0]) * Fraction(2) ** down[1]
                if abs(value) > known[-1]:
                    self.assertEqual(abs(toward_zero), known[-1])
                else:
                    self.assertEqual(toward_zero, below if value > 0 else above)
                if up is None:
                    self.assertGreater(abs(value), known[-1])
                    continue
                nearest = Fraction(up[0]) * Fraction(2) ** up[1]
                self.assertEqual(abs(nearest - value), min(abs(below - value), abs(above - value)))

    def test_lines_hold_the_elements(self):
        for recipe in RECIPES:
            for name in [*FLOATS, *INTEGERS, *BLOCKS]:
                try:
                    element(name, recipe, 5, "A", 0, 0)
                except ValueError:
                    continue
                inputs = Inputs(recipe, 5)
                for operand in "AB":
                    for length in (3, 400, 17):
                        values, e = inputs.line(name, operand, 9, length)
                        for k, value in enumerate(values):
                            place = (9, k) if operand == "A" else (k, 9)
                            s, exponent = number_formats.decode(name, element(name, recipe, 5, operand, *place))
                            self.assertEqual(Fraction(value) * Fraction(2) ** e, Fraction(s) * Fraction(2) ** exponent)

    def test_residuals_are_those_of_exact_fractions(self):
        inputs, draw = Inputs("near-normal", 3), random.Random(3)
        for formats in (("f32",) * 4, ("e4m3", "e4m3", "f16", "f32"), ("f64",) * 4, ("bf16", "bf16", "bf16", "f32"),
                        ("f16", "i8", "f32", "f32"), ("u2", "bf16", "f32", "f32"),
                        ("mxe4m3", "mxe4m3", "f32", "f32"), ("nve2m1", "mxe2m1", "f32", "f32")):
            a, b, c, _ = formats
            for _ in range(20):
                row, column, k = draw.randrange(99), draw.randrange(99), draw.randrange(1, 60)
                terms = [(number_formats.decode(a, element(a, "near-normal", 3, "A", row, i)),
                          number_formats.decode(b, element(b, "near-normal", 3, "B", i, column))) for i in range(k)]
                exact = sum(Fraction(x[0] * y[0]) * Fraction(2) ** (x[1] + y[1]) for x, y in terms)
                code = element(c, "near-normal", draw.randrange(99), "A", 0, 0)
                s, e = number_formats.decode(c, code)
                off = abs(Fraction(s) * Fraction(2) ** e - exact)
                found, ulps = gates.difference(inputs.dot(formats, row, column, k), c, code)
                self.assertEqual(found, float(off))
                unit = math.frexp(exact)[1] - 1 if exact else -9999
                unit = max(unit, number_formats.least_exponent(c)) - number_formats.precision(c) + 1
                self.assertEqual(ulps, float(off / Fraction(2) ** unit))

    def test_numbers_in_reasons(self):
        for value, text in ((6.01e-4, "6.01e-4"), (0.01, "1e-2"), (1.0, "1e0"), (123.0, "1.23e2"), (0.0, "0e0"),
                            (1e22, "1e22"), (5e-324, "5e-324")):
            self.assertEqual(gates.scientific(value), text)


class Statistics(unittest.TestCase):
    def test_ranks_are_the_narrowest_that_hold_95_percent(self):
        def coverage(n, r):
            return 1 - 2 * Fraction(sum(math.comb(n, i) for i in range(r + 1)), 2 ** n)
        for n in range(1, 200):
            r = cell_statistics.rank(n)
            if r is None:
                self.assertLess(coverage(n, 0), Fraction(95, 100))
                continue
            self.assertGreaterEqual(coverage(n, r), Fraction(95, 100))
            self.assertTrue(r + 1 > (n - 1) // 2 or coverage(n, r + 1) < Fraction(95, 100))

    def test_medians(self):
        self.assertEqual(cell_statistics.median([1000, 2000, 9000]), 2.0)
        self.assertEqual(cell_statistics.median([1000, 2001]), 1.5005)

    def test_warm_up(self):
        self.assertEqual(cell_statistics.warmup([9000] * 11), 0)
        self.assertEqual(cell_statistics.warmup([1000] * 40), 0)
        self.assertEqual(cell_statistics.warmup([9000] * 4 + [1000] * 36), 6)
        self.assertEqual(cell_statistics.warmup([9000] * 20 + [1000] * 20), 0)
        self.assertEqual(cell_statistics.warmup([1000, 9000] * 20), 0)


class KindsOfRuns(unittest.TestCase):
    def test_the_table_is_the_ledgers(self):
        with open(os.path.join(ROOT, "crates", "ledger", "src", "verify", "backends.rs"), encoding="utf-8") as file:
            theirs = dict(re.findall(r'\("([a-z-]+)", RunKind::([A-Za-z]+)\)', file.read()))
        self.assertEqual({name: kind.lower() for name, kind in theirs.items()}, provenance.BACKENDS)

    def test_a_run_is_of_the_kind_of_its_backend_and_of_a_known_one(self):
        with open(os.path.join(ROOT, "data", "nvidia-h200", "paper", "run.json"), encoding="utf-8") as file:
            record = json.load(file)

        def refusal(kind, backend, selector):
            with tempfile.TemporaryDirectory() as directory:
                path = os.path.join(directory, "run.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({**record, "kind": kind, "device": {**record["device"], "backend": backend, "selector": selector}}, file)
                try:
                    provenance.record_of(path, "run.json")
                except run_files.Fault as fault:
                    return str(fault)
            return None

        for backend, kind in provenance.BACKENDS.items():
            other = "simulated" if kind == "measured" else "measured"
            self.assertIsNone(refusal(kind, backend, backend))
            self.assertIsNone(refusal(kind, backend, f"{backend}:0"))
            self.assertIn("kind is", refusal(other, backend, backend))
            self.assertIn("device.selector is", refusal(kind, backend, "none:0"))
        for unknown in ("", "gpu", "Sim", "sim:x", None, 3):
            self.assertIn("device.backend is", refusal("measured", unknown, "cpu"))


if __name__ == "__main__":
    unittest.main()
