// Walks: lanes that each read their own memory sequentially, one dword per iteration of a loop, as in the rows of a
// sparse matrix. The next dword of a lane is mostly in the line that it has just read from. So each lane's next sixteen
// dwords are loaded at once and transposed into rows on the stack. Each iteration then reads one row: one vector load
// instead of a gather.
//
// The code may access only pages that the guest accesses. The guest reads a lane's first dword in this iteration, so
// the lane's block ends with the page of that dword. Data are read earlier than the guest reads them, as a GPU's cache
// line does. Therefore only loads that are not coherent (glc) are served like this, in loops without stores, atomics
// and fences.
#include "backend-x86/lower/memory/walks.h"

#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/memory_lanes.h"
#include "backend-x86/lower/memory/memory_slow.h"
#include "backend-x86/lower/plans/walks.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/building_blocks.h"
#include "internal/pages.h"

namespace wavejit::backend {

using ir::ICmp;

namespace {

constexpr unsigned kSteps = 16;  // that are loaded at once
constexpr unsigned kLineBytes = kSteps * 4;

}  // namespace

// No row is there yet.
void start_walks(Lowering& ctx, const Pass& pass) {
  for (const auto& [id, block] : ctx.walks->loads) {
    if (!pass.region->contains(block)) continue;
    WalkRows& walk = ctx.rows->walks[id];
    // The rows of a shorter part end where those of a whole one do; as many are written in any case.
    while (walk.rows.size() < pass.end - pass.begin)
      walk.rows.push_back(ctx.stack_row((2 * kSteps - 1) * ctx.isa->bytes()));
    walk.cursors.clear();
    for (unsigned chunk = pass.begin; chunk < pass.end; ++chunk) {
      const Gp cursor = ctx.cc.new_gp64();
      ctx.cc.xor_(cursor.r32(), cursor.r32());
      walk.cursors.push_back(cursor);
    }
  }
}

namespace {

// A line from `from`, which is the first access to it, to the stack.
void copy_line(MemoryAccess& access, const Mem& to, const Mem& from) {
  const unsigned step = access.isa.bytes();
  for (unsigned byte = 0; byte < kLineBytes; byte += step) {
    const Vec part = access.isa.vec();
    const auto sized = [&](const Mem& m) {
      Mem at = m.cloneAdjusted(byte);
      at.setSize(step);
      return at;
    };
    access.cc.emit(access.isa.f.load, part, sized(from));
    access.cc.emit(access.isa.f.store, sized(to), part);
  }
}

// `row` is where the first step of all lanes goes, the others follow; rows behind those that were loaded do no harm.
void transpose_lines(MemoryAccess& access, const Mem& lines, const Mem& row) {
  for (unsigned four = 0; four < kSteps / 4; ++four) {
    // Group g of the i-th has four steps of lane 4g + i.
    Vec lanes[4];
    for (unsigned i = 0; i < 4; ++i) {
      lanes[i] = access.isa.vec();
      for (unsigned g = 0; g < access.isa.lanes / 4; ++g) {
        Mem at = lines.cloneAdjusted((4 * g + i) * kLineBytes + four * 16);
        at.setSize(16);
        if (g == 0) {
          access.cc.emit(I::kIdVmovdqu, lanes[i].xmm(), at);
        } else {
          access.isa.insert_group(lanes[i], at, g);
        }
      }
    }
    const Vec low01 = access.isa.make(I::kIdVpunpckldq, lanes[0], lanes[1]),
              high01 = access.isa.make(I::kIdVpunpckhdq, lanes[0], lanes[1]);
    const Vec low23 = access.isa.make(I::kIdVpunpckldq, lanes[2], lanes[3]),
              high23 = access.isa.make(I::kIdVpunpckhdq, lanes[2], lanes[3]);
    const Vec steps[4] = {
        access.isa.make(I::kIdVpunpcklqdq, low01, low23), access.isa.make(I::kIdVpunpckhqdq, low01, low23),
        access.isa.make(I::kIdVpunpcklqdq, high01, high23), access.isa.make(I::kIdVpunpckhqdq, high01, high23)};
    for (unsigned i = 0; i < 4; ++i)
      access.isa.store(row.cloneAdjusted((4 * four + i) * int64_t{access.isa.bytes()}), steps[i], nullptr);
  }
}

// Lanes one by one, each to the end of its line or of its page; as many steps as the shortest part has.
void load_to_page_ends(MemoryAccess& access, const Mem& lines, const Mem& addresses, const Gp& cursor) {
  const Gp steps = access.cc.new_gp64(), first = access.ctx.address_of(lines),
           source = access.ctx.address_of(addresses);
  access.cc.mov(steps, kSteps);
  for_each_lane(access.ctx, access.active.get(), access.first_lane(), [&](const Gp& lane) {
    const Gp pointer = access.cc.new_gp64(), own = access.cc.new_gp64(), left = access.cc.new_gp64(),
             line = access.cc.new_gp64(), word = access.cc.new_gp64();
    const Label whole = access.cc.new_label(), word_by_word = access.cc.new_label(), done = access.cc.new_label();
    const FaultRange fault{.guest_pc = access.inst.guest_pc,
                           .first_lane = static_cast<uint8_t>(access.first_lane()),
                           .lanes = static_cast<uint8_t>(access.isa.lanes),
                           .element_bytes = 4,
                           .lane_in_state = true};
    access.cc.mov(pointer, x86::ptr(source, lane, 3));
    access.cc.mov(line, lane);
    access.cc.shl(line, 6);
    static_assert(kLineBytes == 1 << 6);
    access.cc.add(line, first);
    access.cc.mov(left.r32(), pointer.r32());
    access.cc.and_(left.r32(), kPage - 1);
    access.cc.neg(left.r32());
    access.cc.add(left.r32(), kPage);
    access.cc.shr(left.r32(), 2);
    access.cc.cmp(left.r32(), kSteps);
    access.cc.jae(whole);
    access.cc.cmp(steps, left);
    access.cc.cmova(steps, left);
    access.cc.xor_(own.r32(), own.r32());
    access.cc.test(left, left);
    access.cc.jz(done);
    access.cc.bind(word_by_word);
    access.ctx.faults.mark(fault);
    access.cc.mov(word.r32(), x86::dword_ptr(pointer, own, 2));
    access.cc.mov(x86::dword_ptr(line, own, 2), word.r32());
    access.cc.add(own, 1);
    access.cc.cmp(own, left);
    access.cc.jb(word_by_word);
    access.cc.jmp(done);
    access.cc.bind(whole);
    access.ctx.faults.mark(fault);
    copy_line(access, x86::ptr(line), x86::ptr(pointer));
    access.cc.bind(done);
  });
  access.cc.mov(cursor, steps);
  access.cc.shl(cursor, access.isa.lanes == 16 ? 6 : 5);
  access.cc.neg(cursor);
}

}  // namespace

void serve_by_walk(MemoryAccess& access, const Mem& rows, const Gp& cursor) {
  const auto row_bytes = static_cast<int32_t>(access.isa.bytes());
  const Label refill = access.cc.new_label(), refilled = access.cc.new_label();
  Mem row = rows.cloneAdjusted(int64_t{kSteps} * row_bytes);
  row.setIndex(cursor);
  access.cc.test(cursor, cursor);
  access.cc.jz(refill);
  access.cc.bind(refilled);
  access.isa.load(result_of(access, 0), row, access.active.get());
  access.cc.add(cursor, row_bytes);
  access.cc.bind(access.join);
  access.ctx.cold([&] {
    const Label near_the_end = access.cc.new_label(), loaded = access.cc.new_label(), gather = access.cc.new_label();
    access.cc.bind(refill);
    const Mem lines = access.ctx.scratch_row(access.ctx.rows->walk_lines, access.isa.lanes * kLineBytes);
    Vec64 address = access.address;
    if (access.disp != 0)
      for (Vec& part : address.part)
        part = access.isa.make(I::kIdVpaddq, part, access.isa.c64(static_cast<uint64_t>(access.disp)));
    Mask64 crossing;
    for (unsigned i = 0; i < 2; ++i) {
      const Vec in_page = access.isa.and_(address.part[i], access.isa.const64(kPage - 1));
      crossing.part[i] = access.isa.cmp64_half(ICmp::sgt, in_page, access.isa.const64(kPage - kLineBytes));
    }
    MaskReg any = access.isa.mask();
    access.isa.join(any, crossing);
    if (!access.active.full) any = both(access.ctx, any, access.active.mask);
    const Mem addresses = stage_addresses(access, address, 0, access.active);
    access.cc.j(access.isa.test_any({&any, 1}), near_the_end);
    // In the order of the lanes, so that the first one that faults is the first one accessed.
    for (unsigned lane = 0; lane < access.isa.lanes; ++lane)
      copy_line(access, lines.cloneAdjusted(lane * kLineBytes),
                lane_at(access, {.row = addresses, .first = {}}, lane, 16));
    access.cc.mov(cursor, -static_cast<int32_t>(kSteps) * row_bytes);
    access.cc.bind(loaded);
    transpose_lines(access, lines, row);
    access.cc.jmp(refilled);
    access.cc.bind(near_the_end);
    load_to_page_ends(access, lines, addresses, cursor);
    // An address that is no multiple of four has not even one dword in the page.
    access.cc.test(cursor, cursor);
    access.cc.jnz(loaded);
    access.cc.bind(gather);
    slow_path(access);
    access.cc.jmp(access.join);
  });
}

}  // namespace wavejit::backend
