// Loads of two or four dwords a lane, where groups of four lanes read consecutive bytes and the groups lie anywhere: rows of
// a matrix of which every four lanes take one. Each group is loaded as it is, without a look at its single lanes.
#include "backend-x86/lower/memory_access.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

namespace {
constexpr unsigned kGroupLanes = 4;
}  // namespace

// In the cold path, before the lanes are taken one by one.
void MemoryAccess::load_if_in_groups() {
  const bool plain_index = kind_ == Kind::indexed && !index_.is_signed && index_.shift == 0;
  if (!e_.on(Optimisation::interleaved) || !load_ || !plain_index || scratch_swizzled_ || needs_whole_pairs() ||
      mem_.bytes != 4 || (mem_.count != 2 && mem_.count != 4) || !isa_.can_interleave(mem_.count))
    return;
  // Flat addresses may be in an aperture, and overlapping lanes have their elements' vectors one by one.
  if (mem_.space == ir::Space::flat || lane_stride_ != 4u * mem_.count) return;
  const Label differ = cc_.new_label();
  if (!active_.full) cc_.j(x86::negateCond(isa_.test_all({&active_.mask, 1})), differ);
  const unsigned group_bytes = kGroupLanes * lane_stride_;
  const Vec first = isa_.make(I::kIdVpshufd, index_.index, imm(0));
  const Vec relative = isa_.make(I::kIdVpsubd, index_.index, first);
  uint8_t consecutive[16] = {};
  for (unsigned l = 0; l < kGroupLanes; ++l) consecutive[4 * l] = static_cast<uint8_t>(l * lane_stride_);
  MaskReg differs = isa_.mask();
  isa_.cmp32(differs, ICmp::ne, relative, isa_.full_bytes(consecutive), nullptr);
  cc_.j(isa_.test_any({&differs, 1}), differ);
  // Indices are extended, and must not wrap inside of a group.
  MaskReg wraps = isa_.mask();
  isa_.cmp32(wraps, ICmp::ugt, first, isa_.const32(~group_bytes), nullptr);
  cc_.j(isa_.test_any({&wraps, 1}), differ);

  const Operand ahead = next_group();
  std::array<Vec, 4> memory;  // as many as there are dwords a lane
  for (unsigned i = 0; i < mem_.count; ++i) memory[i] = isa_.vec();
  for (unsigned g = 0; g < isa_.lanes / kGroupLanes; ++g) {
    const Gp pointer = cc_.new_gp64();
    isa_.low32(pointer, g == 0 ? index_.index : isa_.group(index_.index, g));
    index_to_pointer(pointer);
    const auto disp = static_cast<int32_t>(disp_);
    if (ahead.isImm()) prefetch(x86::ptr(pointer, disp + ahead.as<asmjit::Imm>().valueAs<int32_t>()));
    if (ahead.isReg()) prefetch(x86::ptr(pointer, ahead.as<Gp>(), 0, disp));
    // Registers hold a part of a group, or several groups.
    for (unsigned byte = 0; byte < group_bytes; byte += isa_.bytes()) {
      const unsigned place = g * group_bytes + byte;
      const Vec& to = memory[place / isa_.bytes()];
      FaultRange part = range(true, place / lane_stride_);
      part.lanes = static_cast<uint8_t>(std::min(group_bytes, isa_.bytes()) / lane_stride_);
      part.lane_elements = static_cast<uint8_t>(mem_.count);
      e_.faults_.mark(part);
      const auto at = [&](unsigned size) { return x86::ptr(pointer, disp + static_cast<int32_t>(byte), size); };
      if (group_bytes >= isa_.bytes()) {
        isa_.load(to, at(isa_.bytes()), nullptr);
      } else if (place % isa_.bytes() == 0) {
        cc_.emit(isa_.f.load, to.ymm(), at(32));
      } else {
        cc_.emit(I::kIdVinserti64x4, to, to, at(32), imm(1));
      }
    }
  }
  take_apart(std::span(memory).first(mem_.count));
  cc_.jmp(join_);
  cc_.bind(differ);
}

}  // namespace wavejit::backend
