#include "backend-x86/regalloc/lives.h"

#include <algorithm>
#include <span>

#include "backend-x86/lir/instruction_access.h"
#include "backend-x86/lir/passes/decisions.h"
#include "backend-x86/regalloc/loop_depths.h"
#include "internal/stop_scope.h"

namespace wavejit::backend {
namespace {

using asmjit::Error;
using asmjit::InstControlFlow;
using asmjit::Operand;
using lir::Convention;
using lir::Node;

constexpr Error kUnknown = asmjit::kErrorInvalidState;

// The bytes of a register, as bits.
uint64_t byte_mask(const lir::VirtualRegister& reg) {
  if (reg.is_variable) return 0;
  return reg.bytes >= 64 ? ~uint64_t{0} : (uint64_t{1} << reg.bytes) - 1;
}

// Whether an instruction all of whose operands are one register gives it a value whatever it held, or leaves it alone.
void apply_hint(asmjit::InstSameRegHint hint, RegisterUse& use) {
  if (hint == asmjit::InstSameRegHint::kRO) {
    use.flags = static_cast<uint16_t>((use.flags & ~(RegisterUse::out | RegisterUse::write)) | RegisterUse::use);
    use.use_places |= use.out_places;
    use.out_places = 0;
  } else if (hint == asmjit::InstSameRegHint::kWO) {
    use.flags = static_cast<uint16_t>((use.flags & ~(RegisterUse::use | RegisterUse::read)) | RegisterUse::out);
    use.out_places |= use.use_places;
    use.use_places = 0;
  }
}

}  // namespace

Lives::Lives(lir::Function& function, const std::array<uint32_t, kGroups>& available)
    : function_(function), available_(available), life_by_virt_(function.registers.size(), kNoIndex) {
  const size_t registers = function.registers.size(), nodes = function.node_count();
  lives.reserve(registers);
  touches_.reserve(registers);
  instructions.reserve(nodes);
  uses.reserve(3 * nodes);
}

Error Lives::run() {
  if (const Error error = find_blocks()) return error;
  remove_unreachable();
  weigh_blocks();
  find_live_registers();
  find_spans();
  return asmjit::kErrorOk;
}

uint32_t Lives::find_life(uint32_t virt_id) const {
  const uint32_t index = Operand::virtIdToIndex(virt_id);
  return index < life_by_virt_.size() ? life_by_virt_[index] : kNoIndex;
}

uint32_t Lives::make_life(uint32_t virt_id) {
  const auto life = static_cast<uint32_t>(lives.size());
  const lir::VirtualRegister& virt = function_.of(virt_id);
  lives.push_back({.virt = &virt, .group = static_cast<uint8_t>(virt.group)});
  life_by_virt_[Operand::virtIdToIndex(virt_id)] = life;
  return life;
}

// --- blocks and what instructions use ---

RegisterUse& Lives::add_use(uint32_t reg, uint16_t flags, uint32_t mask, uint32_t place, uint8_t use_id,
                            uint8_t out_id) {
  const uint32_t group = lives[reg].group;
  mask &= available_[group];
  const uint32_t bit = place == kNoIndex ? 0 : 1u << place;
  const bool is_use = (flags & RegisterUse::use) != 0;
  if (use_id != kNoRegister) building_used_[group] |= 1u << use_id;
  if (out_id != kNoRegister) building_fixed_.clobbered[group] |= 1u << out_id;
  const auto use_places = static_cast<uint16_t>(is_use ? bit : 0);
  const auto out_places = static_cast<uint8_t>(is_use ? 0 : bit);
  uint8_t& count = use_count_[group];
  for (RegisterUse& known : std::span(building_[group]).first(count)) {
    if (known.reg != reg) continue;
    known.flags |= flags;
    if (use_id != kNoRegister) known.use_id = use_id;
    if (out_id != kNoRegister) known.out_id = out_id;
    known.use_mask &= mask;
    known.out_mask &= mask;
    known.use_places |= use_places;
    known.out_places |= out_places;
    return known;
  }
  RegisterUse& fresh = building_[group][count++];
  fresh = {.reg = reg,
           .use_mask = mask,
           .out_mask = mask,
           .flags = flags,
           .use_places = use_places,
           .out_places = out_places,
           .memory_size = 0,
           .use_id = use_id,
           .out_id = out_id};
  return fresh;
}

Error Lives::add_operands(Node& node, InstControlFlow& flow) {
  const lir::InstructionAccess* access = lir::instruction_access(node);
  if (access == nullptr) return kUnknown;
  flow = access->flow;
  transformable_ = access->transformable;
  is_move_ = access->is_move;
  forbid_memory_ = lir::differs_in_memory(node);
  bool registers_only = !node.has_mask() || node.mask.id() == 0;
  for (uint32_t i = 0; i < node.operand_count; ++i) {
    Operand& op = node.operands[i];
    const lir::OperandAccess& how = access->operands[i];
    if (op.isReg()) {
      if (!Operand::isVirtId(op.id())) {
        registers_only = is_move_ = false;
        continue;
      }
      const uint32_t reg = life_of(op.id());
      const uint64_t bytes = byte_mask(*lives[reg].virt);
      uint16_t flags = how.flags;
      const bool whole = (bytes & ~(how.written | how.zeroed)) == 0;
      if ((flags & (RegisterUse::read | RegisterUse::write)) == RegisterUse::write && !whole)
        flags = static_cast<uint16_t>((flags & ~RegisterUse::out) | RegisterUse::read | RegisterUse::use);
      // In memory, the result would not clear what is above it.
      if ((flags & RegisterUse::write) != 0 && (bytes & ~how.written & how.zeroed) != 0)
        flags &= static_cast<uint16_t>(~RegisterUse::use_memory);
      const bool is_use = (flags & RegisterUse::use) != 0;
      if (how.fixed != kNoRegister &&
          (is_use ? building_used_ : building_fixed_.clobbered)[lives[reg].group] >> how.fixed & 1)
        return asmjit::kErrorOverlappedRegs;
      RegisterUse& use = add_use(reg, flags, access->vector_mask, Place::base(i), is_use ? how.fixed : kNoRegister,
                                 is_use ? kNoRegister : how.fixed);
      use.memory_size = std::max(use.memory_size, how.memory_size);
      // Copies that also clear what lies above are none.
      if (i == 0 && is_move_ && (bytes & ~how.written & how.zeroed) != 0) is_move_ = false;
    } else if (op.isMem()) {
      registers_only = false;
      forbid_memory_ = true;
      auto& mem = op.as<asmjit::BaseMem>();
      if (mem.isRegHome()) {
        lives[life_of(mem.baseId())].on_stack = true;
        on_stack.push_back(&node);
      } else if (mem.hasBaseReg() && Operand::isVirtId(mem.baseId())) {
        const bool is_use = (how.base_flags & RegisterUse::use) != 0;
        add_use(life_of(mem.baseId()), how.base_flags, ~0u, Place::base(i), is_use ? how.fixed : kNoRegister,
                is_use ? kNoRegister : how.fixed);
      }
      if (mem.hasIndexReg() && Operand::isVirtId(mem.indexId()))
        add_use(life_of(mem.indexId()), RegisterUse::read | RegisterUse::use, access->vector_mask, Place::index(i));
    } else {
      registers_only = false;
    }
  }
  if (node.has_mask() && Operand::isVirtId(node.mask.id())) {
    if (node.mask.group() != asmjit::RegGroup::kX86_K) return kUnknown;
    add_use(life_of(node.mask.id()), RegisterUse::read | RegisterUse::use, ~0u, Place::kMask);
  }
  if (access->same_register != asmjit::InstSameRegHint::kNone && building_count() == 1 && registers_only &&
      node.operand_count != 0)
    for (uint32_t group = 0; group < kGroups; ++group)
      if (use_count_[group] != 0) apply_hint(access->same_register, building_[group][0]);
  return asmjit::kErrorOk;
}

// The registers of arguments and result are those of the convention.
Error Lives::add_call(const Node& call) {
  has_calls = true;
  for (uint32_t i = 2; i < call.operand_count; ++i) {
    const Operand& op = call.operands[i];
    if (!x86::Reg::isGp(op) || !op.isVirtReg()) return kUnknown;
    const uint8_t id = Convention::kArguments[i - 2];
    const uint32_t before = building_count();
    RegisterUse& use = add_use(life_of(op.id()), RegisterUse::read | RegisterUse::use, ~0u, kNoIndex);
    building_used_[kGpGroup] |= 1u << id;
    if (building_count() == before) {
      use.flags |= RegisterUse::duplicate;
      use.use_mask |= 1u << id;
    } else {
      use.use_id = id;
      use.use_mask = use.out_mask = 1u << id;
    }
  }
  if (const Operand& op = call.operands[1]; !op.isNone()) {
    if (!x86::Reg::isGp(op) || !op.isVirtReg()) return kUnknown;
    const uint32_t before = building_count();
    RegisterUse& use = add_use(life_of(op.id()), RegisterUse::write | RegisterUse::out, ~0u, kNoIndex);
    use.out_id = Convention::kResult;
    building_used_[kGpGroup] |= 1u << Convention::kResult;
    if (building_count() != before) {
      use.use_mask = ~0u;
      use.out_mask = 1u << Convention::kResult;
    }
  }
  for (uint32_t group = 0; group < kGroups; ++group) {
    const uint32_t all = lir::kHostsOfGroup[group] == 32 ? ~0u : (1u << lir::kHostsOfGroup[group]) - 1;
    building_fixed_.clobbered[group] = all & ~Convention::kPreserved[group];
  }
  return asmjit::kErrorOk;
}

Error Lives::add_result(const Node& node) {
  const Operand& op = node.operands[0];
  if (!op.isVirtReg()) return kUnknown;
  add_use(life_of(op.id()), RegisterUse::read | RegisterUse::use, ~0u, kNoIndex, Convention::kResult);
  return asmjit::kErrorOk;
}

void Lives::note_touch(uint32_t number, uint32_t inst, uint32_t block) {
  RegisterUse& use = uses[number];
  uint32_t& last = lives[use.reg].touch;
  use.flags |= RegisterUse::last;
  if (last == kNoIndex || touches_[last].block != block) {
    last = static_cast<uint32_t>(touches_.size());
    touches_.push_back({.reg = use.reg, .block = block, .last_use = number, .reads_first = !use.write_only()});
    return;
  }
  RegisterUse& before = uses[touches_[last].last_use];
  before.next = inst;
  before.flags &= static_cast<uint16_t>(~RegisterUse::last);
  if (use.write_only()) before.flags |= RegisterUse::kill;
  touches_[last].last_use = number;
}

void Lives::finish_instruction(Node& node) {
  const auto first = static_cast<uint32_t>(uses.size());
  Instruction inst{.node = &node, .first_use = first, .count = {use_count_[0], use_count_[1], use_count_[2]}};
  inst.is_move = is_move_ && building_count() != 0;
  inst.transformable = transformable_;
  const auto kept_flags = static_cast<uint16_t>(forbid_memory_ ? ~RegisterUse::use_memory : ~0);
  for (uint32_t group = 0; group < kGroups; ++group) {
    const std::span<RegisterUse> of_group = std::span(building_[group]).first(use_count_[group]);
    if (of_group.empty()) continue;
    for (RegisterUse& use : of_group) {
      if (use.use_id != kNoRegister) building_fixed_.used[group] |= 1u << use.use_id;
      if (!use.has(RegisterUse::duplicate)) use.use_mask &= ~building_used_[group];
      use.flags &= kept_flags;
    }
    uses.insert(uses.end(), of_group.begin(), of_group.end());
  }
  const auto index = static_cast<uint32_t>(instructions.size()), block = static_cast<uint32_t>(blocks.size() - 1);
  for (uint32_t u = first; u < first + inst.uses(); ++u) note_touch(u, index, block);
  const auto any = [](const std::array<uint32_t, kGroups>& masks) { return (masks[0] | masks[1] | masks[2]) != 0; };
  if (any(building_fixed_.used) || any(building_fixed_.clobbered)) {
    inst.special = static_cast<uint32_t>(fixed.size());
    fixed.push_back(building_fixed_);
  }
  instructions.push_back(inst);
}

Error Lives::add_instruction(Node& node, InstControlFlow& flow) {
  use_count_ = {};
  building_fixed_ = {};
  building_used_ = {};
  forbid_memory_ = is_move_ = transformable_ = false;
  flow = InstControlFlow::kRegular;
  Error error = asmjit::kErrorOk;
  if (node.is_result()) {
    flow = InstControlFlow::kReturn;
    error = add_result(node);
  } else if (node.is_call()) {
    if (!lir::is_fixed_target(node.operands[0])) return kUnknown;
    error = add_call(node);
  } else {
    error = add_operands(node, flow);
  }
  if (!error) finish_instruction(node);
  return error;
}

Error Lives::find_blocks() {
  std::vector<uint32_t> block_of_label(function_.label_count(), kNoIndex);
  uint32_t current = kNoIndex;
  bool has_code = false;
  const auto begin = [&](Node* node) {
    current = static_cast<uint32_t>(blocks.size());
    FlowBlock& block = blocks.emplace_back();
    block.last = node;
    block.begin = block.end = static_cast<uint32_t>(instructions.size());
    has_code = false;
  };
  const auto end = [&] { current = kNoIndex; };
  if (function_.exit == nullptr) return kUnknown;
  begin(function_.begin());
  const uint32_t exit_label = function_.exit->label_id();
  for (Node* node = function_.begin()->next; node != nullptr;) {
    StopScope::check();
    Node* const next = node->next;
    if (node->is_label()) {
      const uint32_t label = node->label_id();
      if (current == kNoIndex) {
        begin(node);
      } else if (has_code || current == 0) {
        blocks[current].next = static_cast<uint32_t>(blocks.size());
        begin(node);
      }
      block_of_label[label] = current;
      blocks[current].last = node;
      if (label == exit_label) {
        blocks[current].returns = true;
        end();
      }
    } else if (node->is_code()) {
      if (current == kNoIndex) {
        function_.remove(node);  // nothing leads here
      } else {
        InstControlFlow flow;
        if (const Error error = add_instruction(*node, flow)) return error;
        if (lir::goes_to_label(*node)) jumps.emplace_back(current, node);
        FlowBlock& block = blocks[current];
        block.last = node;
        block.end = static_cast<uint32_t>(instructions.size());
        has_code = true;
        if (flow == InstControlFlow::kReturn) {
          block.target_label = exit_label;
          end();
        } else if (flow == InstControlFlow::kJump || flow == InstControlFlow::kBranch) {
          const Operand& target = node->target();
          if (!target.isLabel()) return kUnknown;
          block.target_label = target.id();
          block.ends_with_jump = flow == InstControlFlow::kJump;
          block.ends_with_branch = !block.ends_with_jump;
          if (block.ends_with_jump) {
            end();
          } else {
            if (next == nullptr) return kUnknown;
            block.next = static_cast<uint32_t>(blocks.size());
            begin(next);
          }
        }
      }
    } else if (current != kNoIndex && has_code) {
      blocks[current].last = node;  // comments of listings
    }
    node = next;
  }
  if (current != kNoIndex) return kUnknown;  // code falls through behind the end
  for (FlowBlock& block : blocks) {
    if (block.target_label == kNoIndex) continue;
    block.target = block_of_label[block.target_label];
    if (block.target == kNoIndex) return kUnknown;
  }
  return asmjit::kErrorOk;
}

void Lives::remove_unreachable() {
  std::vector<uint32_t> work{0};
  blocks[0].reachable = true;
  const auto reach = [&](uint32_t block) {
    if (block == kNoIndex || block >= blocks.size() || blocks[block].reachable) return;
    blocks[block].reachable = true;
    work.push_back(block);
  };
  while (!work.empty()) {
    const FlowBlock& block = blocks[work.back()];
    work.pop_back();
    reach(block.next);
    reach(block.target);
  }
  for (FlowBlock& block : blocks) {
    if (block.reachable) continue;
    for (uint32_t i = block.begin; i < block.end; ++i) function_.remove(instructions[i].node);
    block.end = block.begin;
  }
}

void Lives::weigh_blocks() {
  constexpr float kLoop = 8, kCold = 1.0F / 16;
  constexpr uint32_t kDeepest = 4;
  exit_block_ = static_cast<uint32_t>(
      std::find_if(blocks.begin(), blocks.end(), [](const FlowBlock& b) { return b.returns; }) - blocks.begin());
  const std::vector<uint32_t> depths = loop_depths(blocks);
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    if (b > exit_block_) blocks[b].weight = kCold;
    if (b >= exit_block_) continue;
    for (uint32_t d = 0; d < std::min(depths[b], kDeepest); ++d) blocks[b].weight *= kLoop;
  }
}

// --- live ranges ---

// Returns whether it was alive already.
bool Lives::open(Lifetime& life, uint32_t begin, uint32_t end) {
  LiveSpan& span = life.current;
  if (span.end != 0 && span.end >= begin) {
    const bool open = span.end > begin;
    span.end = end;
    return open;
  }
  if (span.end != 0) {
    spans_.push_back({.span = span, .before = life.earlier});
    life.earlier = static_cast<uint32_t>(spans_.size() - 1);
  }
  span = {begin, end};
  return false;
}

void Lives::note_copy(const RegisterUse& a, const RegisterUse& b, float weight) {
  const RegisterUse &to = a.has(RegisterUse::out) ? a : b, &from = a.has(RegisterUse::out) ? b : a;
  if (to.has(RegisterUse::out) && from.has(RegisterUse::kill))
    copies.push_back({.to = to.reg, .from = from.reg, .weight = weight});
}

void Lives::find_spans() {
  positions = 2;
  for (FlowBlock& block : blocks) {
    if (!block.reachable) continue;
    block.first_position = positions;
    positions += (block.end - block.begin) * 2;
    block.end_position = positions;
  }
  // The runs that begin with each block.
  std::vector<uint32_t> place(blocks.size() + 1);
  for (const Run& run : runs_) ++place[run.first + 1];
  for (size_t b = 0; b < blocks.size(); ++b) place[b + 1] += place[b];
  struct Start {
    uint32_t reg, last;
  };
  std::vector<Start> starts(runs_.size());
  std::vector<uint32_t> fill = place;
  for (uint32_t reg = 0; reg < lives.size(); ++reg)
    for (uint32_t r = lives[reg].first_run; r < lives[reg].last_run; ++r)
      starts[fill[runs_[r].first]++] = {.reg = reg, .last = runs_[r].last};

  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const FlowBlock& block = blocks[b];
    if (!block.reachable) continue;
    uint32_t position = block.first_position;
    const uint32_t end = block.end_position;
    for (uint32_t s = place[b]; s < place[b + 1]; ++s)
      open(lives[starts[s].reg], position, blocks[starts[s].last].end_position);
    for (uint32_t i = block.begin; i < block.end; ++i, position += 2) {
      const Instruction& inst = instructions[i];
      for (uint32_t u = inst.first_use; u < inst.first_use + inst.uses(); ++u) {
        RegisterUse& use = uses[u];
        Lifetime& life = lives[use.reg];
        life.frequency += block.weight;
        if ((use.flags & (RegisterUse::last | RegisterUse::lives_on)) == RegisterUse::last)
          use.flags |= RegisterUse::kill;
        const uint32_t from = position + (use.has(RegisterUse::read) ? 0 : 1);
        open(life, from, end);
        if (use.has(RegisterUse::kill)) life.current.end = from + 1;
        const uint32_t clobbered = inst.special == kNoIndex ? 0 : fixed[inst.special].clobbered[life.group];
        if (use.use_id != kNoRegister && life.hint == kNoRegister && !(clobbered >> use.use_id & 1))
          life.hint = use.use_id;
        if (use.use_mask != 0) life.preferred &= use.use_mask;
        if (use.out_mask != 0) life.preferred &= use.out_mask;
        if (!use.has(RegisterUse::out | RegisterUse::kill)) life.clobbers |= clobbered;
      }
      if (inst.is_move && inst.uses() == 2) note_copy(uses[inst.first_use], uses[inst.first_use + 1], block.weight);
    }
  }
  for (Lifetime& life : lives) {
    uint32_t width = 0;
    for_each_span(life, [&](const LiveSpan& span) {
      width += span.end - span.begin;
      return true;
    });
    life.frequency = width == 0 ? 0 : life.frequency / static_cast<float>(width);
  }
}

}  // namespace wavejit::backend
