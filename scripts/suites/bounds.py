"""Runs a command with limits of time and memory, and hands over its output line by line."""

import dataclasses
import os
import pathlib
import selectors
import signal
import subprocess
import time
from collections.abc import Callable

# How often the memory of the processes is looked at, in seconds.
INTERVAL = 0.5
# Characters of the output that are kept for messages.
TAIL = 4000


@dataclasses.dataclass
class Outcome:
    """How a command ended: `why` is "exit", "signal", "time", "memory" or "deadline"; `code` is its exit status or the
    signal."""

    why: str
    code: int
    seconds: float
    tail: str
    peak: int  # bytes

    def describe(self) -> str:
        match self.why:
            case "exit":
                return f"exit status {self.code}"
            case "signal":
                return f"signal {self.code} ({signal.Signals(self.code).name})"
            case "time" | "deadline":
                return f"stopped after {self.seconds:.0f} s"
            case _:
                return f"stopped with {self.peak / 2**30:.1f} GiB of memory"


def processes_below(root: int) -> list[int]:
    """The process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            # The name, in brackets, may contain anything.
            fields = pathlib.Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def memory_of(pids: list[int]) -> int:
    """Bytes of anonymous memory and of memory files in use."""
    total = 0
    for pid in pids:
        try:
            lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
    return total


def waits_of(pids: list[int]) -> dict[str, float]:
    """Seconds that each thread has waited for a CPU that others had."""
    waits = {}
    for pid in pids:
        try:
            for thread in os.scandir(f"/proc/{pid}/task"):
                waits[thread.name] = int(pathlib.Path(thread.path, "schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError):  # it has ended, or the kernel does not count
            continue
    return waits


def kill(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(
    command: list[str],
    *,
    limit: float,
    memory: float,
    on_line: Callable[[str], bool] = lambda line: False,
    env: dict[str, str] | None = None,
    deadline: float = float("inf"),
) -> Outcome:
    """Runs `command` until it ends, uses more than `memory` GiB, or is silent for too long: `limit` seconds have to bring
    a line for which `on_line` returns true. Time in which its threads wait for a CPU that other work has counts a tenth.
    `deadline` (of time.monotonic()) ends it in any case."""
    start = last = time.monotonic()
    waits: dict[str, float] = {}
    waited = 0.0  # since `last`
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        start_new_session=True,
        # If memory runs short in spite of the limit, the kernel takes the tests first.
        preexec_fn=lambda: pathlib.Path("/proc/self/oom_score_adj").write_text("900"),
    )
    assert process.stdout
    os.set_blocking(process.stdout.fileno(), False)
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    rest, tail, why, peak, look = b"", "", "", 0, 0.0
    try:
        while True:
            ready = selector.select(INTERVAL)
            now = time.monotonic()
            if ready:
                data = process.stdout.read(1 << 16)
                if data == b"":
                    break
                *lines, rest = (rest + (data or b"")).split(b"\n")
                for raw in lines:
                    line = raw.decode(errors="replace").rstrip("\r")
                    tail = (tail + line + "\n")[-TAIL:]
                    if on_line(line):
                        last, waited = now, 0.0
            elif process.poll() is not None:
                break  # a descendant holds the pipe
            if now >= look:
                look = now + INTERVAL
                pids = processes_below(process.pid)
                peak = max(peak, used := memory_of(pids))
                before, waits = waits, waits_of(pids)
                waited += max((seconds - before.get(thread, 0) for thread, seconds in waits.items()), default=0)
                own = now - last - 0.9 * min(waited, now - last)
                over = {"memory": used > memory * 2**30, "deadline": now > deadline, "time": own > limit}
                if why := next((name for name, is_over in over.items() if is_over), ""):
                    break
        if rest:
            line = rest.decode(errors="replace")
            tail = (tail + line)[-TAIL:]
            on_line(line)
        if not why:
            process.wait()
    finally:
        # Also when this program is told to end. What left the session is in the PID namespace, and ends with that.
        if process.poll() is None:
            kill(processes_below(process.pid))
        status = process.wait()
        process.stdout.close()
    seconds = time.monotonic() - start
    if why:
        return Outcome(why, 0, seconds, tail, peak)
    # A shell and `unshare` report a signal as 128 + n.
    if status < 0 or 128 < status < 128 + signal.NSIG:
        return Outcome("signal", -status if status < 0 else status - 128, seconds, tail, peak)
    return Outcome("exit", status, seconds, tail, peak)
