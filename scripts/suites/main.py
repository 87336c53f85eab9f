"""The command line of scripts/suites.sh."""

import argparse
import fcntl
import pathlib
import shutil
import signal
import sys
import time

import ci
import document
import records
import root as roots
import steps
import table
from records import Record

# GiB that have to be free before packages are installed.
DISK = 8


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/suites.sh", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=table.REPOSITORY / "build/release", help="wavejit's build")
    parser.add_argument("--work", type=pathlib.Path, default=table.REPOSITORY / "build/suites", help="records, caches")
    parser.add_argument("--roots", type=pathlib.Path, help="folder of the roots (default: WORK/roots)")
    parser.add_argument("--libraries", type=pathlib.Path, help="libraries that the build needs inside of the roots")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run steps that are not recorded for this build and these packages")
    run.add_argument("--release", action="append", help="trixie, sid, ... (default: all, the newest first)")
    run.add_argument("--suite", action="append", help="default: all")
    run.add_argument("--target", action="append", help="default: all of the release")
    run.add_argument("--engine", action="append", help="auto (default), interp, avx2, avx512")
    run.add_argument("--sample", type=int, help="tests of a step, instead of the table's number")
    run.add_argument("--whole", action="store_true", default=None, help="all tests, against the plan")
    run.add_argument("--part", dest="whole", action="store_false", help="a sample, against the plan")
    run.add_argument("--only", default="*", help="pattern of tests, as program:test")
    run.add_argument("--again", choices=("other", "packages", "failed", "all"), default="other", help=AGAIN)
    run.add_argument("--keep", action="store_true", help="leave packages installed")
    run.add_argument("--minutes", type=float, default=120, help="a step's time (default 120)")
    run.add_argument("--total-minutes", type=float, default=1e9, help="begin no step after this time")
    run.add_argument("--threads", type=int, default=2)
    run.add_argument("--shadow", nargs="?", const="limit:2", help=SHADOW)
    write = commands.add_parser("document", help="write docs/rocm.json and docs/rocm.md")
    write.add_argument("--check", action="store_true", help="fail if docs/rocm.md is not what docs/rocm.json says")
    show = commands.add_parser("failures", help="show recorded failures with their messages")
    show.add_argument("--suite")
    show.add_argument("--release")
    ci = commands.add_parser("ci", help="a root with the newest ROCm, rocminfo, five examples, samples of three suites")
    ci.add_argument("--minutes", type=float, default=6, help="begin no check after this time (default 6)")
    ci.add_argument("--prepare", action="store_true", help="only make the root and install the packages of the checks")
    ci.add_argument("--record", action="store_true", help="write the versions that passed into green.json")
    return parser.parse_args()


AGAIN = """what runs again: steps of another build or of other packages (default: other); only those of other packages, so that a step
goes on with the tests that no build has run; besides those of another build failed tests; or all. A record of more tests stays until
the new one has as many, or a failure that the old one lacks"""


SHADOW = """count dispatches that interpreter and JIT agree on: options of wavejit exec --shadow (default: limit:2); give --work a
folder of its own"""


def plan(options: argparse.Namespace, everything: table.Table) -> list[tuple[table.Release, table.Suite]]:
    names = options.release or [name for name in everything.order if (options.roots / name).exists()]
    suites = [everything.suite(name) for name in options.suite] if options.suite else everything.suites
    return [(everything.releases[name], suite) for name in names for suite in suites]


def run(options: argparse.Namespace) -> int:
    everything = table.load_table()
    settings = steps.Settings(
        build=options.build.resolve(),
        work=options.work.resolve(),
        libraries=options.libraries,
        sample=options.sample,
        whole=options.whole,
        threads=options.threads,
        minutes=options.minutes,
        keep=options.keep,
        only=options.only,
        shadow=options.shadow,
    )
    end = time.monotonic() + options.total_minutes * 60
    failed = False
    for release, suite in plan(options, everything):
        if time.monotonic() > end:
            print("The time is over; the same command goes on.", file=sys.stderr)
            break
        failed |= run_suite(options, settings, everything, release, suite)
    return int(failed)


def run_suite(
    options: argparse.Namespace,
    settings: steps.Settings,
    everything: table.Table,
    release: table.Release,
    suite: table.Suite,
) -> bool:
    """All steps of a suite in a release, whose packages are installed once. True if tests failed."""
    path = options.roots / release.name
    try:
        roots.make(release.name, path)
    except roots.PackageError as error:
        raise SystemExit(f"There is no root of {release.name}: {error}") from None
    root = roots.Root(path, settings.build, steps.exchange_folder(settings, release.name))
    package = root.find_package(suite.package)
    names = [package, *filter(None, (root.find_package(pattern) for pattern in suite.also))] if package else []
    versions = " ".join(f"{name}_{root.candidate(name)}" for name in names)
    key = f"{records.hash_of_build(settings.build)} {versions}"
    if settings.shadow is not None:
        key += records.SHADOW + settings.shadow
    todo = []
    for engine in options.engine or ["auto"]:
        for target in options.target or suite.targets or release.targets:
            if target not in (suite.targets or release.targets):
                continue
            file = records.path_of(settings.records, suite.name, release.name, target, engine)
            new = Record(suite.name, release.name, target, engine, key, steps.commit(settings.build))
            record = records.begin(file, new, options.again)
            size = steps.sample_size(suite, is_whole(everything, release, suite, target, options), settings)
            if package and record.finished and record.state == "ran" and covers(record, size):
                continue
            todo.append((file, record, size))
    if not todo:
        return False
    if not package:
        for file, record, _ in todo:
            record.state, record.message = "absent", f"No package matches {suite.package}."
            records.save(file, record)
        return False
    free = shutil.disk_usage(path).free / 2**30
    if free < DISK:
        raise SystemExit(f"Only {free:.0f} GiB are free; {DISK} are needed.")
    failed = False
    try:
        with root.packages(names, settings.keep) as installed:
            for file, record, size in todo:
                record.versions = installed
                deadline = time.monotonic() + settings.minutes * 60
                step = steps.Step(suite, release, record.target, root, settings, record, file, deadline, package)
                steps.run(step, size)
                failed |= bool(record.failures())
                print_summary(record)
    except roots.PackageError as error:
        for file, record, _ in todo:
            record.state, record.message = "uninstallable", str(error)
            records.save(file, record)
        print(f"{release.name} {suite.name}: cannot be installed: {error}", file=sys.stderr)
    return failed


def is_whole(
    everything: table.Table, release: table.Release, suite: table.Suite, target: str, options: argparse.Namespace
) -> bool:
    """The plan: whole suites on some targets of the newest release that has them."""
    if target not in everything.whole:
        return False
    for name in everything.order:
        if name == release.name:
            return True
        file = records.path_of(options.work / "records", suite.name, name, target, "auto")
        if file.exists() and records.load(file).state == "ran":
            return False
    return True


def covers(record: Record, size: int | None) -> bool:
    return record.whole or (size is not None and record.chosen >= size)


def print_summary(record: Record) -> None:
    counts = f"{record.count('passed')} passed, {len(record.failures())} failed, {record.count('skipped')} skipped"
    print(
        f"{record.release} {record.suite} {record.target} {record.engine}: {record.state}, {counts} of {record.chosen} "
        f"chosen of {record.listed}, {record.seconds:.0f} s, {record.peak / 2**30:.1f} GiB",
        flush=True,
    )
    if record.shadow:
        print("  shadow: " + ", ".join(f"{value} {name}" for name, value in record.shadow.items() if value), flush=True)
    for difference in record.differences:
        print("  " + difference.replace("\n", "\n  "), flush=True)
    for name, result in record.failures().items():
        print(f"  {result.status} {name}: {(result.message.splitlines() or [''])[0][:160]}", flush=True)


def main() -> int:
    # As an exception, so that tests that are running end, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = parse()
    options.roots = options.roots or options.work / "roots"
    if options.command == "document":
        return document.write(options.work / "records", options.check)
    if options.command == "failures":
        for record in records.load_all(options.work / "records"):
            if options.suite in (None, record.suite) and options.release in (None, record.release):
                for name, result in record.failures().items():
                    print(f"== {record.release} {record.suite} {record.target} {record.engine} {name}: {result.status}")
                    print(result.message)
        return 0
    if options.command == "ci":
        return ci.run(options)
    options.work.mkdir(parents=True, exist_ok=True)
    with open(options.work / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"Another run uses {options.work}.") from None
        return run(options)


if __name__ == "__main__":
    sys.exit(main())
