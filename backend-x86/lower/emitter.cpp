// The driver: order of blocks and segments, fusion of compares into their users, the floating-point environment.
#include "backend-x86/lower/emitter.h"

#include <algorithm>
#include <map>
#include <new>
#include <set>

#include "backend-x86/lower/narrow_values.h"
#include "internal/semantics/rounding.h"
#include "internal/stop_scope.h"
#include "ir/matrix.h"
#include "ir/text.h"

namespace wavejit::backend {

using ir::Effect;
using ir::Space;

namespace {
namespace fpenv = ir::fpenv;

// Instructions of a segment from which its order is looked at.
constexpr size_t kMinScheduled = 32;

std::unique_ptr<VectorIsa> make_isa(Tier tier, lir::Builder& cc, DataPool& pool, FaultLog& faults) {
  return tier == Tier::avx512 ? make_avx512(cc, pool, faults) : make_avx2(cc, pool, faults);
}

// Memory that an access may touch, as a set: flat addresses reach all of it.
unsigned space_bits(Space space) {
  switch (space) {
    case Space::global:
      return 1;
    case Space::lds:
      return 2;
    case Space::scratch:
      return 4;
    case Space::flat:
      return 7;
  }
  return 7;
}

// Scalar registers [first, first + count) that an access to the wave state covers.
struct StateRange {
  uint64_t first, count;
};
StateRange state_range(const ir::Inst& inst) {
  switch (inst.op) {
    case ir::Op::get_sgpr:
    case ir::Op::set_sgpr:
      return {inst.imm, 1};
    case ir::Op::get_sgpr64:
    case ir::Op::set_sgpr64:
    case ir::Op::get_mask:
    case ir::Op::set_mask:
      return {inst.imm, 2};
    default:
      return {0, 0};
  }
}
bool overlap(StateRange a, StateRange b) {
  return a.count != 0 && b.count != 0 && a.first < b.first + b.count && b.first < a.first + a.count;
}

uint32_t mxcsr(uint32_t attr) {
  return rounding::mxcsr(attr & fpenv::kRoundMask, (attr & fpenv::kKeepInputDenorm) != 0,
                         (attr & fpenv::kKeepOutputDenorm) != 0);
}

}  // namespace

Emitter::Emitter(const ir::Function& function, lir::Builder& cc, const CompileOptions& options, unsigned tile)
    : function_(function),
      cc_(cc),
      lir_(cc.function()),
      options_(options),
      tile_(tile),
      pool_(cc),
      faults_(cc),
      isa_(make_isa(options.tier, cc, pool_, faults_)),
      chunks_(tile / isa_->lanes),
      shapes_(function),
      lane_tables_(function, shapes_),
      lane_addresses_(function, shapes_, isa_->lanes, on(Optimisation::lane_addresses),
                      on(Optimisation::clamped_indices)),
      liveness_(function),
      regions_(
          function, liveness_, shapes_, isa_->budget(), chunks_,
          [](const Inst& inst) { return shape(inst) != Shape::barrier && !ir::is_matrix_op(inst.op); },
          on(Optimisation::tile_regions), on(Optimisation::divergent_regions)),
      classes_(function, liveness_,
               [this](const ir::Inst& phi, const ir::Inst& value) {
                 if (!on(Optimisation::phi_registers)) return false;
                 if (regions_.of(phi.parent) != regions_.of(value.parent)) return false;
                 if (!may_share(phi, value)) return false;
                 return phi.type.is_scalar() || !is_uniform(&phi);
               }),
      indexed_addresses_(function, shapes_, lane_addresses_, classes_, isa_->lanes,
                         on(Optimisation::indexed_addresses)),
      values_(function.num_values()),
      invariant_(function.num_values()),
      wanted_halves_(function.num_values(), kAllHalves),
      fused_(function.num_values()),
      wide_(function.num_values()),
      in_state_(function.num_values()),
      with_access_(function.num_values()),
      labels_(function.num_block_ids()),
      read_in_segment_(function.num_values()) {}

// Values in general registers share with their like only, and not where cold paths look at them again later.
bool Emitter::may_share(const Inst& phi, const Inst& value) const {
  const bool scalar = lane_addresses_.is_scalar(&value);
  if (scalar != lane_addresses_.is_scalar(&phi)) return false;
  return std::none_of(value.users.begin(), value.users.end(), [&](const Inst* user) {
    return lane_addresses_.is_scalar(user) && !lane_addresses_.of(user).guards.empty();
  });
}

std::optional<Emitter::EnvNeed> Emitter::env_needed(const Inst& inst) {
  constexpr uint32_t kKeep = fpenv::kKeepInputDenorm | fpenv::kKeepOutputDenorm;
  const auto exactly = [](uint32_t attr) { return EnvNeed{mxcsr(attr), kEnvAll}; };
  const auto rounding = [](uint32_t attr) { return EnvNeed{mxcsr((attr & fpenv::kRoundMask) | kKeep), kEnvRounding}; };
  switch (ir::op_info(inst.op).environment) {
    case ir::FpUse::none:
      return std::nullopt;
    case ir::FpUse::mode:
      return exactly(inst.attr);
    case ir::FpUse::rounding:
      return rounding(inst.attr);
    case ir::FpUse::nearest:
      return rounding(0);
    case ir::FpUse::nearest_mode:
      return exactly(inst.attr & kKeep);
    case ir::FpUse::input_denorms:
      return EnvNeed{mxcsr(inst.attr), kEnvInputDenorm};
    case ir::FpUse::any_helper:
      return EnvNeed{kHelperEnv, 0};
    case ir::FpUse::helper:
      return EnvNeed{kHelperEnv, kEnvAll};
    case ir::FpUse::atomic:
      break;
  }
  // Atomics on LDS follow MODE; on other memory they keep denormals whatever MODE says.
  const ir::AtomicOp op = inst.mem.atomic_op;
  const bool is_float =
      (op >= ir::AtomicOp::fadd_f32 && op <= ir::AtomicOp::pk_fadd_bf16) || op >= ir::AtomicOp::fcmpswap_f32;
  if (!is_float) return std::nullopt;
  return exactly(inst.mem.space == Space::lds ? inst.attr : kKeep);
}

std::optional<Emitter::EnvNeed> Emitter::env_with_fused(const Inst& inst) const {
  if (const auto folded = divisions_.find(inst.id); folded != divisions_.end()) return env_needed(*folded->second);
  if (const auto need = env_needed(inst)) return need;
  for (const Inst* operand : inst.operands) {
    if (!is_fused(operand)) continue;
    if (const auto need = env_with_fused(*operand)) return need;
  }
  return std::nullopt;
}

void Emitter::set_env(const EnvNeed& need) {
  if ((env_ & need.care) == (need.bits & need.care)) return;
  cc_.ldmxcsr(pool_.get(&need.bits, 4));
  env_ = need.bits;
}

Emitter::Shape Emitter::shape(const Inst& inst) {
  const ir::OpInfo& info = ir::op_info(inst.op);
  if (info.effect == Effect::control) return Shape::terminator;
  if (info.whole_wave || is_store_of_wave(inst)) return Shape::barrier;
  // Operations on scalars only are scalar; everything else that remains works lane by lane.
  const auto lanes = [](ir::Type t) { return t.is_vector() || t.is_mask(); };
  const bool any = lanes(inst.type) || std::any_of(inst.operands.begin(), inst.operands.end(),
                                                   [&](const Inst* o) { return lanes(o->type); });
  return any ? Shape::chunk : Shape::scalar;
}

void Emitter::fail(const Inst& inst, const std::string& why) {
  if (error_) return;
  Error error{.code = ErrorCode::kUnsupported,
              .message = fmt::format("The {} backend does not support the IR operation '{}'{}{} (guest pc {:#x}).",
                                     to_string(options_.tier), ir::op_info(inst.op).mnemonic, why.empty() ? "" : ": ",
                                     why, inst.guest_pc)};
  if (inst.guest_pc != 0) error.pc = inst.guest_pc;
  error_ = std::move(error);
}

void Emitter::annotate(const Inst& inst) {
  annotated_ = &inst;
  if (options_.listing != ListingKind::none) cc_.comment(ir::print(inst));
}

void Emitter::cold(const std::function<void()>& body) {
  lir::Node* const hot = cc_.set_cursor(lir_.last());
  const uint32_t env = env_;
  const bool narrow = cc_.set_narrow(false);
  if (options_.listing != ListingKind::none && annotated_ != nullptr) cc_.comment("cold: " + ir::print(*annotated_));
  body();
  cc_.set_narrow(narrow);
  env_ = env;
  cc_.set_cursor(hot);
}

bool Emitter::can_sink(const Inst& inst, const Inst& user) const {
  if (inst.parent != user.parent || classes_.is_shared(&inst)) return false;
  return std::none_of(inst.operands.begin(), inst.operands.end(), [&](const Inst* operand) {
    const Inst* place = operand->op == Op::extract ? operand->operands[0] : operand;
    if (is_fused(operand) && !can_sink(*operand, user)) return true;
    return classes_.rewritten_between(operand, inst, user) || classes_.rewritten_between(place, inst, user);
  });
}

// Values that are not emitted where they stand, but as part of their only user.
// 64-bit values that come from memory or go there in halves: the access takes them whole.
void Emitter::plan_wide_accesses() {
  for (const auto& block : function_.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::load && inst->op != Op::store) continue;
      if (inst->mem.bytes != 4 || inst->mem.space == ir::Space::scratch) continue;
      if (inst->mem.count != 2 && (inst->mem.count != 4 || inst->op == Op::store)) continue;
      const Inst* address = lane_operand(*inst);
      if (address == nullptr || is_uniform(address)) continue;
      inst->op == Op::load ? plan_wide_load(*inst) : plan_wide_store(*inst);
    }
  }
}

void Emitter::plan_wide_load(const Inst& load) {
  std::array<const Inst*, 4> halves{};
  for (const Inst* user : load.users) {
    if (user->op != Op::extract || user->users.size() != 1 || halves[user->imm] != nullptr) return;
    halves[user->imm] = user;
  }
  WideValues wide;
  for (unsigned i = 0; i < load.mem.count; i += 2) {
    const Inst *low = halves[i], *high = halves[i + 1];
    if (low == nullptr || high == nullptr) return;
    const Inst* whole = low->users[0];
    if (whole->op != Op::pack64 || whole->type != ir::kV64) return;
    if (whole->operands[0] != low || whole->operands[1] != high) return;
    if (whole->parent != load.parent || lane_addresses_.is_scalar(whole)) return;
    // Its registers are written before its place.
    if (classes_.is_shared(whole) || classes_.is_shared(low) || classes_.is_shared(high)) return;
    wide.pairs[i / 2] = whole;
  }
  wide_[load.id] = wide;
  for (const Inst* half : std::span(halves).first(load.mem.count))
    with_access_[half->id] = with_access_[half->users[0]->id] = true;
}

void Emitter::plan_wide_store(const Inst& store) {
  const size_t count = store.operands.size();
  const Inst *low = store.operands[count - 2], *high = store.operands[count - 1];
  if (low->op != Op::lo32 || high->op != Op::hi32 || low->operands[0] != high->operands[0]) return;
  const Inst* whole = low->operands[0];
  if (whole->type != ir::kV64 || lane_addresses_.is_scalar(whole)) return;
  for (const Inst* half : {low, high}) {
    if (half->users.size() != 1 || lane_addresses_.is_scalar(half) || !can_sink(*half, store)) return;
  }
  wide_[store.id].pairs[0] = whole;
  with_access_[low->id] = with_access_[high->id] = true;
}

void Emitter::plan_fusions() {
  const auto single = [&](const Inst* value, const Inst& user) {
    return value->users.size() == 1 && can_sink(*value, user) && !fused_[user.id];
  };
  for (const auto& block : function_.blocks) {
    for (const Inst* inst : block->insts) {
      switch (inst->op) {
        case Op::cond_br: {
          const Inst* user = inst;
          const Inst* condition = inst->operands[0];
          while (condition->op == Op::not_ && single(condition, *user)) {
            fused_[condition->id] = true;
            user = condition;
            condition = condition->operands[0];
            if (condition->parent != block.get()) break;
          }
          const bool direct = condition->op == Op::mask_any || condition->op == Op::mask_all;
          if (direct && condition->type == ir::kI1 && condition->users.size() == 1 && can_sink(*condition, *inst)) {
            fused_[condition->id] = true;
          }
          break;
        }
        case Op::mask_any: {
          const Inst* compare = inst->operands[0];
          if (compare->op == Op::fcmp_f32 && is_narrow(compare) && single(compare, *inst) &&
              float_condition(compare->attr >> ir::fpenv::kFCmpShift))
            fused_[compare->id] = true;
          break;
        }
        case Op::and_: {
          if (inst->type != ir::kMask) break;
          for (const Inst* operand : inst->operands) {
            const bool compare = operand->op == Op::icmp || operand->op == Op::fcmp_f32 || operand->op == Op::fcmp_f64;
            if (compare && single(operand, *inst) && inst->operands[0] != inst->operands[1]) {
              fused_[operand->id] = true;
              break;
            }
          }
          break;
        }
        case Op::splat: {
          const Inst* scalar = inst->operands[0];
          const Inst* load = scalar->op == Op::extract ? scalar->operands[0] : scalar;
          const bool dword = load->op == Op::load_lane && load->mem.bytes == 4 && load->mem.space != Space::flat &&
                             (load->mem.count == 1) == (load == scalar) && load->operands[0]->is_const(1);
          // Users of other kinds may take the scalar.
          const bool computes = std::all_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) {
            const bool bitwise = user->op == Op::xor_ || user->op == Op::and_;
            const bool here = bitwise ? is_narrow(inst) : user->op >= Op::fadd_f32 && user->op <= Op::fcmp_f32;
            return (user->op == Op::phi && is_narrow(inst)) || (user->parent == inst->parent && here);
          });
          if (!dword || !computes || lane_addresses_.is_scalar(inst) || !single(scalar, *inst)) break;
          // One of several dwords: the load makes the vector.
          if (load != scalar) {
            fused_[scalar->id] = is_narrow(inst) && on(Optimisation::uniform_values) && load->parent == inst->parent;
            break;
          }
          // No other access in between, so that the first of several faults stays the first, and nothing is stored.
          const auto after = std::find(block->insts.begin(), block->insts.end(), load);
          if (std::none_of(after, std::find(after, block->insts.end(), inst),
                           [load](const Inst* other) { return other != load && !ir::is_pure(other->op); }))
            fused_[load->id] = true;
          break;
        }
        case Op::load_lane:
        case Op::store_lane:
          plan_lane_address(*inst);
          // One vmovd stores the lowest dword of a vector: the store takes the vector, and the readlane is not emitted.
          for (size_t i = 2; inst->op == Op::store_lane && inst->mem.bytes == 4 && i < inst->operands.size(); ++i) {
            const Inst* value = inst->operands[i];
            if (value->op == Op::readlane && value->operands[1]->is_const(0) && single(value, *inst))
              fused_[value->id] = true;
          }
          break;
        case Op::select: {
          if (!isa_->merges() || inst->type != ir::kV32 || inst->operands[0]->type != ir::kMask) break;
          const Inst* value = inst->operands[1];
          if (is_mergeable(*value) && single(value, *inst)) fused_[value->id] = true;
          break;
        }
        default:
          break;
      }
    }
  }
}

// Compares of scalars whose only readers are branches and selects of scalars, directly or through `not`, are made by each
// reader, which looks at the flags: no register holds the condition. Readers of the opposite of a condition that is in a
// register look at that one.
void Emitter::plan_conditions() {
  Users readers;
  for (const auto& block : function_.blocks) {
    for (const Inst* inst : block->insts) {
      if ((inst->op != Op::icmp && inst->op != Op::not_) || inst->type != ir::kI1 || fused_[inst->id]) continue;
      readers.clear();
      if (!add_readers_of_condition(*inst, readers)) continue;
      if (!std::all_of(readers.begin(), readers.end(),
                       [&](const Inst* reader) { return is_recomputable(*inst, *reader); }))
        continue;
      fused_[inst->id] = true;
      for (const Inst* user : inst->users)
        if (user->op == Op::not_) fused_[user->id] = true;
    }
  }
}

// False if something else needs the condition as a number.
bool Emitter::add_readers_of_condition(const Inst& condition, Users& readers) const {
  constexpr size_t kMostReaders = 8;
  if (condition.users.empty() || classes_.is_shared(&condition)) return false;
  return std::all_of(condition.users.begin(), condition.users.end(), [&](const Inst* user) {
    if (user->op == Op::not_ && condition.op != Op::not_) return add_readers_of_condition(*user, readers);
    const bool reads_flags =
        user->op == Op::cond_br || (user->op == Op::select && user->type.is_scalar() &&
                                    user->operands[1] != &condition && user->operands[2] != &condition);
    if (!reads_flags || readers.size() == kMostReaders) return false;
    readers.push_back(user);
    return true;
  });
}

// Whether what is compared is in its registers where the condition is read. At most one value's registers are kept longer
// than they would be.
bool Emitter::is_recomputable(const Inst& compare, const Inst& reader) const {
  if (regions_.of(compare.parent) != regions_.of(reader.parent)) return false;
  unsigned kept = 0;
  for (const Inst* operand : compare.operands) {
    if (operand->is_const() || operand->op == Op::undef) continue;
    const bool read = std::find(reader.operands.begin(), reader.operands.end(), operand) != reader.operands.end();
    if (read || liveness_.live_after(*operand, reader)) continue;
    const Inst* place = operand->op == Op::extract ? operand->operands[0] : operand;
    const bool next_to_it = compare.parent == reader.parent && !classes_.rewritten_between(operand, compare, reader) &&
                            !classes_.rewritten_between(place, compare, reader);
    if (!next_to_it && (classes_.is_shared(operand) || classes_.is_shared(place) || ++kept > 1)) return false;
  }
  return true;
}

Expected<void> Emitter::run() {
  if (on(Optimisation::narrow_values)) narrow_ = find_narrow_values(function_, shapes_);
  if (on(Optimisation::folded_divisions)) plan_divisions();
  if (on(Optimisation::fusion)) {
    plan_conditions();
    plan_fusions();
  }
  if (on(Optimisation::negations)) plan_negations();
  if (on(Optimisation::ternary_logic)) plan_ternary_logic();
  if (on(Optimisation::wide_pairs)) plan_wide_accesses();
  if (on(Optimisation::walks)) plan_walks();
  for (const ir::Loop& loop : ir::find_loops(ir::Dominators(function_)))
    blocks_of_loops_.insert(loop.body.begin(), loop.body.end());
  if (on(Optimisation::prefetch)) plan_prefetches();
  if (on(Optimisation::streaming_stores)) plan_streaming_store();
  emit_prologue();
  // Blocks in layout order; a tile region stands where its first block does. Rare blocks are cold code.
  std::vector<const ir::Block*> order, rare;
  std::set<const TileRegion*> listed;
  for (const auto& block : function_.blocks) {
    const TileRegion* region = regions_.of(block.get());
    if (region == nullptr) {
      (block->rare ? rare : order).push_back(block.get());
    } else if (listed.insert(region).second) {
      order.push_back(region->header);
    }
  }
  for (size_t i = 0; i < order.size() && !error_; ++i) {
    const Label next = i + 1 < order.size() ? labels_[order[i + 1]->id] : Label();
    if (const TileRegion* region = regions_.of(order[i])) {
      emit_region(*region, next);
    } else {
      emit_block(*order[i]);
      if (!error_) emit_terminator(*order[i], next);
    }
  }
  for (size_t i = 0; i < rare.size() && !error_; ++i) {
    annotated_ = nullptr;
    cold([&] {
      emit_block(*rare[i]);
      if (!error_) emit_terminator(*rare[i], Label());
    });
  }
  if (error_) return tl::make_unexpected(*error_);
  return {};
}

void Emitter::emit_prologue() {
  lir_.avx512 = options_.tier == Tier::avx512;
  // The trampolines align the stack for all that frames hold. A frame that did it itself would keep an older stack
  // pointer, and could not be moved (parking.h).
  lir_.stack_alignment = kStackAlignment;
  wave_ = cc_.new_gp64("wave");
  entry_index_ = cc_.new_gp32("entry");
  lir_.arguments = {wave_, entry_index_};
  // Cold code goes behind the exit.
  lir::Node* const begin = cc_.cursor();
  cc_.finish();
  cc_.set_cursor(begin);

  // The environment that most operations want is the one between blocks.
  std::map<uint32_t, size_t> wanted;
  for (const auto& block : function_.blocks) {
    labels_[block->id] = cc_.new_label();
    decide_invariance(*block);
    for (const Inst* inst : block->insts) {
      if (const auto need = env_needed(*inst)) wanted[need->bits] += need->care != 0 ? 1 : 0;
    }
  }
  const auto most =
      std::max_element(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != wanted.end()) {
    env_ = ~most->first;  // unknown: every bit that matters differs
    canonical_env_ = most->first;
    set_env({canonical_env_, kEnvAll});
  } else {
    env_ = canonical_env_ = mxcsr(0);  // nobody sets it: denormals may be taken for 0
  }
  if (on(Optimisation::idle_chunks)) plan_idle_chunks();
  plan_matrix_homes();
  if (on(Optimisation::sums_first) && on(Optimisation::rolled_segments)) plan_sum_homes();
  emit_entry_dispatch();
}

// One register for all chunks, which is also its phi's: written behind the last chunk, as all of them may read what is
// there before.
bool Emitter::is_deferred(const Inst& inst) const {
  return classes_.is_shared(&inst) && !inst.type.is_scalar() && is_invariant(&inst);
}

bool Emitter::must_flush_before(const Inst& inst, Shape shape) const {
  if (segment_.empty()) return false;
  if (shape == Shape::barrier || shape == Shape::terminator || !on(Optimisation::segments)) return true;
  if (shape == Shape::chunk) {
    const bool matrix = ir::is_matrix_op(inst.op);
    if (matrix != ir::is_matrix_op(segment_.back()->op) || (matrix && reads_lanes_of(inst, segment_))) return true;
    // One environment per segment, so that it is not switched in every chunk.
    const auto need = env_with_fused(inst);
    if (need && segment_env_ && ((need->bits ^ segment_env_->bits) & need->care & segment_env_->care) != 0) return true;
  }
  const bool shared = classes_.is_shared(&inst);
  const Inst* own = classes_.representative(&inst);
  if (conflicts_with_segment(inst)) return true;
  const bool read = read_in_segment_[own->id] == segment_number_;
  if (shape == Shape::chunk) {
    // What those that wait for the last chunk are to read or have made.
    const auto& deferred = segment_facts_.deferred;
    if (std::any_of(deferred.begin(), deferred.end(), [&](const Inst* pending) {
          return (shared && !is_deferred(inst) && reads_class(*pending, own)) ||
                 reads_class(inst, classes_.representative(pending));
        })) {
      return true;
    }
    return read && is_deferred(inst) && !ir::is_pure(inst.op);
  }
  // Scalar instructions overtake the pending segment.
  if (shared && read) return true;
  const StateRange range = state_range(inst);
  const auto& state = segment_facts_.state;
  return range.count != 0 && std::any_of(state.begin(), state.end(), [&](const Inst* pending) {
           const bool writes =
               ir::op_info(inst.op).effect == Effect::writes || ir::op_info(pending->op).effect == Effect::writes;
           return writes && overlap(range, state_range(*pending));
         });
}

bool Emitter::accesses_lds(const Inst& inst) {
  if (inst.op != Op::load && inst.op != Op::load_edges && inst.op != Op::store && inst.op != Op::store_edges)
    return false;
  return inst.mem.space == Space::lds || inst.mem.space == Space::flat;
}

namespace {

// What the offset is below in all lanes of the mask.
uint64_t guard_of(const ir::Inst* mask, const ir::Inst* offset) {
  if (mask->op == ir::Op::and_)
    return std::min(guard_of(mask->operands[0], offset), guard_of(mask->operands[1], offset));
  const bool below =
      mask->op == ir::Op::icmp && static_cast<ir::ICmp>(mask->attr) == ir::ICmp::ult && mask->operands[0] == offset;
  return below && mask->operands[1]->is_const() ? mask->operands[1]->imm : uint64_t{1} << 32;
}

// The largest number of these bits that is less than the limit.
int64_t largest_below(uint64_t possible, uint64_t limit) {
  uint64_t number = 0;
  for (unsigned bit = 32; bit-- > 0;) {
    const uint64_t with = number | uint64_t{1} << bit;
    if ((possible >> bit & 1) != 0 && with < limit) number = with;
  }
  return static_cast<int64_t>(number);
}

}  // namespace

Emitter::LdsAccess Emitter::lds_access(const Inst& inst) const {
  LdsAccess access{.stores = inst.op == Op::store || inst.op == Op::store_edges};
  if (inst.mem.form == ir::AddressForm::lds_offset && inst.mem.imm >= 0) {
    const auto maximum = [&](const Inst* value) {
      return static_cast<int64_t>(std::min<uint64_t>(shapes_.bits().of(value).maximum, UINT32_MAX));
    };
    const Inst* offset = inst.operands[1];
    int64_t least = 0, most = std::min(maximum(offset), largest_below(shapes_.bits().of(offset).possible,
                                                                      guard_of(inst.operands[0], offset)));
    if (offset->op == Op::add && offset->operands[1]->is_const()) {
      const auto constant = static_cast<int64_t>(static_cast<uint32_t>(offset->operands[1]->imm));
      const int64_t sum = constant + maximum(offset->operands[0]);
      if (sum <= UINT32_MAX) {
        least = constant;
        most = std::min(most, sum);
      }
    }
    access.begin = least + inst.mem.imm;
    access.end = most + inst.mem.imm + int64_t{inst.mem.bytes} * inst.mem.count;
  }
  return access;
}

// Whether the segment, chunk after chunk, might order the memory access and those before it in another way than lockstep.
// Those of the LDS are emit_chunks' business, unless scalar code overtakes them.
bool Emitter::conflicts_with_segment(const Inst& inst) const {
  const bool loads = inst.op == Op::load || inst.op == Op::load_edges || inst.op == Op::load_scalar;
  const bool stores = inst.op == Op::store || inst.op == Op::store_edges;
  if (!loads && !stores) return false;
  if (inst.op == Op::load_scalar) return segment_facts_.stores != 0;
  const unsigned spaces = space_bits(inst.mem.space) & ~space_bits(Space::lds);
  return (spaces & segment_facts_.stores) != 0 || (stores && (spaces & segment_facts_.loads) != 0);
}

void Emitter::add_to_segment(const Inst& inst) {
  segment_.push_back(&inst);
  const bool loads = inst.op == Op::load || inst.op == Op::load_edges;
  if (loads || inst.op == Op::store || inst.op == Op::store_edges) {
    (loads ? segment_facts_.loads : segment_facts_.stores) |= space_bits(inst.mem.space);
  }
  if (is_deferred(inst)) segment_facts_.deferred.push_back(&inst);
  if (state_range(inst).count != 0) segment_facts_.state.push_back(&inst);
  note_reads(inst);
}

// reads_class for all classes.
void Emitter::note_reads(const Inst& inst) {
  for (const Inst* operand : inst.operands) {
    read_in_segment_[classes_.representative(operand)->id] = segment_number_;
    if (is_fused(operand)) note_reads(*operand);
  }
}

// Whether the instruction, or one that is emitted with it, reads the registers of `own`.
bool Emitter::reads_class(const Inst& inst, const Inst* own) const {
  return std::any_of(inst.operands.begin(), inst.operands.end(), [&](const Inst* operand) {
    return classes_.representative(operand) == own || (is_fused(operand) && reads_class(*operand, own));
  });
}

// What has no code at its own place.
bool Emitter::is_left_out(const Inst& inst) const {
  if (inst.op == Op::phi || is_fused(&inst) || with_access_[inst.id] || in_state_[inst.id]) return true;
  return indexed_addresses_.is_absorbed(&inst) || (ir::is_pure(inst.op) && inst.users.empty());
}

void Emitter::emit_block(const ir::Block& block) {
  cc_.bind(pass_ ? pass_->labels[block.id] : labels_[block.id]);
  env_ = canonical_env_;
  indices_.clear();
  forget_rows();
  plan_matrix_rows(block);
  for (const Inst* inst : block.insts) {
    if (error_) return;
    if (is_left_out(*inst)) continue;
    const Shape s = shape(*inst);
    if (must_flush_before(*inst, s)) flush_segment();
    switch (s) {
      case Shape::terminator:
        break;
      case Shape::chunk:
        if (const auto need = env_with_fused(*inst)) {
          // It agrees with what the segment needs so far, and may need more.
          const EnvNeed before = segment_env_.value_or(*need);
          segment_env_ = EnvNeed{(before.bits & ~need->care) | (need->bits & need->care), before.care | need->care};
        }
        if (ir::is_matrix_op(inst->op)) store_matrix_rows(*inst);
        add_to_segment(*inst);
        break;
      case Shape::scalar:
        annotate(*inst);
        emit_scalar(*inst);
        break;
      case Shape::barrier:
        annotate(*inst);
        if (const auto need = env_with_fused(*inst)) set_env(*need);
        emit_barrier(*inst);
        break;
    }
  }
}

// The passes one after another: each loads its values, runs the whole loop, and hands its results over.
void Emitter::emit_region(const TileRegion& region, const Label& next) {
  cc_.bind(labels_[region.header->id]);
  size_t outside = 0;
  while (region.contains(region.header->predecessors[outside])) ++outside;
  Label start;
  for (unsigned chunk = 0; chunk < chunks_ && !error_; chunk += region.width) {
    Pass pass{.region = &region,
              .begin = chunk,
              .end = chunk + region.width,
              .final = chunk + region.width == chunks_,
              .next = {},
              .labels = std::vector<Label>(labels_.size()),
              .values = std::vector<Storage>(values_.size()),
              .local = std::vector<bool>(values_.size())};
    if (!pass.final) pass.next = cc_.new_label();
    for (const ir::Block* block : region.blocks) pass.labels[block->id] = cc_.new_label();
    if (start.isValid()) cc_.bind(start);
    start = pass.next;

    for (const Inst* value : region.live_in) {
      const Op op = value->op;
      if (op != Op::undef && op != Op::lane_id) pass.local[resolve(value).inst->id] = true;
    }
    std::vector<Copy> copies;
    for (const Inst* phi : region.header->insts) {
      if (phi->op != Op::phi) break;
      if (!phi->users.empty()) add_copies(copies, phi, &pass, phi->operands[outside], nullptr);
    }
    std::set<const Inst*> copied;
    for (const Inst* value : region.live_in) {
      const Inst* place = resolve(value).inst;
      if (pass.local[place->id] && copied.insert(place).second) add_copies(copies, place, &pass, place, nullptr);
    }
    emit_copies(std::move(copies));
    start_walks(pass);

    pass_ = &pass;
    for (size_t i = 0; i < region.blocks.size() && !error_; ++i) {
      Label behind = pass.final ? next : pass.next;
      if (i + 1 < region.blocks.size()) behind = pass.labels[region.blocks[i + 1]->id];
      emit_block(*region.blocks[i]);
      if (!error_) emit_terminator(*region.blocks[i], behind);
    }
    pass_ = nullptr;
  }
}

void Emitter::flush_segment() {
  if (segment_env_) set_env(*segment_env_);
  const bool matrix = !segment_.empty() && ir::is_matrix_op(segment_[0]->op);
  if (matrix) emit_matrix_segment();
  if (!matrix) emit_segment();
  shared_halves_ = {};
  for (const Inst* inst : segment_) {
    if (error_ || matrix || !is_deferred(*inst) || !ir::is_pure(inst->op)) continue;
    annotate(*inst);
    emit_chunk(*inst, first_chunk());
  }
  segment_.clear();
  segment_facts_ = {};
  ++segment_number_;
  segment_env_.reset();
  uniform_pointers_.clear();
  stream_distances_.clear();
  advance_distances_.clear();
  clamp_tests_.clear();
  odd_divisions_.clear();
}

void Emitter::emit_segment() {
  std::vector<uint32_t> order;
  std::vector<schedule::Node> nodes;
  if (on(Optimisation::sums_first) && segment_.size() >= kMinScheduled) {
    nodes = segment_nodes();
    order = schedule::order_by_sums(nodes, isa_->budget().vectors);
  }
  if (order.empty()) return emit_chunks(segment_);
  if (const auto parts = rolled_parts(nodes, order)) return emit_rolled(*parts);
  std::vector<const Inst*> ordered;
  ordered.reserve(order.size());
  for (const uint32_t i : order) ordered.push_back(segment_[i]);
  emit_chunks(ordered);
}

// Chunk after chunk. Accesses to the same bytes of the LDS stay in order: instructions in front of the second are emitted
// for all chunks first. Accesses to different bytes have no order, as nobody but the waves of the work-group sees the
// LDS, and these do not run meanwhile.
void Emitter::emit_chunks(std::span<const Inst* const> insts) {
  std::vector<LdsAccess> accesses;
  for (size_t i = 0; i < insts.size(); ++i) {
    if (!accesses_lds(*insts[i])) continue;
    const LdsAccess access = lds_access(*insts[i]);
    if (std::any_of(accesses.begin(), accesses.end(), [&](const LdsAccess& a) { return access.conflicts(a); })) {
      emit_chunks_in_any_order(insts.first(i));
      insts = insts.subspan(i);
      i = 0;
      accesses.clear();
    }
    accesses.push_back(access);
  }
  emit_chunks_in_any_order(insts);
}

void Emitter::emit_chunks_in_any_order(std::span<const Inst* const> insts) {
  std::vector<const Inst*> late;
  if (on(Optimisation::late_reads)) insts = late = with_late_reads(insts);
  begin_shared_halves(insts);
  const unsigned together = on(Optimisation::interleaving) ? chunks_side_by_side(insts) : 1;
  for (unsigned first = first_chunk(); first < end_chunk(); first += together) {
    const unsigned end = std::min(first + together, end_chunk());
    for (const Inst* inst : insts) {
      if (is_deferred(*inst) && ir::is_pure(inst->op)) continue;
      for (unsigned chunk = first; chunk < end; ++chunk) {
        if (error_) return;
        if (chunk > first_chunk() && is_invariant(inst)) break;
        if (wanted_in(*inst, chunk) == 0) continue;
        StopScope::check();
        annotate(*inst);
        emit_chunk(*inst, chunk);
        store_home(*inst, chunk);
        store_made_rows(*inst, chunk);
      }
    }
  }
}

void Emitter::emit_chunk(const Inst& inst, unsigned chunk) {
  if (inst.op == Op::const_ || inst.op == Op::undef || inst.op == Op::lane_id) return;  // made where they are used
  if (inst.op == Op::extract && !classes_.is_shared(&inst)) return;  // an alias of a tuple's register
  if (lane_addresses_.is_scalar(&inst)) return emit_lane_address(inst, chunk);
  cc_.set_narrow(is_narrow(&inst));
  const bool loaded = inst.op == Op::splat && is_fused(inst.operands[0]);
  if (loaded) emit_load_for_all_lanes(inst, chunk);
  const bool done = loaded || emit_ternary(inst, chunk) || emit_simple(inst, chunk) || emit_state(inst, chunk) ||
                    emit_int32(inst, chunk) || emit_int64(inst, chunk) || emit_mask(inst, chunk) ||
                    emit_float(inst, chunk) || emit_float16(inst, chunk) || emit_transcendental(inst, chunk) ||
                    emit_convert(inst, chunk) || emit_memory(inst, chunk) || emit_division(inst, chunk) ||
                    emit_out_of_line_chunk(inst, chunk);
  cc_.set_narrow(false);
  if (!done) fail(inst);
}

void Emitter::emit_scalar(const Inst& inst) {
  if (inst.op == Op::const_ || inst.op == Op::undef) return;
  if (inst.op == Op::extract && !classes_.is_shared(&inst)) return;
  if (!(emit_scalar_state(inst) || emit_scalar_arithmetic(inst) || emit_load_scalar(inst))) fail(inst);
}

void Emitter::emit_barrier(const Inst& inst) {
  if (!(emit_lane_loop(inst) || emit_mask_number(inst) || emit_cross_lane(inst) || emit_atomic(inst) ||
        emit_store_of_wave(inst) || emit_out_of_line(inst)))
    fail(inst);
}

}  // namespace wavejit::backend
