// Matrix products (ir/matrix.h).
//
// They make segments of their own. The rows of A and B are on the stack (matrix_rows.cpp); in a segment, lane l's
// factors are found there: one of B's rows is a vector, and A's element is mostly the same for all lanes of a chunk, so
// the operation is the inner step of any matrix multiplication on x86: a broadcast, and fused multiply-adds onto
// accumulators in registers. Products that add up onto the same accumulators are worked through for a few of these at a
// time, so that they are loaded and stored once.
#include <algorithm>

#include "backend-x86/lower/emitter.h"
#include "backend-x86/lower/matrix_product.h"

namespace wavejit::backend {

using ir::MatrixForm;

std::vector<Emitter::MatrixProduct> Emitter::matrix_products(std::span<const Inst* const> insts) const {
  // Sums in two places of the wave state are two products, as a loop over tiles adds to each place.
  const auto in_one_place = [&](const Inst* a, const Inst* b) {
    const auto first = resident_sums_.find(a), second = resident_sums_.find(b);
    if (first == resident_sums_.end() || second == resident_sums_.end()) return first == second;
    return row_homes_.at(a).block.offset() == row_homes_.at(b).block.offset();
  };
  std::vector<MatrixProduct> products;
  for (const Inst* inst : insts) {
    const MatrixForm form = MatrixForm::decode(inst->imm);
    if (!products.empty()) {
      MatrixProduct& last = products.back();
      const Inst* other = last.rows[0];
      const bool same = other->op == inst->op && other->attr == inst->attr && form.same_product(last.form) &&
                        std::equal(inst->operands.begin() + 1, inst->operands.end(), other->operands.begin() + 1,
                                   other->operands.end());
      if (same && in_one_place(inst, other) &&
          std::find(last.rows.begin(), last.rows.end(), inst->operands[0]) == last.rows.end()) {
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
Emitter::MatrixChains Emitter::matrix_chains(const std::vector<MatrixProduct>& products) const {
  std::vector<MatrixChain> chains;
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
    const auto continues = [&](const MatrixChain& chain) {
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
  if (!merge) return {.list = std::move(chains)};
  // Chains go one after the other, rows apart from each other: none may start from a result of another one, nor write
  // what one behind it is to read.
  const auto independent = [&](const MatrixChain& chain) {
    for (size_t i = 0; i < chain[0]->rows.size(); ++i) {
      if (results.contains(chain[0]->rows[i]->operands[0])) return false;
      for (const MatrixProduct* product : chain) {
        const auto reader = readers.find(classes_.representative(product->rows[i]));
        if (reader != readers.end() && reader->second != chain[0]->rows[i]) return false;
      }
    }
    return true;
  };
  if (std::all_of(chains.begin(), chains.end(), independent)) return {.list = std::move(chains), .independent = true};
  chains.clear();
  for (const MatrixProduct& product : products) chains.push_back({&product});
  return {.list = std::move(chains)};
}

// As many accumulators as leave registers for the factors. Chunks that share A (32 rows) or B (16) side by side.
std::vector<Emitter::MatrixTile> Emitter::matrix_tiles(const MatrixChain& chain) const {
  const MatrixProduct& first = *chain[0];
  const auto rows = static_cast<unsigned>(first.rows.size());
  const unsigned registers = parts(first.rows[0]);
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
  return tiles;
}

void Emitter::emit_matrix_segment() {
  const std::vector<MatrixProduct> products = matrix_products(segment_);
  const MatrixChains chains = matrix_chains(products);
  for (size_t i = 0; i < chains.list.size();) {
    MatrixLoop loop{};
    size_t end = i;
    while (end < chains.list.size() && (end == i || chains.independent) && add_to_matrix_loop(loop, chains.list[end]))
      ++end;
    if (loop.distances.size() > 1) {
      emit_matrix_loop(loop);
      i = end;
      continue;
    }
    for (const MatrixTile& tile : matrix_tiles(chains.list[i])) emit_matrix_tile(chains.list[i], tile);
    ++i;
  }
}

// Adds a product to the accumulators of a tile. place(row, of_a): where a row of A or B is for this tile.
void Emitter::add_matrix_product(const MatrixProduct& product, const MatrixTile& tile,
                                 const std::function<Vec64(unsigned row, unsigned chunk)>& accumulator,
                                 const std::function<Mem(const Mem& row, bool of_a)>& place) {
  const Inst& any = *product.rows[0];
  const unsigned elements = product.form.rows;
  for (unsigned group = 0; group < product.form.groups; ++group) {
    for (unsigned element = 0; element < elements; ++element) {
      MatrixFactors factors{.a = place(matrix_row(any, 1 + element), true),
                            .b = place(matrix_row(any, 1 + elements + element), false),
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

void Emitter::emit_matrix_tile(const MatrixChain& chain, const MatrixTile& tile) {
  const unsigned first_row = tile.row, end_row = tile.end_row, first = tile.chunk, end = tile.end;
  const auto accumulator = [&](const MatrixProduct& product, unsigned row, unsigned chunk) {
    const Inst& inst = *product.rows[row];
    if (row_home(classes_.representative(&inst)) != nullptr) {
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
    if (row_home(classes_.representative(last.rows[row])) == nullptr) continue;
    for (unsigned chunk = first; chunk < end; ++chunk)
      set_matrix_result(*last.rows[row], chunk, accumulator(last, row, chunk));
  }
}

Vec Emitter::matrix_accumulator(size_t index) {
  while (matrix_accumulators_.size() <= index) matrix_accumulators_.push_back(isa_->vec());
  return matrix_accumulators_[index];
}

void Emitter::set_matrix_result(const Inst& inst, unsigned chunk, const Vec64& value) {
  const unsigned registers = parts(&inst);
  if (const RowHome* home = row_home(classes_.representative(&inst))) {
    if (home->halves) return store_halves(*home, chunk, value);
    for (unsigned part = 0; part < registers; ++part)
      isa_->store(place_of(*home, chunk, part), value.part[part], nullptr);
    return;
  }
  const Vec64 d = registers == 2 ? dst64(inst, chunk) : Vec64{dst(inst, chunk), {}};
  for (unsigned part = 0; part < registers; ++part) {
    if (d.part[part].id() != value.part[part].id()) isa_->mov(d.part[part], value.part[part]);
  }
}

// One step of the sum for a chunk of a row.
void Emitter::add_matrix_products(const Inst& inst, const Vec64& sum, MatrixFactors& factors, unsigned chunk,
                                  const MatrixTile& tile) {
  const bool wide = inst.op == Op::mfma_f64;
  const unsigned registers = wide ? 2 : 1;
  const bool dot = inst.op == Op::mfma_i16 && on(Optimisation::matrix_dot_products) && isa_->has_dot_products();
  const unsigned lane = chunk * isa_->lanes;
  // B: neighbouring columns are in neighbouring lanes, in groups of 16 whatever the modifiers say.
  const unsigned column = ir::lane_of_b(inst, lane, factors.group);
  auto [b, inserted] = factors.columns.try_emplace(column);
  if (inserted) {
    bool contiguous = true;
    for (unsigned l = 0; l < isa_->lanes; ++l) contiguous &= ir::lane_of_b(inst, lane + l, factors.group) == column + l;
    WAVEJIT_CHECK(contiguous, "columns of a matrix that are not in neighbouring lanes");
    WAVEJIT_CHECK(!wide || column % isa_->lanes == 0, "a chunk of 64-bit columns from lane {} on", column);
    for (unsigned part = 0; part < registers; ++part) {
      b->second.part[part] = isa_->vec();
      isa_->load(b->second.part[part], factors.b.cloneAdjusted(column * 4 * registers + part * isa_->bytes()), nullptr);
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
    const Mem at = factors.a.cloneAdjusted(matrix_offset(own, wide));
    if (uses > 1 || (inst.op == Op::mfma_i16 && !dot)) {
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
    if (dot) {
      cc_.emit(I::kIdVpdpwssd, sum.part[0], b->second.part[0], a[0]);
    } else if (inst.op == Op::mfma_i16) {
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
  const Vec offsets = table([&](uint32_t l) { return matrix_offset(l, wide); });
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
