#!/bin/sh
# clblast.sh KERNEL [ARGUMENT...]: CLBlast's tuner of it, which compares each variant of the kernel with the plain one.
kernel=$1
shift
cd "$(mktemp -d)" || exit
text=$("clblast_tuner_$kernel" -runs 1 "$@" 2>&1)
status=$?
echo "$text" | tail -30
[ $status = 0 ] && echo "$text" | grep -q 'results match' && ! echo "$text" | grep -qE 'L2 error|aborting with error'
