#include "backend-x86/lower/vector/cross_lane.h"

#include <algorithm>
#include <array>
#include <bit>

#include "backend-x86/lower/memory/memory.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/building_blocks.h"
#include "backend-x86/lower/vector/masks.h"

namespace wavejit::backend {

using asmjit::imm;
using ir::ICmp;

namespace {

using LaneMap = std::array<int, kWaveSize>;  // source lane, or -1

// DPP_CTRL (Vega ISA manual, "DPP_CTRL Enumeration"; row_newbcast: MI200).
LaneMap dpp_lanes(unsigned control) {
  LaneMap map;
  const int n = static_cast<int>(control & 15);
  for (int l = 0; l < static_cast<int>(kWaveSize); ++l) {
    const int row = l & ~15, in_row = l & 15;
    int source = -1;
    if (control <= 0xff) {
      source = (l & ~3) | static_cast<int>(control >> (2 * (l & 3)) & 3);
    } else if (control >= 0x101 && control <= 0x10f) {  // row_shl
      if (in_row + n < 16) source = l + n;
    } else if (control >= 0x111 && control <= 0x11f) {  // row_shr
      if (in_row >= n) source = l - n;
    } else if (control >= 0x121 && control <= 0x12f) {  // row_ror
      source = row | ((in_row - n) & 15);
    } else if (control == 0x130) {  // wave_shl:1
      if (l < 63) source = l + 1;
    } else if (control == 0x134) {  // wave_rol:1
      source = (l + 1) & 63;
    } else if (control == 0x138) {  // wave_shr:1
      if (l > 0) source = l - 1;
    } else if (control == 0x13c) {  // wave_ror:1
      source = (l - 1) & 63;
    } else if (control == 0x140) {  // row_mirror
      source = row | (15 - in_row);
    } else if (control == 0x141) {  // row_half_mirror
      source = (l & ~7) | (7 - (l & 7));
    } else if (control == 0x142) {  // row_bcast:15
      if (row > 0) source = row - 1;
    } else if (control == 0x143) {  // row_bcast:31
      if (l >= 32) source = 31;
    } else if (control >= 0x150 && control <= 0x15f) {  // row_newbcast
      source = row | n;
    }
    map[static_cast<size_t>(l)] = source;
  }
  return map;
}

// ds_swizzle_b32 (GCN3 and Vega ISA manuals): quad permutation, GFX9's rotation, or and/or/xor masks within 32 lanes.
LaneMap swizzle_lanes(unsigned offset) {
  LaneMap map;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    unsigned source;
    if (offset >= 0xe000) {  // FFT: bits reversed, of which some stay as they are
      const unsigned kept = offset & 31;
      unsigned reversed = 0;
      for (unsigned bit = 0; bit < 5; ++bit) reversed |= (l >> bit & 1) << (4 - bit);
      source = (l & 32) | (l & kept) | reversed >> std::popcount(kept);
    } else if (offset >= 0xc000) {
      const unsigned amount = offset >> 5 & 31, kept = offset & 31;
      const unsigned rotated = (offset >> 10 & 1 ? l - amount : l + amount) & 31;
      source = (l & 32) | (l & kept) | (rotated & ~kept & 31);
    } else if (offset & 0x8000) {
      source = (l & ~3u) | (offset >> (2 * (l & 3)) & 3);
    } else {
      const unsigned kept = offset & 31, set = offset >> 5 & 31, flipped = offset >> 10 & 31;
      source = (l & 32) | (((l & kept) | set) ^ flipped);
    }
    map[l] = static_cast<int>(source);
  }
  return map;
}

// The lanes that a bpermute reads, if its address says so for any wave: a number common to all lanes must not reach bits 2 to 7.
std::optional<LaneMap> permute_lanes(const ir::LaneTable* address, uint64_t offset) {
  constexpr unsigned kAddressBits = 8;
  if (address == nullptr || address->zeros < kAddressBits) return std::nullopt;
  LaneMap map;
  for (unsigned l = 0; l < kWaveSize; ++l) map[l] = static_cast<int>((address->step[l] + offset) / 4 % kWaveSize);
  return map;
}

// Whether the lanes where it holds all have a source that `dpp` may read; `exist` are those that have a source.
bool implies_valid(const Inst* condition, const Inst& dpp, uint64_t exist, unsigned depth = 4) {
  if (condition->is_const()) return dpp.operands[1]->is_const(~uint64_t{0}) && (condition->imm & ~exist) == 0;
  const auto implied_by = [&](unsigned i) { return implies_valid(condition->operands[i], dpp, exist, depth - 1); };
  switch (condition->op) {
    case Op::dpp_valid:
      return condition->attr == dpp.attr && condition->operands[0] == dpp.operands[1];
    case Op::and_:
      return depth > 0 && (implied_by(0) || implied_by(1));
    case Op::andn:
      return depth > 0 && implied_by(0);
    default:
      return false;
  }
}

// Whether whatever the other lanes hold is merged away by all who use it.
bool only_valid_lanes_matter(const Inst& dpp, const LaneMap& map) {
  uint64_t exist = 0;
  for (unsigned l = 0; l < kWaveSize; ++l) exist |= uint64_t{map[l] >= 0} << l;
  return std::all_of(dpp.users.begin(), dpp.users.end(), [&](const Inst* user) {
    return user->op == Op::select && user->operands[0]->type == ir::kMask && user->operands[0] != &dpp &&
           user->operands[1] == &dpp && user->operands[2] != &dpp && implies_valid(user->operands[0], dpp, exist);
  });
}

// All 64 lanes of a v32 in a stack row.
void store_vector_row(Lowering& ctx, const Mem& slot, const std::vector<Vec>& value) {
  for (unsigned c = 0; c < ctx.chunks; ++c) ctx.isa->store(slot.cloneAdjusted(c * ctx.isa->bytes()), value[c], nullptr);
}

std::vector<Vec> all_chunks(Lowering& ctx, const Inst* value) {
  std::vector<Vec> v(ctx.chunks);
  for (unsigned c = 0; c < ctx.chunks; ++c) v[c] = ctx.v32(value, c);
  return v;
}

// All lanes of a value in a row. They stay there for the block's next readers of the same value.
Mem vector_row(Lowering& ctx, const Inst* value) {
  for (KnownRow& known : ctx.rows->known)
    if (known.value == value) return *known.row;
  KnownRow& known = ctx.rows->known[ctx.rows->next_known++ % ctx.rows->known.size()];
  known.value = value;
  const Mem slot = ctx.scratch_row(known.row, ctx.tile * 4);
  store_vector_row(ctx, slot, all_chunks(ctx, value));
  return slot;
}

}  // namespace

void forget_rows(Lowering& ctx) {
  for (KnownRow& known : ctx.rows->known) known.value = nullptr;
}

namespace {

// out lane l = value lane map[l]; where there is none, 0, or whatever it is if `any_elsewhere`. `value` holds one
// register per chunk.
std::vector<Vec> move_lanes(Lowering& ctx, const std::vector<Vec>& value, std::span<const int> map,
                            bool any_elsewhere = false) {
  constexpr size_t kMostSources = 4;
  std::vector<Vec> result(ctx.chunks);
  std::optional<Gp> row;
  for (unsigned c = 0; c < ctx.chunks; ++c) {
    const auto own = map.subspan(c * ctx.isa->lanes, ctx.isa->lanes);
    uint32_t valid = 0, offsets[16] = {};
    uint8_t from[16];
    std::vector<size_t> chunks;
    std::vector<Vec> sources;
    for (unsigned l = 0; l < ctx.isa->lanes; ++l) {
      from[l] = VectorIsa::kAnyLane;
      if (own[l] < 0) continue;
      const auto lane = static_cast<unsigned>(own[l]);
      valid |= 1u << l;
      offsets[l] = lane * 4;
      const size_t chunk = lane / ctx.isa->lanes;
      const auto at = static_cast<size_t>(std::find(chunks.begin(), chunks.end(), chunk) - chunks.begin());
      if (at == chunks.size()) {
        chunks.push_back(chunk);
        sources.push_back(value[chunk]);
      }
      from[l] = static_cast<uint8_t>(at * ctx.isa->lanes + lane % ctx.isa->lanes);
    }
    Vec moved = ctx.isa->vec();
    if (sources.size() <= kMostSources) {
      ctx.isa->shuffle(moved, sources, std::span(from, ctx.isa->lanes));
    } else {
      if (!row) {
        const Mem slot = ctx.scratch_row(ctx.rows->wave, ctx.tile * 4);
        store_vector_row(ctx, slot, value);
        row = ctx.address_of(slot);
      }
      Vec where = ctx.isa->vec();
      ctx.isa->mov(where, ctx.pool.get(offsets, ctx.isa->bytes()));
      ctx.isa->gather(moved, *row, {where}, 0, nullptr, {});
    }
    if (any_elsewhere || valid == 0 || valid == (1u << ctx.isa->lanes) - 1) {
      result[c] = moved;
    } else {
      MaskReg k = ctx.isa->mask();
      ctx.isa->set_mask_const(k, valid);
      result[c] = ctx.isa->vec();
      ctx.isa->zero_unless(result[c], k, moved);
    }
  }
  return result;
}

// The same for a mask, by shifts: false, and nothing done, where that takes more than two a chunk.
bool move_mask(Lowering& ctx, const Inst* lanes, std::span<const int> map, std::span<const MaskReg> out) {
  struct Piece {
    unsigned chunk;
    int by;
    uint32_t lanes;
  };
  const uint32_t all = (1u << ctx.isa->lanes) - 1;
  std::vector<std::vector<Piece>> pieces(ctx.chunks);
  for (unsigned c = 0; c < ctx.chunks; ++c) {
    for (unsigned l = 0; l < ctx.isa->lanes; ++l) {
      const int lane = map[c * ctx.isa->lanes + l];
      if (lane < 0) continue;
      const unsigned chunk = static_cast<unsigned>(lane) / ctx.isa->lanes;
      const int by = static_cast<int>(l) - lane % static_cast<int>(ctx.isa->lanes);
      const auto same = std::find_if(pieces[c].begin(), pieces[c].end(),
                                     [&](const Piece& p) { return p.chunk == chunk && p.by == by; });
      if (same != pieces[c].end())
        same->lanes |= 1u << l;
      else
        pieces[c].push_back({chunk, by, 1u << l});
    }
    if (!ctx.isa->shifts_masks() || pieces[c].size() > 2) return false;
  }
  std::vector<MaskReg> result(ctx.chunks);  // `out` may be the registers of `lanes`
  for (unsigned c = 0; c < ctx.chunks; ++c) {
    if (pieces[c].empty()) ctx.isa->set_mask_const(result[c] = ctx.isa->mask(), 0);
    for (size_t i = 0; i < pieces[c].size(); ++i) {
      const Piece& p = pieces[c][i];
      MaskReg moved = ctx.isa->mask();
      ctx.isa->shift_mask(moved, ctx.mask(lanes, p.chunk), p.by);
      if (p.lanes != (p.by < 0 ? all >> -p.by : all << p.by & all)) {
        MaskReg wanted = ctx.isa->mask();
        ctx.isa->set_mask_const(wanted, p.lanes);
        ctx.isa->mask_and(moved, moved, wanted);
      }
      if (i == 0)
        result[c] = moved;
      else
        ctx.isa->mask_or(result[c], result[c], moved);
    }
  }
  for (unsigned c = 0; c < ctx.chunks; ++c) ctx.isa->mov_mask(out[c], result[c]);
  return true;
}

// The lanes of a value, those outside the mask zero.
std::vector<Vec> masked_chunks(Lowering& ctx, const Inst* value, const Inst* lanes) {
  std::vector<Vec> v = all_chunks(ctx, value);
  if (is_full(lanes)) return v;
  for (unsigned c = 0; c < ctx.chunks; ++c) {
    Vec d = ctx.isa->vec();
    ctx.isa->zero_unless(d, ctx.mask(lanes, c), v[c]);
    v[c] = d;
  }
  return v;
}

}  // namespace

// One lane, known or computed (taken modulo 64), as a scalar.
void read_lane(Lowering& ctx, const Gp& d, const Inst* value, const Operand& lane) {
  if (lane.isImm()) {
    const auto l = static_cast<unsigned>(lane.as<asmjit::Imm>().value()) % ctx.tile;
    Vec v = ctx.v32(value, l / ctx.isa->lanes);
    const unsigned in_chunk = l % ctx.isa->lanes;
    if (in_chunk == 0) {
      ctx.isa->low32(d, v);
    } else if (in_chunk < 4) {
      ctx.cc.vpextrd(d, v.xmm(), in_chunk);
    } else {
      Vec moved = ctx.isa->vec(), where = ctx.isa->vec();
      ctx.isa->mov(where, ctx.isa->full32(in_chunk));
      ctx.isa->permute32(moved, v, where);
      ctx.isa->low32(d, moved);
    }
    return;
  }
  Mem slot = vector_row(ctx, value);
  Gp index = ctx.cc.new_gp64();
  ctx.cc.mov(index.r32(), lane.as<Gp>().r32());
  ctx.cc.and_(index.r32(), ctx.tile - 1);
  slot.setIndex(index, 2);
  slot.setSize(4);
  ctx.cc.mov(d, slot);
}

bool emit_cross_lane(Lowering& ctx, const Inst& inst) {
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  const auto define = [&](const std::vector<Vec>& value) {
    for (unsigned c = 0; c < ctx.chunks; ++c) ctx.isa->mov(ctx.dst(inst, c), value[c]);
    return true;
  };
  switch (inst.op) {
    case Op::readlane: {
      const Inst* lane = operand(1);
      read_lane(ctx, ctx.dst_gp(inst), operand(0),
                lane->is_const() ? Operand(imm(lane->imm & 63)) : Operand(ctx.gp(lane)));
      return true;
    }
    case Op::readfirstlane: {
      if (is_full(operand(1)) || operand(1)->is_const(0)) {
        read_lane(ctx, ctx.dst_gp(inst), operand(0), imm(0));
        return true;
      }
      const Gp bits = mask_to_number(ctx, operand(1));
      Gp lane = ctx.cc.new_gp64();
      ctx.cc.tzcnt(lane, bits);  // 64 when there is none: lane 0 by the modulus
      read_lane(ctx, ctx.dst_gp(inst), operand(0), lane);
      return true;
    }
    case Op::writelane: {
      Vec value = ctx.isa->vec();
      ctx.isa->splat32(value, ctx.gp(operand(1)));
      if (operand(2)->is_const()) {
        const unsigned lane = operand(2)->imm & 63;
        for (unsigned c = 0; c < ctx.chunks; ++c) {
          if (c == lane / ctx.isa->lanes) {
            MaskReg k = ctx.isa->mask();
            ctx.isa->set_mask_const(k, 1u << lane % ctx.isa->lanes);
            ctx.isa->select32(ctx.dst(inst, c), k, value, ctx.v32(operand(0), c));
          } else {
            ctx.isa->mov(ctx.dst(inst, c), ctx.v32(operand(0), c));
          }
        }
        return true;
      }
      Gp lane = ctx.cc.new_gp32();
      ctx.cc.mov(lane, ctx.gp(operand(2)));
      ctx.cc.and_(lane, ctx.tile - 1);
      Vec wanted = ctx.isa->vec();
      ctx.isa->splat32(wanted, lane);
      for (unsigned c = 0; c < ctx.chunks; ++c) {
        const MaskReg k = cmp(ctx, ICmp::eq, wanted, ctx.isa->lane_table(c * ctx.isa->lanes, 1));
        ctx.isa->select32(ctx.dst(inst, c), k, value, ctx.v32(operand(0), c));
      }
      return true;
    }
    case Op::bpermute: {
      if (const auto map = permute_lanes(ctx.lane_tables.of(operand(0)), inst.imm))
        return define(move_lanes(ctx, masked_chunks(ctx, operand(1), operand(2)), *map));
      Mem slot;
      if (is_full(operand(2))) {
        slot = vector_row(ctx, operand(1));
      } else {
        slot = ctx.scratch_row(ctx.rows->wave, ctx.tile * 4);
        store_vector_row(ctx, slot, masked_chunks(ctx, operand(1), operand(2)));
      }
      const Gp row = ctx.address_of(slot);
      std::vector<Vec> result(ctx.chunks);
      for (unsigned c = 0; c < ctx.chunks; ++c) {
        Vec address = ctx.v32(operand(0), c);
        if (inst.imm != 0)
          address = ctx.isa->make(I::kIdVpaddd, address, ctx.isa->c32(static_cast<uint32_t>(inst.imm)));
        result[c] = ctx.isa->vec();
        ctx.isa->gather(result[c], row, {ctx.isa->and_(address, ctx.isa->c32((ctx.tile - 1) * 4))}, 0, nullptr, {});
      }
      return define(result);
    }
    case Op::permute: {
      Mem addresses = ctx.scratch_row(ctx.rows->wave, ctx.tile * 4),
          values = ctx.scratch_row(ctx.rows->second, ctx.tile * 4);
      Mem out = ctx.scratch_row(ctx.rows->third, ctx.tile * 4);
      store_vector_row(ctx, addresses, all_chunks(ctx, operand(0)));
      store_vector_row(ctx, values, all_chunks(ctx, operand(1)));
      store_vector_row(ctx, out, std::vector<Vec>(ctx.chunks, ctx.isa->const32(0)));
      for (unsigned c = 0; c < ctx.chunks; ++c) {
        MaskReg holder;
        const MaskReg* lanes = ctx.mask_or_full(operand(2), c, holder);
        for_each_lane(ctx, lanes, c * ctx.isa->lanes, [&](const Gp& lane) {
          Gp to = ctx.cc.new_gp64(), value = ctx.cc.new_gp32();
          Mem a = addresses.cloneAdjusted(c * ctx.isa->bytes()), v = values.cloneAdjusted(c * ctx.isa->bytes()),
              o = out;
          for (Mem* m : {&a, &v}) {
            m->setIndex(lane, 2);
            m->setSize(4);
          }
          ctx.cc.mov(to.r32(), a);
          if (inst.imm != 0) ctx.cc.add(to.r32(), static_cast<uint32_t>(inst.imm));
          ctx.cc.and_(to.r32(), (ctx.tile - 1) * 4);
          ctx.cc.mov(value, v);
          o.setIndex(to, 0);
          o.setSize(4);
          ctx.cc.mov(o, value);
        });
      }
      for (unsigned c = 0; c < ctx.chunks; ++c)
        ctx.isa->load(ctx.dst(inst, c), out.cloneAdjusted(c * ctx.isa->bytes()), nullptr);
      return true;
    }
    case Op::dpp: {
      const LaneMap map = dpp_lanes(inst.attr & 0x1ff);
      if (only_valid_lanes_matter(inst, map)) return define(move_lanes(ctx, all_chunks(ctx, operand(0)), map, true));
      std::vector<MaskReg> valid(ctx.chunks);
      for (MaskReg& m : valid) m = ctx.isa->mask();
      if (is_full(operand(1)) || !move_mask(ctx, operand(1), map, valid))
        return define(move_lanes(ctx, masked_chunks(ctx, operand(0), operand(1)), map));
      const std::vector<Vec> moved = move_lanes(ctx, all_chunks(ctx, operand(0)), map, true);
      for (unsigned c = 0; c < ctx.chunks; ++c) ctx.isa->zero_unless(ctx.dst(inst, c), valid[c], moved[c]);
      return true;
    }
    case Op::dpp_valid: {
      const LaneMap map = dpp_lanes(inst.attr & 0x1ff);
      std::vector<MaskReg> valid(ctx.chunks);
      for (unsigned c = 0; c < ctx.chunks; ++c) valid[c] = ctx.dst_mask(inst, c);
      if (move_mask(ctx, operand(0), map, valid)) return true;
      std::vector<Vec> lanes(ctx.chunks);
      for (unsigned c = 0; c < ctx.chunks; ++c) lanes[c] = ctx.isa->mask_vec(ctx.mask(operand(0), c));
      const std::vector<Vec> moved = move_lanes(ctx, lanes, map);
      for (unsigned c = 0; c < ctx.chunks; ++c) ctx.isa->mask_from_vec(valid[c], moved[c]);
      return true;
    }
    case Op::swizzle: {
      return define(move_lanes(ctx, masked_chunks(ctx, operand(0), operand(1)), swizzle_lanes(inst.attr & 0xffff)));
    }
    default:
      return false;
  }
}

}  // namespace wavejit::backend
