#!/bin/sh
# Rebuilds the prebuilt code objects and containers of tests/fixtures. They are committed so that the tests of reading need
# no compiler; run this only to change them, on Debian 12.
# Needs: clang-15 lld-15 clang-19 lld-19 clang-tools-15 clang-tools-19 hipcc zstd python3 binutils.
set -eu
cd "$(dirname "$0")/../tests/fixtures"
BUNDLER15=${BUNDLER15:-clang-offload-bundler-15}
BUNDLER19=${BUNDLER19:-clang-offload-bundler-19}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build COMPILER_VERSION CODE_OBJECT_VERSION TARGET_ID OUTPUT: clang-15 would pick lld-14, which cannot link V5.
build() {
  "clang-$1" -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu="$3" -O1 -nogpulib -Xclang -finclude-default-header \
    -Wno-everything -mcode-object-version="$2" -c src/kernels.cl -o "$work/object.o"
  "ld.lld-$1" -shared --strip-debug "$work/object.o" -o "$4"
}
build 15 2 gfx803 v2_gfx803.co
build 15 2 gfx906 v2_gfx906.co
build 15 3 gfx900 v3_gfx900.co
build 15 4 gfx908:sramecc+:xnack- v4_gfx908.co
build 15 5 gfx90a v5_gfx90a.co
build 19 6 gfx9-generic v6_gfx9_generic.co
clang-15 -target amdgcn-amd-amdhsa -mcpu=gfx90a:sramecc+:xnack- -mcode-object-version=4 -c src/asm_only.s -o "$work/asm.o"
ld.lld-15 -shared "$work/asm.o" -o asm_only_gfx90a.co
cp "$work/object.o" relocatable.o

targets=host-x86_64-unknown-linux--,hip-amdgcn-amd-amdhsa--gfx803,hipv4-amdgcn-amd-amdhsa--gfx908:sramecc+:xnack-,hipv4-amdgcn-amd-amdhsa--gfx90a
inputs="-input=/dev/null -input=v2_gfx803.co -input=v4_gfx908.co -input=v5_gfx90a.co"
# shellcheck disable=SC2086
"$BUNDLER15" -type=o -bundle-align=4096 -targets="$targets" $inputs -output=bundle.hipfb
# shellcheck disable=SC2086
"$BUNDLER19" -type=o -compress -targets="$targets" $inputs -output=bundle_v2.ccob

# The other compressed forms, written as the manual describes them.
zstd -q -19 -c bundle.hipfb >"$work/bundle.zst"
python3 - "$work/bundle.zst" <<'PYTHON'
import hashlib, struct, sys, zlib
plain = open("bundle.hipfb", "rb").read()
zstd = open(sys.argv[1], "rb").read()
digest = struct.unpack("<Q", hashlib.md5(plain).digest()[:8])[0]
deflated = zlib.compress(plain, 9)
with open("bundle_v1.ccob", "wb") as f:  # V1, zlib
    f.write(b"CCOB" + struct.pack("<HHIQ", 1, 0, len(plain), digest) + deflated)
with open("bundle_v3.ccob", "wb") as f:  # V3, zstd
    f.write(b"CCOB" + struct.pack("<HHQQQ", 3, 1, 32 + len(zstd), len(plain), digest) + zstd)
PYTHON

# The self-test of `wavejit doctor`.
doctor=../../tools/doctor
clang-15 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx906 -O2 -nogpulib -Xclang -finclude-default-header \
  -mcode-object-version=4 -c $doctor/kernels.cl -o "$work/doctor.o"
ld.lld-15 -shared --strip-debug "$work/doctor.o" -o $doctor/kernels.co

hipcc -O2 --offload-arch=gfx906 --offload-arch=gfx90a:xnack- -shared -fPIC -fno-gpu-rdc src/host.hip -o libhost.so
strip libhost.so
ls -l
