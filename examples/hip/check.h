// Ends the program with a message when a HIP call fails.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP(call)                                                                                       \
  do {                                                                                                  \
    const hipError_t hip_error = (call);                                                                \
    if (hip_error != hipSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(hip_error)); \
      std::exit(1);                                                                                     \
    }                                                                                                   \
  } while (0)
