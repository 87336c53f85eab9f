"""The tests that ctest lists, run one at a time without ctest, under limits."""

import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time

MEMORY = 6 << 30  # bytes of private memory that a process may write to
TRACE_BYTES = 1 << 16  # kMutants of mutant.h


@dataclasses.dataclass
class Result:
    ok: bool
    seconds: float  # of the processor, the test's children included
    clock: float
    how: str  # of a failure


@dataclasses.dataclass(frozen=True)
class Limits:
    processor: float  # seconds, each process
    clock: float


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _wait(process: subprocess.Popen, clock: float) -> tuple[int | None, float]:
    """The exit code, None after `clock` seconds, and the processor's seconds. All of the process's session has ended then."""
    ended: list[tuple[int, int, resource.struct_rusage]] = []
    waiting = threading.Thread(target=lambda: ended.append(os.wait4(process.pid, 0)))
    waiting.start()
    waiting.join(clock)
    in_time = not waiting.is_alive()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    waiting.join()
    process.returncode = os.waitstatus_to_exitcode(ended[0][1])  # so that nobody waits for it again
    return process.returncode if in_time else None, ended[0][2].ru_utime + ended[0][2].ru_stime


@dataclasses.dataclass
class Test:
    name: str
    command: list[str]
    properties: dict

    @property
    def timeout(self) -> float:
        return float(self.properties.get("TIMEOUT", 600))

    def run(self, variables: dict[str, str], limits: Limits) -> Result:
        """Runs the test with more variables, in a session of its own that ends with it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WAVEJIT_")}
        environment |= {"WAVEJIT_CACHE": "off", "WAVEJIT_STRICT": "1", "WAVEJIT_CHECK_ALLOCATION": "1"}
        environment |= dict(entry.split("=", 1) for entry in self.properties.get("ENVIRONMENT", []))
        scratch = tempfile.mkdtemp(prefix="mutate-")
        # Campaigns remember what they have done in a folder that their command names.
        command = [scratch if before == "--state" else word for before, word in zip(["", *self.command], self.command)]

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limits.processor) + 1, int(limits.processor) + 2))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        began = time.monotonic()
        output = pathlib.Path(scratch) / "mutate-output"
        try:
            with output.open("wb") as file:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, preexec_fn=limit,
                                           cwd=self.properties.get("WORKING_DIRECTORY"), env=environment | variables, start_new_session=True)
                status, used = _wait(process, limits.clock)
            with output.open("rb") as file:
                text = file.read(4 << 20).decode(errors="replace")
            how = self._failure(status, text)
            return Result(how is None, used, time.monotonic() - began, how or "")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _failure(self, status: int | None, output: str) -> str | None:
        def matches(name: str) -> bool:
            return any(re.search(pattern, output, re.DOTALL) for pattern in self.properties.get(name, []))

        if status is None:
            return "time is up"
        if status == self.properties.get("SKIP_RETURN_CODE") or matches("SKIP_REGULAR_EXPRESSION"):
            return None
        if matches("FAIL_REGULAR_EXPRESSION"):
            return "output"
        if "PASS_REGULAR_EXPRESSION" in self.properties:
            return None if matches("PASS_REGULAR_EXPRESSION") else "output"
        if status < 0:
            return _signal(-status)
        return f"exit code {status}" if status else None

    def trace(self, file: pathlib.Path, limits: Limits) -> tuple[Result, list[int]]:
        """Runs the test without faults. The second value is which ones it reaches."""
        file.write_bytes(bytes(TRACE_BYTES))
        result = self.run({"WAVEJIT_MUTANT_TRACE": str(file)}, limits)
        return result, [number for number, byte in enumerate(file.read_bytes()) if byte]


def tests_of(build: pathlib.Path) -> list[Test]:
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True, capture_output=True)
    found = {}
    for test in json.loads(listed.stdout)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        if "SKIP_RETURN_CODE" in properties:
            properties["SKIP_RETURN_CODE"] = int(properties["SKIP_RETURN_CODE"])
        name = test["name"].split("  # ")[0]  # GoogleTest adds what parameters are, addresses among them
        if test.get("command"):
            found[name] = Test(name, test["command"], properties)
    return list(found.values())


def known_times(folder: pathlib.Path) -> dict[str, float]:
    """Seconds of tests as ctest has measured them in any build folder in `folder`."""
    times = {}
    for path in sorted(folder.glob("*/Testing/Temporary/CTestCostData.txt")):
        for line in path.read_text(errors="replace").split("\n---")[0].splitlines():
            if match := re.fullmatch(r"(.*?)(?:  # .*)? [1-9]\d* ([\d.e+-]+)", line):
                times[match[1]] = float(match[2])
    return times
