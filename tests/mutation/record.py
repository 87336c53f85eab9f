"""What a campaign has found out, in files, so that it can be stopped at any time and called again."""

import collections
import json
import pathlib
from collections.abc import Iterator

REASONS = pathlib.Path(__file__).resolve().parent / "survivors.txt"
HAS_AVX512 = " avx512f " in pathlib.Path("/proc/cpuinfo").read_text()


def reasons(path: pathlib.Path = REASONS) -> dict[str, str]:
    """Reasons of survivors: a line with the site's key, and indented lines below it."""
    found: dict[str, str] = {}
    key = None
    for line in path.read_text().splitlines() if path.is_file() else []:
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith(" "):
            key = line
            found[key] = ""
        elif key is not None:
            found[key] = f"{found[key]} {line.strip()}".strip()
    return found


class Record:
    """mutants.json has the draw and the verdicts, reach.jsonl which test reaches what in which time, passed/<number> the tests that a
    mutant has passed."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.path = folder / "mutants.json"
        data = json.loads(self.path.read_text()) if self.path.is_file() else {}
        self.seed: int | None = data.get("seed")
        self.count: int = data.get("count", 0)
        self.mutants: list[dict] = data.get("mutants", [])
        self.excluded: list[str] = data.get("excluded", [])
        self.reach: dict[str, dict] = {}
        reach = folder / "reach.jsonl"
        for line in reach.read_text().splitlines() if reach.is_file() else []:
            entry = json.loads(line)
            self.reach[entry["test"]] = entry

    def begin(self, seed: int, count: int) -> None:
        """A new draw: what is known of another one is put aside."""
        if self.seed is not None:
            old = self.folder / "earlier" / f"{self.seed}-{self.count}"
            old.mkdir(parents=True, exist_ok=True)
            for name in ("mutants.json", "reach.jsonl"):
                if (self.folder / name).exists():
                    (self.folder / name).rename(old / name)
            for file in (self.folder / "passed").glob("*"):
                file.unlink()
        self.seed, self.count, self.mutants, self.excluded, self.reach = seed, count, [], [], {}

    def save(self) -> None:
        text = json.dumps({"seed": self.seed, "count": self.count, "excluded": self.excluded, "mutants": self.mutants}, indent=1)
        partial = self.path.with_suffix(".partial")
        partial.write_text(text)
        partial.rename(self.path)

    def add_reach(self, entry: dict) -> None:
        self.reach[entry["test"]] = entry
        with (self.folder / "reach.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def passed(self, number: int) -> set[str]:
        path = self.folder / "passed" / str(number)
        return set(path.read_text().splitlines()) if path.is_file() else set()

    def add_passed(self, number: int, test: str) -> None:
        (self.folder / "passed").mkdir(exist_ok=True)
        with (self.folder / "passed" / str(number)).open("a") as file:
            file.write(test + "\n")

    def forget(self, tests: set[str]) -> None:
        """Tests that have changed: what they reach and which mutants have passed them."""
        for test in tests & self.reach.keys():
            del self.reach[test]
        (self.folder / "reach.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in self.reach.values()))
        for path in (self.folder / "passed").glob("*"):
            path.write_text("".join(f"{test}\n" for test in path.read_text().splitlines() if test not in tests))


def score(record: Record) -> tuple[int, int]:
    """How many mutants are found, and how many should be: those with a verdict that are not equivalent and that the host can execute."""
    why = reasons()
    classes = collections.Counter(verdict(mutant, why) for mutant in record.mutants)
    return classes["found"], classes["found"] + classes["missed"]


def equivalent(reason: str) -> bool:
    return reason.lower().startswith("equivalent")


def needs_other_host(reason: str) -> bool:
    return reason.startswith("AVX-512:") and not HAS_AVX512


def verdict(mutant: dict, why: dict[str, str]) -> str:
    """What a mutant counts as: found, missed, equivalent, other host (code that only hosts with AVX-512 execute), or open."""
    reason = why.get(mutant["key"], "")
    if mutant["verdict"] in ("survived", "unreached"):
        return "equivalent" if equivalent(reason) else "other host" if needs_other_host(reason) else "missed"
    return mutant["verdict"] or ("other host" if needs_other_host(reason) else "open")


def summary(record: Record, rooms: list[str], operators: tuple[str, ...]) -> Iterator[str]:
    """Counts by room and operator, and survivors with their reasons. Found are as many of those that are not equivalent."""
    why = reasons()
    counts: dict[tuple[str, str], collections.Counter] = collections.defaultdict(collections.Counter)
    survivors = []
    for mutant in record.mutants:
        if mutant["verdict"] in ("survived", "unreached"):
            survivors.append((mutant, mutant["verdict"], why.get(mutant["key"], "")))
        for line in (("room", mutant["room"]), ("operator", mutant["operator"]), ("", "all")):
            counts[line][verdict(mutant, why)] += 1
    yield f"seed {record.seed}: {len(record.mutants)} mutants"
    yield f"{'':12}{'mutants':>9}{'found':>9}{'missed':>9}{'equivalent':>12}{'other host':>12}{'open':>6}{'found of the rest':>20}"
    for kind, names in (("room", rooms), ("operator", operators), ("", ["all"])):
        for name in names:
            count = counts[kind, name]
            rest = count["found"] + count["missed"]
            share = f"{int(1000 * count['found'] / rest) / 10} %" if rest else "-"
            yield (f"{name:12}{sum(count.values()):>9}{count['found']:>9}{count['missed']:>9}{count['equivalent']:>12}{count['other host']:>12}{count['open']:>6}{share:>20}")
        yield ""
    for mutant, how, reason in survivors:
        yield f"{how} {mutant['number']}: {mutant['file']}:{mutant['line']}: {mutant['key']}"
        yield f"    {reason or 'no reason in survivors.txt'}"
