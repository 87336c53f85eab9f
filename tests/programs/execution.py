"""Compiles a file of programs for the host and for the GPU, runs it on all engines and says what differs."""

import dataclasses
import os
import pathlib
import subprocess
from collections.abc import Sequence

import toolchain
from toolchain import Combination, CompilerError, Language

RUNNER = "wavejit_programs"  # of a build folder
# Seconds for a launch, translation included, and for a file.
LAUNCH, RUN = 120, 1500


@dataclasses.dataclass
class Difference:
    """What the runner says of a kernel: `how` is "DIFFERENCE", "FAILURE" or "CRASH"; "COMPILER" is a compiler that has failed."""

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
    engines: frozenset[str] = frozenset()  # on which kernels have run


@dataclasses.dataclass
class Compiled:
    """A file's library of the host and its code objects. Without the host's, or without all others, no kernel runs."""

    host: pathlib.Path
    objects: list[pathlib.Path]
    failed: list[Difference]


class Programs:
    """Compiles and runs files of programs in a folder of their own."""

    def __init__(self, build: pathlib.Path, folder: pathlib.Path) -> None:
        self.runner = build / RUNNER
        self.folder = folder

    def compile(self, text: str, language: Language, combinations: list[Combination], sanitize: bool = False, flags: Sequence[str] = ()) -> Compiled:
        """`flags` are more options for the compilers of the GPU. Compilers that fail are differences, too."""
        source = self.folder / "program.c"
        source.write_text(text)
        compiled = Compiled(self.folder / "host.so", [], [])
        try:
            toolchain.compile_host(source, compiled.host, language, sanitize)
        except CompilerError as error:
            compiled.failed.append(Difference("COMPILER", "-", "host", combinations[0], str(error)))
            return compiled
        for c in combinations:
            output = self.folder / f"{c}.co"
            try:
                toolchain.compile_device(source, output, c, language, flags)
                compiled.objects.append(output)
            except CompilerError as error:
                compiled.failed.append(Difference("COMPILER", "-", "-", c, str(error)))
        return compiled

    def execute(self, compiled: Compiled, seed: int, engines: list[str], first: int = 0, variables: dict[str, str] | None = None) -> Outcome:
        """`variables` are more environment variables for the runner."""
        outcome = Outcome(0, list(compiled.failed))
        if not compiled.objects:
            return outcome
        command = [str(self.runner), "--seed", str(seed), "--first", str(first), "--timeout", str(LAUNCH)]
        for engine in engines:
            command += ["--engine", engine]
        environment = os.environ | {"WAVEJIT_STRICT": "1", "WAVEJIT_CHECK_ALLOCATION": "1"} | (variables or {})
        command += map(str, [compiled.host, *compiled.objects])
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN, env=environment, errors="replace")
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            output, code = (late.stdout or b"").decode(errors="replace"), 99
        lines = output.splitlines()
        for line in lines:
            words = line.split(" ", 4)
            if words[0] in ("DIFFERENCE", "FAILURE"):
                outcome.differences.append(Difference(words[0], words[2], words[3], _combination(words[1]), words[4]))
        launches = [line.split()[1:] for line in lines if line.startswith("AT ") and not line.startswith("AT host")]
        outcome.engines = frozenset(engine for _, _, engine in launches)
        last = next((line for line in reversed(lines) if line.startswith(("AT ", "RAN "))), "")
        if last.startswith("RAN "):
            outcome.ran = int(last.split()[1])
        elif last.startswith("AT host"):
            outcome.generator = f"{last}: status {code}"
        elif last:
            object_, name, engine = last.split()[1:]
            outcome.differences.append(Difference("CRASH", name, engine, _combination(object_), f"status {code}"))
            outcome.ran = len({(object_, name) for object_, name, _ in launches})
        elif not outcome.differences:  # else the runner has said which code object it does not load
            outcome.generator = f"no kernel has begun: status {code}"
        return outcome

    def run(
        self, text: str, language: Language, combinations: list[Combination], seed: int, engines: list[str], first: int = 0, sanitize: bool = False
    ) -> Outcome:
        return self.execute(self.compile(text, language, combinations, sanitize), seed, engines, first)


def _combination(path: str) -> Combination:
    return Combination.parse(pathlib.Path(path).stem)
