"""The copy of the repository that faults are compiled into, and the sites of its sources."""

import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import clang
import faults
import operators
from operators import Site

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
ROOMS = {"lifter": ["frontend/lift"], "passes": ["ir/passes", "ir/analysis"], "backend": ["backend-x86"], "runtime": ["runtime"]}
PRESET = "ci"


def room_of(file: str) -> str | None:
    return next((room for room, folders in ROOMS.items() if any(file.startswith(folder + "/") for folder in folders)), None)


def write_if_new(path: pathlib.Path, data: bytes) -> None:
    """Leaves the time of a file alone that is as it should be, so that nothing is built again."""
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _find(path: str, name: str, arguments: list[str], cache: str) -> list[Site]:
    if os.path.exists(cache):
        return [Site(**site) for site in json.loads(pathlib.Path(cache).read_text())]
    sites = operators.find(pathlib.Path(path), name, arguments)
    write_if_new(pathlib.Path(cache), json.dumps([dataclasses.asdict(site) for site in sites]).encode())
    return sites


class Workspace:
    def __init__(self, folder: pathlib.Path, jobs: int):
        self.folder = folder.resolve()
        self.tree = self.folder / "tree"
        self.build = self.tree / "build" / PRESET
        self.jobs = jobs

    def files(self) -> list[str]:
        listed = subprocess.run(["git", "-C", str(REPOSITORY), "ls-files", "-coz", "--exclude-standard"], check=True, capture_output=True)
        return sorted(name for name in set(listed.stdout.decode().split("\0")) if name and (REPOSITORY / name).is_file())

    def copy(self, rewritten: dict[str, faults.Rewritten]) -> None:
        """Makes the copy what the repository is, but for the files that have faults."""
        wanted = self.files()
        for name in wanted:
            target = self.tree / name
            write_if_new(target, rewritten[name].text if name in rewritten else (REPOSITORY / name).read_bytes())
            target.chmod((REPOSITORY / name).stat().st_mode)
        list_of_last_time = self.folder / "files"
        if list_of_last_time.is_file():
            for name in set(list_of_last_time.read_text().split("\n")) - set(wanted):
                (self.tree / name).unlink(missing_ok=True) if name else None
        list_of_last_time.write_text("\n".join(wanted))

    def configure(self) -> None:
        if not (self.build / "build.ninja").is_file() or not (self.build / "compile_commands.json").is_file():
            options = ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DWAVEJIT_UNITE=OFF"]  # each source with its own command
            subprocess.run(["cmake", "--preset", PRESET, *options], cwd=self.tree, check=True, stdout=subprocess.DEVNULL)

    def arguments(self) -> dict[str, list[str]]:
        """How the sources in the rooms are compiled: options for libclang, without precompiled headers."""
        options = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            name = str(pathlib.Path(entry["file"]).relative_to(self.tree)) if entry["file"].startswith(str(self.tree)) else ""
            if room_of(name):
                words = shlex.split(entry["command"])
                kept = [word for word in words if re.match(r"-(I|D|std=|isystem|m|f)", word)]
                for first, second in zip(words, words[1:]):
                    if first == "-isystem":
                        kept.append("-isystem" + second)
                options[name] = [word for word in kept if word != "-isystem"] + ["-w"]
        return options

    def sites(self, only: set[str] | None = None) -> dict[str, list[Site]]:
        """All sites, or those of some files, by room."""
        tool = b"".join(pathlib.Path(module.__file__).read_bytes() for module in (operators, clang))
        tasks = []
        for name, options in sorted(self.arguments().items()):
            path = REPOSITORY / name
            if path.is_file() and (only is None or name in only):
                own = [option.replace(str(self.tree) + "/", str(REPOSITORY) + "/") if "/build/" not in option else option for option in options]
                own = [re.sub(f"^(-I|-isystem){re.escape(str(self.tree))}$", rf"\g<1>{REPOSITORY}", option) for option in own]
                digest = hashlib.sha256(tool + name.encode() + path.read_bytes()).hexdigest()[:24]
                tasks.append((str(path), name, own, str(self.folder / "sites" / digest)))
        found: dict[str, list[Site]] = {room: [] for room in ROOMS}
        with concurrent.futures.ProcessPoolExecutor(self.jobs) as pool:
            for sites in pool.map(_find, *zip(*tasks)) if tasks else []:
                for site in sites:
                    found[room_of(site.file)].append(site)
        return found

    def rewritten(self, sites: dict[int, Site]) -> dict[str, faults.Rewritten]:
        files: dict[str, dict[int, Site]] = {}
        for number, site in sites.items():
            files.setdefault(site.file, {})[number] = site
        return {name: faults.Rewritten(self.tree / name, (REPOSITORY / name).read_bytes(), own) for name, own in files.items()}

    def compile(self, rewritten: dict[str, faults.Rewritten]) -> set[int]:
        """Builds everything. Returns the faults that the compiler refuses, and ends the program at any other failure."""
        command = ["ninja", "-C", str(self.build), "-j", str(self.jobs), "-k", "0"]
        log = self.folder / "build.log"
        with log.open("w") as file:
            if subprocess.run(command, stdout=file, stderr=subprocess.STDOUT).returncode == 0:
                return set()
        bad: set[int] = set()
        for match in re.finditer(r"^(\S+?):(\d+):\d+: (?:error|note|  required)", log.read_text(errors="replace"), re.MULTILINE):
            path = pathlib.Path(match[1])
            name = str(path.relative_to(self.tree)) if path.is_relative_to(self.tree) else match[1]
            if name in rewritten:
                bad.update(rewritten[name].of_line(int(match[2])))
        if not bad:
            sys.exit(f"mutate: the copy does not build: see {log}")
        return bad
