#!/usr/bin/env python3
"""Tables from what scripts/first-gemm.sh has measured: first_gemm.py FOLDER TARGET,..."""

import collections
import pathlib
import re
import statistics
import sys

SAMPLES_PER_SECOND = 199
# Shared objects whose time is that of whoever calls them.
LIBRARIES_OF_OTHERS = re.compile(r"kernel|\[vdso\]|libc\.so|libm\.so|libstdc\+\+|ld-linux|libgcc_s|\[unknown\]|anon")
# A sample below one of these is the translation's, not the loader's.
TRANSLATION = re.compile(r"wavejit::(lift|ir|backend|runtime::TranslationCache)|asmjit")
FRAME = re.compile(r"^\s*[0-9a-f]+ (.*) \((.*)\)$")


def shared_object(path):
    name = pathlib.Path(path).name
    return re.sub(r"\.so.*", "", name)


def owner(stack):
    """The name of the row that a call chain, innermost frame first, counts for."""
    mine = next((path for _, path in stack if not LIBRARIES_OF_OTHERS.search(path)), None)
    if mine is None:
        return "kernel, C and C++ library: callers unknown"
    name = shared_object(mine)
    if not name.startswith(("libhsa-runtime64", "wavejit", "libwavejit")):
        return name
    if any(TRANSLATION.search(symbol) for symbol, _ in stack):
        return "wavejit: translation"
    return "wavejit: the rest"


def stacks(path):
    stack = []
    for line in path.read_text(errors="replace").splitlines():
        frame = FRAME.match(line)
        if frame:
            stack.append(frame.groups())
        elif not line.strip() and stack:
            yield stack
            stack = []
    if stack:
        yield stack


def main():
    folder, targets = pathlib.Path(sys.argv[1]), sys.argv[2].split(",")
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    print(f"{cpu.group(1) if cpu else 'unknown CPU'}, seconds, medians")
    print("| target | translation cache | wall | user | system |\n|---|---|---:|---:|---:|")
    for target in targets:
        for state in ("empty", "full"):
            rows = [list(map(float, line.split())) for line in (folder / f"times.{target}.{state}").open()]
            wall, user, system = (statistics.median(column) for column in zip(*rows))
            print(f"| {target} | {state} | {wall:.2f} | {user:.2f} | {system:.2f} |")
    for target in targets:
        samples = folder / f"samples.{target}"
        if not samples.exists():
            continue
        counts = collections.Counter(owner(stack) for stack in stacks(samples))
        print(f"\n| {target}, empty cache: CPU time of | s |\n|---|---:|")
        for name, count in counts.most_common():
            if count * 200 >= counts.total():
                print(f"| {name} | {count / SAMPLES_PER_SECOND:.2f} |")


main()
