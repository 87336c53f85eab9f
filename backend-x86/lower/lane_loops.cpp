// Loops executed for one lane after the other (ir/passes/lane_copier.h): rows of the frame, accesses of one lane to memory,
// and which way a loop is executed.
#include "backend-x86/lower/lane_loops.h"

#include <bit>

#include "backend-x86/helpers/flat_lanes.h"
#include "backend-x86/helpers/lane_stream_stubs.h"
#include "backend-x86/helpers/lane_way_stubs.h"
#include "backend-x86/lower/scalar_values.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/building_blocks.h"
#include "internal/lane_streams.h"
#include "internal/lane_way.h"

namespace wavejit::backend {

using x86::CondCode;

namespace {

Mem frame_row(Lowering& ctx, uint64_t number, bool wide) {
  const auto [it, inserted] = ctx.rows->frame.try_emplace(number);
  if (inserted) it->second = ctx.stack_row(ctx.tile * (wide ? 8 : 4));
  return it->second;
}

// The element of a lane.
Mem element_of_row(Lowering& ctx, const Inst& inst, bool wide) {
  Mem place = frame_row(ctx, inst.imm, wide);
  if (inst.operands[0]->is_const()) {
    place.addOffset(static_cast<int64_t>(inst.operands[0]->imm * (wide ? 8 : 4)));
    place.setSize(wide ? 8 : 4);
    return place;
  }
  place.setIndex(as_index(ctx, inst.operands[0]), wide ? 3 : 2);
  place.setSize(wide ? 8 : 4);
  return place;
}

// The displacements of all elements fit 32 bits.
Mem address_of_lane(Lowering& ctx, const Inst& access) {
  const Inst* address = access.operands[1];
  Mem where;
  if (ctx.is_fused(address)) {
    const Inst *base = address->operands[0], *index = address->operands[1];
    if (ctx.is_fused(base)) std::swap(base, index);
    unsigned shift = 0;
    if (ctx.is_fused(index) && index->op == Op::shl) {
      shift = static_cast<unsigned>(index->operands[1]->imm);
      index = index->operands[0];
    }
    const Gp number = ctx.is_fused(index) ? as_index(ctx, index->operands[0]) : ctx.gp(index);
    where = x86::ptr(ctx.gp(base), number, shift);
  } else {
    where = x86::ptr(ctx.gp(address));
  }
  const int64_t disp = access.mem.imm, end = disp + 4 * int64_t{access.mem.count};
  if (disp == static_cast<int32_t>(disp) && end == static_cast<int32_t>(end)) {
    where.addOffset(disp);
    return where;
  }
  const Gp far = ctx.cc.new_gp64();
  ctx.cc.mov(far, disp);
  ctx.cc.add(far, where.baseReg().as<Gp>());
  where.setBase(far);
  return where;
}

void call_for_flat_lane(Lowering& ctx, const Inst& inst, const Mem& where) {
  const ir::MemAttr& mem = inst.mem;
  const Mem access = ctx.scratch_row(ctx.rows->flat_lanes, sizeof(FlatLanes));
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = access.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  if (mem.count > (mem.bytes == 4 ? FlatLanes::kMaxCount : 1)) return ctx.fail(inst, "elements of a flat access");
  const Gp address = ctx.cc.new_gp64(), pc = ctx.cc.new_gp64(), shape = ctx.cc.new_gp32();
  ctx.cc.lea(address, where);
  ctx.cc.mov(field(offsetof(FlatLanes, addresses), 8), address);
  ctx.cc.mov(field(offsetof(FlatLanes, lanes), 4), 1);
  ctx.cc.mov(pc, inst.guest_pc);
  ctx.cc.mov(field(offsetof(FlatLanes, guest_pc), 8), pc);
  ctx.cc.mov(field(offsetof(FlatLanes, wave), 8), ctx.wave);
  const FlatShape rest{
      .bytes = mem.bytes,
      .count = mem.count,
      .first_lane = 0,
      .flags = static_cast<uint8_t>(FlatShape::kLoad | (mem.sign_extend ? FlatShape::kSignExtend : 0))};
  ctx.cc.mov(shape, ctx.wave_field(offsetof(WaveState, fault_lane), 4));
  ctx.cc.shl(shape, 8 * offsetof(FlatShape, first_lane));
  ctx.cc.or_(shape, std::bit_cast<int32_t>(rest));
  ctx.cc.mov(field(offsetof(FlatLanes, shape), 4), shape);
  ctx.cc.push(ctx.address_of(access));
  ctx.cc.emit(I::kIdCall, ctx.pool.function(flat_stub(ctx.options.tier)));
  for (unsigned i = 0; i < mem.count; ++i)
    ctx.cc.mov(ctx.dst_gp(inst, i), field(offsetof(FlatLanes, values) + i * sizeof(FlatLanes::values[0]), 4));
}

// The next instruction is the one that accesses it.
Mem place_of_lane(Lowering& ctx, const Inst& access, const Mem& address, unsigned element, unsigned bytes) {
  ctx.faults.mark({.guest_pc = access.guest_pc,
                   .first_lane = 0,
                   .lanes = kWaveSize,
                   .element_bytes = access.mem.bytes,
                   .write = access.op == Op::store_lane,
                   .lane_in_state = true});
  Mem place = address.cloneAdjusted(static_cast<int64_t>(element) * access.mem.bytes);
  place.setSize(bytes);
  return place;
}

// One dword of a load for one lane, or two, to scalars, or to vectors where plan_fusions() says so.
void emit_loaded_dwords(Lowering& ctx, const Inst& load, unsigned first, unsigned count, const Mem& from) {
  const auto vector_of = [&](unsigned element) -> std::optional<Vec> {
    for (const Inst* user : load.users) {
      if (user->op != Op::extract || user->imm != element || !ctx.is_fused(user)) continue;
      const Inst& splat = *user->users[0];
      return ctx.classes.is_shared(&splat) ? ctx.scalars->loaded_numbers[&splat] = ctx.isa->vec()
                                           : ctx.dst(splat, ctx.first_chunk());
    }
    return std::nullopt;
  };
  const std::optional<Vec> low = vector_of(first), high = count == 2 ? vector_of(first + 1) : std::nullopt;
  const bool narrow = ctx.cc.set_narrow(true);
  if (count == 1 && low) {
    ctx.cc.emit(I::kIdVpbroadcastd, *low, from);
  } else if (count == 1) {
    ctx.cc.mov(ctx.dst_gp(load, first), from);
  } else if (low && high) {
    const Vec both = ctx.isa->vec();
    ctx.cc.emit(I::kIdVpbroadcastq, both, from);
    ctx.cc.emit(I::kIdVpshufd, *low, both, 0x00);
    ctx.cc.emit(I::kIdVpshufd, *high, both, 0x55);
  } else {
    const auto to_dword = [&](const std::optional<Vec>& vector, unsigned element, const Gp& value) {
      if (!vector) {
        ctx.cc.mov(ctx.dst_gp(load, element), value);
        return;
      }
      const Vec dword = ctx.isa->vec();
      ctx.cc.emit(I::kIdVmovd, dword.xmm(), value);
      ctx.cc.emit(I::kIdVpbroadcastd, *vector, dword.xmm());
    };
    const Gp pair = ctx.cc.new_gp64();
    ctx.cc.mov(pair, from);
    to_dword(low, first, pair.r32());
    ctx.cc.shr(pair, 32);
    to_dword(high, first + 1, pair.r32());
  }
  (void)ctx.cc.set_narrow(narrow);
}

void emit_lane_access(Lowering& ctx, const Inst& inst) {
  const ir::MemAttr& mem = inst.mem;
  const bool loads = inst.op == Op::load_lane;
  const Inst* condition = inst.operands[0];
  const Label skip = ctx.cc.new_label();
  if (condition->is_const(0)) {
    for (unsigned i = 0; loads && i < mem.count; ++i) ctx.cc.mov(ctx.dst_gp(inst, i), 0);
    return;
  }
  if (!condition->is_const()) {
    for (unsigned i = 0; loads && i < mem.count; ++i) ctx.cc.mov(ctx.dst_gp(inst, i), 0);
    const Gp c = ctx.gp(condition);
    ctx.cc.test(c, c);
    ctx.cc.jz(skip);
  }
  const Mem address = address_of_lane(ctx, inst);
  const Label flat = ctx.cc.new_label();
  if (mem.space == ir::Space::flat) {
    // Addresses of the apertures are served by a function.
    const Gp high = ctx.cc.new_gp64();
    ctx.cc.lea(high, address);
    ctx.cc.shr(high, 32);
    ctx.cc.cmp(high.r32(), kSharedApertureHi);
    ctx.cc.j(CondCode::kAE, flat);
    ctx.cold([&] {
      ctx.cc.bind(flat);
      call_for_flat_lane(ctx, inst, address);
      ctx.cc.jmp(skip);
    });
  }
  const auto place = [&](unsigned element, unsigned bytes) {
    return place_of_lane(ctx, inst, address, element, bytes);
  };
  // Pairs of dwords are read whole.
  for (unsigned i = 0; i < mem.count; ++i) {
    if (!loads && ctx.is_fused(inst.operands[2 + i])) {
      ctx.cc.emit(I::kIdVmovd, place(i, 4), ctx.v32(inst.operands[2 + i]->operands[0], 0).xmm());
    } else if (!loads) {
      const Gp value = ctx.gp(inst.operands[2 + i]);
      ctx.cc.mov(place(i, mem.bytes), mem.bytes == 1   ? Gp(value.r8())
                                      : mem.bytes == 2 ? Gp(value.r16())
                                                       : Gp(value.r32()));
    } else if (mem.bytes < 4) {
      ctx.cc.emit(mem.sign_extend ? I::kIdMovsx : I::kIdMovzx, ctx.dst_gp(inst, i), place(i, mem.bytes));
    } else {
      const unsigned count = std::min(2u, mem.count - i);
      emit_loaded_dwords(ctx, inst, i, count, place(i, 4 * count));
      i += count - 1;
    }
  }
  ctx.cc.bind(skip);
}

void emit_streams(Lowering& ctx, const Inst& inst) {
  const bool begins = inst.op == Op::begin_streams;
  const Mem streams = ctx.scratch_row(ctx.rows->lane_streams, sizeof(LaneStreams));
  const auto field = [&](size_t offset) {
    Mem m = streams.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(8);
    return m;
  };
  const Gp pc = ctx.cc.new_gp64();
  ctx.cc.mov(pc, inst.guest_pc);
  ctx.cc.mov(field(offsetof(LaneStreams, wave)), ctx.wave);
  ctx.cc.mov(field(offsetof(LaneStreams, guest_pc)), pc);
  ctx.cc.mov(field(offsetof(LaneStreams, lanes)), ctx.gp(inst.operands[0]));
  ctx.cc.mov(field(offsetof(LaneStreams, begins)), ctx.address_of(frame_row(ctx, inst.imm, true)));
  ctx.cc.mov(field(offsetof(LaneStreams, rooms)), ctx.address_of(frame_row(ctx, inst.imm + 2, true)));
  ctx.cc.mov(field(offsetof(LaneStreams, written)), ctx.address_of(frame_row(ctx, inst.imm + 4, true)));
  ctx.cc.push(ctx.address_of(streams));
  ctx.cc.emit(I::kIdCall, ctx.pool.function(lane_stream_stub(ctx.options.tier, begins)));
  if (begins) {
    const Gp possible = ctx.cc.new_gp64();
    ctx.cc.mov(possible, field(offsetof(LaneStreams, possible)));
    ctx.cc.mov(ctx.dst_gp(inst), possible.r32());
  }
}

// A member of the timing of the function's loops, of which none is in another.
Mem lane_timing(Lowering& ctx, size_t offset) {
  Mem member = ctx.scratch_row(ctx.rows->lane_timing, sizeof(LaneTiming)).cloneAdjusted(static_cast<int64_t>(offset));
  member.setSize(8);
  return member;
}

void call_for_lane_way(Lowering& ctx, bool begins) {
  const Gp address = ctx.address_of(lane_timing(ctx, 0));
  ctx.cc.push(address);
  ctx.cc.emit(I::kIdCall, ctx.pool.function(lane_way_stub(ctx.options.tier, begins)));
}

// Lockstep if nobody keeps records.
void emit_lane_way(Lowering& ctx, const Inst& inst) {
  const Label done = ctx.cc.new_label(), timed = ctx.cc.new_label(), decided = ctx.cc.new_label();
  const Gp ways = ctx.cc.new_gp64(), result = ctx.cc.new_gp32();
  const auto record = static_cast<int32_t>(inst.imm * sizeof(LaneWay));
  ctx.cc.mov(lane_timing(ctx, offsetof(LaneTiming, start)), 0);
  ctx.cc.mov(result, 0);
  ctx.cc.mov(ways, ctx.wave_field(offsetof(WaveState, lane_ways), 8));
  ctx.cc.test(ways, ways);
  ctx.cc.jz(done);
  ctx.cc.sub(x86::dword_ptr(ways, record + static_cast<int32_t>(offsetof(LaneWay, countdown))), 1);
  ctx.cc.j(CondCode::kS, timed);
  ctx.cc.bind(decided);
  ctx.cc.mov(result, x86::dword_ptr(ways, record + static_cast<int32_t>(offsetof(LaneWay, lanes))));
  ctx.cc.bind(done);
  ctx.cc.mov(ctx.dst_gp(inst), result);
  ctx.cold([&] {
    ctx.cc.bind(timed);
    const Gp way = ctx.cc.new_gp64();
    ctx.cc.lea(way, x86::ptr(ways, record));
    ctx.cc.mov(lane_timing(ctx, offsetof(LaneTiming, way)), way);
    ctx.cc.mov(lane_timing(ctx, offsetof(LaneTiming, table)), ways);
    call_for_lane_way(ctx, true);
    ctx.cc.jmp(decided);
  });
}

void emit_lane_way_end(Lowering& ctx, const Inst&) {
  const Label done = ctx.cc.new_label(), timed = ctx.cc.new_label();
  ctx.cc.cmp(lane_timing(ctx, offsetof(LaneTiming, start)), 0);
  ctx.cc.j(CondCode::kNE, timed);
  ctx.cc.bind(done);
  ctx.cold([&] {
    ctx.cc.bind(timed);
    const Gp ways = ctx.cc.new_gp64();
    ctx.cc.mov(ways, ctx.wave_field(offsetof(WaveState, lane_ways), 8));
    ctx.cc.cmp(ways, lane_timing(ctx, offsetof(LaneTiming, table)));
    ctx.cc.jne(done);
    call_for_lane_way(ctx, false);
    ctx.cc.jmp(done);
  });
}

}  // namespace

bool emit_lane_loop(Lowering& ctx, const Inst& inst) {
  switch (inst.op) {
    case Op::set_lanes: {
      const Inst* value = inst.operands[0];
      const bool wide = value->type == ir::kV64;
      const Mem place = frame_row(ctx, inst.imm, wide);
      for (unsigned c = 0; c < ctx.chunks; ++c) {
        if (wide) {
          ctx.isa->store_row64(place.cloneAdjusted(c * 2 * ctx.isa->bytes()), ctx.v64(value, c));
        } else {
          ctx.isa->store_row32(place.cloneAdjusted(c * ctx.isa->bytes()), ctx.v32(value, c));
        }
      }
      return true;
    }
    case Op::get_lanes: {
      const bool wide = inst.type == ir::kV64;
      const Mem place = frame_row(ctx, inst.imm, wide);
      for (unsigned c = 0; c < ctx.chunks; ++c) {
        if (wide) {
          ctx.isa->load_row64(ctx.dst64(inst, c), place.cloneAdjusted(c * 2 * ctx.isa->bytes()));
        } else {
          ctx.isa->load(ctx.dst(inst, c), place.cloneAdjusted(c * ctx.isa->bytes()), nullptr);
        }
      }
      return true;
    }
    case Op::set_lane: {
      const bool wide = inst.operands[1]->type == ir::kI64;
      const Gp value = ctx.gp(inst.operands[1]);
      ctx.cc.mov(element_of_row(ctx, inst, wide), wide ? value : Gp(value.r32()));
      return true;
    }
    case Op::get_lane:
      ctx.cc.mov(ctx.dst_gp(inst), element_of_row(ctx, inst, inst.type == ir::kI64));
      return true;
    case Op::load_lane:
    case Op::store_lane:
      emit_lane_access(ctx, inst);
      return true;
    case Op::begin_streams:
    case Op::end_streams:
      emit_streams(ctx, inst);
      return true;
    case Op::lane_way:
      emit_lane_way(ctx, inst);
      return true;
    case Op::lane_way_end:
      emit_lane_way_end(ctx, inst);
      return true;
    default:
      return false;
  }
}

void emit_load_for_all_lanes(Lowering& ctx, const Inst& splat, unsigned chunk) {
  const Inst& load = *splat.operands[0];
  const Vec to = ctx.dst(splat, chunk);
  if (load.op == Op::extract) {  // emit_loaded_dwords() has loaded it
    if (ctx.classes.is_shared(&splat)) ctx.isa->mov(to, ctx.scalars->loaded_numbers.at(&splat));
    return;
  }
  const Mem address = address_of_lane(ctx, load);
  const Mem from = place_of_lane(ctx, load, address, 0, 4);
  ctx.cc.emit(I::kIdVpbroadcastd, to, from);
}

}  // namespace wavejit::backend
