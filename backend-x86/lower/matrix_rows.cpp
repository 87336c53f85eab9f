// The rows of A and B that matrix products read: on the stack, where an element can be broadcast from. Where it can be
// done, an instruction that makes one puts it there at once; otherwise the rows are copied in front of the products.
#include <algorithm>

#include "backend-x86/lower/emitter.h"
#include "backend-x86/lower/matrix_product.h"

namespace wavejit::backend {

bool Emitter::reads_lanes_of(const Inst& inst, std::span<const Inst* const> products) const {
  return std::any_of(inst.operands.begin() + 1, inst.operands.end(), [&](const Inst* operand) {
    return ir::is_matrix_op(operand->op) && std::find(products.begin(), products.end(), operand) != products.end();
  });
}

// Products with nothing in between, as far as vectors are concerned: they become a segment.
std::vector<Emitter::MatrixBatch> Emitter::matrix_batches(const ir::Block& block) const {
  std::vector<MatrixBatch> batches;
  bool open = false;
  for (size_t i = 0; i < block.insts.size(); ++i) {
    const Inst* inst = block.insts[i];
    if (is_left_out(*inst)) continue;
    if (!ir::is_matrix_op(inst->op)) {
      if (shape(*inst) != Shape::scalar) open = false;
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
std::vector<const ir::Inst*> Emitter::matrix_row_order(const MatrixBatch& batch) const {
  const std::vector<MatrixProduct> products = matrix_products(batch.products);
  const MatrixChains chains = matrix_chains(products);
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
const ir::Inst* Emitter::maker_of_row(const Inst& row) const {
  if (!on(Optimisation::matrix_rows)) return nullptr;
  if (row.is_const() || row.op == Op::undef || row.op == Op::lane_id || row.op == Op::phi) return nullptr;
  const Inst* maker = &row;
  if (row.op == Op::extract) {
    maker = row.operands[0];
  } else if (with_access_[row.id]) {
    if (row.op != Op::pack64 || row.operands[0]->op != Op::extract) return nullptr;
    maker = row.operands[0]->operands[0];
    if (!wide_[maker->id].has(&row)) return nullptr;
  }
  if (maker->parent != row.parent || shape(*maker) != Shape::chunk || ir::is_matrix_op(maker->op)) return nullptr;
  if ((maker != &row || !with_access_[row.id]) && is_left_out(*maker)) return nullptr;
  for (const Inst* inst : {maker, &row}) {
    if (is_invariant(inst) || classes_.is_shared(inst) || is_fused(inst) || lane_addresses_.is_scalar(inst))
      return nullptr;
  }
  const unsigned all = (1u << 2 * chunks_) - 1;
  return (wanted_halves_[maker->id] & all) == all ? maker : nullptr;
}

void Emitter::plan_matrix_rows(const ir::Block& block) {
  matrix_batches_ = matrix_batches(block);
  matrix_batch_of_.clear();
  made_rows_.clear();
  if (matrix_batches_.empty()) return;
  std::map<const Inst*, size_t> positions;
  for (size_t i = 0; i < block.insts.size(); ++i) positions[block.insts[i]] = i;
  for (MatrixArea& area : matrix_areas_) area.free_from = 0;
  for (size_t n = 0; n < matrix_batches_.size(); ++n) {
    MatrixBatch& batch = matrix_batches_[n];
    for (const Inst* product : batch.products) matrix_batch_of_[product] = n;
    const std::vector<const Inst*> rows = matrix_row_order(batch);
    unsigned bytes = 0;
    size_t begin = batch.first;
    std::map<const Inst*, const Inst*> makers;
    for (const Inst* row : rows) {
      bytes += matrix_row_bytes(*row);
      const Inst* maker = row->parent == &block ? maker_of_row(*row) : nullptr;
      if (maker == nullptr) continue;
      makers[row] = maker;
      begin = std::min(begin, positions.at(maker));
    }
    auto area = std::find_if(matrix_areas_.begin(), matrix_areas_.end(), [&](const MatrixArea& candidate) {
      return candidate.bytes >= bytes && candidate.free_from <= begin;
    });
    if (area == matrix_areas_.end())
      area = matrix_areas_.insert(area, {.memory = stack_row(bytes), .bytes = bytes, .free_from = 0});
    area->free_from = batch.last + 1;
    unsigned offset = 0;
    for (const Inst* row : rows) {
      const Mem place = area->memory.cloneAdjusted(offset);
      offset += matrix_row_bytes(*row);
      batch.rows.emplace(row, place);
      const auto maker = makers.find(row);
      if (maker == makers.end()) continue;
      made_rows_[maker->second].emplace_back(row, place);
      batch.stored.insert(row);
    }
  }
}

// In front of the products, which do not change the rows.
void Emitter::store_matrix_rows(const Inst& inst) {
  if (tile_ != kWaveSize) return fail(inst, "needs all lanes");
  MatrixBatch& batch = matrix_batches_[matrix_batch_of_.at(&inst)];
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    const Inst* row = inst.operands[i];
    if (!batch.stored.insert(row).second) continue;
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) store_matrix_row(batch.rows.at(row), *row, chunk);
  }
}

void Emitter::store_made_rows(const Inst& inst, unsigned chunk) {
  const auto made = made_rows_.find(&inst);
  if (made == made_rows_.end()) return;
  for (const auto& [row, place] : made->second) store_matrix_row(place, *row, chunk);
}

void Emitter::store_matrix_row(const Mem& place, const Inst& row, unsigned chunk) {
  if (row.type.kind == ir::TypeKind::v64) {
    const Vec64 value = v64(&row, chunk);
    for (unsigned part = 0; part < 2; ++part)
      isa_->store(place.cloneAdjusted((2 * chunk + part) * isa_->bytes()), value.part[part], nullptr);
  } else {
    isa_->store(place.cloneAdjusted(chunk * isa_->bytes()), v32(&row, chunk), nullptr);
  }
}

// Halves of 64-bit chunks are stored as they are in registers.
unsigned Emitter::matrix_offset(unsigned lane, bool wide) const {
  if (!wide) return lane * 4;
  const unsigned chunk = lane / isa_->lanes;
  for (unsigned place = 0; place < isa_->lanes; ++place) {
    const unsigned part = place / (isa_->lanes / 2), i = place % (isa_->lanes / 2);
    if (isa_->lane_of64(part, i) == lane % isa_->lanes) return (chunk * isa_->lanes + place) * 8;
  }
  WAVEJIT_CHECK(false, "lane {} has no place", lane);
  return 0;
}

}  // namespace wavejit::backend
