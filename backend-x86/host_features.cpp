// Which tiers the CPU can run.
#include <xbyak/xbyak_util.h>

#include <array>

#include "backend-x86/compiler.h"

namespace wavejit::backend {
namespace {

using Xbyak::util::Cpu;

// Asked once: on virtual machines each question goes to the hypervisor.
const Cpu& cpu() {
  static const Cpu instance;
  return instance;
}

}  // namespace

std::string_view to_string(Tier tier) {
  return tier == Tier::avx512 ? "AVX-512" : "AVX2";
}

bool host_supports(Tier tier) {
  const bool avx2 = cpu().has(Cpu::tAVX2) && cpu().has(Cpu::tFMA) && cpu().has(Cpu::tF16C) && cpu().has(Cpu::tBMI1) &&
                    cpu().has(Cpu::tBMI2) && cpu().has(Cpu::tLZCNT) && cpu().has(Cpu::tPOPCNT);
  if (tier == Tier::avx2) return avx2;
  return avx2 && cpu().has(Cpu::tAVX512F) && cpu().has(Cpu::tAVX512BW) && cpu().has(Cpu::tAVX512DQ) &&
         cpu().has(Cpu::tAVX512VL) && cpu().has(Cpu::tAVX512CD);
}

bool host_has_vnni() {
  return host_supports(Tier::avx512) && cpu().has(Cpu::tAVX512_VNNI);
}

std::span<const uint32_t> host_identity() {
  static const std::array<uint32_t, 6> identity = {static_cast<uint32_t>(cpu().displayFamily),
                                                   static_cast<uint32_t>(cpu().displayModel),
                                                   static_cast<uint32_t>(cpu().stepping),
                                                   host_supports(Tier::avx2),
                                                   host_supports(Tier::avx512),
                                                   host_has_vnni()};
  return identity;
}

Expected<Tier> best_host_tier() {
  if (host_supports(Tier::avx512)) return Tier::avx512;
  if (host_supports(Tier::avx2)) return Tier::avx2;
  return make_error(ErrorCode::kUnsupported,
                    "The CPU lacks AVX2, FMA, F16C or BMI2, which translated code needs; the interpreter still works.");
}

}  // namespace wavejit::backend
