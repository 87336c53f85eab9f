// One vector load or store of one chunk. The hot path handles the frequent patterns: one address for all lanes, or
// consecutive addresses. Patterns that are not known statically are tested at run time. The cold path handles all others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/wide_accesses.h"

namespace wavejit::backend {

// strided: `base` is the address of the chunk's first lane, `known_stride` the distance from lane to lane
enum class AddressKind : uint8_t { uniform, strided, indexed, address64 };

// A mask, or all lanes.
struct ChunkLanes {
  bool full = true;
  MaskReg mask;
  [[nodiscard]] const MaskReg* get() const { return full ? nullptr : &mask; }
};

struct MemoryAccess {
  MemoryAccess(Lowering& lowering, const Inst& access, unsigned chunk_number);

  [[nodiscard]] unsigned first_lane() const { return chunk * isa.lanes; }
  [[nodiscard]] uint32_t lane_bits() const { return (1u << isa.lanes) - 1; }
  [[nodiscard]] bool is_lds_offset() const { return mem.form == ir::AddressForm::lds_offset; }
  // Two dwords of a lane may be one atomic access (AMDGPUUsage, memory model: GLC on loads of wider than work-group
  // scope), which must not be split. Stores carry no such mark; their paths access the dwords of a lane together.
  [[nodiscard]] bool needs_whole_pairs() const { return load && mem.glc && mem.bytes == 4 && mem.count >= 2; }
  // Bytes loaded by several guest instructions (memory_bytes.h).
  [[nodiscard]] bool are_joined_bytes() const {
    return load && mem.bytes == 1 && (mem.count == 4 || mem.count == 8) && mem.space == ir::Space::global;
  }

  Lowering& ctx;
  VectorIsa& isa;
  lir::Builder& cc;
  const Inst& inst;
  const ir::MemAttr& mem;
  const unsigned chunk;
  const bool load;
  uint64_t guest_pc;  // of the lane-by-lane accesses

  AddressKind kind = AddressKind::uniform;
  Gp base;            // uniform, indexed
  GatherIndex index;  // indexed
  Vec64 address;      // address64
  int64_t disp = 0;
  // Constant stride between the lanes of the chunk, of an offset or an address.
  std::optional<int64_t> known_stride;
  bool known_wrap_free = false;  // indexed: no wrap in the chunk where the stride is known
  unsigned lane_stride = 4, element_stride = 4;
  // The 64-bit values that the elements are the halves of, where nobody wants the halves.
  const WideValues& wide;
  std::array<std::optional<Vec>, 4> halves;  // of the results, where the path has them in registers of their own
  unsigned first_data = 0;
  ChunkLanes active;
  ChunkLanes excluded{.full = true, .mask = {}};  // full: none
  Vec scratch_byte;                               // scratch: byte offsets before the swizzle
  bool scratch_swizzled = false;
  bool served = false;  // by address values in general registers
  Label slow_label, join;
  bool slow_used = false;
  bool streaming = false;  // all_lanes() emits the accesses past the caches
};

// --- elements ---
[[nodiscard]] Vec data_of(MemoryAccess& access, unsigned element);
[[nodiscard]] Vec result_of(MemoryAccess& access, unsigned element);
void set_loaded(MemoryAccess& access, unsigned element, const Vec& v, const ChunkLanes& lanes);
void zero_results(MemoryAccess& access);
void finish_wide(MemoryAccess& access);  // behind a path that has loaded the halves

// --- lanes ---
// The chunk's lanes of the mask if it is a constant.
[[nodiscard]] std::optional<uint32_t> fixed_lanes(const MemoryAccess& access);
// How many lanes a constant mask has, if they are the chunk's first ones and a shorter vector register holds them; 0
// otherwise.
[[nodiscard]] unsigned first_lanes(const MemoryAccess& access);
void make_mask(MemoryAccess& access);
void require_full_mask(MemoryAccess& access);
void exclude_lanes(MemoryAccess& access, const MaskReg& lanes);  // from the hot path
void skip_without_lanes(MemoryAccess& access, const Label& done);

// --- address ---
void add_immediate(MemoryAccess& access, int64_t imm_value);
void to_slow_if(MemoryAccess& access, x86::CondCode condition);
[[nodiscard]] FaultRange fault_range(const MemoryAccess& access, bool contiguous, unsigned first = 0);

}  // namespace wavejit::backend
