#include "backend-x86/regalloc/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "backend-x86/lir/text.h"

namespace wavejit::backend {
namespace {

using asmjit::BaseMem;
using asmjit::InstControlFlow;
using asmjit::InstSameRegHint;
using asmjit::Operand;
using asmjit::OperandSignature;
using lir::Convention;
using Kind = RecordedUse::Kind;
namespace I = x86::Inst;

constexpr uint8_t kAnyHost = 0xff;
constexpr uint32_t kCallAlignment = 16;

// Other names of instructions that the allocator may use: the same operation for host registers above 15.
bool is_same_operation(asmjit::InstId before, asmjit::InstId behind) {
  static constexpr std::pair<uint32_t, uint32_t> kNames[] = {
      {I::kIdVbroadcastf128, I::kIdVbroadcastf32x4},
      {I::kIdVbroadcasti128, I::kIdVbroadcasti32x4},
      {I::kIdVextractf128, I::kIdVextractf32x4},
      {I::kIdVextracti128, I::kIdVextracti32x4},
      {I::kIdVinsertf128, I::kIdVinsertf32x4},
      {I::kIdVinserti128, I::kIdVinserti32x4},
      {I::kIdVmovdqa, I::kIdVmovdqa32},
      {I::kIdVmovdqu, I::kIdVmovdqu32},
      {I::kIdVpand, I::kIdVpandd},
      {I::kIdVpandn, I::kIdVpandnd},
      {I::kIdVpor, I::kIdVpord},
      {I::kIdVpxor, I::kIdVpxord},
      {I::kIdVroundpd, I::kIdVrndscalepd},
      {I::kIdVroundps, I::kIdVrndscaleps},
      {I::kIdVroundsd, I::kIdVrndscalesd},
      {I::kIdVroundss, I::kIdVrndscaless},
  };
  return before == behind ||
         std::find(std::begin(kNames), std::end(kNames), std::pair(before, behind)) != std::end(kNames);
}

bool is_host(uint32_t group, uint32_t id) {
  return id < kHostGroupBegin[group + 1] - kHostGroupBegin[group] && !(group == 0 && id == x86::Gp::kIdSp);
}

}  // namespace

bool allocation_is_checked() {
#ifndef NDEBUG
  return true;
#elif defined(WAVEJIT_WITH_ALLOCATION_CHECKS)
  static const bool checked = [] {
    const char* value = std::getenv("WAVEJIT_CHECK_ALLOCATION");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return checked;
#else
  return false;
#endif
}

// --- messages ---

std::string AllocationChecker::place_name(uint32_t place) const {
  if (place == CheckerState::kNowhere) return "nowhere";
  if (place >= kHostRegisters) {
    const CheckerState::Slot& slot = state_->slots()[place - kHostRegisters];
    return fmt::format("[stack{:+}]", slot.at);
  }
  const uint32_t group = group_of_host(place);
  constexpr std::array kTypes{asmjit::RegType::kX86_Gpq, asmjit::RegType::kX86_Zmm, asmjit::RegType::kX86_KReg};
  asmjit::String string;
  asmjit::Formatter::formatRegister(string, asmjit::FormatFlags::kNone, nullptr, asmjit::Arch::kX64, kTypes[group],
                                    place - kHostGroupBegin[group]);
  return string.data();
}

bool AllocationChecker::fail(const Node& at, const std::string& why) {
  if (failure_) return false;
  failure_ = fmt::format("register allocation is wrong at '{}'", lir::print(function_, at));
  if (const auto number = RecordedProgram::number_of(at); number && at.is_code())
    *failure_ += fmt::format(", before '{}'", lir::print(function_, program_.instructions[*number].node));
  *failure_ += ": " + why;
  return false;
}

bool AllocationChecker::fail_read(const Node& at, const std::string& what, uint32_t place, uint32_t reg,
                                  uint64_t bytes) {
  std::string held = "nowhere";
  if (const std::vector<uint32_t> places = state_->places_of(reg); !places.empty()) {
    held.clear();
    for (const uint32_t p : places)
      held += fmt::format("{}{} (bytes {:#x})", held.empty() ? "" : ", ", place_name(p), state_->find(p, reg)->held);
  }
  const std::string name = reg < program_.registers() ? program_.name(reg)
                           : reg == returned()        ? "the returned value"
                                                      : "the caller's " + place_name(reg - entry_value(0));
  return fail(at, fmt::format("{} is read from {}, which does not hold bytes {:#x} of {}; its value is {}, and was put "
                              "last in {}",
                              what, place_name(place), bytes, name, held, place_name(state_->last_place(reg))));
}

// --- the final code ---

std::optional<std::string> AllocationChecker::check() {
  if (program_.problem) return program_.problem;
  maybe_undefined_.assign(registers(), false);
  maybe_undefined_[returned()] = true;
  variable_of_.assign(registers(), kNone);
  if (!prepare()) return failure_;
  do {
    again_ = false;
    if (!interpret()) return failure_;
  } while (again_);
  check_stack_variables();
  return failure_;
}

bool AllocationChecker::prepare() {
  present_.assign(program_.instructions.size(), false);
  labels_.clear();
  labels_.resize(function_.label_count());
  in_order_.clear();
  state_.emplace(0);
  const auto exit = function_.exit != nullptr ? program_.label(function_.exit->label_id()) : std::nullopt;
  if (!exit) return fail(*function_.begin(), "the function has no exit");
  exit_ = *exit;
  for (const Node* node = function_.begin()->next; node != nullptr; node = node->next) {
    if (const auto number = RecordedProgram::number_of(*node)) present_[*number] = true;
    if (!node->is_label()) continue;
    labels_[node->label_id()].node = node;
  }
  order_labels();
  return true;
}

// Reverse postorder: a label comes after all labels that lead to it, back edges of loops aside.
void AllocationChecker::order_labels() {
  // Labels divide the code into parts: part 0 is what precedes the first label, and label i begins part i + 1.
  std::vector<std::vector<uint32_t>> next(labels_.size() + 1);
  uint32_t part = 0;
  bool runs_on = true;
  for (const Node* node = function_.begin()->next; node != nullptr; node = node->next) {
    if (node->is_label()) {
      if (runs_on) next[part].push_back(node->label_id() + 1);
      part = node->label_id() + 1;
      runs_on = true;
    }
    if (!node->is_code() || !runs_on) continue;
    const auto number = RecordedProgram::number_of(*node);
    const auto flow = number                  ? program_.instructions[*number].flow
                      : node->id == I::kIdJmp ? InstControlFlow::kJump
                      : node->id == I::kIdRet ? InstControlFlow::kReturn
                                              : InstControlFlow::kRegular;
    const bool jumps = flow == InstControlFlow::kJump || flow == InstControlFlow::kBranch;
    if (jumps && node->target().isLabel() && node->target().id() < labels_.size())
      next[part].push_back(node->target().id() + 1);
    runs_on = flow != InstControlFlow::kJump && flow != InstControlFlow::kReturn;
  }
  // A branch's target is visited before the code that follows the branch, so that a loop's exit comes after the loop.
  for (std::vector<uint32_t>& parts : next) std::reverse(parts.begin(), parts.end());
  std::vector<bool> seen(next.size());
  std::vector<uint32_t> way{0};
  seen[0] = true;
  while (!way.empty()) {
    const uint32_t at = way.back();
    if (next[at].empty()) {
      way.pop_back();
      if (at != 0) in_order_.push_back(at - 1);
      continue;
    }
    const uint32_t to = next[at].back();
    next[at].pop_back();
    if (seen[to]) continue;
    seen[to] = true;
    way.push_back(to);
  }
  std::reverse(in_order_.begin(), in_order_.end());
  for (uint32_t i = 0; i < in_order_.size(); ++i) labels_[in_order_[i]].order = i;
}

KeptState AllocationChecker::entry_state() const {
  KeptState state;
  for (uint32_t host = 0; host < kHostRegisters; ++host) {
    const uint32_t group = group_of_host(host), id = host - kHostGroupBegin[group];
    if (!is_host(group, id) || (Convention::kPreserved[group] >> id & 1) == 0) continue;
    state.values.push_back({.place = host, .reg = entry_value(host), .held = bytes_of_group(group), .zero = 0});
  }
  for (size_t i = 0; i < function_.arguments.size(); ++i) {
    const Operand& argument = function_.arguments[i];
    state.values.push_back({.place = kHostGroupBegin[lir::kGpGroup] + Convention::kArguments[i],
                            .reg = Operand::virtIdToIndex(argument.id()),
                            .held = low_bytes(lir::bytes_of(argument)),
                            .zero = 0});
  }
  for (uint32_t reg = 0; reg < maybe_undefined_.size(); ++reg) {
    const auto is_argument = [&](const KeptValue& value) { return value.reg == reg; };
    if (maybe_undefined_[reg] && std::none_of(state.values.begin(), state.values.end(), is_argument))
      state.undefined.push_back(reg);
  }
  return state;
}

bool AllocationChecker::interpret() {
  assumed_undefined_ = maybe_undefined_;
  for (Label& label : labels_) label.visited = label.pending = false;
  state_.emplace(registers());
  state_->load(entry_state());
  if (!walk(function_.begin())) return false;
  // In that order, inner loops reach their fixed point before outer ones.
  for (uint32_t i = 0; i < in_order_.size();) {
    Label& label = labels_[in_order_[i]];
    if (!label.pending) {
      ++i;
      continue;
    }
    label.pending = false;
    lowest_ = kNone;
    state_->load(label.state);
    if (RecordedProgram::number_of(*label.node) == state_->next) ++state_->next;
    if (!walk(label.node)) return false;
    i = std::min(i, lowest_);
  }
  return true;
}

bool AllocationChecker::walk(const Node* node) {
  for (bool ends = false; !ends;) {
    if (node->next == nullptr) return fail(*node, "the code runs past the function's end");
    node = node->next;
    const auto number = RecordedProgram::number_of(*node);
    if (node->is_label()) {
      if (number && !advance(*number, *node)) return false;
      return arrive(node->label_id(), state_->next);
    }
    if (!node->is_code()) continue;
    if (!(number ? recorded_instruction(*node, *number, ends) : inserted_instruction(*node, ends))) return false;
  }
  return true;
}

bool AllocationChecker::arrive(uint32_t id, uint32_t next) {
  Label& label = labels_[id];
  if (label.order == kNone) return fail(*label.node, "the way to it is not understood");
  state_->save(arriving_, program_);
  arriving_.next = next;
  if (!label.visited) {
    label.visited = label.pending = true;
    std::swap(label.state, arriving_);
  } else {
    if (label.state.next != next) return fail(*label.node, "two ways to it are at different instructions");
    if (label.state.stack != arriving_.stack) return fail(*label.node, "two ways to it have different stack pointers");
    if (!meet(label.state, arriving_)) return true;
    label.pending = true;
  }
  lowest_ = std::min(lowest_, label.order);
  return true;
}

bool AllocationChecker::advance(uint32_t to, const Node& at) {
  while (state_->next != to) {
    const uint32_t number = state_->next;
    // The way to the exit passes labels of code that has been removed. Jumps to them do not arrive at the same instruction.
    if (number == exit_ && at.is_label()) return true;
    if (number >= program_.instructions.size() || present_[number])
      return fail(at, "instructions are not executed in the order that they had before");
    const RecordedInstruction& inst = program_.instructions[number];
    const auto uses = program_.uses(inst);
    if (inst.kind == RecordedInstruction::Kind::result) {
      for (const RecordedUse& use : uses) state_->define_as_copy(returned(), use.reg, ~uint64_t{0}, 0);
      state_->next = exit_;
    } else if (inst.copies) {
      state_->define_as_copy(uses[0].reg, uses[1].reg, uses[0].written, uses[0].zeroed);
      ++state_->next;
    } else {
      return fail(at, fmt::format("'{}' has been removed in front of it", lir::print(function_, inst.node)));
    }
  }
  return true;
}

// --- instructions that have been there before ---

bool AllocationChecker::recorded_instruction(const Node& node, uint32_t number, bool& ends) {
  if (!advance(number, node)) return false;
  const Final inst{.node = node, .recorded = program_.instructions[number]};
  state_->next = number + 1;
  if (!compare(inst)) return false;
  const auto uses = program_.uses(inst.recorded);
  if (inst.recorded.same_register != InstSameRegHint::kWO) {
    for (const RecordedUse& use : uses)
      if (use.read != 0 && !read(inst, use)) return false;
  }
  if (inst.recorded.kind == RecordedInstruction::Kind::call && !call(node)) return false;
  if (inst.recorded.node.id == I::kIdPush) state_->stack -= static_cast<int32_t>(sizeof(void*));
  if (inst.recorded.kind == RecordedInstruction::Kind::stub) state_->stack += static_cast<int32_t>(sizeof(void*));
  // What AVX code leaves in the upper halves.
  if (inst.recorded.node.id == I::kIdVzeroupper)
    for (uint32_t id = 0; id < 16; ++id) state_->forget(kHostGroupBegin[1] + id, 16, true);
  written_.clear();
  for (const RecordedUse& use : uses)
    if ((use.written | use.zeroed) != 0 && !write(inst, use)) return false;
  if (inst.recorded.flow == InstControlFlow::kRegular) return true;
  return jump(inst, ends);
}

bool AllocationChecker::compare(const Final& inst) {
  constexpr auto kIgnored = ~asmjit::InstOptions::kShortForm;
  const Node &before = inst.recorded.node, &behind = inst.node;
  if (before.kind != behind.kind || !is_same_operation(before.id, behind.id) ||
      before.operand_count != behind.operand_count || (before.options & kIgnored) != (behind.options & kIgnored) ||
      before.mask.signature() != behind.mask.signature())
    return fail(inst.node, "it is another instruction than before");
  unsigned memory = 0;
  for (uint32_t i = 0; i < before.operand_count; ++i) {
    const Operand& from = before.operands[i];
    const Operand& to = behind.operands[i];
    memory += to.isMem() ? 1 : 0;
    if (from.isReg()) continue;  // see place_of()
    if (from.isMem() && to.isMem()) {
      if (!compare_memory(inst, from.as<BaseMem>(), to.as<BaseMem>())) return false;
    } else if (from != to && !(from.isLabel() && to.isLabel())) {
      return fail(inst.node, fmt::format("operand {} is another than before", i));
    }
  }
  return memory <= 1 || fail(inst.node, "it has two operands in memory");
}

// All but registers, which are read like those of other operands.
bool AllocationChecker::compare_memory(const Final& inst, const BaseMem& before, const BaseMem& behind) {
  const auto differs = [&] { return fail(inst.node, "its operand in memory is another than before"); };
  if (!before.isRegHome()) {
    const bool same_base =
        before.hasBaseReg() ? Operand::isVirtId(before.baseId()) : before.baseId() == behind.baseId();
    const bool same_index = before.hasIndexReg() || before.indexId() == behind.indexId();
    if (before.signature() != behind.signature() || !same_base || !same_index || before.offset() != behind.offset())
      return differs();
    return true;
  }
  OperandSignature signature = before.signature();
  signature &= ~OperandSignature::kMemRegHomeFlag;
  if (behind.signature() != signature || behind.baseId() != x86::Gp::kIdSp ||
      (!before.hasIndexReg() && before.indexId() != behind.indexId()))
    return differs();
  // A variable on the stack that lowering makes is in one place all the time.
  const uint32_t reg = Operand::virtIdToIndex(before.baseId());
  const int32_t at = state_->stack + behind.offsetLo32() - before.offsetLo32();
  const uint32_t bytes = function_.registers[reg].bytes;
  if (at < state_->stack || at + static_cast<int64_t>(bytes) > 0)
    return fail(inst.node, "a variable on the stack is outside of the frame");
  if (variable_of_[reg] == kNone) {
    variable_of_[reg] = static_cast<uint32_t>(variables_.size());
    variables_.push_back({.reg = reg, .at = at, .bytes = bytes});
  }
  return variables_[variable_of_[reg]].at == at ||
         fail(inst.node, fmt::format("the variable {} on the stack has moved", program_.name(reg)));
}

bool AllocationChecker::jump(const Final& inst, bool& ends) {
  const Operand& from = inst.recorded.node.target();
  const Operand& to = inst.node.target();
  if (inst.recorded.flow == InstControlFlow::kReturn || !from.isLabel() || !to.isLabel())
    return fail(inst.node, "its target is not understood");
  const auto target = program_.label(from.id());
  if (!target || to.id() >= labels_.size() || labels_[to.id()].node == nullptr)
    return fail(inst.node, "its target is not in the function");
  // A new label has the allocator's code, which leads to the target.
  if (to != from && RecordedProgram::number_of(*labels_[to.id()].node))
    return fail(inst.node, "it goes to another target");
  ends = inst.recorded.flow == InstControlFlow::kJump;
  return arrive(to.id(), *target);
}

bool AllocationChecker::place_of(const Final& inst, const RecordedUse& use, uint32_t& place) {
  const uint32_t group = program_.group(use.reg);
  uint32_t id = kNone;
  switch (use.kind) {
    case Kind::operand: {
      const Operand& op = inst.node.operands[use.operand];
      if (op.isMem()) {
        const uint32_t bytes = lir::bytes_of(op);
        if (use.memory_size == 0 || bytes != use.memory_size || use.fixed != kAnyHost || use.read == 0 ||
            (use.read & ~low_bytes(bytes)) != 0)
          return fail(inst.node, fmt::format("operand {} must not be {} bytes in memory", use.operand, bytes));
        int32_t at = 0;
        if (!stack_address(inst.node, op.as<BaseMem>(), bytes, at)) return false;
        place = state_->slot(at, bytes);
        return true;
      }
      if (op.signature() != inst.recorded.node.operands[use.operand].signature())
        return fail(inst.node, fmt::format("operand {} is another than before", use.operand));
      id = op.id();
      break;
    }
    case Kind::base:
      id = inst.node.operands[use.operand].as<BaseMem>().baseId();
      break;
    case Kind::index:
      id = inst.node.operands[use.operand].as<BaseMem>().indexId();
      break;
    case Kind::mask:
      id = inst.node.mask.id();
      if (id == 0) return fail(inst.node, "k0 is no mask");
      break;
    case Kind::fixed_in:
    case Kind::result:
      id = use.fixed;
      break;
  }
  if (!is_host(group, id)) return fail(inst.node, fmt::format("operand {} is in no host register", use.operand));
  if (use.fixed != kAnyHost && id != use.fixed)
    return fail(inst.node, fmt::format("operand {} is not in the host register that it must be in", use.operand));
  place = kHostGroupBegin[group] + id;
  return true;
}

bool AllocationChecker::read(const Final& inst, const RecordedUse& use) {
  uint32_t place = 0;
  if (!place_of(inst, use, place)) return false;
  if (state_->holds(place, use.reg, use.read)) return true;
  // The value may be undefined on some way: then it does not matter there what the place holds. The next round knows; this
  // one may come by several times.
  if (!assumed_undefined_[use.reg]) {
    maybe_undefined_[use.reg] = again_ = true;
    return true;
  }
  static constexpr std::array kKinds{
      "operand", "the base of operand", "the index of operand", "the mask of operand", "argument", "result"};
  return fail_read(inst.node, fmt::format("{} {}", kKinds[static_cast<size_t>(use.kind)], use.operand), place, use.reg,
                   use.read);
}

bool AllocationChecker::write(const Final& inst, const RecordedUse& use) {
  uint32_t place = 0;
  if (!place_of(inst, use, place)) return false;
  if (std::find(written_.begin(), written_.end(), place) != written_.end())
    return fail(inst.node, fmt::format("it writes two registers in {}", place_name(place)));
  const HeldValue* old = state_->find(place, use.reg);
  const bool undefined = state_->is_undefined(use.reg);
  const uint64_t all = bytes_of_group(program_.group(use.reg));
  const uint64_t old_held = undefined ? all : old != nullptr ? old->held : 0;
  const uint64_t old_zero = old != nullptr ? old->zero : 0;
  // Operations like and of one register with itself leave it alone.
  if (inst.recorded.same_register == InstSameRegHint::kRO && (use.zeroed & ~(old_zero & old_held)) == 0) return true;
  written_.push_back(place);
  uint64_t held = use.written | (old_held & ~(use.written | use.zeroed));
  // In memory, what a register would have above the result stays as it is.
  held |= place < kHostRegisters ? use.zeroed : use.zeroed & old_held & old_zero;
  state_->define(use.reg, place, held, use.zeroed | (old_zero & ~use.written));
  return true;
}

bool AllocationChecker::call(const Node& node) {
  if (!is_aligned(state_->stack, kCallAlignment)) return fail(node, "the stack pointer is not aligned for a call");
  for (uint32_t host = 0; host < kHostRegisters; ++host) {
    const uint32_t group = group_of_host(host);
    if ((Convention::kPreserved[group] >> (host - kHostGroupBegin[group]) & 1) == 0) state_->forget(host, 0, false);
  }
  return true;
}

bool AllocationChecker::is_aligned(int32_t at, uint32_t alignment) const {
  return alignment <= function_.stack_alignment &&
         (at - static_cast<int32_t>(sizeof(void*))) % static_cast<int32_t>(alignment) == 0;
}

bool AllocationChecker::check_stack_variables() {
  std::vector<CheckerState::Slot> all = state_->slots();
  const size_t slots = all.size();
  for (const StackVariable& variable : variables_) {
    if (!is_aligned(variable.at, function_.registers[variable.reg].alignment))
      return fail(*function_.begin(),
                  fmt::format("the variable {} on the stack is not aligned", program_.name(variable.reg)));
    all.push_back({.at = variable.at, .bytes = variable.bytes});
  }
  std::vector<uint32_t> order(all.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return all[a].at < all[b].at; });
  int64_t end_of_slots = INT64_MIN, end_of_variables = INT64_MIN;
  for (const uint32_t i : order) {
    const int64_t offset = all[i].at;
    const bool is_variable = i >= slots;
    // Slots are the same place only if that is so on purpose, which interpretation has checked.
    const int64_t taken = is_variable ? std::max(end_of_slots, end_of_variables) : end_of_variables;
    if (offset < taken)
      return fail(*function_.begin(),
                  fmt::format("a variable on the stack shares its place at {:+} with something else", offset));
    int64_t& end = is_variable ? end_of_variables : end_of_slots;
    end = std::max(end, offset + all[i].bytes);
  }
  return true;
}

}  // namespace wavejit::backend
