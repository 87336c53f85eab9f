"""Makes a program smaller that shows a difference: drops statements, puts constants and operands in the place of expressions."""

import time
from collections.abc import Callable

from language import COMPUTED, FLOATS, INTEGERS
from tree import Node

SIMPLE = set(INTEGERS) | set(FLOATS)


def _try(chosen: list[tuple[Node, "str | Node"]], check: Callable[[], bool]) -> bool:
    before = [node.replacement for node, _ in chosen]
    for node, replacement in chosen:
        node.replacement = replacement
    if check():
        return True
    for (node, _), old in zip(chosen, before, strict=True):
        node.replacement = old
    return False


def _drop(tree: Node, check: Callable[[], bool], deadline: float) -> bool:
    """Drops statements, many at once first."""
    progress = False
    statements = [n for n in tree.walk() if n.kind == "statement"]
    size = max(1, len(statements) // 2)
    while size >= 1 and time.monotonic() < deadline:
        at = 0
        while at < len(statements) and time.monotonic() < deadline:
            if _try([(n, "") for n in statements[at : at + size]], check):
                progress = True
                del statements[at : at + size]
                alive = set(map(id, tree.walk()))
                statements = [n for n in statements if id(n) in alive]
            else:
                at += size
        size //= 2
    return progress


def _flatten(tree: Node, check: Callable[[], bool], deadline: float) -> bool:
    """Puts what is inside of a statement in its place."""
    progress = False
    for node in list(tree.walk()):
        if time.monotonic() > deadline:
            break
        if node.kind == "statement" and node.replacement is None:
            for body in node.body:
                if _try([(node, Node("list", ["{\n", body, "}\n"]))], check):
                    progress = True
                    break
    return progress


def _simplify(tree: Node, check: Callable[[], bool], deadline: float) -> bool:
    """Puts constants, or else operands, in the place of expressions."""
    progress = False
    for node in list(tree.walk()):
        if time.monotonic() > deadline:
            break
        if node.kind not in SIMPLE or node.replacement is not None or len(node.render()) < 8:
            continue
        options: list[str | Node] = [f"(({node.kind})0)", f"(({node.kind})1)"] if node.kind in COMPUTED else [f"({node.kind})1"]
        options += [n for n in node.walk() if n is not node and n.kind == node.kind][:2]
        for option in options:
            if _try([(node, option)], check):
                progress = True
                break
    return progress


def reduce(tree: Node, check: Callable[[], bool], seconds: float) -> None:
    """Changes the tree as long as `check` holds for it, until nothing helps or the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        progress = _drop(tree, check, deadline)
        progress |= _flatten(tree, check, deadline)
        progress |= _simplify(tree, check, deadline)
        if not progress:
            return
