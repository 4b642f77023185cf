"""Do this tool and triton.testing.do_bench read the same time off one product of cuBLAS, alternating in one run?

    cargo build --release -p rigel-device --example gemm_rate
    python3 integrations/python/against_do_bench.py target/release/examples/gemm_rate [--rounds 20] [--extent 4096]

Needs an NVIDIA GPU, and PyTorch and triton beside the tool. Every round runs each contestant once, in an order drawn from
--seed, with a --pause in between, so that the clock's drifts meet all alike and the ratios of a round are paired.

Like is compared with like: operands of the same types in the same layout (B with its columns side by side in memory), output
f32, random data. do_bench overwrites the second-level cache before every product and is asked for its median; ours is asked
for the median of as many products, warm and with cold operands. PyTorch takes the algorithm that the heuristics name first, ours the
fastest of those named: where they differ, the two times are of two kernels.

Printed are medians, and the median over rounds of ours ÷ theirs with its distribution-free interval of at least 95 % confidence.
"""

import argparse
import random
import statistics
import sys
import time

from against_openblas import Program, median_interval

TYPES = {"f16": "float16", "bf16": "bfloat16"}


def theirs(torch, do_bench, kind, extent, count):
    """A function that gives the seconds of do_bench's median, its repetitions about as many as `count`."""
    a = torch.randn(extent, extent, device="cuda").to(getattr(torch, TYPES[kind]))
    b = torch.randn(extent, extent, device="cuda").to(a.dtype).t()
    product = lambda: torch.mm(a, b, out_dtype=torch.float32)  # noqa: E731
    product()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(10):
        product()
    torch.cuda.synchronize()
    milliseconds = max(1, round(100 * count * (time.perf_counter() - start)))
    return lambda: do_bench(product, warmup=5, rep=milliseconds, return_mode="median") * 1e-3


def main():
    lines = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    lines.add_argument("program", help="the built example gemm_rate")
    lines.add_argument("--device", default="cuda:0", help="as `rigel devices` names it; PyTorch takes its first GPU")
    lines.add_argument("--rounds", type=int, default=20, help="6 at least, for an interval")
    lines.add_argument("--extent", type=int, default=4096, help="rows and columns of every matrix")
    lines.add_argument("--count", type=int, default=50, help="products a turn")
    lines.add_argument("--pause", type=float, default=0.05, help="seconds before each turn")
    lines.add_argument("--seed", type=int, default=1, help="of the order and of PyTorch's inputs")
    asked = lines.parse_args()
    if asked.rounds < 6:
        lines.error("--rounds: the interval needs 6 at least")
    try:
        import torch
        from triton.testing import do_bench
    except ImportError as missing:
        sys.exit(f"{missing}: PyTorch and triton are what this compares with")
    torch.manual_seed(asked.seed)
    program = Program([asked.program, asked.device])
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; {asked.extent}³, {asked.rounds} rounds\n")
    for kind in TYPES:
        ask = f"product cublaslt {kind},{kind}->f32 {asked.extent}"
        runs = {
            "warm": lambda ask=ask: program.seconds(f"{ask} warm {asked.count}"),
            "cold": lambda ask=ask: program.seconds(f"{ask} cold {asked.count}"),
            "do_bench": theirs(torch, do_bench, kind, asked.extent, asked.count),
        }
        found = {name: [] for name in runs}
        for name, run in runs.items():
            if isinstance(first := run(), str):
                sys.exit(f"{ask}: {first}")
        order, shuffle = list(runs), random.Random(asked.seed).shuffle
        for _ in range(asked.rounds):
            shuffle(order)
            for name in order:
                time.sleep(asked.pause)
                found[name].append(runs[name]())
        for name, times in found.items():
            ratios = [x / y for x, y in zip(times, found["do_bench"])]
            low, high = median_interval(ratios)
            print(
                f"{kind:5} {name:9} {1e6 * statistics.median(times):8.2f} µs, over do_bench's "
                f"{statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]"
            )
    program.close()


if __name__ == "__main__":
    main()
