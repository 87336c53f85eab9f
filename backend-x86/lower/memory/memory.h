// Accesses to memory.
#pragma once

#include <functional>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

bool emit_memory(Lowering& ctx, const Inst& inst, unsigned chunk);
bool emit_load_scalar(Lowering& ctx, const Inst& inst);
bool emit_atomic(Lowering& ctx, const Inst& inst);
// Stores of all lanes to one address.
[[nodiscard]] bool is_store_of_wave(const Inst& inst);
bool emit_store_of_wave(Lowering& ctx, const Inst& inst);
// In front of a tile region's loop, which the pass is about to enter.
void start_walks(Lowering& ctx, const Pass& pass);

// --- for several kinds of accesses ---
Vec swizzle_scratch(Lowering& ctx, const Vec& byte, unsigned first_lane);
Vec64 host_addresses(Lowering& ctx, const Gp& base, const GatherIndex& index);
// Generic addresses -> host addresses. Removes lanes beyond the size of the LDS from `lanes`.
Vec64 resolve_flat(Lowering& ctx, const Vec64& address, unsigned access_bytes, unsigned first_lane, MaskReg& lanes);
void for_each_lane(Lowering& ctx, const MaskReg* lanes, unsigned first_lane,
                   const std::function<void(const Gp&)>& body);

}  // namespace wavejit::backend
