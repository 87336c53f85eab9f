#!/usr/bin/env bash
# Rebuilds the prebuilt code object of this example from its OpenCL C source, on Debian 12 (clang-15, rocm-device-libs, lld-15).
set -euo pipefail
cd "$(dirname "$0")"
target=${1:-gfx906}
lib=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode
flags=()
for bc in opencl ocml ockl oclc_isa_version_"${target#gfx}" oclc_unsafe_math_off oclc_finite_only_off oclc_daz_opt_off \
          oclc_correctly_rounded_sqrt_off oclc_wavefrontsize64_on oclc_abi_version_400; do
  flags+=(-Xclang -mlink-builtin-bitcode -Xclang "$lib/$bc.bc")
done
clang-15 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$target" -mcode-object-version=4 -O3 -nogpulib \
  -Xclang -finclude-default-header "${flags[@]}" -c ../../tests/kernels/opencl/raytracer.cl -o raytracer.o
ld.lld-15 -shared raytracer.o -o "raytracer-$target.co"
rm raytracer.o
