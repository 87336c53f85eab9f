// What range checks leave of wide accesses that straddle the end of a buffer: rare, so lanes are looked for in the hot
// path, and served in the cold one.
#include "backend-x86/lower/memory/memory_edges.h"

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_slow.h"

namespace wavejit::backend {

using ir::ICmp;

void emit_edges(MemoryAccess& access) {
  const unsigned operands = static_cast<unsigned>(access.inst.operands.size());
  const unsigned count = access.load ? access.inst.type.count : operands - 4;
  const auto clear = [&] {
    for (unsigned element = 0; access.load && element < count; ++element)
      access.isa.set_const32(result_of(access, element), 0);
  };
  if (fixed_lanes(access) == 0u) return clear();
  access.active = {.full = false, .mask = access.ctx.mask(access.inst.operands[0], access.chunk)};
  access.kind = AddressKind::indexed;
  access.first_data = 4;
  const Label some = access.cc.new_label(), done = access.cc.new_label();
  access.cc.j(access.isa.test_any({&access.active.mask, 1}), some);
  clear();
  access.cc.bind(done);
  access.ctx.cold([&] {
    access.cc.bind(some);
    access.base = access.ctx.gp(access.inst.operands[1]);
    access.index = {access.ctx.v32(access.inst.operands[2], access.chunk)};
    const Vec limit = access.isa.vec();
    access.isa.splat32(limit, access.ctx.gp(access.inst.operands[3]).r32());
    const Vec left = access.isa.make(I::kIdVpsubd, limit, access.index.index);  // bytes from the offset to the limit
    MaskReg inside = access.isa.mask();
    access.isa.cmp32(inside, ICmp::ule, access.index.index, limit, access.active.get());
    for (unsigned element = 0; element < count; ++element) {
      MaskReg lanes = access.isa.mask();
      access.isa.cmp32(lanes, ICmp::uge, left, access.isa.c32(4 * element + 4), &inside);
      slow_element(access, element, AddressKind::indexed, access.index, {}, static_cast<int32_t>(4 * element),
                   {.full = false, .mask = lanes});
    }
    access.cc.jmp(done);
  });
}

}  // namespace wavejit::backend
