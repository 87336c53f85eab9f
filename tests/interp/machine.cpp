#include "tests/interp/machine.h"

#include <gtest/gtest.h>
#include <immintrin.h>

#include <cstring>
#include <map>

#include "tests/support/assembler.h"

namespace wavejit::test {
namespace {

struct Code {
  std::vector<uint8_t> bytes;
  std::unique_ptr<interp::Interpreter> interpreter;
};

Code& assembled(isa::Target target, std::string_view source) {
  static std::map<std::pair<isa::Target, std::string>, Code> cache;
  const auto [it, inserted] = cache.try_emplace({target, std::string(source)});
  Code& code = it->second;
  if (!inserted) return code;
  auto bytes = assemble(target, source);
  if (!bytes) {
    ADD_FAILURE() << isa::to_string(target) << ": " << bytes.error().message << "\n" << source;
  } else {
    code.bytes = *bytes;
  }
  constexpr uint8_t kEndpgm[4] = {0x00, 0x00, 0x81, 0xbf};
  code.bytes.insert(code.bytes.end(), kEndpgm, kEndpgm + 4);
  const interp::CodeRegion region{.base = reinterpret_cast<uint64_t>(code.bytes.data()), .bytes = code.bytes};
  code.interpreter = std::make_unique<interp::Interpreter>(target, std::span(&region, 1));
  return code;
}

}  // namespace

const std::vector<isa::Target>& compute_targets() {
  static const std::vector<isa::Target> targets = {isa::Target::gfx803, isa::Target::gfx900, isa::Target::gfx906,
                                                   isa::Target::gfx908, isa::Target::gfx90a};
  return targets;
}

Machine::Machine(isa::Target target)
    : target_(target),
      wave_(std::make_unique<WaveState>()),
      lds_(kLdsBytes),
      scratch_(static_cast<size_t>(kScratchBytesPerLane) * kWaveSize) {
  std::memset(static_cast<void*>(wave_.get()), 0, sizeof(WaveState));
  wave_->set_exec(~0ull);
  wave_->mode = kModeKeepDenormals;
  wave_->lds_base = reinterpret_cast<uint64_t>(lds_.data());
  wave_->lds_size = kLdsBytes;
  wave_->scratch_base = reinterpret_cast<uint64_t>(scratch_.data());
  wave_->scratch_bytes_per_lane = kScratchBytesPerLane;
}

void Machine::set_scratch_descriptor(unsigned sgpr) {
  const auto base = reinterpret_cast<uint64_t>(scratch_.data());
  s(sgpr) = static_cast<uint32_t>(base);
  s(sgpr + 1) = static_cast<uint32_t>(base >> 32) | 1u << 31;
  s(sgpr + 2) = static_cast<uint32_t>(scratch_.size());
  s(sgpr + 3) = 3u << 21 | 1u << 23 | (isa::family_of(target_) == isa::Family::gfx8 ? 1u << 19 : 0);
}

ExitReason Machine::run(std::string_view source) {
  return start(source, -1);
}
ExitReason Machine::run(std::string_view source, unsigned entry) {
  return start(source, static_cast<int>(entry));
}

ExitReason Machine::start(std::string_view source, int entry) {
  Code& code = assembled(target_, source);
  base_ = reinterpret_cast<uint64_t>(code.bytes.data());
  interpreter_ = code.interpreter.get();
  uint32_t offset = 0;
  if (entry >= 0) std::memcpy(&offset, code.bytes.data() + 4 * entry, sizeof offset);
  wave_->pc = base_ + offset;
  wave_->set_sgpr64(30, base_ + code.bytes.size() - 4);
  return interpreter_->run(*wave_, budget_);
}

Error Machine::error() const {
  return interpreter_->describe_exit(*wave_);
}

float half_to_float(uint32_t h) {
  return _cvtsh_ss(static_cast<unsigned short>(h));
}
uint32_t float_to_half(float v) {
  return _cvtss_sh(v, 0);
}

uint32_t Random::bits32() {
  const auto r = static_cast<uint32_t>(engine_());
  switch (pick(8)) {
    case 0:
      return pick(64);
    case 1:
      return 0u - pick(64);
    case 2:
      return (1u << pick(32)) + pick(3) - 1;
    case 3:
      return pick(2) != 0 ? ~0u : 0u;
    case 4:
      return r & 0xffff;
    default:
      return r;
  }
}

uint32_t Random::float32() {
  static constexpr uint32_t kSpecial[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                          0x7fc00000, 0xffc12345, 0x7f800001, 0xffbfffff, 0x00000001, 0x807fffff,
                                          0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x3f7fffff, 0x4b000000};
  switch (pick(6)) {
    case 0:
      return kSpecial[pick(std::size(kSpecial))];
    case 1:
      return as_bits(static_cast<float>(static_cast<int32_t>(engine_()) >> pick(31)));
    case 2:
      return 0x3f800000 + pick(0x1000000) - 0x800000;
    case 3:
      return (static_cast<uint32_t>(engine_()) & 0x80ffffff) | 0x3f000000;
    default:
      return static_cast<uint32_t>(engine_());
  }
}

uint64_t Random::float64() {
  static constexpr uint64_t kSpecial[] = {0,
                                          0x8000000000000000,
                                          0x3ff0000000000000,
                                          0xbff0000000000000,
                                          0x7ff0000000000000,
                                          0xfff0000000000000,
                                          0x7ff8000000000000,
                                          0x7ff0000000000001,
                                          0x0000000000000001,
                                          0x800fffffffffffff,
                                          0x0010000000000000,
                                          0x7fefffffffffffff,
                                          0x3fefffffffffffff};
  switch (pick(5)) {
    case 0:
      return kSpecial[pick(std::size(kSpecial))];
    case 1:
      return as_bits(static_cast<double>(static_cast<int64_t>(engine_()) >> pick(63)));
    case 2:
      return as_bits(static_cast<double>(as_float(float32())));
    default:
      return engine_();
  }
}

uint32_t Random::float16() {
  static constexpr uint16_t kSpecial[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00,
                                          0x7c01, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x3bff};
  const auto r = static_cast<uint32_t>(engine_());
  return pick(4) == 0 ? (r & 0xffff0000) | kSpecial[pick(std::size(kSpecial))] : r;
}

}  // namespace wavejit::test
