// Walks: lanes that each read their own memory sequentially, one dword per iteration of a loop, as in the rows of a
// sparse matrix. The next dword of a lane is mostly in the line that it has just read from. So each lane's next sixteen
// dwords are loaded at once and transposed into rows on the stack. Each iteration then reads one row: one vector load
// instead of a gather.
//
// The code may access only pages that the guest accesses. The guest reads a lane's first dword in this iteration, so
// the lane's block ends with the page of that dword. Data are read earlier than the guest reads them, as a GPU's cache
// line does. Therefore only loads that are not coherent (glc) are served like this, in loops without stores, atomics
// and fences.
#include "backend-x86/lower/plans/walks.h"

#include <algorithm>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/memory/memory_access.h"
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

// The cursor is the negative distance from the row that is next to the end of those that are valid; 0 when there is
// none left.
void MemoryAccess::walk(const Mem& rows, const Gp& cursor) {
  const auto row_bytes = static_cast<int32_t>(isa_.bytes());
  const Label refill = cc_.new_label(), refilled = cc_.new_label();
  Mem row = rows.cloneAdjusted(int64_t{kSteps} * row_bytes);
  row.setIndex(cursor);
  cc_.test(cursor, cursor);
  cc_.jz(refill);
  cc_.bind(refilled);
  isa_.load(result(0), row, active_.get());
  cc_.add(cursor, row_bytes);
  cc_.bind(join_);
  ctx_.cold([&] {
    const Label near_the_end = cc_.new_label(), loaded = cc_.new_label(), gather = cc_.new_label();
    cc_.bind(refill);
    const Mem lines = ctx_.scratch_row(ctx_.rows->walk_lines, isa_.lanes * kLineBytes);
    Vec64 address = address_;
    if (disp_ != 0)
      for (Vec& part : address.part) part = isa_.make(I::kIdVpaddq, part, isa_.c64(static_cast<uint64_t>(disp_)));
    Mask64 crossing;
    for (unsigned i = 0; i < 2; ++i) {
      const Vec in_page = isa_.and_(address.part[i], isa_.const64(kPage - 1));
      crossing.part[i] = isa_.cmp64_half(ICmp::sgt, in_page, isa_.const64(kPage - kLineBytes));
    }
    MaskReg any = isa_.mask();
    isa_.join(any, crossing);
    if (!active_.full) any = both(ctx_, any, active_.mask);
    const Mem addresses = stage_addresses(address, 0, active_);
    cc_.j(isa_.test_any({&any, 1}), near_the_end);
    // In the order of the lanes, so that the first one that faults is the first one accessed.
    for (unsigned lane = 0; lane < isa_.lanes; ++lane)
      copy_line(lines.cloneAdjusted(lane * kLineBytes), lane_at({.row = addresses, .first = {}}, lane, 16));
    cc_.mov(cursor, -static_cast<int32_t>(kSteps) * row_bytes);
    cc_.bind(loaded);
    transpose_lines(lines, row);
    cc_.jmp(refilled);
    cc_.bind(near_the_end);
    load_to_page_ends(lines, addresses, cursor);
    // An address that is no multiple of four has not even one dword in the page.
    cc_.test(cursor, cursor);
    cc_.jnz(loaded);
    cc_.bind(gather);
    slow();
    cc_.jmp(join_);
  });
}

// A line from `from`, which is the first access to it, to the stack.
void MemoryAccess::copy_line(const Mem& to, const Mem& from) {
  const unsigned step = isa_.bytes();
  for (unsigned byte = 0; byte < kLineBytes; byte += step) {
    const Vec part = isa_.vec();
    const auto sized = [&](const Mem& m) {
      Mem at = m.cloneAdjusted(byte);
      at.setSize(step);
      return at;
    };
    cc_.emit(isa_.f.load, part, sized(from));
    cc_.emit(isa_.f.store, sized(to), part);
  }
}

// Lanes one by one, each to the end of its line or of its page; as many steps as the shortest part has.
void MemoryAccess::load_to_page_ends(const Mem& lines, const Mem& addresses, const Gp& cursor) {
  const Gp steps = cc_.new_gp64(), first = ctx_.address_of(lines), source = ctx_.address_of(addresses);
  cc_.mov(steps, kSteps);
  for_each_lane(ctx_, active_.get(), first_lane(), [&](const Gp& lane) {
    const Gp pointer = cc_.new_gp64(), own = cc_.new_gp64(), left = cc_.new_gp64(), line = cc_.new_gp64(),
             word = cc_.new_gp64();
    const Label whole = cc_.new_label(), word_by_word = cc_.new_label(), done = cc_.new_label();
    const FaultRange access{.guest_pc = inst_.guest_pc,
                            .first_lane = static_cast<uint8_t>(first_lane()),
                            .lanes = static_cast<uint8_t>(isa_.lanes),
                            .element_bytes = 4,
                            .lane_in_state = true};
    cc_.mov(pointer, x86::ptr(source, lane, 3));
    cc_.mov(line, lane);
    cc_.shl(line, 6);
    static_assert(kLineBytes == 1 << 6);
    cc_.add(line, first);
    cc_.mov(left.r32(), pointer.r32());
    cc_.and_(left.r32(), kPage - 1);
    cc_.neg(left.r32());
    cc_.add(left.r32(), kPage);
    cc_.shr(left.r32(), 2);
    cc_.cmp(left.r32(), kSteps);
    cc_.jae(whole);
    cc_.cmp(steps, left);
    cc_.cmova(steps, left);
    cc_.xor_(own.r32(), own.r32());
    cc_.test(left, left);
    cc_.jz(done);
    cc_.bind(word_by_word);
    ctx_.faults.mark(access);
    cc_.mov(word.r32(), x86::dword_ptr(pointer, own, 2));
    cc_.mov(x86::dword_ptr(line, own, 2), word.r32());
    cc_.add(own, 1);
    cc_.cmp(own, left);
    cc_.jb(word_by_word);
    cc_.jmp(done);
    cc_.bind(whole);
    ctx_.faults.mark(access);
    copy_line(x86::ptr(line), x86::ptr(pointer));
    cc_.bind(done);
  });
  cc_.mov(cursor, steps);
  cc_.shl(cursor, isa_.lanes == 16 ? 6 : 5);
  cc_.neg(cursor);
}

// `row` is where the first step of all lanes goes, the others follow; rows behind those that were loaded do no harm.
void MemoryAccess::transpose_lines(const Mem& lines, const Mem& row) {
  for (unsigned four = 0; four < kSteps / 4; ++four) {
    // Group g of the i-th has four steps of lane 4g + i.
    Vec lanes[4];
    for (unsigned i = 0; i < 4; ++i) {
      lanes[i] = isa_.vec();
      for (unsigned g = 0; g < isa_.lanes / 4; ++g) {
        Mem at = lines.cloneAdjusted((4 * g + i) * kLineBytes + four * 16);
        at.setSize(16);
        if (g == 0) {
          cc_.emit(I::kIdVmovdqu, lanes[i].xmm(), at);
        } else {
          isa_.insert_group(lanes[i], at, g);
        }
      }
    }
    const Vec low01 = isa_.make(I::kIdVpunpckldq, lanes[0], lanes[1]),
              high01 = isa_.make(I::kIdVpunpckhdq, lanes[0], lanes[1]);
    const Vec low23 = isa_.make(I::kIdVpunpckldq, lanes[2], lanes[3]),
              high23 = isa_.make(I::kIdVpunpckhdq, lanes[2], lanes[3]);
    const Vec steps[4] = {isa_.make(I::kIdVpunpcklqdq, low01, low23), isa_.make(I::kIdVpunpckhqdq, low01, low23),
                          isa_.make(I::kIdVpunpcklqdq, high01, high23), isa_.make(I::kIdVpunpckhqdq, high01, high23)};
    for (unsigned i = 0; i < 4; ++i)
      isa_.store(row.cloneAdjusted((4 * four + i) * int64_t{isa_.bytes()}), steps[i], nullptr);
  }
}

}  // namespace wavejit::backend
