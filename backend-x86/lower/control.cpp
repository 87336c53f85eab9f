// Entries, branches, phi copies and exits.
#include <algorithm>
#include <functional>
#include <set>

#include "backend-x86/lower/emitter.h"

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

void Emitter::emit_entry_dispatch() {
  const auto& entries = function_.entries;
  // Binary search over the entry number; the leaves jump.
  const std::function<void(size_t, size_t)> search = [&](size_t low, size_t high) {
    if (high - low == 1) {
      cc_.jmp(labels_[entries[low].block->id]);
      return;
    }
    const size_t middle = low + (high - low) / 2;
    const Label upper = cc_.new_label();
    cc_.cmp(entry_index_, static_cast<uint32_t>(middle));
    cc_.jae(upper);
    search(low, middle);
    cc_.bind(upper);
    search(middle, high);
  };
  if (!entries.empty()) search(0, entries.size());
}

// Compares lane 0 of narrow values.
CondCode Emitter::compare_narrow(const Inst& compare) {
  const std::optional<FloatCondition> how = float_condition(compare.attr >> ir::fpenv::kFCmpShift);
  WAVEJIT_CHECK(how.has_value(), "%{} needs more than one condition", compare.id);
  const Inst* const a = compare.operands[how->swapped ? 1 : 0];
  const Inst* const b = compare.operands[how->swapped ? 0 : 1];
  const Vec first = v32(a, first_chunk());
  if (b->is_const()) {
    const auto bits = static_cast<uint32_t>(b->imm);
    cc_.emit(I::kIdVucomiss, first.xmm(), pool_.get(&bits, 4));
  } else {
    cc_.emit(I::kIdVucomiss, first.xmm(), v32(b, first_chunk()).xmm());
  }
  return how->condition;
}

// A mask that all chunks share is looked at once.
CondCode Emitter::test_mask(const Inst& test) {
  if (const Inst& compare = *test.operands[0]; is_fused(&compare)) return compare_narrow(compare);
  std::vector<MaskReg> masks;
  const unsigned end = is_invariant(test.operands[0]) ? first_chunk() + 1 : end_chunk();
  for (unsigned c = first_chunk(); c < end; ++c) masks.push_back(mask(test.operands[0], c));
  return test.op == Op::mask_any ? isa_->test_any(masks) : isa_->test_all(masks);
}

// Whether the flags are still those of comparing the two, or of testing one; or the zero flag alone, if nothing else is looked at.
bool Emitter::flags_are_of(const Gp& a, const Operand& b, bool zero_alone) const {
  constexpr unsigned kMostNodes = 12;  // looked at
  const bool tests = b.isReg() && b.id() == a.id();
  unsigned looked_at = 0;
  for (const lir::Node* node = cc_.cursor(); node != nullptr && looked_at < kMostNodes;
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

CondCode Emitter::emit_condition(const Inst* condition) {
  if (is_fused(condition)) {
    switch (condition->op) {
      case Op::not_:
        return x86::negateCond(emit_condition(condition->operands[0]));
      case Op::icmp: {
        const auto predicate = static_cast<ir::ICmp>(condition->attr);
        const Inst* a = condition->operands[0];
        if (a->is_const() && !condition->operands[1]->is_const()) {
          const Gp r = gp(condition->operands[1]);
          const Operand constant = gp_operand(a);
          if (!flags_are_of(r, constant)) cc_.emit(I::kIdCmp, r, constant);
          return x86::reverseCond(scalar_condition(predicate));
        }
        const Operand b = gp_operand(condition->operands[1]);
        if (b.isImm() && b.as<asmjit::Imm>().value() == 0 && !a->is_const()) {
          const Gp r = gp(a);
          if (!flags_are_of(r, r, predicate == ir::ICmp::eq || predicate == ir::ICmp::ne)) cc_.test(r, r);
        } else {
          const Gp r = gp(a);
          if (!flags_are_of(r, b)) cc_.emit(I::kIdCmp, r, b);
        }
        return scalar_condition(predicate);
      }
      case Op::mask_any:
      case Op::mask_all: {
        if (!is_fused(condition->operands[0])) return test_mask(*condition);
        // At the block's end: the environment is the usual one, which may not be the comparison's.
        if (const auto need = env_with_fused(*condition)) set_env(*need);
        const CondCode result = test_mask(*condition);
        set_env({canonical_env_, kEnvAll});
        return result;
      }
      default:
        break;
    }
  }
  const Gp r = gp(condition);
  if (!flags_are_of(r, r)) cc_.test(r, r);
  return CondCode::kNZ;
}

std::vector<Emitter::Copy> Emitter::edge_copies(const ir::Block& from, unsigned successor) {
  const ir::Block& to = *from.successors[successor];
  // A block may be the predecessor twice (both edges of one branch); the edges are listed in order.
  unsigned skip = 0;
  for (unsigned i = 0; i < successor; ++i) skip += from.successors[i] == &to;
  size_t index = 0;
  for (; index < to.predecessors.size(); ++index) {
    if (to.predecessors[index] == &from && skip-- == 0) break;
  }
  WAVEJIT_CHECK(index < to.predecessors.size(), "edge {} -> {} is not in the predecessor list", from.id, to.id);

  const TileRegion* source = regions_.of(&from);
  const TileRegion* destination = regions_.of(&to);
  std::vector<Copy> copies;
  if (source == destination) {
    for (const Inst* phi : to.insts) {
      if (phi->op != Op::phi) break;
      const Inst* value = phi->operands[index];
      if (phi->users.empty() || classes_.representative(value) == phi) continue;
      add_copies(copies, phi, pass_, value, pass_);
    }
    return copies;
  }
  // Into a region: its passes fetch what they need.
  if (source == nullptr) return copies;
  // Out of one: results move to the registers that the rest of the function knows.
  std::set<const Inst*> moved;
  const auto move_value = [&](const Inst* value) {
    if (value->is_const() || value->op == Op::undef || value->op == Op::lane_id) return;
    const Inst* place = resolve(value).inst;
    if (source->contains(place->parent) && moved.insert(place).second) add_copies(copies, place, nullptr, place, pass_);
  };
  const auto move = [&](const Inst* value) {
    // Who uses a splat may take the scalar instead.
    const bool splat = value->op == Op::splat || value->op == Op::splat64;
    if (splat && !classes_.is_shared(value->operands[0])) move_value(value->operands[0]);
    move_value(value);
  };
  for (const ir::Block* block : source->blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->type.kind != TypeKind::none && liveness_.live_in(to, *inst)) move(inst);
    }
  }
  for (const Inst* phi : to.insts) {
    if (phi->op != Op::phi) break;
    if (phi->users.empty()) continue;
    if (destination != nullptr) {
      move(phi->operands[index]);
    } else {
      add_copies(copies, phi, nullptr, phi->operands[index], pass_);
    }
  }
  return copies;
}

// Copies between the registers of a pass and those outside it, or within one of them: the chunks of the pass; what all
// chunks share leaves a region with the last pass only, as the earlier ones have not ended with it.
void Emitter::add_copies(std::vector<Copy>& copies, const Inst* destination, Pass* to, const Inst* value, Pass* from) {
  if (value->op == Op::undef) return;
  const Pass* pass = to ? to : from;
  const bool shared = is_invariant(destination);
  if (shared && pass != nullptr && to == nullptr && !pass->final) return;
  const unsigned begin = pass == nullptr ? 0 : pass->begin;
  const unsigned end = shared ? begin + 1 : pass == nullptr ? chunks_ : pass->end;
  const bool constant = value->is_const() || value->op == Op::lane_id;
  const Place place = constant ? Place{value, 0} : resolve(value);
  const bool first_lanes = lane_addresses_.is_scalar(destination) && !value->is_const() &&
                           !lane_addresses_.is_scalar(place.inst);  // of a vector, into general registers
  Pass* const current = pass_;
  for (unsigned element = 0; element < destination->type.count; ++element) {
    for (unsigned chunk = begin; chunk < end; ++chunk) {
      for (unsigned part = 0; part < parts(destination); ++part) {
        Copy copy;
        pass_ = to;
        if (const RowHome* home = row_home(destination)) {
          copy.to = place_of(*home, chunk, part);
        } else {
          copy.to = reg(destination, element, chunk, part);
        }
        copy.chunk = chunk;
        copy.part = part;
        pass_ = from;
        if (first_lanes) {
          const Gp t = new_gp(destination->type.bits());
          cc_.emit(I::kIdMov, t, lane_base(value, chunk, lane_addresses_.of(destination).wave));
          copy.from = t;
        } else if (constant) {
          copy.constant = value;
        } else if (const RowHome* home = row_home(place.inst)) {
          copy.from = place_of(*home, chunk, part);
        } else {
          copy.from = reg(place.inst, place.element + element, chunk, part);
        }
        copies.push_back(copy);
      }
    }
  }
  pass_ = current;
}

// Where an edge leads: within a pass to the pass's copy of the block; out of a pass that is not the last to the next.
Label Emitter::target(const ir::Block& from, unsigned successor) const {
  const ir::Block* to = from.successors[successor];
  if (pass_ != nullptr) {
    if (pass_->region->contains(to)) return pass_->labels[to->id];
    if (!pass_->final) return pass_->next;
  }
  return labels_[to->id];
}

void Emitter::emit_copy(const Operand& to, const Operand& from) {
  const auto& r = to.as<x86::Reg>();
  if (r.isGp()) {
    cc_.emit(I::kIdMov, to, from);
  } else if (r.isKReg()) {
    isa_->mov_mask(r, from.as<x86::Reg>());
  } else {
    isa_->mov(r.as<Vec>(), from);
  }
}

// A parallel copy: a register is written only when no pending copy reads it any more; a cycle is cut with a temporary.
void Emitter::emit_copies(std::vector<Copy> copies) {
  // What comes from memory first, then what goes there: nothing else is written before.
  for (Copy& copy : copies) {
    if (copy.constant != nullptr || !copy.from.isMem()) continue;
    const Vec loaded = isa_->vec();
    isa_->load(loaded, copy.from.as<Mem>(), nullptr);
    copy.from = loaded;
  }
  for (const Copy& copy : copies) {
    if (!copy.to.isMem()) continue;
    Vec value;
    if (copy.constant == nullptr) {
      value = copy.from.as<Vec>();
    } else if (copy.constant->type.kind == TypeKind::v64) {
      value = isa_->const64(copy.constant->imm);
    } else {
      value = v32(copy.constant, copy.chunk);
    }
    isa_->store(copy.to.as<Mem>(), value, nullptr);
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
      emit_copy(ready->to, ready->from);
      copies.erase(ready);
      continue;
    }
    const Operand from = copies.front().from;
    const auto& r = from.as<x86::Reg>();
    Operand temporary;
    if (r.isGp()) {
      temporary = new_gp(r.size() * 8);
    } else if (r.isKReg()) {
      temporary = isa_->mask();
    } else {
      temporary = isa_->vec();
    }
    emit_copy(temporary, from);
    for (Copy& c : copies) {
      if (c.from.id() == from.id()) c.from = temporary;
    }
  }
  for (const Copy& c : constants) {
    const ir::Type type = c.constant->type;
    const uint64_t bits = c.constant->imm;
    if (c.to.as<x86::Reg>().isGp()) {
      if (bits >> 32 == 0) {
        cc_.mov(c.to.as<Gp>().r32(), static_cast<uint32_t>(bits));
      } else {
        cc_.mov(c.to.as<Gp>(), bits);
      }
      continue;
    }
    switch (type.kind) {
      case TypeKind::v32:
        if (c.constant->op == Op::lane_id) {
          isa_->mov(c.to.as<Vec>(), isa_->lane_table(c.chunk * isa_->lanes, 1));
        } else {
          isa_->set_const32(c.to.as<Vec>(), static_cast<uint32_t>(bits));
        }
        break;
      case TypeKind::v64:
        isa_->set_const64(c.to.as<Vec>(), bits);
        break;
      case TypeKind::mask:
        isa_->set_mask_const(c.to.as<x86::Reg>(), static_cast<uint32_t>(bits >> (c.chunk * isa_->lanes)));
        break;
      default:
        WAVEJIT_CHECK(false, "a constant for a register of another kind");
    }
  }
}

void Emitter::leave(ExitReason reason) {
  const auto value = static_cast<uint32_t>(reason);
  cc_.mov(wave_field(offsetof(WaveState, exit_reason), 4), value);
  Gp r = cc_.new_gp32();
  cc_.mov(r, value);
  cc_.ret(r);
}

void Emitter::emit_terminator(const ir::Block& block, const Label& next) {
  flush_segment();
  set_env({canonical_env_, kEnvAll});
  if (error_) return;
  const Inst& inst = *block.terminator();
  annotate(inst);
  const auto jump = [&](const Label& to) {
    if (to.id() != next.id()) cc_.jmp(to);
  };
  switch (inst.op) {
    case Op::br:
      emit_prefetches(block);
      emit_copies(edge_copies(block, 0));
      jump(target(block, 0));
      break;
    case Op::cond_br: {
      if (inst.operands[0]->is_const()) {
        const unsigned taken = inst.operands[0]->imm != 0 ? 0 : 1;
        emit_copies(edge_copies(block, taken));
        jump(target(block, taken));
        break;
      }
      const CondCode condition = emit_condition(inst.operands[0]);
      const auto if_true = edge_copies(block, 0), if_false = edge_copies(block, 1);
      const Label true_label = target(block, 0), false_label = target(block, 1);
      if (if_true.empty() && (true_label.id() != next.id() || !if_false.empty())) {
        cc_.j(condition, true_label);
        emit_copies(if_false);
        jump(false_label);
      } else if (if_false.empty()) {
        cc_.j(x86::negateCond(condition), false_label);
        emit_copies(if_true);
        jump(true_label);
      } else {
        const Label other = cc_.new_label();
        cc_.j(x86::negateCond(condition), other);
        emit_copies(if_true);
        cc_.jmp(true_label);
        cc_.bind(other);
        emit_copies(if_false);
        jump(false_label);
      }
      break;
    }
    case Op::exit: {
      Gp pc = cc_.new_gp64();
      cc_.mov(pc, inst.imm);
      cc_.mov(wave_field(offsetof(WaveState, pc), 8), pc);
      const auto reason = static_cast<ExitReason>(inst.attr);
      if (reason == ExitReason::kTrap)
        cc_.mov(wave_field(offsetof(WaveState, trap_id), 4), static_cast<uint32_t>(inst.imm2));
      leave(reason);
      break;
    }
    case Op::exit_jump:
      cc_.mov(wave_field(offsetof(WaveState, pc), 8), gp(inst.operands[0]));
      leave(ExitReason::kJump);
      break;
    default:
      fail(inst);
      break;
  }
}

}  // namespace wavejit::backend
