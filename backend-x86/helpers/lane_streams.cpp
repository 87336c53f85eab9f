#include "internal/lane_streams.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

#include "backend-x86/encode/saved_registers.h"
#include "backend-x86/helpers/lane_stream_stubs.h"
#include "internal/lane_way.h"

extern "C" {
[[gnu::visibility("hidden"), gnu::used]] void wavejit_begin_streams(wavejit::LaneStreams* streams);
[[gnu::visibility("hidden"), gnu::used]] void wavejit_end_streams(wavejit::LaneStreams* streams);
}

namespace wavejit {
namespace {

// Sanitizers must not check accesses to guest memory, as they do not in translated code: a bad address is a guest fault.
#define GUEST_ACCESS __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

constexpr uint64_t kLeastRoom = 4;      // less is not worth it
constexpr uint64_t kLeastForLast = 64;  // what lies behind the last array is not known to belong to it
constexpr uint64_t kEndOfMemory = uint64_t{kSharedApertureHi} << 32;  // of addresses that are no flat ones of apertures

using Pair [[gnu::vector_size(16)]] = uint64_t;  // an aligned store of one tears no element in it

template <typename T>
GUEST_ACCESS void copy_one(uint64_t& to, const std::byte*& from, uint64_t& bytes) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  *reinterpret_cast<volatile T*>(to) = value;
  to += sizeof value;
  from += sizeof value;
  bytes -= sizeof value;
}

GUEST_ACCESS void copy_aligned(uint64_t to, const std::byte* from, uint64_t bytes) {
  while (bytes != 0) {
    while (bytes >= 16 && to % 16 == 0) copy_one<Pair>(to, from, bytes);
    const uint64_t whole = std::min(std::bit_floor(bytes), to != 0 ? to & -to : 8);
    if (whole >= 8) {
      copy_one<uint64_t>(to, from, bytes);
    } else if (whole == 4) {
      copy_one<uint32_t>(to, from, bytes);
    } else if (whole == 2) {
      copy_one<uint16_t>(to, from, bytes);
    } else if (whole == 1) {
      copy_one<uint8_t>(to, from, bytes);
    }
  }
}

}  // namespace

void begin_streams(LaneStreams& streams) {
  WaveState& wave = *streams.wave;
  streams.possible = 0;
  const auto* ways = reinterpret_cast<const LaneWays*>(wave.lane_ways);
  if (ways == nullptr || ways->buffers == nullptr || streams.lanes == 0) return;
  std::array<uint8_t, kWaveSize> order;
  unsigned count = 0;
  bool ascending = true;
  uint64_t last = 0;
  for (uint64_t lanes = streams.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t begin = streams.begins[lane];
    if (begin >= kEndOfMemory - kStreamBytes) return;
    ascending &= begin >= last;
    last = begin;
    order[count++] = static_cast<uint8_t>(lane);
  }
  if (!ascending)
    std::sort(order.begin(), order.begin() + count,
              [&](unsigned a, unsigned b) { return streams.begins[a] < streams.begins[b]; });
  uint64_t largest = count == 1 ? kStreamBytes : kLeastForLast;
  for (unsigned i = 0; i + 1 < count; ++i) {
    const uint64_t room = streams.begins[order[i + 1]] - streams.begins[order[i]];
    if (room < kLeastRoom) return;
    largest = std::max(largest, room);
    streams.rooms[order[i]] = room;
  }
  const unsigned highest = order[count - 1];
  streams.rooms[highest] = std::min(largest, kStreamBytes);
  const uint64_t end = streams.begins[highest] + streams.rooms[highest];
  wave.stream_space_begin = streams.begins[order[0]];
  wave.stream_space_bytes = end - wave.stream_space_begin;
  wave.streams_in_order = ascending ? 1 : 0;
  wave.stream_buffers = reinterpret_cast<uint64_t>(ways->buffers);
  streams.possible = 1;
}

void end_streams(const LaneStreams& streams) {
  WaveState& wave = *streams.wave;
  wave.pc = streams.guest_pc;
  wave.fault_write = 1;
  // Where one lane tells others of what all have stored it is mostly the first one: it comes last.
  for (unsigned lane = kWaveSize; lane-- > 0;) {
    if ((streams.lanes >> lane & 1) == 0) continue;
    wave.engine_private[0] = 1;
    wave.engine_private[1] = reinterpret_cast<uint64_t>(streams.begins);
    wave.engine_private[2] = streams.written[lane];
    wave.engine_private[3] = uint64_t{1} << lane;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    copy_aligned(streams.begins[lane],
                 reinterpret_cast<const std::byte*>(wave.stream_buffers + (uint64_t{lane} << kStreamShift)),
                 streams.written[lane]);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace wavejit

namespace wavejit::backend {
namespace {

__attribute__((naked)) void begin_streams_avx512() {
  __asm__(KEEPING_STUB("wavejit_begin_streams", SAVE_AVX512, LOAD_AVX512)::);
}
__attribute__((naked)) void begin_streams_avx2() {
  __asm__(KEEPING_STUB("wavejit_begin_streams", SAVE_AVX2, LOAD_AVX2)::);
}
__attribute__((naked)) void end_streams_avx512() {
  __asm__(KEEPING_STUB("wavejit_end_streams", SAVE_AVX512, LOAD_AVX512)::);
}
__attribute__((naked)) void end_streams_avx2() {
  __asm__(KEEPING_STUB("wavejit_end_streams", SAVE_AVX2, LOAD_AVX2)::);
}

}  // namespace

uintptr_t lane_stream_stub(Tier tier, bool begins) {
  if (tier == Tier::avx512) return reinterpret_cast<uintptr_t>(begins ? &begin_streams_avx512 : &end_streams_avx512);
  return reinterpret_cast<uintptr_t>(begins ? &begin_streams_avx2 : &end_streams_avx2);
}

}  // namespace wavejit::backend

void wavejit_begin_streams(wavejit::LaneStreams* streams) {
  wavejit::begin_streams(*streams);
}
void wavejit_end_streams(wavejit::LaneStreams* streams) {
  wavejit::end_streams(*streams);
}
