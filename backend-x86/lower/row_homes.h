// Access to values that live in memory (plans/row_homes.h).
#pragma once

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/row_homes.h"

namespace wavejit::backend {

[[nodiscard]] inline const RowHome* row_home(const Lowering& ctx, const Inst* representative) {
  return ctx.homes->of(representative);
}
// The part of a row that a register of the chunk holds; in a loop over chunks, of the current one.
[[nodiscard]] Mem place_of(const Lowering& ctx, const RowHome& home, unsigned chunk, unsigned part);
void load_halves(Lowering& ctx, const RowHome& home, unsigned chunk, const Vec64& to);
void store_halves(Lowering& ctx, const RowHome& home, unsigned chunk, const Vec64& value);
// Emitted after an instruction whose result lives in memory.
void store_home(Lowering& ctx, const Inst& inst, unsigned chunk);

}  // namespace wavejit::backend
