#!/usr/bin/env python3
"""Checks that facts with one home have no second one, and that processors in scripts and CMake exist.

    tests/rooms/homes.py [ROOT]
"""

import pathlib
import re
import sys

SOURCES = ["include", "frontend", "ir", "backend-x86", "runtime", "tools"]

# Fact, pattern of its text (white space does not count), home. Tests may have a copy of their own: that is what they compare with.
FACTS = [
    ("MODE's rounding as MXCSR has it", r"\{0,2,1,3\}|2u<<13,1u<<13", "include/internal/semantics/rounding.h"),
    ("MXCSR with all exceptions masked", r"0x1f80", "include/internal/semantics/rounding.h"),
    ("whether an address is canonical", r"<<16\)>>16==|>>47==0x1ffff", "include/internal/host_address.h"),
    ("edit distance", r"boolsame=.*tolower|std::min\(\{above\+1|row\[j\]\+1,row\[j-1\]\+1", "include/internal/edit_distance.h"),
    ("copies of instructions", r"->imm2=\w+(->|\.)imm2", "ir/clone.h"),
]
# Where the text means something else.
ELSEWHERE = {}

MOST_PROCESSORS = 5  # literal ones in a list of a script; more: scripts/representatives.sh


def check_facts(root):
    for name, pattern, home in FACTS:
        found = set()
        for folder in SOURCES:
            for path in sorted((root / folder).rglob("*")):
                if path.suffix not in (".h", ".cpp", ".def", ".inc"):
                    continue
                text = "\n".join(line.split("//")[0] for line in path.read_text().splitlines())
                if re.search(pattern, re.sub(r"\s+", "", text)):
                    found.add(str(path.relative_to(root)))
        if home not in found:
            yield f"{name}: not in its home {home}: move the row of tests/rooms/homes.py with it"
        for other in sorted(found - {home}):
            if (name, other) not in ELSEWHERE:
                yield f"{other}: {name} has a home, {home}"


def check_processors(root):
    known = set(re.findall(r"^  (gfx[0-9a-f]+),$", (root / "frontend/isa/target.h").read_text(), re.M))
    files = [*(root / "scripts").rglob("*.sh"), *(root / "cmake").rglob("*.cmake"), *(root / "tests").rglob("CMakeLists.txt"),
             *(root / "perf").rglob("CMakeLists.txt")]
    representatives = re.findall(r"^WAVEJIT_REPRESENTATIVE\((gfx\w+)\)$", (root / "frontend/isa/tables/representatives.def").read_text(), re.M)
    for name in representatives:
        if name not in known:
            yield f"frontend/isa/tables/representatives.def: {name} is no processor of frontend/isa/target.h"
    for path in sorted(files):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            names = re.findall(r"\bgfx(?:[6-9]\d[0-9a-f]|\d{4})\b", line)
            for name in names:
                if name not in known and "unknown" not in line and "other" not in line:
                    yield f"{path.relative_to(root)}:{number}: {name} is no processor of frontend/isa/target.h"
            if path.suffix == ".sh" and not line.lstrip().startswith("#") and len(set(names)) > MOST_PROCESSORS:
                yield f"{path.relative_to(root)}:{number}: a list of processors; scripts/representatives.sh prints one"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    problems = [*check_facts(root), *check_processors(root)]
    print("\n".join(problems) or f"homes: {len(FACTS)} facts, one home each")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
