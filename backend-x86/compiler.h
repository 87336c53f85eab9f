// IR -> x86-64 machine code.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend-x86/host_table.h"
#include "backend-x86/optimisations.h"
#include "internal/error.h"
#include "internal/wave_state.h"
#include "ir/function.h"

namespace wavejit::backend {

enum class Tier : uint8_t {
  avx2,    // AVX2 + FMA + F16C + BMI2; 8 lanes per register, masks as vectors
  avx512,  // AVX-512 F/BW/DQ/VL/CD; 16 lanes per register, masks in k registers
};
[[nodiscard]] std::string_view to_string(Tier tier);
[[nodiscard]] bool host_supports(Tier tier);
[[nodiscard]] bool host_has_vnni();             // AVX-512 VNNI, which the AVX-512 tier uses if present
[[nodiscard]] bool host_has_fp16();             // AVX-512 FP16, likewise
[[nodiscard]] Expected<Tier> best_host_tier();  // kUnsupported if the CPU lacks AVX2, FMA, F16C or BMI2

// Identifies the CPU that code is translated for: its model, the tiers that it can run, and host().choices.
[[nodiscard]] std::span<const uint32_t> host_identity();

struct AddressRange {
  uint64_t begin = 0, end = 0;
};

// What CompiledCode::listing() has, annotated with the IR that it is made of.
enum class ListingKind : uint8_t {
  none,
  lir,  // before register allocation
  x86,
};

struct CompileOptions {
  Tier tier = Tier::avx512;
  ListingKind listing = ListingKind::none;
  OptimisationSet optimisations = {};
  HostChoices choices = host().choices;
  // If set, compile() determines whether the code is movable. Addresses in this range, those of the guest's code and
  // variables, are the same in every process that uses the code.
  std::optional<AddressRange> movable_within = {};
  std::function<void(std::string_view stage)>
      finished;  // called after "emit", "allocate", "assemble" and "place", for profiles
};

// Bytes past the end of the LDS (WaveState::lds_base + lds_size) that the caller keeps readable and writable. Vector
// accesses may overrun the end and store back what they have read there.
inline constexpr uint32_t kLdsSlack = 256;

// The code range [begin, end) (byte offsets) accesses memory for a guest instruction. fault_decode.h finds the lane of
// a fault inside the range.
struct FaultRange {
  uint32_t begin = 0, end = 0;
  uint64_t guest_pc = 0;
  uint8_t first_lane = 64;  // lanes served by the range: first_lane .. first_lane + lanes - 1; 64 = scalar access
  uint8_t lanes = 0;
  uint8_t element_bytes = 4;  // distance between consecutive lanes' addresses when the range is one contiguous access
  // Mask elements of the access per lane, and how many elements of first_lane precede the access.
  uint8_t lane_elements = 1, skipped_elements = 0;
  bool contiguous = false;
  bool write = false;
  bool lane_in_state = false;  // a loop over lanes that keeps the current lane in WaveState::fault_lane
  bool misaligned = false;     // executed only for a misaligned address; inverts its bit 63 so that the access faults
  bool paired_order = false;   // a gather of AVX2 64-bit addresses: its elements are lanes 0 1 4 5 past first_lane
};

// 8 bytes of code that hold the address of a function of this library.
struct FunctionSlot {
  uint32_t offset = 0;    // from the code's beginning
  uint32_t function = 0;  // number of the function, valid for this build only
};
// Alignment of the host's stack, in bytes, when a trampoline enters translated code.
inline constexpr uint32_t kStackAlignment = 64;

// Position-independent form of translated code. Any process that runs the same build of the library on the same kind of
// CPU can place it.
struct CodeImage {
  std::span<const uint8_t> code;  // the contents of slots do not matter
  std::span<const FunctionSlot> slots;
  std::vector<FaultRange> fault_ranges;
  uint32_t host_instructions = 0;
};

// Executable machine code of one ir::Function. Immutable and thread-safe; the memory is freed with the object. Code
// pages are never writable and executable at once.
class CompiledCode {
 public:
  using EntryFn = uint32_t (*)(WaveState* wave,
                               uint32_t entry_index);  // returns ExitReason; wave->exit_reason/pc are set

  virtual ~CompiledCode() = default;
  [[nodiscard]] virtual EntryFn entry() const = 0;  // entry_index = index in ir::Function::entries
  [[nodiscard]] virtual std::span<const uint8_t> code() const = 0;
  [[nodiscard]] virtual std::span<const FaultRange> fault_ranges() const = 0;  // sorted by begin
  [[nodiscard]] virtual const std::string& listing() const = 0;
  // Emitted x86 instruction count, for reports.
  [[nodiscard]] virtual uint32_t host_instructions() const = 0;
  // Returns true if the code works at other addresses and in other processes once its slots are filled in. Known only
  // if CompileOptions::movable_within was set.
  [[nodiscard]] virtual bool is_movable() const = 0;
  [[nodiscard]] virtual std::span<const FunctionSlot> slots() const = 0;
};

// Errors: kUnsupported naming the IR operation and guest PC, kOutOfMemory.
[[nodiscard]] Expected<std::shared_ptr<const CompiledCode>> compile(const ir::Function& function,
                                                                    const CompileOptions& options);

// Makes kept code executable. Errors: kOutOfMemory; kInvalidArgument if the parts do not fit together.
[[nodiscard]] Expected<std::shared_ptr<const CompiledCode>> place(CodeImage image);

// Runs compiled code through the entry trampoline, which sets the host's FP environment from wave.mode and restores it
// afterwards.
ExitReason enter(const CompiledCode& code, WaveState& wave, uint32_t entry_index);

// A trampoline that enters compiled code and does not restore MXCSR. Code that depends on MXCSR sets it itself. For
// callers that enter code many times and restore MXCSR at the end. Returns an ExitReason.
using PlainEntryFn = uint32_t (*)(WaveState* wave, uint32_t entry_index, CompiledCode::EntryFn code);
[[nodiscard]] PlainEntryFn plain_entry();

}  // namespace wavejit::backend
