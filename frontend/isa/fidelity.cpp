#include "frontend/isa/fidelity.h"

#include <array>

#include "frontend/isa/info.h"

namespace wavejit::isa {

const Approximation* approximation_of(Opcode opcode) {
  switch (opcode) {
#define WAVEJIT_APPROXIMATION(name, ulp, absolute, hardware)          \
  case Opcode::name: {                                                \
    static constexpr Approximation value = {ulp, absolute, hardware}; \
    return &value;                                                    \
  }
#include "frontend/isa/tables/approximations.def"
#undef WAVEJIT_APPROXIMATION
    default:
      return nullptr;
  }
}

std::string_view decision_of(Opcode opcode) {
  struct Decision {
    std::string_view prefix, open;
  };
  static constexpr std::string_view kSum = "order and rounding of the sum of products";
  static constexpr std::string_view kFilter = "precision of weights and sums of the filter";
  static constexpr std::string_view kConversion = "rounding of conversions from and to memory formats";
  static constexpr Decision kDecisions[] = {
      {"v_mfma_f", kSum},
      {"v_smfmac_f", kSum},
      {"v_dot2_f32_f16", kSum},
      {"v_dot2c_f32_f16", kSum},
      {"image_sample", kFilter},
      {"image_gather4", kFilter},
      {"image_load", kConversion},
      {"image_store", kConversion},
      {"tbuffer_", kConversion},
      {"buffer_load_format", kConversion},
      {"buffer_store_format", kConversion},
      {"v_cvt_pknorm", "rounding of the product with the scale"},
  };
  for (const auto& [prefix, open] : kDecisions)
    if (info(opcode).name.starts_with(prefix)) return open;
  return {};
}

// "This instruction may only be used within a trap handler" (MI300 ISA, S_RFE_B64; GCN3 and Vega manuals, "Trap
// handler").
bool is_privileged(Opcode opcode) {
  return opcode == Opcode::s_rfe_b64 || opcode == Opcode::s_rfe_restore_b64;
}

Unit unit_of(Opcode opcode) {
  if (is_privileged(opcode)) return Unit::privileged;
  const OpcodeInfo& facts = info(opcode);
  if (facts.is_graphics) return Unit::graphics;
  switch (facts.format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopc:
    case Format::sopk:
      return facts.control_flow == ControlFlow::none ? Unit::scalar : Unit::control;
    case Format::sopp:
      return Unit::control;
    case Format::smem:
      return Unit::scalar_memory;
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3:
    case Format::vop3b:
    case Format::vop3p:
      return Unit::vector;
    case Format::mai:
      return Unit::matrix;
    case Format::ds:
      return Unit::lds;
    case Format::flat:
    case Format::mubuf:
    case Format::mtbuf:
      return Unit::vector_memory;
    case Format::mimg:
      return Unit::image;
    case Format::vintrp:
    case Format::exp:
      return Unit::graphics;
  }
  return Unit::graphics;
}

std::string_view to_string(Unit unit) {
  static constexpr std::array<std::string_view, kNumUnits> kNames = {"scalar", "control", "privileged", "scalar memory",
                                                                     "vector", "matrix",  "LDS",        "vector memory",
                                                                     "image",  "graphics"};
  return kNames[static_cast<unsigned>(unit)];
}

std::string_view format_name(Opcode opcode) {
  static constexpr std::array<std::string_view, 20> kNames = {
      "sop1",  "sop2",  "sopc", "sopk",   "sopp", "smem", "vop1",  "vop2",  "vopc", "vop3",
      "vop3b", "vop3p", "mai",  "vintrp", "ds",   "flat", "mubuf", "mtbuf", "mimg", "exp"};
  return kNames[static_cast<unsigned>(info(opcode).format)];
}

}  // namespace wavejit::isa
