#!/usr/bin/env python3
"""Checks that files which use certain names of the standard library include the header that declares them, themselves or through
the header of the same name beside them. The precompiled headers and other releases of the library hide such omissions.

    tests/rooms/headers.py [ROOT]
"""

import pathlib
import re
import sys

FOLDERS = ["include", "frontend", "ir", "backend-x86", "runtime", "tools", "tests", "perf", "examples"]

ALGORITHMS = (
    "adjacent_find all_of any_of binary_search clamp copy copy_if copy_n count count_if equal equal_range fill fill_n find find_if "
    "find_if_not for_each generate is_sorted lexicographical_compare lower_bound max_element merge min_element mismatch none_of "
    "nth_element partition remove_if replace reverse rotate search set_union shuffle sort stable_partition stable_sort swap_ranges "
    "transform unique upper_bound"
)
# Header, names that it declares. Names that most other headers declare too are left out.
DECLARED = {
    "algorithm": ALGORITHMS.split(),
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_one countl_zero countr_one countr_zero has_single_bit popcount rotl rotr".split(),
    "cstring": "memchr memcmp memcpy memmove memset strcmp strlen strncmp strstr".split(),
    "numeric": "accumulate exclusive_scan gcd inclusive_scan inner_product iota lcm partial_sum reduce".split(),
}
PATTERNS = {header: re.compile(r"\bstd::(?:ranges::)?(?:" + "|".join(names) + r")\b(?!_)") for header, names in DECLARED.items()}


def missing(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            text = path.read_text()
            own = path.with_suffix(".h")
            included = text + (own.read_text() if path.suffix == ".cpp" and own.exists() else "")
            code = re.sub(r"//.*", "", text)
            for header, pattern in PATTERNS.items():
                use = pattern.search(code)
                if use and not re.search(rf"#\s*include <{header}>", included):
                    yield path, header, use.group()


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = [f"{path.relative_to(root)}: uses {name} without #include <{header}>" for path, header, name in missing(root)]
    for line in found:
        print(line)
    if found:
        sys.exit(f"headers: {len(found)} includes are missing")
    print("headers: every file includes what declares the names it uses")


if __name__ == "__main__":
    main()
