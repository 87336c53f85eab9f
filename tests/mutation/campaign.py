#!/usr/bin/env python3
"""Mutation testing: do the tests find faults that are put into lifter, passes, backend and runtime?

    campaign.py [--state DIR] [--seed S] [--mutants N] [--jobs J] [--longest SECONDS] [--seconds SECONDS]
                [--only REGEX] [--again REGEX] [--retry]
    campaign.py [--state DIR] --summary          counts by room and operator, survivors with their reasons
    campaign.py [--state DIR] --show NUMBER      the fault's place and text, and what tests reach it

Draws N faults (default 240, as many in each room and, where there are sites, of each operator) from all sites (operators.py) by a seed,
which is printed, and compiles them into a copy of the repository, all together, where WAVEJIT_MUTANT chooses one. The tests that ctest
lists run once without faults, and which ones they reach is written down. Each fault meets the tests that reach it, quickest first
(one of each group of similar tests, then two more of each, and so on), until one fails, hangs, or dies; that test must pass without the fault then, and fail once more with it. Tests that take longer than
--longest are left out, a mutant gets --seconds of tests (default 600; of the processor, as all these). Survivors whose reason in
survivors.txt begins with "equivalent" change no result; no tests are run on those.

Can be stopped and called again: it goes on where it was, with the sources and tests as they are now. New tests are tried on survivors;
--only runs no tests but those whose names match, so what passes them stays open, as with --longest; --again forgets what tests whose
names match have said, --retry gives survivors their seconds again. Exit code 1 if the share of faults found is below 95 %.
"""

import argparse
import concurrent.futures
import math
import pathlib
import random
import re
import sys
import tempfile
import threading

import clang
import faults
from operators import OPERATORS, Site, squeezed
from record import Record, equivalent, reasons, score, summary
from suite import Limits, Test, known_times, tests_of
from workspace import REPOSITORY, ROOMS, Workspace

UNKNOWN = 0.5  # seconds that a test is taken to need that has not run yet
WANTED = 0.95


def say(text: str) -> None:
    print(text, flush=True)


def stages(times: dict[str, float]) -> dict[str, int]:
    """When tests come. The tests of a group (one name for several kernels, targets, engines) tell little that the others do not, so the
    quickest of each group comes first, then two more of each, then four; long tests later."""
    groups: dict[str, list[str]] = {}
    for name in sorted(times, key=lambda name: (times[name], name)):
        groups.setdefault(re.sub(r"[./][^./]*$", "", name), []).append(name)
    return {name: (rank + 1).bit_length() - 1 + int(times[name] / 2).bit_length() for names in groups.values() for rank, name in enumerate(names)}


class Campaign:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.folder = options.state.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.record = Record(self.folder)
        self.workspace = Workspace(self.folder, options.jobs)
        self.lock = threading.Lock()
        self.spent: dict[int, float] = {}

    def prepare(self) -> None:
        """Draws, if that has not been done, and builds the copy."""
        record, workspace = self.record, self.workspace
        if not workspace.tree.exists() or not (workspace.build / "build.ninja").exists():
            workspace.copy({})
        workspace.configure()
        drawn_now = record.seed is None or (self.options.seed not in (None, record.seed)) or (self.options.mutants not in (None, record.count))
        if drawn_now:
            seed = self.options.seed if self.options.seed is not None else random.SystemRandom().randrange(1 << 31)
            record.begin(seed, self.options.mutants or 240)
        say(f"mutate: seed {record.seed}")
        sites = self.draw() if drawn_now else self.located()
        while True:
            record.save()
            rewritten = workspace.rewritten(sites)
            workspace.copy(rewritten)
            say(f"mutate: building the copy in {workspace.tree}")
            bad = workspace.compile(rewritten)
            if not bad:
                break
            say(f"mutate: {len(bad)} faults are no C++; others are drawn")
            record.excluded += [sites[number].key for number in sorted(bad)]
            record.mutants = [mutant for mutant in record.mutants if mutant["number"] not in bad]
            sites = self.draw()

    def draw(self) -> dict[int, Site]:
        """The sites that the seed wants; those that have a number keep it."""
        record = self.record
        found = self.workspace.sites()
        numbers = {mutant["key"]: mutant["number"] for mutant in record.mutants}
        following = 1 + max([0, *numbers.values()])
        say("mutate: " + ", ".join(f"{len(sites)} sites in the {room}" for room, sites in found.items()))
        drawn: dict[int, Site] = {}
        known = {mutant["key"]: mutant for mutant in record.mutants}
        record.mutants = []
        for index, (room, sites) in enumerate(found.items()):
            count = record.count // len(found) + (index < record.count % len(found))
            for site in faults.draw(sites, room, record.seed, count, set(record.excluded)):
                number = numbers.get(site.key)
                if number is None:
                    number, following = following, following + 1
                drawn[number] = site
                record.mutants.append(known.get(site.key) or {
                    "number": number, "room": room, "operator": site.operator, "file": site.file, "line": site.line, "key": site.key,
                    "verdict": None})
        return drawn

    def located(self) -> dict[int, Site]:
        """The places that drawn sites have in the sources as they are now. Those that are not in them any more are dropped."""
        found = self.workspace.sites({mutant["file"] for mutant in self.record.mutants})
        by_key = {site.key: site for sites in found.values() for site in sites}
        gone = [mutant for mutant in self.record.mutants if mutant["key"] not in by_key]
        for mutant in gone:
            say(f"mutate: not in the sources any more: {mutant['key']}")
        self.record.mutants = [mutant for mutant in self.record.mutants if mutant["key"] in by_key]
        for mutant in self.record.mutants:
            mutant["line"] = by_key[mutant["key"]].line
        return {mutant["number"]: by_key[mutant["key"]] for mutant in self.record.mutants}

    def run(self) -> None:
        tests = {test.name: test for test in tests_of(self.workspace.build) if re.search(self.options.only, test.name)}
        times = known_times(REPOSITORY / "build") | known_times(self.workspace.tree / "build")
        times |= {name: entry["seconds"] for name, entry in self.record.reach.items()}
        if self.options.again:
            self.record.forget({name for name in tests if re.search(self.options.again, name)})
        why = reasons()
        for mutant in self.record.mutants:
            if equivalent(why.get(mutant["key"], "")) and mutant["verdict"] is None:
                mutant["verdict"] = "survived"
            elif mutant["verdict"] in ("survived", "unreached") and not equivalent(why.get(mutant["key"], "")):
                mutant["verdict"] = None
                if not self.options.retry:
                    self.spent[mutant["number"]] = mutant.get("spent", 0)
        of_stage: dict[int, set[str]] = {}
        for name, stage in stages({name: times.get(name, UNKNOWN) for name in tests}).items():
            if times.get(name, UNKNOWN) < self.options.longest:
                of_stage.setdefault(stage, set()).add(name)
        for stage, names in sorted(of_stage.items()):
            say(f"mutate: stage {stage}, {len(names)} tests")
            self.trace([tests[name] for name in names], times)
            self.meet({name: tests[name] for name in names})
        for mutant in self.record.mutants if not self.options.only and self.options.longest == math.inf else []:
            if mutant["verdict"] is None:
                reached = any(mutant["number"] in entry["reached"] for entry in self.record.reach.values())
                mutant["verdict"] = "survived" if reached else "unreached"
                mutant["spent"] = self.spent.get(mutant["number"], 0)
        self.record.save()

    def trace(self, tests: list[Test], times: dict[str, float]) -> None:
        left = [test for test in tests if test.name not in self.record.reach]
        if not left or all(mutant["verdict"] for mutant in self.record.mutants):
            return
        say(f"mutate: {len(left)} tests run without faults, to see what they reach")

        def one(test: Test) -> None:
            limits = Limits(processor=test.timeout, clock=2 * test.timeout)
            with tempfile.NamedTemporaryFile() as file:
                result, reached = test.trace(pathlib.Path(file.name), limits)
            with self.lock:
                if not result.ok:
                    say(f"mutate: {test.name} fails without faults ({result.how}) and is left out")
                self.record.add_reach({"test": test.name, "ok": result.ok, "seconds": round(result.seconds, 3), "clock": round(result.clock, 3),
                                       "reached": reached})

        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(one, sorted(left, key=lambda test: times.get(test.name, UNKNOWN))))

    def meet(self, tests: dict[str, Test]) -> None:
        """Each mutant without a verdict runs the tests among `tests` that reach it: the quick ones first that reach few others, which
        are likely to be about the fault's place."""
        cost = {name: self.record.reach[name]["seconds"] * len(self.record.reach[name]["reached"]) for name in tests.keys() & self.record.reach.keys()}
        order = sorted(cost, key=lambda name: (cost[name], name))
        reached = {name: set(self.record.reach[name]["reached"]) for name in order}

        def one(mutant: dict) -> None:
            number = mutant["number"]
            passed = self.record.passed(number)
            for name in order:
                if number not in reached[name] or name in passed or not self.record.reach[name]["ok"]:
                    continue
                if self.spent.get(number, 0) > self.options.seconds:
                    return
                limits = Limits(processor=5 + 5 * self.record.reach[name]["seconds"], clock=60 + 10 * self.record.reach[name]["clock"])
                result = tests[name].run({"WAVEJIT_MUTANT": str(number)}, limits)
                self.spent[number] = self.spent.get(number, 0) + result.seconds
                if not result.ok and tests[name].run({}, limits).ok and not tests[name].run({"WAVEJIT_MUTANT": str(number)}, limits).ok:
                    with self.lock:
                        mutant |= {"verdict": "found", "test": name, "how": result.how}
                        self.record.save()
                        say(f"mutate: {number} found: {mutant['operator']} {mutant['file']}:{mutant['line']} by {name} ({result.how})")
                    return
                with self.lock:
                    self.record.add_passed(number, name)

        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(one, [mutant for mutant in self.record.mutants if mutant["verdict"] is None]))


def show(record: Record, number: int) -> None:
    mutant = next(mutant for mutant in record.mutants if mutant["number"] == number)
    say(f"{mutant['file']}:{mutant['line']}: {squeezed(mutant['key'])}")
    say(f"{mutant['verdict']} {mutant.get('test', '')} {mutant.get('how', '')}")
    passed = record.passed(number)
    for entry in sorted(record.reach.values(), key=lambda entry: entry["seconds"]):
        if number in entry["reached"]:
            say(f"  {entry['seconds']:8.3f} s  {entry['test']}{'  (passed)' if entry['test'] in passed else ''}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=pathlib.Path, default=REPOSITORY / "build/mutation")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--mutants", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--longest", type=float, default=math.inf)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--only", default="")
    parser.add_argument("--again")
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--show", type=int)
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.show is not None:
        show(Record(options.state), options.show)
        return 0
    if not options.summary:
        if not clang.available():
            sys.exit(f"mutate: there is no {clang.LIBRARY}: scripts/setup.sh installs clang-19")
        campaign = Campaign(options)
        campaign.prepare()
        campaign.run()
    record = Record(options.state)
    for line in summary(record, list(ROOMS), OPERATORS):
        say(line)
    found, rest = score(record)
    return 1 if found < WANTED * rest else 0


if __name__ == "__main__":
    sys.exit(main())
