"""Do both verifiers accept what a run wrote, and refuse every way to spoil it?

    python3 -m unittest discover integrations/python

The runs are made by `rigel` on simulated devices: the binary that RIGEL names, else target/release or target/debug.
Without one those tests are skipped, and say so.
"""

import contextlib
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import verify
from corruptions import FORGED, FORGED_RECORDS, SPOILED, edit_cell, reseal, timed

ROOT = os.path.dirname(os.path.dirname(HERE))
# The small one is spoiled. The others show what a run can hold: inherited gates, operands that were cut, refusals.
RUNS = {
    "small": ["--device", "sim:plain", "--filter", "matmul2d f16", "--axis", "shape=32", "--axis", "types-shape=8"],
    "plain": ["--device", "sim:plain", "--filter", "matmul2d", "--axis", "shape=32", "--axis", "types-shape=8"],
    "liar": ["--device", "sim:liar", "--axis", "shape=32", "--axis", "types-shape=8",
             "--axis", "recipe=near-normal,zeros"],
    "units": ["--preset", "units", "--device", "sim:" + os.path.join(ROOT, "tests", "units.toml"), "--filter", "well",
              "--axis", "validation=6000"],
}


def rigel():
    """The path of the binary; None where there is none."""
    places = [os.path.join(ROOT, "target", profile, "rigel" + ext) for profile in ("release", "debug")
              for ext in ("", ".exe")]
    return next((p for p in [os.environ.get("RIGEL", ""), *places] if os.path.isfile(p)), None)


def python_says(directory):
    """(exit code, what was printed)."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = verify.main([directory])
    return code, out.getvalue()


def rust_says(directory):
    done = subprocess.run([rigel(), "verify", directory], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@unittest.skipUnless(rigel(), "skipped: no rigel binary; build one or name it in RIGEL")
class BothVerifiers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name, words in RUNS.items():
            command = [rigel(), "run", *words, "--out", os.path.join(cls.folder.name, name)]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_named(self, name):
        return os.path.join(self.folder.name, name)

    def spoiled(self, spoil):
        """A copy of the small run that was spoiled."""
        directory = tempfile.mkdtemp(dir=self.folder.name)
        shutil.copytree(self.run_named("small"), directory, dirs_exist_ok=True)
        spoil(directory)
        return directory

    def test_both_accept_what_was_written(self):
        for name in RUNS:
            for says in (python_says, rust_says):
                code, text = says(self.run_named(name))
                self.assertEqual(code, 0, text)

    def test_both_accept_a_run_that_was_sealed_again_unchanged(self):
        directory = self.spoiled(lambda d: reseal(d, [edit_cell(d, timed)]))
        for says in (python_says, rust_says):
            code, text = says(directory)
            self.assertEqual(code, 0, text)

    def test_both_refuse_what_was_spoiled(self):
        for name, file, spoil in SPOILED:
            with self.subTest(name):
                directory = self.spoiled(spoil)
                for says in (python_says, rust_says):
                    code, text = says(directory)
                    self.assertIn(code, (1, 2), f"{says.__name__}: {text}")
                    self.assertIn(file, text, says.__name__)
                shutil.rmtree(directory)

    def test_both_refuse_what_was_forged(self):
        for name, check, spoil in FORGED:
            with self.subTest(name):
                directory = self.spoiled(spoil)
                code, text = python_says(directory)
                self.assertEqual(code, 1, text)
                words = [line.split()[1:4:2] for line in text.splitlines() if len(line.split()) == 4]
                self.assertIn([check, "no"], words, text)
                code, text = rust_says(directory)
                self.assertEqual(code, 1, text)
                shutil.rmtree(directory)

    def test_both_refuse_a_forged_record_of_a_unit(self):
        for name, spoil in FORGED_RECORDS:
            with self.subTest(name):
                directory = tempfile.mkdtemp(dir=self.folder.name)
                shutil.copytree(self.run_named("units"), directory, dirs_exist_ok=True)
                spoil(directory)
                for says in (python_says, rust_says):
                    code, text = says(directory)
                    self.assertEqual(code, 1, f"{says.__name__}: {text}")
                    self.assertTrue(any(folder in text for folder in ("models/", "layouts/", "conversions/")), text)
                shutil.rmtree(directory)

    def test_both_refuse_any_changed_byte(self):
        draw = random.Random(20)
        for _ in range(40):
            file, change = draw.choice(sorted(os.listdir(self.run_named("small")))), draw.randrange(1, 256)
            if file in ("report.html", ".lock"):
                continue

            def spoil(directory):
                with open(os.path.join(directory, file), "r+b") as opened:
                    at = draw.randrange(os.path.getsize(opened.name))
                    opened.seek(at)
                    old = opened.read(1)[0]
                    opened.seek(at)
                    opened.write(bytes([old ^ change]))

            directory = self.spoiled(spoil)
            for says in (python_says, rust_says):
                code, text = says(directory)
                self.assertIn(code, (1, 2), f"{says.__name__} of {file}: {text}")
            shutil.rmtree(directory)

    def test_both_refuse_what_is_no_run(self):
        empty = tempfile.mkdtemp(dir=self.folder.name)
        for directory in (empty, os.path.join(empty, "nothing")):
            self.assertEqual(python_says(directory)[0], 2)
            self.assertIn(rust_says(directory)[0], (1, 2))


@unittest.skipUnless(rigel(), "skipped: no rigel binary; build one or name it in RIGEL")
class CommittedRuns(unittest.TestCase):
    def test_both_accept_every_committed_run(self):
        found = [folder for folder, _, files in os.walk(os.path.join(ROOT, "data")) if "MANIFEST" in files]
        if not found:
            self.skipTest("skipped: data/ holds no run")
        for directory in found:
            for says in (python_says, rust_says):
                with self.subTest(f"{says.__name__} {directory}"):
                    code, text = says(directory)
                    self.assertEqual(code, 0, text)


if __name__ == "__main__":
    unittest.main()
