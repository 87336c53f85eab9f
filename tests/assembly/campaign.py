#!/usr/bin/env python3
"""Generates kernels in assembly, runs them on all engines in several orders of their waves, and keeps what differs.

    campaign.py [--build DIR] [--state DIR] [--kernels N | --hours H] [--seed S] [--target T]... [--file K] [--reduce 0]
    campaign.py [--state DIR] --summary

N kernels (default 1,000) in files of K (default 20), one target after the other. The same seed makes the same kernels; the default is
a fresh one, which is printed. A file that differs is kept in <state>/differences, with a kernel of it cut down to the statements that
the difference needs. Exit code 1 if there was one. Can be stopped and called again: <state>/counts.json keeps the counts."""

import argparse
import collections
import json
import os
import pathlib
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time

from program import Program, module
from target import TARGETS, Target

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CLANG = os.environ.get("WAVEJIT_TEST_CLANG19", "clang-19")
LINKER = next((name for name in ("ld.lld-19", "ld.lld-15", "ld.lld-14") if shutil.which(name)), "ld.lld")
RUN = 900  # seconds for a file


class Failure(Exception):
    """The assembler or the linker has failed: the generator's fault."""


class Runner:
    """Assembles programs in a folder of its own, and runs them."""

    def __init__(self, build: pathlib.Path, folder: pathlib.Path) -> None:
        self.program, self.folder = build / "wavejit_assembly", folder

    def run(self, programs: list[Program], target: Target, seed: int) -> tuple[int, int, list[str]]:
        """Kernels and launches that ran, and the lines about differences."""
        source, code, shapes = (self.folder / name for name in ("program.s", "program.co", "program.list"))
        source.write_text(module(programs, target))
        shapes.write_text("".join(f"{p.name} {' '.join(map(str, p.local + p.grid))} {p.out_words()} {p.missing} {p.image_rows()}\n" for p in programs))
        for command in ([CLANG, "-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target.name}", "-c", str(source), "-o", f"{code}.o"],
                        [LINKER, "-shared", f"{code}.o", "-o", str(code)]):  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise Failure(done.stderr[:500])
        environment = {**os.environ, "WAVEJIT_STRICT": "1", "WAVEJIT_CHECK_ALLOCATION": "1"}
        try:
            done = subprocess.run([str(self.program), "--seed", str(seed), str(code), str(shapes)], capture_output=True, text=True, timeout=RUN, env=environment)
            output, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            output, status = (error.stdout or b"").decode(), -1
        lines = [line for line in output.splitlines() if line.startswith(("DIFFERENCE", "FAILURE"))]
        ran = next((line.split() for line in output.splitlines() if line.startswith("RAN ")), None)
        if ran is None:
            at = next((line for line in reversed(output.splitlines()) if line.startswith("AT ")), "AT - -").split()
            lines.append(f"CRASH {at[1]} {at[2]} status {status}")
        return (int(ran[1]), int(ran[2]), lines) if ran else (0, 0, lines)


def reduced(runner: Runner, program: Program, target: Target, seed: int) -> Program:
    """The program without the statements that its difference does not need."""
    step = max(1, len(program.pieces) // 2)
    while True:
        start, changed = 0, False
        while start < len(program.pieces):
            smaller = program.without(start, start + step)
            if runner.run([smaller], target, seed)[2]:
                program, changed = smaller, True
            else:
                start += step
        if step == 1 and not changed:
            return program
        step = max(1, step // 2)


def keep(state: pathlib.Path, runner: Runner, programs: list[Program], target: Target, seed: int, name: str, lines: list[str], reduce: bool) -> None:
    folder = state / "differences" / name
    folder.mkdir(parents=True, exist_ok=True)
    for path in runner.folder.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    (folder / "lines.txt").write_text("\n".join(lines) + "\n")
    kernel = lines[0].split()[1]
    if reduce and any(p.name == kernel for p in programs):
        small = reduced(runner, next(p for p in programs if p.name == kernel), target, seed)
        lines = runner.run([small], target, seed)[2]
        (folder / "reduced.s").write_text(f"# {lines[0] if lines else 'not reproduced'}\n# {small.local} work-items, {small.grid} work-groups, {small.missing} work-items missing\n" + module([small], target))


def summary(counts: dict) -> str:
    rows = [f"{'target':8} {'kernels':>8} {'launches':>9} {'differences':>12}"]
    rows += [f"{t:8} {c['kernels']:8} {c['launches']:9} {c['differences']:12}" for t, c in sorted(counts.items())]
    rows.append(f"{'all':8} " + " ".join(f"{sum(c[k] for c in counts.values()):{w}}" for k, w in (("kernels", 8), ("launches", 9), ("differences", 12))))
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build/release")
    parser.add_argument("--state", type=pathlib.Path, default=REPOSITORY / "build/assembly")
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--hours", type=float)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--file", type=int, default=20)
    parser.add_argument("--reduce", type=int, default=1)
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    options.state.mkdir(parents=True, exist_ok=True)
    path = options.state / "counts.json"
    counts = collections.defaultdict(lambda: {"kernels": 0, "launches": 0, "differences": 0}, json.loads(path.read_text()) if path.exists() else {})
    if options.summary:
        print(summary(counts))
        return 0
    seed = options.seed if options.seed is not None else secrets.randbelow(10**9)
    print(f"seed {seed}", flush=True)
    end = time.monotonic() + 3600 * options.hours if options.hours else None
    targets, done, bad = options.target or TARGETS, 0, 0
    with tempfile.TemporaryDirectory(prefix="wavejit-assembly-") as folder:
        runner = Runner(options.build.resolve(), pathlib.Path(folder))
        for file in range(10**9):
            if time.monotonic() > end if end else done >= options.kernels:
                break
            target = Target(targets[file % len(targets)])
            programs = [Program(random.Random(f"{seed} {file} {k}"), target, f"k{k}") for k in range(options.file)]
            ran, launches, lines = runner.run(programs, target, seed + file)
            done += options.file
            count = counts[target.name]
            count["kernels"] += ran
            count["launches"] += launches
            count["differences"] += len(lines)
            path.write_text(json.dumps(counts, indent=1))
            if lines:
                bad += len(lines)
                print(f"{target.name}, file {file}: " + "; ".join(lines[:3]), flush=True)
                keep(options.state, runner, programs, target, seed + file, f"{seed}-{file}-{target.name}", lines, options.reduce != 0)
    print(summary(counts))
    return int(bad != 0)


if __name__ == "__main__":
    sys.exit(main())
