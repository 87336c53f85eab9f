// The operation table as data.
#include <array>

#include "ir/function.h"
#include "ir/signature.h"

namespace wavejit::ir {
namespace {

constexpr Effect P = Effect::pure;
constexpr Effect R = Effect::reads;
constexpr Effect W = Effect::writes;
constexpr Effect A = Effect::atomic;
constexpr Effect X = Effect::control;

// The facts of a row. What is no letter of its place, or missing, is no constant expression and does not compile.
constexpr bool one_of_two(char letter, char yes, char no) {
  if (letter != yes && letter != no) throw "not a letter of this place";
  return letter == yes;
}
constexpr FpUse environment(char letter) {
  switch (letter) {
    case '-':
      return FpUse::none;
    case 'm':
      return FpUse::mode;
    case 'r':
      return FpUse::rounding;
    case 'n':
      return FpUse::nearest;
    case 'k':
      return FpUse::nearest_mode;
    case 'd':
      return FpUse::input_denorms;
    case 'h':
      return FpUse::any_helper;
    case 'c':
      return FpUse::helper;
    case 'a':
      return FpUse::atomic;
    default:
      throw "not a letter of this place";
  }
}
constexpr OpInfo row(std::string_view name, std::string_view mnemonic, char result, std::string_view operands,
                     Effect effect, std::string_view facts, std::string_view meaning) {
  if (facts.size() != 4) throw "four letters";
  const OpInfo info{.name = name,
                    .mnemonic = mnemonic,
                    .result = result,
                    .operands = operands,
                    .effect = effect,
                    .whole_wave = one_of_two(facts[0], 'w', 'l'),
                    .lane_wise = one_of_two(facts[1], '=', 'x'),
                    .environment = environment(facts[2]),
                    .commutes = one_of_two(facts[3], 'c', '-'),
                    .meaning = meaning};
  if (info.lane_wise && effect != Effect::pure) throw "only pure operations are lane-wise";
  if (info.commutes && (operands.size() < 2 || operands[0] != operands[1])) throw "operands of different types";
  return info;
}

constexpr HelperInfo kHelpers[] = {
#define HELPER(name, result, operands, meaning) HelperInfo{#name, #result[0], operands, meaning},
#include "ir/helpers.def"
#undef HELPER
};
static_assert(std::size(kHelpers) == static_cast<size_t>(Helper::kCount));

constexpr std::string_view kCalls[] = {
#define CALL(name, meaning) #name,
#include "ir/calls.def"
#undef CALL
};
static_assert(std::size(kCalls) == static_cast<size_t>(Call::kCount));

}  // namespace

// A result letter arrives as a token; `-` has no identifier form, hence the stringification.
constinit const std::array<OpInfo, kNumOps> kOpInfos = std::to_array<OpInfo>({
#define OP(name, mnemonic, result, operands, effect, facts, meaning) \
  row(#name, mnemonic, #result[0], operands, effect, facts, meaning),
#include "ir/ops.def"
#undef OP
});

std::string_view name_of(Call call) {
  WAVEJIT_CHECK(call < Call::kCount, "call number {}", static_cast<unsigned>(call));
  return kCalls[static_cast<unsigned>(call)];
}

const HelperInfo& helper_info(Helper helper) {
  WAVEJIT_CHECK(helper < Helper::kCount, "helper number {}", static_cast<unsigned>(helper));
  return kHelpers[static_cast<unsigned>(helper)];
}

}  // namespace wavejit::ir
