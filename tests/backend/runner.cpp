#include "runner.h"

#include <algorithm>
#include <cstring>

namespace wavejit::backend {

TestWave::TestWave()
    : state_(std::make_unique<WaveState>()), lds_(kLdsBytes + kLdsSlack), scratch_(kScratchBytes * kWaveSize) {
  std::memset(state_.get(), 0, sizeof(WaveState));
  state_->mode = 0xf0;
  state_->lds_base = reinterpret_cast<uint64_t>(lds_.data());
  state_->lds_size = kLdsBytes;
  state_->scratch_base = reinterpret_cast<uint64_t>(scratch_.data());
  state_->scratch_bytes_per_lane = kScratchBytes;
}

TestWave::TestWave(const TestWave& other) : TestWave() {
  const uint64_t lds_base = state_->lds_base, scratch_base = state_->scratch_base;
  *state_ = *other.state_;
  state_->lds_base = lds_base;
  state_->scratch_base = scratch_base;
  lds_.assign(other.lds_.begin(), other.lds_.end());
  scratch_.assign(other.scratch_.begin(), other.scratch_.end());
  state_->lds_base = reinterpret_cast<uint64_t>(lds_.data());
  state_->scratch_base = reinterpret_cast<uint64_t>(scratch_.data());
}

uint32_t interesting32(std::mt19937_64& random) {
  static constexpr uint32_t kValues[] = {
      0,          1,          2,          31,         32,         33,         63,         64,         0x7f,
      0x80,       0xff,       0x7fff,     0x8000,     0xffff,     0x10000,    0x7fffffff, 0x80000000, 0x80000001,
      0xfffffffe, 0xffffffff, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x40000000, 0x3fc00000, 0x00000001,
      0x007fffff, 0x00800000, 0x00800001, 0x80800000, 0x807fffff, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
      0x7fc00000, 0xffc00000, 0x7f800001, 0xffa00000, 0x4f000000, 0xcf000000, 0x4effffff, 0x4f7fffff, 0x4f800000,
      0x43000000, 0xc2fc0000, 0x3f7fffff, 0x3effffff, 0x4b000000, 0x477fe000, 0x477ff000, 0x33800000, 0x387fc000,
      0x43800000, 0x3e800000, 0x40490fdb, 0x5f000000, 0x1f800000, 0x3f3504f3};
  switch (random() % 4) {
    case 0:
      return kValues[random() % std::size(kValues)];
    case 1: {  // a float of moderate size
      const uint32_t exponent = 100 + static_cast<uint32_t>(random() % 54);
      return static_cast<uint32_t>(random() & 0x807fffff) | exponent << 23;
    }
    case 2:
      return static_cast<uint32_t>(random() % 256);
    default:
      return static_cast<uint32_t>(random());
  }
}

uint64_t interesting64(std::mt19937_64& random) {
  static constexpr uint64_t kValues[] = {0,
                                         1,
                                         63,
                                         64,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         0x100000000,
                                         0x7fffffffffffffff,
                                         0x8000000000000000,
                                         0xffffffffffffffff,
                                         0x3ff0000000000000,
                                         0xbff0000000000000,
                                         0x3fe0000000000000,
                                         0x0010000000000000,
                                         0x000fffffffffffff,
                                         0x8000000000000001,
                                         0x7fefffffffffffff,
                                         0x7ff0000000000000,
                                         0xfff0000000000000,
                                         0x7ff8000000000000,
                                         0x7ff0000000000001,
                                         0x41dfffffffc00000,
                                         0x41e0000000000000,
                                         0xc1e0000000000000,
                                         0x41f0000000000000,
                                         0x3fefffffffffffff,
                                         0x4330000000000000,
                                         0x38100000000fffff,
                                         0x47efffffefffffff,
                                         0x36a0000000000000};
  switch (random() % 4) {
    case 0:
      return kValues[random() % std::size(kValues)];
    case 1: {  // a double of moderate size
      const uint64_t exponent = 1000 + random() % 46;
      return (random() & 0x800fffffffffffff) | exponent << 52;
    }
    case 2:
      return uint64_t{interesting32(random)} << 32 | interesting32(random);
    default:
      return random();
  }
}

uint32_t interesting16(std::mt19937_64& random) {
  static constexpr uint32_t kValues[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x0401, 0x3c00,
                                         0xbc00, 0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00,
                                         0x7c01, 0xfd00, 0x3bff, 0x6400, 0x77ff, 0x7800};
  const uint32_t high = static_cast<uint32_t>(random()) & 0xffff0000;
  if (random() % 3 == 0) return high | kValues[random() % std::size(kValues)];
  return high | static_cast<uint32_t>(random() & 0xffff);
}

void TestWave::randomise(std::mt19937_64& random) {
  for (uint32_t& s : state_->sgpr) s = interesting32(random);
  for (unsigned r = 0; r < 32; ++r) {
    for (uint32_t& v : state_->vgpr[r]) v = interesting32(random);
  }
  for (uint8_t& b : lds_) b = static_cast<uint8_t>(random());
  for (uint8_t& b : scratch_) b = static_cast<uint8_t>(random());
}

std::shared_ptr<const CompiledCode> compile_or_fail(const ir::Function& function, Tier tier, bool listing,
                                                    const HostChoices& choices) {
  const std::string problem = ir::verify(function);
  if (!problem.empty()) ADD_FAILURE() << problem << "\n" << ir::print(function);
  auto code =
      compile(function, {.tier = tier, .listing = listing ? ListingKind::x86 : ListingKind::none, .choices = choices});
  if (!code) {
    ADD_FAILURE() << code.error().message << "\n" << ir::print(function);
    return nullptr;
  }
  return *code;
}

ExitReason run(const ir::Function& function, Tier tier, TestWave& wave, unsigned entry, const HostChoices& choices) {
  const auto code = compile_or_fail(function, tier, false, choices);
  if (!code) return ExitReason::kUnsupported;
  return enter(*code, *wave, entry);
}

}  // namespace wavejit::backend
