"""Which sites get a fault, and how a file's text looks with faults in it."""

import collections
import pathlib
import random
from collections.abc import Iterator

from operators import IS_IT, OPERATORS, Site

HEADER = pathlib.Path(__file__).resolve().parent / "mutant.h"


def order(sites: list[Site], room: str, seed: int) -> Iterator[Site]:
    """All sites of a room as a seed draws them: one of each operator in turn, as long as it has any."""
    left = {}
    for operator in OPERATORS:
        own = sorted((site for site in sites if site.operator == operator), key=lambda site: site.key)
        random.Random(f"{seed} {room} {operator}").shuffle(own)
        left[operator] = collections.deque(own)
    while any(left.values()):
        for queue in left.values():
            if queue:
                yield queue.popleft()


def overlap(one: Site, other: Site) -> bool:
    return one.file == other.file and one.begin < other.end and other.begin < one.end


def draw(sites: list[Site], room: str, seed: int, count: int, excluded: set[str]) -> list[Site]:
    """The first `count` sites of the room's order that are in nobody's way and not among the excluded keys."""
    chosen: list[Site] = []
    for site in order(sites, room, seed):
        if len(chosen) == count:
            break
        if site.key not in excluded and not any(overlap(site, other) for other in chosen):
            chosen.append(site)
    return chosen


class Rewritten:
    """A file's text with faults, by their numbers. Its lines have the numbers that they have without. Compilers take it for a
    system's header, of which they give no warnings."""

    def __init__(self, path: pathlib.Path, text: bytes, faults: dict[int, Site]):
        parts = [f'#include "{HEADER}"\n# 1 "{path}" 3\n'.encode()]
        self.places: list[tuple[int, int, int]] = []  # begin and end in the new text, number
        length, at = len(parts[0]), 0
        for number, site in sorted(faults.items(), key=lambda item: item[1].begin):
            code = site.code.replace(IS_IT, f"::wavejit::mutant({number})", 1).encode()
            for part in (text[at:site.begin], code):
                parts.append(part)
                length += len(part)
            self.places.append((length - len(code), length, number))
            at = site.end
        parts.append(text[at:])
        self.text = b"".join(parts)

    def of_line(self, line: int) -> list[int]:
        """The faults in a line, as compilers number them."""
        begin = 0
        for _ in range(line + 1):  # the two lines in front are not counted
            begin = self.text.find(b"\n", begin) + 1
        return [number for first, last, number in self.places if first <= self.text.find(b"\n", begin) and begin <= last]
