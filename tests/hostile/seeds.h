// Runs of a driver with bytes of seeds: fixed ones, or from WAVEJIT_HOSTILE_SEED on for WAVEJIT_HOSTILE_SECONDS.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "calls.h"
#include "input.h"

namespace wavejit::hostile {

inline void run(void (*driver)(std::span<const uint8_t>), uint64_t count, size_t bytes) {
  const char* const seconds = std::getenv("WAVEJIT_HOSTILE_SECONDS");
  const char* const first = std::getenv("WAVEJIT_HOSTILE_SEED");
  const char* const file =
      std::getenv("WAVEJIT_HOSTILE_LOG");  // has the seed that is under way, should the process end
  uint64_t seed = first ? std::strtoull(first, nullptr, 0) : 0;
  if (!seconds) {
    for (const uint64_t end = seed + count; seed < end; ++seed) {
      SCOPED_TRACE(seed);
      driver(random_bytes(seed, bytes));
    }
    return;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::strtoull(seconds, nullptr, 0));
  const uint64_t begin = seed;
  for (; std::chrono::steady_clock::now() < end; ++seed) {
    if (std::FILE* log = file ? std::fopen(file, "w") : nullptr) {
      std::fprintf(log, "%llu\n", static_cast<unsigned long long>(seed));
      std::fclose(log);
    }
    driver(random_bytes(seed, bytes / 4 + seed % (2 * bytes)));
  }
  std::printf("%llu sequences, next seed %llu\n", static_cast<unsigned long long>(seed - begin),
              static_cast<unsigned long long>(seed));
}

}  // namespace wavejit::hostile
