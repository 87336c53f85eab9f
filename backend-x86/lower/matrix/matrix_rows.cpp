// The rows of A and B that matrix products read: on the stack, where an element can be broadcast from. Where it can be
// done, an instruction that makes one puts it there at once; otherwise the rows are copied in front of the products.
#include "backend-x86/lower/matrix/matrix_rows.h"

#include <algorithm>

#include "backend-x86/lower/matrix/matrix_product.h"
#include "backend-x86/lower/operations.h"
#include "backend-x86/lower/plans/idle_halves.h"
#include "backend-x86/lower/plans/wide_accesses.h"

namespace wavejit::backend {

bool reads_lanes_of(const Inst& inst, std::span<const Inst* const> products) {
  return std::any_of(inst.operands.begin() + 1, inst.operands.end(), [&](const Inst* operand) {
    return ir::is_matrix_op(operand->op) && std::find(products.begin(), products.end(), operand) != products.end();
  });
}

namespace {

unsigned row_bytes(const Lowering& ctx, const Inst& row) {
  return ctx.tile * row.type.bits() / 8;
}

// Products with nothing in between, as far as vectors are concerned: they become a segment.
std::vector<MatrixBatch> matrix_batches(const Lowering& ctx, const ir::Block& block) {
  std::vector<MatrixBatch> batches;
  bool open = false;
  for (size_t i = 0; i < block.insts.size(); ++i) {
    const Inst* inst = block.insts[i];
    if (ctx.is_left_out(*inst)) continue;
    if (!ir::is_matrix_op(inst->op)) {
      if (shape_of(*inst) != Shape::scalar) open = false;
      continue;
    }
    if (!open || reads_lanes_of(*inst, batches.back().products)) batches.push_back({.first = i});
    open = true;
    batches.back().products.push_back(inst);
    batches.back().last = i;
  }
  return batches;
}

// Rows that the same chains of products read, in the order in which they read them: chains then differ by a constant
// distance, whatever the order of their products in the guest's code, and can be worked through in one loop.
std::vector<const Inst*> matrix_row_order(const Lowering& ctx, const MatrixBatch& batch) {
  const std::vector<MatrixProduct> products = matrix_products(ctx, batch.products);
  const MatrixChains chains = matrix_chains(ctx, products);
  std::map<const Inst*, std::set<std::pair<size_t, bool>>> readers;  // chains, and whether as B
  std::vector<const Inst*> rows;
  for (size_t c = 0; c < chains.list.size(); ++c) {
    for (const MatrixProduct* product : chains.list[c]) {
      const Inst& any = *product->rows[0];
      for (size_t i = 1; i < any.operands.size(); ++i) {
        auto& places = readers[any.operands[i]];
        if (places.empty()) rows.push_back(any.operands[i]);
        places.emplace(c, i > product->form.rows);
      }
    }
  }
  std::vector<std::vector<const Inst*>> groups;
  std::map<std::set<std::pair<size_t, bool>>, size_t> group_of;
  for (const Inst* row : rows) {
    const auto [it, inserted] = group_of.emplace(readers[row], groups.size());
    if (inserted) groups.emplace_back();
    groups[it->second].push_back(row);
  }
  std::vector<const Inst*> order;
  for (const auto& group : groups) order.insert(order.end(), group.begin(), group.end());
  return order;
}

// The instruction behind which all of a chunk of the row is in its registers; null if that is not the moment to store
// it.
const Inst* maker_of_row(const Lowering& ctx, const Inst& row) {
  if (!ctx.on(Optimisation::matrix_rows)) return nullptr;
  if (row.is_const() || row.op == Op::undef || row.op == Op::lane_id || row.op == Op::phi) return nullptr;
  const Inst* maker = &row;
  if (row.op == Op::extract) {
    maker = row.operands[0];
  } else if (ctx.wide->absorbed[row.id]) {
    if (row.op != Op::pack64 || row.operands[0]->op != Op::extract) return nullptr;
    maker = row.operands[0]->operands[0];
    if (!ctx.wide->values[maker->id].has(&row)) return nullptr;
  }
  if (maker->parent != row.parent || shape_of(*maker) != Shape::chunk || ir::is_matrix_op(maker->op)) return nullptr;
  if ((maker != &row || !ctx.wide->absorbed[row.id]) && ctx.is_left_out(*maker)) return nullptr;
  for (const Inst* inst : {maker, &row}) {
    if (ctx.is_invariant(inst) || ctx.classes.is_shared(inst) || ctx.is_fused(inst) ||
        ctx.lane_addresses.is_scalar(inst))
      return nullptr;
  }
  const unsigned all = (1u << 2 * ctx.chunks) - 1;
  return (ctx.idle->wanted[maker->id] & all) == all ? maker : nullptr;
}

}  // namespace

void plan_matrix_rows(Lowering& ctx, const ir::Block& block) {
  ctx.matrix_rows->batches = matrix_batches(ctx, block);
  ctx.matrix_rows->batch_of.clear();
  ctx.matrix_rows->made.clear();
  if (ctx.matrix_rows->batches.empty()) return;
  std::map<const Inst*, size_t> positions;
  for (size_t i = 0; i < block.insts.size(); ++i) positions[block.insts[i]] = i;
  for (MatrixArea& area : ctx.matrix_rows->areas) area.free_from = 0;
  for (size_t n = 0; n < ctx.matrix_rows->batches.size(); ++n) {
    MatrixBatch& batch = ctx.matrix_rows->batches[n];
    for (const Inst* product : batch.products) ctx.matrix_rows->batch_of[product] = n;
    const std::vector<const Inst*> rows = matrix_row_order(ctx, batch);
    unsigned bytes = 0;
    size_t begin = batch.first;
    std::map<const Inst*, const Inst*> makers;
    for (const Inst* row : rows) {
      bytes += row_bytes(ctx, *row);
      const Inst* maker = row->parent == &block ? maker_of_row(ctx, *row) : nullptr;
      if (maker == nullptr) continue;
      makers[row] = maker;
      begin = std::min(begin, positions.at(maker));
    }
    auto area = std::find_if(
        ctx.matrix_rows->areas.begin(), ctx.matrix_rows->areas.end(),
        [&](const MatrixArea& candidate) { return candidate.bytes >= bytes && candidate.free_from <= begin; });
    if (area == ctx.matrix_rows->areas.end())
      area = ctx.matrix_rows->areas.insert(area, {.memory = ctx.stack_row(bytes), .bytes = bytes, .free_from = 0});
    area->free_from = batch.last + 1;
    unsigned offset = 0;
    for (const Inst* row : rows) {
      const Mem place = area->memory.cloneAdjusted(offset);
      offset += row_bytes(ctx, *row);
      batch.rows.emplace(row, place);
      const auto maker = makers.find(row);
      if (maker == makers.end()) continue;
      ctx.matrix_rows->made[maker->second].emplace_back(row, place);
      batch.stored.insert(row);
    }
  }
}

namespace {

void store_matrix_row(Lowering& ctx, const Mem& place, const Inst& row, unsigned chunk) {
  if (row.type.kind == ir::TypeKind::v64) {
    const Vec64 value = ctx.v64(&row, chunk);
    for (unsigned part = 0; part < 2; ++part)
      ctx.isa->store(place.cloneAdjusted((2 * chunk + part) * ctx.isa->bytes()), value.part[part], nullptr);
  } else {
    ctx.isa->store(place.cloneAdjusted(chunk * ctx.isa->bytes()), ctx.v32(&row, chunk), nullptr);
  }
}

}  // namespace

void store_matrix_rows(Lowering& ctx, const Inst& inst) {
  if (ctx.tile != kWaveSize) return ctx.fail(inst, "needs all lanes");
  MatrixBatch& batch = ctx.matrix_rows->batches[ctx.matrix_rows->batch_of.at(&inst)];
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    const Inst* row = inst.operands[i];
    if (!batch.stored.insert(row).second) continue;
    for (unsigned chunk = 0; chunk < ctx.chunks; ++chunk) store_matrix_row(ctx, batch.rows.at(row), *row, chunk);
  }
}

void store_made_rows(Lowering& ctx, const Inst& inst, unsigned chunk) {
  const auto made = ctx.matrix_rows->made.find(&inst);
  if (made == ctx.matrix_rows->made.end()) return;
  for (const auto& [row, place] : made->second) store_matrix_row(ctx, place, *row, chunk);
}

// Halves of 64-bit chunks are stored as they are in registers.
unsigned matrix_offset(const Lowering& ctx, unsigned lane, bool wide) {
  if (!wide) return lane * 4;
  const unsigned chunk = lane / ctx.isa->lanes;
  for (unsigned place = 0; place < ctx.isa->lanes; ++place) {
    const unsigned part = place / (ctx.isa->lanes / 2), i = place % (ctx.isa->lanes / 2);
    if (ctx.isa->lane_of64(part, i) == lane % ctx.isa->lanes) return (chunk * ctx.isa->lanes + place) * 8;
  }
  WAVEJIT_CHECK(false, "lane {} has no place", lane);
  return 0;
}

}  // namespace wavejit::backend
