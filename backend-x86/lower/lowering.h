// The context in which one IR function is lowered to LIR, for either tier.
//
// Code model: a vector value has one register per chunk (two for 64-bit lanes), a mask one mask register per chunk, and
// a scalar one general register. Within a block, instructions in which no lane sees another form segments (segment.h),
// which are emitted chunk by chunk, so that intermediate values die within a chunk. All other instructions are emitted
// between segments, for all chunks at once.
//
// Plans (plans/) are made by lower() before the first instruction and do not change afterwards. What changes while code is
// emitted has types of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "backend-x86/lower/host_code.h"
#include "backend-x86/lower/plans/fusions.h"
#include "backend-x86/lower/plans/indexed_addresses.h"
#include "backend-x86/lower/plans/lane_addresses.h"
#include "backend-x86/lower/plans/phi_classes.h"
#include "backend-x86/lower/plans/tile_regions.h"
#include "backend-x86/lower/values.h"
#include "backend-x86/lower/vector/vector_isa.h"
#include "internal/semantics/rounding.h"
#include "ir/analysis/lane_shape.h"
#include "ir/analysis/lane_table.h"
#include "ir/function.h"

namespace wavejit::backend {

using ir::Inst;
using ir::Op;

struct Lowering {
  // tile: lanes that the function handles at once.
  Lowering(const ir::Function& function, lir::Builder& cc, const CompileOptions& options, unsigned tile = kWaveSize);
  ~Lowering();

  [[nodiscard]] bool on(Optimisation o) const { return options.optimisations.has(o); }
  void fail(const Inst& inst, const std::string& why = {});  // the operation is not supported; the first one ends it
  void annotate(const Inst& inst);                           // in listings: the code that follows is the instruction's
  void cold(const std::function<void()>& body);  // its code goes to the cold section at the end of the function

  // --- facts about values ---
  [[nodiscard]] bool is_fused(const Inst* inst) const { return fusions.has(inst); }
  [[nodiscard]] bool is_narrow(const Inst* inst) const { return !narrow.empty() && narrow[inst->id]; }
  [[nodiscard]] bool is_uniform(const Inst* inst) const { return shapes.of(inst).is_uniform(); }
  [[nodiscard]] bool is_invariant(const Inst* inst) const;  // one register serves all chunks
  [[nodiscard]] bool is_left_out(const Inst& inst) const;   // has no code at its own place

  // --- registers of values (values.cpp); all chunks are those of the current pass ---
  [[nodiscard]] unsigned first_chunk() const { return pass ? pass->begin : 0; }
  [[nodiscard]] unsigned end_chunk() const { return pass ? pass->end : chunks; }
  // Number of registers for one element of a chunk.
  [[nodiscard]] unsigned parts(const Inst* inst) const {
    return inst->type.kind == ir::TypeKind::v64 && !lane_addresses.is_scalar(inst) ? 2 : 1;
  }
  [[nodiscard]] Place resolve(const Inst* inst) const;
  x86::Reg reg(const Inst* inst, unsigned element, unsigned chunk, unsigned part);
  Vec v32(const Inst* inst, unsigned chunk);              // constants are materialised
  Operand v32_operand(const Inst* inst, unsigned chunk);  // constants as broadcast memory operands (32-bit elements)
  Operand v32_full(const Inst* inst, unsigned chunk);     // constants as full vectors in memory
  Vec64 v64(const Inst* inst, unsigned chunk);
  Operand v64_operand(const Inst* inst, unsigned chunk, unsigned part);
  MaskReg mask(const Inst* inst, unsigned chunk);
  const MaskReg* mask_or_full(const Inst* inst, unsigned chunk, MaskReg& holder);  // null if known to be full
  Gp gp(const Inst* inst);               // constants are materialised; the caller must not write it
  Operand gp_operand(const Inst* inst);  // immediate when it fits 32 bits sign-extended
  Gp new_gp(unsigned bits) { return bits == 64 ? Gp(cc.new_gp64()) : Gp(cc.new_gp32()); }
  // Destinations. take_over() gives the result the registers of an operand that is dead afterwards.
  void take_over(const Inst& inst, const Inst* operand, unsigned chunk);
  Vec dst(const Inst& inst, unsigned chunk, unsigned element = 0);
  Vec64 dst64(const Inst& inst, unsigned chunk);
  Vec64 alike64(const Inst& inst, unsigned chunk);  // of a value that all lanes of the chunk share
  WantedParts wanted_parts(const Inst& inst, unsigned chunk);
  MaskReg dst_mask(const Inst& inst, unsigned chunk);
  Gp dst_gp(const Inst& inst, unsigned element = 0);

  // --- memory of the wave and of the frame ---
  [[nodiscard]] Mem wave_field(size_t offset, uint32_t size) const {
    return x86::ptr(wave, static_cast<int32_t>(offset), size);
  }
  [[nodiscard]] Mem row(unsigned vgpr, unsigned chunk) const;  // of the wave state
  Mem stack_row(unsigned bytes);                               // a new stack slot, 64-byte aligned
  Mem scratch_row(std::optional<Mem>& slot, unsigned bytes) {
    if (!slot) slot = stack_row(bytes);
    return *slot;
  }
  Gp address_of(const Mem& slot);

  // --- function and code ---
  const ir::Function& function;
  lir::Builder& cc;
  const CompileOptions& options;
  const unsigned tile;
  DataPool pool;
  FaultLog faults;
  const std::unique_ptr<VectorIsa> isa;
  const unsigned chunks;
  std::optional<Error> error;
  const Inst* annotated = nullptr;  // the last one, for listings
  Gp wave, entry_index;
  std::vector<Label> labels;                                                        // by block id
  uint32_t env = rounding::kNeutralMxcsr, canonical_env = rounding::kNeutralMxcsr;  // MXCSR: now, and between blocks

  // --- analyses ---
  const ir::LaneShapes shapes;
  ir::LaneTables lane_tables;
  const LaneAddresses lane_addresses;
  const Liveness liveness;
  const TileRegions regions;
  const PhiClasses classes;
  const IndexedAddresses indexed_addresses;
  std::unordered_set<const ir::Block*> blocks_of_loops;
  std::vector<bool> narrow;  // find_narrow_values(); empty: none

  // --- plans ---
  Fusions fusions;
  std::vector<bool> invariant;  // plan_invariance(), by instruction id
  std::unique_ptr<const struct Divisions> divisions;
  std::unique_ptr<const struct TernaryLogic> ternaries;
  std::unique_ptr<const struct WideAccesses> wide;
  std::unique_ptr<const struct Walks> walks;
  std::unique_ptr<const struct Prefetches> prefetches;
  std::unique_ptr<const struct IdleHalves> idle;
  std::unique_ptr<const struct RowHomes> homes;
  const Inst* streaming_store = nullptr;  // may bypass the caches

  // --- what changes while code is emitted ---
  std::vector<Storage> values;      // by instruction id
  Pass* pass = nullptr;             // the pass being emitted
  struct Rolled* rolled = nullptr;  // the loop over chunks being emitted
  const std::unique_ptr<struct Segment> segment;
  const std::unique_ptr<struct SegmentValues> reused;
  const std::unique_ptr<struct SharedHalves> halves;
  const std::unique_ptr<struct StackRows> rows;
  const std::unique_ptr<struct ScalarValues> scalars;
  const std::unique_ptr<struct MatrixRows> matrix_rows;
  const std::unique_ptr<struct MatrixAccumulators> accumulators;
};

}  // namespace wavejit::backend
