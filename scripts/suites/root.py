"""Root file systems of the releases: makes them, installs and removes packages, and makes commands that run inside."""

import contextlib
import fcntl
import functools
import os
import pathlib
import re
import subprocess
import time
from collections.abc import Iterator

import table

# Folders inside of a root: wavejit's build, and what a step reads and writes.
WAVEJIT = "/opt/wavejit"
EXCHANGE = "/opt/suites"

# Packages of every root besides those that rocm-root.sh puts there.
BASE = "hipcc,rocminfo,libamdhip64-dev,libpng-dev"

# $1 root, $2 build, $3 exchange folder; then the command. All of it is gone with the name space.
ENTER = f"""
set -e
root=$1 build=$2 exchange=$3
shift 3
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount --bind "$build" "$root{WAVEJIT}"
mount --bind "$exchange" "$root{EXCHANGE}"
exec chroot "$root" "$@"
"""


class PackageError(Exception):
    """A package is not there or cannot be installed; the text is apt's."""


class Root:
    def __init__(self, path: pathlib.Path, build: pathlib.Path, exchange: pathlib.Path) -> None:
        self.path = path.resolve()
        self.build = build.resolve()
        self.exchange = exchange.resolve()
        exchange.mkdir(parents=True, exist_ok=True)
        for folder in (WAVEJIT, EXCHANGE):
            (self.path / folder[1:]).mkdir(parents=True, exist_ok=True)

    def command(self, *arguments: str) -> list[str]:
        """A command that runs `arguments` inside, in name spaces of its own, so that nothing of it is left behind."""
        spaces = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
        return [*spaces, "bash", "-c", ENTER, "enter", str(self.path), str(self.build), str(self.exchange), *arguments]

    def output(self, *arguments: str) -> str:
        """Runs a short command inside; its output, or PackageError."""
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        if arguments[0] == "apt-get":  # another may be under way
            arguments = ("apt-get", "-o", "DPkg::Lock::Timeout=600", *arguments[1:])
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False, env=env)
        if done.returncode != 0:
            lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            raise PackageError("\n".join(lines[-12:]))
        return done.stdout

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock of the root's packages (ROOT.lock, beside it)."""
        with open(self.path.with_name(self.path.name + ".lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def update(self) -> None:
        """Fetches the lists of packages unless they are of the last 12 hours."""
        lists = list((self.path / "var/lib/apt/lists").glob("*Packages*"))
        if not lists or time.time() - max(p.stat().st_mtime for p in lists) > 12 * 3600:
            with self.locked():
                self.output("apt-get", "update")
            for path in (self.path / "var/lib/apt/lists").glob("*Packages*"):
                os.utime(path)

    @functools.cache
    def package_names(self) -> list[str]:
        self.update()
        return self.output("apt-cache", "pkgnames").split()

    def find_package(self, pattern: str) -> str | None:
        """The highest name of a package that there is and that matches."""
        candidates = [name for name in self.package_names() if re.fullmatch(pattern, name)]
        for name in sorted(candidates, key=lambda n: [int(x) for x in re.findall(r"\d+", n)], reverse=True):
            if self.candidate(name):
                return name
        return None

    @functools.cache
    def candidate(self, package: str) -> str | None:
        """The version that would be installed."""
        match = re.search(r"Candidate: (\S+)", self.output("apt-cache", "policy", package))
        return match[1] if match and match[1] != "(none)" else None

    def installed(self) -> dict[str, str]:
        lines = self.output("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package} ${Version}\n").splitlines()
        return {name: version for status, name, version in (line.split() for line in lines) if status == "ii"}

    @contextlib.contextmanager
    def packages(self, names: list[str], keep: bool) -> Iterator[dict[str, str]]:
        """Installs packages, and removes afterwards, unless `keep`, all that came with them. Gives the versions of ROCm's
        packages that are installed meanwhile."""
        with self.locked():
            before = self.installed()
            if any(name not in before for name in names):
                self.output("apt-get", "install", "-y", "--no-install-recommends", *names)
                self.output("apt-get", "clean")
            after = self.installed()
        try:
            yield {name: version for name, version in after.items() if is_rocm(name)}
        finally:
            added = sorted(set(after) - set(before))
            if added and not keep:
                with self.locked():
                    self.output("apt-get", "purge", "-y", *added)


def is_rocm(package: str) -> bool:
    return bool(re.match(r"(lib)?(roc|hip|hsa|amd|rccl|miopen|migraphx|magma|rpp)", package))


def make(release: str, path: pathlib.Path) -> None:
    """Makes the root file system of a release if it is not there."""
    if (path / "usr/bin").exists():
        return
    script = table.REPOSITORY / "scripts/rocm-root.sh"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run([str(script), release, str(path), "--include", BASE], capture_output=True, text=True, check=False)
    except OSError as error:
        raise PackageError(str(error)) from None
    if done.returncode != 0:
        raise PackageError(done.stderr.strip()[-1000:])
