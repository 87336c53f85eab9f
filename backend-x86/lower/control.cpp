#include "backend-x86/lower/control.h"

#include <algorithm>
#include <functional>
#include <set>

#include "backend-x86/lower/environment.h"
#include "backend-x86/lower/memory/lane_address_code.h"
#include "backend-x86/lower/memory/memory_access.h"
#include "backend-x86/lower/memory/prefetch.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "backend-x86/lower/row_homes.h"
#include "backend-x86/lower/segment.h"

namespace wavejit::backend {

using ir::TypeKind;
using x86::CondCode;

namespace {

// Instructions of scalar code that leave the flags as they are and write their first operand at most.
bool keeps_flags(InstId id) {
  switch (id) {
    case I::kIdMov:
    case I::kIdMovzx:
    case I::kIdMovsx:
    case I::kIdMovsxd:
    case I::kIdLea:
    case I::kIdShlx:
    case I::kIdShrx:
    case I::kIdSarx:
    case I::kIdRorx:
      return true;
    default:
      break;
  }
  for (uint8_t condition = 0; condition < static_cast<uint8_t>(CondCode::kMaxValue) + 1; ++condition)
    if (id == x86::Inst::cmovccFromCond(static_cast<CondCode>(condition))) return true;
  return false;
}

}  // namespace

CondCode scalar_condition(ir::ICmp p) {
  switch (p) {
    case ir::ICmp::eq:
      return CondCode::kE;
    case ir::ICmp::ne:
      return CondCode::kNE;
    case ir::ICmp::ult:
      return CondCode::kB;
    case ir::ICmp::ule:
      return CondCode::kBE;
    case ir::ICmp::ugt:
      return CondCode::kA;
    case ir::ICmp::uge:
      return CondCode::kAE;
    case ir::ICmp::slt:
      return CondCode::kL;
    case ir::ICmp::sle:
      return CondCode::kLE;
    case ir::ICmp::sgt:
      return CondCode::kG;
    case ir::ICmp::sge:
      return CondCode::kGE;
  }
  return CondCode::kE;
}

std::optional<FloatCondition> float_condition(uint32_t relations) {
  constexpr uint32_t kLess = 1, kEqual = 2, kGreater = 4, kUnorderedBit = 8;
  switch (relations) {
    case kGreater:
      return FloatCondition{CondCode::kA, false};
    case kGreater | kEqual:
      return FloatCondition{CondCode::kAE, false};
    case kLess | kEqual | kUnorderedBit:
      return FloatCondition{CondCode::kBE, false};
    case kLess | kUnorderedBit:
      return FloatCondition{CondCode::kB, false};
    case kLess:
      return FloatCondition{CondCode::kA, true};
    case kLess | kEqual:
      return FloatCondition{CondCode::kAE, true};
    case kGreater | kEqual | kUnorderedBit:
      return FloatCondition{CondCode::kBE, true};
    case kGreater | kUnorderedBit:
      return FloatCondition{CondCode::kB, true};
    case kLess | kGreater:
      return FloatCondition{CondCode::kNE, false};
    case kEqual | kUnorderedBit:
      return FloatCondition{CondCode::kE, false};
    case kUnorderedBit:
      return FloatCondition{CondCode::kP, false};
    case kLess | kEqual | kGreater:
      return FloatCondition{CondCode::kNP, false};
    default:
      return std::nullopt;
  }
}

void emit_entry_dispatch(Lowering& ctx) {
  const auto& entries = ctx.function.entries;
  // Binary search over the entry number; the leaves jump.
  const std::function<void(size_t, size_t)> search = [&](size_t low, size_t high) {
    if (high - low == 1) {
      ctx.cc.jmp(ctx.labels[entries[low].block->id]);
      return;
    }
    const size_t middle = low + (high - low) / 2;
    const Label upper = ctx.cc.new_label();
    ctx.cc.cmp(ctx.entry_index, static_cast<uint32_t>(middle));
    ctx.cc.jae(upper);
    search(low, middle);
    ctx.cc.bind(upper);
    search(middle, high);
  };
  if (!entries.empty()) search(0, entries.size());
}

namespace {

// Compares lane 0 of narrow values.
CondCode compare_narrow(Lowering& ctx, const Inst& compare) {
  const std::optional<FloatCondition> how = float_condition(compare.attr >> ir::fpenv::kFCmpShift);
  WAVEJIT_CHECK(how.has_value(), "%{} needs more than one condition", compare.id);
  const Inst* const a = compare.operands[how->swapped ? 1 : 0];
  const Inst* const b = compare.operands[how->swapped ? 0 : 1];
  const Vec first = ctx.v32(a, ctx.first_chunk());
  if (b->is_const()) {
    const auto bits = static_cast<uint32_t>(b->imm);
    ctx.cc.emit(I::kIdVucomiss, first.xmm(), ctx.pool.get(&bits, 4));
  } else {
    ctx.cc.emit(I::kIdVucomiss, first.xmm(), ctx.v32(b, ctx.first_chunk()).xmm());
  }
  return how->condition;
}

}  // namespace

// A mask that all chunks share is looked at once.
CondCode test_mask(Lowering& ctx, const Inst& test) {
  if (const Inst& compare = *test.operands[0]; ctx.is_fused(&compare)) return compare_narrow(ctx, compare);
  std::vector<MaskReg> masks;
  const unsigned end = ctx.is_invariant(test.operands[0]) ? ctx.first_chunk() + 1 : ctx.end_chunk();
  for (unsigned c = ctx.first_chunk(); c < end; ++c) masks.push_back(ctx.mask(test.operands[0], c));
  return test.op == Op::mask_any ? ctx.isa->test_any(masks) : ctx.isa->test_all(masks);
}

bool flags_are_of(const Lowering& ctx, const Gp& a, const Operand& b, bool zero_alone) {
  constexpr unsigned kMostNodes = 12;  // looked at
  const bool tests = b.isReg() && b.id() == a.id();
  unsigned looked_at = 0;
  for (const lir::Node* node = ctx.cc.cursor(); node != nullptr && looked_at < kMostNodes;
       node = node->prev, ++looked_at) {
    if (node->kind == lir::Node::Kind::comment) continue;
    if (!node->is_instruction()) return false;
    if (node->id == (tests ? I::kIdTest : I::kIdCmp)) return node->operands[0] == a && node->operands[1] == b;
    // Bitwise operations leave the flags that a test of their result would.
    const bool is_bitwise =
        node->id == I::kIdAnd || node->id == I::kIdOr || node->id == I::kIdXor || node->id == I::kIdAndn;
    if (is_bitwise) return tests && node->operands[0] == a;
    if (node->id == I::kIdAdd || node->id == I::kIdSub) return tests && zero_alone && node->operands[0] == a;
    if (!keeps_flags(node->id)) return false;
    // These write nothing but their first operand.
    const Operand& written = node->operands[0];
    if (written.isReg() && (written.id() == a.id() || (b.isReg() && written.id() == b.id()))) return false;
  }
  return false;
}

CondCode emit_condition(Lowering& ctx, const Inst* condition) {
  if (ctx.is_fused(condition)) {
    switch (condition->op) {
      case Op::not_:
        return x86::negateCond(emit_condition(ctx, condition->operands[0]));
      case Op::icmp: {
        const auto predicate = static_cast<ir::ICmp>(condition->attr);
        const Inst* a = condition->operands[0];
        if (a->is_const() && !condition->operands[1]->is_const()) {
          const Gp r = ctx.gp(condition->operands[1]);
          const Operand constant = ctx.gp_operand(a);
          if (!flags_are_of(ctx, r, constant)) ctx.cc.emit(I::kIdCmp, r, constant);
          return x86::reverseCond(scalar_condition(predicate));
        }
        const Operand b = ctx.gp_operand(condition->operands[1]);
        if (b.isImm() && b.as<asmjit::Imm>().value() == 0 && !a->is_const()) {
          const Gp r = ctx.gp(a);
          if (!flags_are_of(ctx, r, r, predicate == ir::ICmp::eq || predicate == ir::ICmp::ne)) ctx.cc.test(r, r);
        } else {
          const Gp r = ctx.gp(a);
          if (!flags_are_of(ctx, r, b)) ctx.cc.emit(I::kIdCmp, r, b);
        }
        return scalar_condition(predicate);
      }
      case Op::mask_any:
      case Op::mask_all: {
        if (!ctx.is_fused(condition->operands[0])) return test_mask(ctx, *condition);
        // At the block's end: the environment is the usual one, which may not be the comparison's.
        if (const auto need = env_with_fused(ctx, *condition)) set_env(ctx, *need);
        const CondCode result = test_mask(ctx, *condition);
        set_env(ctx, {ctx.canonical_env, kEnvAll});
        return result;
      }
      default:
        break;
    }
  }
  const Gp r = ctx.gp(condition);
  if (!flags_are_of(ctx, r, r)) ctx.cc.test(r, r);
  return CondCode::kNZ;
}

namespace {

std::vector<Copy> edge_copies(Lowering& ctx, const ir::Block& from, unsigned successor) {
  const ir::Block& to = *from.successors[successor];
  // A block may be the predecessor twice (both edges of one branch); the edges are listed in order.
  unsigned skip = 0;
  for (unsigned i = 0; i < successor; ++i) skip += from.successors[i] == &to;
  size_t index = 0;
  for (; index < to.predecessors.size(); ++index) {
    if (to.predecessors[index] == &from && skip-- == 0) break;
  }
  WAVEJIT_CHECK(index < to.predecessors.size(), "edge {} -> {} is not in the predecessor list", from.id, to.id);

  const TileRegion* source = ctx.regions.of(&from);
  const TileRegion* destination = ctx.regions.of(&to);
  std::vector<Copy> copies;
  if (source == destination) {
    for (const Inst* phi : to.insts) {
      if (phi->op != Op::phi) break;
      const Inst* value = phi->operands[index];
      if (phi->users.empty() || ctx.classes.representative(value) == phi) continue;
      add_copies(ctx, copies, phi, ctx.pass, value, ctx.pass);
    }
    return copies;
  }
  // Into a region: its passes fetch what they need.
  if (source == nullptr) return copies;
  // Out of one: results move to the registers that the rest of the function knows.
  std::set<const Inst*> moved;
  const auto move_value = [&](const Inst* value) {
    if (value->is_const() || value->op == Op::undef || value->op == Op::lane_id) return;
    const Inst* place = ctx.resolve(value).inst;
    if (source->contains(place->parent) && moved.insert(place).second)
      add_copies(ctx, copies, place, nullptr, place, ctx.pass);
  };
  const auto move = [&](const Inst* value) {
    // Who uses a splat may take the scalar instead.
    const bool splat = value->op == Op::splat || value->op == Op::splat64;
    if (splat && !ctx.classes.is_shared(value->operands[0])) move_value(value->operands[0]);
    move_value(value);
  };
  for (const ir::Block* block : source->blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->type.kind != TypeKind::none && ctx.liveness.live_in(to, *inst)) move(inst);
    }
  }
  for (const Inst* phi : to.insts) {
    if (phi->op != Op::phi) break;
    if (phi->users.empty()) continue;
    if (destination != nullptr) {
      move(phi->operands[index]);
    } else {
      add_copies(ctx, copies, phi, nullptr, phi->operands[index], ctx.pass);
    }
  }
  return copies;
}

}  // namespace

// Copies between the registers of a pass and those outside it, or within one of them: the chunks of the pass; what all
// chunks share leaves a region with the last pass only, as the earlier ones have not ended with it.
void add_copies(Lowering& ctx, std::vector<Copy>& copies, const Inst* destination, Pass* to, const Inst* value,
                Pass* from) {
  if (value->op == Op::undef) return;
  const Pass* pass = to ? to : from;
  const bool shared = ctx.is_invariant(destination);
  if (shared && pass != nullptr && to == nullptr && !pass->final) return;
  const unsigned begin = pass == nullptr ? 0 : pass->begin;
  const unsigned end = shared ? begin + 1 : pass == nullptr ? ctx.chunks : pass->end;
  const bool constant = value->is_const() || value->op == Op::lane_id;
  const Place place = constant ? Place{value, 0} : ctx.resolve(value);
  const bool first_lanes = ctx.lane_addresses.is_scalar(destination) && !value->is_const() &&
                           !ctx.lane_addresses.is_scalar(place.inst);  // of a vector, into general registers
  Pass* const current = ctx.pass;
  for (unsigned element = 0; element < destination->type.count; ++element) {
    for (unsigned chunk = begin; chunk < end; ++chunk) {
      for (unsigned part = 0; part < ctx.parts(destination); ++part) {
        Copy copy;
        ctx.pass = to;
        if (const RowHome* home = row_home(ctx, destination)) {
          copy.to = place_of(ctx, *home, chunk, part);
        } else {
          copy.to = ctx.reg(destination, element, chunk, part);
        }
        copy.chunk = chunk;
        copy.part = part;
        ctx.pass = from;
        if (first_lanes) {
          const Gp t = ctx.new_gp(destination->type.bits());
          ctx.cc.emit(I::kIdMov, t, lane_base(ctx, value, chunk, ctx.lane_addresses.of(destination).wave));
          copy.from = t;
        } else if (constant) {
          copy.constant = value;
        } else if (const RowHome* home = row_home(ctx, place.inst)) {
          copy.from = place_of(ctx, *home, chunk, part);
        } else {
          copy.from = ctx.reg(place.inst, place.element + element, chunk, part);
        }
        copies.push_back(copy);
      }
    }
  }
  ctx.pass = current;
}

namespace {

// Where an edge leads: within a pass to the pass's copy of the block; out of a pass that is not the last to the next.
Label target(const Lowering& ctx, const ir::Block& from, unsigned successor) {
  const ir::Block* to = from.successors[successor];
  if (ctx.pass != nullptr) {
    if (ctx.pass->region->contains(to)) return ctx.pass->labels[to->id];
    if (!ctx.pass->final) return ctx.pass->next;
  }
  return ctx.labels[to->id];
}

void emit_copy(Lowering& ctx, const Operand& to, const Operand& from) {
  const auto& r = to.as<x86::Reg>();
  if (r.isGp()) {
    ctx.cc.emit(I::kIdMov, to, from);
  } else if (r.isKReg()) {
    ctx.isa->mov_mask(r, from.as<x86::Reg>());
  } else {
    ctx.isa->mov(r.as<Vec>(), from);
  }
}

}  // namespace

// A parallel copy: a register is written only when no pending copy reads it any more; a cycle is cut with a temporary.
void emit_copies(Lowering& ctx, std::vector<Copy> copies) {
  // What comes from memory first, then what goes there: nothing else is written before.
  for (Copy& copy : copies) {
    if (copy.constant != nullptr || !copy.from.isMem()) continue;
    const Vec loaded = ctx.isa->vec();
    ctx.isa->load(loaded, copy.from.as<Mem>(), nullptr);
    copy.from = loaded;
  }
  for (const Copy& copy : copies) {
    if (!copy.to.isMem()) continue;
    Vec value;
    if (copy.constant == nullptr) {
      value = copy.from.as<Vec>();
    } else if (copy.constant->type.kind == TypeKind::v64) {
      value = ctx.isa->const64(copy.constant->imm);
    } else {
      value = ctx.v32(copy.constant, copy.chunk);
    }
    ctx.isa->store(copy.to.as<Mem>(), value, nullptr);
  }
  std::erase_if(copies, [](const Copy& copy) { return copy.to.isMem(); });
  std::erase_if(copies, [](const Copy& c) { return c.constant == nullptr && c.to.id() == c.from.id(); });
  std::vector<Copy> constants;
  std::copy_if(copies.begin(), copies.end(), std::back_inserter(constants), [](const Copy& c) { return c.constant; });
  std::erase_if(copies, [](const Copy& c) { return c.constant != nullptr; });
  while (!copies.empty()) {
    const auto ready = std::find_if(copies.begin(), copies.end(), [&](const Copy& c) {
      return std::none_of(copies.begin(), copies.end(),
                          [&](const Copy& other) { return other.from.id() == c.to.id(); });
    });
    if (ready != copies.end()) {
      emit_copy(ctx, ready->to, ready->from);
      copies.erase(ready);
      continue;
    }
    const Operand from = copies.front().from;
    const auto& r = from.as<x86::Reg>();
    Operand temporary;
    if (r.isGp()) {
      temporary = ctx.new_gp(r.size() * 8);
    } else if (r.isKReg()) {
      temporary = ctx.isa->mask();
    } else {
      temporary = ctx.isa->vec();
    }
    emit_copy(ctx, temporary, from);
    for (Copy& c : copies) {
      if (c.from.id() == from.id()) c.from = temporary;
    }
  }
  for (const Copy& c : constants) {
    const ir::Type type = c.constant->type;
    const uint64_t bits = c.constant->imm;
    if (c.to.as<x86::Reg>().isGp()) {
      if (bits >> 32 == 0) {
        ctx.cc.mov(c.to.as<Gp>().r32(), static_cast<uint32_t>(bits));
      } else {
        ctx.cc.mov(c.to.as<Gp>(), bits);
      }
      continue;
    }
    switch (type.kind) {
      case TypeKind::v32:
        if (c.constant->op == Op::lane_id) {
          ctx.isa->mov(c.to.as<Vec>(), ctx.isa->lane_table(c.chunk * ctx.isa->lanes, 1));
        } else {
          ctx.isa->set_const32(c.to.as<Vec>(), static_cast<uint32_t>(bits));
        }
        break;
      case TypeKind::v64:
        ctx.isa->set_const64(c.to.as<Vec>(), bits);
        break;
      case TypeKind::mask:
        ctx.isa->set_mask_const(c.to.as<x86::Reg>(), static_cast<uint32_t>(bits >> (c.chunk * ctx.isa->lanes)));
        break;
      default:
        WAVEJIT_CHECK(false, "a constant for a register of another kind");
    }
  }
}

void leave(Lowering& ctx, ExitReason reason) {
  const auto value = static_cast<uint32_t>(reason);
  ctx.cc.mov(ctx.wave_field(offsetof(WaveState, exit_reason), 4), value);
  Gp r = ctx.cc.new_gp32();
  ctx.cc.mov(r, value);
  ctx.cc.ret(r);
}

void emit_terminator(Lowering& ctx, const ir::Block& block, const Label& next) {
  flush_segment(ctx);
  set_env(ctx, {ctx.canonical_env, kEnvAll});
  if (ctx.error) return;
  const Inst& inst = *block.terminator();
  ctx.annotate(inst);
  const auto jump = [&](const Label& to) {
    if (to.id() != next.id()) ctx.cc.jmp(to);
  };
  switch (inst.op) {
    case Op::br:
      emit_prefetches(ctx, block);
      emit_copies(ctx, edge_copies(ctx, block, 0));
      jump(target(ctx, block, 0));
      break;
    case Op::cond_br: {
      if (inst.operands[0]->is_const()) {
        const unsigned taken = inst.operands[0]->imm != 0 ? 0 : 1;
        emit_copies(ctx, edge_copies(ctx, block, taken));
        jump(target(ctx, block, taken));
        break;
      }
      const CondCode condition = emit_condition(ctx, inst.operands[0]);
      const auto if_true = edge_copies(ctx, block, 0), if_false = edge_copies(ctx, block, 1);
      const Label true_label = target(ctx, block, 0), false_label = target(ctx, block, 1);
      if (if_true.empty() && (true_label.id() != next.id() || !if_false.empty())) {
        ctx.cc.j(condition, true_label);
        emit_copies(ctx, if_false);
        jump(false_label);
      } else if (if_false.empty()) {
        ctx.cc.j(x86::negateCond(condition), false_label);
        emit_copies(ctx, if_true);
        jump(true_label);
      } else {
        const Label other = ctx.cc.new_label();
        ctx.cc.j(x86::negateCond(condition), other);
        emit_copies(ctx, if_true);
        ctx.cc.jmp(true_label);
        ctx.cc.bind(other);
        emit_copies(ctx, if_false);
        jump(false_label);
      }
      break;
    }
    case Op::exit: {
      Gp pc = ctx.cc.new_gp64();
      ctx.cc.mov(pc, inst.imm);
      ctx.cc.mov(ctx.wave_field(offsetof(WaveState, pc), 8), pc);
      const auto reason = static_cast<ExitReason>(inst.attr);
      if (reason == ExitReason::kTrap)
        ctx.cc.mov(ctx.wave_field(offsetof(WaveState, trap_id), 4), static_cast<uint32_t>(inst.imm2));
      leave(ctx, reason);
      break;
    }
    case Op::exit_jump:
      ctx.cc.mov(ctx.wave_field(offsetof(WaveState, pc), 8), ctx.gp(inst.operands[0]));
      leave(ctx, ExitReason::kJump);
      break;
    default:
      ctx.fail(inst);
      break;
  }
}

}  // namespace wavejit::backend
