// Emits LIR for one IR function, for either tier.
//
// Code model: a vector value has one register per chunk (two for 64-bit lanes), a mask one mask register per chunk, and
// a scalar one general register. Within a block, instructions in which no lane sees another form segments. A segment is
// emitted chunk by chunk, so that intermediate values die within a chunk. All other instructions are emitted between
// segments, for all chunks at once.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "backend-x86/helpers/helpers.h"
#include "backend-x86/lower/host_code.h"
#include "backend-x86/lower/indexed_addresses.h"
#include "backend-x86/lower/lane_addresses.h"
#include "backend-x86/lower/phi_classes.h"
#include "backend-x86/lower/tile_regions.h"
#include "backend-x86/lower/vector_isa.h"
#include "backend-x86/schedule/sums.h"
#include "ir/analysis/dominators.h"
#include "ir/analysis/lane_shape.h"
#include "ir/analysis/lane_table.h"
#include "ir/analysis/loops.h"
#include "ir/function.h"

namespace wavejit::backend {

// The condition code for a predicate after `cmp a, b`.
[[nodiscard]] x86::CondCode scalar_condition(ir::ICmp p);
// What holds behind vucomiss a, b, or b, a if `swapped`, where a and b are in one of the relations: bits 0 to 3 for less,
// equal, greater, unordered. Nothing if no single condition tells.
struct FloatCondition {
  x86::CondCode condition;
  bool swapped;
};
[[nodiscard]] std::optional<FloatCondition> float_condition(uint32_t relations);

// The 64-bit values that an access to memory takes as wholes; none: it takes dwords.
struct WideValues {
  std::array<const ir::Inst*, 2> pairs{};
  [[nodiscard]] bool any() const { return pairs[0] != nullptr; }
  [[nodiscard]] bool has(const ir::Inst* value) const { return value == pairs[0] || value == pairs[1]; }
};

class Emitter {
 public:
  // tile: lanes that the function handles at once.
  Emitter(const ir::Function& function, lir::Builder& cc, const CompileOptions& options, unsigned tile = kWaveSize);

  // Emits the whole function. The first IR operation that is not supported stops it.
  Expected<void> run();
  [[nodiscard]] const FaultLog& faults() const { return faults_; }
  [[nodiscard]] const DataPool& pool() const { return pool_; }

 private:
  using Inst = ir::Inst;
  using Op = ir::Op;

  // --- driver (emitter.cpp) ---
  [[nodiscard]] bool on(Optimisation o) const { return options_.optimisations.has(o); }
  // Whether dwords of lanes at any addresses are loaded (stored) by one instruction rather than one by one.
  [[nodiscard]] bool gathers() const {
    return on(Optimisation::gathers) && (isa_->lanes == 16 ? options_.choices.gather16 : options_.choices.gather8);
  }
  [[nodiscard]] bool scatters() const {
    return on(Optimisation::scatters) && isa_->has_scatter() && options_.choices.scatter16;
  }
  enum class Shape : uint8_t { scalar, chunk, barrier, terminator };
  [[nodiscard]] static Shape shape(const Inst& inst);
  void emit_prologue();
  void emit_block(const ir::Block& block);
  [[nodiscard]] bool is_left_out(const Inst& inst) const;
  void emit_region(const TileRegion& region, const Label& next);
  void flush_segment();
  void emit_segment();
  // Order within a segment (segment_order.cpp).
  [[nodiscard]] std::vector<schedule::Node> segment_nodes() const;
  void for_each_read(const Inst& inst, const std::function<void(const Inst*)>& visit) const;
  void for_each_result(const Inst& inst, const std::function<void(const Inst*)>& visit) const;
  [[nodiscard]] const Inst* sum_operand(const Inst& inst) const;
  void emit_chunks(std::span<const Inst* const> insts);
  void emit_chunks_in_any_order(std::span<const Inst* const> insts);
  [[nodiscard]] std::vector<const Inst*> with_late_reads(std::span<const Inst* const> insts) const;
  // Segments emitted as a loop over chunks (rolled_segment.cpp).
  struct RolledAddress {
    const Inst* base = nullptr;
    int32_t offset = 0;  // the sum does not wrap around
  };
  struct RolledParts {
    std::vector<const Inst*> front, loop, behind;    // in the order of emission; only `loop` is in the loop
    std::unordered_set<uint32_t> local;              // ids of values that live in registers of the loop
    std::set<uint32_t> imports;                      // `local` values defined outside of the loop
    std::map<uint32_t, const Inst*> exports;         // values read outside of the loop, with their last definition
    std::map<const Inst*, RolledAddress> addresses;  // by the address of a load in the loop
    // Loads in the loop whose values repeat: chunk c gets those of chunk c - `shared_chunks`. Only the loop reads them.
    std::vector<const Inst*> shared;
    unsigned shared_chunks = 0;  // a power of two
  };
  [[nodiscard]] bool is_rollable(const Inst& inst) const;
  [[nodiscard]] bool is_rollable_load(const Inst& load) const;
  [[nodiscard]] std::optional<int64_t> chunk_stride(const Inst& load) const;
  [[nodiscard]] std::optional<RolledParts> rolled_parts(std::span<const schedule::Node> nodes,
                                                        std::span<const uint32_t> order) const;
  using RolledTables = std::map<std::tuple<uint32_t, unsigned, unsigned>, Mem>;  // by value, element and part
  [[nodiscard]] Mem rolled_row(RolledTables& tables, const Inst* place, unsigned element, unsigned part);
  void for_each_register(const Inst* place, const std::function<void(unsigned element, unsigned part)>& visit) const;
  void emit_rolled(const RolledParts& parts);
  [[nodiscard]] RolledAddress rolled_address(const Inst& load, std::span<const Inst* const> front) const;
  void fold_offsets(RolledParts& parts) const;
  void find_shared_loads(RolledParts& parts) const;
  [[nodiscard]] std::vector<Mem> rows_read(const RolledParts& parts) const;
  RolledTables emit_shared_loads(const RolledParts& parts, const std::map<const Inst*, Mem>& pointers);
  void store_pointers(std::map<const Inst*, Mem>& pointers, const Inst* base);
  [[nodiscard]] std::pair<Gp, int32_t> rolled_pointer(const Inst& load);
  [[nodiscard]] unsigned chunks_side_by_side(std::span<const Inst* const> insts) const;  // interleaving.cpp
  [[nodiscard]] bool is_deferred(const Inst& inst) const;
  void plan_idle_chunks();  // idle_chunks.cpp
  [[nodiscard]] bool may_be_idle(const Inst& inst) const;
  [[nodiscard]] uint16_t halves_of(const Inst* mask) const;
  [[nodiscard]] uint16_t halves_read_by(const Inst& user) const;
  static constexpr uint16_t kAllHalves = 0xffff;
  [[nodiscard]] bool is_wanted_whole(const Inst* inst) const { return wanted_halves_[inst->id] == kAllHalves; }
  [[nodiscard]] unsigned wanted_in(const Inst& inst, unsigned chunk) const {
    return wanted_halves_[inst.id] >> 2 * chunk & 3;
  }
  [[nodiscard]] bool is_half_wanted(const Inst& inst, unsigned chunk) const {
    const unsigned wanted = wanted_in(inst, chunk);
    return wanted == 1 || wanted == 2;
  }
  // The parts of a 64-bit value that somebody wants, and registers for them: if it is one, for both, as other instructions
  // may name the other one, too.
  struct WantedParts {
    Vec64 to;
    unsigned first, end;
  };
  WantedParts wanted_parts(const Inst& inst, unsigned chunk);
  [[nodiscard]] bool must_flush_before(const Inst& inst, Shape shape) const;
  // Bytes of the LDS that any lane may access: [begin, end). Accesses without a known bound, flat ones included, cover
  // all.
  struct LdsAccess {
    int64_t begin = 0, end = INT64_MAX;
    bool stores = false;
    [[nodiscard]] bool conflicts(const LdsAccess& other) const {
      return (stores || other.stores) && begin < other.end && other.begin < end;
    }
  };
  [[nodiscard]] static bool accesses_lds(const Inst& inst);
  [[nodiscard]] LdsAccess lds_access(const Inst& inst) const;
  [[nodiscard]] bool conflicts_with_segment(const Inst& inst) const;
  void add_to_segment(const Inst& inst);
  void note_reads(const Inst& inst);
  void emit_chunk(const Inst& inst, unsigned chunk);
  void emit_scalar(const Inst& inst);
  void emit_barrier(const Inst& inst);
  void annotate(const Inst& inst);
  const Inst* annotated_ = nullptr;  // the last one, for listings
  void fail(const Inst& inst, const std::string& why = {});
  void plan_fusions();
  void plan_conditions();
  using Users = std::vector<const Inst*>;
  bool add_readers_of_condition(const Inst& condition, Users& readers) const;
  [[nodiscard]] bool is_recomputable(const Inst& compare, const Inst& reader) const;
  void plan_lane_address(const Inst& access);
  x86::CondCode test_mask(const Inst& test);
  x86::CondCode compare_narrow(const Inst& compare);
  [[nodiscard]] bool flags_are_of(const Gp& a, const Operand& b, bool zero_alone = false) const;
  // Whether the register of an i32 has zeros above it, so that its 64-bit register is the same number.
  [[nodiscard]] bool is_zero_extended(const Inst* value);
  [[nodiscard]] Gp as_index(const Inst* value);
  std::unordered_map<const Inst*, Gp> indices_;  // copies made in the block
  enum class Extension : uint8_t { unknown, assumed, zero, none };
  std::vector<Extension> extensions_;  // of values in general registers, by id
  [[nodiscard]] bool can_sink(const Inst& inst, const Inst& user) const;
  [[nodiscard]] bool reads_class(const Inst& inst, const Inst* own) const;
  [[nodiscard]] bool is_fused(const Inst* inst) const { return fused_[inst->id]; }
  // Sign changes folded into the fused multiply-adds that use them (vector_float.cpp).
  void plan_negations();
  struct Signed {
    const Inst* value;
    bool negative;
  };
  [[nodiscard]] Signed without_sign(const Inst* operand) const;
  void emit_fma(const Inst& inst, unsigned chunk);
  // One instruction for several bitwise operations on up to three values (AVX-512; ternary_logic.cpp).
  struct Ternary {
    std::array<const Inst*, 3> operands;
    uint8_t table = 0;  // bit (a << 2 | b << 1 | c): the result where the operands have the bits a, b and c
  };
  using TernaryPlan = std::map<uint32_t, Ternary>;  // by instruction id
  TernaryPlan ternaries_;
  void plan_ternary_logic();
  bool emit_ternary(const Inst& inst, unsigned chunk);
  // Division sequences folded into one division for ordinary numbers (division.cpp), keyed by their last step,
  // v_div_fixup_f32.
  std::vector<bool> narrow_;  // find_narrow_values(); empty: none
  [[nodiscard]] bool is_narrow(const Inst* inst) const { return !narrow_.empty() && narrow_[inst->id]; }
  std::map<uint32_t, const Inst*> divisions_;  // value: one of the multiply-adds, all of which have the same mode
  void plan_divisions();
  void emit_folded_division(const Inst& inst, unsigned chunk);
  void emit_fixup32(const Inst& inst, unsigned chunk);
  // Matrix products (matrix.cpp, matrix_rows.cpp).
  struct MatrixProduct;
  using MatrixChain = std::vector<const MatrixProduct*>;
  struct MatrixFactors {
    Mem a, b;
    unsigned group;
    std::map<unsigned, Vec64> columns;  // of B, by the lane of the first
    Vec element;                        // of A, from lane element_lane unless that is negative
    int element_lane;
    Vec product = {};
  };
  [[nodiscard]] bool reads_lanes_of(const Inst& inst, std::span<const Inst* const> products) const;
  void emit_matrix_segment();
  [[nodiscard]] std::vector<MatrixProduct> matrix_products(std::span<const Inst* const> insts) const;
  struct MatrixChains;
  [[nodiscard]] MatrixChains matrix_chains(const std::vector<MatrixProduct>& products) const;
  struct MatrixTile {
    unsigned row, end_row, chunk, end;
  };
  void emit_matrix_tile(const MatrixChain& chain, const MatrixTile& tile);
  [[nodiscard]] std::vector<MatrixTile> matrix_tiles(const MatrixChain& chain) const;
  // Distances in bytes from the elements of the loop's first tile to those of a tile.
  struct MatrixDistance {
    int32_t a, b, sums, unused;
  };
  struct MatrixLoop;
  [[nodiscard]] bool can_loop(const MatrixChain& chain) const;
  bool add_to_matrix_loop(MatrixLoop& loop, const MatrixChain& chain) const;
  void emit_matrix_loop(const MatrixLoop& loop);
  void add_matrix_product(const MatrixProduct& product, const MatrixTile& tile,
                          const std::function<Vec64(unsigned row, unsigned chunk)>& accumulator,
                          const std::function<Mem(const Mem& row, bool of_a)>& place);
  void add_matrix_products(const Inst& inst, const Vec64& sum, MatrixFactors& factors, unsigned chunk,
                           const MatrixTile& tile);
  Mem matrix_sums(unsigned bytes);
  Vec matrix_accumulator(size_t index);
  void set_matrix_result(const Inst& inst, unsigned chunk, const Vec64& value);
  Vec64 gather_matrix_rows(const Inst& inst, const MatrixFactors& factors, unsigned lane);
  // A value that lives in memory, in a row of a block: an accumulator that a loop carries, or a sum in straight code, on the stack;
  // or a sum in the wave state (resident_sums.cpp).
  struct RowHome {
    Mem block;
    unsigned row = 0;
    unsigned row_bytes = 0;
    bool halves = false;  // of 64-bit values: the lower halves of all lanes, then the upper ones
  };
  void plan_matrix_homes();
  void plan_homes_in_blocks();
  // What a block does with a row of the wave state.
  struct RowAccess {
    const Inst *read = nullptr, *write = nullptr;
    bool several = false;  // reads or writes
  };
  using RowAccesses = std::unordered_map<uint64_t, RowAccess>;
  void plan_resident_sums();  // resident_sums.cpp
  [[nodiscard]] std::optional<uint64_t> resident_row(std::span<const Inst* const> results,
                                                     const RowAccesses& rows) const;
  void keep_in_state(std::span<const Inst* const> results, uint64_t first_row);
  [[nodiscard]] bool has_own_registers(const Inst* inst) const;
  void load_halves(const RowHome& home, unsigned chunk, const Vec64& to);
  void store_halves(const RowHome& home, unsigned chunk, const Vec64& value);
  [[nodiscard]] static bool is_same_home(const RowHome* a, const RowHome* b);
  void plan_sum_homes();  // sum_homes.cpp
  void store_home(const Inst& inst, unsigned chunk);
  [[nodiscard]] const RowHome* row_home(const Inst* representative) const {
    const auto it = row_homes_.find(representative);
    return it == row_homes_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] Mem place_of(const RowHome& home, unsigned chunk, unsigned part) const {
    const unsigned registers = home.row_bytes / (tile_ * 4);
    if (home.halves)
      return home.block.cloneAdjusted(home.row * home.row_bytes + part * home.row_bytes / 2 + chunk * isa_->bytes());
    Mem m = home.block.cloneAdjusted(home.row * home.row_bytes + (chunk * registers + part) * isa_->bytes());
    if (rolled_ != nullptr) m.setIndex(rolled_->offset, registers / 2);
    return m;
  }
  [[nodiscard]] const RowHome* row_home(const MatrixChain& chain) const;
  std::unordered_map<const Inst*, uint64_t> resident_sums_;  // by result: its row of the wave state, the first of two
  std::map<const Inst*, RowHome> row_homes_;                 // by the value that lives there
  std::optional<Mem> matrix_sums_;
  unsigned matrix_sums_bytes_ = 0;
  std::vector<Vec> matrix_accumulators_;
  // A batch: products that follow each other and share rows of A and B on the stack.
  struct MatrixBatch {
    std::vector<const Inst*> products;
    size_t first = 0, last = 0;  // positions in the block
    std::map<const Inst*, Mem> rows;
    std::set<const Inst*> stored;  // already stored, or stored as soon as they are made
  };
  void plan_matrix_rows(const ir::Block& block);
  [[nodiscard]] std::vector<MatrixBatch> matrix_batches(const ir::Block& block) const;
  [[nodiscard]] std::vector<const Inst*> matrix_row_order(const MatrixBatch& batch) const;
  [[nodiscard]] const Inst* maker_of_row(const Inst& row) const;
  [[nodiscard]] unsigned matrix_row_bytes(const Inst& row) const { return tile_ * row.type.bits() / 8; }
  // Byte offset of a lane's element in a row.
  [[nodiscard]] unsigned matrix_offset(unsigned lane, bool wide) const;
  [[nodiscard]] const Mem& matrix_row(const Inst& product, size_t operand) const {
    return matrix_batches_[matrix_batch_of_.at(&product)].rows.at(product.operands[operand]);
  }
  void store_matrix_rows(const Inst& inst);
  void store_made_rows(const Inst& inst, unsigned chunk);
  void store_matrix_row(const Mem& place, const Inst& row, unsigned chunk);
  std::vector<MatrixBatch> matrix_batches_;                                    // of the block
  std::map<const Inst*, size_t> matrix_batch_of_;                              // by product
  std::map<const Inst*, std::vector<std::pair<const Inst*, Mem>>> made_rows_;  // by the instruction that makes them
  struct MatrixArea {
    Mem memory;
    unsigned bytes = 0;
    size_t free_from = 0;  // position in the block
  };
  std::vector<MatrixArea> matrix_areas_;
  void plan_wide_accesses();
  struct Prefetch {
    const Inst* address;
    int32_t distance;
  };
  void plan_streaming_store();                            // streaming_stores.cpp
  const Inst* streaming_store_ = nullptr;                 // may bypass the caches
  void plan_prefetches();                                 // prefetch.cpp
  void emit_prefetches(const ir::Block& block);           // at the end of the block
  std::map<uint32_t, std::vector<Prefetch>> prefetches_;  // by block id
  struct Stream {
    const Inst* step = nullptr;  // scalar; null: no step
    unsigned shift = 0;
    bool is_signed = false;  // how a 32-bit step is extended
  };
  // Distance from an address to the one that the next work-group, or the next round between barriers, accesses:
  // factor * scale bytes (scale null: 1).
  struct Advance {
    int64_t factor = 0;
    const Inst* scale = nullptr;  // i32, unsigned
    int sgpr = -1;                // register that holds the scale, instead of an instruction
    [[nodiscard]] bool same_scale(const Advance& other) const { return scale == other.scale && sgpr == other.sgpr; }
  };
  using AdvanceMemo = std::map<const Inst*, std::optional<Advance>>;
  // through_phis: a phi advances like the first of its operands that advances at all.
  [[nodiscard]] std::optional<Advance> advance_of(const Inst* value, AdvanceMemo& memo, bool through_phis) const;
  [[nodiscard]] std::optional<Advance> find_advance(const Inst* value, AdvanceMemo& memo, bool through_phis) const;
  [[nodiscard]] std::optional<Advance> access_advance(const Inst& access, AdvanceMemo& memo, bool through_phis) const;
  void plan_matrix_prefetches(const ir::Loop& loop);
  std::unordered_set<const ir::Block*> blocks_of_loops_;
  void plan_group_prefetches(const std::vector<ir::Loop>& loops);
  // By whether it is a VGPR, and number; of a pair that is written whole, the lower one.
  using RegisterWrites = std::map<std::pair<bool, uint64_t>, std::vector<const Inst*>>;
  [[nodiscard]] static Advance round_advance(const Inst* read, const RegisterWrites& writes);
  void plan_round_prefetches();
  Operand advance_distance(const Inst& access);
  std::map<const Inst*, Advance> advances_;                                // by access
  std::map<std::tuple<int64_t, const Inst*, int>, Gp> advance_distances_;  // computed once in a segment
  void plan_streams(const ir::Loop& loop);
  [[nodiscard]] std::optional<Stream> stream_step(const ir::Loop& loop, const Inst* value) const;
  Gp stream_distance(const Inst& access);
  std::map<const Inst*, Stream> streams_;                                   // by access
  std::map<std::tuple<const Inst*, unsigned, bool>, Gp> stream_distances_;  // computed once in a segment
  // Walks: loads of lanes that each read their own memory sequentially (walks.cpp).
  struct Pass;
  struct Walk {
    const ir::Block* block = nullptr;
    std::vector<Mem> rows;    // of the stack, by chunk of a pass
    std::vector<Gp> cursors;  // by chunk of the current pass
  };
  std::map<uint32_t, Walk> walks_;  // by the load's id, so that the order does not depend on host addresses
  void plan_walks();
  void start_walks(const Pass& pass);
  [[nodiscard]] bool is_found_on_a_walk(const Inst* value, unsigned depth = 6) const;
  std::optional<Mem> walk_lines_;
  void plan_wide_load(const Inst& load);
  void plan_wide_store(const Inst& store);
  // Emits the code of `body` in the cold section at the end of the function.
  void cold(const std::function<void()>& body);

  [[nodiscard]] bool may_share(const Inst& phi, const Inst& value) const;

  // --- floating-point environment (emitter.cpp) ---
  struct EnvNeed {
    uint32_t bits, care;  // MXCSR, and the bits of it that matter
  };
  static constexpr uint32_t kEnvRounding = 0x6000, kEnvInputDenorm = 0x40, kEnvAll = 0xe040;
  [[nodiscard]] static std::optional<EnvNeed> env_needed(const Inst& inst);
  // The same for an instruction and those fused into it.
  [[nodiscard]] std::optional<EnvNeed> env_with_fused(const Inst& inst) const;
  void set_env(const EnvNeed& need);

  // --- values (values.cpp) ---
  struct Storage {
    std::vector<x86::Reg> regs;  // made when they are first used
    bool invariant = false;      // the same register serves all chunks
  };
  // One pass through a tile region: its chunks, and separate registers for all values that it touches, so that live
  // ranges do not extend over other passes.
  struct Pass {
    const TileRegion* region;
    unsigned begin, end;          // chunks
    bool final;                   // the last pass, which defines the scalar results
    Label next;                   // where the next pass starts
    std::vector<Label> labels;    // of the region's blocks, by block id
    std::vector<Storage> values;  // by instruction id
    std::vector<bool> local;      // which instructions' values are in `values`
  };
  // The loop over the chunks of a segment that is being emitted.
  struct Rolled {
    Gp offset;                                  // bytes from the first chunk's part of a row to this one's
    std::vector<Storage> values;                // by instruction id
    std::unordered_set<uint32_t> local;         // which instructions' values are in `values`
    std::map<const Inst*, Mem> pointers;        // by the base of addresses, for all chunks
    std::map<const Inst*, Gp> loaded_pointers;  // pointers of the current iteration
    const std::map<const Inst*, RolledAddress>& addresses;
  };
  struct Place {
    const Inst* inst;
    unsigned element;
  };
  [[nodiscard]] Place resolve(const Inst* inst) const;
  Storage& storage(const Inst* inst);
  x86::Reg new_register(const Inst* inst);
  // Number of registers for one element of a chunk.
  [[nodiscard]] unsigned parts(const Inst* inst) const {
    return inst->type.kind == ir::TypeKind::v64 && !lane_addresses_.is_scalar(inst) ? 2 : 1;
  }
  // The range of chunks: of the current pass, or all.
  [[nodiscard]] unsigned first_chunk() const { return pass_ ? pass_->begin : 0; }
  [[nodiscard]] unsigned end_chunk() const { return pass_ ? pass_->end : chunks_; }
  x86::Reg reg(const Inst* inst, unsigned element, unsigned chunk, unsigned part);
  Vec v32(const Inst* inst, unsigned chunk);              // constants are materialised
  Operand v32_operand(const Inst* inst, unsigned chunk);  // constants as broadcast memory operands (32-bit elements)
  Operand v32_full(const Inst* inst, unsigned chunk);     // constants as full vectors in memory
  Vec64 v64(const Inst* inst, unsigned chunk);
  Operand v64_operand(const Inst* inst, unsigned chunk, unsigned part);
  MaskReg mask(const Inst* inst, unsigned chunk);
  Gp gp(const Inst* inst);               // constants are materialised; the caller must not write it
  Operand gp_operand(const Inst* inst);  // immediate when it fits 32 bits sign-extended
  // Gives the result the registers of an operand that is dead afterwards.
  void take_over(const Inst& inst, const Inst* operand, unsigned chunk);
  Vec dst(const Inst& inst, unsigned chunk, unsigned element = 0);
  Vec64 alike64(const Inst& inst, unsigned chunk);
  Vec64 dst64(const Inst& inst, unsigned chunk);
  MaskReg dst_mask(const Inst& inst, unsigned chunk);
  Gp dst_gp(const Inst& inst, unsigned element = 0);
  [[nodiscard]] bool is_invariant(const Inst* inst) const;
  [[nodiscard]] bool is_in_loop(const ir::Block* block) const { return blocks_of_loops_.contains(block); }
  void decide_invariance(const ir::Block& block);
  [[nodiscard]] bool is_uniform(const Inst* inst) const { return shapes_.of(inst).is_uniform(); }
  // Null if the mask is known to be full.
  const MaskReg* mask_or_full(const Inst* inst, unsigned chunk, MaskReg& holder);
  [[nodiscard]] static bool is_full(const Inst* mask) { return mask->is_const(~uint64_t{0}); }
  [[nodiscard]] Mem wave_field(size_t offset, uint32_t size) const {
    return x86::ptr(wave_, static_cast<int32_t>(offset), size);
  }
  [[nodiscard]] Mem row(unsigned vgpr, unsigned chunk) const;
  Gp new_gp(unsigned bits) { return bits == 64 ? Gp(cc_.new_gp64()) : Gp(cc_.new_gp32()); }

  // --- values kept in general registers (lane_address_code.cpp) ---
  void emit_lane_address(const Inst& inst, unsigned chunk);
  Operand lane_base(const Inst* value, unsigned chunk, bool wave);
  [[nodiscard]] const Inst* scaled_operand(const Inst& sum) const;
  [[nodiscard]] bool is_scaled_operand(const Inst& shift) const;
  void emit_lane_clamp(const Inst& inst, unsigned chunk, InstId replace);
  Gp clamp_test(const std::vector<const Inst*>& clamps, unsigned chunk);
  x86::CondCode test_guard(const Inst* guard, unsigned chunk);
  Vec strided_vector(const Gp& first, int64_t stride);
  Vec lane_vector32(const Inst* value, unsigned chunk);
  Vec64 lane_vector64(const Inst* value, unsigned chunk);

  // --- control (control.cpp) ---
  // next: the label of the code emitted after the block.
  void emit_terminator(const ir::Block& block, const Label& next);
  [[nodiscard]] Label target(const ir::Block& from, unsigned successor) const;
  x86::CondCode emit_condition(const Inst* condition);
  struct Copy {
    Operand to, from;  // from: a register or memory; `constant` is set instead for constants
    const Inst* constant = nullptr;
    unsigned chunk = 0, part = 0;
  };
  [[nodiscard]] std::vector<Copy> edge_copies(const ir::Block& from, unsigned successor);
  // Copies `value` of pass `from` to `destination` of pass `to` (null: outside of a region).
  void add_copies(std::vector<Copy>& copies, const Inst* destination, Pass* to, const Inst* value, Pass* from);
  void emit_copies(std::vector<Copy> copies);
  void emit_copy(const Operand& to, const Operand& from);
  void emit_entry_dispatch();
  void leave(ExitReason reason);

  // --- emitters by file; each returns false for operations of other files ---
  bool emit_state(const Inst& inst, unsigned chunk);   // state.cpp: get_vgpr, set_vgpr, get_mask, set_mask
  bool emit_scalar_state(const Inst& inst);            // state.cpp
  bool emit_scalar_arithmetic(const Inst& inst);       // scalar.cpp
  bool emit_simple(const Inst& inst, unsigned chunk);  // vector_int.cpp: one host instruction per register
  bool emit_int32(const Inst& inst, unsigned chunk);   // vector_int.cpp
  bool emit_int64(const Inst& inst, unsigned chunk);   // vector_int64.cpp
  void emit_udiv64(const Inst& inst, unsigned chunk);
  bool emit_mask(const Inst& inst, unsigned chunk);            // masks.cpp
  bool emit_mask_number(const Inst& inst);                     // masks.cpp: conversions between masks and scalars
  bool emit_float(const Inst& inst, unsigned chunk);           // vector_float.cpp
  bool emit_float16(const Inst& inst, unsigned chunk);         // vector_float16.cpp
  bool emit_transcendental(const Inst& inst, unsigned chunk);  // transcendental.cpp
  bool emit_convert(const Inst& inst, unsigned chunk);         // convert.cpp
  bool emit_memory(const Inst& inst, unsigned chunk);          // memory.cpp
  bool emit_load_scalar(const Inst& inst);                     // memory.cpp
  bool emit_atomic(const Inst& inst);                          // atomics.cpp
  // Stores of all lanes to one address (memory_uniform.cpp).
  [[nodiscard]] static bool is_store_of_wave(const Inst& inst);
  bool emit_store_of_wave(const Inst& inst);
  [[nodiscard]] Gp dword_of_wave(const Inst* value, const Operand& last);
  bool emit_cross_lane(const Inst& inst);  // cross_lane.cpp
  void emit_poll();
  // Loops executed for one lane after the other (lane_loops.cpp).
  bool emit_lane_loop(const Inst& inst);
  void emit_lane_access(const Inst& inst);
  void emit_load_for_all_lanes(const Inst& splat, unsigned chunk);
  void emit_loaded_dwords(const Inst& load, unsigned first, unsigned count, const Mem& from);
  [[nodiscard]] Mem place_of_lane(const Inst& access, const Mem& address, unsigned element, unsigned bytes);
  [[nodiscard]] Mem address_of_lane(const Inst& access);
  void call_for_flat_lane(const Inst& inst, const Mem& where);
  void emit_lane_way(const Inst& inst);
  void emit_lane_way_end(const Inst& inst);
  void call_for_lane_way(bool begins);
  Mem lane_timing(size_t offset);
  void emit_streams(const Inst& inst);
  std::optional<Mem> lane_timing_, lane_streams_;
  Mem frame_row(uint64_t number, bool wide);
  Mem element_of_row(const Inst& inst, bool wide);
  std::map<uint64_t, Mem> frame_rows_;      // by number
  bool emit_out_of_line(const Inst& inst);  // helper_calls.cpp
  void emit_call(const Inst& inst);
  bool emit_out_of_line_chunk(const Inst& inst, unsigned chunk);
  bool emit_division(const Inst& inst, unsigned chunk);  // division.cpp

  friend class MemoryAccess;
  friend class AtomicAccess;

  // --- vector building blocks used by several units ---
  Vec not32(const Vec& a) { return isa_->xor_(a, isa_->c32(~0u)); }
  void emit_merged(const Inst& select, unsigned chunk);
  bool emit_const_perm(const Inst& inst, unsigned chunk);
  Mem full64(uint64_t bits);
  Vec popcount32(const Vec& a);
  Vec ctz32(const Vec& a);
  Vec clz32(const Vec& a);
  Vec bitrev32(const Vec& a);
  Vec perm32(const Vec& a, const Vec& b, const Vec& selectors);
  [[nodiscard]] static bool is_mergeable(const Inst& inst);  // emit_simple can put it under a merge mask
  Vec mul_high(const Vec& a, const Vec& b, bool is_signed);
  MaskReg cmp(ir::ICmp p, const Vec& a, const Operand_& b);
  MaskReg fcmp(unsigned predicate, const Vec& a, const Operand_& b);
  MaskReg fcmp64h(unsigned predicate, const Vec& a, const Operand_& b) { return isa_->fcmp64_half(predicate, a, b); }
  MaskReg either(const MaskReg& a, const MaskReg& b);
  MaskReg both(const MaskReg& a, const MaskReg& b);
  Vec fma32(const Vec& a, const Vec& b, const Operand_& c);
  void fma_step(const Vec& sum, const Vec& x, const Operand_& c);  // sum = sum * x + c
  Vec to_f32(const Vec& half, uint32_t env);  // f16 in the low words -> f32, input denormals as env says
  Vec to_f16(const Vec& single, uint32_t env);
  Vec fma_f16_to_odd(const Vec& a, const Vec& b, const Vec& c, uint32_t env);
  std::array<Vec, 2> halves_in_f32(const Inst* pairs, unsigned chunk);
  void begin_shared_halves(std::span<const Inst* const> insts);
  [[nodiscard]] bool computes_halves(uint32_t env) const;
  void emit_pk_fma_f16(const Inst& inst, unsigned chunk);
  Vec frcp(const Vec& x);
  Vec fsqrt(const Vec& x);
  Vec frsq(const Vec& x);
  Vec fexp(const Vec& x);
  Vec flog(const Vec& x);
  Vec fsin(const Vec& x, bool cosine);
  Vec flush_input(const Vec& x);  // denormals -> zeros unless the current environment does it
  Vec flush_output(const Vec& x);
  [[nodiscard]] static bool never_signalling(const Inst* value);
  void fminmax(uint32_t attr, const Vec& d, const Vec& a, const Vec& b, unsigned bits, bool want_max, bool signalling);
  void emit_ldexp(const Inst& inst, unsigned chunk);
  void unless_any(const MaskReg& odd, const std::function<void()>& ordinary, const std::function<void()>& rare);
  Vec clamp32(const Vec& x);
  Vec frexp_mantissa32(const Vec& x);
  Vec frexp_exponent32(const Vec& x);
  Vec frexp_normal64(const Vec& magnitude, const MaskReg& denormal);
  struct ClassFacts {
    MaskReg negative, nonzero, normal_up, inf_up, nan, quiet;  // *_up: that kind or one of larger magnitude
  };
  void class_test(const MaskReg& d, const Vec& wanted, const ClassFacts& facts);
  // The same for constant classes. The limits are the smallest magnitude, as bits, of each kind: zero, denormal,
  // normal, infinity, signalling NaN, quiet NaN; then the sign bit.
  using ClassLimits = std::array<uint32_t, 7>;
  void known_class_test(const MaskReg& d, const Vec& bits, uint32_t wanted, const ClassLimits& limits);
  void emit_fcmp32(uint32_t attr, const MaskReg& d, const Vec& a, const Operand_& b, const MaskReg* under = nullptr);
  Vec f32_to_i32(const Vec& x);
  Vec swizzle_scratch(const Vec& byte, unsigned first_lane);
  Vec64 host_addresses(const Gp& base, const GatherIndex& index);
  // Generic addresses -> host addresses. Removes lanes beyond the size of the LDS from `lanes`. The first one leaves
  // those in scratch as they are.
  Vec64 resolve_lds(const Vec64& address, unsigned access_bytes, MaskReg& lanes);
  Vec64 resolve_flat(const Vec64& address, unsigned access_bytes, unsigned first_lane, MaskReg& lanes);
  void for_each_lane(const MaskReg* lanes, unsigned first_lane, const std::function<void(const Gp&)>& body);
  Mem stack_row(unsigned bytes);  // a new stack slot, 64-byte aligned
  MaskReg condition_mask(const Inst* condition, unsigned chunk);
  void emit_compare(const Inst& inst, unsigned chunk, const MaskReg& d, const MaskReg* under);
  Gp lane_number(uint32_t value);                   // 64-bit register
  Vec count_below(const Gp& bits, unsigned chunk);  // for each lane, the bits set below it
  Gp mask_to_number(const Inst* mask);              // 64-bit
  void call_helper(const Inst& inst, HelperFn function, std::span<Inst* const> operands, unsigned first_chunk,
                   unsigned chunks);
  // Out of line: a helper computes the chunk, under its own MXCSR if `own_env`. Hot code continues at `join`.
  void chunk_helper(const Inst& inst, unsigned chunk, const Label& slow, const Label& join, bool own_env);
  // Lanes whose quotient may need the scaling of the division sequence; null if no lane can.
  const MaskReg* odd_division(const Inst* denominator, const Inst* numerator, unsigned chunk);
  void number_to_mask(const Gp& number, const Inst& inst);
  void store_vector_row(const Mem& slot, const std::vector<Vec>& value);
  Mem vector_row(const Inst* value);
  void forget_rows();
  std::vector<Vec> all_chunks(const Inst* value);
  std::vector<Vec> masked_chunks(const Inst* value, const Inst* lanes);
  std::vector<Vec> move_lanes(const std::vector<Vec>& value, std::span<const int> map, bool any_elsewhere = false);
  bool move_mask(const Inst* lanes, std::span<const int> map, std::span<const MaskReg> out);
  void read_lane(const Gp& d, const Inst* value, const Operand& lane);
  Gp address_of(const Mem& slot);

  const ir::Function& function_;
  lir::Builder& cc_;
  lir::Function& lir_;
  const CompileOptions& options_;
  const unsigned tile_;
  DataPool pool_;
  FaultLog faults_;
  std::unique_ptr<VectorIsa> isa_;
  const unsigned chunks_;
  const ir::LaneShapes shapes_;
  ir::LaneTables lane_tables_;
  const LaneAddresses lane_addresses_;
  const Liveness liveness_;
  const TileRegions regions_;
  PhiClasses classes_;
  const IndexedAddresses indexed_addresses_;

  // Rows used by the loops over lanes. None is live across two loops.
  std::optional<Mem> address_row_, data_row_, compare_row_, result_row_;                // a chunk of 64-bit lanes
  std::optional<Mem> flat_lanes_;                                                       // FlatLanes
  std::optional<Mem> chunk_access_;                                                     // ChunkAccess
  std::optional<Mem> atomic_addresses_, atomic_data_, atomic_second_, atomic_results_;  // all lanes, 64 bits each
  std::optional<Mem> wave_row_, second_row_, third_row_, helper_args_, helper_rows_, call_args_,
      call_rows_;  // all lanes
  // Rows that hold a value here, on every path from the block's start: two, as 64-bit values are moved half by half.
  struct KnownRow {
    std::optional<Mem> row;
    const Inst* value = nullptr;
  };
  std::array<KnownRow, 2> known_rows_;
  unsigned next_known_row_ = 0;
  Mem scratch_row(std::optional<Mem>& slot, unsigned bytes) {
    if (!slot) slot = stack_row(bytes);
    return *slot;
  }
  Gp wave_, entry_index_;
  std::vector<Storage> values_;
  Pass* pass_ = nullptr;  // the pass being emitted
  Rolled* rolled_ = nullptr;
  std::vector<bool> invariant_;
  std::vector<uint16_t>
      wanted_halves_;  // by instruction id: two bits for each chunk, for the lanes of VectorIsa::lane_of64
  std::vector<bool> fused_;
  // Loads and stores of one or two pairs of dwords: the 64-bit values that these are the halves of; by instruction id.
  std::vector<WideValues> wide_;
  std::vector<bool> in_state_;  // reads and writes of the wave state, and what is between them and sums that live there
  std::vector<bool> with_access_;  // instructions for which a wide access does everything
  std::unordered_map<const Inst*, Vec>
      loaded_numbers_;         // that loads for one lane have made for splats which share registers
  std::vector<Label> labels_;  // by block id
  std::vector<const Inst*> segment_;
  // Facts about the segment for must_flush_before().
  struct SegmentFacts {
    unsigned loads = 0, stores = 0;            // sets of memories
    std::vector<const Inst*> deferred, state;  // instructions emitted last; instructions that access the wave state
  };
  SegmentFacts segment_facts_;
  uint32_t segment_number_ = 1;
  std::vector<uint32_t> read_in_segment_;  // by id of a class: the last segment that reads it
  // Addresses that the lanes of a chunk share, computed once per segment: (base or null, offset, chunk; 0 if all chunks
  // share the address) -> pointer.
  std::map<std::tuple<const Inst*, const Inst*, unsigned>, Gp> uniform_pointers_;
  std::map<std::pair<std::vector<const Inst*>, unsigned>, Gp> clamp_tests_;  // by clamps and chunk; once per segment
  // Results of odd_division() in a segment, by its operands.
  std::map<std::tuple<const Inst*, const Inst*, unsigned>, std::optional<MaskReg>> odd_divisions_;
  // Pairs of f16 of instructions emitted in a row, by value and chunk (0 if it has one register for all): as f32; as words of two
  // registers; and the values of which there is nothing else.
  struct SharedHalves {
    std::map<std::pair<const Inst*, unsigned>, std::array<Vec, 2>> singles, words;
    std::unordered_set<const Inst*> only_added_to;
  };
  SharedHalves shared_halves_;
  std::optional<EnvNeed> segment_env_;
  uint32_t canonical_env_ = rounding::kNeutralMxcsr;
  uint32_t env_ = rounding::kNeutralMxcsr;
  std::optional<Error> error_;
};

}  // namespace wavejit::backend
