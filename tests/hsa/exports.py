#!/usr/bin/env python3
"""Compares what wavejit's HSA library exports with what ROCm's exports, names and versions.

    exports.py check OURS LIST... [--library PATH]...   fails if OURS lacks a symbol of a list, or of a library that exists
    exports.py list LIBRARY                             prints a list: exports/RELEASE.txt was written so

The lists are of Debian's libhsa-runtime64-1: 5.2 (bookworm), 6.1 (trixie), 6.4 (sid) and 7.2 (experimental). To write one:

    apt-get download libhsa-runtime64-1 && dpkg-deb -x libhsa-runtime64-1_*.deb root
    exports.py list root/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1 > exports/RELEASE.txt
"""

import argparse
import os
import subprocess
import sys


def exports(library):
    """Names with versions, as nm prints them: hsa_init@@ROCR_1. Version nodes themselves are absolute symbols (A)."""
    output = subprocess.run(["nm", "-D", "--with-symbol-versions", "--defined-only", library], check=True,
                            capture_output=True, text=True).stdout
    lines = (line.split() for line in output.splitlines())
    return {fields[2] for fields in lines if fields[1] != "A"}


def read_list(path):
    with open(path, encoding="utf-8") as file:
        return {line.strip() for line in file if line.strip()}


def check(ours, lists, libraries):
    own = exports(ours)
    expected = {path: read_list(path) for path in lists}
    for library in libraries:
        if not os.path.exists(library):
            print(f"{library}: not installed")
        elif os.path.realpath(library) != os.path.realpath(ours):
            expected[library] = exports(library)
    failed = False
    for path, symbols in expected.items():
        missing = sorted(symbols - own)
        failed = failed or bool(missing) or not symbols
        print(f"{path}: {len(symbols)} symbols, {len(missing)} missing", *missing)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    checking = commands.add_parser("check")
    checking.add_argument("ours")
    checking.add_argument("lists", nargs="+")
    checking.add_argument("--library", action="append", default=[])
    listing = commands.add_parser("list")
    listing.add_argument("library")
    arguments = parser.parse_args()
    if arguments.command == "list":
        print("\n".join(sorted(exports(arguments.library))))
        return 0
    return check(arguments.ours, arguments.lists, arguments.library)


if __name__ == "__main__":
    sys.exit(main())
