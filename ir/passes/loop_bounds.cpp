// Comparisons that bounds of their operands decide, those of loop counters above all: tests whether an access of a loop
// over the LDS is inside of it.
#include <optional>

#include "ir/analysis/known_bits.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace wavejit::ir::passes {
namespace {

// What the comparison comes to if the first operand is at most `maximum`.
std::optional<bool> decide(ICmp predicate, uint64_t maximum, uint64_t bound, unsigned bits) {
  if (bits < 2) return std::nullopt;
  const uint64_t half = ~uint64_t{0} >> (65 - bits);
  switch (predicate) {
    case ICmp::slt:
    case ICmp::sle:
    case ICmp::sgt:
    case ICmp::sge:
      if (maximum > half || bound > half) return std::nullopt;
      break;
    default:
      break;
  }
  switch (predicate) {
    case ICmp::eq:
      return maximum < bound ? std::optional(false) : std::nullopt;
    case ICmp::ne:
      return maximum < bound ? std::optional(true) : std::nullopt;
    case ICmp::ult:
    case ICmp::slt:
      return maximum < bound ? std::optional(true) : std::nullopt;
    case ICmp::uge:
    case ICmp::sge:
      return maximum < bound ? std::optional(false) : std::nullopt;
    case ICmp::ule:
    case ICmp::sle:
      return maximum <= bound ? std::optional(true) : std::nullopt;
    case ICmp::ugt:
    case ICmp::sgt:
      return maximum <= bound ? std::optional(false) : std::nullopt;
  }
  return std::nullopt;
}

bool is_candidate(const Inst* inst) {
  return inst->op == Op::icmp && inst->operands[1]->is_const() && !inst->operands[0]->is_const();
}

}  // namespace

PassResult loop_bounds(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  bool any = false;
  for (const auto& block : function.blocks) {
    for (const Inst* inst : block->insts) any |= is_candidate(inst);
  }
  if (!any) return {.changed = dropped};
  const KnownBits known(function, Dominators(function));
  Rewriter rewriter(function);
  const bool changed = rewriter.run([&](Inst* inst) -> Replacement {
    if (!is_candidate(inst)) return nullptr;
    const Inst* value = inst->operands[0];
    const std::optional<bool> result =
        decide(static_cast<ICmp>(inst->attr), known.of(value).maximum, inst->operands[1]->imm, value->type.bits());
    if (!result) return nullptr;
    return {Rule::compare_bounded, rewriter.constant(inst->type, *result ? ~uint64_t{0} : 0)};
  });
  if (changed) function.sweep();
  return {.changed = changed || dropped};
}

}  // namespace wavejit::ir::passes
