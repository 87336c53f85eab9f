// Emits one vector load or store of one chunk. The hot path handles the frequent patterns: one address for all lanes,
// or consecutive addresses. Patterns that are not known statically are tested at run time. The cold path handles all
// others.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/plans/wide_accesses.h"

namespace wavejit::backend {

class MemoryAccess {
 public:
  MemoryAccess(Lowering& ctx, const ir::Inst& inst, unsigned chunk);
  void emit();
  void emit_edges();  // memory_edges.cpp

 private:
  // strided: base_ is the address of the chunk's first lane, known_stride_ the distance from lane to lane
  enum class Kind : uint8_t { uniform, strided, indexed, address64 };
  // A mask, or all lanes.
  struct Lanes {
    bool full = true;
    MaskReg mask;
    [[nodiscard]] const MaskReg* get() const { return full ? nullptr : &mask; }
  };

  void prepare();
  void make_mask();
  void prepare_scratch();
  void prepare_served();
  void unserve();
  // The lane shape, if known-strides is on.
  [[nodiscard]] ir::LaneShape known_shape(const ir::Inst* value) const {
    return ctx_.on(Optimisation::known_strides) ? ctx_.shapes.of(value) : ir::LaneShape{};
  }
  [[nodiscard]] Gp uniform_pointer(const ir::Inst* base, const ir::Inst* offset);
  void add_immediate(int64_t imm);
  // Excludes lanes from the hot path.
  void exclude(const MaskReg& lanes);
  void check_aperture(const Gp& pointer);
  [[nodiscard]] Gp find_contiguous();
  [[nodiscard]] bool is_lds_offset() const { return mem_.form == ir::AddressForm::lds_offset; }
  void extend_lds_offset(const Gp& offset);
  void index_to_pointer(const Gp& index);
  [[nodiscard]] Gp strided_pointer();
  [[nodiscard]] Gp first_lane_pointer();
  void prefetch_next(const Gp& pointer);
  void prefetch(const Mem& at);
  [[nodiscard]] Operand next_group() const;
  void contiguous(const Gp& pointer);
  // streaming_stores.cpp
  void all_lanes(const Gp& pointer, const std::function<void()>& access);
  void store_all_lanes(const Mem& at, const Vec& v);
  void contiguous_interleaved(const Gp& pointer);
  void interleaved(const Gp& pointer, std::span<const MaskReg> masks);
  void whole_pairs(const Gp& pointer, std::span<const MaskReg> masks);
  void two_whole_pairs(const Gp& pointer, std::span<const MaskReg> masks);
  void take_apart(std::span<const Vec> memory);
  // memory_groups.cpp
  void load_if_in_groups();
  [[nodiscard]] bool may_be_in_halves() const;
  void load_if_in_halves();
  void shuffle_whole(const Vec& to, unsigned part, std::span<const Vec> memory,
                     const std::function<unsigned(unsigned lane)>& first_dword);
  void mark_interleaved(unsigned part);
  void contiguous_narrow(const Gp& pointer, const MaskReg* lanes);
  void zero_results();
  void skip_without_lanes(const Label& done);
  // Two dwords of a lane may be one atomic access (AMDGPUUsage, memory model: GLC on loads of wider than work-group
  // scope), which must not be split. Stores carry no such mark; their paths access the dwords of a lane together.
  [[nodiscard]] bool needs_whole_pairs() const { return load_ && mem_.glc && mem_.bytes == 4 && mem_.count >= 2; }
  void broadcast_pair(unsigned element, Mem at, const FaultRange& range);
  void uniform_load();
  void load_if_equal();
  void slow();
  void serve_all();
  void finish_wide();
  void slow_element(unsigned element, Kind kind, const GatherIndex& index, const Vec64& address, int32_t disp,
                    const Lanes& lanes);
  void slow_flat();
  [[nodiscard]] Vec scratch_place(unsigned element, unsigned byte);
  void flat_scratch(const MaskReg& in_scratch, const Label& done);
  void call_for_flat_lanes();
  void slow_scratch_unaligned(unsigned element, const Gp& base, const Vec& start, const Lanes& lanes);
  void store_scratch_bytes(const Vec& v, const Gp& base, const Vec& start, const Lanes& lanes);

  // Lanes one by one, without a loop (memory_lanes.cpp): addresses in a row, or `stride` apart from `first`.
  struct LaneAddresses {
    Mem row;  // inactive lanes have an address where accesses are harmless
    Gp first;
    int32_t stride = 0;
    int32_t disp = 0;
    Operand ahead = {};  // distance to the next work-group's access, for prefetches; none: no prefetch
  };
  [[nodiscard]] bool can_stride() const;
  void strided_lanes(const Gp& pointer);
  void lanes_at(const LaneAddresses& at);

  // Lanes at constant distances within a few registers' worth of LDS (memory_permuted.cpp).
  struct LaneDistances {
    std::array<int64_t, 16> bytes{};
    bool wrap_free = false;  // no address wraps around between the lanes
  };
  [[nodiscard]] std::optional<LaneDistances> lane_distances();
  [[nodiscard]] Gp first_pointer(int32_t first, int64_t& disp);
  [[nodiscard]] bool store_runs(const LaneDistances& distances);
  struct Permutation {
    unsigned registers = 0;
    int32_t first = 0;  // bytes from the address of the chunk's first lane to the lowest one
    bool wrap_free = false;
    std::array<uint8_t, 16> place{};    // of a lane's first element, in dwords past the lowest address
    std::array<uint8_t, 64> element{};  // by place: lane * count + element
  };
  [[nodiscard]] std::optional<Permutation> find_permutation(const LaneDistances& distances);
  [[nodiscard]] bool permuted();
  void load_permuted(const Permutation& p, const Gp& pointer, int32_t disp);
  void store_permuted(const Permutation& p, const Gp& pointer, int32_t disp);
  // Bytes loaded by several guest instructions (memory_bytes.cpp).
  [[nodiscard]] bool are_joined_bytes() const {
    return load_ && mem_.bytes == 1 && (mem_.count == 4 || mem_.count == 8) && mem_.space == ir::Space::global;
  }
  void joined_bytes();

  void join_cold_path(bool may_be_equal);  // may_be_equal: lanes may share an address

  [[nodiscard]] bool in_disorder() const;
  void walk(const Mem& rows, const Gp& cursor);  // walks.cpp
  void copy_line(const Mem& to, const Mem& from);
  void load_to_page_ends(const Mem& lines, const Mem& addresses, const Gp& cursor);
  void transpose_lines(const Mem& lines, const Mem& row);

  // By a function for all accesses of a size (memory_shared.cpp).
  [[nodiscard]] bool is_shared() const;
  void call_shared(uint32_t form);
  void shared_any();
  void shared_contiguous(const Gp& pointer, const Label& masked);

  [[nodiscard]] bool serve_lanes();  // false: gathers or scatters are better
  [[nodiscard]] bool gather_pairs();
  [[nodiscard]] Mem stage_addresses(const Vec64& address, int32_t disp, const Lanes& lanes);
  [[nodiscard]] Mem lane_at(const LaneAddresses& at, unsigned lane, unsigned bytes, int32_t offset = 0);
  [[nodiscard]] Mem lane_place(const LaneAddresses& at, unsigned lane, unsigned bytes, int32_t offset);
  [[nodiscard]] Vec singles_at(const LaneAddresses& at);
  void load_narrow_lanes(unsigned element, const LaneAddresses& at, const Lanes& lanes);
  [[nodiscard]] std::array<Vec, 2> pairs_at(const LaneAddresses& at);
  void load_quads(const LaneAddresses& at);
  void store_pairs(const LaneAddresses& at);
  void store_quads(const LaneAddresses& at);
  void store_lanes(const Vec& v, unsigned bytes, const LaneAddresses& at);
  void store_lanes_of(const Vec& v, unsigned bytes, const Vec64& address, int32_t disp, const Lanes& lanes);
  void set_loaded(unsigned element, const Vec& v, const Lanes& lanes);

  void to_slow_if(x86::CondCode condition);
  void require_full_mask();
  [[nodiscard]] FaultRange range(bool contiguous, unsigned first = 0) const;
  [[nodiscard]] Vec data(unsigned element);
  [[nodiscard]] Vec result(unsigned element);
  [[nodiscard]] unsigned first_lane() const { return chunk_ * isa_.lanes; }
  [[nodiscard]] uint32_t all_lanes() const { return (1u << isa_.lanes) - 1; }
  [[nodiscard]] std::optional<uint32_t> fixed_lanes() const;
  [[nodiscard]] unsigned first_lanes() const;

  Lowering& ctx_;
  VectorIsa& isa_;
  lir::Builder& cc_;
  const ir::Inst& inst_;
  const ir::MemAttr& mem_;
  const unsigned chunk_;
  const bool load_;
  uint64_t guest_pc_;  // of the lane-by-lane accesses

  Kind kind_ = Kind::uniform;
  Gp base_;            // uniform, indexed
  GatherIndex index_;  // indexed
  Vec64 address_;      // address64
  int64_t disp_ = 0;
  // Constant stride between the lanes of the chunk, of an offset or an address.
  std::optional<int64_t> known_stride_;
  bool known_wrap_free_ = false;  // indexed: no wrap in the chunk where the stride is known
  unsigned lane_stride_ = 4, element_stride_ = 4;
  // The 64-bit values that the elements are the halves of, where nobody wants the halves.
  const WideValues& wide_;
  std::array<std::optional<Vec>, 4> halves_;  // of the results, where the path has them in registers of their own
  unsigned first_data_ = 0;
  Lanes active_;
  Lanes excluded_{.full = true, .mask = {}};  // full: none
  Vec scratch_byte_;                          // scratch: byte offsets before the swizzle
  bool scratch_swizzled_ = false;
  bool served_ = false;  // by address values in general registers
  Label slow_label_, join_;
  bool slow_used_ = false;
  bool streaming_ = false;  // all_lanes() emits the accesses past the caches
};

}  // namespace wavejit::backend
