// What range checks leave of wide accesses that straddle the end of a buffer: rare, so lanes are looked for in the hot
// path, and served in the cold one.
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"

namespace wavejit::backend {

using ir::ICmp;

void MemoryAccess::emit_edges() {
  const unsigned operands = static_cast<unsigned>(inst_.operands.size());
  const unsigned count = load_ ? inst_.type.count : operands - 4;
  const auto clear = [&] {
    for (unsigned element = 0; load_ && element < count; ++element) isa_.set_const32(result(element), 0);
  };
  if (fixed_lanes() == 0u) return clear();
  active_ = {.full = false, .mask = ctx_.mask(inst_.operands[0], chunk_)};
  kind_ = Kind::indexed;
  first_data_ = 4;
  const Label some = cc_.new_label(), done = cc_.new_label();
  cc_.j(isa_.test_any({&active_.mask, 1}), some);
  clear();
  cc_.bind(done);
  ctx_.cold([&] {
    cc_.bind(some);
    base_ = ctx_.gp(inst_.operands[1]);
    index_ = {ctx_.v32(inst_.operands[2], chunk_)};
    const Vec limit = isa_.vec();
    isa_.splat32(limit, ctx_.gp(inst_.operands[3]).r32());
    const Vec left = isa_.make(I::kIdVpsubd, limit, index_.index);  // bytes from the offset to the limit
    MaskReg inside = isa_.mask();
    isa_.cmp32(inside, ICmp::ule, index_.index, limit, active_.get());
    for (unsigned element = 0; element < count; ++element) {
      MaskReg lanes = isa_.mask();
      isa_.cmp32(lanes, ICmp::uge, left, isa_.c32(4 * element + 4), &inside);
      slow_element(element, Kind::indexed, index_, {}, static_cast<int32_t>(4 * element),
                   {.full = false, .mask = lanes});
    }
    cc_.jmp(done);
  });
}

}  // namespace wavejit::backend
