// What lanes have kept back goes to memory as it is, wherever it begins and ends, and nothing around it is written.
#include "internal/lane_streams.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace wavejit {
namespace {

constexpr uint8_t kUntouched = 0xa5;
constexpr uint64_t kMost = 70, kAlignments = 32;

uint8_t kept(unsigned lane, uint64_t i) {
  return static_cast<uint8_t>(1 + lane * 31 + i * 7);
}

TEST(LaneStreams, GoToMemoryByteByByte) {
  const std::vector<unsigned> lanes{3, 40};
  std::vector<uint8_t> buffers(kStreamBufferBytes);
  for (const unsigned lane : lanes)
    for (uint64_t i = 0; i < kMost; ++i) buffers[(uint64_t{lane} << kStreamShift) + i] = kept(lane, i);
  const auto wave = std::make_unique<WaveState>();
  wave->stream_buffers = reinterpret_cast<uint64_t>(buffers.data());
  alignas(kAlignments) std::array<std::array<uint8_t, kAlignments * 4>, 2> memory{};
  for (uint64_t offset = 0; offset < kAlignments; ++offset) {
    for (uint64_t bytes = 0; bytes < kMost; ++bytes) {
      std::array<uint64_t, kWaveSize> begins{}, written{};
      LaneStreams streams{.wave = wave.get(), .begins = begins.data(), .written = written.data()};
      for (size_t i = 0; i < lanes.size(); ++i) {
        memory[i].fill(kUntouched);
        begins[lanes[i]] = reinterpret_cast<uint64_t>(memory[i].data()) + offset;
        written[lanes[i]] = bytes;
        streams.lanes |= uint64_t{1} << lanes[i];
      }
      end_streams(streams);
      for (size_t i = 0; i < lanes.size(); ++i)
        for (uint64_t at = 0; at < memory[i].size(); ++at)
          ASSERT_EQ(memory[i][at], at >= offset && at < offset + bytes ? kept(lanes[i], at - offset) : kUntouched)
              << "byte " << at << " of " << bytes << " at " << offset;
    }
  }
}

}  // namespace
}  // namespace wavejit
