#include "frontend/lift/ssa.h"

#include <algorithm>
#include <bit>

namespace wavejit::lift {

using ir::Inst;
using ir::Op;

namespace {

constexpr unsigned kNullSgpr = 125;  // reserved: reads 0, writes are dropped (docs/isa-decisions.md)

ir::Type type_of(PairView view) {
  return view == PairView::mask ? ir::kMask : view == PairView::i64 ? ir::kI64 : ir::kI32;
}

// How the wave state holds a row, SCC, VCCZ or field.
struct Source {
  ir::Type type;
  Op op;
  unsigned index;
};
Source source_of(unsigned variable) {
  switch (variable) {
    case kVarScc:
      return {ir::kI1, Op::get_scc, 0};
    case kVarVccz:
      return {ir::kI1, Op::get_vccz, 0};
    case kVarLdsSize:
      return {ir::kI32, Op::get_field, offsetof(WaveState, lds_size)};
    case kVarScratchBase:
      return {ir::kI64, Op::get_field, offsetof(WaveState, scratch_base)};
    case kVarInstructions:
      return {ir::kI64, Op::get_field, offsetof(WaveState, instructions)};
    default:
      return {ir::kV32, Op::get_vgpr, variable - kVarVgpr};
  }
}

}  // namespace

Ssa::Ssa(ir::Builder& builder, std::vector<BlockInfo> infos, const std::bitset<kNumRows>& resident)
    : builder_(builder), states_(infos.size()), resident_(resident), waiting_(infos.size()) {
  for (uint32_t i = 0; i < infos.size(); ++i) {
    states_[i].info = std::move(infos[i]);
  }
}

// --- filling ---------------------------------------------------------------------------------------------------------

void Ssa::start_block(uint32_t block) {
  WAVEJIT_CHECK(!filling_, "block {} is not finished", current_);
  current_ = block;
  filling_ = true;
  State& state = states_[block];
  const auto& preds = state.info.predecessors;
  if (std::all_of(preds.begin(), preds.end(), [&](uint32_t p) { return states_[p].filled; })) {
    state.sealed = true;
  } else {
    for (const uint32_t p : preds)
      if (!states_[p].filled) waiting_[p].push_back(block);
  }
  at_end_of(block);
  for (unsigned pair = 0; pair < 64; ++pair)
    if (state.info.known_full >> pair & 1) state.pairs[pair].mask = builder_.mask(~uint64_t{0});
  if (state.info.is_entry && state.info.exec != ~uint64_t{0})
    state.pairs[kExecPair].mask = builder_.mask(state.info.exec);
}

void Ssa::finish_block() {
  if (resident_.any() && !states_[current_].info.ends_wave) write_resident_rows();
  State& state = states_[current_];
  state.filled = true;
  filling_ = false;
  const uint32_t finished = current_;
  for (const uint32_t waiting : waiting_[finished]) {
    const auto& preds = states_[waiting].info.predecessors;
    if (!states_[waiting].sealed &&
        std::all_of(preds.begin(), preds.end(), [&](uint32_t p) { return states_[p].filled; }))
      seal(waiting);
  }
}

void Ssa::write_resident_rows() {
  at_end_of(current_);
  for (unsigned row = 0; row < kNumRows; ++row) {
    if (!resident_[row] || !states_[current_].defs[kVarVgpr + row]) continue;
    builder_.op(Op::write_row, {simple(current_, kVarVgpr + row)}, 0, row);
  }
}

void Ssa::seal(uint32_t block) {
  State& state = states_[block];
  state.sealed = true;
  // Completing a phi may make another block's phi, never one of this block's list.
  for (const Incomplete& entry : std::exchange(state.incomplete, {}))
    if (!replaced(entry.phi)) complete_phi(block, entry.phi, entry.variable, entry.view);
}

void Ssa::note_use(unsigned variable) {
  if (filling_ && !states_[current_].defs[variable]) states_[current_].uses.set(variable);
}

// --- phis and entry reads
// ----------------------------------------------------------------------------------------------

Inst* Ssa::make_phi(uint32_t block, ir::Type type) {
  Inst* phi = builder_.function().create(Op::phi, type);
  phi->guest_pc = states_[block].info.block->guest_pc;
  states_[block].phis.push_back(phi);
  if (phi_block_.size() <= phi->id) phi_block_.resize(2 * phi->id + 64, kNoBlock);
  phi_block_[phi->id] = block;
  return phi;
}

Inst* Ssa::get(uint32_t block, Op op, ir::Type type, unsigned index) {
  Inst* inst = builder_.function().create(op, type);
  inst->imm = index;
  inst->guest_pc = states_[block].info.block->guest_pc;
  states_[block].gets.push_back(inst);
  if (block != start_block_) return inst;
  if (op == Op::get_vgpr) {
    at_end_of(block);
    if (Inst* ids = initial_id_row(builder_, *shape_, index)) return ids;
  } else if (op == Op::get_sgpr) {
    for (unsigned i = 0; i < 3; ++i) {
      // As numbers whose bound can be seen, so that id * size + work-item is seen not to wrap.
      const uint32_t max = shape_->max_group_id(i);
      if (shape_->group_id_sgpr[i] != static_cast<int>(index) || max == UINT32_MAX) continue;
      at_end_of(block);
      return builder_.op(std::has_single_bit(max + 1) ? Op::and_ : Op::umin, {inst, builder_.i32(max)});
    }
  }
  return inst;
}

void Ssa::set_shape(uint32_t block, const DispatchShape& shape) {
  start_block_ = block;
  shape_ = &shape;
  // Nobody has written the rows of the ids: they are modified as far as those are concerned who read them later.
  for (unsigned row = 0; row < (shape.packed_ids ? 1 : shape.id_dimensions); ++row)
    states_[block].defs.set(kVarVgpr + row);
}

bool Ssa::is_initial_pair(const Inst* value, int reg) const {
  if (start_block_ == kNoBlock || reg < 0) return false;
  const auto& gets = states_[start_block_].gets;
  const auto is_get = [&](const Inst* inst, Op op, int index) {
    return inst->op == op && inst->imm == static_cast<uint64_t>(index) &&
           std::find(gets.begin(), gets.end(), inst) != gets.end();
  };
  if (value->op == Op::pack64)
    return is_get(value->operands[0], Op::get_sgpr, reg) && is_get(value->operands[1], Op::get_sgpr, reg + 1);
  return is_get(value, Op::get_sgpr64, reg);
}

Inst* Ssa::resolve(Inst* inst) const {
  while (inst && inst->id < replaced_.size() && replaced_[inst->id]) inst = replaced_[inst->id];
  return inst;
}

Inst* Ssa::complete_phi(uint32_t block, Inst* phi, unsigned variable, PairView view) {
  // By index: reading may move the vectors of states, not the states.
  const std::vector<uint32_t> preds = states_[block].info.predecessors;
  std::vector<Inst*> operands;
  operands.reserve(preds.size());
  for (const uint32_t pred : preds) operands.push_back(view_at_end(pred, variable, view));
  for (Inst*& operand : operands) {
    operand = resolve(operand);
    phi->operands.push_back(operand);
    operand->users.push_back(phi);
  }
  return try_remove(phi, block);
}

// Replaces a phi that has one value besides itself (equal constants count as one value).
Inst* Ssa::try_remove(Inst* phi, uint32_t block) {
  Inst* same = nullptr;
  bool equal_constants = false;
  for (Inst* operand : phi->operands) {
    if (operand == phi || operand == same) continue;
    if (same && same->is_const() && operand->is_const() && same->imm == operand->imm) {
      equal_constants = true;
      continue;
    }
    if (same) return phi;
    same = operand;
  }
  WAVEJIT_CHECK(same != nullptr, "a phi in unreachable code");
  if (equal_constants) {  // neither dominates the phi
    Inst* constant = builder_.function().create(Op::const_, phi->type);
    constant->imm = same->imm;
    states_[block].gets.push_back(constant);
    same = constant;
  }
  std::vector<Inst*> users;
  for (Inst* user : phi->users)
    if (user != phi && user->op == Op::phi && std::find(users.begin(), users.end(), user) == users.end())
      users.push_back(user);
  // Its own operands go first, so that it does not stay a user of `same` or of itself.
  while (!phi->operands.empty()) {
    Inst* operand = phi->operands.back();
    const auto it = std::find(operand->users.rbegin(), operand->users.rend(), phi);
    *it = operand->users.back();
    operand->users.pop_back();
    phi->operands.pop_back();
  }
  builder_.function().replace_all_uses(phi, same);
  if (replaced_.size() <= phi->id) replaced_.resize(2 * phi->id + 64);
  replaced_[phi->id] = same;
  std::erase(states_[block].phis, phi);
  for (Inst* user : users)
    if (!replaced(user) && !user->operands.empty()) try_remove(user, phi_block_[user->id]);
  return resolve(same);
}

// --- pairs
// ---------------------------------------------------------------------------------------------------------------

PairView Ssa::view_of(uint32_t block, unsigned pair) const {
  if (pair == kVccPair || pair == kExecPair) return PairView::mask;
  return states_[block].info.demand[pair];
}

// The form in which the value at the end of the block is at hand without a conversion.
PairView Ssa::natural_view(uint32_t block, unsigned pair) const {
  while (true) {
    const State& state = states_[block];
    const Pair& p = state.pairs[pair];
    if (p.mask) return PairView::mask;
    if (p.i64) return PairView::i64;
    if (p.written || p.half[0] || p.half[1]) return PairView::halves;
    if (state.starts[pair].known) return state.starts[pair].view;
    if (!state.sealed || state.info.predecessors.size() != 1) return view_of(block, pair);
    block = state.info.predecessors[0];
  }
}

// The value of the pair (of one half for PairView::halves) at the start of the block; its form is starts[pair].view.
Inst* Ssa::value_at_start(uint32_t block, unsigned pair, unsigned half) {
  State& state = states_[block];
  Start& start = state.starts[pair];
  const auto& preds = state.info.predecessors;
  if (!start.known) {
    start.known = true;
    start.view = state.sealed && preds.size() == 1 ? natural_view(preds[0], pair) : view_of(block, pair);
  }
  const PairView view = start.view;
  if (view != PairView::halves) half = 0;
  if (start.value[half]) return start.value[half] = resolve(start.value[half]);
  const unsigned variable = 2 * pair + half;
  if (preds.empty()) {
    WAVEJIT_CHECK(state.info.is_entry, "block {} has neither predecessors nor an entry", block);
    return start.value[half] = view == PairView::mask  ? get(block, Op::get_mask, ir::kMask, variable)
                               : view == PairView::i64 ? get(block, Op::get_sgpr64, ir::kI64, variable)
                                                       : get(block, Op::get_sgpr, ir::kI32, variable);
  }
  if (state.sealed && preds.size() == 1) {
    Inst* value = view_at_end(preds[0], variable, view);
    return states_[block].starts[pair].value[half] = value;
  }
  Inst* phi = make_phi(block, type_of(view));
  start.value[half] = phi;  // before the operands are read: loops come back here
  if (!state.sealed) {
    state.incomplete.push_back({phi, variable, view});
    return phi;
  }
  Inst* value = complete_phi(block, phi, variable, view);
  return states_[block].starts[pair].value[half] = value;
}

Inst* Ssa::pair_half(uint32_t block, unsigned pair, unsigned half) {
  Pair& p = states_[block].pairs[pair];
  if (p.half[half]) return p.half[half] = resolve(p.half[half]);
  Inst* whole = nullptr;
  if (p.mask || p.i64) {
    whole = pair_i64(block, pair);
  } else {  // not written here
    Inst* value = value_at_start(block, pair, half);
    const PairView view = states_[block].starts[pair].view;
    if (view == PairView::halves) return p.half[half] = value;
    at_end_of(block);
    whole = view == PairView::mask ? builder_.op(Op::mask_to_i64, {value}) : value;
    if (!p.written) {
      if (view == PairView::mask) p.mask = value;
      p.i64 = whole;
    }
  }
  at_end_of(block);
  return p.half[half] = builder_.op(half ? Op::hi32 : Op::lo32, {whole});
}

// Takes over the whole value at the start of the block if nothing of the pair is known here and it comes in one piece.
void Ssa::adopt_start(uint32_t block, unsigned pair) {
  Pair& p = states_[block].pairs[pair];
  if (p.written || p.mask || p.i64 || p.half[0] || p.half[1]) return;
  Inst* value = value_at_start(block, pair, 0);
  const PairView view = states_[block].starts[pair].view;
  (view == PairView::mask ? p.mask : view == PairView::i64 ? p.i64 : p.half[0]) = value;
}

Inst* Ssa::pair_i64(uint32_t block, unsigned pair) {
  Pair& p = states_[block].pairs[pair];
  adopt_start(block, pair);
  if (p.i64) return p.i64 = resolve(p.i64);
  if (p.mask) {
    at_end_of(block);
    p.mask = resolve(p.mask);
    return p.i64 = builder_.op(Op::mask_to_i64, {p.mask});
  }
  pair_half(block, pair, 0);
  pair_half(block, pair, 1);
  at_end_of(block);
  return p.i64 = builder_.op(Op::pack64, {resolve(p.half[0]), resolve(p.half[1])});
}

Inst* Ssa::pair_mask(uint32_t block, unsigned pair) {
  Pair& p = states_[block].pairs[pair];
  adopt_start(block, pair);
  if (p.mask) return p.mask = resolve(p.mask);
  Inst* number = pair_i64(block, pair);
  at_end_of(block);
  return p.mask = builder_.op(Op::i64_to_mask, {number});
}

// --- rows, SCC, VCCZ
// -------------------------------------------------------------------------------------------------------

Inst*& Ssa::simple_slot(uint32_t block, unsigned variable) {
  State& state = states_[block];
  if (variable == kVarScc) return state.scc;
  if (variable == kVarVccz) return state.vccz;
  if (variable >= kVarLdsSize) return state.fields[variable - kVarLdsSize];
  const unsigned row = variable - kVarVgpr;
  auto& page = state.rows[row / 64];
  if (!page) page = std::make_unique<RowPage>();
  return (*page)[row % 64];
}

Inst* Ssa::simple(uint32_t block, unsigned variable) {
  if (Inst*& slot = simple_slot(block, variable)) return slot = resolve(slot);
  State& state = states_[block];
  if (variable == kVarVccz && state.vccz_of) {
    at_end_of(block);
    return state.vccz = builder_.op(Op::not_, {builder_.op(Op::mask_any, {resolve(state.vccz_of)})});
  }
  const auto [type, op, index] = source_of(variable);
  if (is_resident(variable)) return simple_slot(block, variable) = get(block, Op::read_row, type, index);
  const auto& preds = state.info.predecessors;
  if (preds.empty()) {
    WAVEJIT_CHECK(state.info.is_entry, "block {} has neither predecessors nor an entry", block);
    return simple_slot(block, variable) = get(block, op, type, index);
  }
  if (!state.sealed) {
    Inst* phi = make_phi(block, type);
    state.incomplete.push_back({phi, variable, PairView::halves});
    return simple_slot(block, variable) = phi;
  }
  if (preds.size() == 1) {
    Inst* value = simple(preds[0], variable);
    return simple_slot(block, variable) = value;
  }
  Inst* phi = make_phi(block, type);
  simple_slot(block, variable) = phi;
  Inst* value = complete_phi(block, phi, variable, PairView::halves);
  return simple_slot(block, variable) = value;
}

Inst* Ssa::view_at_end(uint32_t block, unsigned variable, PairView view) {
  ir::Block* saved = builder_.block();
  Inst* value = nullptr;
  if (variable >= kVarScc)
    value = simple(block, variable);
  else if (view == PairView::mask)
    value = pair_mask(block, variable / 2);
  else if (view == PairView::i64)
    value = pair_i64(block, variable / 2);
  else
    value = pair_half(block, variable / 2, variable % 2);
  builder_.set_block(saved);
  return value;
}

// --- what handlers call
// -----------------------------------------------------------------------------------------------------

Inst* Ssa::read32(unsigned reg) {
  reg %= 128;
  if (reg == kNullSgpr) return builder_.i32(0);
  note_use(reg);
  return view_at_end(current_, reg, PairView::halves);
}

// Pairs that start at an odd register exist in encodings, if not in what compilers emit: they are two halves.
Inst* Ssa::read64(unsigned reg) {
  if (reg == kNullSgpr) return builder_.i64(0);
  if (reg % 2) {
    Inst* low = read32(reg);
    return builder_.op(Op::pack64, {low, read32(reg + 1)});
  }
  note_use(reg);
  note_use(reg + 1);
  return view_at_end(current_, reg, PairView::i64);
}

Inst* Ssa::read_mask(unsigned reg) {
  if (reg % 2) return builder_.op(Op::i64_to_mask, {read64(reg)});
  // The constant of a pair known to be full needs no register.
  const State& state = states_[current_];
  if (!(state.info.known_full >> (reg / 2) & 1) || state.pairs[reg / 2].written) {
    note_use(reg);
    note_use(reg + 1);
  }
  return view_at_end(current_, reg, PairView::mask);
}

void Ssa::write32(unsigned reg, Inst* value) {
  reg %= 128;
  if (reg == kNullSgpr) return;
  const unsigned pair = reg / 2, half = reg % 2;
  Pair& p = states_[current_].pairs[pair];
  Inst* other = p.half[half ^ 1];
  if (!other && (p.mask || p.i64)) other = view_at_end(current_, reg ^ 1, PairView::halves);
  p.half[half] = value;
  p.half[half ^ 1] = other;
  p.mask = p.i64 = nullptr;
  p.written = true;
  states_[current_].defs.set(reg);
}

void Ssa::write64(unsigned reg, Inst* value) {
  if (reg == kNullSgpr) return;
  if (reg % 2 || reg == sreg::kM0) {
    Inst* low = builder_.op(Op::lo32, {value});
    write32(reg + 1, builder_.op(Op::hi32, {value}));
    write32(reg, low);
    return;
  }
  if (reg / 2 == kVccPair || reg / 2 == kExecPair) {
    write_mask(reg, builder_.op(Op::i64_to_mask, {value}));
    return;
  }
  Pair& p = states_[current_].pairs[reg / 2];
  p = {.i64 = value, .written = true};
  states_[current_].defs.set(reg).set(reg + 1);
}

void Ssa::write_mask(unsigned reg, Inst* value) {
  if (reg % 2 || reg == sreg::kM0) return write64(reg, builder_.op(Op::mask_to_i64, {value}));
  State& state = states_[current_];
  state.pairs[reg / 2] = {.mask = value, .written = true};
  state.defs.set(reg).set(reg + 1);
  if (reg / 2 == kVccPair) {
    state.vccz = nullptr;
    state.vccz_of = value;
    state.defs.set(kVarVccz);
  }
}

Inst* Ssa::read_row(unsigned row) {
  note_use(kVarVgpr + row);
  return view_at_end(current_, kVarVgpr + row, PairView::halves);
}

void Ssa::write_row(unsigned row, Inst* value) {
  simple_slot(current_, kVarVgpr + row) = value;
  states_[current_].defs.set(kVarVgpr + row);
}

Inst* Ssa::read_scc() {
  note_use(kVarScc);
  return view_at_end(current_, kVarScc, PairView::halves);
}

void Ssa::write_scc(Inst* value) {
  states_[current_].scc = value;
  states_[current_].defs.set(kVarScc);
}

Inst* Ssa::read_vccz() {
  note_use(kVarVccz);
  return view_at_end(current_, kVarVccz, PairView::halves);
}

void Ssa::update_vccz() {
  Inst* vcc = read_mask(sreg::kVccLo);
  State& state = states_[current_];
  state.vccz = nullptr;
  state.vccz_of = vcc;
  state.defs.set(kVarVccz);
}

void Ssa::write_vccz(Inst* value) {
  State& state = states_[current_];
  state.vccz = value;
  state.vccz_of = nullptr;
  state.defs.set(kVarVccz);
}

// A variable like any other: whatever becomes of blocks and branches, the sum that arrives at an exit is that of the
// way taken, once per wave.
void Ssa::count_instructions(uint64_t count) {
  Inst* before = view_at_end(current_, kVarInstructions, PairView::halves);
  simple_slot(current_, kVarInstructions) = builder_.op(Op::add, {before, builder_.i64(count)});
  states_[current_].defs.set(kVarInstructions);
}

// --- after filling
// ------------------------------------------------------------------------------------------------------------

void Ssa::compute_modified(const std::vector<Leaving>& leaving) {
  std::vector<uint32_t> work;
  for (uint32_t i = 0; i < states_.size(); ++i) {
    states_[i].modified_out = states_[i].defs;
    work.push_back(i);
  }
  while (!work.empty()) {
    const uint32_t block = work.back();
    work.pop_back();
    for (const uint32_t next : leaving[block].successors) {
      const VarSet merged = states_[next].modified_out | states_[block].modified_out;
      if (merged == states_[next].modified_out) continue;
      states_[next].modified_out = merged;
      work.push_back(next);
    }
  }
}

void Ssa::compute_liveness(const std::vector<Leaving>& leaving) {
  VarSet rows;
  for (unsigned row = 0; row < kNumRows; ++row) rows.set(kVarVgpr + row);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = static_cast<uint32_t>(states_.size()); i-- > 0;) {
      State& state = states_[i];
      const auto live_out = [&](VarSet State::* in) {
        VarSet live;
        for (const uint32_t next : leaving[i].successors) live |= states_[next].*in;
        if (leaving[i].resumes_at != kNoBlock)
          live |= leaving[i].resumes_with_any_exec ? live_at_start_any_exec(leaving[i].resumes_at)
                                                   : states_[leaving[i].resumes_at].*in;
        if (leaving[i].unknown) live.set();
        return live;
      };
      const VarSet live = state.uses | (live_out(&State::live_in) & ~state.defs);
      const VarSet any = state.uses | (state.defs & rows) | (live_out(&State::live_in_any_exec) & (~state.defs | rows));
      changed |= live != state.live_in || any != state.live_in_any_exec;
      state.live_in = live;
      state.live_in_any_exec = any;
    }
  }
}

void Ssa::write_back(uint32_t block, const VarSet& variables, ir::Block* where) {
  const auto set = [&](Op op, Inst* value, unsigned index, Op same_get) {
    value = resolve(value);
    if (value->op == same_get && value->imm == index) return;  // still what the wave state holds
    builder_.set_block(where ? where : states_[block].info.block);
    builder_.op(op, {value}, 0, index);
  };
  for (unsigned pair = 0; pair < 64; ++pair) {
    const bool low = variables[2 * pair], high = variables[2 * pair + 1];
    if (!low && !high) continue;
    const Pair& p = states_[block].pairs[pair];
    if (pair == kVccPair || pair == kExecPair ||
        (low && high && (p.mask || (!p.i64 && view_of(block, pair) == PairView::mask)))) {
      set(Op::set_mask, view_at_end(block, 2 * pair, PairView::mask), 2 * pair, Op::get_mask);
    } else if (low && high && (p.i64 || (!p.half[0] && !p.half[1] && view_of(block, pair) == PairView::i64))) {
      set(Op::set_sgpr64, view_at_end(block, 2 * pair, PairView::i64), 2 * pair, Op::get_sgpr64);
    } else {
      for (unsigned reg = 2 * pair; reg < 2 * pair + 2; ++reg)
        if (variables[reg]) set(Op::set_sgpr, view_at_end(block, reg, PairView::halves), reg, Op::get_sgpr);
    }
  }
  if (variables[kVarScc]) set(Op::set_scc, simple(block, kVarScc), 0, Op::get_scc);
  if (variables[kVarVccz]) set(Op::set_vccz, simple(block, kVarVccz), 0, Op::get_vccz);
  for (unsigned row = 0; row < kNumRows; ++row)
    if (variables[kVarVgpr + row] && !resident_[row])
      set(Op::set_vgpr, simple(block, kVarVgpr + row), row, Op::get_vgpr);
  if (variables[kVarInstructions])
    set(Op::set_field, simple(block, kVarInstructions), offsetof(WaveState, instructions), Op::get_field);
}

void Ssa::finish() {
  for (State& state : states_) {
    WAVEJIT_CHECK(state.filled && state.sealed && state.incomplete.empty(), "a block was not filled");
    std::vector<Inst*> insts = state.phis;
    insts.insert(insts.end(), state.gets.begin(), state.gets.end());
    for (Inst* inst : insts) inst->parent = state.info.block;
    insts.insert(insts.end(), state.info.block->insts.begin(), state.info.block->insts.end());
    state.info.block->insts = std::move(insts);
  }
}

}  // namespace wavejit::lift
