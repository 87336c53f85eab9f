// Parts shared by DS, FLAT/GLOBAL/SCRATCH and buffer instructions: an address, a data shape, and what moves between
// them and the vector registers.
#pragma once

#include "frontend/lift/context.h"

namespace wavejit::lift {

struct Access {
  ir::MemAttr mem;             // space, form, imm, glc; the element fields are filled in by the functions below
  Inst* mask = nullptr;        // lanes that access memory
  std::vector<Inst*> address;  // operands of the address form
  uint32_t fp_env = 0;         // of floating-point atomics on LDS, which follow MODE
};

enum class Half : uint8_t { none, low, high };  // D16: which half of the register takes part

struct DataShape {
  uint8_t bytes = 4;
  uint8_t count = 1;
  bool sign_extend = false;
  Half half = Half::none;

  [[nodiscard]] unsigned total() const { return unsigned{bytes} * count; }
};

// What a D16 load of `value` (in the low half) writes to register `index` of `dst`.
Inst* in_half(Context& c, Inst* value, Half half, const Operand& dst, unsigned index);

// Loads into the registers of `dst` from `first` on. Lanes of EXEC that are not in access.mask get 0.
void lift_load(Context& c, Access access, DataShape shape, const Operand& dst, unsigned first = 0);
// Loaded rows, not written yet: for instructions whose accesses must all happen before the first register changes.
std::vector<Inst*> load_rows(Context& c, Access access, DataShape shape);
void write_rows(Context& c, const std::vector<Inst*>& rows, DataShape shape, const Operand& dst, unsigned first = 0);
void lift_store(Context& c, Access access, DataShape shape, const Operand& data, unsigned first = 0);

// `data` (and `compare` for cmpswap, the second operand for mskor) are v32 or v64 as `wide` says; the old value goes to
// `result` if there is one.
void lift_atomic(Context& c, Access access, ir::AtomicOp op, bool wide, Inst* data, Inst* second,
                 const Operand* result);

// Register `index` (or the pair from it on) of an operand.
Inst* data_element(Context& c, const Operand& operand, bool wide, unsigned index);

// An LDS access (of GDS instructions: of the GDS) of `bytes` bytes at addr + offset. Lanes for which it would reach
// beyond `limit` (null: as far as the instruction may) are taken out of the mask; the sum is not taken modulo 2^32
// (docs/isa-decisions.md, "LDS").
Access lds_access(Context& c, Inst* addr, uint32_t offset, unsigned bytes, Inst* limit = nullptr);
// Of instructions that move a dword of each lane between memory and LDS: M0[15:0] + offset + 4 * lane.
Access lds_transfer(Context& c);
// Stores the rows that a load with its LDS bit on has loaded.
void store_to_lds(Context& c, Inst* row);

}  // namespace wavejit::lift
