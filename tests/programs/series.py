"""Runs files of programs, several at a time, until there are enough, and keeps what they show in a folder of state."""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import secrets
import sys
import tempfile
import threading
import time

import toolchain
from execution import RUNNER, Difference, Outcome, Programs
from toolchain import Combination

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RESULTS = "results.jsonl"  # of the state folder, a line for each file


def parser(description: str | None, state: str, what: str) -> argparse.ArgumentParser:
    """The options of all series: `state` is the default folder, and `what` says what is counted."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build/release")
    parser.add_argument("--state", type=pathlib.Path, default=REPOSITORY / state, help="keeps counts and differences")
    parser.add_argument("--count", type=int, default=1000, help=what)
    parser.add_argument("--hours", type=float, default=0.0, help="run until then, whatever the count")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after that time")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("WAVEJIT_PROGRAM_SEED", "0")), help="default: a fresh one, printed")
    parser.add_argument("--first", type=int, default=0, help="number of the first file of the seed")
    parser.add_argument("--combination", type=Combination.parse, help="only that, e.g. clang15-O3-gfx906")
    parser.add_argument("--one", action="store_true", help="one combination, which the seed draws")
    parser.add_argument("--engine", action="append", default=[], help="only that; may be repeated: interpreter, avx2, avx512, avx2-switches, ...")
    parser.add_argument("--quick", action="store_true", help="only combinations of the newest compiler, without -O0")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time")
    parser.add_argument("--reduce", type=float, default=300.0, help="seconds for reducing a difference")
    parser.add_argument("--summary", action="store_true", help="only print what the state folder has")
    return parser


def rows(state: pathlib.Path) -> list[dict]:
    """What the state folder has of each file."""
    results = state / RESULTS
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def print_summary(state: pathlib.Path) -> None:
    ran: collections.Counter[str] = collections.Counter()
    bad: collections.Counter[str] = collections.Counter()
    for row in rows(state):
        for c in row["combinations"]:
            ran[c] += row["kernels"]
        for d in row["differences"]:
            bad[d["combination"]] += 1
    for c in sorted(ran):
        print(f"{c:20} {ran[c]:8} kernels {bad[c]:6} differences")
    print(f"{'all':20} {sum(ran.values()):8} kernels {sum(bad.values()):6} differences")


@dataclasses.dataclass
class FileResult:
    """What became of a file: `language` is for people and the records."""

    outcome: Outcome
    language: str


class Series:
    """What all series do. Subclasses say what a file is (run_file) and how a difference is kept (keep)."""

    name = ""  # of the script, which begins the lines that are printed
    combinations_of_a_file = 1
    levels = toolchain.LEVELS

    def __init__(self, options: argparse.Namespace, seed: int) -> None:
        self.options = options
        self.seed = seed
        self.only = [options.combination] if options.combination else self.draw(0, 1) if options.one else None
        self.start = time.monotonic()
        self.deadline = self.start + (options.hours * 3600 if options.hours else options.seconds or 1e9)
        self.lock = threading.Lock()
        self.next = options.first
        self.drawn = 0  # kernels, without those that no compiler takes
        self.refused = 0  # those, and what run_file has dropped
        self.ran = self.bad = 0

    # ---- what differs between series

    def run_file(self, programs: Programs, file_seed: str, run_seed: int, kernels: int, combinations: list[Combination]) -> FileResult:
        raise NotImplementedError

    def keep(self, programs: Programs, file_seed: str, run_seed: int, difference: Difference) -> str:
        """Saves a program with a difference and a smaller one; returns what there is to print."""
        raise NotImplementedError

    # ---- what they have in common

    def draw(self, index: int, count: int) -> list[Combination]:
        return toolchain.drawn(toolchain.combinations(self.options.quick, self.levels), self.seed, index, count)

    def run(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for done in [pool.submit(self.work) for _ in range(self.options.jobs)]:
                done.result()

    def work(self) -> None:
        with tempfile.TemporaryDirectory(prefix=f"wavejit-{self.name}-") as folder:
            programs = Programs(self.options.build.resolve(), pathlib.Path(folder))
            while file := self.take():
                self.handle_file(programs, *file)

    def take(self) -> tuple[int, int] | None:
        """The next file's number, and how many kernels it has."""
        options = self.options
        with self.lock:
            kernels = options.kernels if options.hours else min(options.kernels, options.count - self.drawn)
            # A combination whose compiler takes nothing is not tried for ever.
            if time.monotonic() >= self.deadline or kernels <= 0 or (not options.hours and self.refused > options.count):
                return None
            self.drawn += kernels
            self.next += 1
            return self.next - 1, kernels

    def handle_file(self, programs: Programs, number: int, kernels: int) -> None:
        file_seed = f"{self.seed}:{number}"
        # A seed of its own for arguments and switches.
        run_seed = int(re.sub(r"\D", "", file_seed)) % 10**12
        combinations = self.only or self.draw(number, self.combinations_of_a_file)
        result = self.run_file(programs, file_seed, run_seed, kernels, combinations)
        outcome = result.outcome
        refused = {str(d.combination) for d in outcome.differences if d.how == "COMPILER"}
        row = {
            "seed": file_seed,
            "kernels": kernels,
            "language": result.language,
            "combinations": sorted({str(c) for c in combinations} - refused) if outcome.ran else [],
            "differences": [dataclasses.asdict(d) | {"combination": str(d.combination)} for d in outcome.differences],
        }  # fmt: skip
        with self.lock:
            if not row["combinations"]:
                self.drawn -= kernels
                self.refused += kernels
            self.ran += outcome.ran
            self.report(outcome, file_seed)
            with (self.options.state / RESULTS).open("a") as results:
                results.write(json.dumps(row) + "\n")
            seconds = time.monotonic() - self.start
            names = " ".join(map(str, combinations))
            print(f"{self.name}: file {file_seed}: {outcome.ran} kernels, {result.language}, {names}, {seconds:.0f} s", flush=True)
        self.keep_differences(programs, outcome, file_seed, run_seed, number)

    def report(self, outcome: Outcome, file_seed: str) -> None:
        if outcome.generator:
            print(f"{self.name}: file {file_seed}: the generator's fault: {outcome.generator}", flush=True)
            self.bad += 1
        for d in outcome.differences:
            print(f"{d.how} file {file_seed} {d.kernel} {d.engine} {d.combination} {d.text}", flush=True)
            if d.how != "COMPILER":
                self.bad += 1

    def keep_differences(self, programs: Programs, outcome: Outcome, file_seed: str, run_seed: int, number: int) -> None:
        options, seen = self.options, set()
        for d in outcome.differences:
            if d.how == "COMPILER" or (d.kernel, d.combination) in seen:
                continue
            seen.add((d.kernel, d.combination))
            if options.reduce > 0:
                print(f"{self.name}: " + self.keep(programs, file_seed, run_seed, d), flush=True)
                continue
            again = f"scripts/{self.name}.sh --build {options.build} --seed {self.seed} --first {number} --combination {d.combination}"
            kernels = f" --kernels {options.kernels}" if options.kernels > 1 else ""
            print(f"{self.name}: again, and reduced: {again}{kernels} --count {options.kernels}", flush=True)

    @classmethod
    def main(cls, options: argparse.Namespace) -> int:
        if options.summary:
            print_summary(options.state)
            return 0
        if not (runner := options.build / RUNNER).exists():
            sys.exit(f"{cls.name}: there is no {runner}: build it first, or name a build folder with --build")
        seed = options.seed or secrets.randbelow(10**9) + 1
        print(f"{cls.name}: seed {seed}", flush=True)
        options.state.mkdir(parents=True, exist_ok=True)
        series = cls(options, seed)
        series.run()
        dropped = f", {series.refused} dropped" if series.refused else ""
        print(f"{cls.name}: {series.ran} kernels, {series.bad} differences{dropped}, seed {seed}, {time.monotonic() - series.start:.0f} s")
        return 1 if series.bad or not series.ran else 0
