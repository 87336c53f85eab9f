// Vectors of which a loop reads one lane at a time: they go to a row of the frame in front of the loop.
//
// clang 19 makes an atomic of a whole wave that way: a loop over the active lanes adds up what each has, and one lane
// makes the access. Reading a lane whose number is a variable stores the vector first, in each iteration.
#include <algorithm>
#include <map>
#include <vector>

#include "ir/analysis/loops.h"
#include "ir/passes/edges.h"
#include "ir/passes/frame_rows.h"
#include "ir/passes/passes.h"

namespace wavejit::ir::passes {
namespace {

constexpr uint64_t kMaxRows = 64;  // of a function: 256 bytes each

class LaneReads {
 public:
  explicit LaneReads(Function& function) : function_(function), dominators_(function) {}

  bool run() {
    std::vector<Loop> loops = find_loops(dominators_);
    std::ranges::reverse(loops);  // those that contain others first
    for (const Loop& loop : loops) {
      std::map<uint32_t, std::vector<Inst*>> reads;  // by id of the vector
      for (const Block* block : loop.body)
        for (Inst* inst : block->insts)
          if (is_read_of_loop(*inst, loop)) reads[inst->operands[0]->id].push_back(inst);
      for (auto& [vector, readers] : reads) {
        if (rows_ == kMaxRows) return true;
        std::ranges::sort(readers, {}, &Inst::id);
        move(loop, readers);
      }
    }
    return rows_ != 0;
  }

 private:
  static bool is_read_of_loop(const Inst& inst, const Loop& loop) {
    return inst.op == Op::readlane && !inst.users.empty() && loop.body.contains(inst.operands[1]->parent) &&
           !loop.body.contains(inst.operands[0]->parent) && !inst.operands[1]->is_const();
  }

  Inst* make(Op op, Type type, std::vector<Inst*> operands, uint64_t imm, Inst* before) {
    Inst* inst = function_.create(op, type, std::move(operands));
    inst->imm = imm;
    inst->guest_pc = before->guest_pc;
    function_.insert_before(before, inst);
    return inst;
  }

  void move(const Loop& loop, const std::vector<Inst*>& readers) {
    const uint64_t row = free_frame_row(function_);
    Inst* const vector = readers[0]->operands[0];
    for (unsigned edge = 0; edge < loop.header->predecessors.size(); ++edge) {
      if (loop.body.contains(loop.header->predecessors[edge])) continue;
      Block* const front = block_on_edge(function_, loop.header, edge, EdgePlace::in_front_of_block);
      make(Op::set_lanes, kNone, {vector}, row, front->terminator());
    }
    for (Inst* read : readers) {
      Inst* lane = make(Op::and_, kI32, {read->operands[1], make(Op::const_, kI32, {}, 63, read)}, 0, read);
      function_.replace_all_uses(read, make(Op::get_lane, kI32, {lane}, row, read));
      function_.count(Rule::row_in_front);
    }
    ++rows_;
  }

  Function& function_;
  const Dominators dominators_;
  uint64_t rows_ = 0;
};

}  // namespace

PassResult lane_reads(Function& function, const PassContext&) {
  const bool dropped = drop_unreachable(function);
  const bool any = std::ranges::any_of(function.blocks, [](const auto& block) {
    return std::ranges::any_of(block->insts, [](const Inst* inst) { return inst->op == Op::readlane; });
  });
  return {.changed = (any && LaneReads(function).run()) || dropped};
}

}  // namespace wavejit::ir::passes
