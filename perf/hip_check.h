// Ends the benchmark when a HIP call fails.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP(call)                                                                        \
  do {                                                                                   \
    const hipError_t error = (call);                                                     \
    if (error != hipSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(error)); \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (false)
