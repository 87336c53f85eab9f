#!/usr/bin/env python3
"""Runs the kernel benchmarks and prints them as a Markdown table with ratios and their geometric means.

    perf/table.py [--build DIR] [--kernels a,b,...] [--skip interp,...] [--clock wall|cpu] [--json FILE] [--hand-rates] [--code]

Each kernel runs in one process with all its engines, whose repetitions alternate in random order, so that a slow phase of the
machine hits all of them; figures are medians. Everything uses one thread. --clock cpu shows the
CPU time of the process instead of the wall time, for a machine that is busy with other work. On a CPU with AVX-512 a second process
measures the AVX2 tier beside PoCL's code for a CPU without it, where CPUID can be made to fault. --code adds columns about the translated
code: translation time and x86 instructions per GCN instruction (of all variants that the launches needed), bytes per GCN instruction
(of the variant that most waves execute), x86 instructions per GCN instruction in the inner loop (as they stand in the code, for the
64 lanes of a wave; inner_loop.h), and the time per instruction that a wave executes.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys

os.environ.setdefault("WAVEJIT_STRICT", "1")  # a figure of translated code is of translated code alone

ENGINES = ["interp", "avx2", "avx512", "pocl", "native", "native_serial", "hand_avx2", "hand_avx512"]
POCL_AVX2 = "pocl_avx2"  # PoCL in the second process
AVX2_BESIDE = "avx2_beside"  # the AVX2 tier there
FMA_PEAK = "fma_peak"  # a benchmark that is no kernel
TITLES = {"interp": "interpreter", "avx2": "AVX2", AVX2_BESIDE: "AVX2 beside PoCL for AVX2", "avx512": "AVX-512",
          "pocl": "PoCL", POCL_AVX2: "PoCL for AVX2", "native": "native C++",
          "native_serial": "C++, serial", "hand_avx2": "by hand, AVX2", "hand_avx512": "by hand, AVX-512"}


def find_bench(build):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    candidates = [build] if build else [os.path.join(root, "build", p) for p in ("release", "ci")]
    for directory in candidates:
        path = os.path.join(directory, "kernel_bench")
        if os.access(path, os.X_OK):
            return path
    sys.exit("kernel_bench is not built: cmake --preset release && cmake --build --preset release (looked in "
             + ", ".join(candidates) + ")")


HIDE_AVX512 = {"WAVEJIT_BENCH_OPENCL_AVX2": "1"}  # kernel_bench.cpp


def can_hide_avx512(bench):
    run = subprocess.run([bench, "--benchmark_list_tests"], capture_output=True, text=True, env=dict(os.environ, **HIDE_AVX512))
    if run.returncode != 0:
        print(run.stderr.strip() + "; no column of PoCL for AVX2", file=sys.stderr)
    return run.returncode == 0


def list_cases(bench):
    lines = subprocess.run([bench, "--benchmark_list_tests"], check=True, capture_output=True, text=True).stdout.split()
    cases = {}
    for line in lines:
        name, engine = line.split("/")[:2]
        if engine in ENGINES:
            cases.setdefault(name, []).append(engine)
    return cases


def run_case(bench, name, engines, clock, environment=None):
    """Median milliseconds by engine, error texts by engine, unit and work per second by engine, context, code by engine."""
    command = [bench, "--benchmark_filter=^%s/(%s)/" % (name, "|".join(engines)), "--benchmark_format=json",
               "--benchmark_enable_random_interleaving=true"]
    run = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **(environment or {})))
    try:
        report = json.loads(run.stdout)
    except ValueError:
        message = (run.stderr.strip().splitlines() or ["no output"])[-1]
        return {}, {e: "exit code %d: %s" % (run.returncode, message) for e in engines}, {}, {}, {}
    code = {}
    times, errors, rates = {}, {}, {}
    for entry in report["benchmarks"]:
        if entry.get("run_type") == "aggregate":
            continue
        engine = entry["name"].split("/")[1]
        if entry.get("error_occurred"):
            errors[engine] = entry["error_message"]
            continue
        milliseconds = entry["cpu_ms"] if clock == "cpu" else entry["real_time"]
        times.setdefault(engine, []).append(milliseconds)
        if "gcn_code" in entry:
            code[engine] = {k: entry[k] for k in ("gcn_code", "gcn_executed", "x86_code", "translate_ms", "x86_bytes",
                                                   "loop_gcn", "loop_x86")}
        for key, value in entry.items():
            if key.endswith("/s"):  # work per second of wall time
                rates.setdefault(engine, (key, []))[1].append(value * entry["real_time"] / milliseconds)
    return ({e: statistics.median(t) for e, t in times.items()}, errors,
            {e: (unit, statistics.median(v)) for e, (unit, v) in rates.items()}, report["context"], code)


def show_time(ms):
    return "-" if ms is None else "%.3g" % ms if ms < 1000 else "%.0f" % ms


def show_ratio(ratio):
    return "-" if ratio is None else "%.2fx" % ratio if ratio < 10 else "%.0fx" % ratio


def code_columns(results):
    """Columns about the translated code: (title, function from a result to text)."""
    tiers = [e for e in ("avx512", "avx2") if any(e in r["code"] for r in results.values())]
    timed = [e for e in ["interp"] + tiers if any(e in r["code"] for r in results.values())]

    def ratio(engine, over, under, form, scale=1):
        def show(result):
            c = result["code"].get(engine)
            return form % (scale * c[over] / c[under]) if c and c[under] else "-"
        return show

    def per_executed(engine):
        def show(result):
            c, ms = result["code"].get(engine), result["ms"].get(engine)
            return "%.3g" % (1e6 * ms / c["gcn_executed"]) if c and ms and c["gcn_executed"] else "-"
        return show

    columns = [("GCN instructions", lambda result: "%d" % next((c["gcn_code"] for c in result["code"].values()), 0))]
    for e in tiers:
        columns += [("%s: us per GCN to translate" % TITLES[e], ratio(e, "translate_ms", "gcn_code", "%.1f", 1e3)),
                    ("%s: bytes per GCN" % TITLES[e], ratio(e, "x86_bytes", "gcn_code", "%.0f")),
                    ("%s: x86 per GCN" % TITLES[e], ratio(e, "x86_code", "gcn_code", "%.1f")),
                    ("%s: x86 per GCN in the inner loop" % TITLES[e], ratio(e, "loop_x86", "loop_gcn", "%.1f"))]
    columns += [("%s: ns per executed GCN" % TITLES[e], per_executed(e)) for e in timed]
    return columns


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="directory of kernel_bench (default: build/release, then build/ci)")
    parser.add_argument("--kernels", help="comma-separated cases (default: all)")
    parser.add_argument("--skip", default="", help="comma-separated engines to leave out")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="what to measure (default: wall)")
    parser.add_argument("--hand-rates", action="store_true", help="also show the work per second of the hand-written code")
    parser.add_argument("--code", action="store_true", help="with columns about the translated code")
    parser.add_argument("--json", help="also write the medians to this file")
    options = parser.parse_args()

    bench = find_bench(options.build)
    cases = list_cases(bench)
    peak_engines = cases.pop(FMA_PEAK, [])
    if options.kernels:
        unknown = [k for k in options.kernels.split(",") if k not in cases]
        if unknown:
            sys.exit("no such kernel: %s (there are: %s)" % (", ".join(unknown), ", ".join(cases)))
        cases = {k: cases[k] for k in options.kernels.split(",")}
    skipped = set(options.skip.split(","))
    columns = [e for e in ENGINES if e not in skipped and any(e in engines for engines in cases.values())]
    best = "avx512" if "avx512" in columns else "avx2"
    if best == "avx512" and "avx2" in columns and "pocl" in columns and can_hide_avx512(bench):
        columns.insert(columns.index("pocl") + 1, POCL_AVX2)

    context, results, problems, avx2_device = {}, {}, [], None
    for number, (name, engines) in enumerate(cases.items(), 1):
        print("[%d/%d] %s" % (number, len(cases), name), file=sys.stderr)
        medians, errors, rates, new_context, code = run_case(bench, name, [e for e in engines if e not in skipped],
                                                        options.clock)
        context = new_context or context
        if POCL_AVX2 in columns and "pocl" in engines:
            beside, more_errors, _, avx2_context, _ = run_case(bench, name, ["avx2", "pocl"], options.clock, HIDE_AVX512)
            for engine, key in (("avx2", AVX2_BESIDE), ("pocl", POCL_AVX2)):
                if engine in beside:
                    medians[key] = beside[engine]
                if engine in more_errors:
                    errors[key] = more_errors[engine]
            avx2_device = avx2_context.get("opencl_device", avx2_device)
        results[name] = {"ms": medians, "rates": rates, "errors": errors, "code": code}
        problems += ["%s on %s: %s" % (name, TITLES[e], text.splitlines()[0]) for e, text in errors.items()]

    # Ratios above 1 mean the translated code is faster.
    ratios = [("%s / %s" % (TITLES[best], TITLES[other]), best, other) for other in ("interp", "pocl", "native")
              if other in columns]
    ratios.append(("%s / by hand" % TITLES[best], best, "hand_" + best))
    if best == "avx512":
        ratios.append(("AVX2 / by hand", "avx2", "hand_avx2"))
        ratios.insert(1, ("AVX2 / interpreter", "avx2", "interp"))
        ratios.append(("AVX2 / PoCL", "avx2", "pocl"))
        if POCL_AVX2 in columns:
            ratios.append(("AVX2 / PoCL for AVX2", AVX2_BESIDE, POCL_AVX2))
    ratios = [r for r in ratios if r[1] in columns + [AVX2_BESIDE] and r[2] in columns]
    peak_engines = [e for e in peak_engines if e in columns]
    peaks = run_case(bench, FMA_PEAK, peak_engines, options.clock)[2] if peak_engines else {}

    print("CPU: %s; OpenCL: %s; wavejit %s; one thread, %s milliseconds (median)\n" %
          (context.get("cpu", "?"), " and ".join([context.get("opencl_device", "none")] + ([avx2_device] if avx2_device else [])), context.get("wavejit", "?"), options.clock))
    if peaks:
        print("Most fused multiply-adds: %s\n" %
              ", ".join("%.3g %s with %s" % (rate, unit, TITLES[e].split(", ")[1]) for e, (unit, rate) in peaks.items()))
    code = code_columns(results) if options.code else []
    header = ["kernel", "rate of " + TITLES[best]] + [TITLES[e] for e in columns] + [title for title, _, _ in ratios]
    header += [title for title, _ in code]
    print("| " + " | ".join(header) + " |")
    print("|---|" + "---:|" * (len(header) - 1))
    collected = {title: [] for title, _, _ in ratios}
    for name, result in results.items():
        medians = result["ms"]
        rate = result["rates"].get(best)
        row = [name, "%.3g %s" % (rate[1], rate[0]) if rate else "-"]
        row += ["error" if e in result["errors"] else show_time(medians.get(e)) for e in columns]
        for title, fast, slow in ratios:
            ratio = medians[slow] / medians[fast] if medians.get(fast) and medians.get(slow) else None
            if ratio:
                collected[title].append(ratio)
            row.append(show_ratio(ratio))
        row += [show(result) for _, show in code]
        print("| " + " | ".join(row) + " |")
    print("| **geometric mean** | |" + " |" * len(columns) + " " +
          " | ".join("**%s** (%d)" % (show_ratio(geometric_mean(v)), len(v)) for v in collected.values()) +
          " |" * (1 + len(code)))
    if options.hand_rates:
        print("\n| kernel | unit | " + " | ".join(TITLES[e] for e in ("hand_avx512", "hand_avx2", "avx512", "avx2")) + " |")
        print("|---|---|---:|---:|---:|---:|")
        for name, result in results.items():
            rates = result["rates"]
            if "hand_avx2" in rates:
                print("| %s | %s | %s |" % (name, rates["hand_avx2"][0], " | ".join(
                    "%.4g" % rates[e][1] if e in rates else "-" for e in ("hand_avx512", "hand_avx2", "avx512", "avx2"))))
    if problems:
        print("\nNot measured:\n" + "\n".join("- " + p for p in problems))
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"context": context, "results": results}, out, indent=1)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
