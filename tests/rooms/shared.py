#!/usr/bin/env python3
"""Checks that the interpreter and the translator share the meaning of instructions in one folder only.

    tests/rooms/shared.py [ROOT] [--list]

What both include can be wrong in both, and no comparison between them finds it. So every header that files of the
interpreter (frontend/interp) and of the translator (frontend/lift, ir, backend-x86) both get to, through other headers
or not, is in the folder of shared semantics with a second opinion in OPINIONS, or in INFRASTRUCTURE with a reason why no
result depends on it. Entries that are no longer shared fail, too. --list prints all.
"""

import pathlib
import re
import sys

INTERPRETER = ["frontend/interp"]
TRANSLATOR = ["frontend/lift", "ir", "backend-x86"]
SEMANTICS = "include/internal/semantics"

# What else says what the header says, and shares nothing with it.
OPINIONS = {
    "data_format.h": "tests/formats (exact fractions in Python)",
    "image_access.h": "tests/formats (images.py, samples.py)",
    "transcendental.h": "tests/model (MPFR: bounds of approximations.def)",
    "exceptions.h": "tests/model (exact arithmetic and flags of MPFR: exceptions.cpp)",
    "rounding.h": "tests/model (MPFR in all 256 combinations of rounding and denormals)",
    "screen_partition.h": "tests/model (the formula that the manual has besides the table)",
    "clock.h": "tests/hsa (queue_test.cpp: a kernel's counter in terms of the frequency of its agent, against the host's clock)",
}

INFRASTRUCTURE = {
    "include/internal/check.h": "assertions",
    "include/internal/error.h": "how errors are returned",
    "include/internal/wave_state.h": "where registers are; what instructions make of them is each engine's own",
    "include/internal/trap_id.h": "numbers that tell the runtime why a wave has left",
    "include/internal/interrupt.h": "how a message gets to the host",
    "include/internal/host_address.h": "addresses of the host",
    "frontend/isa/decoder.h": "decoding: tests/isa_decode compares all encodings with LLVM's disassembler",
    "frontend/isa/instruction.h": "decoded instructions",
    "frontend/isa/opcode.h": "names of instructions",
    "frontend/isa/target.h": "names and features of processors",
    "frontend/isa/fidelity.h": "which instructions are unsupported: tests/isa/limits",
    "frontend/isa/info.h": "which LDS instructions exchange lanes, for profiles alone: tests/runtime/profile_test.cpp",
    "frontend/isa/exceptions.h": "rows of tables/exceptions.def, which semantics/exceptions.h interprets: tests/model",
}
TABLES = "frontend/isa/tables/"  # of the decoder, as above


def included(root, path):
    for line in (root / path).read_text(errors="replace").splitlines():
        header = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        for base in ("", "include", str(pathlib.Path(path).parent)) if header else ():
            if (root / base / header[1]).is_file():
                yield str(pathlib.PurePosixPath(base) / header[1]) if base else header[1]
                break


def reached(root, rooms):
    found = set()
    pending = [str(p.relative_to(root)) for room in rooms for p in (root / room).rglob("*") if p.suffix in (".h", ".cpp", ".def")]
    if not pending:
        sys.exit(f"{root} has no {', '.join(rooms)}")
    while pending:
        for header in included(root, pending.pop()):
            if header not in found:
                found.add(header)
                pending.append(header)
    return found


def problems_of(root, shared):
    for header in shared:
        if header.startswith(SEMANTICS + "/"):
            if pathlib.PurePosixPath(header).name not in OPINIONS:
                yield f"{header}: tests/rooms/shared.py names no second opinion on it"
        elif header not in INFRASTRUCTURE and not header.startswith(TABLES):
            yield f"{header}: interpreter and translator share it: move it to {SEMANTICS}, or give the reason in tests/rooms/shared.py"
    for header in [*INFRASTRUCTURE, *(f"{SEMANTICS}/{name}" for name in OPINIONS)]:
        if header not in shared:
            yield f"{header}: not shared any more: take it out of tests/rooms/shared.py"
    for path in (root / SEMANTICS).iterdir():
        if f"{SEMANTICS}/{path.name}" not in shared:
            yield f"{SEMANTICS}/{path.name}: not shared: it has no business in this folder"
    for name, opinion in OPINIONS.items():
        if not (root / opinion.split(" ")[0]).is_dir():
            yield f"{name}: no such second opinion: {opinion}"


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("-")]
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    shared = sorted(reached(root, INTERPRETER) & reached(root, TRANSLATOR))
    if "--list" in sys.argv:
        for header in shared:
            name = pathlib.PurePosixPath(header).name
            reason = OPINIONS.get(name) if header.startswith(SEMANTICS) else INFRASTRUCTURE.get(header, "tables of the decoder")
            print(f"{header}: {reason}")
    problems = list(problems_of(root, shared))
    print("\n".join(problems) or f"shared: {len(shared)} headers, {len(OPINIONS)} of them semantics, each with a second opinion")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
