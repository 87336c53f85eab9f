// Neighbouring bytes of each lane that several instructions load (pass merge-bytes). Where each lane has its bytes on
// one page, they are loaded together, as one or two dwords, and taken apart in registers. Elsewhere, and where a lane's
// offset wraps around between them, they are loaded one after the other, each for the instruction that it belongs to.
#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/vector/building_blocks.h"
#include "internal/pages.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

namespace {}  // namespace

// Behind prepare().
void MemoryAccess::joined_bytes() {
  if (served_) {
    if (slow_used_) cc_.bind(slow_label_);
    unserve();
  }
  const Label done = cc_.new_label(), one_by_one = cc_.new_label();
  if (!active_.full && !fixed_lanes()) skip_without_lanes(done);
  const unsigned n = mem_.count;
  if (kind_ == Kind::uniform && mem_.wraps) {
    kind_ = Kind::indexed;
    base_ = ctx_.gp(inst_.operands[1]);
    index_ = {ctx_.v32(inst_.operands[2], chunk_)};
    add_immediate(mem_.imm);
  }
  Vec64 address = address_;
  if (kind_ == Kind::indexed) {
    address = host_addresses(ctx_, base_, index_);
  } else if (kind_ == Kind::uniform) {
    address = host_addresses(ctx_, base_, {isa_.const32(0)});
  }
  const auto disp = static_cast<int32_t>(disp_);
  Vec low = isa_.vec();
  isa_.lo32(low, address);
  if (disp != 0) low = isa_.make(I::kIdVpaddd, low, isa_.c32(static_cast<uint32_t>(disp)));
  MaskReg apart = isa_.mask();
  isa_.cmp32(apart, ICmp::ugt, isa_.and_(low, isa_.c32(kPage - 1)), isa_.c32(kPage - n), active_.get());
  if (mem_.wraps) {
    MaskReg wrapped = isa_.mask();
    isa_.cmp32(wrapped, ICmp::ugt, index_.index, isa_.c32(UINT32_MAX - (n - 1)), active_.get());
    apart = either(ctx_, apart, wrapped);
  }
  cc_.j(isa_.test_any({&apart, 1}), one_by_one);
  const LaneAddresses at{.row = stage_addresses(address, disp, active_), .first = {}, .disp = disp};
  std::array<Vec, 2> dwords;
  if (n == 8) {
    dwords = pairs_at(at);
  } else {
    dwords[0] = singles_at(at);
  }
  for (unsigned i = 0; i < n / 4; ++i) {
    Vec dword = dwords[i];
    if (!active_.full) {
      dword = isa_.vec();
      isa_.zero_unless(dword, active_.mask, dwords[i]);
    }
    for (unsigned byte = 0; byte < 4; ++byte) {
      const Vec d = result(4 * i + byte);
      if (mem_.sign_extend) {
        cc_.emit(I::kIdVpsrad, d, byte == 3 ? dword : isa_.shl32(dword, 24 - 8 * byte), imm(24));
      } else if (byte == 3) {
        cc_.emit(I::kIdVpsrld, d, dword, imm(24));
      } else {
        isa_.mov(d, isa_.and_(byte == 0 ? dword : isa_.shr32(dword, 8 * byte), isa_.c32(0xff)));
      }
    }
  }
  cc_.bind(done);
  ctx_.cold([&] {
    cc_.bind(one_by_one);
    for (unsigned k = 0; k < n; ++k) {
      Vec64 own = address;
      if (k != 0 && mem_.wraps) {
        own = host_addresses(ctx_, base_, {isa_.make(I::kIdVpaddd, index_.index, isa_.c32(k))});
      } else if (k != 0) {
        const Vec by = isa_.const64(k);
        for (Vec& part : own.part) part = isa_.make(I::kIdVpaddq, part, by);
      }
      guest_pc_ = inst_.guest_pc + 4 * (inst_.imm >> 8 * k & 0xff);
      load_narrow_lanes(k, {.row = stage_addresses(own, disp, active_), .disp = disp}, active_);
    }
    cc_.jmp(done);
  });
}

}  // namespace wavejit::backend
