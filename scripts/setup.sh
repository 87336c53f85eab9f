#!/usr/bin/env bash
# Installs the Debian packages that wavejit is built, tested and measured with: Debian 12 or 13. Idempotent; root or sudo.
#   scripts/setup.sh            everything (build, tests, benchmarks)
#   scripts/setup.sh build      only what building the library and the command needs
#   scripts/setup.sh libraries  everything, and what scripts/library-sweep.sh needs
set -euo pipefail

build=(g++ cmake ninja-build pkg-config libasmjit-dev libxbyak-dev libhwy-dev libfmt-dev libexpected-dev libyaml-dev
       libmsgpack-cxx-dev libxxhash-dev libzstd-dev zlib1g-dev nlohmann-json3-dev libcli11-dev libpng-dev libhsa-runtime-dev libdw-dev)
tests=(libgtest-dev libgmock-dev libyaml-cpp-dev libbenchmark-dev libmpfr-dev python3 clang-19 llvm-19 lld-19 clang-format-19
       clang-tidy-19 hipcc librocrand-dev librocprim-dev librocsparse-dev libhipsparse-dev rocminfo openmpi-bin libopenmpi-dev gdb mmdebstrap)
# What differs between releases: hipcc's LLVM, and the clang that is the second compiler (cmake/toolchains/clang.cmake).
# shellcheck disable=SC2034  # read by name, below
tests_of_12=(clang-14 libclang-rt-14-dev llvm-14 lld-14 clang-15 clang-tools-15 llvm-15 llvm-15-dev lld-15 rocm-device-libs)
# shellcheck disable=SC2034
tests_of_13=(libclang-rt-19-dev clang-17 clang-tools-17 llvm-17 llvm-17-dev lld-17 rocm-device-libs-17)
releases=(12 13)  # those that have a table, oldest first
perf=(pocl-opencl-icd ocl-icd-opencl-dev opencl-headers)

libraries=(time)  # the ROCm libraries that it reads (1.4 GB) are those of the tests

# The release with whose table this system's packages are chosen: its own, else the next newer one, else the newest.
read -r id version < <(. /etc/os-release; echo "${ID:-unknown} ${VERSION_ID:-unknown}")
table=${releases[-1]}
if [[ $id == debian && $version =~ ^[0-9]+$ ]]; then
  for release in "${releases[@]}"; do
    if ((version <= release)); then table=$release; break; fi
  done
fi
[[ "$id $version" == "debian $table" ]] ||
  echo "setup: there is no list of packages for $id $version; taking the one of Debian $table" >&2
declare -n tests_of_release=tests_of_$table
tests+=("${tests_of_release[@]}")

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
unknown=()
for package in "${missing[@]}"; do
  [[ "$(apt-cache policy "$package")" == *Candidate:\ [0-9]* ]] || unknown+=("$package")
done
[[ ${#unknown[@]} -eq 0 ]] || { echo "setup: apt's sources have no ${unknown[*]} for $id $version" >&2; exit 1; }
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
