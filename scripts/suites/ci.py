"""The part for CI: a root with the newest ROCm that the mirror serves; rocminfo, the five examples, HIP's virtual memory, the tables of
HSA's functions beside those of the public header, OpenCL, samples of three suites.

Packages of a moving release may come broken. A check that fails is an error only if it has passed with the same versions before,
as green.json says; otherwise it is reported. `--record` writes what has passed into green.json."""

import argparse
import contextlib
import json
import pathlib
import time
from collections.abc import Callable

import bounds
import records
import root as roots
import steps
import table

GREEN = table.HERE / "green.json"
TARGET = "gfx906"
EXAMPLES = {"saxpy": [], "matmul": [], "reduction": [], "streams": [], "mandelbrot": ["-lpng"]}
# Of tests/hip, for what HIP 5.2 does not have.
PROGRAMS = ("virtual_memory",)
# What compares HSA's tables, and what it includes.
TABLES = ("tests/hsa/public_tables.cpp", "runtime/hsa/api_functions.def", "runtime/hsa/api_table.h", "runtime/hsa/newer_api.h")
OPENCL = ["rocm-opencl-icd", "clinfo"]
# Small packages, whose tests take seconds.
SUITES = ("hipRAND", "rocFFT", "hipFFT")
SAMPLE = 8
# Names of all checks.
CHECKS = ["rocminfo", *(f"example {name}" for name in EXAMPLES), *PROGRAMS, "HSA tables", "OpenCL", *SUITES]
# Releases that are tried, the newest first.
RELEASES = ("experimental", "sid", "trixie")
# Seconds and GiB for one check.
LIMIT, MEMORY = 120.0, 8.0


class Broken(Exception):
    """A check has failed; the text says how."""


class Checks:
    """Runs checks one after the other and keeps how they ended."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.green: dict[str, list[str]] = json.loads(GREEN.read_text()) if GREEN.exists() else {}
        self.passed: dict[str, str] = {}
        self.red = False

    def run(self, name: str, versions: str, check: Callable[[], str]) -> None:
        """`versions`: the packages that the check is of."""
        if name not in CHECKS:
            raise ValueError(f"{name} is not in CHECKS")
        start = time.monotonic()
        if start > self.deadline:
            print(f"rocm-ci: {name}: not run, the time is over")
            return
        try:
            text, verdict = check(), "passed"
            self.passed[name] = versions
        except (Broken, roots.PackageError) as error:
            late = time.monotonic() > self.deadline
            unserved = isinstance(error, roots.PackageError) and "Failed to fetch" in str(error)  # by the mirror
            known = versions in self.green.get(name, []) and not late and not unserved
            self.red |= known
            verdict = "FAILED, and passed with these versions before" if known else "fails (reported only)"
            text, verdict = str(error), "cut off, the time is over" if late else verdict
        print(f"rocm-ci: {name}: {verdict}, {time.monotonic() - start:.0f} s ({versions}){': ' + text if text else ''}", flush=True)

    def record(self) -> None:
        for name, versions in self.passed.items():
            self.green.setdefault(name, [])
            if versions not in self.green[name]:
                self.green[name].append(versions)
        GREEN.write_text(json.dumps(self.green, indent=1, sort_keys=True) + "\n")


def run(options: argparse.Namespace) -> int:
    start = time.monotonic()
    everything = table.load_table()
    settings = steps.Settings(options.build.resolve(), options.work.resolve() / "ci", options.libraries)
    found = newest_root(options, settings)
    if found is None:
        print("rocm-ci: no root could be made; nothing is checked")
        return 0
    name, root = found
    print(f"rocm-ci: root of {name}, {time.monotonic() - start:.0f} s", flush=True)
    if options.prepare:
        install_all(root, [everything.suite(suite) for suite in SUITES])
        print(f"rocm-ci: its packages are there, {time.monotonic() - start:.0f} s", flush=True)
        return 0
    checks = Checks(start + options.minutes * 60)
    hip = " ".join(f"{p}_{v}" for p, v in sorted(root.installed().items()) if p.startswith("libamdhip64-") and p[-1].isdigit())
    suite = everything.suite(SUITES[0])  # whose defaults serve for the programs here
    step = steps.Step(
        suite, everything.releases[name], TARGET, root, settings, records.Record("ci", name, TARGET, "auto"),
        settings.records / "none", checks.deadline,
    )
    checks.run("rocminfo", hip, lambda: rocminfo(step))
    for example, libraries in EXAMPLES.items():
        checks.run(f"example {example}", hip, lambda e=example, flags=libraries: run_example(step, e, flags))
    for program in PROGRAMS:
        checks.run(program, hip, lambda p=program: run_example(step, p, [], folder="tests/hip"))
    header = f"libhsa-runtime-dev_{root.installed().get('libhsa-runtime-dev')}"
    checks.run("HSA tables", header, lambda: compare_tables(step))
    opencl = f"{hip} {OPENCL[0]}_{root.candidate(OPENCL[0])}"
    checks.run("OpenCL", opencl, lambda: run_opencl(step))
    for suite_name in SUITES:
        suite = everything.suite(suite_name)
        package = root.find_package(suite.package)
        versions = f"{hip} {package}_{root.candidate(package)}" if package else hip
        checks.run(suite_name, versions, lambda s=suite, p=package: sample(step, s, p))
    if options.record:
        checks.record()
    print(f"rocm-ci: {len(checks.passed)} checks passed, {time.monotonic() - start:.0f} s", flush=True)
    return int(checks.red)


def newest_root(options: argparse.Namespace, settings: steps.Settings) -> tuple[str, roots.Root] | None:
    for name in RELEASES:
        try:
            return name, root_of(options, settings, name)
        except roots.PackageError as error:
            print(f"rocm-ci: no root of {name}: {error}")
    return None


def install_all(root: roots.Root, suites: list[table.Suite]) -> None:
    """Installs what the checks need. They find out themselves what cannot be installed."""
    for pattern in [*OPENCL, *(suite.package for suite in suites)]:
        with contextlib.suppress(roots.PackageError):
            if package := root.find_package(pattern):
                with root.packages([package], keep=True):
                    pass


def root_of(options: argparse.Namespace, settings: steps.Settings, name: str) -> roots.Root:
    """The root of a release, made or brought up to date."""
    path = options.roots / name
    roots.make(name, path)
    exchange = steps.exchange_folder(settings, name)
    root = roots.Root(path, settings.build, exchange)
    root.update()
    if not root.find_package(r"libamdhip64-\d+"):
        raise roots.PackageError("It has no libamdhip64.")
    with root.locked():
        root.output("dpkg", "--configure", "-a")  # an installation may have been interrupted
        root.output("apt-get", "install", "-y", "--no-install-recommends", *roots.BASE.split(","))
    return root


def checked(command: list[str], deadline: float) -> str:
    """The output of a command; Broken if it fails."""
    lines: list[str] = []
    limit = min(LIMIT, max(1.0, deadline - time.monotonic()))
    outcome = bounds.run(command, limit=limit, memory=MEMORY, on_line=lambda line: bool(lines.append(line)))
    if (outcome.why, outcome.code) != ("exit", 0):
        raise Broken(f"{outcome.describe()}\n{outcome.tail[-1000:]}")
    return "\n".join(lines)


def rocminfo(step: steps.Step) -> str:
    text = checked(step.command(["rocminfo"]), step.deadline)
    if f"amdgcn-amd-amdhsa--{TARGET}" not in text:
        raise Broken(f"It does not name {TARGET}:\n{text[:1000]}")
    return ""


def run_example(step: steps.Step, name: str, libraries: list[str], folder: str = "examples/hip") -> str:
    """Compiles an example with the root's hipcc and runs it; it compares its results with the host's."""
    for file in [table.REPOSITORY / folder / f"{name}.cpp", *(table.REPOSITORY / folder).glob("*.h")]:
        (step.root.exchange / file.name).write_bytes(file.read_bytes())
    source, program = f"{roots.EXCHANGE}/{name}.cpp", f"{roots.EXCHANGE}/{name}"
    compiler = ["hipcc", f"--offload-arch={TARGET}", "-O2", "-std=c++17", source, "-o", program, *libraries]
    checked(step.command(compiler, wavejit=False), step.deadline)
    return checked(step.command([program]), step.deadline).splitlines()[-1]


def compare_tables(step: steps.Step) -> str:
    """Compiles the comparison of the library's tables with those of the root's hsa_api_trace.h."""
    for name in TABLES:
        file = step.root.exchange / "tables" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((table.REPOSITORY / name).read_bytes())
    folder = f"{roots.EXCHANGE}/tables"
    compiler = ["hipcc", "-x", "c++", "-std=c++20", "-fsyntax-only", "-DWAVEJIT_COMPARES_TABLES", "-I", folder]
    checked(step.command([*compiler, f"{folder}/{TABLES[0]}"], wavejit=False), step.deadline)
    return ""


def run_opencl(step: steps.Step) -> str:
    """clinfo, and the programs of tests/opencl, which the build folder has if it has tests."""
    with step.root.packages(OPENCL, keep=True):
        text = checked(step.command(["clinfo"]), step.deadline)
        for line in ("Number of devices                                 1", TARGET, "AMD Accelerated Parallel Processing"):
            if line not in text:
                raise Broken(f"clinfo does not say '{line}':\n{text[:1000]}")
        if not (step.settings.build / "opencl_programs").exists():
            return "clinfo only, as the build folder has no opencl_programs"
        return checked(step.command([f"{roots.WAVEJIT}/opencl_programs"]), step.deadline).splitlines()[-1]


def sample(step: steps.Step, suite: table.Suite, package: str | None) -> str:
    if not package:
        raise roots.PackageError(f"No package matches {suite.package}.")
    path = records.path_of(step.settings.records, suite.name, step.release.name, TARGET, "auto")
    record = records.Record(suite.name, step.release.name, TARGET, "auto", f"ci {package}_{step.root.candidate(package)}")
    with step.root.packages([package], keep=True):
        own = steps.Step(suite, step.release, TARGET, step.root, step.settings, record, path, step.deadline, package)
        steps.run(own, SAMPLE)
    failures = record.failures()
    if failures or not record.finished or record.state != "ran" or not record.count("passed"):
        lines = [f"{name}: {result.status}: {result.message[:300]}" for name, result in failures.items()]
        raise Broken("\n".join([f"{record.state}, {record.count('passed')} of {record.chosen} passed {record.message}", *lines]))
    return f"{record.count('passed')} of {record.chosen} passed"
