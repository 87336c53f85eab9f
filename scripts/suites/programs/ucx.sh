#!/bin/sh
# ucx.sh TEST SIZE: UCX's performance test between two processes with memory of the device.
sockets=  # some builds expect to be started by MPI unless told otherwise
! ucx_perftest -h 2>&1 | grep -q 'MPI mode' || sockets='-P 0'
ucx_perftest $sockets -m rocm &
sleep 5
ucx_perftest $sockets localhost -t "$1" -m rocm -s "$2" -n 50
