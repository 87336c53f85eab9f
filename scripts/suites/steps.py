"""Steps: one suite in one release on one target with one engine."""

import dataclasses
import fnmatch
import math
import pathlib
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator

import bounds
import gtest
import records
import root as roots
import table
from gtest import Result
from records import Record


# In the exchange folder.
SHADOW_REPORT = "shadow.jsonl"
# Of table.toml's targets, those that run the code of a generic one.
GENERIC = {"gfx9-generic": ("gfx900", "gfx906"), "gfx9-4-generic": ("gfx942",)}
# Between the program's name and why, in Record.bad_ends.
NO_LIST = " does not list its tests: "
# Tests of a batch with shadow mode: a process reports when it ends, and one that the end of the step stops does not.
SHADOW_BATCH = 20


@dataclasses.dataclass
class Settings:
    build: pathlib.Path  # with wavejit and hsa/
    work: pathlib.Path  # records, caches and exchange folders
    libraries: pathlib.Path | None = None  # what a dynamically linked build needs besides
    sample: int | None = None  # overrides the table's
    whole: bool | None = None  # overrides the plan
    threads: int = 2
    minutes: float = 120  # of a step
    keep: bool = False  # packages
    only: str = "*"  # pattern of "program:test"
    shadow: str | None = None  # options of wavejit exec --shadow, if that is wanted

    @property
    def records(self) -> pathlib.Path:
        return self.work / "records"


@dataclasses.dataclass
class Step:
    """What a runner of a kind of suite needs."""

    suite: table.Suite
    release: table.Release
    target: str
    root: roots.Root
    settings: Settings
    record: Record
    path: pathlib.Path  # of the record
    deadline: float  # of time.monotonic()
    package: str = ""
    left: set[str] = dataclasses.field(default_factory=set)  # chosen tests without a result

    def command(self, arguments: list[str], *, wavejit: bool = True, folder: str = "/tmp") -> list[str]:
        """A command inside of the root, in `folder`, under `wavejit exec` if wanted."""
        variables = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/tmp",
            "LC_ALL": "C.UTF-8",
            "WAVEJIT_STRICT": "1",
            "WAVEJIT_CHECK_ALLOCATION": "1",
            "WAVEJIT_CACHE_DIR": f"{roots.EXCHANGE}/cache",
            "WAVEJIT_CACHE_BYTES": "4G",
            "LD_LIBRARY_PATH": f"{roots.EXCHANGE}/libraries",
            # Its threads spin while they wait for one that has no CPU.
            "OPENBLAS_NUM_THREADS": "1",
            **self.suite.env,
        }
        if self.settings.shadow is not None:
            variables["WAVEJIT_SHADOW_REPORT"] = f"{roots.EXCHANGE}/{SHADOW_REPORT}"
            # A heap of large pages: each compared dispatch is a fork, which copies page tables.
            variables["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
        start = ["env", "-i", "-C", folder, *(f"{name}={value}" for name, value in variables.items())]
        if not wavejit:
            return self.root.command(*start, *arguments)
        targets = ",".join([self.target] * self.suite.devices)
        options = ["--target", targets, "--engine", self.record.engine, "--threads", str(self.settings.threads)]
        if self.settings.shadow is not None:
            options.append(f"--shadow={self.settings.shadow}")
        return self.root.command(*start, f"{roots.WAVEJIT}/wavejit", "exec", *options, "--", *arguments)

    def add(self, results: dict[str, Result]) -> None:
        """Records results and shows where the step is."""
        self.record.results |= results
        self.left -= results.keys()
        self.record.missing = len(self.left)
        if self.settings.shadow is not None:
            self.record.add_shadow(self.root.exchange / SHADOW_REPORT)
        records.save(self.path, self.record)
        show_progress(self.record)


def exchange_folder(settings: Settings, release: str) -> pathlib.Path:
    """What a release's root sees as EXCHANGE: caches, flags and reports, sources of programs, libraries."""
    exchange = settings.work / "exchange" / release
    (exchange / "cache").mkdir(parents=True, exist_ok=True)
    shutil.copytree(table.HERE / "programs", exchange / "programs", dirs_exist_ok=True)
    shutil.rmtree(exchange / "libraries", ignore_errors=True)
    if settings.libraries:
        shutil.copytree(settings.libraries, exchange / "libraries")
    return exchange


# Kinds of suites: the function lists the tests, chooses, and runs those that the record has no results of.
KINDS: dict[str, Callable[[Step], None]] = {}


def show_progress(record: Record) -> None:
    done, failed = len(record.results), len(record.failures())
    text = f"{record.release} {record.suite} {record.target} {record.engine}: {done} of {record.chosen}, {failed} failed"
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"{time.strftime('%H:%M:%S')} {text:<90}", end=end, file=sys.stderr, flush=True)


def sample_size(suite: table.Suite, plan_whole: bool, settings: Settings) -> int | None:
    """Number of tests to draw; None: all."""
    whole = plan_whole if settings.whole is None else settings.whole
    if settings.sample is not None:
        return settings.sample
    return None if whole else suite.sample


def choose(step: Step, tests: list[str], size: int | None) -> list[str]:
    """Draws the sample and writes into the record what it is of."""
    left_out: dict[str, int] = {}
    kept = []
    for test in tests:
        if why := step.suite.reason_to_leave_out(test):
            left_out[why] = left_out.get(why, 0) + 1
        elif any(fnmatch.fnmatchcase(test, pattern) for pattern in step.suite.part):
            kept.append(test)
    chosen = gtest.draw([test for test in kept if fnmatch.fnmatchcase(test, step.settings.only)], size)
    step.record.listed, step.record.left_out, step.record.chosen = len(kept), left_out, len(chosen)
    left = [test for test in chosen if test not in step.record.results]
    step.left, step.record.missing = set(left), len(left)
    return left


def in_root(step: Step, pattern: str) -> list[str]:
    """Files inside of the root that match a shell pattern, as paths inside."""
    pattern = pattern.replace("{package}", step.package).replace("{target}", step.target)
    found = sorted(step.root.path.glob(pattern.lstrip("/")))
    return ["/" + str(path.relative_to(step.root.path)) for path in found]


def targets_of(step: Step, file: str) -> set[str] | None:
    """Targets of the code in a file of the root; None where that cannot be told."""
    command = step.command([f"{roots.WAVEJIT}/wavejit", "info", "--brief", file], wavejit=False)
    lines: list[str] = []

    def keep(line: str) -> bool:
        if line.startswith("["):
            lines.append(line)
        return False

    outcome = bounds.run(command, limit=120, memory=step.suite.memory, on_line=keep)
    if (outcome.why, outcome.code) != ("exit", 0) or not lines:
        return None
    names = {match[1] for line in lines if (match := re.match(r"\[\d+\] (gfx[0-9a-z-]+)", line))}
    return names.union(*(GENERIC.get(name, ()) for name in names))


def run(step: Step, size: int | None) -> None:
    """Runs a step whose packages are installed."""
    start = time.monotonic()
    before = step.record.seconds
    step.record.state, step.record.message = "ran", ""  # if it could not be installed earlier
    if step.suite.code and (files := in_root(step, step.suite.code)):
        if (targets := targets_of(step, files[0])) is not None and step.target not in targets:
            step.record.state = "no code"
            records.save(step.path, step.record)
            return
    if step.settings.shadow is not None:
        (step.root.exchange / SHADOW_REPORT).unlink(missing_ok=True)
        step.record.tier = tier_of(step.record.engine)
    try:
        KINDS[step.suite.kind](step, size)
    finally:
        if step.settings.shadow is not None:
            step.record.add_shadow(step.root.exchange / SHADOW_REPORT)
        step.record.seconds = before + time.monotonic() - start
        records.save(step.path, step.record)


def tier_of(engine: str) -> str:
    """What an engine translates to on this machine; of `auto` and `interp` it is the best tier, as shadow mode compares both."""
    flags = set(re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1].split())
    best = "avx512" if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= flags else "avx2"
    return engine if engine in ("avx2", "avx512") else best


def prepare(step: Step) -> int:
    """Runs what the suite wants to run first; the number that it prints, or 0."""
    if not step.suite.prepare:
        return 0
    lines: list[str] = []
    command = step.command(["sh", "-c", step.suite.prepare.replace("{package}", step.package)], wavejit=False)
    outcome = bounds.run(
        command, limit=step.suite.limit, memory=step.suite.memory, on_line=lambda line: bool(lines.append(line))
    )
    if (outcome.why, outcome.code) != ("exit", 0):
        raise SystemExit(f"{step.suite.name} cannot be prepared: {outcome.describe()}\n{outcome.tail}")
    return int(lines[-1]) if lines and lines[-1].isdigit() else 0


def run_gtest(step: Step, size: int | None) -> None:
    programs: dict[str, gtest.Program] = {}
    tests: list[str] = []
    step.record.bad_ends = [text for text in step.record.bad_ends if NO_LIST not in text]  # listed anew
    in_all = prepare(step)
    arguments = [argument.replace("{package}", step.package) for argument in step.suite.arguments]
    wrapper = [step.suite.wrapper] if step.suite.wrapper else []
    for path in in_root(step, f"{step.suite.folder}/{step.suite.programs}"):
        host = step.root.path / path[1:]
        name = host.name
        # run-tests runs all the others.
        if not host.is_file() or not host.stat().st_mode & 0o100 or host.suffix in (".so", ".py", ".sh") or name == "run-tests":
            continue
        if step.suite.reason_to_leave_out(f"{name}:"):  # all of it
            continue
        programs[name] = gtest.Program(
            command=lambda more, path=path: step.command(
                [*wrapper, path, *arguments, *more], folder=str(pathlib.PurePath(path).parent)
            ),
            host=step.root.exchange,
            inside=roots.EXCHANGE,
            limit=step.suite.limit,
            memory=step.suite.memory,
        )
        try:
            tests += [f"{name}:{test}" for test in listed(step, name, programs[name])]
        except RuntimeError as error:
            if "hipErrorNoBinaryForGpu" in str(error):
                step.record.state = "no code"
                return
            step.record.bad_ends.append(f"{name}{NO_LIST}{error}")
    if not tests:
        step.record.state, step.record.message = "unlisted", "\n".join(step.record.bad_ends)[-2000:]
        return
    left = choose(step, tests, size)
    step.record.listed = max(step.record.listed, in_all)
    show_progress(step.record)
    waiting = {name: [t.split(":", 1)[1] for t in left if t.startswith(f"{name}:")] for name in programs}
    for patience in patiences(step):
        waiting = {name: own for name, own in waiting.items() if own}
        if not waiting:
            return
        longest = longest_in_round(patience, waiting)
        for i, name in enumerate(by_results(step.record, waiting)):
            end = end_of_share(time.monotonic(), step.deadline, len(waiting) - i, longest)
            waiting[name] = run_program(step, name, programs[name], waiting[name], end, longest)


def by_results(record: Record, programs: Iterable[str]) -> list[str]:
    """Programs with the fewest results first, so that a step that goes on begins where it was broken off."""
    return sorted(programs, key=lambda name: sum(test.startswith(f"{name}:") for test in record.results))


def end_of_share(now: float, deadline: float, programs: int, patience: float) -> float:
    """When the next of `programs` has to end. What it does not need is for those after it; a share too short for a test is
    time lost, so it is no shorter than a test may take."""
    return min(deadline, now + max((deadline - now) / programs, patience))


def patiences(step: Step) -> Iterator[float]:
    """For each round until the step's time is over, the seconds that a test may take before it is put off to the next."""
    patience = step.suite.patience
    while time.monotonic() < step.deadline:
        yield patience
        patience *= 4


def longest_in_round(patience: float, waiting: dict[str, list[str]]) -> float:
    """The last test left is not put off: none waits for its time."""
    return math.inf if sum(map(len, waiting.values())) == 1 else patience


def run_program(
    step: Step, name: str, program: gtest.Program, tests: list[str], end: float, patience: float
) -> list[str]:
    """Runs tests of a program until the time `end`; those that have no result afterwards, slow ones last."""
    slow: list[str] = []
    size = step.suite.batch if step.settings.shadow is None else min(step.suite.batch, SHADOW_BATCH)
    for i in range(0, len(tests), size):
        if time.monotonic() > end:
            break
        batch = program.run(
            tests[i : i + size],
            lambda results: step.add({f"{name}:{test}": r for test, r in results.items()}),
            end,
            patience,
        )
        slow += batch.slow
        step.record.bad_ends += [f"{name}: {text}" for text in batch.bad_ends]
        step.record.peak = max(step.record.peak, batch.peak)
        failures = set(step.record.translation_failures) | batch.translation_failures
        step.record.translation_failures = sorted(failures)
    left = [test for test in tests if f"{name}:{test}" not in step.record.results]
    return [test for test in left if test not in slow] + [test for test in left if test in slow]


def list_file(step: Step, name: str) -> pathlib.Path:
    """Where a step leaves the list of tests for later ones with the same packages."""
    key = "_".join([step.record.packages, *step.suite.arguments]).replace("/", "_").replace(" ", "_")
    return step.settings.work / "lists" / step.release.name / f"{step.suite.name}.{name}.{step.target}.{key}"


def listed(step: Step, name: str, program: gtest.Program) -> list[str]:
    """The program's tests, from a file that an earlier step has left if the packages are the same."""
    path = list_file(step, name)
    if not path.exists():
        tests = program.list_tests()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(tests))
    return path.read_text().split()


def run_programs(step: Step, size: int | None) -> None:
    """Suites of commands."""
    run_commands(step, choose(step, list(step.suite.commands), size), lambda name: step.suite.commands[name])


def run_listed(step: Step, size: int | None) -> None:
    """Suites of one command that lists tests and one that runs a test of a name."""
    path = list_file(step, "list")
    if not path.exists():
        command = step.command(["sh", "-c", step.suite.list_tests])
        lines: list[str] = []
        outcome = bounds.run(
            command, limit=step.suite.limit, memory=step.suite.memory, on_line=lambda line: bool(lines.append(line))
        )
        if (outcome.why, outcome.code) != ("exit", 0) or not lines:
            step.record.state, step.record.message = "unlisted", f"{outcome.describe()}\n{outcome.tail}"
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines))
    tests = [line.strip() for line in path.read_text().splitlines() if line.strip() and not line.startswith("wavejit: ")]
    run_commands(step, choose(step, tests, size), lambda name: step.suite.run_test.replace("{test}", shlex.quote(name)))


def run_commands(step: Step, names: list[str], command: Callable[[str], str]) -> None:
    """Runs a shell command a test: status 0 is a pass, 77 a skip. Tests that take long come last."""
    for patience in patiences(step):
        if not names:
            return
        slow = []
        for name in names:
            if time.monotonic() > step.deadline:
                return
            if not run_command(step, name, command(name), patience):
                slow.append(name)
        names = slow


def run_command(step: Step, name: str, command: str, patience: float) -> bool:
    """Runs a command as the test `name`. False if the time was over before it ended."""
    reader = gtest.Reader()
    outcome = bounds.run(
        step.command(["sh", "-c", command]),
        limit=min(step.suite.limit, patience),
        memory=step.suite.memory,
        deadline=step.deadline,
        on_line=reader.line,
    )
    if outcome.why == "deadline" or (outcome.why == "time" and patience < step.suite.limit):
        return False
    status = {"time": "timeout", "memory": "memory", "signal": "crashed"}.get(outcome.why, "failed")
    if outcome.why == "exit" and outcome.code in (0, 77):
        status = "skipped" if outcome.code else "passed"
    message = "" if status == "passed" else f"{outcome.describe()}\n{outcome.tail[-gtest.MESSAGE:]}"
    step.record.peak = max(step.record.peak, outcome.peak)
    failures = set(step.record.translation_failures) | reader.translation_failures
    step.record.translation_failures = sorted(failures)
    step.add({name: Result(status, outcome.seconds, message)})
    return True


KINDS |= {"gtest": run_gtest, "listed": run_listed, "program": run_programs}


def commit(build: pathlib.Path) -> str:
    """Of the source that the build was made of; empty if the build does not know."""
    file = build / "commit"
    return file.read_text().strip() if file.exists() else ""
