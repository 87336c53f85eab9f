"""The table of releases and suites (table.toml) and the reasons of failures (reasons.toml)."""

import dataclasses
import fnmatch
import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent


@dataclasses.dataclass(frozen=True)
class Release:
    name: str
    debian: str
    rocm: str
    targets: list[str]


@dataclasses.dataclass(frozen=True)
class Suite:
    """A row of table.toml, which describes the fields."""

    name: str
    package: str
    kind: str
    folder: str
    programs: str
    limit: float
    patience: float
    memory: float
    sample: int
    batch: int
    code: str | None = None
    also: list[str] = dataclasses.field(default_factory=list)
    arguments: list[str] = dataclasses.field(default_factory=list)
    commands: dict[str, str] = dataclasses.field(default_factory=dict)
    list_tests: str = ""
    run_test: str = ""
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    leave_out: dict[str, str] = dataclasses.field(default_factory=dict)
    part: list[str] = dataclasses.field(default_factory=lambda: ["*"])
    targets: list[str] | None = None
    devices: int = 1
    prepare: str = ""
    wrapper: str | None = None

    def reason_to_leave_out(self, test: str) -> str | None:
        return next((why for pattern, why in self.leave_out.items() if fnmatch.fnmatchcase(test, pattern)), None)


@dataclasses.dataclass(frozen=True)
class Reason:
    """Explains failures: of a suite's tests that match one of `tests`, in the releases and on the targets listed (all, if none)."""

    suite: str
    tests: list[str]
    owner: str  # upstream, limit (of wavejit, documented) or ours
    reason: str
    evidence: str = ""
    releases: list[str] = dataclasses.field(default_factory=list)
    targets: list[str] = dataclasses.field(default_factory=list)

    def explains(self, suite: str, release: str, target: str, test: str) -> bool:
        return (
            self.suite == suite
            and (not self.releases or release in self.releases)
            and (not self.targets or target in self.targets)
            and any(fnmatch.fnmatchcase(test, pattern) for pattern in self.tests)
        )


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A package of tests in `releases` that is no suite."""

    name: str
    releases: list[str]
    reason: str


@dataclasses.dataclass(frozen=True)
class Table:
    releases: dict[str, Release]
    suites: list[Suite]
    whole: list[str]
    order: list[str]
    left_out: list[LeftOut]

    def suite(self, name: str) -> Suite:
        for suite in self.suites:
            if suite.name.lower() == name.lower():
                return suite
        raise SystemExit(f"There is no suite '{name}'; there are {', '.join(s.name for s in self.suites)}.")


def load_table(path: pathlib.Path = HERE / "table.toml") -> Table:
    data = tomllib.loads(path.read_text())
    return Table(
        releases={name: Release(name, **fields) for name, fields in data["release"].items()},
        suites=[Suite(**{**data["default"], **fields}) for fields in data["suite"]],
        whole=data["plan"]["whole"],
        order=data["plan"]["order"],
        left_out=[LeftOut(**fields) for fields in data.get("left_out", [])],
    )


def load_reasons(path: pathlib.Path = HERE / "reasons.toml") -> list[Reason]:
    reasons = [Reason(**fields) for fields in tomllib.loads(path.read_text()).get("reason", [])]
    for reason in reasons:
        if reason.owner not in ("upstream", "limit", "ours"):
            raise SystemExit(f"reasons.toml: owner '{reason.owner}' of {reason.suite} is not upstream, limit or ours.")
    return reasons
