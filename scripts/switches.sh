#!/bin/sh
# Everything that takes long about optimisations that are switched off: the kernels of kernel_test without any, without each,
# and without random sets; the lockstep kernels without many random sets; random programs without random sets.
#   scripts/switches.sh [BUILD] [SETS] [SECONDS]   defaults: build/release, 20 random sets, 300 s of random programs per target
set -eu
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."
. scripts/boards.sh
build=${1:-build/release}
sets=${2:-20}
seconds=${3:-300}
names=$("$build/wavejit" optimisations | awk '{ print $1 }')
failed=0

kernels() {
  if ! WAVEJIT_DISABLE_PASSES=$1 WAVEJIT_KERNEL_FILTER=gfx906/O3 "$build/kernel_test" --gtest_brief=1 \
      --gtest_filter='Kernels/KernelTest*'; then
    echo "kernel_test fails without $1"
    failed=1
  fi
}

for name in all $names; do
  kernels "$name"
done
for seed in $(seq "$sets"); do
  kernels "$(echo "$names" | awk -v seed="$seed" 'BEGIN { srand(seed) } rand() < 0.5 { printf "%s%s", comma, $1; comma = "," }')"
done
WAVEJIT_RANDOM_SWITCHES=$((10 * sets)) "$build/lockstep_test" --gtest_brief=1 --gtest_filter='*Switches*' || failed=1
for target in $(packaged_processors); do
  # The status of `timeout` when the time is up is 124.
  timeout "$seconds" "$build/wavejit_diff_fuzz" --target "$target" --programs 1 --count 1000000000 --seed "$(date +%s)" \
    --switches random || [ $? -eq 124 ] || failed=1
done
exit $failed
