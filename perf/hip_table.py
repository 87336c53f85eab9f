#!/usr/bin/env python3
"""Compares kernels through HIP with the very same ones, of the same file, through the C API, as a Markdown table.

    perf/hip_table.py [--build DIR] [--threads N] [--rounds N] [--tiny]

SAXPY, matrix multiplication, a reduction and a radix sort (perf/hip_api) run in processes of their own, one after the other in
turn: HIP under `wavejit exec`, the C API, and again. Each process checks its results and has the median of many runs of each case,
from the first launch until the last kernel has ended, and the best; the table has the medians of the processes' figures. "Beyond" is
what HIP takes longer, for each launch. The last column says whether HIP takes at most 5 % longer beyond 10 us a launch, by the medians
and by the best. --tiny has small sizes, for tests; the times mean nothing then.
"""

import argparse
import os
import statistics
import subprocess
import sys

os.environ.setdefault("WAVEJIT_STRICT", "1")  # a figure of translated code is of translated code alone

FIXED_US = 10
FACTOR = 1.05


def find_build(build):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    candidates = [build] if build else [os.path.join(root, "build", p) for p in ("release", "ci")]
    for directory in candidates:
        if os.access(os.path.join(directory, "hip_api_hip"), os.X_OK):
            return directory
    sys.exit("hip_api_hip is not built: cmake --preset release && cmake --build --preset release (looked in "
             + ", ".join(candidates) + ")")


def run(command):
    """(median, best) in microseconds and launches, by case and size."""
    process = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if process.returncode != 0:
        sys.exit("%s: exit code %d\n%s" % (" ".join(command), process.returncode, process.stderr))
    lines = [line.split() for line in process.stdout.splitlines()]
    return {(name, int(size)): (float(median), float(best), int(launches)) for name, size, launches, median, best in lines}


def show(us):
    return "%.1f us" % us if us < 1000 else "%.2f ms" % (us / 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="directory of hip_api_hip (default: build/release, then build/ci)")
    parser.add_argument("--threads", type=int, default=0, help="host threads of a kernel (default: all CPUs)")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    parser.add_argument("--tiny", action="store_true", help="small sizes, one round")
    options = parser.parse_args()
    build = find_build(options.build)
    program = os.path.join(build, "hip_api_hip")
    threads = ["--threads", str(options.threads)] if options.threads else []
    tiny = ["--tiny"] if options.tiny else []
    commands = {"hip": [os.path.join(build, "wavejit"), "exec", "--target", "gfx906"] + threads + ["--", program] + tiny,
                "api": [os.path.join(build, "hip_api_c"), program] + threads + tiny}
    runs = {"hip": [], "api": []}
    for _ in range(1 if options.tiny else options.rounds):
        for kind, command in commands.items():
            runs[kind].append(run(command))
    cases = list(runs["hip"][0])
    if not cases or cases != list(runs["api"][0]):
        sys.exit("the two programs ran different cases")

    print("| case | size | launches | HIP | C API | ratio | beyond, a launch | best: HIP | C API | within |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, size in cases:
        launches = runs["hip"][0][name, size][2]
        hip, api, best_hip, best_api = (statistics.median(r[name, size][column] for r in runs[kind])
                                        for column in (0, 1) for kind in ("hip", "api"))
        within = ["yes" if a <= FACTOR * b + FIXED_US * launches else "no" for a, b in ((hip, api), (best_hip, best_api))]
        print("| %s | %d | %d | %s | %s | %.2f | %.1f us | %s | %s | %s |"
              % (name, size, launches, show(hip), show(api), hip / api, (hip - api) / launches, show(best_hip),
                 show(best_api), ", ".join(within)))


if __name__ == "__main__":
    main()
