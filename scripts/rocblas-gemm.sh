#!/usr/bin/env bash
# The speed of rocBLAS's matrix products on one thread, next to the core's FMA peak and OpenBLAS: perf/rocblas_gemm.cpp in a root
# of scripts/rocm-root.sh.
#   scripts/rocblas-gemm.sh RELEASE DIR [--build DIR] [--targets T,...] [--engines E,...] [--size N] [--rounds N] [CASE...]
#   scripts/rocblas-gemm.sh trixie build/trixie --targets gfx906,gfx90a --engines avx2 sNN dNN
#
# RELEASE DIR   as for rocm-root.sh; made if need be, with rocBLAS, hipcc and OpenBLAS
# --build       the build folder with wavejit's command and libraries, default build/release
# --targets     default gfx906,gfx90a
# --engines     default avx512,avx2, as far as this CPU has them
# --size        rows of the matrices, default 1024
# --rounds      measurements of each, whose medians count; default 5
# CASE          s, d, c or h (f32, f64, complex f32, f16), then N or T for each factor; default sNN sNT sTN dNN cNN hNN
set -euo pipefail

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }
[[ $# -ge 2 ]] || { usage >&2; exit 2; }
release=$1 dir=$2
shift 2
here=$(realpath "$(dirname "$0")")
build=$here/../build/release targets=gfx906,gfx90a engines= size=1024 rounds=5 cases=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --build | --targets | --engines | --size | --rounds)
      [[ $# -ge 2 ]] || { usage >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    [sdch][NT][NT]) cases+=("$1") && shift ;;
    *) usage >&2 && exit 2 ;;
  esac
done
[[ ${#cases[@]} -gt 0 ]] || cases=(sNN sNT sTN dNN cNN hNN)
if [[ -z $engines ]]; then
  engines=avx2
  grep -qw avx512f /proc/cpuinfo && engines=avx512,avx2
fi
work=/var/tmp/rocblas-gemm.$$
"$here/rocm-root.sh" "$release" "$dir" --build "$build" --include librocblas-dev,hipcc,libamdhip64-dev,libopenblas-pthread-dev
mkdir -p "$dir$work"
trap 'rm -rf "$dir$work"' EXIT
cp "$here/../perf/rocblas_gemm.cpp" "$dir$work/"
cat >"$dir$work/inside.sh" <<'INSIDE'
set -euo pipefail
cd "$1"
targets=$2 engines=$3 size=$4 rounds=$5
shift 5
architectures=()
for target in ${targets//,/ }; do architectures+=("--offload-arch=$target"); done
hipcc "${architectures[@]}" -std=c++17 -O2 -w rocblas_gemm.cpp -lrocblas -lopenblas -o rocblas_gemm
for target in ${targets//,/ }; do
  for engine in ${engines//,/ }; do
    echo "$target $engine"
    wavejit exec --target "$target" --engine "$engine" --threads 1 -- ./rocblas_gemm "$size" "$rounds" "$@"
  done
done
INSIDE
"$here/rocm-root.sh" "$release" "$dir" --build "$build" -- \
  bash "$work/inside.sh" "$work" "$targets" "$engines" "$size" "$rounds" "${cases[@]}"
