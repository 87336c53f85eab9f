#include "backend-x86/lower/scalar_values.h"

#include <algorithm>
#include <vector>

namespace wavejit::backend {

namespace {

using Extension = ScalarValues::Extension;

// Whether the register of an i32 has zeros above it, so that its 64-bit register is the same number.
// A phi is such a number if all that it may be are. A copy between registers of 32 bits may be no instruction; the ops
// below end with an instruction of 32 bits.
bool is_zero_extended(Lowering& ctx, const Inst* value) {
  constexpr size_t kMostValues = 32;
  const auto is_written_whole = [](const Inst& inst) {
    switch (inst.op) {
      case Op::add:
      case Op::addc:
      case Op::sub:
      case Op::subb:
      case Op::bfi:
      case Op::and_:
      case Op::or_:
      case Op::xor_:
      case Op::andn:
      case Op::mul:
      case Op::not_:
      case Op::select:
      case Op::smin:
      case Op::smax:
      case Op::umin:
      case Op::umax:
      case Op::popcount:
      case Op::bfe_u:
      case Op::get_sgpr:
      case Op::get_lane:
        return true;
      case Op::shl:
      case Op::lshr:
      case Op::ashr:
        return !inst.operands[1]->is_const() || (inst.operands[1]->imm & 31) != 0;
      case Op::load_lane:
        return inst.mem.count == 1;
      default:
        return inst.is_const();
    }
  };
  if (ctx.scalars->extensions.empty()) ctx.scalars->extensions.resize(ctx.function.num_values());
  std::vector<const Inst*> seen;
  const auto all_are = [&](const auto& self, const Inst* inst) -> bool {
    Extension& known = ctx.scalars->extensions[inst->id];
    if (known == Extension::zero || known == Extension::assumed) return true;
    if (known == Extension::none || inst->type != ir::kI32 || seen.size() == kMostValues) return false;
    known = Extension::assumed;
    seen.push_back(inst);
    if (inst->op != Op::phi) return is_written_whole(*inst);
    return std::all_of(inst->operands.begin(), inst->operands.end(),
                       [&](const Inst* operand) { return self(self, operand); });
  };
  const bool all = all_are(all_are, value);
  // If one is not, only that is known of the value itself.
  for (const Inst* inst : seen) ctx.scalars->extensions[inst->id] = all ? Extension::zero : Extension::unknown;
  if (!all) ctx.scalars->extensions[value->id] = Extension::none;
  return all;
}

}  // namespace

Gp as_index(Lowering& ctx, const Inst* value) {
  if (const auto known = ctx.scalars->indices.find(value); known != ctx.scalars->indices.end()) return known->second;
  const Gp number = ctx.gp(value);
  if (is_zero_extended(ctx, value)) return number.r64();
  const Gp index = ctx.cc.new_gp64();
  ctx.cc.mov(index.r32(), number.r32());
  if (!value->is_const() && !ctx.classes.is_shared(value)) ctx.scalars->indices.emplace(value, index);
  return index;
}

}  // namespace wavejit::backend
