"""test_data.py FROM TO N: of the tests in AMD's quick category, and those of bad arguments, the N of each function with the lowest hashes.

rocblas-test goes through its 890 MB of tests once for each kind of test that it has, and rocsparse-test through 290 MB, before the
first test and whatever the filter says, which takes minutes. The file: the name of the format, a sample record, the name in other
case, then records. Prints how many such tests there are."""

import hashlib
import pathlib
import sys

# First and last bytes of a file's head; where a record has the name of the function and of the category; and a record's bytes, which
# depend on the version: ROCm 5.7, 6.4 and 7.2.
FORMATS = [
    (b"rocBLAS\0", b"ROCblas\0", 0, 128, None),
    (b"rocSPARSE\0", b"ROCsparse\0", 473, 601, 672),
    (b"rocSPARSE\0", b"ROCsparse\0", 539, 667, 768),
    (b"rocSPARSE\0", b"ROCsparse\0", 565, 693, 800),
]


def text(record: memoryview, at: int) -> bytes:
    return bytes(record[at : at + 64]).partition(b"\0")[0]


def main() -> None:
    data = memoryview(pathlib.Path(sys.argv[1]).read_bytes())
    start = bytes(data[:65536])
    for head, tail, function, category, wanted in FORMATS:
        first = start.find(tail) + len(tail)
        size = first - len(head) - len(tail)
        if start.startswith(head) and tail in start and wanted in (None, size):
            break
    else:
        raise SystemExit(f"{sys.argv[1]} is not in a format that this script knows.")
    if (len(data) - first) % size != 0:
        raise SystemExit(f"{sys.argv[1]} does not consist of records of {size} bytes.")
    functions: dict[bytes, list[tuple[bytes, int]]] = {}
    count = 0
    for at in range(first, len(data), size):
        record = data[at : at + size]
        name = text(record, function)
        if text(record, category) == b"quick" or (head == b"rocSPARSE\0" and name.endswith(b"bad_arg")):
            count += 1
            functions.setdefault(name, []).append((hashlib.sha256(record).digest(), at))
    places = sorted(at for found in functions.values() for _, at in sorted(found)[: int(sys.argv[3])])
    with open(sys.argv[2], "wb") as out:
        out.write(data[:first])
        for at in places:
            out.write(data[at : at + size])
    print(count)


main()
