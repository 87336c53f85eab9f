// Matrix products (ir/matrix.h).
//
// They make segments of their own. In front of one, the rows of A and B go to the stack as they are; in it, lane l's
// factors are found there: one of B's rows is a vector, and A's element is mostly the same for all lanes of a chunk, so
// the operation is the inner step of any matrix multiplication on x86: a broadcast, and fused multiply-adds onto
// accumulators in registers. Products that add up onto the same accumulators are worked through for a few of these at a
// time, so that they are loaded and stored once.
#include "ir/matrix.h"

#include <algorithm>
#include <bit>
#include <set>

#include "backend-x86/emitter.h"

namespace wavejit::backend {

using ir::MatrixForm;

// The rows of one product that the segment wants.
struct Emitter::MatrixProduct {
  MatrixForm form;
  std::vector<const Inst*> rows;
};

bool Emitter::reads_segment_lanes(const Inst& inst) const {
  return std::any_of(inst.operands.begin() + 1, inst.operands.end(), [&](const Inst* operand) {
    return std::find(segment_.begin(), segment_.end(), resolve(operand).inst) != segment_.end();
  });
}

// All lanes of the rows of A and B in memory, in lane order. In front of the segment, which does not change them.
void Emitter::store_matrix_rows(const Inst& inst) {
  if (tile_ != kWaveSize) return fail(inst, "needs all lanes");
  for (size_t i = 1; i < inst.operands.size(); ++i) {
    const Inst* value = inst.operands[i];
    if (matrix_rows_.contains(value)) continue;
    const bool wide = value->type.kind == ir::TypeKind::v64;
    auto& slots = matrix_slots_[wide ? 1 : 0];
    size_t& used = matrix_slots_used_[wide ? 1 : 0];
    if (used == slots.size()) slots.push_back(stack_row(tile_ * (wide ? 8 : 4)));
    const Mem slot = slots[used++];
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      isa_->recycle();
      if (wide) {
        isa_->store_row64(slot.cloneAdjusted(2 * chunk * isa_->bytes()), v64(value, chunk));
      } else {
        isa_->store(slot.cloneAdjusted(chunk * isa_->bytes()), v32(value, chunk), nullptr);
      }
    }
    matrix_rows_.emplace(value, slot);
  }
}

std::vector<Emitter::MatrixProduct> Emitter::matrix_products() const {
  std::vector<MatrixProduct> products;
  for (const Inst* inst : segment_) {
    const MatrixForm form = MatrixForm::decode(inst->imm);
    if (!products.empty()) {
      MatrixProduct& last = products.back();
      const Inst* other = last.rows[0];
      const bool same = other->op == inst->op && other->attr == inst->attr && form.same_product(last.form) &&
                        std::equal(inst->operands.begin() + 1, inst->operands.end(), other->operands.begin() + 1,
                                   other->operands.end());
      if (same && std::find(last.rows.begin(), last.rows.end(), inst->operands[0]) == last.rows.end()) {
        last.rows.push_back(inst);
        continue;
      }
    }
    products.push_back({.form = form, .rows = {inst}});
  }
  return products;
}

// Products in the order in which they are added to the same accumulators. One is moved in front of others by that,
// which must not see that its results take the registers of what they are added to.
std::vector<std::vector<const Emitter::MatrixProduct*>> Emitter::matrix_chains(
    const std::vector<MatrixProduct>& products) const {
  std::vector<std::vector<const MatrixProduct*>> chains;
  bool merge = on(Optimisation::matrix_chains);
  std::set<const Inst*> results;
  std::map<const Inst*, const Inst*> readers;  // of registers from outside
  for (const MatrixProduct& product : products) results.insert(product.rows.begin(), product.rows.end());
  for (const MatrixProduct& product : products) {
    for (const Inst* row : product.rows) {
      const Inst* sum = row->operands[0];
      if (results.contains(sum) || sum->is_const() || sum->op == Op::undef) continue;
      if (!readers.emplace(classes_.representative(resolve(sum).inst), row).second) merge = false;
    }
  }
  for (const MatrixProduct& product : products) {
    const auto continues = [&](const std::vector<const MatrixProduct*>& chain) {
      const MatrixProduct& last = *chain.back();
      if (last.rows.size() != product.rows.size() || last.form.size != product.form.size) return false;
      if (last.rows[0]->type != product.rows[0]->type || last.rows[0]->op != product.rows[0]->op) return false;
      for (size_t i = 0; i < last.rows.size(); ++i) {
        if (product.rows[i]->operands[0] != last.rows[i]) return false;
        if (MatrixForm::decode(product.rows[i]->imm).index != MatrixForm::decode(last.rows[i]->imm).index) return false;
      }
      return true;
    };
    const auto chain = merge ? std::find_if(chains.begin(), chains.end(), continues) : chains.end();
    if (chain != chains.end()) {
      chain->push_back(&product);
    } else {
      chains.push_back({&product});
    }
  }
  if (!merge) return chains;
  // Chains go one after the other, rows apart from each other: none may start from a result of another one, nor write
  // what one behind it is to read.
  const auto independent = [&](const std::vector<const MatrixProduct*>& chain) {
    for (size_t i = 0; i < chain[0]->rows.size(); ++i) {
      if (results.contains(chain[0]->rows[i]->operands[0])) return false;
      for (const MatrixProduct* product : chain) {
        const auto reader = readers.find(classes_.representative(product->rows[i]));
        if (reader != readers.end() && reader->second != chain[0]->rows[i]) return false;
      }
    }
    return true;
  };
  if (!std::all_of(chains.begin(), chains.end(), independent)) {
    chains.clear();
    for (const MatrixProduct& product : products) chains.push_back({&product});
  }
  return chains;
}

void Emitter::emit_matrix_segment() {
  const std::vector<MatrixProduct> products = matrix_products();
  for (const auto& chain : matrix_chains(products)) {
    const MatrixProduct& first = *chain[0];
    const auto rows = static_cast<unsigned>(first.rows.size());
    const unsigned registers = parts(first.rows[0]);
    // Chunks that share A (32 rows) or B (16) side by side.
    const unsigned accumulators = isa_->budget().vectors * 3 / 4;
    unsigned width = first.form.size == 16 ? 4 : 2;
    while (width > 1 && width * registers * 4 > accumulators) width /= 2;
    unsigned height = 4;
    while (2 * height * width * registers <= accumulators) height *= 2;
    std::vector<MatrixTile> tiles;
    for (unsigned row = 0; row < rows; row += height) {
      for (unsigned chunk = 0; chunk < chunks_; chunk += width)
        tiles.push_back({row, std::min(row + height, rows), chunk, chunk + width});
    }
    if (on(Optimisation::matrix_loops) && emit_matrix_loop(chain, tiles)) continue;
    for (const MatrixTile& tile : tiles) emit_matrix_tile(chain, tile);
  }
  for (auto& used : matrix_slots_used_) used = 0;
  matrix_rows_.clear();
}

// The tiles in a loop: straight-line code of all of them would not fit the first-level cache. False if they differ by
// more than where their elements are.
bool Emitter::emit_matrix_loop(const std::vector<const MatrixProduct*>& chain, const std::vector<MatrixTile>& tiles) {
  const MatrixProduct& last = *chain.back();
  const auto rows = static_cast<unsigned>(last.rows.size());
  const unsigned registers = parts(last.rows[0]);
  const unsigned bytes = registers * 4;
  unsigned steps = 0;
  for (const MatrixProduct* product : chain) {
    steps += product->form.rows * product->form.groups;
    const bool looked_at =
        std::any_of(product->rows.begin(), product->rows.end(), [](const Inst* row) { return row->users.size() > 1; });
    if (product != &last && looked_at) return false;
  }
  const unsigned row_bytes = tile_ * registers * 4;
  const MatrixHome* home = matrix_home(classes_.representative(last.rows[0]));
  for (unsigned row = 0; row < rows; ++row) {
    const MatrixHome* own = matrix_home(classes_.representative(last.rows[row]));
    if (home != nullptr && (own == nullptr || own->block.baseId() != home->block.baseId() || own->row != row))
      home = nullptr;
  }
  constexpr unsigned kMinSteps = 4;  // fewer do not pay for the way to and from the loop's memory
  if (tiles.size() < 2 || (steps < kMinSteps && home == nullptr)) return false;

  // How far the elements of a tile are from those of the first one.
  struct Distance {
    int32_t a, b, sums, unused;
  };
  std::vector<Distance> distances;
  const MatrixTile& origin = tiles[0];
  for (const MatrixTile& tile : tiles) {
    if (tile.end_row - tile.row != origin.end_row - origin.row) return false;
    std::optional<int32_t> a, b;
    for (const MatrixProduct* product : chain) {
      for (unsigned group = 0; group < product->form.groups; ++group) {
        for (unsigned row = 0; row < tile.end_row - tile.row; ++row) {
          const Inst &there = *product->rows[tile.row + row], &here = *product->rows[row];
          for (unsigned l = 0; l < (tile.end - tile.chunk) * isa_->lanes; ++l) {
            const unsigned lane = tile.chunk * isa_->lanes + l;
            const auto own = static_cast<int32_t>(ir::lane_of_a(there, lane, group));
            // One element for each chunk.
            if (own != static_cast<int32_t>(ir::lane_of_a(there, lane / isa_->lanes * isa_->lanes, group)))
              return false;
            const int32_t to_a = own - static_cast<int32_t>(ir::lane_of_a(here, l, group));
            const int32_t to_b = static_cast<int32_t>(ir::lane_of_b(there, lane, group)) -
                                 static_cast<int32_t>(ir::lane_of_b(here, l, group));
            if (a.value_or(to_a) != to_a || b.value_or(to_b) != to_b) return false;
            a = to_a;
            b = to_b;
          }
        }
      }
    }
    const auto scale = static_cast<int32_t>(bytes);
    distances.push_back({*a * scale, *b * scale,
                         static_cast<int32_t>(tile.row * row_bytes + tile.chunk * registers * isa_->bytes()), 0});
  }

  const size_t count = distances.size();
  while (!std::has_single_bit(distances.size())) distances.push_back({});

  annotate(*last.rows[0]);
  const Mem sums = home != nullptr ? home->block : matrix_sums(rows * row_bytes);
  const auto place = [&](unsigned row, unsigned chunk, unsigned part) {
    return sums.cloneAdjusted(row * row_bytes + (chunk * registers + part) * isa_->bytes());
  };
  for (unsigned row = 0; row < rows; ++row) {
    const Inst* sum = chain[0]->rows[row]->operands[0];
    const bool in_place = home != nullptr && !sum->is_const() && sum->op != Op::undef &&
                          resolve(sum).inst == classes_.representative(last.rows[row]);
    for (unsigned chunk = 0; chunk < chunks_ && !in_place; ++chunk) {
      isa_->recycle();
      Vec64 value;
      if (registers == 2) {
        value = v64(sum, chunk);
      } else {
        value.part[0] = v32(sum, chunk);
      }
      for (unsigned part = 0; part < registers; ++part) isa_->store(place(row, chunk, part), value.part[part], nullptr);
    }
  }
  isa_->recycle();
  const Gp table = address_of(pool_.get(distances.data(), static_cast<uint32_t>(distances.size() * sizeof(Distance))));
  const Gp a = new_gp(64), b = new_gp(64), offset = new_gp(64), left = new_gp(32);
  const Label again = cc_.newLabel();
  cc_.mov(left, static_cast<uint32_t>(count));
  cc_.bind(again);
  cc_.movsxd(a, x86::dword_ptr(table, offsetof(Distance, a)));
  cc_.movsxd(b, x86::dword_ptr(table, offsetof(Distance, b)));
  cc_.movsxd(offset, x86::dword_ptr(table, offsetof(Distance, sums)));
  const auto indexed = [](Mem m, const Gp& index) {
    m.setIndex(index, 0);
    return m;
  };
  const unsigned width = origin.end - origin.chunk;
  const auto accumulator = [&](unsigned row, unsigned chunk) {
    Vec64 d;
    for (unsigned part = 0; part < registers; ++part) {
      const size_t index = ((row - origin.row) * width + chunk - origin.chunk) * registers + part;
      d.part[part] = matrix_accumulator(index);
    }
    return d;
  };
  const auto for_each_sum = [&](auto&& action) {
    for (unsigned row = origin.row; row < origin.end_row; ++row) {
      for (unsigned chunk = origin.chunk; chunk < origin.end; ++chunk) {
        for (unsigned part = 0; part < registers; ++part)
          action(indexed(place(row, chunk, part), offset), accumulator(row, chunk).part[part]);
      }
    }
  };
  for_each_sum([&](const Mem& at, const Vec& sum) { isa_->load(sum, at, nullptr); });
  for (const MatrixProduct* product : chain) {
    annotate(*product->rows[0]);
    add_matrix_product(*product, origin, accumulator,
                       [&](const Mem& row, bool of_a) { return indexed(row, of_a ? a : b); });
  }
  for_each_sum([&](const Mem& at, const Vec& sum) { isa_->store(at, sum, nullptr); });
  cc_.add(table, static_cast<uint32_t>(sizeof(Distance)));
  cc_.sub(left, 1);
  cc_.jnz(again);
  for (unsigned row = 0; row < rows && home == nullptr; ++row) {
    for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
      isa_->recycle();
      Vec64 value = registers == 2 ? isa_->vec64() : Vec64{isa_->vec(), {}};
      for (unsigned part = 0; part < registers; ++part) isa_->load(value.part[part], place(row, chunk, part), nullptr);
      set_matrix_result(*last.rows[row], chunk, value);
    }
  }
  return true;
}

// Memory of the stack for a chain's accumulators, the same for all chains.
Mem Emitter::matrix_sums(unsigned bytes) {
  if (!matrix_sums_ || matrix_sums_bytes_ < bytes) {
    matrix_sums_ = stack_row(bytes);
    matrix_sums_bytes_ = bytes;
  }
  return *matrix_sums_;
}

// Adds a product to the accumulators of a tile. place(row, of_a): where a row of A or B is for this tile.
void Emitter::add_matrix_product(const MatrixProduct& product, const MatrixTile& tile,
                                 const std::function<Vec64(unsigned row, unsigned chunk)>& accumulator,
                                 const std::function<Mem(const Mem& row, bool of_a)>& place) {
  const Inst& any = *product.rows[0];
  const unsigned elements = product.form.rows;
  for (unsigned group = 0; group < product.form.groups; ++group) {
    for (unsigned element = 0; element < elements; ++element) {
      isa_->recycle();
      MatrixFactors factors{.a = place(matrix_rows_.at(any.operands[1 + element]), true),
                            .b = place(matrix_rows_.at(any.operands[1 + elements + element]), false),
                            .group = group,
                            .columns = {},
                            .element = {},
                            .element_lane = -1};
      for (unsigned row = tile.row; row < tile.end_row; ++row) {
        for (unsigned chunk = tile.chunk; chunk < tile.end; ++chunk)
          add_matrix_products(*product.rows[row], accumulator(row, chunk), factors, chunk, tile);
      }
    }
  }
}

void Emitter::emit_matrix_tile(const std::vector<const MatrixProduct*>& chain, const MatrixTile& tile) {
  const unsigned first_row = tile.row, end_row = tile.end_row, first = tile.chunk, end = tile.end;
  const auto accumulator = [&](const MatrixProduct& product, unsigned row, unsigned chunk) {
    const Inst& inst = *product.rows[row];
    if (matrix_home(classes_.representative(&inst)) != nullptr) {
      Vec64 d;
      for (unsigned part = 0; part < parts(&inst); ++part)
        d.part[part] = matrix_accumulator(((row - first_row) * (end - first) + chunk - first) * parts(&inst) + part);
      return d;
    }
    const Vec d = dst(inst, chunk);
    return parts(&inst) == 2 ? dst64(inst, chunk) : Vec64{d, d};
  };
  const auto move = [&](const Vec64& d, const Vec64& from, unsigned registers) {
    for (unsigned part = 0; part < registers; ++part) {
      if (d.part[part].id() != from.part[part].id()) isa_->mov(d.part[part], from.part[part]);
    }
  };
  const MatrixProduct& last = *chain.back();
  const unsigned registers = parts(last.rows[0]);
  annotate(*last.rows[first_row]);
  for (unsigned row = first_row; row < end_row; ++row) {
    const Inst* sum = chain[0]->rows[row]->operands[0];
    for (unsigned chunk = first; chunk < end; ++chunk) {
      isa_->recycle();
      const Vec64 d = accumulator(last, row, chunk);
      if (sum->is_const() || sum->op == Op::undef) {
        const uint64_t bits = sum->is_const() ? sum->imm : 0;
        for (unsigned part = 0; part < registers; ++part) {
          if (registers == 2) {
            isa_->set_const64(d.part[part], bits);
          } else {
            isa_->set_const32(d.part[part], static_cast<uint32_t>(bits));
          }
        }
      } else if (registers == 2) {
        move(d, v64(sum, chunk), 2);
      } else {
        const Vec v = v32(sum, chunk);
        move(d, {v, v}, 1);
      }
    }
  }
  for (const MatrixProduct* product : chain) {
    annotate(*product->rows[0]);
    add_matrix_product(
        *product, tile, [&](unsigned row, unsigned chunk) { return accumulator(last, row, chunk); },
        [](const Mem& row, bool) { return row; });
    if (product == &last) break;
    for (unsigned row = first_row; row < end_row; ++row) {
      if (product->rows[row]->users.size() == 1) continue;
      for (unsigned chunk = first; chunk < end; ++chunk)
        set_matrix_result(*product->rows[row], chunk, accumulator(last, row, chunk));
    }
  }
  for (unsigned row = first_row; row < end_row; ++row) {
    if (matrix_home(classes_.representative(last.rows[row])) == nullptr) continue;
    for (unsigned chunk = first; chunk < end; ++chunk)
      set_matrix_result(*last.rows[row], chunk, accumulator(last, row, chunk));
  }
}

Vec Emitter::matrix_accumulator(size_t index) {
  while (matrix_accumulators_.size() <= index) matrix_accumulators_.push_back(isa_->new_vec());
  return matrix_accumulators_[index];
}

void Emitter::set_matrix_result(const Inst& inst, unsigned chunk, const Vec64& value) {
  const unsigned registers = parts(&inst);
  if (const MatrixHome* home = matrix_home(classes_.representative(&inst))) {
    for (unsigned part = 0; part < registers; ++part)
      isa_->store(place_of(*home, chunk, part), value.part[part], nullptr);
    return;
  }
  const Vec64 d = registers == 2 ? dst64(inst, chunk) : Vec64{dst(inst, chunk), {}};
  for (unsigned part = 0; part < registers; ++part) {
    if (d.part[part].id() != value.part[part].id()) isa_->mov(d.part[part], value.part[part]);
  }
}

// The sums that a loop adds to are too many for registers; in memory in the order of their rows they need not be moved
// there for emit_matrix_loop. Only phis whose registers nothing but products write.
void Emitter::plan_matrix_homes() {
  if (!on(Optimisation::matrix_homes) || !on(Optimisation::matrix_loops)) return;
  std::set<const Inst*> candidates, others;
  for (const auto& block : function_.blocks) {
    for (const Inst* inst : block->insts) {
      if (inst->type.kind == ir::TypeKind::none || !classes_.is_shared(inst)) continue;
      const Inst* phi = classes_.representative(inst);
      if (ir::is_matrix_op(inst->op)) {
        if (phi->op == Op::phi && phi->type == inst->type && !is_invariant(phi)) candidates.insert(phi);
      } else if (inst->op != Op::phi) {
        others.insert(phi);
      }
    }
  }
  if (candidates.empty()) return;
  // Passes through a region have registers of their own for what they carry.
  for (const auto& block : function_.blocks)
    if (regions_.of(block.get()) != nullptr) return;
  for (const auto& block : function_.blocks) {
    const auto& insts = block->insts;
    for (size_t i = 0; i < insts.size(); ++i) {
      if (!ir::is_matrix_op(insts[i]->op) || MatrixForm::decode(insts[i]->imm).index != 0) continue;
      const MatrixForm form = MatrixForm::decode(insts[i]->imm);
      std::set<const Inst*> rows;
      std::vector<const Inst*> phis;
      for (size_t row = 0; row < form.result_rows() && i + row < insts.size(); ++row) {
        const Inst* inst = insts[i + row];
        if (inst->op != insts[i]->op || MatrixForm::decode(inst->imm).index != row) break;
        const Inst* phi = classes_.representative(inst);
        if (!candidates.contains(phi) || others.contains(phi) || matrix_homes_.contains(phi)) break;
        if (!rows.insert(phi).second) break;
        phis.push_back(phi);
      }
      if (phis.size() != form.result_rows()) continue;
      const unsigned row_bytes = tile_ * 4 * parts(insts[i]);
      const Mem memory = stack_row(static_cast<unsigned>(phis.size()) * row_bytes);
      for (unsigned row = 0; row < phis.size(); ++row)
        matrix_homes_[phis[row]] = {.block = memory, .row = row, .row_bytes = row_bytes};
    }
  }
}

// One step of the sum for a chunk of a row.
void Emitter::add_matrix_products(const Inst& inst, const Vec64& sum, MatrixFactors& factors, unsigned chunk,
                                  const MatrixTile& tile) {
  const bool wide = inst.op == Op::mfma_f64;
  const unsigned bytes = wide ? 8 : 4;
  const unsigned registers = wide ? 2 : 1;
  const unsigned lane = chunk * isa_->lanes;
  // B: neighbouring columns are in neighbouring lanes, in groups of 16 whatever the modifiers say.
  const unsigned column = ir::lane_of_b(inst, lane, factors.group);
  auto [b, inserted] = factors.columns.try_emplace(column);
  if (inserted) {
    bool contiguous = true;
    for (unsigned l = 0; l < isa_->lanes; ++l) contiguous &= ir::lane_of_b(inst, lane + l, factors.group) == column + l;
    WAVEJIT_CHECK(contiguous, "columns of a matrix that are not in neighbouring lanes");
    const Mem at = factors.b.cloneAdjusted(column * bytes);
    if (wide) {
      b->second = isa_->vec64();
      isa_->load_row64(b->second, at);
    } else {
      b->second.part[0] = isa_->vec();
      isa_->load(b->second.part[0], at, nullptr);
    }
  }
  // A: the element of a row.
  const unsigned own = ir::lane_of_a(inst, lane, factors.group);
  bool shared = true;  // by the chunk's lanes
  for (unsigned l = 1; l < isa_->lanes; ++l) shared &= ir::lane_of_a(inst, lane + l, factors.group) == own;
  std::array<Operand, 2> a;
  if (!shared) {
    const Vec64 gathered = gather_matrix_rows(inst, factors, lane);
    a = {gathered.part[0], gathered.part[1]};
  } else if (static_cast<int>(own) == factors.element_lane) {
    a = {factors.element, factors.element};
  } else {
    unsigned uses = 0;
    for (unsigned c = tile.chunk; c < tile.end; ++c)
      uses += ir::lane_of_a(inst, c * isa_->lanes, factors.group) == own ? registers : 0;
    const Mem at = factors.a.cloneAdjusted(own * bytes);
    if (uses > 1 || inst.op == Op::mfma_i16) {
      if (!factors.element.isValid()) factors.element = isa_->vec();
      if (wide) {
        isa_->load_broadcast64(factors.element, at);
      } else {
        isa_->load_broadcast(factors.element, at, nullptr);
      }
      factors.element_lane = static_cast<int>(own);
      a = {factors.element, factors.element};
    } else {
      a[0] = a[1] = wide ? isa_->broadcast_operand64(at) : isa_->broadcast_operand32(at);
    }
  }
  for (unsigned part = 0; part < registers; ++part) {
    if (inst.op == Op::mfma_i16) {
      if (!factors.product.isValid()) factors.product = isa_->vec();
      cc_.emit(I::kIdVpmaddwd, factors.product, b->second.part[0], a[0]);
      cc_.emit(I::kIdVpaddd, sum.part[0], sum.part[0], factors.product);
    } else {
      cc_.emit(wide ? I::kIdVfmadd231pd : I::kIdVfmadd231ps, sum.part[part], b->second.part[part], a[part]);
    }
  }
}

// Rows of A that differ by lane, as in blocks smaller than a chunk.
Vec64 Emitter::gather_matrix_rows(const Inst& inst, const MatrixFactors& factors, unsigned lane) {
  const bool wide = inst.op == Op::mfma_f64;
  std::array<uint32_t, 16> lanes{};
  for (unsigned l = 0; l < isa_->lanes; ++l) lanes[l] = ir::lane_of_a(inst, lane + l, factors.group);
  const auto table = [&](auto&& entry) {
    std::array<uint32_t, 16> entries{};
    for (unsigned l = 0; l < isa_->lanes; ++l) entries[l] = entry(lanes[l]);
    const Vec index = isa_->vec();
    isa_->mov(index, pool_.get(entries.data(), isa_->bytes()));
    return index;
  };
  const uint32_t start = lanes[0] / isa_->lanes * isa_->lanes;
  const bool near = std::all_of(lanes.begin(), lanes.begin() + isa_->lanes,
                                [&](uint32_t l) { return l >= start && l < start + isa_->lanes; });
  if (near && !wide) {
    const Vec d = isa_->vec(), row = isa_->vec();
    isa_->load(row, factors.a.cloneAdjusted(start * 4), nullptr);
    isa_->permute32(d, row, table([&](uint32_t l) { return l - start; }));
    return {d, d};
  }
  const Gp base = address_of(factors.a);
  const Vec offsets = table([&](uint32_t l) { return l * (wide ? 8 : 4); });
  const Vec low = isa_->vec();
  isa_->gather(low, base, {offsets}, 0, nullptr, {});
  if (!wide) return {low, low};
  const Vec high = isa_->vec();
  isa_->gather(high, base, {offsets}, 4, nullptr, {});
  const Vec64 d = isa_->vec64();
  isa_->pack64(d, low, high);
  return d;
}

}  // namespace wavejit::backend
