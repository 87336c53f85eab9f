#!/bin/sh
# starpu_mpi.sh TEST: starpu_ranks.cpp on two ranks; starpu_mpi.sh PROGRAM [ARGUMENT...]: one of the package's.
set -e
cd /tmp
folder=/usr/lib/x86_64-linux-gnu/starpu/mpi
if [ -x "$folder/$1" ]; then
  program=$folder/$1
  shift
else
  program=/tmp/starpu_ranks.$WAVEJIT_TARGET
  source=/opt/suites/programs/starpu_ranks.cpp
  if ! [ "$program" -nt "$source" ]; then
    compile=$(mpicxx --showme:compile)
    link=$(mpicxx --showme:link)
    hipcc --offload-arch="$WAVEJIT_TARGET" -O2 -std=c++17 -DSTARPU_HIP_PLATFORM_AMD $compile -I/usr/include/starpu/1.4 \
      "$source" -o "$program.$$" -lstarpumpi-1.4 -lstarpu-1.4 $link
    mv "$program.$$" "$program"
  fi
fi
exec mpirun -n 2 --allow-run-as-root --bind-to none "$program" "$@"
