// Emits one atomic instruction. Lanes act one after the other in ascending order. On memory that other threads may see,
// each lane executes a host atomic; if all lanes share the address, one host atomic does the work of all. The LDS
// belongs to one work-group, which runs on one host thread, so its atomics are plain read-modify-writes.
#pragma once

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

class AtomicAccess {
 public:
  AtomicAccess(Lowering& ctx, const ir::Inst& inst);
  void emit();

 private:
  // A data operand: the same for all lanes, or a row in memory.
  struct Source {
    std::optional<Gp> scalar;
    Mem row;
  };
  using LaneBody = std::function<void(const Gp& index, unsigned more)>;  // lane = index + more

  [[nodiscard]] unsigned address_operands() const { return mem_.form == ir::AddressForm::base_offset ? 2 : 1; }
  [[nodiscard]] const ir::Inst* data_operand(unsigned i) const { return inst_.operands[1 + address_operands() + i]; }
  [[nodiscard]] const ir::Inst* lanes() const { return inst_.operands[0]; }
  [[nodiscard]] bool wants_result() const { return inst_.type.kind != ir::TypeKind::none; }
  [[nodiscard]] bool in_lds() const { return mem_.space == ir::Space::lds; }
  [[nodiscard]] bool is_compare() const;  // integer minimum or maximum
  [[nodiscard]] Gp gp() { return ctx_.new_gp(wide_ ? 64 : 32); }
  [[nodiscard]] std::vector<MaskReg> masks();
  // A uniform operand as a scalar. The caller must not write the register.
  [[nodiscard]] Gp scalar(const ir::Inst* value);
  void mark(bool misaligned = false);
  // Faults unless the address, in a register or memory_, is a multiple of `bytes`.
  void check_alignment(const Gp& address, unsigned bytes);
  void check_alignment();
  void set_fault_lane(const Gp& lane);

  // Addresses that differ (atomics.cpp).
  void each_lane();
  [[nodiscard]] Gp stage_addresses();  // returns the active lanes; sets base_ and disp_
  [[nodiscard]] Source stage(const ir::Inst* value, std::optional<Mem>& slot);
  void private_lanes();
  void zero_results();
  void load_results();
  void one_lane(const Gp& index, unsigned more);
  void loop_over(const Gp& number, const LaneBody& body);
  void loop_over_all(const LaneBody& body);
  [[nodiscard]] Mem cell(const Mem& row, const Gp& index, unsigned more, unsigned bytes) const;
  [[nodiscard]] Gp value_of(const Source& source, const Gp& index, unsigned more);

  // All lanes share the address (atomics_uniform.cpp).
  [[nodiscard]] bool is_uniform() const;
  void uniform();
  void uniform_address(const Label& elsewhere);
  void reduce(const Gp& number);
  void count(const Gp& number);
  void in_turn(const Gp& number);
  [[nodiscard]] bool can_reduce() const;
  [[nodiscard]] Gp reduced_data(const Gp& number);
  [[nodiscard]] Vec fold(const Vec& a, const Vec& b);

  // On memory_.
  [[nodiscard]] Gp plain(const Gp& value, const Gp& other);
  [[nodiscard]] Gp locked(const Gp& value, const Gp& other);
  [[nodiscard]] bool without_result(const Gp& value);  // false: the host has no such instruction
  [[nodiscard]] Gp combine(const Gp& old, const Gp& value, const Gp& other);
  [[nodiscard]] Vec vector_of(const Gp& g);
  [[nodiscard]] Gp scalar_of(const Vec& v);

  Lowering& ctx_;
  VectorIsa& isa_;
  lir::Builder& cc_;
  const ir::Inst& inst_;
  const ir::MemAttr& mem_;
  const bool wide_, two_;  // 8 bytes; two data operands
  Gp base_;                // added to the staged addresses where they are 32-bit offsets
  int32_t disp_ = 0;
  bool narrow_addresses_ = false;
  Gp private_;  // 64-bit flat atomics: lanes whose address is in scratch
  Mem addresses_, results_;
  Source first_, second_;
  Mem memory_;
};

}  // namespace wavejit::backend
