#include "backend-x86/lower/row_homes.h"

#include "backend-x86/lower/plans/row_homes.h"
#include "backend-x86/lower/rolled_segment.h"
#include "ir/matrix.h"

namespace wavejit::backend {

Mem place_of(const Lowering& ctx, const RowHome& home, unsigned chunk, unsigned part) {
  const unsigned bytes = ctx.isa->bytes(), registers = home.row_bytes / (ctx.tile * 4);
  if (home.halves)
    return home.block.cloneAdjusted(home.row * home.row_bytes + part * home.row_bytes / 2 + chunk * bytes);
  Mem m = home.block.cloneAdjusted(home.row * home.row_bytes + (chunk * registers + part) * bytes);
  if (ctx.rolled != nullptr) m.setIndex(ctx.rolled->offset, registers / 2);
  return m;
}

void load_halves(Lowering& ctx, const RowHome& home, unsigned chunk, const Vec64& to) {
  const Vec low = ctx.isa->vec(), high = ctx.isa->vec();
  ctx.isa->load(low, place_of(ctx, home, chunk, 0), nullptr);
  ctx.isa->load(high, place_of(ctx, home, chunk, 1), nullptr);
  ctx.isa->pack64(to, low, high);
}

void store_halves(Lowering& ctx, const RowHome& home, unsigned chunk, const Vec64& value) {
  const Vec half = ctx.isa->vec();
  ctx.isa->lo32(half, value);
  ctx.isa->store(place_of(ctx, home, chunk, 0), half, nullptr);
  const Vec other = ctx.isa->vec();
  ctx.isa->hi32(other, value);
  ctx.isa->store(place_of(ctx, home, chunk, 1), other, nullptr);
}

void store_home(Lowering& ctx, const Inst& inst, unsigned chunk) {
  if (!inst.type.is_vector() || ir::is_matrix_op(inst.op)) return;
  const Inst* place = ctx.classes.representative(&inst);
  const RowHome* home = row_home(ctx, place);
  if (home == nullptr) return;
  for (unsigned part = 0; part < ctx.parts(place); ++part)
    ctx.isa->store(place_of(ctx, *home, chunk, part), ctx.reg(place, 0, chunk, part).as<Vec>(), nullptr);
}

}  // namespace wavejit::backend
