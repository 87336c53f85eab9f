// Loads of four dwords a lane, where groups of four lanes read 64 consecutive bytes each and the groups lie anywhere: rows
// of a matrix of which every four lanes take one. Each group is loaded as it is, without a look at its single lanes.
#include "backend-x86/memory_access.h"

namespace wavejit::backend {

using ir::ICmp;
using x86::CondCode;

namespace {
constexpr unsigned kGroupLanes = 4;
constexpr unsigned kLaneBytes = 16;
}  // namespace

// In the cold path, before the lanes are taken one by one.
void MemoryAccess::load_if_in_groups() {
  const bool plain_index = kind_ == Kind::indexed && !index_.is_signed && index_.shift == 0;
  if (!e_.on(Optimisation::interleaved) || !load_ || !plain_index || scratch_swizzled_ || needs_whole_pairs() ||
      mem_.bytes != 4 || mem_.count != 4 || !isa_.can_interleave(4))
    return;
  const Label differ = cc_.newLabel();
  if (!active_.full) cc_.j(x86::negateCond(isa_.test_all({&active_.mask, 1})), differ);
  const Vec first = isa_.make(I::kIdVpshufd, index_.index, asmjit::imm(0));
  const Vec relative = isa_.make(I::kIdVpsubd, index_.index, first);
  constexpr uint8_t kConsecutive[16] = {0, 0, 0, 0, 16, 0, 0, 0, 32, 0, 0, 0, 48, 0, 0, 0};
  static_assert(kLaneBytes == 16);
  MaskReg differs = isa_.mask();
  isa_.cmp32(differs, ICmp::ne, relative, isa_.full_bytes(kConsecutive), nullptr);
  cc_.j(isa_.test_any({&differs, 1}), differ);
  // Indices are extended, and must not wrap inside of a group.
  MaskReg wraps = isa_.mask();
  isa_.cmp32(wraps, ICmp::ugt, first, isa_.const32(~uint32_t{kGroupLanes * kLaneBytes}), nullptr);
  cc_.j(isa_.test_any({&wraps, 1}), differ);

  const Operand ahead = next_group();
  std::array<Vec, 4> memory;
  const unsigned registers = kGroupLanes * kLaneBytes / isa_.bytes();  // of a group
  for (unsigned g = 0; g < isa_.lanes / kGroupLanes; ++g) {
    const Gp pointer = cc_.newUInt64();
    isa_.low32(pointer, g == 0 ? index_.index : isa_.group(index_.index, g));
    index_to_pointer(pointer);
    const auto disp = static_cast<int32_t>(disp_);
    if (ahead.isImm()) prefetch(x86::ptr(pointer, disp + ahead.as<asmjit::Imm>().valueAs<int32_t>()));
    if (ahead.isReg()) prefetch(x86::ptr(pointer, ahead.as<Gp>(), 0, disp));
    for (unsigned r = 0; r < registers; ++r) {
      const unsigned i = g * registers + r;
      memory[i] = isa_.vec();
      mark_interleaved(i);
      isa_.load(memory[i], x86::ptr(pointer, disp + static_cast<int32_t>(r * isa_.bytes())), nullptr);
    }
  }
  take_apart(memory);
  cc_.jmp(join_);
  cc_.bind(differ);
}

}  // namespace wavejit::backend
