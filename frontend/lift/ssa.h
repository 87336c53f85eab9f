// On-the-fly SSA construction over the wave's registers (Braun et al., "Simple and Efficient Construction of Static
// Single Assignment Form", CC 2013).
//
// Variables: scalar registers in aligned pairs, vector rows (AGPR i is row 256 + i), SCC, VCCZ, the number of executed
// instructions. A pair has three views:
// one mask, one i64, or two i32 halves; whoever reads one view of what was written as another gets the conversion. VCC
// and EXEC are masks at heart. Blocks are filled in reverse post-order; a block is sealed once all its predecessors are
// filled.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

#include "frontend/lift/cfg.h"
#include "frontend/lift/dispatch_shape.h"
#include "ir/builder.h"

namespace wavejit::lift {

inline constexpr unsigned kVarScc = 128;
inline constexpr unsigned kVarVccz = 129;
inline constexpr unsigned kVarVgpr = 130;
inline constexpr unsigned kNumRows = 512;
inline constexpr unsigned kVarLdsSize = kVarVgpr + kNumRows;  // fields of the wave state that never change
inline constexpr unsigned kVarScratchBase = kVarLdsSize + 1;
inline constexpr unsigned kVarInstructions = kVarScratchBase + 1;  // WaveState::instructions, where it is counted
inline constexpr unsigned kNumVars = kVarInstructions + 1;
using VarSet = std::bitset<kNumVars>;

class Ssa {
 public:
  using Inst = ir::Inst;

  struct BlockInfo {
    ir::Block* block = nullptr;
    std::vector<uint32_t> predecessors;  // in the order of ir::Block::predecessors
    std::array<PairView, 64> demand{};   // how phis and entry reads represent each pair
    uint64_t known_full = 0;             // pairs that hold all ones at the start
    bool ends_wave = false;              // nobody reads registers behind it
    bool is_entry = false;               // no predecessors: reads come from the wave state
    uint64_t exec = ~uint64_t{0};        // of an entry: what EXEC is known to be, if not all ones
  };

  // `infos[i]` describes block i; their instruction lists are empty. `resident`: rows that each block reads from the wave state
  // and writes there (resident_rows.h).
  Ssa(ir::Builder& builder, std::vector<BlockInfo> infos, const std::bitset<kNumRows>& resident = {});

  // Facts about the wave state where the kernel starts, in the entry block `block`.
  void set_shape(uint32_t block, const DispatchShape& shape);
  [[nodiscard]] bool has_shape() const { return shape_ != nullptr; }

  // Blocks are filled one after the other; every block exactly once.
  void start_block(uint32_t block);
  void finish_block();

  Inst* read32(unsigned reg);
  Inst* read64(unsigned reg);     // reg even
  Inst* read_mask(unsigned reg);  // reg even
  void write32(unsigned reg, Inst* value);
  void write64(unsigned reg, Inst* value);
  void write_mask(unsigned reg, Inst* value);
  Inst* read_row(unsigned row);
  void write_row(unsigned row, Inst* value);
  Inst* read_scc();
  void write_scc(Inst* value);
  Inst* read_vccz();
  void update_vccz();            // to what VCC holds
  void write_vccz(Inst* value);  // alone, behind a write of VCC that may not have happened
  Inst* read_lds_size() { return view_at_end(current_, kVarLdsSize, PairView::halves); }          // i32
  Inst* read_scratch_base() { return view_at_end(current_, kVarScratchBase, PairView::halves); }  // i64
  void count_instructions(uint64_t count);
  // Whether the value is what the pair that starts at SGPR `reg` holds at the kernel's start (false when unknown).
  [[nodiscard]] bool is_initial_pair(const Inst* value, int reg) const;
  // Whether the current value of the pair is at hand as a mask (a compare made it, for example).
  [[nodiscard]] bool is_mask(unsigned reg) const { return natural_view(current_, reg / 2) == PairView::mask; }

  // --- after all blocks are filled ---
  // What follows a block: blocks inside the unit, the block where a barrier or yield resumes, or code unknown here.
  // `resumes_with_any_exec`: the wave may go on in code that is not lifted for a full EXEC, unlike this.
  struct Leaving {
    std::vector<uint32_t> successors;
    uint32_t resumes_at = kNoBlock;
    bool resumes_with_any_exec = false;
    bool unknown = false;
  };
  void compute_modified(const std::vector<Leaving>& leaving);
  void compute_liveness(const std::vector<Leaving>& leaving);
  // Variables some path from an entry to the end of the block writes.
  [[nodiscard]] const VarSet& modified_at_end(uint32_t block) const { return states_[block].modified_out; }
  [[nodiscard]] const VarSet& live_at_start(uint32_t block) const { return states_[block].live_in; }
  // The same for code that is not lifted for a full EXEC: rows that are written keep lanes.
  [[nodiscard]] const VarSet& live_at_start_any_exec(uint32_t block) const { return states_[block].live_in_any_exec; }
  // Appends the set_* operations for the variables, as they are at the end of the block, to it or to `where` (a block
  // that it dominates).
  void write_back(uint32_t block, const VarSet& variables, ir::Block* where = nullptr);
  // Puts phis and entry reads in front of the blocks' instructions. Terminators are appended after this or before.
  void finish();
  // The value a replaced phi stands for. Values kept across finish_block() must go through this.
  [[nodiscard]] Inst* resolve(Inst* inst) const;

 private:
  struct Pair {
    Inst* mask = nullptr;
    Inst* i64 = nullptr;
    std::array<Inst*, 2> half{};
    bool written = false;  // in this block: null views do not mean "as at the start" for the whole pair
  };
  using RowPage = std::array<Inst*, 64>;
  struct Incomplete {
    Inst* phi;
    unsigned variable;  // first variable of the pair for pairs
    PairView view;
  };
  struct Start {  // value at the start of the block: value[half] for halves, else value[0]
    bool known = false;
    PairView view = PairView::halves;
    std::array<Inst*, 2> value{};
  };
  struct State {
    BlockInfo info;
    std::array<Pair, 64> pairs{};
    std::array<Start, 64> starts{};
    std::array<std::unique_ptr<RowPage>, kNumRows / 64> rows;
    Inst* scc = nullptr;
    Inst* vccz = nullptr;
    std::array<Inst*, 3> fields{};  // LDS size, scratch base, instructions
    Inst* vccz_of = nullptr;        // VCCZ is !mask_any(vccz_of), not computed yet
    bool filled = false, sealed = false;
    std::vector<Incomplete> incomplete;
    std::vector<Inst*> phis, gets;  // in front of the block's instructions in the end
    VarSet uses, defs;              // upward-exposed reads, writes
    VarSet modified_out, live_in, live_in_any_exec;
  };

  [[nodiscard]] PairView view_of(uint32_t block, unsigned pair) const;
  [[nodiscard]] PairView natural_view(uint32_t block, unsigned pair) const;
  Inst* value_at_start(uint32_t block, unsigned pair, unsigned half);
  void adopt_start(uint32_t block, unsigned pair);
  // Current values, i.e. at the end of what the block has so far.
  Inst* pair_mask(uint32_t block, unsigned pair);
  Inst* pair_i64(uint32_t block, unsigned pair);
  Inst* pair_half(uint32_t block, unsigned pair, unsigned half);
  Inst*& simple_slot(uint32_t block, unsigned variable);
  Inst* simple(uint32_t block, unsigned variable);  // row, SCC, VCCZ, field
  Inst* view_at_end(uint32_t block, unsigned variable, PairView view);

  Inst* get(uint32_t block, ir::Op op, ir::Type type, unsigned index);  // reads the wave state in an entry block
  Inst* make_phi(uint32_t block, ir::Type type);
  Inst* complete_phi(uint32_t block, Inst* phi, unsigned variable, PairView view);
  Inst* try_remove(Inst* phi, uint32_t block);
  [[nodiscard]] bool replaced(const Inst* phi) const { return phi->id < replaced_.size() && replaced_[phi->id]; }
  void seal(uint32_t block);
  [[nodiscard]] bool is_resident(unsigned variable) const {
    return variable >= kVarVgpr && variable < kVarLdsSize && resident_[variable - kVarVgpr];
  }
  void write_resident_rows();
  void note_use(unsigned variable);
  void at_end_of(uint32_t block) { builder_.set_block(states_[block].info.block); }

  ir::Builder& builder_;
  std::vector<State> states_;
  const std::bitset<kNumRows> resident_;
  uint32_t current_ = kNoBlock;
  bool filling_ = false;
  uint32_t start_block_ = kNoBlock;  // the entry block of the kernel's start if `shape_` is set
  const DispatchShape* shape_ = nullptr;
  std::vector<Inst*> replaced_;                 // by id of a removed phi
  std::vector<uint32_t> phi_block_;             // by id of a phi
  std::vector<std::vector<uint32_t>> waiting_;  // per block: successors to look at when it is filled
};

}  // namespace wavejit::lift
