#!/usr/bin/env python3
"""Runs kernel benchmarks with one and with two threads and prints how much faster two are.

    perf/threads.py [--build DIR] [--kernels a,b,...] [--tier avx512|avx2]

Both run in one process, their repetitions alternating in random order; figures are medians of wall time. The default kernels compute
much and move little. The machine must have two cores with nothing else to do: the load is printed. The last column is the CPU time of
two threads together compared with that of one: what it is above 1 is work that threads add, on a busy machine as well.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

from table import find_bench, geometric_mean, show_ratio, show_time

COMPUTE_BOUND = "nbody,mandelbrot,black_scholes,sha256,sgemm_blocked,philox,raytracer,collatz,math_f32,fft_lds"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="directory of kernel_bench (default: build/release, then build/ci)")
    parser.add_argument("--kernels", default=COMPUTE_BOUND, help="comma-separated cases (default: compute-bound ones)")
    parser.add_argument("--tier", choices=["avx512", "avx2"], default="avx512")
    options = parser.parse_args()
    bench = find_bench(options.build)
    print("%d CPUs, load %.2f before\n\n| kernel | one thread, ms | two threads, ms | faster | CPU time |\n|---|---:|---:|---:|---:|" %
          (os.cpu_count(), os.getloadavg()[0]))
    ratios, costs, problems = [], [], []
    for name in options.kernels.split(","):
        run = subprocess.run([bench, "--benchmark_filter=^%s/(%s|%s_2)/" % (name, options.tier, options.tier),
                              "--benchmark_format=json", "--benchmark_enable_random_interleaving=true"],
                             capture_output=True, text=True)
        times, cpu = {}, {}
        for entry in json.loads(run.stdout)["benchmarks"] if run.stdout else []:
            if entry.get("error_occurred"):
                problems.append("%s: %s" % (name, entry["error_message"]))
            elif entry.get("run_type") != "aggregate":
                engine = entry["name"].split("/")[1]
                times.setdefault(engine, []).append(entry["real_time"])
                cpu.setdefault(engine, []).append(entry["cpu_ms"])
        if len(times) != 2:
            problems.append("%s: not measured" % name)
            continue
        one, two = (statistics.median(times[e]) for e in (options.tier, options.tier + "_2"))
        ratios.append(one / two)
        costs.append(statistics.median(cpu[options.tier + "_2"]) / statistics.median(cpu[options.tier]))
        print("| %s | %s | %s | %s | %s |" % (name, show_time(one), show_time(two), show_ratio(one / two), show_ratio(costs[-1])))
    if ratios:
        print("| **geometric mean** | | | **%s** | **%s** |" % (show_ratio(geometric_mean(ratios)), show_ratio(geometric_mean(costs))))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
