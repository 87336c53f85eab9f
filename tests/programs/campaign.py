"""Generates programs, compiles each for two combinations of compiler, level and target and for the host, and compares what engines and
host make of them. Differences are reduced, and kept in a folder.

The engines are independent of the host's result: interpreter and translated code share reading and rules of instructions, the host's
compiler shares neither."""

import pathlib
import sys

import kernel
import reduce
import series
import toolchain
from execution import Difference, Programs
from toolchain import Combination


def save_and_reduce(programs: Programs, seed: int, file_seed: str, difference: Difference, folder: pathlib.Path, seconds: float) -> str:
    """Writes the kernel with the difference, and a smaller one that differs likewise."""
    index = int(difference.kernel.removeprefix("k"))
    made, language = kernel.make_kernel(file_seed, index), kernel.language_of(file_seed)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{difference.combination}-{file_seed.replace(':', '-')}-{index}"
    (folder / f"{name}.full.{language.value}").write_text(kernel.make_file([made], str(toolchain.HEADER)))

    def differs(sanitize: bool) -> bool:
        text = kernel.make_file([made], str(toolchain.HEADER))
        outcome = programs.run(text, language, [difference.combination], seed, [difference.engine], index, sanitize)
        return not outcome.generator and any(d.how == difference.how and d.engine == difference.engine for d in outcome.differences)

    if not differs(sanitize=False):
        return f"{name}: does not differ alone"
    if not differs(sanitize=True):
        return f"{name}: the generator's undefined behaviour"
    reduce.reduce(made.tree, lambda: differs(sanitize=True), seconds)
    text = kernel.make_file([made], str(toolchain.HEADER))
    reduced = folder / f"{name}.{language.value}"
    reduced.write_text(f"// {difference.how} {difference.engine} {difference.combination}, runner: --seed {seed} --first {index}\n{text}")
    return f"{name}: {reduced}"


class GeneratedPrograms(series.Series):
    """Files of kernels that this folder's own generator makes."""

    name = "programs"
    combinations_of_a_file = 2

    def run_file(self, programs: Programs, file_seed: str, run_seed: int, kernels: int, combinations: list[Combination]) -> series.FileResult:
        text = kernel.make_file([kernel.make_kernel(file_seed, i) for i in range(kernels)], str(toolchain.HEADER))
        language = kernel.language_of(file_seed)
        return series.FileResult(programs.run(text, language, combinations, run_seed, self.options.engine), language.value)

    def keep(self, programs: Programs, file_seed: str, run_seed: int, difference: Difference) -> str:
        return save_and_reduce(programs, run_seed, file_seed, difference, self.options.state / "differences", self.options.reduce)


def main() -> int:
    parser = series.parser(__doc__, "build/programs", "kernels that a compiler takes, each for two combinations")
    parser.add_argument("--kernels", type=int, default=20, help="a file")
    return GeneratedPrograms.main(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
