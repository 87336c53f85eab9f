"""rocblas_data.py FROM TO N: of each function's tests in AMD's quick category the N with the lowest hashes.

rocblas-test goes through its 890 MB of tests once for each kind of test that it has, before the first one and whatever its
filter says, which takes minutes. The file: the name of the format, a sample record, the name in other case, then records, which
begin with the function's name and have their category at byte 128. Prints how many quick tests there are."""

import hashlib
import pathlib
import sys

HEAD, TAIL, FUNCTION, CATEGORY = b"rocBLAS\0", b"ROCblas\0", 0, 128


def text(record: memoryview, at: int) -> bytes:
    return bytes(record[at : at + 64]).partition(b"\0")[0]


def main() -> None:
    data = memoryview(pathlib.Path(sys.argv[1]).read_bytes())
    first = bytes(data[:65536]).index(TAIL) + len(TAIL)
    size = first - len(HEAD) - len(TAIL)
    if bytes(data[: len(HEAD)]) != HEAD or (len(data) - first) % size != 0:
        raise SystemExit(f"{sys.argv[1]} is not in the format that this script knows.")
    functions: dict[bytes, list[tuple[bytes, int]]] = {}
    quick = 0
    for at in range(first, len(data), size):
        record = data[at : at + size]
        if text(record, CATEGORY) == b"quick":
            quick += 1
            functions.setdefault(text(record, FUNCTION), []).append((hashlib.sha256(record).digest(), at))
    places = sorted(at for found in functions.values() for _, at in sorted(found)[: int(sys.argv[3])])
    with open(sys.argv[2], "wb") as out:
        out.write(data[:first])
        for at in places:
            out.write(data[at : at + size])
    print(quick)


main()
