// Which tiers the CPU can run.
#include "backend-x86/host_features.h"

#include <xbyak/xbyak_util.h>

#include <algorithm>
#include <array>

namespace wavejit::backend {
namespace {

using Xbyak::util::Cpu;

// Asked once: on virtual machines each question goes to the hypervisor.
const Cpu& cpu() {
  static const Cpu instance;
  return instance;
}

template <const auto& kType>
bool has() {
  return cpu().has(kType);
}

constexpr HostFeature kFeatures[] = {
    {"avx2", Tier::avx2, true, has<Cpu::tAVX2>},
    {"fma", Tier::avx2, true, has<Cpu::tFMA>},
    {"f16c", Tier::avx2, true, has<Cpu::tF16C>},
    {"bmi1", Tier::avx2, true, has<Cpu::tBMI1>},
    {"bmi2", Tier::avx2, true, has<Cpu::tBMI2>},
    {"abm", Tier::avx2, true, has<Cpu::tLZCNT>},
    {"popcnt", Tier::avx2, true, has<Cpu::tPOPCNT>},
    {"avx512f", Tier::avx512, true, has<Cpu::tAVX512F>},
    {"avx512bw", Tier::avx512, true, has<Cpu::tAVX512BW>},
    {"avx512dq", Tier::avx512, true, has<Cpu::tAVX512DQ>},
    {"avx512vl", Tier::avx512, true, has<Cpu::tAVX512VL>},
    {"avx512cd", Tier::avx512, true, has<Cpu::tAVX512CD>},
    {"avx512_vnni", Tier::avx512, false, has<Cpu::tAVX512_VNNI>},
    {"avx512_fp16", Tier::avx512, false, has<Cpu::tAVX512_FP16>},
};

}  // namespace

std::string_view to_string(Tier tier) {
  return tier == Tier::avx512 ? "AVX-512" : "AVX2";
}

std::span<const HostFeature> host_features() {
  return kFeatures;
}

HostCpu host_cpu() {
  const HostVendor vendor = has<Cpu::tAMD>()     ? HostVendor::amd
                            : has<Cpu::tINTEL>() ? HostVendor::intel
                                                 : HostVendor::other;
  return {.vendor = vendor,
          .family = static_cast<uint32_t>(cpu().displayFamily),
          .model = static_cast<uint32_t>(cpu().displayModel)};
}

bool host_supports(Tier tier) {
  return std::ranges::all_of(kFeatures, [&](const HostFeature& feature) {
    return !feature.required || (feature.tier == Tier::avx512 && tier == Tier::avx2) || feature.present();
  });
}

bool host_has_vnni() {
  return host_supports(Tier::avx512) && has<Cpu::tAVX512_VNNI>();
}

bool host_has_fp16() {
  return host_supports(Tier::avx512) && has<Cpu::tAVX512_FP16>();
}

std::span<const uint32_t> host_identity() {
  static const std::array<uint32_t, 8> identity = {host_cpu().family,
                                                   host_cpu().model,
                                                   static_cast<uint32_t>(cpu().stepping),
                                                   host_supports(Tier::avx2),
                                                   host_supports(Tier::avx512),
                                                   host_has_vnni(),
                                                   host_has_fp16(),
                                                   bits_of(host().choices)};
  return identity;
}

Expected<Tier> best_host_tier() {
  if (host_supports(Tier::avx512)) return Tier::avx512;
  if (host_supports(Tier::avx2)) return Tier::avx2;
  return make_error(ErrorCode::kUnsupported,
                    "The CPU lacks AVX2, FMA, F16C or BMI2, which translated code needs; the interpreter still works.");
}

}  // namespace wavejit::backend
