// One atomic instruction. Lanes act one after the other in ascending order. On memory that other threads may see,
// each lane executes a host atomic; if all lanes share the address, one host atomic does the work of all. The LDS
// belongs to one work-group, which runs on one host thread, so its atomics are plain read-modify-writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

// A data operand: the same for all lanes, or a row in memory.
struct AtomicSource {
  std::optional<Gp> scalar;
  Mem row;
};

struct AtomicAccess {
  AtomicAccess(Lowering& lowering, const Inst& atomic);

  [[nodiscard]] unsigned address_operands() const { return mem.form == ir::AddressForm::base_offset ? 2 : 1; }
  [[nodiscard]] const Inst* data_operand(unsigned i) const { return inst.operands[1 + address_operands() + i]; }
  [[nodiscard]] const Inst* lanes() const { return inst.operands[0]; }
  [[nodiscard]] bool wants_result() const { return inst.type.kind != ir::TypeKind::none; }
  [[nodiscard]] bool in_lds() const { return mem.space == ir::Space::lds; }
  [[nodiscard]] Gp gp() const { return ctx.new_gp(wide ? 64 : 32); }

  Lowering& ctx;
  VectorIsa& isa;
  lir::Builder& cc;
  const Inst& inst;
  const ir::MemAttr& mem;
  const bool wide, two;  // 8 bytes; two data operands
  Gp base;               // added to the staged addresses where they are 32-bit offsets
  int32_t disp = 0;
  bool narrow_addresses = false;
  Gp scratch_lanes;  // 64-bit flat atomics: lanes whose address is in scratch
  Mem addresses, results;
  AtomicSource first, second;
  Mem memory;  // that the next operation is on
};

// --- operands ---
[[nodiscard]] std::vector<MaskReg> lane_masks(AtomicAccess& atomic);
// A uniform operand as a scalar. The caller must not write the register.
[[nodiscard]] Gp scalar_operand(AtomicAccess& atomic, const Inst* value);
[[nodiscard]] AtomicSource stage_operand(AtomicAccess& atomic, const Inst* value, std::optional<Mem>& slot);
[[nodiscard]] Mem cell_of(const Mem& row, const Gp& index, unsigned more, unsigned bytes);
[[nodiscard]] Gp value_of(AtomicAccess& atomic, const AtomicSource& source, const Gp& index, unsigned more);
void zero_atomic_results(AtomicAccess& atomic);
void load_results(AtomicAccess& atomic);

// --- faults ---
void mark_fault(AtomicAccess& atomic, bool misaligned = false);
// Faults unless the address, in a register or `memory`, is a multiple of `bytes`.
void check_alignment(AtomicAccess& atomic, const Gp& address, unsigned bytes);
void check_alignment(AtomicAccess& atomic);
void set_fault_lane(AtomicAccess& atomic, const Gp& lane);

// --- lanes: addresses that differ (atomics.cpp), one address for all (atomics_uniform.cpp) ---
using LaneBody = std::function<void(const Gp& index, unsigned more)>;  // lane = index + more
void each_lane(AtomicAccess& atomic);
void loop_over(AtomicAccess& atomic, const Gp& number, const LaneBody& body);
[[nodiscard]] bool is_uniform(const AtomicAccess& atomic);
void at_one_address(AtomicAccess& atomic);

// --- on `memory` ---
[[nodiscard]] bool is_compare(const AtomicAccess& atomic);  // integer minimum or maximum
[[nodiscard]] Gp plain_update(AtomicAccess& atomic, const Gp& value, const Gp& other);
[[nodiscard]] Gp locked_update(AtomicAccess& atomic, const Gp& value, const Gp& other);
[[nodiscard]] bool without_result(AtomicAccess& atomic, const Gp& value);  // false: the host has no such instruction
[[nodiscard]] Gp combine_values(AtomicAccess& atomic, const Gp& old, const Gp& value, const Gp& other);
[[nodiscard]] Vec vector_of(AtomicAccess& atomic, const Gp& g);
[[nodiscard]] Gp scalar_of(AtomicAccess& atomic, const Vec& v);

}  // namespace wavejit::backend
