#!/bin/sh
# rpp.sh OPERATION: compiles rpp_images.cpp with the HIP that RPP itself uses, not with a newer one beside it, and runs it.
set -e
cd /tmp
hip=$(ldd /usr/lib/x86_64-linux-gnu/librpp.so | sed -n 's/.*=> \(.*libamdhip64[^ ]*\).*/\1/p')
compiler=$(ls /usr/bin/clang++-* | tail -n 1)
[ -x rpp_images ] || "$compiler" -std=c++17 -D__HIP_PLATFORM_AMD__ /opt/suites/programs/rpp_images.cpp -o rpp_images -lrpp "$hip"
./rpp_images "$1"
