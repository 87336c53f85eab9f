// What kernels and host agree on.
#pragma once

constexpr int kThreads = 256;  // of a work-group
constexpr int kTile = 16;
constexpr int kReducePerGroup = 16 * kThreads;
constexpr int kDigitBits = 4, kDigits = 1 << kDigitBits;
constexpr int kKeysPerThread = 8, kKeysPerGroup = kKeysPerThread * kThreads;
