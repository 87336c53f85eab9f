// Spellings of attribute values in the text form, shared by printer and parser.
#pragma once

#include <array>
#include <string_view>

namespace wavejit::ir {

// In the order of the enumerations in function.h.
inline constexpr std::array<std::string_view, 10> kICmpNames{"eq",  "ne",  "ult", "ule", "ugt",
                                                             "uge", "slt", "sle", "sgt", "sge"};
inline constexpr std::array<std::string_view, 16> kFCmpNames{"f", "lt",  "eq",  "le",  "gt",  "lg",  "ge",  "o",
                                                             "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"};
inline constexpr std::array<std::string_view, 4> kSpaceNames{"global", "flat", "lds", "scratch"};
inline constexpr std::array<std::string_view, 6> kFormNames{"base_offset", "base_only",   "vector64",
                                                            "lds_offset",  "scratch_off", "scratch_base"};
inline constexpr std::array<std::string_view, 26> kAtomicNames{
    "swap",         "cmpswap",  "add",      "sub",          "rsub",        "smin",     "umin",
    "smax",         "umax",     "and",      "or",           "xor",         "inc",      "dec",
    "fadd_f32",     "fadd_f64", "fmin_f32", "fmax_f32",     "fmin_f64",    "fmax_f64", "pk_fadd_f16",
    "pk_fadd_bf16", "mskor",    "wrap",     "fcmpswap_f32", "fcmpswap_f64"};
inline constexpr std::array<std::string_view, 9> kExitNames{"end",   "barrier",     "yield",   "jump",   "trap",
                                                            "fault", "unsupported", "illegal", "stopped"};

}  // namespace wavejit::ir
