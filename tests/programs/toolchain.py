"""Compilers, levels and targets, and how a program's text becomes code objects and a library of the host."""

import dataclasses
import enum
import itertools
import os
import pathlib
import random
import shutil
import signal
import subprocess
from collections.abc import Sequence

HEADER = pathlib.Path(__file__).resolve().parent / "program.h"
LEVELS = ("O0", "O1", "O3", "Os")
# Which compilers are used for a target. None needs device libraries, as programs call no library.
TARGETS = {
    "gfx803": (14, 15, 19), "gfx900": (14, 15, 19), "gfx906": (14, 15, 19), "gfx908": (14, 15, 19), "gfx90a": (14, 15, 19), "gfx942": (19,),
}  # fmt: skip
# The compilers that this system has, and the one that compiles for the host.
INSTALLED = tuple(c for c in (14, 15, 19) if shutil.which(f"clang-{c}"))
HOST = 15 if 15 in INSTALLED else 19
LINKER = next((name for name in ("ld.lld-19", "ld.lld-15", "ld.lld-14") if shutil.which(name)), "ld.lld")
# Seconds for one run of a compiler, on a machine that may be busy; clang 15 does not end on some programs.
LIMIT = 180
# Bytes of memory for it: some programs make clang 19 take more and more.
MEMORY = 6 << 30


class Language(enum.Enum):
    """What a file is written in for the GPU; the value is clang's name of it."""

    OPENCL_C = "cl"
    HIP = "hip"


@dataclasses.dataclass(frozen=True, order=True)
class Combination:
    compiler: int
    level: str
    target: str

    def __str__(self) -> str:
        return f"clang{self.compiler}-{self.level}-{self.target}"

    @staticmethod
    def parse(text: str) -> "Combination":
        compiler, level, target = text.split("-")
        return Combination(int(compiler.removeprefix("clang")), level, target)


def combinations(quick: bool = False, levels: Sequence[str] = LEVELS) -> list[Combination]:
    """quick: without the first level, and those of the newest compiler, which ends soon and has the fewest known defects, whose code is quick
    to translate."""
    compilers = INSTALLED[-1:] if quick else INSTALLED
    return [Combination(c, level, t) for t, cs in TARGETS.items() for c, level in itertools.product(cs, levels[quick:]) if c in compilers]


def drawn(everything: list[Combination], seed: int, index: int, count: int) -> list[Combination]:
    """The combinations of a file: all come equally often, in an order that the seed decides."""
    result = []
    for k in range(index * count, (index + 1) * count):
        order = random.Random(f"{seed} {k // len(everything)}").sample(everything, len(everything))
        result.append(order[k % len(everything)])
    return result


class CompilerError(Exception):
    """A compiler has failed; the text is the end of what it says."""


def _run(command: list[str]) -> None:
    with subprocess.Popen(["prlimit", f"--as={MEMORY}", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, process_group=0) as process:
        try:
            _, errors = process.communicate(timeout=LIMIT)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)  # clang has processes of its own
            if isinstance(error, subprocess.TimeoutExpired):
                raise CompilerError(f"{command[0]} did not end within {LIMIT} s") from None
            raise
    if process.returncode != 0:
        lines = [line for line in errors.splitlines() if "error:" in line]
        raise CompilerError("; ".join(lines[:1]) or errors[-500:])


def compile_device(source: pathlib.Path, output: pathlib.Path, combination: Combination, language: Language, more: Sequence[str] = ()) -> None:
    object_ = output.with_suffix(".o")
    c = combination
    match language:
        case Language.OPENCL_C:
            flags = ["-target", "amdgcn-amd-amdhsa", f"-mcpu={c.target}", "-x", "cl", "-cl-std=CL2.0", "-cl-fp32-correctly-rounded-divide-sqrt"]
        case Language.HIP:  # HIP divides correctly rounded by default
            flags = ["-x", "hip", "-std=c++17", f"--offload-arch={c.target}", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-Wno-c++11-narrowing"]
    flags += ["-ffp-contract=off", "-Xclang", "-fdenormal-fp-math-f32=ieee"]
    if c.compiler == 19:
        # It takes SDWA subtractions for commutative, so that a - b and b - a become one instruction.
        flags += ["-mllvm", "-disable-machine-cse"]
        # It takes x >> 16 & 255 for the upper half of x where that is an operand of SDWA.
        flags += ["-mllvm", "-amdgpu-sdwa-peephole=0"]
        # Loops around calls by pointer lose the upper half of a 64-bit argument.
        flags += ["-mllvm", "-amdgpu-opt-vgpr-liverange=0"]
    if c.compiler == 19 and c.target == "gfx908":  # A private array kept in AGPRs loses an element's new value.
        flags += ["-mllvm", "-disable-copyprop"]
    if c.compiler < 19:  # LLVM would keep calls of memcpy, for which there is no function
        flags += ["-mllvm", f"-amdgpu-mem-intrinsic-expand-size={16 if c.level == 'Os' else 64}"]
        # Arrays of bytes in registers: it writes 16 bits where an element has 8.
        flags += ["-mllvm", "-disable-promote-alloca-to-vector"]
    if c.compiler == 19 and c.target == "gfx803":  # Spilled SGPRs are reloaded over what other lanes of a register hold.
        flags += ["-mllvm", "-amdgpu-spill-sgpr-to-vgpr=0"]
    if c.target == "gfx803":  # M0, the bound of LDS there, is set once for all code around calls, whose functions change it.
        flags += ["-mllvm", "-amdgpu-enable-merge-m0=0"]
    command = [f"clang-{c.compiler}", *flags, *more, f"-{c.level}", "-w", "-fno-crash-diagnostics", "-nogpulib", "-mcode-object-version=4", "-c", str(source), "-o"]
    if language == Language.HIP:  # clang links
        _run([*command, str(output)])
        return
    _run([*command, str(object_)])
    _run([LINKER, "-shared", "--no-undefined", "-o", str(output), str(object_)])
    object_.unlink()


def compile_host(source: pathlib.Path, output: pathlib.Path, language: Language, sanitize: bool = False, level: str = "O1") -> None:
    """A library with the kernels for the host; one that is sanitized ends the process at undefined behaviour. OpenCL C is C there, and
    HIP C++ is C++ without its library."""
    flags = ["-fsanitize=undefined,float-cast-overflow", "-fno-sanitize=function", "-fno-sanitize-recover=all", "-fsanitize-trap=all"] if sanitize else []
    _compile_host(source, output, language, [*flags, f"-{level}", "-w", "-shared", "-fPIC", "-fvisibility=hidden"])


def compile_checked(source: pathlib.Path, output: pathlib.Path) -> None:
    """A program of the host that ends with an error at undefined behaviour, accesses of wrong memory included. The text is HIP C++, and has
    a main() where PROGRAM_CHECKED is defined. The compiler fails for uses of variables without a value and for functions that return none.
    A loop that does not end stays, though C++ lets compilers leave it out."""
    flags = ["-fno-finite-loops", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize=function,vptr", "-fno-sanitize-recover=all", "-DPROGRAM_CHECKED"]
    _compile_host(source, output, Language.HIP, [*flags, "-O1", "-Wno-everything", "-Werror=return-type", "-Werror=uninitialized"])


def _compile_host(source: pathlib.Path, output: pathlib.Path, language: Language, flags: list[str]) -> None:
    match language:
        case Language.OPENCL_C:
            flags += ["-x", "c", "-std=gnu17"]
        case Language.HIP:
            flags += ["-x", "c++", "-std=gnu++17", "-nostdinc++", "-fno-exceptions", "-fno-rtti", "-Wno-c++11-narrowing"]
    _run([f"clang-{HOST}", "-mf16c", "-mfma", "-ffp-contract=off", *flags, "-o", str(output), str(source)])
