#!/usr/bin/env python3
"""gcc_offload.py TEST: a program of GCC's test suites whose kernels GCC compiles for an AMD GPU (OpenMP and OpenACC).

Tests are named by file: of libgomp's suite, run as they are, and of the C compiler's execute and vect suites, whose main() becomes the body
of an `omp target` region. The file's name decides between -O0, -O2 and -O3. GCC's plugin says on stderr what it dispatches; a test that
dispatches nothing is skipped. A program of the C compiler's suites passes if it ends on the device as it does on the host.
gcc_offload.py list: prints the tests. Both unpack the tests' source from the package gcc-N-source of the installed compiler.
"""

import fcntl
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

SOURCES = pathlib.Path(os.environ.get("GCC_OFFLOAD_SOURCES", "/opt/suites/gcc-offload"))
LEVELS = ("-O0", "-O2", "-O3")
SECONDS = 250
PATTERNS = ("*/libgomp/testsuite", "*/gcc/testsuite/gcc.c-torture/execute", "*/gcc/testsuite/gcc.dg/vect")
LIBGOMP, EXECUTE, VECT = "libgomp/testsuite", "gcc/testsuite/gcc.c-torture/execute", "gcc/testsuite/gcc.dg/vect"
OFFLOADS = re.compile(r"omp\s.*target|acc\s+(parallel|kernels|serial)", re.IGNORECASE)
# Tests that need what a GCN device, its C library or this script does not have, by what their source says.
LEFT_OUT = re.compile(
    r"dg-shouldfail|dg-require-alias|dg-xfail-run-if|dg-require-effective-target\s+\"?(openacc_cuda|openacc_cublas|openacc_cudart|openacc_nvidia"
    r"|offload_device_shared_as|offload_device_nvptx|cuda|signal|alloca|trampolines|label_values|fileio|indirect_jumps|int128)"
    r"|dg-skip-if[^}]*(radeon|amdgcn|gcn)|ACC_DEVICE_TYPE_nvidia|acc_[gs]et_cuda|__int128|long double|setjmp|signal\.h|_Complex|dg-do\s+(compile|link|preprocess|assemble)"
)
WRAPPER = """
#include <stdlib.h>
#pragma omp declare target
#define main body_of_the_test
{text}
#undef main
#pragma omp end declare target
int main(void) {{
  int status = 99;
#pragma omp target map(from : status)
  status = ((int (*)(int, char **))body_of_the_test)(0, 0);
  return status;
}}
"""


def compiler() -> tuple[pathlib.Path, str]:
    """The folder with the libraries of the newest compiler for devices, and its version."""
    found = glob.glob("/usr/lib/gcc/x86_64-linux-gnu/*/accel/amdgcn-amdhsa/crt0.o")
    if not found:
        raise SystemExit("There is no compiler for devices: install gcc-N-offload-amdgcn.")
    newest = max(map(pathlib.Path, found), key=lambda path: int(path.parts[-4]))
    return newest.parent, newest.parts[-4]


def sources(version: str) -> pathlib.Path:
    """The folder with the suites, which the first caller unpacks."""
    SOURCES.mkdir(parents=True, exist_ok=True)
    with open(SOURCES / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = SOURCES / version
        if not folder.exists():
            archive = glob.glob(f"/usr/src/gcc-{version}/gcc-*.tar.xz")[0]
            unpacked = SOURCES / f"{version}.partial"
            unpacked.mkdir(exist_ok=True)
            command = ["tar", "xJf", archive, "-C", str(unpacked), "--strip-components=1", "--wildcards", *PATTERNS]
            subprocess.run(command, check=True)
            unpacked.rename(folder)
    return folder


def names(root: pathlib.Path) -> list[str]:
    tests = []
    for suite, suffixes in ((LIBGOMP, ("c", "C", "f90")), (EXECUTE, ("c",)), (VECT, ("c",))):
        for suffix in suffixes:
            for path in sorted(p for p in (root / suite).rglob(f"*.{suffix}") if p.is_file() and "tsvc" not in p.parts):
                text = path.read_text(errors="replace")
                is_test = OFFLOADS.search(text) and "dg-do run" in text if suite == LIBGOMP else re.search(r"\bmain\s*\(", text)
                if is_test and not LEFT_OUT.search(text):
                    tests.append(str(path.relative_to(root)))
    return tests


def directives(text: str, name: str) -> list[str]:
    """The first arguments of a directive, where its selector is that of any system or of GCN devices."""
    found = re.findall(rf"{{\s*{name}\s+(?:\"([^\"]*)\"|(\S+))\s*(?:{{\s*target\s+([^}}]*)}})?[^}}]*}}", text)
    return [a or b for a, b, selector in found if selector.strip() in ("", "*-*-*") or re.match(r"[^!]*amdgcn", selector)]


def march(folder: pathlib.Path, target: str) -> str:
    """The name of the processor that the compiler has libraries for: its own, or the generic one of its family."""
    generic = "gfx9-4-generic" if target.startswith("gfx94") else "gfx9-generic"
    if target == "gfx803" and not (folder / target).exists():
        return "fiji"  # GCC 12's name
    return generic if (folder / generic).exists() and not (folder / target).exists() and target != "gfx90a" else target


def command_line(root: pathlib.Path, test: str, work: pathlib.Path) -> tuple[list[str], dict[str, str]]:
    folder, version = compiler()
    path = root / test
    text = path.read_text(errors="replace")
    level = LEVELS[zlib.crc32(test.encode()) % len(LEVELS)]
    processor = march(folder, os.environ["WAVEJIT_TARGET"].split(",")[0])
    language = {".c": "gcc", ".C": "g++", ".f90": "gfortran"}[path.suffix]
    command = [f"{language}-{version}", level, "-w", "-foffload=amdgcn-amdhsa", f"-foffload-options=amdgcn-amdhsa=-march={processor}"]
    # A wave's stack is 32 KiB by default: less than what some of the C compiler's programs have in local variables. The plugin adds up the
    # stacks of all waves in 32 bits; with 1 MiB that overflows on devices of 304 compute units.
    environment = {"GCN_DEBUG": "1", "GCN_STACK_SIZE": "262144"}
    if int(version) < 13:
        command.append("-foffload-options=amdgcn-amdhsa=-mstack-size=262144")
    if test.startswith(LIBGOMP):
        options = " ".join(directives(text, "dg-options") + directives(text, "dg-additional-options")).split()
        command += [option for option in options if "nvptx" not in option and not option.startswith(("-W", "-O", "--param", "-fopt-info", "-fdump"))]
        command += [str(path.parent / source) for source in " ".join(directives(text, "dg-additional-sources")).split()]
        if "oacc" in test:
            command += ["-fopenacc", "-DACC_DEVICE_TYPE_radeon=1", "-DACC_MEM_SHARED=0"]
            environment["ACC_DEVICE_TYPE"] = "radeon"
        else:
            command.append("-fopenmp")
        environment |= dict(re.findall(r"dg-set-target-env-var\s+\"?(\w+)\"?\s+\"([^\"]*)\"", text))
        command += [f"-I{path.parent}", f"-I{root / LIBGOMP}", str(path)]
    else:
        wrapped = work / "wrapped.c"
        # On a device, exit() ends one wave of the work-group, and GCC's library aborts the others.
        text = re.sub(r"\bexit\s*\(\s*0\s*\)\s*;", "return 0;", text)
        wrapped.write_text(WRAPPER.format(text=text))
        if test.startswith(VECT):  # found before the suite's own header, whose check_vect() asks the host's CPU what it has
            header = (root / VECT / "tree-vect.h").read_text()
            rest = re.split(r"\ncheck_vect \(void\)\n{.*?\n}\n", header, maxsplit=1, flags=re.DOTALL)[1]
            (work / "tree-vect.h").write_text(f"static void check_vect(void) {{}}\n{rest}")
        command += ["-std=gnu89" if test.startswith(EXECUTE) else "-std=gnu17", "-fpermissive", "-fopenmp", f"-I{path.parent}", str(wrapped)]
        environment["OMP_TARGET_OFFLOAD"] = "mandatory"
    return [*command, "-o", str(work / "program"), "-lm"], environment


def main() -> int:
    root = sources(compiler()[1])
    if sys.argv[1] == "list":
        print("\n".join(names(root)))
        return 0
    test = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        command, environment = command_line(root, test, work)
        made = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=work, check=False)
        if made.returncode != 0:
            print(f"{' '.join(command)}\n{made.stderr[-1000:]}")
            return 77

        def run(**more: str) -> tuple[int, str]:
            done = subprocess.run(
                [str(work / "program")], capture_output=True, text=True, errors="replace", cwd=work, check=False, timeout=SECONDS,
                env=os.environ | more,
            )  # fmt: skip
            return done.returncode, done.stdout + done.stderr

        expected = 0 if test.startswith(LIBGOMP) else run(OMP_TARGET_OFFLOAD="disabled")[0]
        if expected != 0:
            print(f"status {expected} on the host")
            return 77
        status, text = run(**environment)
        if "Going to dispatch kernel" not in text:
            print("nothing is dispatched")
            return 77 if status == 0 else 1
        text = "\n".join(line for line in text.splitlines() if "GCN debug" not in line)
        print(f"status {status}\n{text[-1500:]}" if status != 0 else "ok")
        return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
