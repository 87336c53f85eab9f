"""Records of steps: one JSON file each, which grows while the step runs, so that a step that was broken off goes on."""

import dataclasses
import hashlib
import json
import pathlib

from gtest import Result


def hash_of_build(build: pathlib.Path) -> str:
    """Stands for the libraries that programs run on."""
    digest = hashlib.sha256()
    for name in ("hsa/libhsa-runtime64.so.1", "hsa/libwavejit-kfd.so"):
        digest.update((build / name).read_bytes())
    return digest.hexdigest()[:16]


@dataclasses.dataclass
class Record:
    """Of a suite on a target and engine in a release. `state`: ran, absent (no such package), uninstallable (`message`
    is apt's), no code (for the target), unlisted (the program did not list its tests: `message`)."""

    suite: str
    release: str
    target: str
    engine: str
    key: str = ""  # the build and the packages it is of
    commit: str = ""  # of wavejit
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    state: str = "ran"
    message: str = ""
    listed: int = 0  # of the part of the suite that counts, without those left out
    chosen: int = 0  # of these
    left_out: dict[str, int] = dataclasses.field(default_factory=dict)  # reason: number of tests
    results: dict[str, Result] = dataclasses.field(default_factory=dict)  # "program:test"
    bad_ends: list[str] = dataclasses.field(default_factory=list)
    translation_failures: list[str] = dataclasses.field(default_factory=list)
    shadow: dict[str, int] = dataclasses.field(default_factory=dict)  # counts of dispatches (run --shadow)
    differences: list[str] = dataclasses.field(default_factory=list)  # between interpreter and JIT
    seconds: float = 0
    peak: int = 0  # bytes

    @property
    def finished(self) -> bool:
        return self.state != "ran" or (self.chosen > 0 and len(self.results) >= self.chosen)

    @property
    def whole(self) -> bool:
        return self.state == "ran" and self.chosen >= self.listed > 0

    def count(self, *statuses: str) -> int:
        return sum(result.status in statuses for result in self.results.values())

    def failures(self) -> dict[str, Result]:
        return {name: r for name, r in self.results.items() if r.status not in ("passed", "skipped")}


    def add_shadow(self, path: pathlib.Path) -> None:
        """Adds what processes have left in the file of WAVEJIT_SHADOW_REPORT, and removes it."""
        if not path.exists():
            return
        for line in path.read_text(errors="replace").splitlines():
            try:
                data = json.loads(line)
            except ValueError:  # of a process that was killed
                continue
            if "difference" in data:
                self.differences.append(data["difference"])
                continue
            for name, value in data.items():
                self.shadow[name] = self.shadow.get(name, 0) + value
        path.unlink()


def path_of(folder: pathlib.Path, suite: str, release: str, target: str, engine: str) -> pathlib.Path:
    return folder / release / f"{suite}.{target}.{engine}.json"


def load(path: pathlib.Path) -> Record:
    data = json.loads(path.read_text())
    data["results"] = {name: Result(**result) for name, result in data["results"].items()}
    return Record(**data)


def save(path: pathlib.Path, record: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(dataclasses.asdict(record), indent=1) + "\n")
    temporary.replace(path)


def load_all(folder: pathlib.Path) -> list[Record]:
    return [load(path) for path in sorted(folder.glob("*/*.json"))]
