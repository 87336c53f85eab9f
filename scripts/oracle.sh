#!/bin/sh
# Second opinions at length, on every engine: buffers, memory formats and images against exact models in Python
# (tests/formats, 2,000 cases of each kind, fresh seed); 128 instructions against LLVM's constant folder (tests/folding,
# 24 cases of each, fresh seed); all cases of tests/isa against their evaluator in Python (tests/isa/reference, no engine);
# then floating-point instructions against MPFR (tests/model, run_sweep.cpp), all 256 combinations of rounding and denormals for 16-bit sources and hard cases, 2^28 inputs of each
# 32- and 64-bit source; last what they leave in TRAPSTS (run_exceptions.cpp), in all 256 combinations.
# Usage: scripts/oracle.sh [--full] [--jobs N] [--cases N] [arguments of wavejit_model, such as --only "^v_sin_f32$" or --log2 24]
#   --cases N  of each kind of memory access, instead of 2,000
#   --full  all 2^32 inputs of 32-bit sources: 7 to 90 minutes of CPU time for each of some 50 instructions, which
#     --piece I --pieces N takes in parts
# BUILD_DIR chooses the build folder. The last line says how many parts failed.
set -eu
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build/release}
log2=28
jobs=$(nproc)
cases_of_each=2000
while [ $# -gt 0 ]; do
  case $1 in
    --full) log2=32; shift ;;
    --jobs) jobs=$2; shift 2 ;;
    --cases) cases_of_each=$2; shift 2 ;;
    *) break ;;
  esac
done
if [ ! -f "$build/CMakeCache.txt" ]; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
fi
cmake --build "$build" --target wavejit_model wavejit_isa_test >&2

failed=0
run_cases() {  # NAME GENERATOR ARGUMENT...: its cases on every engine
  name=$1 generator=$2
  shift 2
  cases=$(mktemp -d)
  python3 -B "$generator" "$cases" "$@"
  if "$build/wavejit_isa_test" "$cases" >"$cases/log" 2>&1; then
    echo "$name: no difference"
    rm -rf "$cases"
  else
    echo "$name: differences, see $cases/log"
    failed=$((failed + 1))
  fi
}
run_cases formats "$root/tests/formats/generate.py" --count "$cases_of_each"
run_cases folding "$root/tests/folding/generate.py" --count "$(((cases_of_each + 83) / 84))"
python3 -B "$root/tests/isa/reference/evaluate.py" --quiet || failed=$((failed + 1))

# The opcodes in parts that run side by side; one that ends early makes room for the next.
parts=$((jobs * 8))
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
run_parts() {  # ARGUMENT... of wavejit_model
  # shellcheck disable=SC2016  # expanded by the shell that xargs starts
  seq 0 $((parts - 1)) | xargs -P "$jobs" -I{} sh -c '
    part=$1 logs=$2; shift 2
    "$@" --shard "$part" >"$logs/$part" 2>&1 || echo "part $part" >>"$logs/failed"
    grep -v "^seed" "$logs/$part" || true
  ' sh {} "$logs" "$build/wavejit_model" --targets "$("$root/scripts/representatives.sh" ,)" --all-modes --shards "$parts" "$@"
}
run_parts --part sweep --log2 "$log2" --log2-hard 20 --distances "$@"
run_parts --part exceptions --lanes 256 --seed "$(date +%s)" "$@"
parts_failed=0
[ ! -f "$logs/failed" ] || parts_failed=$(wc -l <"$logs/failed")
echo "oracle: $parts_failed of $((2 * parts)) parts failed"
failed=$((failed + parts_failed))
[ "$failed" -eq 0 ]
