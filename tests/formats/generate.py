"""Writes cases for wavejit_isa_test whose expectations come from the exact models in this folder.

generate.py OUT [--seed S] [--count N]: N cases of each kind to OUT/<kind>.isa.
"""
import argparse
import pathlib
import random

import buffers
import images
import samples

KINDS = {
    "buffer_load": buffers.plain_load,
    "buffer_store": buffers.plain_store,
    "format_load": buffers.format_load,
    "format_store": buffers.format_store,
    "image_load": images.load,
    "image_store": images.store,
    "image_sample": images.sample,
    "image_filter": samples.sample,
    "image_gather": samples.gather,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    print(f"generate.py: seed {arguments.seed}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for old in arguments.out.glob("*.isa"):
        old.unlink()
    for name, kind in KINDS.items():
        if arguments.only not in name:
            continue
        rng = random.Random(f"{arguments.seed} {name}")
        cases = []
        while len(cases) < arguments.count:
            case = kind(rng, len(cases))  # None: an address outside of the memory that cases have
            if case is not None:
                cases.append(case.text())
        (arguments.out / f"{name}.isa").write_text(f"# {name}, seed {arguments.seed}: tests/formats/generate.py\n\n" + "".join(cases))


if __name__ == "__main__":
    main()
