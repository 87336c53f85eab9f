#!/usr/bin/env bash
# Installs the Debian 12 packages that wavejit is built, tested and measured with. Idempotent; root or sudo.
#   scripts/setup.sh            everything (build, tests, benchmarks)
#   scripts/setup.sh build      only what building the library and the command needs
#   scripts/setup.sh libraries  everything, and what scripts/library-sweep.sh needs
set -euo pipefail

build=(g++ cmake ninja-build pkg-config libasmjit-dev libxbyak-dev libhwy-dev libfmt-dev libexpected-dev libyaml-dev
       libmsgpack-cxx-dev libxxhash-dev libzstd-dev zlib1g-dev nlohmann-json3-dev libcli11-dev libpng-dev libhsa-runtime-dev libdw-dev)
tests=(libgtest-dev libgmock-dev libyaml-cpp-dev libbenchmark-dev libmpfr-dev python3 clang-14 clang-15 clang-19 llvm-14 llvm-15 llvm-19 llvm-15-dev lld-14 lld-15 lld-19
       clang-tools-15 libclang-rt-14-dev rocm-device-libs hipcc librocrand-dev librocprim-dev librocsparse-dev libhipsparse-dev rocminfo openmpi-bin
       libopenmpi-dev gdb clang-format-14 clang-tidy-14 mmdebstrap)
perf=(pocl-opencl-icd ocl-icd-opencl-dev opencl-headers)

libraries=(time)  # the ROCm libraries that it reads (1.4 GB) are those of the tests

case "${1:-all}" in
  build) wanted=("${build[@]}") ;;
  all) wanted=("${build[@]}" "${tests[@]}" "${perf[@]}") ;;
  libraries) wanted=("${build[@]}" "${tests[@]}" "${perf[@]}" "${libraries[@]}") ;;
  *) echo "usage: scripts/setup.sh [all|build|libraries]" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" == installed ]] || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "setup: all ${#wanted[@]} packages are installed"
  exit 0
fi

sudo=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "setup: not root and no sudo; install as root: apt-get install ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -q
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
