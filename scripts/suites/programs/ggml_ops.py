#!/usr/bin/env python3
"""ggml_ops.py TEST-BACKEND-OPS [--gtest_list_tests | --gtest_flagfile=FILE]: llama.cpp's test-backend-ops as a GoogleTest program.

A test is one case of an operator that the backend says it supports; test-backend-ops compares its result with the CPU backend's. It
is called OP.PARAMETERS, with semicolons for commas."""

import csv
import os
import re
import subprocess
import sys
from collections.abc import Iterator

BACKEND = "ROCm0"
# "  ADD(type=f32,...): OK", a failure with the error before it.
RESULT = re.compile(r"([A-Z][A-Z0-9_]*)\((.*)\): (OK|FAIL|not supported)")
WORDS = {"OK": "       OK", "FAIL": "  FAILED ", "not supported": "  SKIPPED"}


def name_of(op: str, parameters: str) -> str:
    return f"{op}.{parameters.replace(',', ';')}"


def list_tests(program: str) -> int:
    command = [program, "support", "-b", BACKEND, "--output", "csv"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", check=False)
    rows = [row for row in csv.reader(done.stdout.splitlines()) if len(row) == 7 and row[0] == BACKEND and row[5] == "yes"]
    tests = dict.fromkeys((row[1], row[2].replace(",", ";")) for row in rows)
    op = ""
    for test in tests:  # in the order in which they run
        if test[0] != op:
            op = test[0]
            print(f"{op}.")
        print(f"  {test[1]}")
    return done.returncode


def lines_of(command: list[str]) -> Iterator[str]:
    """What the command prints, at once, as if on a terminal. At its end raises SystemExit with its exit status."""
    ours, its = os.openpty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its) as process:
        os.close(its)
        with os.fdopen(ours, encoding="utf-8", errors="replace") as text:
            try:
                for line in text:
                    yield re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip()
            except OSError:  # the terminal's end
                pass
        status = process.wait()
    sys.exit(128 - status if status < 0 else status)


def run_tests(program: str, names: list[str]) -> None:
    """Says which test is running, which is the next one in the order of test-backend-ops unless that leaves it out."""
    cases = [f"{op}({parameters.replace(';', ',')})" for op, _, parameters in (name.partition(".") for name in names)]
    left = list(dict.fromkeys(names))
    running = None
    for line in lines_of([program, "-b", BACKEND, "-o", ",".join(cases)]):
        print(line, flush=True)
        if "Device memory:" in line:
            running = left[0]
            print(f"[ RUN      ] {running}", flush=True)
        if not (match := RESULT.search(line)):
            continue
        name = name_of(match[1], match[2])
        if name not in left:  # a case that it has twice
            continue
        if name != running:
            print(f"[ RUN      ] {name}\n{line}")
        print(f"[{WORDS[match[3]]} ] {name}", flush=True)
        left.remove(name)
        running = None
        if left:
            running = left[0]
            print(f"[ RUN      ] {running}", flush=True)


def main() -> int:
    program, *flags = sys.argv[1:]
    if "--gtest_list_tests" in flags:
        return list_tests(program)
    with open(flags[0].partition("=")[2], encoding="utf-8") as file:
        values = dict(line.rstrip("\n").partition("=")[::2] for line in file)
    run_tests(program, values["--gtest_filter"].split(":"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
