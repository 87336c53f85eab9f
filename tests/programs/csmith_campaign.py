"""Runs programs of Csmith as kernels, each compiled for one combination of compiler, level and target and for the host, and compares what
engines and host make of them. Programs that AddressSanitizer or UndefinedBehaviorSanitizer find fault with, or that take long, are dropped.

Differences between engines are reduced by cvise. If all engines agree and the host does not, other compilers and levels are asked."""

import argparse
import dataclasses
import pathlib
import shutil
import subprocess
import sys
import tempfile

import csmith
import series
import toolchain
from execution import Compiled, Difference, Outcome, Programs
from toolchain import Combination, CompilerError, Language

HEADER = pathlib.Path(__file__).resolve().parent / "csmith.h"
# CPU seconds of the sanitized program, and seconds altogether.
CHECKED_CPU, CHECKED = 1, 30
# Scratch for the frames of functions whose callees compilers do not know; less than this is not enough for some programs without optimisation.
SCRATCH = 65536
# Runs that follow the first one: what their engines are called, and the environment of the runner.
ALWAYS = "+lane-loops"
LANE_LOOPS = {"WAVEJIT_LANE_LOOPS": "always"}
TRANSLATED = ("avx2", "avx512")


def fault(programs: Programs, text: str) -> str:
    """Why a program's host build must not be compared; empty if it may."""
    source, checked = programs.folder / "checked.c", programs.folder / "checked"
    source.write_text(text)
    try:
        toolchain.compile_checked(source, checked)
        done = subprocess.run(["prlimit", f"--cpu={CHECKED_CPU}", str(checked)], capture_output=True, text=True, timeout=CHECKED, errors="replace")
    except CompilerError as error:
        return f"compiler: {error}"
    except subprocess.TimeoutExpired:
        return "takes long"
    if done.returncode < 0:
        return "takes long"
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        return lines[0][-160:] if lines else f"status {done.returncode}"
    return ""


def compile_program(programs: Programs, program: csmith.Program, combinations: list[Combination]) -> Compiled:
    flags = ["-mllvm", f"-amdgpu-assume-external-call-stack-size={SCRATCH}"] if program.scratch_unknown else []
    return programs.compile(program.text, Language.HIP, combinations, flags=flags)


def execute(programs: Programs, compiled: Compiled, seed: int, only: list[str]) -> Outcome:
    """On all engines, or on some, and translated once more with loops executed for one lane after the other."""
    plain = [engine for engine in only if not engine.endswith(ALWAYS)]
    lanes = [engine.removesuffix(ALWAYS) for engine in only if engine.endswith(ALWAYS)] if only else list(TRANSLATED)
    outcomes = [programs.execute(compiled, seed, plain)] if plain or not only else []
    if lanes and compiled.objects:
        again = programs.execute(dataclasses.replace(compiled, failed=[]), seed, lanes, variables=LANE_LOOPS)
        for d in again.differences:
            d.engine += ALWAYS
        again.engines = frozenset(engine + ALWAYS for engine in again.engines)
        outcomes.append(again)
    outcome = outcomes[0]
    for again in outcomes[1:]:
        outcome.differences += again.differences
        outcome.engines |= again.engines
        outcome.generator = outcome.generator or again.generator
    return outcome


def _result(difference: Difference) -> str:
    return difference.text.split(" without ")[0]


def join_agreeing(outcome: Outcome) -> None:
    """Puts one difference, of the host, in the place of those of all engines, if these agree or all report a fault."""
    for how in ("DIFFERENCE", "FAILURE"):
        found = [d for d in outcome.differences if d.how == how]
        if found and {d.engine for d in found} == outcome.engines and (how == "FAILURE" or len({_result(d) for d in found}) == 1):
            outcome.differences = [d for d in outcome.differences if d.how != how]
            outcome.differences.append(dataclasses.replace(found[0], how="HOST", engine="interpreter", text=_result(found[0])))


def opinions(programs: Programs, program: csmith.Program, difference: Difference, seed: int) -> str:
    """What the interpreter makes of the code of all compilers and levels for the target; a line for each."""
    c = difference.combination
    lines = []
    for compiler in toolchain.TARGETS[c.target]:
        if compiler not in toolchain.INSTALLED:
            continue
        combinations = [Combination(compiler, level, c.target) for level in Csmith.levels]
        compiled = compile_program(programs, program, combinations)
        outcome = programs.execute(compiled, seed, ["interpreter"])
        for other in combinations:
            texts = {_result(d) for d in outcome.differences if d.combination == other}
            lines.append(f"{other}: {', '.join(sorted(texts)) or 'as the host'}")
    return "\n".join(lines)


def differs(programs: Programs, text: str, scratch_unknown: bool, difference: Difference, seed: int) -> bool:
    """Whether a program is sound and shows the difference, on its engine and not on the interpreter as well."""
    compiled = compile_program(programs, csmith.Program(text, scratch_unknown), [difference.combination])
    engines = {difference.engine, "interpreter"}
    outcome = execute(programs, compiled, seed, sorted(engines))
    bad = {(d.engine, d.how) for d in outcome.differences}
    expected = (difference.engine, difference.how)
    alone = difference.engine == "interpreter" or all(engine != "interpreter" for engine, _ in bad)
    return not outcome.generator and expected in bad and alone and not fault(programs, text)


class Csmith(series.Series):
    """One program of Csmith is a file."""

    name = "csmith"
    levels = ("O0", "O1", "O2", "O3", "Os")

    def run_file(self, programs: Programs, file_seed: str, run_seed: int, kernels: int, combinations: list[Combination]) -> series.FileResult:
        try:
            program = csmith.make_program(file_seed, str(HEADER))
        except csmith.NoProgram as error:
            return series.FileResult(Outcome(0, []), f"dropped ({error})")
        if reason := fault(programs, program.text):
            return series.FileResult(Outcome(0, []), f"dropped ({reason})")
        outcome = execute(programs, compile_program(programs, program, combinations), run_seed, self.options.engine)
        if outcome.generator:
            return series.FileResult(Outcome(0, []), f"dropped ({outcome.generator})")
        join_agreeing(outcome)
        return series.FileResult(outcome, Language.HIP.value)

    def keep(self, programs: Programs, file_seed: str, run_seed: int, difference: Difference) -> str:
        program = csmith.make_program(file_seed, str(HEADER))
        folder = self.options.state / "differences"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{difference.combination}-{file_seed.replace(':', '-')}"
        full = folder / f"{name}.full.hip"
        full.write_text(program.text)
        if difference.how == "HOST":
            said = opinions(programs, program, difference, run_seed)
            full.with_suffix(".txt").write_text(said + "\n")
            return f"{name}: {full}; the interpreter on other code of it:\n{said}"
        if not shutil.which("cvise"):
            return f"{name}: {full}; not reduced: there is no cvise (Debian: cvise)"
        return f"{name}: {self.reduce(program, folder / f'{name}.hip', difference, run_seed)}"

    def reduce(self, program: csmith.Program, output: pathlib.Path, difference: Difference, seed: int) -> str:
        """cvise calls this file for each attempt."""
        with tempfile.TemporaryDirectory(prefix="wavejit-cvise-") as folder:
            text, check = pathlib.Path(folder, "program.c"), pathlib.Path(folder, "check.sh")
            text.write_text(program.text)
            question = ["--check", "program.c", "--build", str(self.options.build.resolve()), "--combination", str(difference.combination), "--seed", str(seed)]
            question += ["--engine", difference.engine, "--how", difference.how, *(["--scratch-unknown"] if program.scratch_unknown else [])]
            check.write_text(f"#!/bin/sh\nexec {sys.executable} -B {pathlib.Path(__file__).resolve()} {' '.join(question)}\n")
            check.chmod(0o755)
            limit = ["timeout", "-s", "INT", str(self.options.reduce)]
            subprocess.run([*limit, "cvise", "--n", "1", "--timeout", "120", check.name, text.name], cwd=folder, capture_output=True)
            output.write_text(f"// {difference.how} {difference.engine} {difference.combination}, runner: --seed {seed}\n{text.read_text()}")
        return str(output)


def parse() -> argparse.Namespace:
    parser = series.parser(__doc__, "build/csmith", "programs that are sound and that a compiler takes")
    parser.add_argument("--resume", action="store_true", help="go on behind the last file of the state folder, with its seed")
    parser.add_argument("--check", type=pathlib.Path, help="only whether this file is sound and differs (for cvise), by exit code")
    parser.add_argument("--how", default="DIFFERENCE", help="with --check: the kind of difference")
    parser.add_argument("--scratch-unknown", action="store_true", help="with --check: compilers do not know how much scratch the file's functions take")
    parser.set_defaults(kernels=1)
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.check:
        difference = Difference(options.how, "k0", options.engine[0], options.combination, "")
        with tempfile.TemporaryDirectory(prefix="wavejit-csmith-") as folder:
            programs = Programs(options.build, pathlib.Path(folder))
            return 0 if differs(programs, options.check.read_text(), options.scratch_unknown, difference, options.seed) else 1
    if not options.summary and not csmith.installed():
        sys.exit("csmith: there is no csmith or its header csmith/safe_math.h (Debian: csmith libcsmith-dev)")
    done = series.rows(options.state) if options.resume else []
    if done:
        last = done[-1]["seed"].split(":")[0]
        options.seed = int(last)
        options.first = 1 + max(int(row["seed"].split(":")[1]) for row in done if row["seed"].startswith(f"{last}:"))
    return Csmith.main(options)


if __name__ == "__main__":
    sys.exit(main())
