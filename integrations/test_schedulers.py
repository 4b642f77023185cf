"""Do shards under every scheduler become the run that one process would have made, also when one of them is killed?

    python3 -m unittest discover -s integrations -v

Runs are of a simulated device, by the `rigel` that the variable RIGEL names, else the one under target/. Where that,
GNU parallel, ReFrame or shellcheck is missing, the tests that need it are skipped and say so.
"""

import csv
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PARALLEL = os.path.join(HERE, "gnu-parallel", "shards.sh")
SHARD, MERGE = (os.path.join(HERE, "slurm", name) for name in ("shard.sbatch", "merge.sbatch"))
CHECK = os.path.join(HERE, "reframe", "rigel_run.py")
SMALL = ["--device", "sim:plain", "--filter", "matmul2d f16", "--axis", "shape=32,48", "--axis", "types-shape=8"]
SHARDS = 8

# Kills the first run of shard 3 with a signal that nothing can catch, once a cell has its row.
KILLER = """#!/usr/bin/env bash
set -u
if [[ "$*" == *slice:3/* && ! -e "$KILLED" ]]; then
  touch "$KILLED"
  "$REAL" "$@" & pid=$!
  while kill -0 $pid 2>/dev/null && [[ $(wc -l 2>/dev/null <"$LOOKED_AT") -lt 2 ]]; do sleep 0.002; done
  kill -9 $pid
  wait $pid
  exit $?
fi
exec "$REAL" "$@"
"""
# Stands in for the scheduler: writes down what it was asked.
SCONTROL = """#!/usr/bin/env bash
echo "$*" >>"$ASKED"
"""


def rigel():
    """The path of the binary; None where there is none."""
    target = os.path.join(os.path.dirname(HERE), "target")
    built = [os.path.join(target, profile, "rigel") for profile in ("release", "debug")]
    places = [os.environ.get("RIGEL", ""), *built]
    return next((os.path.abspath(place) for place in places if os.path.isfile(place)), None)


def missing(tool):
    """Skips what needs a tool that is not installed."""
    return unittest.skipUnless(shutil.which(tool), f"skipped: no {tool} on the search path")


def cells(run):
    """The cell rows of a run without the run's name, sorted."""
    with open(os.path.join(run, "cells.csv"), newline="") as file:
        return sorted([value for name, value in row.items() if name != "run"] for row in csv.DictReader(file))


def text(run, name):
    with open(os.path.join(run, name)) as file:
        return file.read()


class Scripts(unittest.TestCase):
    def test_the_shell_reads_them(self):
        for script in (PARALLEL, SHARD, MERGE):
            subprocess.run(["bash", "-n", script], check=True)

    @missing("shellcheck")
    def test_shellcheck_has_nothing_to_say(self):
        done = subprocess.run(["shellcheck", PARALLEL, SHARD, MERGE], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


@unittest.skipUnless(rigel(), "skipped: no rigel binary; build one or name it in RIGEL")
class Schedulers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.whole = os.path.join(cls.folder.name, "whole")
        subprocess.run([rigel(), "run", *SMALL, "--out", cls.whole], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.here = tempfile.mkdtemp(dir=self.folder.name)
        self.killed, self.asked = (os.path.join(self.here, name) for name in ("killed", "asked"))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("RIGEL_")}
        path = os.path.join(self.here, "bin")
        self.environment.update(RIGEL=rigel(), REAL=rigel(), KILLED=self.killed, ASKED=self.asked,
                                PATH=path + os.pathsep + os.environ["PATH"])
        self.killer = self.program("killer", KILLER)
        self.program("scontrol", SCONTROL)

    def program(self, name, source):
        os.makedirs(os.path.join(self.here, "bin"), exist_ok=True)
        path = os.path.join(self.here, "bin", name)
        with open(path, "w") as file:
            file.write(source)
        os.chmod(path, 0o755)
        return path

    def run_here(self, *words, **environment):
        environment = {**self.environment, **environment}
        return subprocess.run(words, cwd=self.here, env=environment, capture_output=True, text=True)

    def same_as_the_whole(self, run):
        self.assertEqual(cells(self.whole), cells(run))
        self.assertEqual(text(self.whole, "facts.csv"), text(run, "facts.csv"))
        self.assertEqual(self.run_here(rigel(), "verify", run).returncode, 0)
        self.assertTrue(os.path.exists(os.path.join(run, "report.html")))

    @missing("parallel")
    def test_gnu_parallel_runs_again_only_what_was_killed(self):
        command = [PARALLEL, str(SHARDS), "run", *SMALL]
        first = self.run_here(*command, RIGEL=self.killer, LOOKED_AT="run.shards/3/cells.csv", RETRIES="1", JOBS="2")
        self.assertEqual(first.returncode, 5, first.stderr)
        self.assertIn("give the same command again", first.stderr)
        self.assertTrue(os.path.exists(self.killed))
        self.assertFalse(os.path.exists(os.path.join(self.here, "run")))
        log = os.path.join(self.here, "run.shards", "joblog")
        self.assertEqual([row["Seq"] for row in self.jobs(log) if row["Exitval"] != "0"], ["3"])
        second = self.run_here(*command, RIGEL=self.killer, JOBS="2")
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual(len(self.jobs(log)), SHARDS + 1, "one try of each shard, and one more of the killed one")
        self.same_as_the_whole(os.path.join(self.here, "run"))

    @staticmethod
    def jobs(log):
        with open(log, newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    @missing("parallel")
    def test_gnu_parallel_starts_nothing_for_what_cannot_run(self):
        done = self.run_here(PARALLEL, "2", "run", "--device", "sim:nowhere")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(glob.glob(os.path.join(self.here, "run*")), [])
        self.assertEqual(self.run_here(PARALLEL, "none", "run", *SMALL).returncode, 2)

    def task(self, shard, *words, **environment):
        """An array task as Slurm would start it."""
        slurm = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": str(shard), "SLURM_ARRAY_TASK_COUNT": str(SHARDS)}
        return self.run_here("bash", SHARD, *(words or SMALL), **{**slurm, **environment})

    def test_slurm_tasks_become_one_run(self):
        for shard in range(1, SHARDS + 1):
            if shard == 3:
                done = self.task(shard, RIGEL=self.killer, LOOKED_AT="shards/3/cells.csv")
                self.assertEqual(done.returncode, 137, done.stderr)
                early = self.run_here("bash", MERGE, str(SHARDS), "run")
                self.assertEqual(early.returncode, 5)
                self.assertIn("shard 3 of 8 is not finished", early.stderr)
            done = self.task(shard)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(self.asked), "nothing had to be requeued")
        done = self.run_here("bash", MERGE, str(SHARDS), "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.same_as_the_whole(os.path.join(self.here, "run"))

    def test_slurm_tasks_are_requeued_only_where_that_may_help(self):
        for code, again in ((5, True), (75, True), (130, True), (1, False), (2, False), (3, False), (4, False)):
            with self.subTest(code=code):
                ends = self.program("ends", f"#!/usr/bin/env bash\nexit {code}\n")
                self.assertEqual(self.task(2, RIGEL=ends).returncode, code)
                self.assertEqual(os.path.exists(self.asked), again)
                if again:
                    with open(self.asked) as file:
                        self.assertEqual(file.read(), "requeue 7_2\n")
                    os.remove(self.asked)
                    self.assertEqual(self.task(2, RIGEL=ends, SLURM_RESTART_COUNT="3").returncode, code)
                    self.assertFalse(os.path.exists(self.asked), "no fourth time")

    def test_slurm_indices_are_shards(self):
        for shard in (0, SHARDS + 1):
            done = self.task(shard)
            self.assertEqual((done.returncode, os.path.exists(os.path.join(self.here, "shards"))), (2, False))
        done = self.task(5, "--dry-run", *SMALL, SLURM_ARRAY_TASK_COUNT="1", SHARDS="8")
        self.assertEqual(done.returncode, 0, done.stderr)

    def reframe(self, *settings):
        words = [word for setting in settings for word in ("-S", f"RigelRun.{setting}")]
        options = ",".join(["--filter", "matmul2d f16", "--axis", "shape=32", "--axis", "types-shape=8"])
        done = self.run_here("reframe", "--nocolor", "-c", CHECK, "-r", "--prefix", self.here,
                             "-S", f"RigelRun.rigel={rigel()}", "-S", f"RigelRun.options={options}", *words, HOME=self.here)
        return done.returncode, done.stdout

    @missing("reframe")
    def test_reframe_keeps_a_verified_run_and_holds_the_next_one_to_it(self):
        code, said = self.reframe("device=sim:plain")
        self.assertEqual(code, 0, said)
        name = "matmul2d_f16_f16_f32_32x32x32_near_normal_warm"
        self.assertIn(name, re.findall(r"P: (\w+):", said))
        kept, = glob.glob(os.path.join(self.here, "output", "**", "run"), recursive=True)
        self.assertEqual(self.run_here(rigel(), "verify", kept).returncode, 0)
        baseline = shutil.copytree(kept, os.path.join(self.here, "baseline"))
        code, said = self.reframe("device=sim:plain", f"baseline={baseline}")
        self.assertEqual(code, 0, said)
        self.assertIn("l:-0.05", said)
        self.edit_facts(baseline, "value", lambda rate: str(1.2 * float(rate)))
        code, said = self.reframe("device=sim:plain", f"baseline={baseline}")
        self.assertEqual(code, 1, said)
        self.assertIn("Failing phase: performance", said)
        self.edit_facts(baseline, "path", lambda path: "vanished")
        code, said = self.reframe("device=sim:plain", f"baseline={baseline}")
        self.assertEqual(code, 1, said)
        self.assertIn("rates of the baseline are missing: vanished_f16", said)

    @staticmethod
    def edit_facts(run, name, change):
        """Changes a column of the rates of a run."""
        path = os.path.join(run, "facts.csv")
        with open(path, newline="") as file:
            facts = list(csv.reader(file))
        column = {name: at for at, name in enumerate(facts[0])}
        for fact in facts[1:]:
            if fact[column["name"]] == "rate":
                fact[column[name]] = change(fact[column[name]])
        with open(path, "w", newline="") as file:
            csv.writer(file).writerows(facts)

    @missing("reframe")
    def test_reframe_fails_on_wrong_products_and_on_runs_that_end_badly(self):
        code, said = self.reframe("device=sim:plain", "fail_on=right")
        self.assertEqual(code, 1, said)
        self.assertIn("`rigel run` ended with 1", said)
        code, said = self.reframe("device=sim:nowhere")
        self.assertEqual(code, 1, said)
        self.assertIn("`rigel run` ended with 3", said)


if __name__ == "__main__":
    unittest.main()
