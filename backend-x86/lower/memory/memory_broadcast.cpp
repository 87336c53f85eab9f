#include "backend-x86/lower/memory/memory_broadcast.h"

#include <vector>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_address.h"

namespace wavejit::backend {

using ir::ICmp;
using ir::Space;

namespace {

// Two dwords for all lanes, in one access to memory.
void broadcast_pair(MemoryAccess& access, unsigned element, Mem at, const FaultRange& range) {
  const Gp pair = access.cc.new_gp64();
  at.setSize(8);
  access.ctx.faults.mark(range);
  access.cc.mov(pair, at);
  for (unsigned i = 0; i < 2; ++i) {
    const Vec all = access.isa.vec();
    access.isa.splat32(all, pair.r32());
    set_loaded(access, element + i, all, access.active);
    if (i == 0) access.cc.shr(pair, 32);
  }
}

}  // namespace

void uniform_load(MemoryAccess& access) {
  const auto at = [&](unsigned element) {
    return x86::ptr(access.base, static_cast<int32_t>(access.disp + element * access.element_stride));
  };
  if (access.mem.space == Space::flat) check_aperture(access, access.base);
  FaultRange whole = fault_range(access, false);
  whole.lanes = 1;
  whole.lane_in_state = false;
  const bool narrow = access.mem.bytes < 4;
  if (!access.active.full && !fixed_lanes(access) &&
      (narrow || access.needs_whole_pairs() || !access.isa.has_masked_narrow()))
    to_slow_if(access, x86::negateCond(access.isa.test_any({&access.active.mask, 1})));
  if (access.wide.any() && access.active.full) {
    for (unsigned pair = 0; pair < access.mem.count / 2; ++pair) {
      // In the cold path lanes may have addresses, or scratch, of their own.
      const Vec64 value = access.slow_used ? access.ctx.dst64(*access.wide.pairs[pair], access.chunk)
                                           : access.ctx.alike64(*access.wide.pairs[pair], access.chunk);
      for (unsigned part = 0; part < (value.part[0] == value.part[1] ? 1U : 2U); ++part) {
        access.ctx.faults.mark(whole);
        access.isa.load_broadcast64(value.part[part], at(2 * pair));
      }
    }
    return;
  }
  for (unsigned element = 0; element < access.mem.count; ++element) {
    if (element + 1 < access.mem.count && access.needs_whole_pairs()) {
      broadcast_pair(access, element, at(element), whole);
      ++element;
    } else if (narrow) {
      Gp t = access.cc.new_gp32();
      Mem m = at(element);
      m.setSize(access.mem.bytes);
      access.ctx.faults.mark(whole);
      if (access.mem.sign_extend) {
        access.cc.movsx(t, m);
      } else {
        access.cc.movzx(t, m);
      }
      Vec all = access.isa.vec();
      access.isa.splat32(all, t);
      if (access.active.full) {
        access.isa.mov(result_of(access, element), all);
      } else {
        access.isa.zero_unless(result_of(access, element), access.active.mask, all);
      }
    } else {
      access.ctx.faults.mark(whole);
      access.isa.load_broadcast(result_of(access, element), at(element), access.active.get());
    }
  }
  finish_wide(access);
}

void load_if_equal(MemoryAccess& access) {
  const Label differ = access.cc.new_label();
  if (!access.active.full && !fixed_lanes(access)) {
    // Broadcasts that are not masked need an active lane; for the others see skip_without_lanes().
    access.cc.j(x86::negateCond(access.isa.test_any({&access.active.mask, 1})), differ);
  }
  Gp pointer = access.cc.new_gp64();
  MaskReg differs = access.isa.mask();
  Vec first = access.isa.vec();
  if (access.kind == AddressKind::indexed) {
    access.cc.emit(I::kIdVpbroadcastd, first, access.index.index.xmm());
    access.isa.cmp32(differs, ICmp::ne, access.index.index, first, access.active.get());
    access.isa.low32(pointer, access.index.index);
  } else {
    access.cc.emit(I::kIdVpbroadcastq, first, access.address.part[0].xmm());
    access.isa.cmp64(differs, ICmp::ne, access.address, {first, first}, access.active.get());
    access.isa.low64(pointer, access.address.part[0]);
  }
  access.cc.j(access.isa.test_any({&differs, 1}), differ);
  if (access.kind == AddressKind::indexed) index_to_pointer(access, pointer);
  FaultRange whole = fault_range(access, false);
  whole.lanes = 1;
  for (unsigned element = 0; element < access.mem.count; ++element) {
    access.ctx.faults.mark(whole);
    access.isa.load_broadcast(result_of(access, element),
                              x86::ptr(pointer, static_cast<int32_t>(access.disp + element * access.element_stride)),
                              access.active.get());
  }
  finish_wide(access);
  access.cc.jmp(access.join);
  access.cc.bind(differ);
}

}  // namespace wavejit::backend
