#!/usr/bin/env python3
"""Checks that the listings of the tour are what the commands above them print.

    tests/docs/tour.py WAVEJIT CODE_OBJECT [docs/design.md]

Addresses of guest code are compared by their offset in a page: where a code object is loaded follows from its bytes, and its line
tables hold the folder that it was compiled in.

A block of code that begins with "$ wavejit" is a command and its output, of which "..." leaves out lines. Where the compiler of
this system makes another code object than the tour has (the block with --gcn), nothing can be compared: exit code 77.
"""

import pathlib
import re
import subprocess
import sys

SKIPPED = 77


def blocks(text):
    for block in re.findall(r"^```\n\$ wavejit (.*?)^```$", text, re.M | re.S):
        command, *lines = block.splitlines()
        yield command.split(), lines


def without_places(lines):
    return [re.sub(r"\b0x[0-9a-f]{9}(?=[0-9a-f]{3}\b)", "0x", line) for line in lines]


def first_missing(lines, output):
    """The first line that the output does not have where it should: behind "..." anywhere later, elsewhere next."""
    at, anywhere = 0, False
    for line in lines:
        if line == "...":
            anywhere = True
            continue
        found = next((i for i in range(at, len(output) if anywhere else min(at + 1, len(output))) if output[i] == line), None)
        if found is None:
            return line
        at, anywhere = found + 1, False
    return None


def main():
    wavejit, code_object = sys.argv[1:3]
    tour = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else "docs/design.md").read_text()
    wrong = checked = 0
    for command, lines in blocks(tour):
        arguments = [code_object if a.endswith(".co") else a for a in command]
        done = subprocess.run([wavejit, *arguments], capture_output=True, text=True)
        if done.returncode != 0 and "avx512" in command and "CPU" in done.stderr:
            continue  # only other CPUs have it
        if done.returncode != 0:
            sys.exit(f"tour: 'wavejit {' '.join(command)}' failed: {done.stderr.strip()}")
        missing = first_missing(without_places(lines), without_places(done.stdout.splitlines()))
        checked += 1
        if missing is None:
            continue
        print(f"tour: 'wavejit {' '.join(command)}' does not print: {missing}")
        if "--gcn" in command:
            sys.exit(SKIPPED)
        wrong += 1
    print(f"tour: {checked} listings, {wrong} of them out of date")
    sys.exit(1 if wrong or not checked else 0)


if __name__ == "__main__":
    main()
