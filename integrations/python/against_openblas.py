"""How do the paths of `cpu` and the float64 reference compare with OpenBLAS, alternating in one run?

    cargo build --release -p rigel-device --example gemm_rate
    python3 integrations/python/against_openblas.py target/release/examples/gemm_rate [--rounds 30] [--extent 2048]

Needs numpy on OpenBLAS. Every round runs each contestant once, in an order drawn from --seed, on all cores that this
process may use, with a --pause in between: threads of OpenBLAS and of rayon spin for a while after a call, and would
take the next one's cores. So a slow moment of the machine meets all alike, and the ratios of a round are paired.

Like is compared with like: a product of a path and sgemm write into an output that exists; the reference allocates its
two outputs, and dgemm its one. The reference computes both sums (Σab, Σ|a||b|) in one pass, so each is charged half.

Printed are medians, and the median over rounds of each ratio with its distribution-free interval of at least 95 %
confidence: two order statistics of the ratios. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE, which replace the library's own
tuning, are unset. Ratios above 1 mean that ours is faster.
"""

import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import time

for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(variable, None)

import numpy  # noqa: E402 (the library reads its environment when it is loaded)

# Contestants: name, products in one run, and what is asked of the program; None for numpy's.
OURS = {
    "f32": (1, "product avx512-fma f32,f32->f32"),
    "bf16": (1, "product avx512-bf16 bf16,bf16->f32"),
    "u8·i8": (1, "product avx512-vnni u8,i8->i32"),
    "i8·i8": (1, "product avx512-vnni i8,i8->i32"),
    "reference of f32": (2, "reference f32,f32->f32"),
    "reference of bf16": (2, "reference bf16,bf16->f32"),
}
# Ratios of rates: ours over the other, and the least that is demanded.
RATIOS = [
    ("f32", "sgemm", 0.95),
    ("reference of f32", "dgemm", 0.95),
    ("reference of bf16", "dgemm", 0.95),
    ("bf16", "f32", 1.5),
    ("u8·i8", "f32", 1.5),
    ("i8·i8", "f32", 1.5),
]


class Program:
    """The program that runs our products, one for each line."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, request):
        """Seconds of one run, or the reason why there is none."""
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"{self.process.args[0]} ended at `{request}`")
        return answer if answer.startswith("absent:") else int(answer) * 1e-9

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Numpy:
    """Products of OpenBLAS through numpy."""

    def __init__(self, extent, seed):
        draw = numpy.random.default_rng(seed).standard_normal
        self.doubles = draw((extent, extent)), draw((extent, extent))
        self.singles = [x.astype(numpy.float32) for x in self.doubles]
        self.output = numpy.zeros_like(self.singles[0])

    def sgemm(self):
        start = time.perf_counter()
        numpy.matmul(*self.singles, out=self.output)
        return time.perf_counter() - start

    def dgemm(self):
        start = time.perf_counter()
        product = numpy.matmul(*self.doubles)
        spent = time.perf_counter() - start
        del product
        return spent


def median_interval(values, confidence=0.95):
    """Order statistics that enclose the median with at least this confidence; None where too few are given."""
    values, n = sorted(values), len(values)
    # Both ends at rank r from their side: missed with twice the chance of at most r of n fair coins.
    missed, rank = 0.0, -1
    while missed + 2 * math.comb(n, rank + 1) / 2**n <= 1 - confidence:
        rank += 1
        missed += 2 * math.comb(n, rank) / 2**n
    return (values[rank], values[n - 1 - rank]) if rank >= 0 else None


def blas():
    """Name and version of the library that numpy multiplies with."""
    built = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{built['name']} {built['version']}"


def rates(program, extent, rounds, pause, seed):
    """Products per second by contestant and round, and the reasons of those that are absent."""
    openblas = Numpy(extent, seed)
    runs = {
        name: (products, lambda ask=ask: program.seconds(f"{ask} {extent}")) for name, (products, ask) in OURS.items()
    }
    runs |= {"sgemm": (1, openblas.sgemm), "dgemm": (1, openblas.dgemm)}
    absent, found = {}, {name: [] for name in runs}
    for name, (_, run) in runs.items():
        first = run()
        if isinstance(first, str):
            absent[name] = first
    order = [name for name in runs if name not in absent]
    shuffle = random.Random(seed).shuffle
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            time.sleep(pause)
            products, run = runs[name]
            found[name].append(products / run())
    return found, absent


def main():
    lines = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    lines.add_argument("program", help="the built example gemm_rate")
    lines.add_argument("--rounds", type=int, default=30, help="6 at least, for an interval")
    lines.add_argument("--extent", type=int, default=2048, help="rows and columns of every matrix")
    lines.add_argument("--pause", type=float, default=0.1, help="seconds before each run")
    lines.add_argument("--seed", type=int, default=1, help="of the order and of numpy's inputs")
    asked = lines.parse_args()
    if asked.rounds < 6:
        lines.error("--rounds: the interval needs 6 at least")
    library = blas()
    if "openblas" not in library.lower():
        sys.exit(f"numpy multiplies with {library}: install a numpy that is built with OpenBLAS")
    program = Program([asked.program])
    found, absent = rates(program, asked.extent, asked.rounds, asked.pause, asked.seed)
    program.close()

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    print(f"numpy {numpy.__version__}, {library}; {cores} cores, load {load} after the run (own included)")
    print(f"{asked.extent}³, {asked.rounds} rounds, order of seed {asked.seed}, pause {asked.pause} s\n")
    for name, values in found.items():
        if name in absent:
            print(f"{name:18} {absent[name]}")
        else:
            rate = 2e-9 * asked.extent**3 * statistics.median(values)
            print(f"{name:18} {1e3 / statistics.median(values):9.2f} ms a product {rate:9.1f} G op/s")
    print()
    for ours, other, least in RATIOS:
        if ours in absent or other in absent:
            continue
        ratios = [x / y for x, y in zip(found[ours], found[other])]
        low, high = median_interval(ratios)
        print(f"{ours:18} / {other:6} {statistics.median(ratios):6.3f}  [{low:.3f}, {high:.3f}]  demanded {least}")


if __name__ == "__main__":
    main()
