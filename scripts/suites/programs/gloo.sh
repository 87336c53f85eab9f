#!/bin/sh
# gloo.sh OPERATION: compiles gloo_allreduce.cpp and runs it.
set -e
cd /tmp
[ -x gloo_allreduce ] || g++ -std=c++17 -D__HIP_PLATFORM_AMD__ /opt/suites/programs/gloo_allreduce.cpp -o gloo_allreduce -lgloo_hip -lgloo -lamdhip64
./gloo_allreduce "$1"
