#include "ir/rules.h"

namespace wavejit::ir {
namespace {

constexpr RuleInfo kRules[] = {
#define RULE(pass, name, meaning) {pass, #name, meaning},
#include "ir/passes/rules.def"
#undef RULE
};

}  // namespace

std::span<const RuleInfo> rules() {
  return kRules;
}

}  // namespace wavejit::ir
