#!/usr/bin/env python3
"""Checks that the rooms of the source tree include each other in one direction only.

    tests/rooms/rooms.py [ROOT]

A room is a folder of ROOMS. Its files include headers of its own and of rooms in front of it in the list.
"""

import pathlib
import re
import sys

ROOMS = ["include", "frontend/codeobject", "frontend/isa", "frontend/interp", "ir", "frontend/lift", "backend-x86/lir",
         "backend-x86/schedule", "backend-x86/regalloc", "backend-x86", "runtime/memory", "runtime/threads", "runtime/kernel", "runtime/translate",
         "runtime/launch", "runtime/shadow", "runtime/api", "runtime/hsa"]


def room_of(path):
    found = [room for room in ROOMS if path.startswith(room + "/")]
    return found[0] if found else None


def wrong_includes(root):
    files = 0
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".def"):
                continue
            files += 1
            for number, line in enumerate(path.read_text().splitlines(), 1):
                header = re.match(r'#include "([^"]*)"', line)
                other = header and room_of(header[1])
                if other and ROOMS.index(other) > ROOMS.index(room):
                    yield f"{path.relative_to(root)}:{number}: {room} includes {header[1]}, which is in a room behind it"
    if files == 0:
        yield f"{root} has no sources"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    problems = list(wrong_includes(root))
    print("\n".join(problems) or f"rooms: {len(ROOMS)}, in order")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
