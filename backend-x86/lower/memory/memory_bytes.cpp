// Neighbouring bytes of each lane that several instructions load (pass merge-bytes). Where each lane has its bytes on
// one page, they are loaded together, as one or two dwords, and taken apart in registers. Elsewhere, and where a lane's
// offset wraps around between them, they are loaded one after the other, each for the instruction that it belongs to.
#include "backend-x86/lower/memory/memory_bytes.h"

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_address.h"
#include "backend-x86/lower/memory/memory_lanes.h"
#include "backend-x86/lower/vector/building_blocks.h"
#include "internal/pages.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

namespace {}  // namespace

// Behind prepare().
void joined_bytes(MemoryAccess& access) {
  if (access.served) {
    if (access.slow_used) access.cc.bind(access.slow_label);
    unserve(access);
  }
  const Label done = access.cc.new_label(), one_by_one = access.cc.new_label();
  if (!access.active.full && !fixed_lanes(access)) skip_without_lanes(access, done);
  const unsigned n = access.mem.count;
  if (access.kind == AddressKind::uniform && access.mem.wraps) {
    access.kind = AddressKind::indexed;
    access.base = access.ctx.gp(access.inst.operands[1]);
    access.index = {access.ctx.v32(access.inst.operands[2], access.chunk)};
    add_immediate(access, access.mem.imm);
  }
  Vec64 address = access.address;
  if (access.kind == AddressKind::indexed) {
    address = host_addresses(access.ctx, access.base, access.index);
  } else if (access.kind == AddressKind::uniform) {
    address = host_addresses(access.ctx, access.base, {access.isa.const32(0)});
  }
  const auto disp = static_cast<int32_t>(access.disp);
  Vec low = access.isa.vec();
  access.isa.lo32(low, address);
  if (disp != 0) low = access.isa.make(I::kIdVpaddd, low, access.isa.c32(static_cast<uint32_t>(disp)));
  MaskReg apart = access.isa.mask();
  access.isa.cmp32(apart, ICmp::ugt, access.isa.and_(low, access.isa.c32(kPage - 1)), access.isa.c32(kPage - n),
                   access.active.get());
  if (access.mem.wraps) {
    MaskReg wrapped = access.isa.mask();
    access.isa.cmp32(wrapped, ICmp::ugt, access.index.index, access.isa.c32(UINT32_MAX - (n - 1)), access.active.get());
    apart = either(access.ctx, apart, wrapped);
  }
  access.cc.j(access.isa.test_any({&apart, 1}), one_by_one);
  const LanePlaces at{.row = stage_addresses(access, address, disp, access.active), .first = {}, .disp = disp};
  std::array<Vec, 2> dwords;
  if (n == 8) {
    dwords = pairs_at(access, at);
  } else {
    dwords[0] = singles_at(access, at);
  }
  for (unsigned i = 0; i < n / 4; ++i) {
    Vec dword = dwords[i];
    if (!access.active.full) {
      dword = access.isa.vec();
      access.isa.zero_unless(dword, access.active.mask, dwords[i]);
    }
    for (unsigned byte = 0; byte < 4; ++byte) {
      const Vec d = result_of(access, 4 * i + byte);
      if (access.mem.sign_extend) {
        access.cc.emit(I::kIdVpsrad, d, byte == 3 ? dword : access.isa.shl32(dword, 24 - 8 * byte), imm(24));
      } else if (byte == 3) {
        access.cc.emit(I::kIdVpsrld, d, dword, imm(24));
      } else {
        access.isa.mov(d, access.isa.and_(byte == 0 ? dword : access.isa.shr32(dword, 8 * byte), access.isa.c32(0xff)));
      }
    }
  }
  access.cc.bind(done);
  access.ctx.cold([&] {
    access.cc.bind(one_by_one);
    for (unsigned k = 0; k < n; ++k) {
      Vec64 own = address;
      if (k != 0 && access.mem.wraps) {
        own = host_addresses(access.ctx, access.base,
                             {access.isa.make(I::kIdVpaddd, access.index.index, access.isa.c32(k))});
      } else if (k != 0) {
        const Vec by = access.isa.const64(k);
        for (Vec& part : own.part) part = access.isa.make(I::kIdVpaddq, part, by);
      }
      access.guest_pc = access.inst.guest_pc + 4 * (access.inst.imm >> 8 * k & 0xff);
      load_narrow_lanes(access, k, {.row = stage_addresses(access, own, disp, access.active), .disp = disp},
                        access.active);
    }
    access.cc.jmp(done);
  });
}

}  // namespace wavejit::backend
