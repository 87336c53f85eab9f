#include "backend-x86/lower/lowering.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "backend-x86/lower/matrix/matrix_product.h"
#include "backend-x86/lower/matrix/matrix_rows.h"
#include "backend-x86/lower/operations.h"
#include "backend-x86/lower/plans/divisions.h"
#include "backend-x86/lower/plans/idle_halves.h"
#include "backend-x86/lower/plans/prefetches.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "backend-x86/lower/plans/ternary_logic.h"
#include "backend-x86/lower/plans/walks.h"
#include "backend-x86/lower/plans/wide_accesses.h"
#include "backend-x86/lower/scalar_values.h"
#include "backend-x86/lower/segment.h"
#include "backend-x86/lower/segment_values.h"
#include "backend-x86/lower/stack_rows.h"
#include "backend-x86/lower/vector/vector_float16.h"
#include "ir/matrix.h"
#include "ir/text.h"

namespace wavejit::backend {

namespace {

std::unique_ptr<VectorIsa> make_isa(Tier tier, lir::Builder& cc, DataPool& pool, FaultLog& faults) {
  return tier == Tier::avx512 ? make_avx512(cc, pool, faults) : make_avx2(cc, pool, faults);
}

// Values in general registers share with their like only, and not where cold paths look at them again later.
bool may_share(const LaneAddresses& lane_addresses, const Inst& phi, const Inst& value) {
  const bool scalar = lane_addresses.is_scalar(&value);
  if (scalar != lane_addresses.is_scalar(&phi)) return false;
  return std::none_of(value.users.begin(), value.users.end(), [&](const Inst* user) {
    return lane_addresses.is_scalar(user) && !lane_addresses.of(user).guards.empty();
  });
}

}  // namespace

Lowering::Lowering(const ir::Function& function_in, lir::Builder& builder, const CompileOptions& options_in,
                   unsigned lanes)
    : function(function_in),
      cc(builder),
      options(options_in),
      tile(lanes),
      pool(cc),
      faults(cc),
      isa(make_isa(options.tier, cc, pool, faults)),
      chunks(tile / isa->lanes),
      labels(function.num_block_ids()),
      shapes(function),
      lane_tables(function, shapes),
      lane_addresses(function, shapes, isa->lanes, on(Optimisation::lane_addresses), on(Optimisation::clamped_indices)),
      liveness(function),
      regions(
          function, liveness, shapes, isa->budget(), chunks,
          [](const Inst& inst) { return shape_of(inst) != Shape::barrier && !ir::is_matrix_op(inst.op); },
          on(Optimisation::tile_regions), on(Optimisation::divergent_regions)),
      classes(function, liveness,
              [this](const Inst& phi, const Inst& value) {
                if (!on(Optimisation::phi_registers)) return false;
                if (regions.of(phi.parent) != regions.of(value.parent)) return false;
                if (!may_share(lane_addresses, phi, value)) return false;
                return phi.type.is_scalar() || !is_uniform(&phi);
              }),
      indexed_addresses(function, shapes, lane_addresses, classes, isa->lanes, on(Optimisation::indexed_addresses)),
      fusions(function.num_values()),
      homes(std::make_unique<const RowHomes>(function.num_values())),
      values(function.num_values()),
      segment(std::make_unique<Segment>(function.num_values())),
      reused(std::make_unique<SegmentValues>()),
      halves(std::make_unique<SharedHalves>()),
      rows(std::make_unique<StackRows>()),
      scalars(std::make_unique<ScalarValues>()),
      matrix_rows(std::make_unique<MatrixRows>()),
      accumulators(std::make_unique<MatrixAccumulators>()) {}

Lowering::~Lowering() = default;

void Lowering::fail(const Inst& inst, const std::string& why) {
  if (error) return;
  Error unsupported{
      .code = ErrorCode::kUnsupported,
      .message = fmt::format("The {} backend does not support the IR operation '{}'{}{} (guest pc {:#x}).",
                             to_string(options.tier), ir::op_info(inst.op).mnemonic, why.empty() ? "" : ": ", why,
                             inst.guest_pc)};
  if (inst.guest_pc != 0) unsupported.pc = inst.guest_pc;
  error = std::move(unsupported);
}

void Lowering::annotate(const Inst& inst) {
  annotated = &inst;
  if (options.listing != ListingKind::none) cc.comment(ir::print(inst));
}

void Lowering::cold(const std::function<void()>& body) {
  lir::Node* const hot = cc.set_cursor(cc.function().last());
  const uint32_t hot_env = env;
  const bool narrow = cc.set_narrow(false);
  if (options.listing != ListingKind::none && annotated != nullptr) cc.comment("cold: " + ir::print(*annotated));
  body();
  cc.set_narrow(narrow);
  env = hot_env;
  cc.set_cursor(hot);
}

// What has no code at its own place.
bool Lowering::is_left_out(const Inst& inst) const {
  if (inst.op == Op::phi || is_fused(&inst) || wide->absorbed[inst.id] || homes->in_state[inst.id]) return true;
  return indexed_addresses.is_absorbed(&inst) || (ir::is_pure(inst.op) && inst.users.empty());
}

}  // namespace wavejit::backend
