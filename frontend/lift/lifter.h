// GCN machine code -> IR. Builds the control-flow graph reachable from an entry by direct branches and lifts it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/isa/instruction.h"
#include "frontend/isa/target.h"
#include "frontend/lift/dispatch_shape.h"
#include "internal/error.h"
#include "ir/function.h"

namespace wavejit::lift {

// Guest addresses [begin, end).
struct CodeRange {
  uint64_t begin = 0, end = 0;
  [[nodiscard]] bool contains(uint64_t pc) const { return pc >= begin && pc < end; }
  bool operator==(const CodeRange&) const = default;
};
inline constexpr CodeRange kAllCode{0, UINT64_MAX};

struct LiftOptions {
  isa::Target target = isa::Target::gfx906;
  bool ecc_off = false;           // see isa::d16_loads_clear
  std::string name;               // for messages and dumps: kernel or function symbol
  uint64_t entry_pc = 0;          // host address of the first instruction
  std::span<const uint8_t> code;  // executable region containing entry_pc
  uint64_t code_base = 0;         // guest address of code[0]
  uint32_t mode = 0;              // MODE register assumed at every entry (specialisation)
  bool exec_full = false;         // EXEC is all ones at every entry (the runtime checks before entering)
  // What EXEC is at every entry (the runtime checks, too), for waves that are not full: all ones for any other.
  uint64_t exec_at_entries = ~uint64_t{0};
  bool is_kernel_entry = false;
  // The code adds the instructions that the wave executes to WaveState::instructions, which is right at every exit but
  // those of memory faults.
  bool count_instructions = false;
  // Not empty: called for every block of instructions; the code increments the counter (atomically) whenever a wave
  // executes them.
  std::function<uint64_t*(std::span<const isa::Instruction>)> block_counter = {};
  // Set when every work-group this code runs for has exactly this WaveState::lds_size (specialisation).
  std::optional<uint32_t> lds_size = {};
  // First of the four SGPRs that hold the private segment buffer descriptor at the kernel's entry (s[0:3] when the
  // kernel descriptor asks for it), -1 when unknown. Accesses through it are then lifted as scratch accesses.
  int scratch_srd_sgpr = -1;
  // s[0:3] hold the descriptor of the wave's private segment, as functions are called with it, at every entry (the
  // runtime checks before entering).
  bool scratch_srd_at_entries = false;
  // The same at entries behind calls only; the kernel's entry has it by `scratch_srd_sgpr`.
  bool scratch_srd_behind_calls = false;
  // Set when every wave that enters at entry_pc does so at its start and in a complete work-group of this shape
  // (specialisation), and is resumed after a barrier or yield where this code let it go.
  std::optional<DispatchShape> shape = {};
  // Sums of matrix products may stay in the wave state, in code that waits at barriers (resident_rows.h).
  bool resident_rows = true;
  // Only instructions that begin in this range are lifted; control that gets to another one leaves the unit.
  CodeRange part = kAllCode;
  // Waves enter here only, the start of a block: they were interpreted from the kernel's start to here. With `shape` only.
  // What registers hold here follows from the code between (ir::Entry::moved).
  std::optional<uint64_t> moved_pc = {};
  // What waves have done at instructions, of which those of the unit go to ir::Function::profile. Null: nothing is known.
  std::shared_ptr<const ir::Profile> profile = {};
};

struct LiftResult {
  std::unique_ptr<ir::Function> function;  // SSA, unoptimised, verified
  uint32_t guest_instructions = 0;
  bool ids_from_shape = false;  // the start does not read the rows of work-item ids
  // The bytes of LiftOptions::code that were looked at, ascending and apart from each other.
  std::vector<CodeRange> code;
};

// Errors: kUnsupported (mnemonic, encoding, PC; or no entry is possible at moved_pc), kIllegalInstruction, kBadCodeObject
// (control leaves the code region).
// An unsupported instruction makes the whole unit fail only if `lazily` is impossible: it becomes an exit with
// ExitReason::kUnsupported at its PC, so that code that never executes it still runs; `unsupported` lists them.
struct Unsupported {
  uint64_t pc = 0;
  std::string what;  // mnemonic and encoding
};
[[nodiscard]] Expected<LiftResult> lift(const LiftOptions& options, std::vector<Unsupported>* unsupported = nullptr);

// Whether the lifter has a handler for this opcode (coverage).
[[nodiscard]] bool supports(uint16_t opcode);

}  // namespace wavejit::lift
