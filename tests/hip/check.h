// What every program here uses: a check of HIP calls and of conditions. Programs print what is wrong and return 1.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP(call)                                                                            \
  do {                                                                                       \
    const hipError_t hip_error = (call);                                                     \
    if (hip_error != hipSuccess) {                                                           \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(hip_error)); \
      std::exit(1);                                                                          \
    }                                                                                        \
  } while (0)

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)
