"""Generates programs, compiles each for two combinations of compiler, level and target and for the host, and compares what engines and
host make of them. Differences are reduced, and kept in a folder.

The engines are independent of the host's result: interpreter and translated code share reading and rules of instructions, the host's
compiler shares neither."""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time

import kernel
import reduce
import toolchain
from toolchain import Combination, CompilerError, Language

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RUNNER = "wavejit_programs"  # of a build folder
COMBINATIONS = 2  # a file
# Seconds for a launch, translation included, and for a file.
LAUNCH, RUN = 120, 1500


@dataclasses.dataclass
class Difference:
    """What the runner says of a kernel: `how` is "DIFFERENCE", "FAILURE" or "CRASH"."""

    how: str
    kernel: str
    engine: str
    combination: Combination
    text: str


@dataclasses.dataclass
class Outcome:
    ran: int
    differences: list[Difference]
    generator: str = ""  # what the host's program has done that it must not


class Programs:
    """Compiles and runs files of programs in a folder of their own."""

    def __init__(self, build: pathlib.Path, folder: pathlib.Path) -> None:
        self.runner = build / RUNNER
        self.folder = folder

    def run(
        self, text: str, language: Language, combinations: list[Combination], seed: int, engines: list[str], first: int = 0, sanitize: bool = False
    ) -> Outcome:
        """Compilers that fail are differences, too; without the host's, or without all others, no kernel runs."""
        source = self.folder / "program.c"
        source.write_text(text)
        host = self.folder / "host.so"
        try:
            toolchain.compile_host(source, host, language, sanitize)
        except CompilerError as error:
            return Outcome(0, [Difference("COMPILER", "-", "host", combinations[0], str(error))])
        objects, failed = [], []
        for c in combinations:
            output = self.folder / f"{c}.co"
            try:
                toolchain.compile_device(source, output, c, language)
                objects.append(output)
            except CompilerError as error:
                failed.append(Difference("COMPILER", "-", "-", c, str(error)))
        if not objects:
            return Outcome(0, failed)
        command = [str(self.runner), "--seed", str(seed), "--first", str(first), "--timeout", str(LAUNCH)]
        for engine in engines:
            command += ["--engine", engine]
        environment = os.environ | {"WAVEJIT_STRICT": "1", "WAVEJIT_CHECK_ALLOCATION": "1"}
        try:
            done = subprocess.run([*command, str(host), *map(str, objects)], capture_output=True, text=True, timeout=RUN, env=environment, errors="replace")
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            output, code = (late.stdout or b"").decode(errors="replace"), 99
        outcome = Outcome(0, failed)
        lines = output.splitlines()
        for line in lines:
            words = line.split(" ", 4)
            if words[0] in ("DIFFERENCE", "FAILURE"):
                outcome.differences.append(Difference(words[0], words[2], words[3], _combination(words[1]), words[4]))
        last = next((line for line in reversed(lines) if line.startswith(("AT ", "RAN "))), "")
        if last.startswith("RAN "):
            outcome.ran = int(last.split()[1])
        elif last.startswith("AT host"):
            outcome.generator = f"{last}: status {code}"
        else:
            words = last.split()
            outcome.differences.append(Difference("CRASH", words[2], words[3], _combination(words[1]), f"status {code}"))
            outcome.ran = len({tuple(line.split()[1:3]) for line in lines if line.startswith("AT ") and not line.startswith("AT host")})
        return outcome


def _combination(path: str) -> Combination:
    return Combination.parse(pathlib.Path(path).stem)


def save_and_reduce(programs: Programs, seed: int, file_seed: str, difference: Difference, folder: pathlib.Path, seconds: float) -> str:
    """Writes the kernel with the difference, and a smaller one that differs likewise."""
    index = int(difference.kernel.removeprefix("k"))
    made, language = kernel.make_kernel(file_seed, index), kernel.language_of(file_seed)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{difference.combination}-{file_seed.replace(':', '-')}-{index}"
    (folder / f"{name}.full.{language.value}").write_text(kernel.make_file([made], str(toolchain.HEADER)))

    def differs(sanitize: bool) -> bool:
        text = kernel.make_file([made], str(toolchain.HEADER))
        outcome = programs.run(text, language, [difference.combination], seed, [difference.engine], index, sanitize)
        return not outcome.generator and any(d.how == difference.how and d.engine == difference.engine for d in outcome.differences)

    if not differs(sanitize=False):
        return f"{name}: does not differ alone"
    if not differs(sanitize=True):
        return f"{name}: the generator's undefined behaviour"
    reduce.reduce(made.tree, lambda: differs(sanitize=True), seconds)
    text = kernel.make_file([made], str(toolchain.HEADER))
    reduced = folder / f"{name}.{language.value}"
    reduced.write_text(f"// {difference.how} {difference.engine} {difference.combination}, runner: --seed {seed} --first {index}\n{text}")
    return f"{name}: {reduced}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=REPOSITORY / "build/release")
    parser.add_argument("--state", type=pathlib.Path, default=REPOSITORY / "build/programs", help="keeps counts and differences")
    parser.add_argument("--count", type=int, default=1000, help="kernels that a compiler takes, each for two combinations")
    parser.add_argument("--hours", type=float, default=0.0, help="run until then, whatever the count")
    parser.add_argument("--seconds", type=float, default=0.0, help="stop after that time")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("WAVEJIT_PROGRAM_SEED", "0")), help="default: a fresh one, printed")
    parser.add_argument("--kernels", type=int, default=20, help="a file")
    parser.add_argument("--first", type=int, default=0, help="number of the first file of the seed")
    parser.add_argument("--combination", type=Combination.parse, help="only that, e.g. clang15-O3-gfx906")
    parser.add_argument("--one", action="store_true", help="one combination, which the seed draws")
    parser.add_argument("--engine", action="append", default=[], help="only that; may be repeated: interpreter, avx2, avx512, avx2-switches, ...")
    parser.add_argument("--quick", action="store_true", help="only combinations of the newest compiler, without -O0")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time")
    parser.add_argument("--reduce", type=float, default=300.0, help="seconds for reducing a difference")
    parser.add_argument("--summary", action="store_true", help="only print what the state folder has")
    return parser.parse_args()


def print_summary(state: pathlib.Path) -> None:
    ran: collections.Counter[str] = collections.Counter()
    bad: collections.Counter[str] = collections.Counter()
    results = state / "results.jsonl"
    for line in results.read_text().splitlines() if results.exists() else []:
        row = json.loads(line)
        for c in row["combinations"]:
            ran[c] += row["kernels"]
        for d in row["differences"]:
            bad[d["combination"]] += 1
    for c in sorted(ran):
        print(f"{c:20} {ran[c]:8} kernels {bad[c]:6} differences")
    print(f"{'all':20} {sum(ran.values()):8} kernels {sum(bad.values()):6} differences")


class Campaign:
    """Runs files of programs, several at a time, until there are enough, and keeps what they show."""

    def __init__(self, options: argparse.Namespace, seed: int) -> None:
        self.options = options
        self.seed = seed
        self.only = [options.combination] if options.combination else self.draw(0, 1) if options.one else None
        self.start = time.monotonic()
        self.deadline = self.start + (options.hours * 3600 if options.hours else options.seconds or 1e9)
        self.lock = threading.Lock()
        self.next = options.first
        self.drawn = 0  # kernels, without those that no compiler takes
        self.refused = 0  # those
        self.ran = self.bad = 0

    def draw(self, index: int, count: int) -> list[Combination]:
        return toolchain.drawn(toolchain.combinations(self.options.quick), self.seed, index, count)

    def run(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for done in [pool.submit(self.work) for _ in range(self.options.jobs)]:
                done.result()

    def work(self) -> None:
        with tempfile.TemporaryDirectory(prefix="wavejit-programs-") as folder:
            programs = Programs(self.options.build.resolve(), pathlib.Path(folder))
            while file := self.take():
                self.run_file(programs, *file)

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

    def run_file(self, programs: Programs, number: int, kernels: int) -> None:
        file_seed = f"{self.seed}:{number}"
        combinations = self.only or self.draw(number, COMBINATIONS)
        text = kernel.make_file([kernel.make_kernel(file_seed, i) for i in range(kernels)], str(toolchain.HEADER))
        # A seed of its own for arguments and switches.
        run_seed = int(re.sub(r"\D", "", file_seed)) % 10**12
        language = kernel.language_of(file_seed)
        outcome = programs.run(text, language, combinations, run_seed, self.options.engine)
        refused = {str(d.combination) for d in outcome.differences if d.how == "COMPILER"}
        row = {
            "seed": file_seed,
            "kernels": kernels,
            "language": language.value,
            "combinations": sorted({str(c) for c in combinations} - refused),
            "differences": [dataclasses.asdict(d) | {"combination": str(d.combination)} for d in outcome.differences],
        }  # fmt: skip
        with self.lock:
            if not row["combinations"]:
                self.drawn -= kernels
                self.refused += kernels
            self.ran += outcome.ran
            self.report(outcome, file_seed)
            with (self.options.state / "results.jsonl").open("a") as results:
                results.write(json.dumps(row) + "\n")
            seconds = time.monotonic() - self.start
            print(f"programs: file {file_seed}: {outcome.ran} kernels, {language.value}, {' '.join(map(str, combinations))}, {seconds:.0f} s", flush=True)
        self.keep_differences(programs, outcome, run_seed, number)

    def report(self, outcome: Outcome, file_seed: str) -> None:
        if outcome.generator:
            print(f"programs: file {file_seed}: the generator's fault: {outcome.generator}", flush=True)
            self.bad += 1
        for d in outcome.differences:
            print(f"{d.how} file {file_seed} {d.kernel} {d.engine} {d.combination} {d.text}", flush=True)
            if d.how != "COMPILER":
                self.bad += 1

    def keep_differences(self, programs: Programs, outcome: Outcome, run_seed: int, number: int) -> None:
        options, seen = self.options, set()
        for d in outcome.differences:
            if d.how == "COMPILER" or (d.kernel, d.combination) in seen:
                continue
            seen.add((d.kernel, d.combination))
            if options.reduce > 0:
                folder = options.state / "differences"
                print("programs: " + save_and_reduce(programs, run_seed, f"{self.seed}:{number}", d, folder, options.reduce), flush=True)
                continue
            again = f"scripts/programs.sh --build {options.build} --seed {self.seed} --first {number} --combination {d.combination}"
            print(f"programs: again, and reduced: {again} --kernels {options.kernels} --count {options.kernels}", flush=True)


def main() -> int:
    options = parse()
    if options.summary:
        print_summary(options.state)
        return 0
    if not (runner := options.build / RUNNER).exists():
        sys.exit(f"programs: there is no {runner}: build it first, or name a build folder with --build")
    seed = options.seed or secrets.randbelow(10**9) + 1
    print(f"programs: seed {seed}", flush=True)
    options.state.mkdir(parents=True, exist_ok=True)
    campaign = Campaign(options, seed)
    campaign.run()
    print(f"programs: {campaign.ran} kernels, {campaign.bad} differences, seed {seed}, {time.monotonic() - campaign.start:.0f} s")
    return 1 if campaign.bad or not campaign.ran else 0


if __name__ == "__main__":
    sys.exit(main())
