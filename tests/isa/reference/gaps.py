"""not_covered.txt: the cases that evaluate.py does not cover, with reasons."""
import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import assembly
import control
import execute
from machine import NotCovered

LIST = Path(__file__).resolve().parent / "not_covered.txt"


class Entry:
    def __init__(self, line):
        match = re.fullmatch(r"(file|instruction|case|unsupported)(?: ([^:]+))?: (.+)", line)
        if not match:
            raise ValueError(f"{LIST.name}: {line}")
        self.line, self.kind, self.pattern, self.reason = line, *match.groups()
        self.used = False

    def names(self, case):
        if self.kind == "unsupported":
            return bool(case.unsupported)
        if self.kind == "file":
            return fnmatch(case.path, self.pattern)
        if self.kind == "case":
            return f"{case.path} {case.name}" == self.pattern
        return any(fnmatch(mnemonic(line), self.pattern) for line in case.assembly)


@cache
def mnemonic(line):
    return assembly.parse_line(line).name


@cache
def is_known(line):
    """Whether anything here executes a line of assembly."""
    if line.startswith(".") or re.fullmatch(r"\w+:", line):
        return not line.startswith(".")
    instruction = assembly.parse_line(line)
    return execute.handler(instruction) is not None or instruction.name in control.NAMES


def entries():
    lines = [line.strip() for line in LIST.read_text().split("\n")]
    return [Entry(line) for line in lines if line and not line.startswith("#")]


def check(cases, problems):
    """Whether the list has something that is covered, or lacks something that is not; prints what. Listed cases are
    evaluated, of others every instruction must be known."""
    failed = False
    listed = entries()

    def fail(text):
        nonlocal failed
        failed = True
        print(text)

    for case in cases:
        found = [e for e in listed if e.names(case)]
        for entry in found:
            entry.used = True
        where = f"{case.path}:{case.line + 1}: {case.name}"
        if not found:
            for line in case.assembly:
                if not is_known(line):
                    fail(f"{where}: not covered and not in {LIST.name}: {line}")
            continue
        try:
            problems(case)
            fail(f"{where}: covered, but in {LIST.name}: {found[0].line}")
        except NotCovered:
            pass
    for entry in listed:
        if not entry.used:
            fail(f"{LIST.name}: no case: {entry.line}")
    return failed


def is_listed(case, listed):
    return any(entry.names(case) for entry in listed)
