#!/usr/bin/env python3
"""Computes what *.isa files expect from what they give, and compares. README.md has the details.

  evaluate.py [FILES...]          every case: equal, different or not covered; a summary, and what differs
  evaluate.py --sample N          N cases that a seed draws: --seed S; without it a number made of all the files' text
  evaluate.py --write FILES...    rewrites expected sections; lines that hold stay as they are
  evaluate.py --check-list        whether not_covered.txt names all that is not covered and nothing else

Exit status: 0 nothing differs, and not_covered.txt names all that is not covered; 1 otherwise."""
import argparse
import random
import re
import sys
import zlib
from pathlib import Path

import assembly
import cases
import execute
import gaps
from machine import Machine, NotCovered

LACKED = re.compile(r"\bgds\b|^v_mfma_f32_\w+x\d+bf16\b")  # what gfx942 has not, and the documents' text of gfx90a decides
ROOT = Path(__file__).resolve().parent.parent


def initial_state(case, target):
    machine = Machine(target)
    machine.mode = case.mode
    machine.exec = case.exec_mask
    for assignment in case.initial:
        cases.apply(assignment, machine)
    machine.vccz = machine.vcc == 0
    return machine


def stood_for(case):
    """gfx942 if gfx90a stands for it."""
    stated = "gfx942" in case.targets + case.excluded or "gfx90a" not in case.targets
    return [] if stated or any(LACKED.search(line) for line in case.assembly) else ["gfx942"]


def final_states(case):
    """(target, state before, state after), of the first target alone if the instructions do not depend on it."""
    if case.unsupported:
        raise NotCovered("unsupported")
    program = assembly.parse(case.assembly)
    for target in case.targets + stood_for(case):
        before = initial_state(case, target)
        after = before.copy()
        execute.run(after, program)
        yield target, before, after
        if not after.asked_target:
            return


def problems(case):
    """Places where file and evaluation differ."""
    result = []
    for target, before, after in final_states(case):
        named = {}
        for a in case.expected:
            units = [a.index + 4 * i for i in range(len(a.values))] if a.where in ("lds", "mem") else [a.index + i for i in range(a.dwords)]
            named.setdefault(a.where, set()).update(units)
            if not cases.holds(a, after):
                result.append(f"{target}: {cases.rendered(a.where, a.index, a.dwords, after, len(a.values))[:200]}")
        for where, index in before.differences(after):
            if index not in named.get(where, ()):
                result.append(f"{target}: not named: {cases.rendered(where, index, 1, after)[:200]}")
    return result


def read(paths):
    for path in paths:
        yield path, cases.parse(str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path), path.read_text())


def seed_of(files):
    """Another one whenever a file changes, the same on every machine."""
    seed = 0
    for path in files:
        seed = zlib.crc32(path.read_bytes(), seed)
    return seed


def all_files():
    return sorted(ROOT.rglob("*.isa"))


def report(selected, quiet):
    """The number of differences, and of cases that are not covered without not_covered.txt saying so."""
    listed = gaps.entries()
    unlisted = 0
    counts = {"equal": 0, "different": 0, "not covered": 0}
    for case in selected:
        why = ""
        try:
            found = problems(case)
            verdict = "different" if found else "equal"
        except NotCovered as reason:
            verdict, why, found = "not covered", str(reason), []
        counts[verdict] += 1
        surprise = verdict == "not covered" and not gaps.is_listed(case, listed)
        unlisted += surprise
        if verdict == "different" or surprise or not quiet:
            print(f"{case.path}:{case.line + 1}: {case.name}: {verdict}{': ' + why if why else ''}")
            for line in found:
                print(f"    {line}")
    print(", ".join(f"{n} {name}" for name, n in counts.items()))
    return counts["different"] + unlisted


def write(path):
    text = path.read_text()
    lines = text.split("\n")
    for case in reversed(cases.parse(str(path), text)):
        try:
            states = list(final_states(case))
        except NotCovered as why:
            print(f"{path}:{case.line + 1}: {case.name}: not covered: {why}")
            continue
        sections = {tuple(cases.expected_lines(case, lines, before, after)) for _, before, after in states}
        if len(sections) != 1:
            print(f"{path}:{case.line + 1}: {case.name}: targets differ: make it a case for each")
            continue
        start = max(i for i in range(case.line, case.end) if lines[i].split("#")[0].rstrip() == "---") + 1
        old = {a.line for a in case.expected}
        comments = [lines[i] for i in range(start, case.end) if i not in old]
        lines[start : case.end] = comments + list(sections.pop())
    new = "\n".join(lines)
    if new != text:
        path.write_text(new)
        print(f"{path}: rewritten")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check-list", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="differences and the summary only")
    arguments = parser.parse_args()
    files = [f.resolve() for f in arguments.files] or all_files()
    if arguments.write:
        for path in files:
            write(path)
        return 0
    everything = [case for _, found in read(files) for case in found]
    failed = False
    if arguments.check_list:
        failed = gaps.check(everything, problems)
    if arguments.sample is not None:
        seed = seed_of(files) if arguments.seed is None else arguments.seed
        print(f"seed {seed}")
        everything = random.Random(seed).sample(everything, min(arguments.sample, len(everything)))
    if arguments.sample is not None or not arguments.check_list:
        failed |= report(everything, arguments.quiet) != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
