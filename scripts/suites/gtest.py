"""Suites of GoogleTest programs: lists tests, draws samples, and runs batches in which a crash or a hang costs one test."""

import dataclasses
import hashlib
import json
import pathlib
import re
from collections.abc import Callable, Iterable

import bounds

RUN = re.compile(r"\[ RUN      \] (\S+)")
END = re.compile(r"\[( {7}OK|  FAILED |  SKIPPED) \] (\S+?)(?:,|\s|$)")
# How the HSA library reports a kernel that it cannot translate or interpret, after "wavejit: ": parts of the messages in frontend/,
# backend-x86/, runtime/ and include/.
UNTRANSLATED = (
    "The interpreter does not execute",
    "backend does not support the IR operation",
    "as that cannot be translated",
    "internal error at",
    "there is no memory for the translation",
    "instruction has the encoding",
    "is for trap handlers only",
    ", which is not code.",
)
STATUS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
# Characters of a failure's text that are recorded.
MESSAGE = 1500
# Tests of a batch that run once more alone, at most.
ALONE = 50


@dataclasses.dataclass
class Result:
    """Of one test. `status`: passed, skipped; failed (an expectation), crashed (the process ended), timeout, memory."""

    status: str
    seconds: float = 0
    message: str = ""


def parse_list(text: str) -> list[str]:
    """Names of the tests that --gtest_list_tests prints, but those that are disabled."""
    names, suite = [], ""
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        if re.fullmatch(r"[\w/.-]+\.", line):
            suite = line
        elif suite and re.fullmatch(r"  \S+", line):
            if "DISABLED_" not in suite + line:
                names.append(suite + line.strip())
        else:
            suite = ""
    return names


def family(test: str) -> str:
    """What a test is an instance of: its program and its test suite, without the number of a type or of parameters."""
    return re.sub(r"(/\d+)?\..*", "", test)


def draw(tests: Iterable[str], count: int | None) -> list[str]:
    """A sample of `count` tests (None: all), in the order of `tests`: of each family the test whose name has the lowest
    SHA-256 hash, then of each the second, and so on; within a round those with the lowest hashes. It is the same each time,
    and a larger sample contains a smaller one."""
    tests = list(tests)
    if count is None or count >= len(tests):
        return tests
    taken: dict[str, int] = {}
    rounds = []
    for digest, test in sorted((hashlib.sha256(test.encode()).digest(), test) for test in tests):
        rounds.append((taken.setdefault(family(test), 0), digest, test))
        taken[family(test)] += 1
    chosen = {test for _, _, test in sorted(rounds)[:count]}
    return [test for test in tests if test in chosen]


def results_of_json(path: pathlib.Path) -> dict[str, Result]:
    """What --gtest_output=json wrote; empty if it wrote nothing."""
    try:
        suites = json.loads(path.read_text(errors="replace"), strict=False)["testsuites"]
    except (OSError, ValueError, KeyError):
        return {}
    results = {}
    for suite in suites:
        for test in suite["testsuite"]:
            if test.get("status") != "RUN" or "result" not in test:
                continue
            failures = [failure["failure"] for failure in test.get("failures", [])]
            skips = [skip.get("message", "") for skip in test.get("skipped", [])]
            status = "failed" if failures else "skipped" if test["result"] == "SKIPPED" else "passed"
            results[f"{suite['name']}.{test['name']}"] = Result(
                status, float(test["time"].rstrip("s")), "\n".join(failures or skips)[:MESSAGE]
            )
    return results


class Reader:
    """Follows what a program prints: which tests have ended, and which is running."""

    def __init__(self) -> None:
        self.results: dict[str, Result] = {}
        self.running: str | None = None
        self.text: list[str] = []
        self.translation_failures: set[str] = set()

    def line(self, line: str) -> bool:
        """True if a test begins or ends."""
        # What the program has printed of a line may stand before it.
        said = line.partition("wavejit: ")[2]
        if any(text in said for text in UNTRANSLATED):
            place = re.sub(r"0x[0-9a-f]{9,}", "an address", said.partition(", work-group")[0])  # which differs by process
            self.translation_failures.add(place[:300])
        if match := RUN.search(line):
            self.running, self.text = match[1], []
            return True
        # The summary at the end names failed tests again.
        if self.running and (match := END.search(line)) and match[2] == self.running:
            self.results[self.running] = Result(STATUS[match[1].strip()], 0, "\n".join(self.text)[:MESSAGE])
            self.running = None
            return True
        if self.running and len(self.text) < 60:
            self.text.append(line)
        return False


@dataclasses.dataclass
class Program:
    """One program of a suite. `command` makes the command that runs it with arguments, `host` is the folder that the
    program sees as `inside`."""

    command: Callable[[list[str]], list[str]]
    host: pathlib.Path
    inside: str
    limit: float
    memory: float

    def list_tests(self) -> list[str]:
        lines: list[str] = []

        def keep(line: str) -> bool:
            lines.append(line)
            return True

        outcome = bounds.run(
            # rocsparse-test makes two million names: minutes beside other work.
            self.command(["--gtest_list_tests"]), limit=4 * self.limit, memory=self.memory, on_line=keep
        )
        tests = parse_list("\n".join(lines))
        if not tests and (outcome.why, outcome.code) != ("exit", 0):
            raise RuntimeError(f"{outcome.describe()}\n{outcome.tail}")
        return tests

    def run(
        self,
        tests: list[str],
        record: Callable[[dict[str, Result]], None],
        deadline: float,
        patience: float = float("inf"),
    ) -> "Batch":
        """Runs `tests`, in several processes if one ends them early; `record` gets results as they come. A test that fails
        beside others runs once more alone, and that counts: errors of HIP stay with the process for the tests that follow.
        Tests that take longer than `patience` seconds, if that is less than the limit, get no result; nor does the test that
        runs at the deadline, and those after it."""
        batch = Batch()
        results: dict[str, Result] = {}

        def keep(more: dict[str, Result]) -> None:
            results.update(more)
            record(more)

        self.run_together(tests, keep, deadline, batch, patience)
        failed = [name for name, result in results.items() if result.status in ("failed", "crashed") and len(tests) > 1]
        # Where most fail, they do so on their own account.
        for name in failed[:ALONE]:
            self.run_together([name], record, deadline, batch)
        return batch

    def run_together(
        self,
        tests: list[str],
        record: Callable[[dict[str, Result]], None],
        deadline: float,
        batch: "Batch",
        patience: float = float("inf"),
    ) -> None:
        left = list(tests)
        while left:
            reader = Reader()
            report = self.host / "report.json"
            report.unlink(missing_ok=True)
            (self.host / "flags").write_text(
                f"--gtest_filter={':'.join(left)}\n--gtest_output=json:{self.inside}/report.json\n--gtest_color=no\n"
            )
            outcome = bounds.run(
                self.command([f"--gtest_flagfile={self.inside}/flags"]),
                limit=min(self.limit, patience),
                memory=self.memory,
                on_line=reader.line,
                deadline=deadline,
            )
            batch.add(outcome, reader)
            results = reader.results | results_of_json(report)
            results = {name: result for name, result in results.items() if name in left}
            is_late = outcome.why == "time" and patience < self.limit
            if is_late or outcome.why == "deadline":
                record(results)  # the test that was running is not to blame
                left = [name for name in left if name not in results]
                late = [reader.running] if reader.running in left else []
                batch.slow += late
                left = [name for name in left if name not in late]
                if outcome.why == "deadline" or not late:
                    return
                continue
            if reader.running in left and reader.running not in results:
                results[reader.running] = culprit(outcome, reader)
            elif not results:
                why = f"The program ended before its first test: {outcome.describe()}\n{outcome.tail[-MESSAGE:]}"
                results = {name: Result("crashed", 0, why) for name in left}
            elif (outcome.why, outcome.code) not in (("exit", 0), ("exit", 1)):
                batch.bad_ends.append(f"{outcome.describe()} after {list(results)[-1]}\n{outcome.tail[-MESSAGE:]}")
            record(results)
            before = len(left)
            left = [name for name in left if name not in results]
            if left and outcome.why == "exit" and outcome.code in (0, 1) and not reader.running:
                # It has run to its end without them: its own filter leaves them out.
                record({name: Result("skipped", 0, "The program left it out.") for name in left})
                break
            assert len(left) < before


@dataclasses.dataclass
class Batch:
    """What the processes of a batch have in common."""

    processes: int = 0
    peak: int = 0
    bad_ends: list[str] = dataclasses.field(default_factory=list)  # after the last test
    slow: list[str] = dataclasses.field(default_factory=list)  # tests that were ended without a result
    translation_failures: set[str] = dataclasses.field(default_factory=set)

    def add(self, outcome: bounds.Outcome, reader: Reader) -> None:
        self.processes += 1
        self.peak = max(self.peak, outcome.peak)
        self.translation_failures |= reader.translation_failures


def culprit(outcome: bounds.Outcome, reader: Reader) -> Result:
    """The result of the test during which a program ended."""
    status = {"time": "timeout", "memory": "memory"}.get(outcome.why, "crashed")
    text = outcome.describe() + "\n" + "\n".join(reader.text)[:MESSAGE] + "\n...\n" + outcome.tail[-MESSAGE:]
    return Result(status, outcome.seconds, text)
