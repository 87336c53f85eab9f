#include "frontend/lift/lifter.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <map>

#include "frontend/isa/decoder.h"
#include "frontend/isa/fidelity.h"
#include "frontend/lift/cfg.h"
#include "frontend/lift/context.h"
#include "frontend/lift/handlers.h"
#include "frontend/lift/resident_rows.h"
#include "frontend/lift/ssa.h"
#include "internal/check.h"
#include "internal/semantics/exceptions.h"
#include "internal/trap_id.h"
#include "ir/text.h"

namespace wavejit::lift {
namespace {

using ir::Block;

// Otherwise than by s_set_gpr_idx_*.
bool writes_m0(const Instruction& inst) {
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const Operand& operand = inst.operands[i];
    if (operand.is_dst && operand.kind == OperandKind::sgpr && operand.reg <= sreg::kM0 &&
        operand.reg + operand.dwords > sreg::kM0)
      return true;
  }
  return false;
}

// What the terminator of a block needs from the instructions in it.
struct BlockEnd {
  Inst* condition = nullptr;
  Inst* jump_target = nullptr;
  Inst* new_mode = nullptr;
  uint32_t mode = 0;  // MODE behind the last instruction
};

class Lifter {
 public:
  Lifter(const LiftOptions& options, Cfg cfg)
      : options_(options),
        cfg_(std::move(cfg)),
        function_(std::make_unique<ir::Function>(options.name)),
        builder_(*function_) {}

  LiftResult run();

 private:
  // Blocks are numbered as in the CFG; behind them come stubs, one per entry that is also reached from inside.
  void make_blocks();
  void fill();
  void count_block(const uint64_t* counter);
  void leave();
  void terminate(uint32_t block);
  Block* make_exit(uint32_t block, unsigned edge);
  void leave_unit(uint32_t block, uint64_t pc);
  void set_mode_field(const BlockEnd& end);
  [[nodiscard]] bool left_in_front_of(uint64_t pc, bool calls_only) const;

  const LiftOptions& options_;
  Cfg cfg_;
  std::unique_ptr<ir::Function> function_;
  ir::Builder builder_;
  std::vector<Block*> blocks_;     // by number
  std::vector<uint32_t> stub_of_;  // per guest block: number of its stub, or kNoBlock
  std::vector<uint32_t> stubs_;    // targets
  std::vector<std::vector<uint32_t>> successors_;
  std::unique_ptr<Ssa> ssa_;
  std::vector<BlockEnd> ends_;
  std::unordered_map<uint64_t, bool> result_is_mask_;
  std::vector<bool> exec_full_at_end_;                     // per guest block
  std::map<std::pair<uint32_t, unsigned>, Block*> exits_;  // by block and way of its conditional branch
};

void Lifter::make_blocks() {
  const auto count = static_cast<uint32_t>(cfg_.blocks.size());
  std::vector<bool> has_predecessor(count);
  for (uint32_t i = 0; i < count; ++i)
    for (const uint32_t next : cfg_.successors(i)) has_predecessor[next] = true;

  successors_.resize(count);
  for (uint32_t i = 0; i < count; ++i) successors_[i] = cfg_.successors(i);
  stub_of_.assign(count, kNoBlock);
  std::vector<Block*> guest_blocks(count);
  // Layout: the unit's entry comes first, stubs in front of what they lead to.
  for (uint32_t i = 0; i < count; ++i) {
    const GuestBlock& guest = cfg_.blocks[i];
    Block* stub = nullptr;
    if (guest.is_entry && has_predecessor[i]) {
      stub = function_->add_block(guest.pc);
      stub_of_[i] = count + static_cast<uint32_t>(stubs_.size());
      stubs_.push_back(i);
      successors_.push_back({i});
      blocks_.push_back(stub);
    }
    guest_blocks[i] = function_->add_block(guest.pc);
    if (guest.is_entry)
      function_->entries.push_back(
          {.guest_pc = guest.pc,
           .block = stub ? stub : guest_blocks[i],
           .resumed_only = options_.shape && guest.pc != options_.entry_pc && !left_in_front_of(guest.pc, true),
           .moved = guest.pc == options_.moved_pc,
           .exec = options_.exec_at_entries});
  }
  blocks_.insert(blocks_.begin(), guest_blocks.begin(), guest_blocks.end());

  const PairDemand demand = analyse_demand(cfg_);
  const std::vector<uint64_t> full = analyse_full_masks(cfg_, options_.exec_full);
  for (uint32_t i = 0; i < count; ++i) exec_full_at_end_.push_back(ends_with_full_exec(cfg_.blocks[i], full[i]));
  std::vector<Ssa::BlockInfo> infos(blocks_.size());
  for (uint32_t i = 0; i < infos.size(); ++i) {
    const uint32_t guest = i < count ? i : stubs_[i - count];
    infos[i].block = blocks_[i];
    infos[i].demand = demand.at_start[guest];
    // At an entry of its own EXEC is what the unit is for, whatever it is where other ways come there.
    infos[i].known_full = i < count ? full[guest] : full_masks_at_entries(options_.exec_full);
    infos[i].ends_wave = i < count && cfg_.blocks[i].ending == Ending::end;
    infos[i].is_entry = i >= count || (cfg_.blocks[i].is_entry && stub_of_[i] == kNoBlock);
    if (infos[i].is_entry) infos[i].exec = options_.exec_at_entries;
  }
  // Predecessors in the order in which the terminators will be made: stubs first, then the blocks.
  for (uint32_t i = count; i < infos.size(); ++i) infos[stubs_[i - count]].predecessors.push_back(i);
  for (uint32_t i = 0; i < count; ++i)
    for (const uint32_t next : successors_[i]) infos[next].predecessors.push_back(i);
  ssa_ = std::make_unique<Ssa>(builder_, std::move(infos),
                               options_.resident_rows ? resident_rows(cfg_) : std::bitset<kNumRows>());
  result_is_mask_ = demand.result_is_mask;
  if (options_.shape) function_->group_id_sgpr = options_.shape->group_id_sgpr[0];
  if (options_.shape && !left_in_front_of(options_.entry_pc, false)) {
    for (uint32_t i = 0; i < count; ++i)
      if (cfg_.blocks[i].pc == options_.entry_pc)
        ssa_->set_shape(stub_of_[i] == kNoBlock ? i : stub_of_[i], *options_.shape);
  }
}

// Whether an instruction that leaves the unit is followed by `pc`: control may come back there.
bool Lifter::left_in_front_of(uint64_t pc, bool calls_only) const {
  return std::any_of(cfg_.blocks.begin(), cfg_.blocks.end(), [&](const GuestBlock& guest) {
    const bool resumes = guest.ending == Ending::barrier || guest.ending == Ending::yield;
    return guest.end_pc == pc && (guest.ending == Ending::call || (resumes && !calls_only));
  });
}

void Lifter::fill() {
  const auto count = static_cast<uint32_t>(cfg_.blocks.size());
  for (uint32_t i = count; i < blocks_.size(); ++i) {
    builder_.set_guest_pc(blocks_[i]->guest_pc);
    ssa_->start_block(i);
    ssa_->finish_block();
  }
  const std::vector<ScratchDescriptor> scratch = analyse_scratch_descriptor(cfg_, options_);
  Context context(options_, builder_, *ssa_);
  context.last_indexed_row = cfg_.last_indexed_row;
  ends_.resize(blocks_.size());
  for (uint32_t i = 0; i < count; ++i) {
    const GuestBlock& guest = cfg_.blocks[i];
    builder_.set_guest_pc(guest.pc);
    ssa_->start_block(i);
    context.condition = context.jump_target = context.new_mode = nullptr;
    context.mode = guest.mode;
    context.index_enables.reset();
    ScratchDescriptor descriptor = scratch[i];
    for (const Instruction& inst : guest.insts) {
      builder_.set_guest_pc(inst.pc);
      if (options_.profile)
        if (const auto known = options_.profile->find(inst.pc); known != options_.profile->end())
          function_->profile.insert(*known);
      context.inst = &inst;
      context.result_is_mask = result_is_mask_.contains(inst.pc);
      if (const Operand* srsrc = inst.find(Slot::srsrc)) context.srd_is_scratch = descriptor.at(srsrc->reg);
      if (!(context.mode & mode::kVskip) || !isa::is_vector(inst.opcode)) {
        if (context.mode & exceptions::kRecords) record_exceptions(context);
        handler_for(inst.opcode)(context);
      }
      descriptor.step(inst);
      if (context.index_enables && writes_m0(inst)) context.index_enables.reset();
      if (guest.changes_mode) context.mode = mode_behind(inst, context.mode);
    }
    if (options_.count_instructions && !guest.insts.empty()) ssa_->count_instructions(guest.insts.size());
    if (options_.block_counter && !guest.insts.empty()) count_block(options_.block_counter(guest.insts));
    ends_[i] = {context.condition, context.jump_target, context.new_mode, context.mode};
    ssa_->finish_block();
  }
}

// One lane adds one.
void Lifter::count_block(const uint64_t* counter) {
  ir::MemAttr mem;
  mem.space = ir::Space::global;
  mem.form = ir::AddressForm::base_only;
  mem.bytes = 8;
  mem.count = 1;
  mem.atomic_op = ir::AtomicOp::add;
  builder_.atomic(ir::kNone, mem,
                  {builder_.mask(1), builder_.i64(reinterpret_cast<uint64_t>(counter)),
                   builder_.op(ir::Op::splat64, {builder_.i64(1)})});
}

// Writes registers back to the wave state where control leaves.
void Lifter::leave() {
  const auto count = static_cast<uint32_t>(cfg_.blocks.size());
  std::vector<Ssa::Leaving> leaving(blocks_.size());
  for (uint32_t i = 0; i < blocks_.size(); ++i) {
    leaving[i].successors = successors_[i];
    if (i >= count) continue;
    const GuestBlock& guest = cfg_.blocks[i];
    switch (guest.ending) {
      case Ending::fallthrough:
      case Ending::branch:
      case Ending::cond_branch:
        leaving[i].unknown = guest.leaves[0] || guest.leaves[1];
        break;
      case Ending::barrier:
      case Ending::yield:
      case Ending::hand_over:
        if (guest.leaves[1])
          leaving[i].unknown = true;
        else
          leaving[i].resumes_at = guest.next[1];
        leaving[i].resumes_with_any_exec = options_.exec_full && !exec_full_at_end_[i];
        break;
      case Ending::end:
        break;
      default:
        leaving[i].unknown = true;
    }
  }
  ssa_->compute_modified(leaving);
  ssa_->compute_liveness(leaving);

  VarSet exec, counter;
  exec.set(sreg::kExecLo).set(sreg::kExecLo + 1);
  counter.set(kVarInstructions);
  for (uint32_t i = 0; i < count; ++i) {
    const GuestBlock& guest = cfg_.blocks[i];
    builder_.set_guest_pc(guest.insts.empty() ? guest.pc : guest.insts.back().pc);
    if (guest.ending == Ending::cond_branch) {
      for (unsigned k = 0; k < 2; ++k)
        if (guest.leaves[k]) exits_[{i, k}] = make_exit(i, k);
      continue;
    }
    if (guest.ending == Ending::end)
      ssa_->write_back(i, ssa_->modified_at_end(i) & counter);
    else if (leaving[i].unknown)
      ssa_->write_back(i, ssa_->modified_at_end(i));
    else if (guest.ending == Ending::hand_over) {
      // All that the interpreter would have changed. EXEC always, for those who ask which lanes are on.
      Block* exit = exits_[{i, 1}] = function_->add_block(guest.pc);
      ssa_->write_back(i, ssa_->modified_at_end(i) | exec, exit);
    } else if (leaving[i].resumes_at != kNoBlock && options_.moved_pc) {
      // What is known behind the barrier is to hold for the interpreter's waves, too: of registers that nobody reads as well.
      ssa_->write_back(i, ssa_->modified_at_end(i) | exec);
    } else if (leaving[i].resumes_at != kNoBlock) {
      // EXEC always: the runtime tests it before it enters code specialised on full masks.
      const VarSet& live = leaving[i].resumes_with_any_exec ? ssa_->live_at_start_any_exec(leaving[i].resumes_at)
                                                            : ssa_->live_at_start(leaving[i].resumes_at);
      ssa_->write_back(i, ssa_->modified_at_end(i) & (live | exec | counter));
    }
  }
}

// One way of a conditional branch leaves the unit: the registers are written back on that way only.
Block* Lifter::make_exit(uint32_t block, unsigned edge) {
  Block* exit = function_->add_block(cfg_.blocks[block].target(edge));
  ssa_->write_back(block, ssa_->modified_at_end(block), exit);
  return exit;
}

void Lifter::set_mode_field(const BlockEnd& end) {
  Inst* value = end.new_mode ? ssa_->resolve(end.new_mode) : nullptr;
  if (!value && end.mode != options_.mode) value = builder_.i32(end.mode);
  if (value) builder_.op(Op::set_field, {value}, 0, offsetof(WaveState, mode));
}

// Leaves with all registers written back for a pc whose code is lifted for another MODE, or in another unit.
void Lifter::leave_unit(uint32_t block, uint64_t pc) {
  set_mode_field(ends_[block]);
  builder_.exit_jump(builder_.i64(pc));
}

void Lifter::terminate(uint32_t i) {
  const GuestBlock& guest = cfg_.blocks[i];
  const BlockEnd& end = ends_[i];
  builder_.set_block(blocks_[i]);
  const uint64_t last_pc = guest.insts.empty() ? guest.pc : guest.insts.back().pc;
  builder_.set_guest_pc(last_pc);
  switch (guest.ending) {
    case Ending::fallthrough:
    case Ending::branch:
      if (guest.leaves[0])
        leave_unit(i, guest.target(0));
      else
        builder_.br(blocks_[guest.next[0]]);
      break;
    case Ending::cond_branch: {
      std::array<Block*, 2> targets{};
      for (unsigned k = 0; k < 2; ++k) targets[k] = guest.leaves[k] ? exits_.at({i, k}) : blocks_[guest.next[k]];
      builder_.cond_br(ssa_->resolve(end.condition), targets[0], targets[1]);
      for (unsigned k = 0; k < 2; ++k) {
        if (!guest.leaves[k]) continue;
        builder_.set_block(targets[k]);
        leave_unit(i, guest.target(k));
      }
      break;
    }
    case Ending::jump:
    case Ending::call:
      set_mode_field(end);
      builder_.exit_jump(ssa_->resolve(end.jump_target));
      break;
    case Ending::new_mode:
      set_mode_field(end);
      builder_.exit_jump(builder_.i64(guest.end_pc));
      break;
    case Ending::end:
      builder_.exit(ExitReason::kEnd, last_pc);
      break;
    case Ending::barrier:
    case Ending::yield:
      set_mode_field(end);
      builder_.exit(guest.ending == Ending::barrier ? ExitReason::kBarrier : ExitReason::kYield, guest.end_pc);
      break;
    case Ending::hand_over: {
      // As the interpreter leaves a wave: when it has no turns left.
      Inst* left = builder_.op_typed(Op::get_field, ir::kI32, {}, 0, offsetof(WaveState, polls_left));
      builder_.cond_br(builder_.icmp(ir::ICmp::ne, left, builder_.i32(0)), blocks_[guest.next[0]], exits_.at({i, 1}));
      builder_.set_block(exits_.at({i, 1}));
      builder_.exit(ExitReason::kYield, guest.pc);
      break;
    }
    case Ending::trap: {
      set_mode_field(end);
      const Instruction& inst = guest.insts.back();
      if (!isa::is_vector(inst.opcode))
        builder_.exit(ExitReason::kTrap, last_pc, inst.words[0] & 0xff);
      else if ((end.mode & mode::kVskip) != 0)
        builder_.exit_jump(builder_.i64(guest.end_pc));
      else
        builder_.exit(ExitReason::kTrap, last_pc, trap_id::kGlobalSync);
      break;
    }
    case Ending::unsupported:
    case Ending::illegal:
      set_mode_field(end);
      builder_.exit(guest.ending == Ending::illegal ? ExitReason::kIllegal : ExitReason::kUnsupported, guest.end_pc);
      break;
  }
}

LiftResult Lifter::run() {
  make_blocks();
  fill();
  leave();
  const auto count = static_cast<uint32_t>(cfg_.blocks.size());
  for (uint32_t i = count; i < blocks_.size(); ++i) {
    builder_.set_block(blocks_[i]);
    builder_.set_guest_pc(blocks_[i]->guest_pc);
    builder_.br(blocks_[stubs_[i - count]]);
  }
  for (uint32_t i = 0; i < count; ++i) terminate(i);
  ssa_->finish();
  return {.function = std::move(function_),
          .guest_instructions = cfg_.instructions,
          .ids_from_shape = ssa_->has_shape(),
          .code = cfg_.code};
}

HandlerTable make_table() {
  HandlerTable table;
  add_control(table);
  add_salu(table);
  add_salu_compare(table);
  add_smem(table);
  add_valu_int(table);
  add_valu_int16(table);
  add_valu_fp32(table);
  add_valu_fp64(table);
  add_valu_fp16(table);
  add_packed(table);
  add_convert(table);
  add_fp8(table);
  add_compare(table);
  add_cross_lane(table);
  add_matrix(table);
  add_ds(table);
  add_flat(table);
  add_buffer(table);
  add_buffer_format(table);
  add_mimg(table);
  add_indexing(table);
  return table;
}

// SSA construction recurses along chains of blocks, so large units get a stack of their own.
constexpr size_t kDeepBlocks = 1024;
constexpr size_t kLargeStack = size_t{256} << 20;

template <typename F>
bool run_on_large_stack(const F& function) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread;
  const auto body = [](void* argument) -> void* {
    (*static_cast<const F*>(argument))();
    return nullptr;
  };
  const bool started = pthread_attr_setstacksize(&attributes, kLargeStack) == 0 &&
                       pthread_create(&thread, &attributes, body, const_cast<F*>(&function)) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, nullptr);
  return started;
}

}  // namespace

void HandlerTable::add(isa::Opcode opcode, Handler handler) {
  Handler& slot = handlers_[static_cast<unsigned>(opcode)];
  WAVEJIT_CHECK(slot == nullptr, "two handlers for {}", isa::opcode_name(opcode));
  slot = handler;
}

Handler handler_for(isa::Opcode opcode) {
  static const HandlerTable table = make_table();
  return table.find(opcode);
}

bool can_lift(const isa::Instruction& inst) {
  if (!handler_for(inst.opcode)) return false;
  if (!can_lift_matrix(inst)) return false;
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const Operand& operand = inst.operands[i];
    if (operand.kind != OperandKind::special) continue;
    const auto special = static_cast<isa::Special>(operand.reg);
    if (special == isa::Special::lds_direct || special == isa::Special::pops_exiting_wave_id) return false;
  }
  if (const Operand* data = inst.find(isa::Slot::vdata);
      inst.tfe && data && inst.format != isa::Format::mimg && data->reg + data->dwords >= kNumVgprs)
    return false;  // the status register would be one behind the last
  // No such format.
  if (inst.format == isa::Format::mtbuf && (inst.dfmt == 0 || inst.dfmt == 15)) return false;
  const uint32_t imm = inst.words[0] & 0xffff;
  switch (inst.opcode) {
    case Opcode::s_sendmsg:
    case Opcode::s_sendmsghalt: {  // docs/isa-decisions.md, "s_sendmsg"
      const uint32_t message = imm & 15;
      return message == 1 || message == 4 || message == 9 || message == 10;
    }
    case Opcode::s_sethalt:
      return (imm & 1) == 0;
    default:
      return true;
  }
}

Expected<LiftResult> lift(const LiftOptions& options, std::vector<Unsupported>* unsupported) {
  Expected<Cfg> cfg = build_cfg(options);
  if (!cfg) return tl::make_unexpected(std::move(cfg.error()));
  if (unsupported) unsupported->insert(unsupported->end(), cfg->unsupported.begin(), cfg->unsupported.end());
  LiftResult result;
  const bool deep = cfg->blocks.size() > kDeepBlocks;
  const auto run = [&] { result = Lifter(options, std::move(*cfg)).run(); };
  std::exception_ptr failure;
  const auto run_caught = [&] {
    try {
      const ChecksThrow checks_throw;
      run();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  if (!deep)
    run();
  else if (!run_on_large_stack(run_caught))
    return make_error(ErrorCode::kOutOfMemory, fmt::format("{}: no memory for the translation's stack", options.name));
  if (failure) std::rethrow_exception(failure);
  const std::string violation = ir::verify(*result.function);
  WAVEJIT_CHECK(violation.empty(), "{}: the lifter made invalid IR: {}", options.name, violation);
  return result;
}

bool supports(uint16_t opcode) {
  return opcode < isa::kNumOpcodes && handler_for(static_cast<isa::Opcode>(opcode)) != nullptr;
}

}  // namespace wavejit::lift
