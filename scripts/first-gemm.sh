#!/usr/bin/env bash
# What the first product of rocBLAS costs in a process, and where: perf/first_gemm.cpp in a root of scripts/rocm-root.sh.
#   scripts/first-gemm.sh RELEASE DIR [--build DIR] [--targets T,...] [--size N] [--runs N] [--no-profile]
#   scripts/first-gemm.sh trixie build/trixie --targets gfx906,gfx90a
#
# RELEASE DIR   as for rocm-root.sh; made if need be, with rocBLAS, hipcc and perf
# --build       the build folder with wavejit's command and libraries, default build/release
# --targets     default gfx906,gfx90a; those that the release's rocBLAS has code for
# --size        rows of the matrices, default 64
# --runs        of each kind, default 5. Their medians are shown: wall, user and system time of the process
# --no-profile  without the profile: one more run with an empty translation cache, sampled by time with call chains; each
#               sample counts for the innermost shared object that is neither the kernel nor the C or C++ library
set -euo pipefail

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }
[[ $# -ge 2 ]] || { usage >&2; exit 2; }
release=$1 dir=$2
shift 2
here=$(realpath "$(dirname "$0")")
build=$here/../build/release targets=gfx906,gfx90a size=64 runs=5 profile=1
while [[ $# -gt 0 ]]; do
  case $1 in
    --build | --targets | --size | --runs)
      [[ $# -ge 2 ]] || { usage >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    --no-profile) profile= && shift ;;
    *) usage >&2 && exit 2 ;;
  esac
done
work=/var/tmp/first-gemm.$$
"$here/rocm-root.sh" "$release" "$dir" --build "$build" --include librocblas-dev,hipcc,libamdhip64-dev,linux-perf
mkdir -p "$dir$work"
trap 'rm -rf "$dir$work"' EXIT
cp "$here/../perf/first_gemm.cpp" "$dir$work/"
cat >"$dir$work/inside.sh" <<'INSIDE'
set -euo pipefail
cd "$1"
targets=$2 size=$3 runs=$4 profile=$5
export WAVEJIT_CACHE_DIR=$PWD/cache TIMEFORMAT='%R %U %S'
architectures=()
for target in ${targets//,/ }; do architectures+=("--offload-arch=$target"); done
hipcc "${architectures[@]}" -O1 -w first_gemm.cpp -lrocblas -o first_gemm
run() { wavejit exec --target "$1" -- ./first_gemm "$size"; }
for target in ${targets//,/ }; do
  for state in empty full; do
    rm -rf cache
    run "$target" >/dev/null  # reads the files from the disk, and fills the cache
    for ((i = 0; i < runs; ++i)); do
      [[ $state == full ]] || rm -rf cache
      { time run "$target" >/dev/null; } 2>>"times.$target.$state"
    done
  done
  [[ -n $profile ]] || continue
  rm -rf cache
  perf record -q -F 199 -e cpu-clock --call-graph dwarf,16384 -o perf.data -- \
    wavejit exec --target "$target" -- ./first_gemm "$size" >/dev/null
  perf script -i perf.data -F ip,sym,dso 2>/dev/null >"samples.$target"
done
INSIDE
"$here/rocm-root.sh" "$release" "$dir" --build "$build" -- \
  bash "$work/inside.sh" "$work" "$targets" "$size" "$runs" "$profile"
python3 "$here/../perf/first_gemm.py" "$dir$work" "$targets"
