"""Records of steps: one JSON file each, which grows while the step runs, so that a step that was broken off goes on."""

import dataclasses
import hashlib
import json
import pathlib

from gtest import Result


# In a record's key, in front of the options of shadow mode.
SHADOW = " shadow "


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
    commit: str = ""  # of wavejit; several, with commas, if a record goes on with the results of earlier builds
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    state: str = "ran"
    message: str = ""
    listed: int = 0  # of the part of the suite that counts, without those left out
    chosen: int = 0  # of these
    missing: int = 0  # of the chosen, without a result: there may be results of others, of a larger sample
    left_out: dict[str, int] = dataclasses.field(default_factory=dict)  # reason: number of tests
    results: dict[str, Result] = dataclasses.field(default_factory=dict)  # "program:test"
    bad_ends: list[str] = dataclasses.field(default_factory=list)
    translation_failures: list[str] = dataclasses.field(default_factory=list)
    shadow: dict[str, int] = dataclasses.field(default_factory=dict)  # counts of dispatches (run --shadow)
    tier: str = ""  # of the translations that shadow mode compares: avx2 or avx512
    differences: list[str] = dataclasses.field(default_factory=list)  # between interpreter and JIT
    seconds: float = 0
    peak: int = 0  # bytes

    @property
    def packages(self) -> str:
        """The packages that the record is of."""
        return self.key.partition(" ")[2].partition(SHADOW)[0]

    @property
    def finished(self) -> bool:
        return self.state != "ran" or (self.missing == 0 and len(self.results) >= self.chosen > 0)

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


def is_worth_more(failures: set[str], run: int, new_failures: set[str], new_run: int) -> bool:
    """True if an earlier record is kept: it is of more tests, and the new one has no failure that it lacks."""
    return run > new_run and new_failures <= failures


def waiting_path(path: pathlib.Path) -> pathlib.Path:
    """Where the record of another build waits until it says as much as the one at `path`."""
    return path.with_suffix(".next")


def save(path: pathlib.Path, record: Record) -> None:
    """Writes a record to `path`; beside it as long as the record there is of another build or of other packages and worth
    more, so that a run that is broken off early replaces nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path
    if path.exists() and (old := load(path)).key != record.key and old.state == "ran":
        if is_worth_more(set(old.failures()), len(old.results), set(record.failures()), len(record.results)):
            target = waiting_path(path)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(dataclasses.asdict(record), indent=1) + "\n")
    temporary.replace(target)
    if target == path:
        waiting_path(path).unlink(missing_ok=True)


def begin(path: pathlib.Path, new: Record, again: str) -> Record:
    """The record that a step goes on with, by what `again` (run --again) says: that of the same build and packages if there
    is one; otherwise `new`, with "packages" with what has not failed with another build and the same packages."""
    if again == "all":
        return new
    olds = [load(file) for file in (path, waiting_path(path)) if file.exists()]
    old = next((old for old in olds if old.key == new.key), None)
    if old is None and again == "packages":
        same = [old for old in olds if old.packages == new.packages]
        old = max(same, key=lambda old: len(old.results), default=None)
        if old is not None:
            old.key, old.bad_ends, old.translation_failures = new.key, [], []
            old.results = {name: r for name, r in old.results.items() if name not in old.failures()}
            old.commit = ", ".join(dict.fromkeys([*filter(None, old.commit.split(", ")), new.commit]))
    elif old is not None and again == "failed":
        old.results = {name: r for name, r in old.results.items() if name not in old.failures()}
    return old or new


def load_all(folder: pathlib.Path) -> list[Record]:
    return [load(path) for path in sorted(folder.glob("*/*.json"))]
