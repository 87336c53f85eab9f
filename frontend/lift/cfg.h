// Control-flow graph of the guest code reachable from one entry by direct branches; of very large functions, a part, and
// of others that which LiftOptions::part says.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "frontend/isa/instruction.h"
#include "frontend/lift/lifter.h"
#include "internal/wave_state.h"

namespace wavejit::lift {

// Pairs of SGPRs by half of the first one's number; SGPRs that any instruction may name, S_MOVREL* by index too.
inline constexpr unsigned kVccPair = sreg::kVccLo / 2, kExecPair = sreg::kExecLo / 2;
inline constexpr unsigned kGeneralSgprs = 102;

// How control leaves a guest block.
enum class Ending : uint8_t {
  fallthrough,  // the next instruction is the start of another block
  branch,
  cond_branch,
  jump,         // s_setpc_b64, s_cbranch_*_fork, s_cbranch_join
  call,         // s_swappc_b64, s_call_b64: the next instruction is an entry
  end,          // s_endpgm and what else ends the wave
  barrier,      // s_barrier: the next instruction is an entry
  yield,        // s_sleep: the next instruction is an entry
  hand_over,    // no instruction: where a wave may come from the interpreter (LiftOptions::moved_pc)
  trap,         // s_trap, and what the runtime executes (internal/trap_id.h)
  new_mode,     // MODE was written with a value that is not known here: go on in a unit specialised on it
  unsupported,  // no handler; end_pc is the instruction
  illegal,      // undecodable bytes at end_pc, or end_pc is outside of the code region
};

inline constexpr uint32_t kNoBlock = UINT32_MAX;

struct GuestBlock {
  uint64_t pc = 0;                      // first instruction
  uint64_t end_pc = 0;                  // behind the last lifted instruction
  std::vector<isa::Instruction> insts;  // including the one that ends the block
  Ending ending = Ending::illegal;
  // Indices of blocks. cond_branch: taken, not taken. barrier, yield and call: [1] is the entry behind it (not an
  // edge). hand_over: both are the block in front of which it stands, as an edge and as an entry.
  std::array<uint32_t, 2> next{kNoBlock, kNoBlock};
  // The successor is lifted for another MODE, or is not part of the unit: leave instead.
  std::array<bool, 2> leaves{};
  uint32_t mode = 0;          // MODE at the start of the block
  bool is_entry = false;      // control may come from outside of the unit
  bool changes_mode = false;  // in a way that is known (mode_behind)

  // Where the edge of that number leads, of a block that ends with fallthrough, branch or cond_branch.
  [[nodiscard]] uint64_t target(unsigned edge) const;
};

struct Cfg {
  std::vector<GuestBlock> blocks;  // reverse post-order over edges, entries being roots; [0] is the unit's entry
  std::vector<Unsupported> unsupported;
  std::vector<CodeRange> code;  // LiftResult::code
  uint32_t instructions = 0;
  // Highest VGPR an access with a run-time register number may mean: in a kernel without calls only registers that the
  // unit mentions hold anything.
  unsigned last_indexed_row = kNumVgprs - 1;

  // Indices of the blocks control can go to inside the unit.
  [[nodiscard]] std::vector<uint32_t> successors(uint32_t block) const;
};

// Errors: kBadCodeObject when entry_pc is outside of the region; kUnsupported when waves cannot come from the interpreter at
// moved_pc.
[[nodiscard]] Expected<Cfg> build_cfg(const LiftOptions& options);

// The bits of MODE that s_setreg_b32 / s_setreg_imm32_b32 with this simm16 replaces (bit offset in bits 10:6, size - 1
// in bits 15:11); empty when it addresses another register.
struct ModeWrite {
  bool is_mode = false;
  unsigned offset = 0;
  uint32_t mask = 0;  // unshifted
};
[[nodiscard]] ModeWrite mode_write(const isa::Instruction& inst);

// MODE behind an instruction that changes it to a value known here, and behind any other that does not end its block.
[[nodiscard]] uint32_t mode_behind(const isa::Instruction& inst, uint32_t mode);

// In which form the value of a scalar register pair is wanted by the code that follows. It only steers how phis
// represent a pair (one mask, one 64-bit number, or two halves); any choice is correct.
enum class PairView : uint8_t { halves, i64, mask };

struct PairDemand {
  std::vector<std::array<PairView, 64>> at_start;  // per block, per pair
  // Blocks' bitwise 64-bit operations whose result is wanted as a mask, by pc.
  std::unordered_map<uint64_t, bool> result_is_mask;
};
[[nodiscard]] PairDemand analyse_demand(const Cfg& cfg);

// Pairs (bit i: s[2i:2i+1], bit 63 EXEC) that hold all ones at the start of each block.
[[nodiscard]] std::vector<uint64_t> analyse_full_masks(const Cfg& cfg, bool exec_full);
// The pairs that hold all ones when a wave enters the unit, in the same form.
[[nodiscard]] uint64_t full_masks_at_entries(bool exec_full);
// Whether EXEC is all ones behind the block, given those pairs at its start.
[[nodiscard]] bool ends_with_full_exec(const GuestBlock& block, uint64_t full_at_start);

// Where words 0..3 of the private segment buffer descriptor are, followed through copies and through the prologue that
// adds the wave's scratch offset to the base address.
class ScratchDescriptor {
 public:
  ScratchDescriptor() = default;
  explicit ScratchDescriptor(unsigned sgpr) {
    for (unsigned i = 0; i < 4 && sgpr + i < words_.size(); ++i) words_[sgpr + i] = static_cast<uint8_t>(i + 1);
  }
  void step(const isa::Instruction& inst);
  [[nodiscard]] bool at(unsigned reg) const;  // all four words are in reg..reg+3
  bool merge(const ScratchDescriptor& other);

 private:
  std::array<uint8_t, 128> words_{};  // word number + 1, 0 for anything else
};
[[nodiscard]] std::vector<ScratchDescriptor> analyse_scratch_descriptor(const Cfg& cfg, const LiftOptions& options);

}  // namespace wavejit::lift
