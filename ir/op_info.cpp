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

// A result letter arrives as a token; `-` has no identifier form, hence the stringification.
constexpr OpInfo kOps[] = {
#define OP(name, mnemonic, result, operands, effect, meaning) \
  OpInfo{#name, mnemonic, #result[0], operands, effect, meaning},
#include "ir/ops.def"
#undef OP
};
static_assert(std::size(kOps) == kNumOps);

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

const OpInfo& op_info(Op op) {
  WAVEJIT_CHECK(static_cast<unsigned>(op) < kNumOps, "operation number {}", static_cast<unsigned>(op));
  return kOps[static_cast<unsigned>(op)];
}

std::string_view name_of(Call call) {
  WAVEJIT_CHECK(call < Call::kCount, "call number {}", static_cast<unsigned>(call));
  return kCalls[static_cast<unsigned>(call)];
}

const HelperInfo& helper_info(Helper helper) {
  WAVEJIT_CHECK(helper < Helper::kCount, "helper number {}", static_cast<unsigned>(helper));
  return kHelpers[static_cast<unsigned>(helper)];
}

}  // namespace wavejit::ir
