"""The tree of a generated program: text with holes for statements and expressions, which the reducer drops or replaces."""

import dataclasses
from collections.abc import Iterator

Part = "str | Node"


@dataclasses.dataclass(eq=False)
class Node:
    """A piece of program text. `kind` is "list" for what only holds others, "fixed" for what must stay, "statement" for what may be
    dropped, or the type of an expression, which may become a constant or one of its own operands of that type. `body` are the parts
    that may take the place of a whole statement."""

    kind: str
    parts: list["str | Node"]
    body: list["Node"] = dataclasses.field(default_factory=list)
    # What the node is replaced by, chosen by the reducer.
    replacement: "str | Node | None" = None

    def render(self) -> str:
        out: list[str] = []
        self._render(out)
        return "".join(out)

    def _render(self, out: list[str]) -> None:
        if self.replacement is not None:
            if isinstance(self.replacement, str):
                out.append(self.replacement)
            else:
                self.replacement._render(out)
            return
        for part in self.parts:
            if isinstance(part, str):
                out.append(part)
            else:
                part._render(out)

    def walk(self) -> Iterator["Node"]:
        """The nodes that are part of the text now, outer ones first."""
        if isinstance(self.replacement, str):
            return
        if self.replacement is not None:
            yield from self.replacement.walk()
            return
        yield self
        for part in self.parts:
            if isinstance(part, Node):
                yield from part.walk()


def statement(*parts: "str | Node", body: list[Node] | None = None) -> Node:
    return Node("statement", list(parts), body or [])


def fixed(*parts: "str | Node") -> Node:
    return Node("fixed", list(parts))


def sequence(nodes: list[Node]) -> Node:
    return Node("list", list(nodes))
