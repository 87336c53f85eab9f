#!/bin/sh
# magma.sh ROUTINE: MAGMA's tester of it, which has to say "ok" of each size and not "failed".
text=$("/usr/lib/x86_64-linux-gnu/libmagma-rocm-test/testing/testing_$1" -c -N 100 2>&1)
status=$?
echo "$text"
[ $status = 0 ] && echo "$text" | grep -q ' ok *$' && ! echo "$text" | grep -q failed
