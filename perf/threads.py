#!/usr/bin/env python3
"""Runs kernel benchmarks with one and with two threads and prints how much faster two are.

    perf/threads.py [--build DIR] [--kernels a,b,...] [--tier avx512|avx2]

Both run in one process, their repetitions alternating in random order; figures are medians of wall time. The default kernels compute
much and move little. The machine must have two cores with nothing else to do: the load is printed. "CPU time" is that of two threads
together compared with that of one. "Two processes" is what the machine has to give: two processes of one thread each, at the same time
and each on a CPU of its own, do this many times the work of one alone. They share nothing of wavejit's, but maybe a core's units
(virtual CPUs), its clock, caches and memory. "Of that" is the first ratio divided by this one.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import sys

from table import find_bench, geometric_mean, show_ratio, show_time

COMPUTE_BOUND = "nbody,mandelbrot,black_scholes,sha256,sgemm_blocked,philox,raytracer,collatz,math_f32,fft_lds"


def medians(text, counter):
    """Of the repetitions, by engine."""
    found, problems = {}, []
    for entry in json.loads(text)["benchmarks"] if text else []:
        if entry.get("error_occurred"):
            problems.append(entry["error_message"])
        elif entry.get("run_type") != "aggregate":
            found.setdefault(entry["name"].split("/")[1], []).append(entry[counter])
    return {engine: statistics.median(values) for engine, values in found.items()}, problems


def processes(bench, name, tier, cpus):
    """Wall time of the kernel, on one thread, in each of so many processes at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for cpu in cpus:
            out = os.path.join(folder, str(cpu))
            running.append((out, subprocess.Popen(
                ["taskset", "-c", str(cpu), bench, "--benchmark_filter=^%s/%s/" % (name, tier), "--benchmark_repetitions=150",
                 "--benchmark_out=" + out, "--benchmark_out_format=json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
        times = []
        for out, process in running:
            process.wait()
            with open(out) as file:
                times.append(medians(file.read(), "real_time")[0][tier])
        return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="directory of kernel_bench (default: build/release, then build/ci)")
    parser.add_argument("--kernels", default=COMPUTE_BOUND, help="comma-separated cases (default: compute-bound ones)")
    parser.add_argument("--tier", choices=["avx512", "avx2"], default="avx512")
    options = parser.parse_args()
    bench = find_bench(options.build)
    print("%d CPUs, load %.2f before\n\n| kernel | one thread, ms | two threads, ms | faster | CPU time | two processes | of that |\n"
          "|---|---:|---:|---:|---:|---:|---:|" % (os.cpu_count(), os.getloadavg()[0]))
    cpus = sorted(os.sched_getaffinity(0))[:2]
    rows, problems = [], []
    for name in options.kernels.split(","):
        run = subprocess.run([bench, "--benchmark_filter=^%s/(%s|%s_2)/" % (name, options.tier, options.tier),
                              "--benchmark_format=json", "--benchmark_enable_random_interleaving=true"],
                             capture_output=True, text=True)
        times, errors = medians(run.stdout, "real_time")
        cpu, _ = medians(run.stdout, "cpu_ms")
        problems += ["%s: %s" % (name, error) for error in errors]
        if len(times) != 2:
            problems.append("%s: not measured" % name)
            continue
        one, two = options.tier, options.tier + "_2"
        alone = processes(bench, name, options.tier, cpus[:1])[0]
        machine = sum(alone / each for each in processes(bench, name, options.tier, cpus))
        ratio = times[one] / times[two]
        rows.append((ratio, cpu[two] / cpu[one], machine, ratio / machine))
        print("| %s | %s | %s | %s |" % (name, show_time(times[one]), show_time(times[two]), " | ".join(map(show_ratio, rows[-1]))),
              flush=True)
    if rows:
        print("| **geometric mean** | | | %s |" % " | ".join("**%s**" % show_ratio(geometric_mean(c)) for c in zip(*rows)))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
