// Vector instructions that move data between lanes, scalar registers and VGPRs by number.
#include <bit>
#include <utility>

#include "frontend/interp/engine.h"

namespace wavejit::interp {
namespace {

const uint32_t* vector_row(Context& c, const Source& s) {
  return c.row(s.reg + (s.kind == Source::Kind::agpr ? kNumVgprs : 0));
}
bool is_vector(const Source& s) {
  return s.kind == Source::Kind::vgpr || s.kind == Source::Kind::agpr;
}

// The first active lane, lane 0 if there is none.
Step readfirstlane(Context& c, const Op& op) {
  const Source& s = op.sources[0];
  const uint64_t exec = c.wave.exec();
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
  write_scalar32_of_lane(c, op.mask_reg, is_vector(s) ? vector_row(c, s)[lane] : read_scalar32(c, s));
  return Step::next;
}

Step readlane(Context& c, const Op& op) {
  const Source& s = op.sources[0];
  const unsigned lane = read_scalar32(c, op.sources[1]) & 63;
  write_scalar32_of_lane(c, op.mask_reg, is_vector(s) ? vector_row(c, s)[lane] : read_scalar32(c, s));
  return Step::next;
}

Step writelane(Context& c, const Op& op) {
  const unsigned lane = read_scalar32(c, op.sources[1]) & 63;
  c.row(op.dst_reg)[lane] = read_scalar32(c, op.sources[0]);
  return Step::next;
}

Step swap(Context& c, const Op& op) {
  uint32_t* a = c.row(op.dst_reg);
  uint32_t* b = c.row(op.mask_reg);  // both operands are results
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    std::swap(a[l], b[l]);
  }
  return Step::next;
}

// GFX8: the VGPR number of source (s) or destination (d) is relative to M0, modulo 2^32. Out of range a source is v0, a
// destination makes the instruction do nothing (GCN3 ISA manual, "Out-of-range behavior").
template <bool source_relative, bool dst_relative>
Step movrel(Context& c, const Op& op) {
  const uint32_t m0 = c.wave.sgpr[sreg::kM0];
  const Source& s = op.sources[0];
  const uint32_t* src;
  if (is_vector(s)) {
    const uint32_t reg = s.reg + (source_relative ? m0 : 0);
    src = c.row(reg < kNumVgprs ? reg : 0);
  } else {
    c.lanes.splat(c.tmp[0], read_scalar32(c, s), 1);
    src = c.tmp[0];
  }
  const uint32_t dst = op.dst_reg + (dst_relative ? m0 : 0);
  if (dst < kNumVgprs) c.lanes.merge(c.row(dst), src, c.wave.exec(), 1);
  return Step::next;
}

// While MODE.gpr_idx_en is set.
template <Handler handler>
Step indexed(Context& c, const Op& op) {
  if ((c.wave.mode & mode::kGprIdxEn) == 0) [[likely]]
    return handler(c, op);
  Op copy = op;
  return index_registers(c, copy) ? handler(c, copy) : Step::next;
}

// Of the two registers the first is a destination to VGPR indexing, the second src0.
Step indexed_swap(Context& c, const Op& op) {
  if ((c.wave.mode & mode::kGprIdxEn) == 0) [[likely]]
    return swap(c, op);
  Op copy = op;
  const uint32_t m0 = c.wave.sgpr[sreg::kM0];
  if ((m0 >> 12 & 1) != 0) copy.mask_reg = static_cast<uint16_t>(op.mask_reg + (m0 & 0xff));
  if (copy.mask_reg >= kNumVgprs || !index_registers(c, copy)) return Step::next;
  return swap(c, copy);
}

}  // namespace

void register_cross_lane(Registry& r) {
  r.handler(Opcode::v_readfirstlane_b32, indexed<readfirstlane>);
  r.handler(Opcode::v_readlane_b32, indexed<readlane>);
  r.handler(Opcode::v_writelane_b32, indexed<writelane>);
  r.handler(Opcode::v_swap_b32, indexed_swap);
  r.handler(Opcode::v_movrels_b32, movrel<true, false>);
  r.handler(Opcode::v_movreld_b32, movrel<false, true>);
  r.handler(Opcode::v_movrelsd_b32, movrel<true, true>);
}

}  // namespace wavejit::interp
