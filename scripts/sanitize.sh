#!/usr/bin/env bash
# The tests under AddressSanitizer with UndefinedBehaviorSanitizer, and those with threads under ThreadSanitizer.
#   scripts/sanitize.sh [asan-ubsan|tsan]      default: both
#   scripts/sanitize.sh sample                 of the programs that are built with clang and AddressSanitizer (build/ci-clang)
# Guest code faults on purpose and wavejit turns the signals into errors, so the sanitizers must not install handlers of
# their own for them (handle_*=0). Neither sees into translated code; what it calls and what calls it they do. The
# kernel matrix is sampled: one processor, optimised, every engine.
set -euo pipefail
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

wanted=("${@:-asan-ubsan tsan}")
jobs=$(nproc)
signals=handle_segv=0:handle_sigbus=0:handle_sigfpe=0:allow_user_segv_handler=1:use_sigaltstack=0
# Stacks that are left by siglongjmp from a signal handler confuse the search for uses after return.
export ASAN_OPTIONS=$signals:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=$signals:halt_on_error=1:second_deadlock_stack=1
export WAVEJIT_KERNEL_FILTER=gfx906/O3

# In a forked child the stacks of the parent's threads are gone, and with them what keeps their memory from being a leak.
# Programs that are not sanitized cannot preload the library that presents the driver.
address=(hsa_test: 'runtime_test:-*ForkedProcessesExit*' api_test: cache_test: 'cli_test:-*ExecPresentsTheDriver*'
         lockstep_test: wavejit_interp_test: wavejit_lift_test: wavejit_isa_test: wavejit_backend_tests: wavejit_ir_tests:
         wavejit_codeobject_tests: wavejit_diff_test: kernel_test: hostile_hsa_test: hostile_c_api_test:)
# ThreadSanitizer cannot follow the forks of death tests when there are threads; holds back signals until code calls its
# library, so that nothing stops translated code from outside; and has too few addresses for the LDS of 3000 waves.
thread=('hsa_test:-*DestructionStopsTheKernel*' 'runtime_test:-ForeignFaults.*:*MoreWavesThanADeviceHolds*' api_test:
        lockstep_test:-*Addresses*)

# Sanitizers of LLVM before 18 crash at start, now and then, where the kernel draws addresses from more than 28 bits.
fixed_addresses=()
if [[ $(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28) -gt 28 ]]; then
  if setarch --addr-no-randomize true 2>/dev/null; then
    fixed_addresses=(setarch --addr-no-randomize)
  elif [[ ${wanted[*]} == sample ]]; then
    echo "sanitize: left out: vm.mmap_rnd_bits is more than 28, and this container cannot switch randomisation off"
    exit
  fi
fi

# run FOLDER PROGRAM[:FILTER]...
# A program with findings does not keep the others from running.
failed=()
run() {
  local folder=$1 entry name filter quiet start
  shift
  for entry in "$@"; do
    name=${entry%%:*}
    filter=
    [[ $entry != *:* ]] || filter=${entry#*:}
    echo "sanitize: $folder/$name"
    quiet=()
    [[ $name != hostile_* ]] || quiet=(env WAVEJIT_HSA_QUIET=1)  # each call that fails would say why
    start=$SECONDS
    "${quiet[@]}" "${fixed_addresses[@]}" "$folder/$name" --gtest_brief=1 ${filter:+"--gtest_filter=$filter"} ||
      failed+=("$folder/$name")
    echo "sanitize: $folder/$name took $((SECONDS - start)) s"
  done
}
finish() {
  if [[ ${#failed[@]} -ne 0 ]]; then
    echo "sanitize: findings in ${failed[*]}" >&2
    exit 1
  fi
  echo "sanitize: no findings"
  exit
}

# All of what reads foreign bytes, and of each room of the runtime the tests that take it apart; without those that fork or
# interrupt thousands of times, which takes minutes with AddressSanitizer's tables.
sample=(wavejit_ir_tests wavejit_lift_test wavejit_codeobject_tests 'cache_test:-*Interrupted*' api_test
        'runtime_test:*Fallback*:*Progress.Waves*:*GlobalSync*gfx906*:*Fault*gfx906*:*Shadow*-*InterruptionsWhile*:*VeryLarge*'
        'hsa_test:*Queue*:*Signal*' hostile_hsa_test hostile_c_api_test)
if [[ ${wanted[*]} == sample ]]; then
  run build/ci-clang "${sample[@]}"
  finish
fi

scripts/setup.sh
for preset in ${wanted[*]}; do
  case $preset in
    asan-ubsan) tests=("${address[@]}") ;;
    tsan) tests=("${thread[@]}") ;;
    *) echo "usage: scripts/sanitize.sh [asan-ubsan|tsan]" >&2; exit 2 ;;
  esac
  cmake --preset "$preset"
  cmake --build --preset "$preset" -j "$jobs" --target "${tests[@]%%:*}"
  run "build/$preset" "${tests[@]}"
done
finish
