// Which tiers the CPU can run.
#include <xbyak/xbyak_util.h>

#include <array>

#include "backend-x86/compiler.h"

namespace wavejit::backend {

std::string_view to_string(Tier tier) {
  return tier == Tier::avx512 ? "AVX-512" : "AVX2";
}

bool host_supports(Tier tier) {
  using Xbyak::util::Cpu;
  static const Cpu cpu;
  const bool avx2 = cpu.has(Cpu::tAVX2) && cpu.has(Cpu::tFMA) && cpu.has(Cpu::tF16C) && cpu.has(Cpu::tBMI1) &&
                    cpu.has(Cpu::tBMI2) && cpu.has(Cpu::tLZCNT) && cpu.has(Cpu::tPOPCNT);
  if (tier == Tier::avx2) return avx2;
  return avx2 && cpu.has(Cpu::tAVX512F) && cpu.has(Cpu::tAVX512BW) && cpu.has(Cpu::tAVX512DQ) &&
         cpu.has(Cpu::tAVX512VL) && cpu.has(Cpu::tAVX512CD);
}

std::span<const uint32_t> host_identity() {
  static const auto identity = [] {
    uint32_t highest[4], model[4], features[4], more[4] = {};
    Xbyak::util::Cpu::getCpuid(0, highest);
    Xbyak::util::Cpu::getCpuid(1, model);  // EBX has the number of the processor that was asked
    Xbyak::util::Cpu::getCpuidEx(7, 0, features);
    if (features[0] >= 1) Xbyak::util::Cpu::getCpuidEx(7, 1, more);
    const uint64_t enabled = Xbyak::util::Cpu::getXfeature();
    return std::array<uint32_t, 13>{highest[1],
                                    highest[2],
                                    highest[3],
                                    model[0],
                                    model[2],
                                    model[3],
                                    features[1],
                                    features[2],
                                    features[3],
                                    more[0],
                                    more[3],
                                    static_cast<uint32_t>(enabled),
                                    static_cast<uint32_t>(enabled >> 32)};
  }();
  return identity;
}

Expected<Tier> best_host_tier() {
  if (host_supports(Tier::avx512)) return Tier::avx512;
  if (host_supports(Tier::avx2)) return Tier::avx2;
  return make_error(ErrorCode::kUnsupported,
                    "The CPU lacks AVX2, FMA, F16C or BMI2, which translated code needs; the interpreter still works.");
}

}  // namespace wavejit::backend
