"""docs/rocm.json, the results of all recorded steps, and docs/rocm.md, which is made from it."""

import json
import pathlib
import re
import sys

import records
import table
from records import Record

JSON = table.REPOSITORY / "docs/rocm.json"
MARKDOWN = table.REPOSITORY / "docs/rocm.md"
# Characters of a failure's text in docs/rocm.json.
MESSAGE = 400
# Names of failed tests that a line of docs/rocm.md shows.
NAMES = 3

HEAD = """\
# ROCm's own test suites

`scripts/suites.sh document` writes this file from `docs/rocm.json`, which holds what `scripts/suites.sh run` recorded. Each row
is a suite of a Debian package, unmodified, under `wavejit exec` in a root file system of that release. "Whole" rows ran all tests
of the suite; "sample" rows ran as many as they say, drawn by the hashes of the tests' names (`draw` in scripts/suites/gtest.py):
the same each time. Where a larger sample was broken off earlier, the tests of it that ran are among them. "Broken off" rows are
samples whose time was over before all their tests had run; slow tests come last. "Skipped" is what the tests themselves skip. A
kernel that cannot be translated ends the test with an error, as nothing falls back to the interpreter silently: the column "not
translated" counts such places. "Compared" counts dispatches in which interpreter and JIT agreed in shadow mode
([shadow-mode.md](shadow-mode.md)), in a run of the suite with `--shadow=limit:1`, `limit:0.5` or `limit:1,jobs:4`, which may be of another
number of tests than the row; one run on AVX2 and one on AVX-512 count, and docs/rocm.json has each. "Seconds" are of machines that were
busy with other work, and no measure of speed.

To repeat a row: `scripts/suites.sh run --release RELEASE --suite SUITE --target TARGET` with `--whole` or `--sample N`.
"""


def row_of(record: Record) -> dict:
    """What docs/rocm.json says about a step."""
    return {
        "suite": record.suite,
        "release": record.release,
        "target": record.target,
        "engine": record.engine,
        "state": record.state,
        "message": record.message[-MESSAGE:],
        "package": record.packages,
        "commit": record.commit,
        "extent": "whole" if record.whole and record.finished else "sample" if record.finished else "broken off",
        "listed": record.listed,
        "left_out": record.left_out,
        "run": len(record.results),
        "passed": record.count("passed"),
        "skipped": record.count("skipped"),
        "failures": {
            name: {"status": r.status, "message": r.message[:MESSAGE]} for name, r in sorted(record.failures().items())
        },
        "bad_ends": [text[:MESSAGE] for text in record.bad_ends],
        "not_translated": record.translation_failures,
        "shadow": shadow_of(record),
        "seconds": round(record.seconds),
        "peak_mib": round(record.peak / 2**20),
    }


def collect(folder: pathlib.Path) -> None:
    """Brings what is recorded into docs/rocm.json; rows of steps that this machine has no record of stay, and those that are
    worth more than its record. Suites that the table does not have any more go."""
    rows = {}
    if JSON.exists():
        rows = {key_of(row): row for row in json.loads(JSON.read_text())}
    for record in records.load_all(folder):
        row = row_of(record)
        rows[key_of(row)] = merged(rows.get(key_of(row)), row)
    suites = {suite.name for suite in table.load_table().suites}
    kept = [row for _, row in sorted(rows.items()) if row and row["suite"] in suites]
    JSON.write_text(json.dumps(kept, indent=1) + "\n")


def shadow_of(record: Record) -> dict[str, dict[str, int]]:
    """By the tier of the translations, what shadow mode has counted."""
    counts = {name: value for name, value in record.shadow.items() if value and name != "bytes"}
    return {record.tier: counts} if counts else {}


def merged(old: dict | None, new: dict) -> dict | None:
    """The row of docs/rocm.json and the one of a record as one row, which has, for each tier, the counts of the run that
    compared most dispatches in shadow mode: it may be another than the one that the rest is of."""
    row = new if is_replaced(old, new) else old
    if row is None:
        return None
    shadow: dict[str, dict[str, int]] = {}
    for other in filter(None, (old, new)):
        for tier, counts in other.get("shadow", {}).items():
            shadow[tier] = max(shadow.get(tier, {}), counts, key=equal)
    return row | {"shadow": dict(sorted(shadow.items()))}


def equal(counts: dict[str, int]) -> int:
    """Dispatches without a difference."""
    return counts.get("compared", 0) - counts.get("different", 0)


def compared(row: dict) -> int:
    """Dispatches without a difference on all tiers."""
    return sum(equal(counts) for counts in row.get("shadow", {}).values())


def is_replaced(old: dict | None, new: dict) -> bool:
    """Whether a row of docs/rocm.json gives way to that of a record. A complete sample says more than a larger one that was
    broken off; no row takes failures away that it has not run into."""
    if new["state"] == "ran" and not new["run"]:
        return False
    if old is None or old["state"] != "ran":
        return True
    complete = [row["extent"] != "broken off" for row in (old, new)]
    if new["state"] == "ran" and complete[0] != complete[1] and set(old["failures"]) == set(new["failures"]):
        return complete[1]
    return not records.is_worth_more(set(old["failures"]), old["run"], set(new["failures"]), new["run"])


def key_of(row: dict) -> tuple:
    return row["release"], row["suite"], row["target"], row["engine"]


def first_line(text: str) -> str:
    """The first line that says something; of apt's messages the one that names the package."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = next((line for line in lines if line.startswith("E: ") or " Depends: " in line), lines[0] if lines else "")
    return line.replace("|", "\\|")[:160]


def markdown(rows: list[dict], everything: table.Table, reasons: list[table.Reason]) -> str:
    parts = [HEAD, summary(rows, everything, reasons)]
    for name in everything.order:
        own = [row for row in rows if row["release"] == name]
        if own:
            parts.append(section(everything.releases[name], own, everything, reasons))
    return "\n".join(parts)


def unexplained(row: dict, reasons: list[table.Reason]) -> list[str]:
    where = (row["suite"], row["release"], row["target"])
    return [test for test in row["failures"] if not any(reason.explains(*where, test) for reason in reasons)]


def summary(rows: list[dict], everything: table.Table, reasons: list[table.Reason]) -> str:
    lines = ["| release | ROCm | rows | tests run | passed | skipped | failed | of these unexplained | compared, AVX2 | AVX-512 |", "|---|---|" + "---:|" * 8]
    for name in everything.order:
        own = [row for row in rows if row["release"] == name and row["state"] == "ran"]
        if not own:
            continue
        release = everything.releases[name]
        counts = [sum(row[field] for row in own) for field in ("run", "passed", "skipped")]
        failed = sum(len(row["failures"]) for row in own)
        open_ones = sum(len(unexplained(row, reasons)) for row in own)
        cells = [f"Debian {release.debian}", release.rocm, len(own), *counts, failed, open_ones]
        cells += [sum(equal(row.get("shadow", {}).get(tier, {})) for row in own) for tier in ("avx2", "avx512")]
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def section(
    release: table.Release, rows: list[dict], everything: table.Table, reasons: list[table.Reason]
) -> str:
    order = {suite.name: i for i, suite in enumerate(everything.suites)}
    rows = sorted(rows, key=lambda row: (order.get(row["suite"], len(order)), row["target"], row["engine"]))
    lines = [f"## Debian {release.debian}, ROCm {release.rocm}", ""]
    lines += [
        "| suite | target | engine | extent | run | passed | failed | skipped | not translated | compared | seconds | GiB |",
        "|---|---|---|---|" + "---:|" * 8,
    ]
    absent = []
    for row in rows:
        if row["state"] != "ran":
            absent.append(row)
            continue
        extent = row["extent"] if row["extent"] == "whole" else f"{row['extent']} of {row['listed']:,}"
        counts = [row["run"], row["passed"], len(row["failures"]), row["skipped"], len(row["not_translated"])]
        counts.append(compared(row))
        cells = [row["suite"], row["target"], row["engine"], extent, *(f"{n:,}" for n in counts)]
        cells += [f"{row['seconds']:,}", f"{row['peak_mib'] / 1024:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    left_out = [left for left in everything.left_out if release.name in left.releases]
    lines += packages(rows) + not_run(absent, left_out) + failures(rows, reasons)
    return "\n".join(lines)


def packages(rows: list[dict]) -> list[str]:
    """What each suite is of; suites of the same packages together, targets where those of a suite are of different ones."""
    targets: dict[str, dict[str, list[str]]] = {}  # by suite and packages
    for row in rows:
        if row["package"]:
            targets.setdefault(row["suite"], {}).setdefault(row["package"], []).append(row["target"])
    suites: dict[str, list[str]] = {}  # by packages
    for suite, own in targets.items():
        for package, where in own.items():
            name = suite if len(own) == 1 else f"{suite} ({', '.join(dict.fromkeys(where))})"
            suites.setdefault(package, []).append(name)
    lines = [f"- {', '.join(names)}: {p.replace(' ', ', ').replace('_', ' ')}" for p, names in suites.items()]
    return ["Packages:", "", *lines, ""] if lines else []


STATES = {
    "absent": "The release has no such package",
    "uninstallable": "The package cannot be installed",
    "no code": "The package has no code for the target",
    "unlisted": "The programs do not list their tests",
}


def not_run(rows: list[dict], left_out: list[table.LeftOut]) -> list[str]:
    """Suites without a row, by the reason."""
    lines = [f"- {left.name}: {left.reason}" for left in left_out]
    for state, text in STATES.items():
        suites: dict[str, list[str]] = {}
        messages: dict[str, str] = {}
        for row in rows:
            if row["state"] == state:
                suites.setdefault(row["suite"], []).append(row["target"])
                messages[row["suite"]] = first_line(row["message"]) if state in ("uninstallable", "unlisted") else ""
        for suite, targets in suites.items():
            where = "" if state in ("absent", "uninstallable") else f" ({', '.join(targets)})"
            lines.append(f"- {suite}{where}: {text}{': ' + messages[suite] if messages[suite] else ''}.")
    return ["Not run:", "", *lines, ""] if lines else []


def program_of(bad_end: str) -> str:
    """The program that ended badly, as reasons name tests: "program:"."""
    return re.split(r"[: ]", bad_end, maxsplit=1)[0] + ":"


def failures(rows: list[dict], reasons: list[table.Reason]) -> list[str]:
    """Failures by their reasons, then those without one."""
    lines = []
    for reason in reasons:
        found = []
        for row in rows:
            where = (row["suite"], row["release"], row["target"])
            names = [t for t in row["failures"] if reason.explains(*where, t)]
            names += [end for end in row["bad_ends"] if reason.explains(*where, program_of(end))]
            if names:
                found.append(f"{row['target']} {len(names)}")
        if found:
            evidence = f" {reason.evidence}" if reason.evidence else ""
            lines.append(f"- {reason.suite}, `{'`, `'.join(reason.tests)}` ({', '.join(found)}): {reason.owner}. {reason.reason}{evidence}")
    for row in rows:
        names = unexplained(row, reasons)
        if names:
            lines.append(f"- {row['suite']}, {row['target']}, {row['engine']}: {len(names)} **unexplained**")
            for name in names[:NAMES]:
                failure = row["failures"][name]
                lines.append(f"  - `{name}`: {failure['status']}: {first_line(failure['message'])}")
        for tier, counts in row.get("shadow", {}).items():
            if different := counts.get("different"):
                lines.append(
                    f"- {row['suite']}, {row['target']}, {row['engine']}: interpreter and JIT ({tier}) differ in {different} dispatches"
                )
        where = (row["suite"], row["release"], row["target"])
        ends = [end for end in row["bad_ends"] if not any(reason.explains(*where, program_of(end)) for reason in reasons)]
        for text in ends[:NAMES]:
            lines.append(f"- {row['suite']}, {row['target']}, {row['engine']}: {first_line(text)}")
    return ["Failures:", "", *lines, ""] if lines else []


def write(folder: pathlib.Path, check: bool) -> int:
    """Writes both files, or, with `check`, returns 1 if docs/rocm.md is not what docs/rocm.json says."""
    if not check:
        collect(folder)
    text = markdown(json.loads(JSON.read_text()), table.load_table(), table.load_reasons())
    if not check:
        MARKDOWN.write_text(text)
    elif MARKDOWN.read_text() != text:
        print("docs/rocm.md is not what docs/rocm.json says: scripts/suites.sh document", file=sys.stderr)
        return 1
    return 0
