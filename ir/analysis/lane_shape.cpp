#include "ir/analysis/lane_shape.h"

#include "ir/analysis/dominators.h"

namespace wavejit::ir {
namespace {

constexpr LaneShape kUniform{LaneShapeKind::uniform, 0};
constexpr LaneShape kUnknown{};

LaneShape affine(int64_t stride, unsigned bits) {
  if (bits == 32) stride = static_cast<int32_t>(stride);
  return stride == 0 ? kUniform : LaneShape{LaneShapeKind::affine, stride};
}

// Wrapping arithmetic on strides.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

bool is_uniform(LaneShape shape) {
  return shape.kind == LaneShapeKind::uniform;
}
bool known(LaneShape shape) {
  return shape.kind != LaneShapeKind::unknown;
}

}  // namespace

LaneShape LaneShapes::of(const Inst* inst) const {
  if (inst->type.is_scalar()) return kUniform;
  return inst->id < shapes_.size() ? shapes_[inst->id] : kUnknown;
}

// Optimistic: phis start as whatever their first evaluated operand says, and are only ever lowered to unknown.
LaneShapes::LaneShapes(const Function& function) : shapes_(function.num_values(), kUnknown) {
  const Dominators dominators(function);
  std::vector<char> evaluated(function.num_values(), 0);

  const auto transfer = [&](const Inst& inst) -> LaneShape {
    const auto shape = [&](unsigned i) { return of(inst.operands[i]); };
    const unsigned bits = inst.type.bits();
    switch (inst.op) {
      case Op::const_:
        if (inst.type == kMask && inst.imm != 0 && inst.imm != ~uint64_t{0}) return kUnknown;
        return kUniform;
      case Op::lane_id:
        return affine(1, 32);
      case Op::undef:
      case Op::splat:
      case Op::splat64:
      case Op::splat_mask:
        return kUniform;
      case Op::phi: {
        LaneShape result;
        bool first = true;
        for (const Inst* operand : inst.operands) {
          if (!operand->type.is_scalar() && !evaluated[operand->id]) continue;
          const LaneShape shape = of(operand);
          // Which predecessor comes in is the same for all lanes, so equal strides stay one stride.
          if (first) result = shape;
          if (shape != result) return kUnknown;
          first = false;
        }
        return result;
      }
      case Op::add:
        if (known(shape(0)) && known(shape(1))) return affine(wrap_add(shape(0).stride, shape(1).stride), bits);
        return kUnknown;
      case Op::sub:
        if (known(shape(0)) && known(shape(1)))
          return affine(wrap_add(shape(0).stride, wrap_mul(shape(1).stride, -1)), bits);
        return kUnknown;
      case Op::mul:
        for (unsigned i = 0; i < 2; ++i) {
          const Inst* factor = inst.operands[1 - i];
          if (factor->is_const() && known(shape(i)))
            return affine(wrap_mul(shape(i).stride, static_cast<int64_t>(factor->imm)), bits);
        }
        break;
      case Op::shl:
        if (inst.operands[1]->is_const() && known(shape(0))) {
          return affine(wrap_mul(shape(0).stride, static_cast<int64_t>(uint64_t{1} << (inst.operands[1]->imm % bits))),
                        bits);
        }
        break;
      case Op::or_:
        // Disjoint bits are added; that they are is for the known-bits analysis to say, here only the cases of lane
        // numbers.
        break;
      case Op::lo32:
        return known(shape(0)) ? affine(shape(0).stride, 32) : kUnknown;
      case Op::mbcnt:
        // With all lanes active the count below a lane is its number.
        if (inst.operands[0]->is_const(~uint64_t{0})) return affine(1, 32);
        break;
      case Op::select:
        if (inst.operands[0]->type == kI1 || is_uniform(shape(0))) return shape(1) == shape(2) ? shape(1) : kUnknown;
        return kUnknown;
      case Op::load:
      case Op::atomic:
      case Op::get_vgpr:
      case Op::get_mask:
      case Op::i64_to_mask:
      case Op::writelane:
      case Op::bpermute:
      case Op::permute:
      case Op::dpp:
      case Op::dpp_valid:
      case Op::swizzle:
        return kUnknown;
      default:
        break;
    }
    // Whatever is computed lane by lane from uniform values is uniform.
    if (!is_pure(inst.op) || inst.operands.empty()) return kUnknown;
    for (unsigned i = 0; i < inst.operands.size(); ++i) {
      if (!is_uniform(shape(i))) return kUnknown;
    }
    return kUniform;
  };

  for (bool changed = true; changed;) {
    changed = false;
    for (const Block* block : dominators.order()) {
      for (const Inst* inst : block->insts) {
        if (inst->type == kNone || inst->type.is_scalar()) continue;
        LaneShape shape = transfer(*inst);
        if (evaluated[inst->id] && shape != shapes_[inst->id]) shape = kUnknown;
        if (evaluated[inst->id] && shape == shapes_[inst->id]) continue;
        evaluated[inst->id] = 1;
        shapes_[inst->id] = shape;
        changed = true;
      }
    }
  }
}

}  // namespace wavejit::ir
