// Matrix products (ir/matrix.h).
//
// They make segments of their own. The rows of A and B are on the stack (matrix_rows.cpp); in a segment, lane l's
// factors are found there: one of B's rows is a vector, and A's element is mostly the same for all lanes of a chunk, so
// the operation is the inner step of any matrix multiplication on x86: a broadcast, and fused multiply-adds onto
// accumulators in registers. Products that add up onto the same accumulators are worked through for a few of these at a
// time, so that they are loaded and stored once.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/matrix/matrix_loops.h"
#include "backend-x86/lower/matrix/matrix_product.h"
#include "backend-x86/lower/matrix/matrix_rows.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "backend-x86/lower/row_homes.h"
#include "backend-x86/lower/segment.h"

namespace wavejit::backend {

using ir::MatrixForm;

namespace {

// Of the products of one element of each row.
struct MatrixFactors {
  Mem a, b;
  unsigned group;
  std::map<unsigned, Vec64> columns;  // of B, by the lane of the first
  Vec element;                        // of A, from lane element_lane unless that is negative
  int element_lane;
  Vec product = {};
};

}  // namespace

std::vector<MatrixProduct> matrix_products(const Lowering& ctx, std::span<const Inst* const> insts) {
  // Sums in two places of the wave state are two products, as a loop over tiles adds to each place.
  const auto in_one_place = [&](const Inst* a, const Inst* b) {
    const auto first = ctx.homes->resident_sums.find(a), second = ctx.homes->resident_sums.find(b);
    if (first == ctx.homes->resident_sums.end() || second == ctx.homes->resident_sums.end()) return first == second;
    return ctx.homes->all.at(a).block.offset() == ctx.homes->all.at(b).block.offset();
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
MatrixChains matrix_chains(const Lowering& ctx, const std::vector<MatrixProduct>& products) {
  std::vector<MatrixChain> chains;
  bool merge = ctx.on(Optimisation::matrix_chains);
  std::set<const Inst*> results;
  std::map<const Inst*, const Inst*> readers;  // of registers from outside
  for (const MatrixProduct& product : products) results.insert(product.rows.begin(), product.rows.end());
  for (const MatrixProduct& product : products) {
    for (const Inst* row : product.rows) {
      const Inst* sum = row->operands[0];
      if (results.contains(sum) || sum->is_const() || sum->op == Op::undef) continue;
      if (!readers.emplace(ctx.classes.representative(ctx.resolve(sum).inst), row).second) merge = false;
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
        const auto reader = readers.find(ctx.classes.representative(product->rows[i]));
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
std::vector<MatrixTile> matrix_tiles(const Lowering& ctx, const MatrixChain& chain) {
  const MatrixProduct& first = *chain[0];
  const auto rows = static_cast<unsigned>(first.rows.size());
  const unsigned registers = ctx.parts(first.rows[0]);
  const unsigned accumulators = ctx.isa->budget().vectors * 3 / 4;
  unsigned width = first.form.size == 16 ? 4 : 2;
  while (width > 1 && width * registers * 4 > accumulators) width /= 2;
  unsigned height = 4;
  while (2 * height * width * registers <= accumulators) height *= 2;
  std::vector<MatrixTile> tiles;
  for (unsigned row = 0; row < rows; row += height) {
    for (unsigned chunk = 0; chunk < ctx.chunks; chunk += width)
      tiles.push_back({row, std::min(row + height, rows), chunk, chunk + width});
  }
  return tiles;
}

namespace {

void emit_matrix_tile(Lowering& ctx, const MatrixChain& chain, const MatrixTile& tile) {
  const unsigned first_row = tile.row, end_row = tile.end_row, first = tile.chunk, end = tile.end;
  const auto accumulator = [&](const MatrixProduct& product, unsigned row, unsigned chunk) {
    const Inst& inst = *product.rows[row];
    if (row_home(ctx, ctx.classes.representative(&inst)) != nullptr) {
      Vec64 d;
      for (unsigned part = 0; part < ctx.parts(&inst); ++part)
        d.part[part] =
            matrix_accumulator(ctx, ((row - first_row) * (end - first) + chunk - first) * ctx.parts(&inst) + part);
      return d;
    }
    const Vec d = ctx.dst(inst, chunk);
    return ctx.parts(&inst) == 2 ? ctx.dst64(inst, chunk) : Vec64{d, d};
  };
  const auto move = [&](const Vec64& d, const Vec64& from, unsigned registers) {
    for (unsigned part = 0; part < registers; ++part) {
      if (d.part[part].id() != from.part[part].id()) ctx.isa->mov(d.part[part], from.part[part]);
    }
  };
  const MatrixProduct& last = *chain.back();
  const unsigned registers = ctx.parts(last.rows[0]);
  ctx.annotate(*last.rows[first_row]);
  for (unsigned row = first_row; row < end_row; ++row) {
    const Inst* sum = chain[0]->rows[row]->operands[0];
    for (unsigned chunk = first; chunk < end; ++chunk) {
      const Vec64 d = accumulator(last, row, chunk);
      if (sum->is_const() || sum->op == Op::undef) {
        const uint64_t bits = sum->is_const() ? sum->imm : 0;
        for (unsigned part = 0; part < registers; ++part) {
          if (registers == 2) {
            ctx.isa->set_const64(d.part[part], bits);
          } else {
            ctx.isa->set_const32(d.part[part], static_cast<uint32_t>(bits));
          }
        }
      } else if (registers == 2) {
        move(d, ctx.v64(sum, chunk), 2);
      } else {
        const Vec v = ctx.v32(sum, chunk);
        move(d, {v, v}, 1);
      }
    }
  }
  for (const MatrixProduct* product : chain) {
    ctx.annotate(*product->rows[0]);
    add_matrix_product(
        ctx, *product, tile, [&](unsigned row, unsigned chunk) { return accumulator(last, row, chunk); },
        [](const Mem& row, bool) { return row; });
    if (product == &last) break;
    for (unsigned row = first_row; row < end_row; ++row) {
      if (product->rows[row]->users.size() == 1) continue;
      for (unsigned chunk = first; chunk < end; ++chunk)
        set_matrix_result(ctx, *product->rows[row], chunk, accumulator(last, row, chunk));
    }
  }
  for (unsigned row = first_row; row < end_row; ++row) {
    if (row_home(ctx, ctx.classes.representative(last.rows[row])) == nullptr) continue;
    for (unsigned chunk = first; chunk < end; ++chunk)
      set_matrix_result(ctx, *last.rows[row], chunk, accumulator(last, row, chunk));
  }
}

}  // namespace

void emit_matrix_segment(Lowering& ctx) {
  const std::vector<MatrixProduct> products = matrix_products(ctx, ctx.segment->insts);
  const MatrixChains chains = matrix_chains(ctx, products);
  for (size_t i = 0; i < chains.list.size();) {
    MatrixLoop loop{};
    size_t end = i;
    while (end < chains.list.size() && (end == i || chains.independent) &&
           add_to_matrix_loop(ctx, loop, chains.list[end]))
      ++end;
    if (loop.distances.size() > 1) {
      emit_matrix_loop(ctx, loop);
      i = end;
      continue;
    }
    for (const MatrixTile& tile : matrix_tiles(ctx, chains.list[i])) emit_matrix_tile(ctx, chains.list[i], tile);
    ++i;
  }
}

namespace {

// Rows of A that differ by lane, as in blocks smaller than a chunk.
Vec64 gather_matrix_rows(Lowering& ctx, const Inst& inst, const MatrixFactors& factors, unsigned lane) {
  const bool wide = inst.op == Op::mfma_f64;
  std::array<uint32_t, 16> lanes{};
  for (unsigned l = 0; l < ctx.isa->lanes; ++l) lanes[l] = ir::lane_of_a(inst, lane + l, factors.group);
  const auto table = [&](auto&& entry) {
    std::array<uint32_t, 16> entries{};
    for (unsigned l = 0; l < ctx.isa->lanes; ++l) entries[l] = entry(lanes[l]);
    const Vec index = ctx.isa->vec();
    ctx.isa->mov(index, ctx.pool.get(entries.data(), ctx.isa->bytes()));
    return index;
  };
  const uint32_t start = lanes[0] / ctx.isa->lanes * ctx.isa->lanes;
  const bool near = std::all_of(lanes.begin(), lanes.begin() + ctx.isa->lanes,
                                [&](uint32_t l) { return l >= start && l < start + ctx.isa->lanes; });
  if (near && !wide) {
    const Vec d = ctx.isa->vec(), row = ctx.isa->vec();
    ctx.isa->load(row, factors.a.cloneAdjusted(start * 4), nullptr);
    ctx.isa->permute32(d, row, table([&](uint32_t l) { return l - start; }));
    return {d, d};
  }
  const Gp base = ctx.address_of(factors.a);
  const Vec offsets = table([&](uint32_t l) { return matrix_offset(ctx, l, wide); });
  const Vec low = ctx.isa->vec();
  ctx.isa->gather(low, base, {offsets}, 0, nullptr, {});
  if (!wide) return {low, low};
  const Vec high = ctx.isa->vec();
  ctx.isa->gather(high, base, {offsets}, 4, nullptr, {});
  const Vec64 d = ctx.isa->vec64();
  ctx.isa->pack64(d, low, high);
  return d;
}

// One step of the sum for a chunk of a row.
void add_matrix_products(Lowering& ctx, const Inst& inst, const Vec64& sum, MatrixFactors& factors, unsigned chunk,
                         const MatrixTile& tile) {
  const bool wide = inst.op == Op::mfma_f64;
  const unsigned registers = wide ? 2 : 1;
  const bool dot = inst.op == Op::mfma_i16 && ctx.on(Optimisation::matrix_dot_products) && ctx.isa->has_dot_products();
  const unsigned lane = chunk * ctx.isa->lanes;
  // B: neighbouring columns are in neighbouring lanes, in groups of 16 whatever the modifiers say.
  const unsigned column = ir::lane_of_b(inst, lane, factors.group);
  auto [b, inserted] = factors.columns.try_emplace(column);
  if (inserted) {
    bool contiguous = true;
    for (unsigned l = 0; l < ctx.isa->lanes; ++l)
      contiguous &= ir::lane_of_b(inst, lane + l, factors.group) == column + l;
    WAVEJIT_CHECK(contiguous, "columns of a matrix that are not in neighbouring lanes");
    WAVEJIT_CHECK(!wide || column % ctx.isa->lanes == 0, "a chunk of 64-bit columns from lane {} on", column);
    for (unsigned part = 0; part < registers; ++part) {
      b->second.part[part] = ctx.isa->vec();
      ctx.isa->load(b->second.part[part], factors.b.cloneAdjusted(column * 4 * registers + part * ctx.isa->bytes()),
                    nullptr);
    }
  }
  // A: the element of a row.
  const unsigned own = ir::lane_of_a(inst, lane, factors.group);
  bool shared = true;  // by the chunk's lanes
  for (unsigned l = 1; l < ctx.isa->lanes; ++l) shared &= ir::lane_of_a(inst, lane + l, factors.group) == own;
  std::array<Operand, 2> a;
  if (!shared) {
    const Vec64 gathered = gather_matrix_rows(ctx, inst, factors, lane);
    a = {gathered.part[0], gathered.part[1]};
  } else if (static_cast<int>(own) == factors.element_lane) {
    a = {factors.element, factors.element};
  } else {
    unsigned uses = 0;
    for (unsigned c = tile.chunk; c < tile.end; ++c)
      uses += ir::lane_of_a(inst, c * ctx.isa->lanes, factors.group) == own ? registers : 0;
    const Mem at = factors.a.cloneAdjusted(matrix_offset(ctx, own, wide));
    if (uses > 1 || (inst.op == Op::mfma_i16 && !dot)) {
      if (!factors.element.isValid()) factors.element = ctx.isa->vec();
      if (wide) {
        ctx.isa->load_broadcast64(factors.element, at);
      } else {
        ctx.isa->load_broadcast(factors.element, at, nullptr);
      }
      factors.element_lane = static_cast<int>(own);
      a = {factors.element, factors.element};
    } else {
      a[0] = a[1] = wide ? ctx.isa->broadcast_operand64(at) : ctx.isa->broadcast_operand32(at);
    }
  }
  for (unsigned part = 0; part < registers; ++part) {
    if (dot) {
      ctx.cc.emit(I::kIdVpdpwssd, sum.part[0], b->second.part[0], a[0]);
    } else if (inst.op == Op::mfma_i16) {
      if (!factors.product.isValid()) factors.product = ctx.isa->vec();
      ctx.cc.emit(I::kIdVpmaddwd, factors.product, b->second.part[0], a[0]);
      ctx.cc.emit(I::kIdVpaddd, sum.part[0], sum.part[0], factors.product);
    } else {
      ctx.cc.emit(wide ? I::kIdVfmadd231pd : I::kIdVfmadd231ps, sum.part[part], b->second.part[part], a[part]);
    }
  }
}

}  // namespace

void add_matrix_product(Lowering& ctx, const MatrixProduct& product, const MatrixTile& tile,
                        const std::function<Vec64(unsigned row, unsigned chunk)>& accumulator,
                        const std::function<Mem(const Mem& row, bool of_a)>& place) {
  const Inst& any = *product.rows[0];
  const unsigned elements = product.form.rows;
  for (unsigned group = 0; group < product.form.groups; ++group) {
    for (unsigned element = 0; element < elements; ++element) {
      MatrixFactors factors{.a = place(ctx.matrix_rows->of(any, 1 + element), true),
                            .b = place(ctx.matrix_rows->of(any, 1 + elements + element), false),
                            .group = group,
                            .columns = {},
                            .element = {},
                            .element_lane = -1};
      for (unsigned row = tile.row; row < tile.end_row; ++row) {
        for (unsigned chunk = tile.chunk; chunk < tile.end; ++chunk)
          add_matrix_products(ctx, *product.rows[row], accumulator(row, chunk), factors, chunk, tile);
      }
    }
  }
}

Vec matrix_accumulator(Lowering& ctx, size_t index) {
  while (ctx.accumulators->registers.size() <= index) ctx.accumulators->registers.push_back(ctx.isa->vec());
  return ctx.accumulators->registers[index];
}

void set_matrix_result(Lowering& ctx, const Inst& inst, unsigned chunk, const Vec64& value) {
  const unsigned registers = ctx.parts(&inst);
  if (const RowHome* home = row_home(ctx, ctx.classes.representative(&inst))) {
    if (home->halves) return store_halves(ctx, *home, chunk, value);
    for (unsigned part = 0; part < registers; ++part)
      ctx.isa->store(place_of(ctx, *home, chunk, part), value.part[part], nullptr);
    return;
  }
  const Vec64 d = registers == 2 ? ctx.dst64(inst, chunk) : Vec64{ctx.dst(inst, chunk), {}};
  for (unsigned part = 0; part < registers; ++part) {
    if (d.part[part].id() != value.part[part].id()) ctx.isa->mov(d.part[part], value.part[part]);
  }
}

}  // namespace wavejit::backend
