"""Are the products of this node right, and as fast as they were in an earlier run?

    reframe -c integrations/reframe/rigel_run.py -r -S RigelRun.baseline=/runs/accepted

One test is one run of `rigel`. Sanity: `rigel run --fail-on` and `rigel verify` both end with 0, and the run has rates.
Performance: the rate of every path and type triple at its largest shape, from the facts of the run. Its reference is
the same fact of the baseline, a run directory; without one the rates are recorded and compared with nothing.
"""

import csv
import os
import re
import shlex

import reframe as rfm
import reframe.core.builtins as builtins
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ

RUN = "run"


def rates(directory):
    """Rates in op/s by name, one for every path and type triple: that of the largest shape."""
    with open(os.path.join(directory, "facts.csv"), newline="") as file:
        facts = [fact for fact in csv.DictReader(file) if fact["name"] == "rate" and fact["unit"] == "op/s"]
    largest = {}
    for fact in facts:
        m, n, k = map(int, fact["shape"].split("x"))
        subject = fact["path"], fact["triple"]
        # Shapes of equal size, recipes and cache states have an order too, so that two runs of one plan choose alike.
        order = m * n * k, fact["shape"], fact["recipe"], fact["cache"]
        if subject not in largest or order > largest[subject][0]:
            largest[subject] = order, float(fact["value"])
    # ReFrame wants names of letters, digits and underscores.
    return {re.sub(r"\W+", "_", "_".join((*subject, *order[1:]))): rate for subject, (order, rate) in largest.items()}


@rfm.simple_test
class RigelRun(rfm.RunOnlyRegressionTest):
    """One run on this node, verified; its rates against those of a baseline."""

    #: The binary: a path, or a name on the search path.
    rigel = builtins.variable(str, value="rigel")
    #: What to measure: see `rigel run --help`.
    device = builtins.variable(str, value="cpu")
    preset = builtins.variable(str, value="quick")
    #: Further options of `rigel run`, like --filter or --axis.
    options = builtins.variable(typ.List[str], value=[])
    #: Verdicts and outcomes that fail the test.
    fail_on = builtins.variable(typ.List[str], value=["wrong", "mistrusted", "crashed", "hung"])
    #: A run directory whose rates are the references; empty: no references.
    baseline = builtins.variable(str, value="")
    #: The largest share of a reference rate that may be missing.
    loss = builtins.variable(float, value=0.05)

    descr = "matrix products: right, verified, and as fast as the baseline"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    # Else only what was printed outlives a test that passed.
    keep_files = [RUN]
    # Nothing else may run on the device.
    exclusive_access = True
    time_limit = "2h"

    @builtins.run_before("run")
    def command(self):
        fail_on = [option for word in self.fail_on for option in ("--fail-on", word)]
        options = ["run", "--device", self.device, "--preset", self.preset, "--out", RUN, *fail_on, *self.options]
        self.executable = shlex.quote(self.rigel)
        # They become words of a script, so spaces in them need quotes.
        self.executable_opts = [shlex.quote(option) for option in options]
        # The script goes on after a failure, so each exit code is written down where the sanity check finds it.
        verify = f"{self.executable} verify {RUN}"
        self.postrun_cmds = ['echo "run ended with $?"', verify, 'echo "verify ended with $?"']

    @builtins.sanity_function
    def right_and_verified(self):
        run, verify = (sn.extractsingle(rf"^{step} ended with (\d+)$", self.stdout, 1) for step in ("run", "verify"))
        found = os.path.join(self.stagedir, RUN)
        return sn.all([
            sn.assert_eq(run, "0", msg="`rigel run` ended with {0}: see its standard error and its exit codes"),
            sn.assert_eq(verify, "0", msg="`rigel verify` ended with {0}: see its standard output"),
            sn.assert_gt(sn.len(measured(found)), 0, msg="the run has no rate: nothing was selected or nothing counts"),
            sn.assert_eq(lost(found, self.baseline), "", msg="rates of the baseline are missing: {0}"),
        ])

    @builtins.run_before("performance")
    def rates_and_references(self):
        giga = 1e9
        for name, rate in rates(os.path.join(self.stagedir, RUN)).items():
            self.perf_variables[name] = sn.make_performance_function(sn.defer(rate / giga), "Gop/s")
        references = rates(self.baseline) if self.baseline else {}
        self.reference = {"*": {name: (rate / giga, -self.loss, None, "Gop/s") for name, rate in references.items()}}


# Deferred, so that they read a run only after its exit codes were found to be 0.
@sn.deferrable
def measured(run):
    """The rates of a run."""
    return rates(run)


@sn.deferrable
def lost(run, baseline):
    """Names of rates that the baseline has and the run has not, in words."""
    return ", ".join(sorted(set(rates(baseline)) - set(rates(run)))) if baseline else ""
