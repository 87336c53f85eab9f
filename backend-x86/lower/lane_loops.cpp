// Loops executed for one lane after the other (ir/passes/lane_copier.h): rows of the frame, accesses of one lane to memory,
// and which way a loop is executed.
#include <bit>

#include "backend-x86/helpers/flat_lanes.h"
#include "backend-x86/helpers/lane_stream_stubs.h"
#include "backend-x86/helpers/lane_way_stubs.h"
#include "backend-x86/lower/emitter.h"
#include "internal/lane_streams.h"
#include "internal/lane_way.h"

namespace wavejit::backend {

using x86::CondCode;

Mem Emitter::frame_row(uint64_t number, bool wide) {
  const auto [it, inserted] = frame_rows_.try_emplace(number);
  if (inserted) it->second = stack_row(tile_ * (wide ? 8 : 4));
  return it->second;
}

// The element of a lane.
Mem Emitter::element_of_row(const Inst& inst, bool wide) {
  Mem place = frame_row(inst.imm, wide);
  if (inst.operands[0]->is_const()) {
    place.addOffset(static_cast<int64_t>(inst.operands[0]->imm * (wide ? 8 : 4)));
    place.setSize(wide ? 8 : 4);
    return place;
  }
  place.setIndex(as_index(inst.operands[0]), wide ? 3 : 2);
  place.setSize(wide ? 8 : 4);
  return place;
}

bool Emitter::emit_lane_loop(const Inst& inst) {
  switch (inst.op) {
    case Op::set_lanes: {
      const Inst* value = inst.operands[0];
      const bool wide = value->type == ir::kV64;
      const Mem place = frame_row(inst.imm, wide);
      for (unsigned c = 0; c < chunks_; ++c) {
        if (wide) {
          isa_->store_row64(place.cloneAdjusted(c * 2 * isa_->bytes()), v64(value, c));
        } else {
          isa_->store_row32(place.cloneAdjusted(c * isa_->bytes()), v32(value, c));
        }
      }
      return true;
    }
    case Op::get_lanes: {
      const bool wide = inst.type == ir::kV64;
      const Mem place = frame_row(inst.imm, wide);
      for (unsigned c = 0; c < chunks_; ++c) {
        if (wide) {
          isa_->load_row64(dst64(inst, c), place.cloneAdjusted(c * 2 * isa_->bytes()));
        } else {
          isa_->load(dst(inst, c), place.cloneAdjusted(c * isa_->bytes()), nullptr);
        }
      }
      return true;
    }
    case Op::set_lane: {
      const bool wide = inst.operands[1]->type == ir::kI64;
      const Gp value = gp(inst.operands[1]);
      cc_.mov(element_of_row(inst, wide), wide ? value : Gp(value.r32()));
      return true;
    }
    case Op::get_lane:
      cc_.mov(dst_gp(inst), element_of_row(inst, inst.type == ir::kI64));
      return true;
    case Op::load_lane:
    case Op::store_lane:
      emit_lane_access(inst);
      return true;
    case Op::begin_streams:
    case Op::end_streams:
      emit_streams(inst);
      return true;
    case Op::lane_way:
      emit_lane_way(inst);
      return true;
    case Op::lane_way_end:
      emit_lane_way_end(inst);
      return true;
    default:
      return false;
  }
}

// The sum that is an access's address, and its index, as parts of the operand in memory.
void Emitter::plan_lane_address(const Inst& access) {
  const Inst* sum = access.operands[1];
  const auto folds = [&](const Inst* value) {
    return !value->is_const() && value->users.size() == 1 && can_sink(*value, access);
  };
  // A load under a condition writes its result in front of reading the index.
  if (sum->op != Op::add || sum->type != ir::kI64 || !access.operands[0]->is_const(1) || !folds(sum)) return;
  const auto is_scaled = [&](const Inst* value) {
    return value->op == Op::shl && value->operands[1]->is_const() && value->operands[1]->imm <= 3 && folds(value);
  };
  const auto is_extended = [&](const Inst* value) { return value->op == Op::zext64 && folds(value); };
  const Inst *a = sum->operands[0], *b = sum->operands[1];
  if (a->is_const() || b->is_const()) return;
  fused_[sum->id] = true;
  const Inst* index = is_scaled(b) ? b : is_scaled(a) ? a : is_extended(b) ? b : is_extended(a) ? a : nullptr;
  if (index == nullptr) return;
  fused_[index->id] = true;
  if (index->op == Op::shl && is_extended(index->operands[0])) fused_[index->operands[0]->id] = true;
}

// The displacements of all elements fit 32 bits.
Mem Emitter::address_of_lane(const Inst& access) {
  const Inst* address = access.operands[1];
  Mem where;
  if (is_fused(address)) {
    const Inst *base = address->operands[0], *index = address->operands[1];
    if (is_fused(base)) std::swap(base, index);
    unsigned shift = 0;
    if (is_fused(index) && index->op == Op::shl) {
      shift = static_cast<unsigned>(index->operands[1]->imm);
      index = index->operands[0];
    }
    const Gp number = is_fused(index) ? as_index(index->operands[0]) : gp(index);
    where = x86::ptr(gp(base), number, shift);
  } else {
    where = x86::ptr(gp(address));
  }
  const int64_t disp = access.mem.imm, end = disp + 4 * int64_t{access.mem.count};
  if (disp == static_cast<int32_t>(disp) && end == static_cast<int32_t>(end)) {
    where.addOffset(disp);
    return where;
  }
  const Gp far = cc_.new_gp64();
  cc_.mov(far, disp);
  cc_.add(far, where.baseReg().as<Gp>());
  where.setBase(far);
  return where;
}

// The next instruction is the one that accesses it.
Mem Emitter::place_of_lane(const Inst& access, const Mem& address, unsigned element, unsigned bytes) {
  faults_.mark({.guest_pc = access.guest_pc,
                .first_lane = 0,
                .lanes = kWaveSize,
                .element_bytes = access.mem.bytes,
                .write = access.op == Op::store_lane,
                .lane_in_state = true});
  Mem place = address.cloneAdjusted(static_cast<int64_t>(element) * access.mem.bytes);
  place.setSize(bytes);
  return place;
}

void Emitter::emit_load_for_all_lanes(const Inst& splat, unsigned chunk) {
  const Inst& load = *splat.operands[0];
  const Vec to = dst(splat, chunk);
  if (load.op == Op::extract) {  // emit_loaded_dwords() has loaded it
    if (classes_.is_shared(&splat)) isa_->mov(to, loaded_numbers_.at(&splat));
    return;
  }
  const Mem address = address_of_lane(load);
  const Mem from = place_of_lane(load, address, 0, 4);
  cc_.emit(I::kIdVpbroadcastd, to, from);
}

void Emitter::emit_lane_access(const Inst& inst) {
  const ir::MemAttr& mem = inst.mem;
  const bool loads = inst.op == Op::load_lane;
  const Inst* condition = inst.operands[0];
  const Label skip = cc_.new_label();
  if (condition->is_const(0)) {
    for (unsigned i = 0; loads && i < mem.count; ++i) cc_.mov(dst_gp(inst, i), 0);
    return;
  }
  if (!condition->is_const()) {
    for (unsigned i = 0; loads && i < mem.count; ++i) cc_.mov(dst_gp(inst, i), 0);
    const Gp c = gp(condition);
    cc_.test(c, c);
    cc_.jz(skip);
  }
  const Mem address = address_of_lane(inst);
  const Label flat = cc_.new_label();
  if (mem.space == ir::Space::flat) {
    // Addresses of the apertures are served by a function.
    const Gp high = cc_.new_gp64();
    cc_.lea(high, address);
    cc_.shr(high, 32);
    cc_.cmp(high.r32(), kSharedApertureHi);
    cc_.j(CondCode::kAE, flat);
    cold([&] {
      cc_.bind(flat);
      call_for_flat_lane(inst, address);
      cc_.jmp(skip);
    });
  }
  const auto place = [&](unsigned element, unsigned bytes) { return place_of_lane(inst, address, element, bytes); };
  // Pairs of dwords are read whole.
  for (unsigned i = 0; i < mem.count; ++i) {
    if (!loads && is_fused(inst.operands[2 + i])) {
      cc_.emit(I::kIdVmovd, place(i, 4), v32(inst.operands[2 + i]->operands[0], 0).xmm());
    } else if (!loads) {
      const Gp value = gp(inst.operands[2 + i]);
      cc_.mov(place(i, mem.bytes), mem.bytes == 1   ? Gp(value.r8())
                                   : mem.bytes == 2 ? Gp(value.r16())
                                                    : Gp(value.r32()));
    } else if (mem.bytes < 4) {
      cc_.emit(mem.sign_extend ? I::kIdMovsx : I::kIdMovzx, dst_gp(inst, i), place(i, mem.bytes));
    } else {
      const unsigned count = std::min(2u, mem.count - i);
      emit_loaded_dwords(inst, i, count, place(i, 4 * count));
      i += count - 1;
    }
  }
  cc_.bind(skip);
}

// One dword of a load for one lane, or two, to scalars, or to vectors where plan_fusions() says so.
void Emitter::emit_loaded_dwords(const Inst& load, unsigned first, unsigned count, const Mem& from) {
  const auto vector_of = [&](unsigned element) -> std::optional<Vec> {
    for (const Inst* user : load.users) {
      if (user->op != Op::extract || user->imm != element || !is_fused(user)) continue;
      const Inst& splat = *user->users[0];
      return classes_.is_shared(&splat) ? loaded_numbers_[&splat] = isa_->vec() : dst(splat, first_chunk());
    }
    return std::nullopt;
  };
  const std::optional<Vec> low = vector_of(first), high = count == 2 ? vector_of(first + 1) : std::nullopt;
  const bool narrow = cc_.set_narrow(true);
  if (count == 1 && low) {
    cc_.emit(I::kIdVpbroadcastd, *low, from);
  } else if (count == 1) {
    cc_.mov(dst_gp(load, first), from);
  } else if (low && high) {
    const Vec both = isa_->vec();
    cc_.emit(I::kIdVpbroadcastq, both, from);
    cc_.emit(I::kIdVpshufd, *low, both, 0x00);
    cc_.emit(I::kIdVpshufd, *high, both, 0x55);
  } else {
    const auto to_dword = [&](const std::optional<Vec>& vector, unsigned element, const Gp& value) {
      if (!vector) {
        cc_.mov(dst_gp(load, element), value);
        return;
      }
      const Vec dword = isa_->vec();
      cc_.emit(I::kIdVmovd, dword.xmm(), value);
      cc_.emit(I::kIdVpbroadcastd, *vector, dword.xmm());
    };
    const Gp pair = cc_.new_gp64();
    cc_.mov(pair, from);
    to_dword(low, first, pair.r32());
    cc_.shr(pair, 32);
    to_dword(high, first + 1, pair.r32());
  }
  (void)cc_.set_narrow(narrow);
}

void Emitter::call_for_flat_lane(const Inst& inst, const Mem& where) {
  const ir::MemAttr& mem = inst.mem;
  const Mem access = scratch_row(flat_lanes_, sizeof(FlatLanes));
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = access.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  if (mem.count > (mem.bytes == 4 ? FlatLanes::kMaxCount : 1)) return fail(inst, "elements of a flat access");
  const Gp address = cc_.new_gp64(), pc = cc_.new_gp64(), shape = cc_.new_gp32();
  cc_.lea(address, where);
  cc_.mov(field(offsetof(FlatLanes, addresses), 8), address);
  cc_.mov(field(offsetof(FlatLanes, lanes), 4), 1);
  cc_.mov(pc, inst.guest_pc);
  cc_.mov(field(offsetof(FlatLanes, guest_pc), 8), pc);
  cc_.mov(field(offsetof(FlatLanes, wave), 8), wave_);
  const FlatShape rest{
      .bytes = mem.bytes,
      .count = mem.count,
      .first_lane = 0,
      .flags = static_cast<uint8_t>(FlatShape::kLoad | (mem.sign_extend ? FlatShape::kSignExtend : 0))};
  cc_.mov(shape, wave_field(offsetof(WaveState, fault_lane), 4));
  cc_.shl(shape, 8 * offsetof(FlatShape, first_lane));
  cc_.or_(shape, std::bit_cast<int32_t>(rest));
  cc_.mov(field(offsetof(FlatLanes, shape), 4), shape);
  cc_.push(address_of(access));
  cc_.emit(I::kIdCall, pool_.function(flat_stub(options_.tier)));
  for (unsigned i = 0; i < mem.count; ++i)
    cc_.mov(dst_gp(inst, i), field(offsetof(FlatLanes, values) + i * sizeof(FlatLanes::values[0]), 4));
}

void Emitter::emit_streams(const Inst& inst) {
  const bool begins = inst.op == Op::begin_streams;
  const Mem streams = scratch_row(lane_streams_, sizeof(LaneStreams));
  const auto field = [&](size_t offset) {
    Mem m = streams.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(8);
    return m;
  };
  const Gp pc = cc_.new_gp64();
  cc_.mov(pc, inst.guest_pc);
  cc_.mov(field(offsetof(LaneStreams, wave)), wave_);
  cc_.mov(field(offsetof(LaneStreams, guest_pc)), pc);
  cc_.mov(field(offsetof(LaneStreams, lanes)), gp(inst.operands[0]));
  cc_.mov(field(offsetof(LaneStreams, begins)), address_of(frame_row(inst.imm, true)));
  cc_.mov(field(offsetof(LaneStreams, rooms)), address_of(frame_row(inst.imm + 2, true)));
  cc_.mov(field(offsetof(LaneStreams, written)), address_of(frame_row(inst.imm + 4, true)));
  cc_.push(address_of(streams));
  cc_.emit(I::kIdCall, pool_.function(lane_stream_stub(options_.tier, begins)));
  if (begins) {
    const Gp possible = cc_.new_gp64();
    cc_.mov(possible, field(offsetof(LaneStreams, possible)));
    cc_.mov(dst_gp(inst), possible.r32());
  }
}

// Lockstep if nobody keeps records.
void Emitter::emit_lane_way(const Inst& inst) {
  const Label done = cc_.new_label(), timed = cc_.new_label(), decided = cc_.new_label();
  const Gp ways = cc_.new_gp64(), result = cc_.new_gp32();
  const auto record = static_cast<int32_t>(inst.imm * sizeof(LaneWay));
  cc_.mov(lane_timing(offsetof(LaneTiming, start)), 0);
  cc_.mov(result, 0);
  cc_.mov(ways, wave_field(offsetof(WaveState, lane_ways), 8));
  cc_.test(ways, ways);
  cc_.jz(done);
  cc_.sub(x86::dword_ptr(ways, record + static_cast<int32_t>(offsetof(LaneWay, countdown))), 1);
  cc_.j(CondCode::kS, timed);
  cc_.bind(decided);
  cc_.mov(result, x86::dword_ptr(ways, record + static_cast<int32_t>(offsetof(LaneWay, lanes))));
  cc_.bind(done);
  cc_.mov(dst_gp(inst), result);
  cold([&] {
    cc_.bind(timed);
    const Gp way = cc_.new_gp64();
    cc_.lea(way, x86::ptr(ways, record));
    cc_.mov(lane_timing(offsetof(LaneTiming, way)), way);
    cc_.mov(lane_timing(offsetof(LaneTiming, table)), ways);
    call_for_lane_way(true);
    cc_.jmp(decided);
  });
}

void Emitter::emit_lane_way_end(const Inst&) {
  const Label done = cc_.new_label(), timed = cc_.new_label();
  cc_.cmp(lane_timing(offsetof(LaneTiming, start)), 0);
  cc_.j(CondCode::kNE, timed);
  cc_.bind(done);
  cold([&] {
    cc_.bind(timed);
    const Gp ways = cc_.new_gp64();
    cc_.mov(ways, wave_field(offsetof(WaveState, lane_ways), 8));
    cc_.cmp(ways, lane_timing(offsetof(LaneTiming, table)));
    cc_.jne(done);
    call_for_lane_way(false);
    cc_.jmp(done);
  });
}

// A member of the timing of the function's loops, of which none is in another.
Mem Emitter::lane_timing(size_t offset) {
  Mem member = scratch_row(lane_timing_, sizeof(LaneTiming)).cloneAdjusted(static_cast<int64_t>(offset));
  member.setSize(8);
  return member;
}

void Emitter::call_for_lane_way(bool begins) {
  const Gp address = address_of(lane_timing(0));
  cc_.push(address);
  cc_.emit(I::kIdCall, pool_.function(lane_way_stub(options_.tier, begins)));
}

}  // namespace wavejit::backend
