#include "backend-x86/helpers/flat_lanes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "backend-x86/encode/saved_registers.h"
#include "internal/check.h"

extern "C" [[gnu::visibility("hidden"), gnu::used]] void wavejit_flat_lanes(wavejit::backend::FlatLanes* access);

namespace wavejit::backend {
namespace {

// Sanitizers must not check accesses to guest memory, as they do not in translated code: a bad address is a guest fault.
#define GUEST_ACCESS __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

template <typename T>
GUEST_ACCESS inline void copy_whole(std::byte* to, const std::byte* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  __builtin_memcpy(to, &value, sizeof value);
}

// Two dwords of a lane may be one access for the guest, so they are moved together.
template <unsigned kBytes>
GUEST_ACCESS inline void copy_bytes(std::byte* to, const std::byte* from) {
  using Quad [[gnu::vector_size(16)]] = uint64_t;
  if constexpr (kBytes == 1) copy_whole<uint8_t>(to, from);
  if constexpr (kBytes == 2) copy_whole<uint16_t>(to, from);
  if constexpr (kBytes == 4) copy_whole<uint32_t>(to, from);
  if constexpr (kBytes == 8) copy_whole<uint64_t>(to, from);
  if constexpr (kBytes == 16) copy_whole<Quad>(to, from);
  if constexpr (kBytes == 12) {
    copy_whole<uint64_t>(to, from);
    copy_whole<uint32_t>(to + 8, from + 8);
  }
}

template <typename F>
void for_each_lane(uint32_t lanes, F&& function) {
  for (; lanes != 0; lanes &= lanes - 1) function(static_cast<unsigned>(std::countr_zero(lanes)));
}

// The access of elements of kElement bytes, kCount of each lane.
template <unsigned kElement, unsigned kCount>
class FlatAccess {
 public:
  explicit FlatAccess(FlatLanes& access)
      : access_(access), wave_(*access.wave), load_((access.shape.flags & FlatShape::kLoad) != 0) {}

  void run() {
    wave_.pc = access_.guest_pc;
    wave_.fault_write = !load_;
    if (load_)
      for (unsigned i = 0; i < kCount; ++i) std::fill_n(access_.values[i], FlatLanes::kMaxLanes, 0);
    // Flat addresses become the host's, but for lanes in scratch. A lane whose access ends beyond the LDS accesses nothing.
    uint32_t in_scratch = 0, active = 0;
    for_each_lane(access_.lanes, [&](unsigned lane) {
      uint64_t& at = access_.addresses[lane];
      const uint64_t high = at >> 32;
      const auto offset = static_cast<uint32_t>(at);
      const bool shared = high == kSharedApertureHi;
      in_scratch |= uint32_t{high == kPrivateApertureHi} << lane;
      active |= uint32_t{!shared || uint64_t{offset} + kBytes <= wave_.lds_size} << lane;
      if (shared) at = wave_.lds_base + offset;
    });
    describe(active & ~in_scratch, reinterpret_cast<uint64_t>(access_.addresses), kBytes);
    // In ascending order, so that the first lane that faults is the first one that would.
    for_each_lane(active, [&](unsigned lane) {
      const uint64_t at = access_.addresses[lane];
      if (in_scratch >> lane & 1) {
        run_in_scratch(lane, static_cast<uint32_t>(at));
        describe(active & ~in_scratch, reinterpret_cast<uint64_t>(access_.addresses), kBytes);
      } else if (load_) {
        std::byte data[kBytes];
        copy_bytes<kBytes>(data, reinterpret_cast<const std::byte*>(at));
        put(lane, data);
      } else {
        std::byte data[16];
        get(lane, data);
        copy_bytes<kBytes>(reinterpret_cast<std::byte*>(at), data);
      }
    });
  }

 private:
  static constexpr unsigned kBytes = kElement * kCount;

  // The fault handler finds the lane by these (kFaultLanes of frontend/interp/interpreter.h).
  // `addresses`: where that of the chunk's first lane is, the others behind it.
  void describe(uint32_t lanes, uint64_t addresses, unsigned bytes) {
    const unsigned first = access_.shape.first_lane;
    wave_.engine_private[0] = 1;
    wave_.engine_private[1] = addresses - first * sizeof(uint64_t);
    wave_.engine_private[2] = bytes;
    wave_.engine_private[3] = uint64_t{lanes} << first;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  [[nodiscard]] std::byte* scratch_byte(unsigned lane, uint32_t offset) const {
    offset = std::min(offset, kLastScratchByte);
    const unsigned column = (access_.shape.first_lane + lane) * 4 + offset % 4;
    return reinterpret_cast<std::byte*>(wave_.scratch_base + uint64_t{offset / 4} * (4 * kWaveSize) + column);
  }

  template <unsigned kSize>
  void move_in_scratch(unsigned lane, uint32_t offset, std::byte* data) {
    std::byte* const place = scratch_byte(lane, offset);
    const auto address = reinterpret_cast<uint64_t>(place);
    describe(1U << lane, reinterpret_cast<uint64_t>(&address) - lane * sizeof address, kSize);
    load_ ? copy_bytes<kSize>(data, place) : copy_bytes<kSize>(place, data);
  }

  void run_in_scratch(unsigned lane, uint32_t offset) {
    std::byte data[16];
    if (!load_) get(lane, data);
    const bool whole = kElement == 4 && offset % 4 == 0;
    for (unsigned i = 0; i < kBytes; i += whole ? 4 : 1)
      whole ? move_in_scratch<4>(lane, offset + i, data + i) : move_in_scratch<1>(lane, offset + i, data + i);
    if (load_) put(lane, data);
  }

  void get(unsigned lane, std::byte* data) const {
    for (unsigned i = 0; i < kCount; ++i) std::memcpy(data + i * kElement, &access_.values[i][lane], kElement);
  }

  void put(unsigned lane, const std::byte* data) {
    constexpr unsigned kUnused = 32 - 8 * kElement;
    for (unsigned i = 0; i < kCount; ++i) {
      uint32_t value = 0;
      std::memcpy(&value, data + i * kElement, kElement);
      if ((access_.shape.flags & FlatShape::kSignExtend) != 0)
        value = static_cast<uint32_t>(static_cast<int32_t>(value << kUnused) >> kUnused);
      access_.values[i][lane] = value;
    }
  }

  FlatLanes& access_;
  WaveState& wave_;
  const bool load_;
};

void run(FlatLanes& access) {
  WAVEJIT_CHECK(access.lanes != 0, "a flat access in which no lane is active");
  switch (access.shape.bytes * 8 + access.shape.count) {
    case 8 + 1:
      return FlatAccess<1, 1>(access).run();
    case 16 + 1:
      return FlatAccess<2, 1>(access).run();
    case 32 + 1:
      return FlatAccess<4, 1>(access).run();
    case 32 + 2:
      return FlatAccess<4, 2>(access).run();
    case 32 + 3:
      return FlatAccess<4, 3>(access).run();
    case 32 + 4:
      return FlatAccess<4, 4>(access).run();
    default:
      WAVEJIT_CHECK(false, "flat access to {} elements of {} bytes", access.shape.count, access.shape.bytes);
  }
}

__attribute__((naked)) void stub_avx512() {
  __asm__(KEEPING_STUB("wavejit_flat_lanes", SAVE_AVX512, LOAD_AVX512)::);
}
__attribute__((naked)) void stub_avx2() {
  __asm__(KEEPING_STUB("wavejit_flat_lanes", SAVE_AVX2, LOAD_AVX2)::);
}

}  // namespace

uintptr_t flat_stub(Tier tier) {
  return reinterpret_cast<uintptr_t>(tier == Tier::avx512 ? &stub_avx512 : &stub_avx2);
}

}  // namespace wavejit::backend

void wavejit_flat_lanes(wavejit::backend::FlatLanes* access) {
  wavejit::backend::run(*access);
}
