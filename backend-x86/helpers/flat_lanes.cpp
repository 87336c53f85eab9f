#include "backend-x86/helpers/flat_lanes.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "backend-x86/encode/saved_registers.h"

extern "C" [[gnu::visibility("hidden"), gnu::used]] void wavejit_flat_lanes(wavejit::backend::FlatLanes* access);

namespace wavejit::backend {
namespace {

// Like translated code, what accesses guest memory is not instrumented.
#define GUEST_ACCESS __attribute__((no_sanitize("address"), no_sanitize("null")))

// Two or four dwords may be one access for the guest.
GUEST_ACCESS inline void copy_bytes(void* to, const void* from, unsigned bytes) {
  switch (bytes) {
    case 1:
      std::memcpy(to, from, 1);
      break;
    case 2:
      std::memcpy(to, from, 2);
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    case 12:
      std::memcpy(to, from, 8);
      std::memcpy(static_cast<char*>(to) + 8, static_cast<const char*>(from) + 8, 4);
      break;
    default:
      std::memcpy(to, from, 16);
  }
}

class Access {
 public:
  explicit Access(FlatLanes& access)
      : access_(access),
        wave_(*access.wave),
        shape_(access.shape),
        bytes_(static_cast<unsigned>(shape_.bytes) * shape_.count) {}

  void run() {
    wave_.pc = access_.guest_pc;
    wave_.fault_write = !shape_.load;
    if (shape_.load)
      for (unsigned i = 0; i < shape_.count; ++i) std::fill_n(access_.values[i], FlatLanes::kMaxLanes, 0);
    if (run_rows()) return;
    for (uint32_t lanes = access_.lanes; lanes != 0; lanes &= lanes - 1)
      run_lane(static_cast<unsigned>(std::countr_zero(lanes)));
  }

 private:
  [[nodiscard]] std::byte* scratch_byte(unsigned lane, uint32_t offset) const {
    offset = std::min(offset, kLastScratchByte);
    const unsigned column = (shape_.first_lane + lane) * 4 + offset % 4;
    return reinterpret_cast<std::byte*>(wave_.scratch_base + uint64_t{offset / 4} * (4 * kWaveSize) + column);
  }

  // The fault handler finds the lane by these (kFaultLanes of frontend/interp/interpreter.h).
  void describe(unsigned lane, const std::byte* place, unsigned bytes) {
    const unsigned number = shape_.first_lane + lane;
    place_ = reinterpret_cast<uint64_t>(place);
    wave_.engine_private[0] = 1;
    wave_.engine_private[1] = reinterpret_cast<uint64_t>(&place_) - number * sizeof place_;
    wave_.engine_private[2] = bytes;
    wave_.engine_private[3] = uint64_t{1} << number;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  void move(unsigned lane, std::byte* place, std::byte* data, unsigned bytes) {
    describe(lane, place, bytes);
    shape_.load ? copy_bytes(data, place, bytes) : copy_bytes(place, data, bytes);
  }

  // All lanes access the same aligned place of their scratch: rows of memory.
  bool run_rows() {
    const uint32_t lanes = access_.lanes;
    if (lanes == 0 || shape_.bytes != 4) return false;
    const uint64_t first = access_.addresses[std::countr_zero(lanes)];
    const auto offset = static_cast<uint32_t>(first);
    if (first >> 32 != kPrivateApertureHi || offset % 4 != 0 || offset > kLastScratchByte - bytes_) return false;
    for (uint32_t m = lanes; m != 0; m &= m - 1)
      if (access_.addresses[std::countr_zero(m)] != first) return false;
    for (unsigned i = 0; i < shape_.count; ++i)
      for (uint32_t m = lanes; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        move(lane, scratch_byte(lane, offset + 4 * i), reinterpret_cast<std::byte*>(&access_.values[i][lane]), 4);
      }
    return true;
  }

  void run_lane(unsigned lane) {
    std::byte data[16];
    if (!shape_.load) gather_data(lane, data);
    const uint64_t at = access_.addresses[lane];
    const auto offset = static_cast<uint32_t>(at);
    if (at >> 32 == kPrivateApertureHi) {
      const unsigned step = offset % 4 == 0 && shape_.bytes == 4 ? 4 : 1;
      for (unsigned i = 0; i < bytes_; i += step) move(lane, scratch_byte(lane, offset + i), data + i, step);
    } else if (at >> 32 == kSharedApertureHi) {
      // What reaches beyond the LDS in part does nothing as a whole.
      if (uint64_t{offset} + bytes_ > wave_.lds_size) return;
      move(lane, reinterpret_cast<std::byte*>(wave_.lds_base + offset), data, bytes_);
    } else {
      move(lane, reinterpret_cast<std::byte*>(at), data, bytes_);
    }
    if (shape_.load) scatter_data(lane, data);
  }

  void gather_data(unsigned lane, std::byte* data) const {
    for (unsigned i = 0; i < shape_.count; ++i) std::memcpy(data + i * shape_.bytes, &access_.values[i][lane], 4);
  }

  void scatter_data(unsigned lane, const std::byte* data) {
    for (unsigned i = 0; i < shape_.count; ++i) {
      uint32_t value = 0;
      std::memcpy(&value, data + i * shape_.bytes, shape_.bytes);
      const unsigned unused = 32 - 8 * shape_.bytes;
      if (shape_.sign_extend) value = static_cast<uint32_t>(static_cast<int32_t>(value << unused) >> unused);
      access_.values[i][lane] = value;
    }
  }

  FlatLanes& access_;
  WaveState& wave_;
  const FlatShape shape_;
  const unsigned bytes_;
  uint64_t place_ = 0;
};

#define STUB(save, load)                                                                                      \
  "push %%rax\n push %%rcx\n push %%rdx\n push %%rsi\n push %%rdi\n push %%r8\n push %%r9\n push %%r10\n"     \
  "push %%r11\n push %%rbp\n"                                                                                 \
  "mov 88(%%rsp), %%rdi\n"                                                                                    \
  "mov %%rsp, %%rbp\n"                                                                                        \
  "sub $2112, %%rsp\n"                                                                                        \
  "and $-64, %%rsp\n" save                                                                                    \
  "vzeroupper\n"                                                                                              \
  "call wavejit_flat_lanes\n"                                                                                 \
  "mov %%rsp, %%r8\n" load                                                                                    \
  "mov %%rbp, %%rsp\n"                                                                                        \
  "pop %%rbp\n pop %%r11\n pop %%r10\n pop %%r9\n pop %%r8\n pop %%rdi\n pop %%rsi\n pop %%rdx\n pop %%rcx\n" \
  "pop %%rax\n"                                                                                               \
  "ret $8"

__attribute__((naked)) void stub_avx512() {
  __asm__(STUB(SAVE_AVX512, LOAD_AVX512)::);
}
__attribute__((naked)) void stub_avx2() {
  __asm__(STUB(SAVE_AVX2, LOAD_AVX2)::);
}

}  // namespace

uintptr_t flat_stub(Tier tier) {
  return reinterpret_cast<uintptr_t>(tier == Tier::avx512 ? &stub_avx512 : &stub_avx2);
}

}  // namespace wavejit::backend

void wavejit_flat_lanes(wavejit::backend::FlatLanes* access) {
  wavejit::backend::Access(*access).run();
}
