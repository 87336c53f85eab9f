// Loops over the tiles of matrix products: straight-line code of all of them would not fit the first-level cache. And
// the memory in which the accumulators are while other tiles are worked on.
#include "backend-x86/lower/matrix/matrix_loops.h"

#include <algorithm>
#include <bit>

#include "backend-x86/lower/lowering.h"
#include "backend-x86/lower/matrix/matrix_product.h"
#include "backend-x86/lower/matrix/matrix_rows.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "backend-x86/lower/row_homes.h"

namespace wavejit::backend {

namespace {

constexpr size_t kMaxTiles = 64;   // as many distances as the pool takes
constexpr unsigned kMinSteps = 4;  // fewer do not pay for the way to and from the loop's memory

// Takes the first value that is given; whether the others are the same.
bool agrees(std::optional<int32_t>& distance, int64_t value) {
  const auto narrow = static_cast<int32_t>(value);
  if (!distance) distance = narrow;
  return *distance == narrow;
}

// That of the chain's first row, if the results are all in one block in the order of their rows.
const RowHome* home_of(const Lowering& ctx, const MatrixChain& chain) {
  const auto& rows = chain.back()->rows;
  const RowHome* home = row_home(ctx, ctx.classes.representative(rows[0]));
  for (unsigned row = 0; row < rows.size() && home != nullptr; ++row) {
    const RowHome* own = row_home(ctx, ctx.classes.representative(rows[row]));
    const bool here = own != nullptr && own->block.baseId() == home->block.baseId() &&
                      own->block.offset() == home->block.offset() && own->row == row;
    if (!here) home = nullptr;
  }
  return home;
}

// Whether nobody asks for sums between the first and the last product.
bool can_loop(const Lowering& ctx, const MatrixChain& chain) {
  unsigned steps = 0;
  for (const MatrixProduct* product : chain) {
    steps += product->form.rows * product->form.groups;
    const bool looked_at =
        std::any_of(product->rows.begin(), product->rows.end(), [](const Inst* row) { return row->users.size() > 1; });
    if (product != chain.back() && looked_at) return false;
  }
  return ctx.on(Optimisation::matrix_loops) && (steps >= kMinSteps || home_of(ctx, chain) != nullptr);
}

}  // namespace

bool add_to_matrix_loop(const Lowering& ctx, MatrixLoop& loop, const MatrixChain& chain) {
  if (!can_loop(ctx, chain)) return false;
  const std::vector<MatrixTile> tiles = matrix_tiles(ctx, chain);
  const MatrixChain& model = loop.chains.empty() ? chain : *loop.chains[0];
  const MatrixTile& origin = loop.chains.empty() ? tiles[0] : loop.origin;
  const unsigned registers = ctx.parts(chain.back()->rows[0]);
  const auto rows = static_cast<unsigned>(chain.back()->rows.size());
  const unsigned row_bytes = ctx.tile * registers * 4;
  if (chain.size() != model.size() || rows != model.back()->rows.size()) return false;
  if (loop.distances.size() + tiles.size() > kMaxTiles) return false;

  // From the model's rows to the chain's.
  std::optional<int32_t> to_rows_of_a, to_rows_of_b;
  for (size_t p = 0; p < chain.size(); ++p) {
    const Inst &there = *chain[p]->rows[0], &here = *model[p]->rows[0];
    if (chain[p]->form.groups != model[p]->form.groups) return false;  // steps of the sum
    if (there.op != here.op || there.attr != here.attr || there.operands.size() != here.operands.size()) return false;
    for (size_t i = 1; i < there.operands.size(); ++i) {
      const Mem &to = ctx.matrix_rows->of(there, i), &from = ctx.matrix_rows->of(here, i);
      if (to.baseId() != from.baseId()) return false;
      if (!agrees(i <= chain[p]->form.rows ? to_rows_of_a : to_rows_of_b, to.offset() - from.offset())) return false;
    }
  }
  const RowHome *home = home_of(ctx, chain), *model_home = home_of(ctx, model);
  if ((home == nullptr) != (model_home == nullptr)) return false;
  if (home != nullptr && home->block.baseId() != model_home->block.baseId()) return false;
  const auto to_sums = home != nullptr ? static_cast<int32_t>(home->block.offset() - model_home->block.offset())
                                       : static_cast<int32_t>(loop.chains.size() * rows * row_bytes);

  const bool wide = registers == 2;
  std::vector<MatrixDistance> distances;
  for (const MatrixTile& tile : tiles) {
    if (tile.end_row - tile.row != origin.end_row - origin.row) return false;
    std::optional<int32_t> a, b;
    for (size_t p = 0; p < chain.size(); ++p) {
      const auto alike = [&](const MatrixChain& c) { return c[p]->form.same_product(c[p - 1]->form); };
      if (p > 0 && alike(chain) && alike(model)) continue;
      for (unsigned group = 0; group < chain[p]->form.groups; ++group) {
        for (unsigned row = 0; row < tile.end_row - tile.row; ++row) {
          const Inst &there = *chain[p]->rows[tile.row + row], &here = *model[p]->rows[origin.row + row];
          for (unsigned l = 0; l < (tile.end - tile.chunk) * ctx.isa->lanes; ++l) {
            const unsigned lane = tile.chunk * ctx.isa->lanes + l, model_lane = origin.chunk * ctx.isa->lanes + l;
            const unsigned own = ir::lane_of_a(there, lane, group);
            // One element for each chunk.
            if (own != ir::lane_of_a(there, lane / ctx.isa->lanes * ctx.isa->lanes, group)) return false;
            const auto distance = [&](unsigned to, unsigned from) {
              return static_cast<int64_t>(matrix_offset(ctx, to, wide)) - matrix_offset(ctx, from, wide);
            };
            if (!agrees(a, distance(own, ir::lane_of_a(here, model_lane, group)))) return false;
            const unsigned column = ir::lane_of_b(there, lane, group);
            if (!agrees(b, distance(column, ir::lane_of_b(here, model_lane, group)))) return false;
          }
        }
      }
    }
    const unsigned chunk_bytes = home != nullptr && home->halves ? ctx.isa->bytes() : registers * ctx.isa->bytes();
    const unsigned place = tile.row * row_bytes + tile.chunk * chunk_bytes;
    distances.push_back({*a + *to_rows_of_a, *b + *to_rows_of_b, to_sums + static_cast<int32_t>(place), 0});
  }
  if (loop.chains.empty()) loop.origin = origin;
  loop.chains.push_back(&chain);
  loop.distances.insert(loop.distances.end(), distances.begin(), distances.end());
  return true;
}

namespace {

// Memory of the stack for the accumulators of a loop, the same for all loops.
Mem matrix_sums(Lowering& ctx, unsigned bytes) {
  if (!ctx.accumulators->sums || ctx.accumulators->sums_bytes < bytes) {
    ctx.accumulators->sums = ctx.stack_row(bytes);
    ctx.accumulators->sums_bytes = bytes;
  }
  return *ctx.accumulators->sums;
}

bool is_same_home(const RowHome* a, const RowHome* b) {
  return a != nullptr && b != nullptr && a->row == b->row && a->block.baseId() == b->block.baseId() &&
         a->block.offset() == b->block.offset();
}

}  // namespace

void emit_matrix_loop(Lowering& ctx, const MatrixLoop& loop) {
  const MatrixChain& model = *loop.chains[0];
  const MatrixTile& origin = loop.origin;
  const auto rows = static_cast<unsigned>(model.back()->rows.size());
  const unsigned registers = ctx.parts(model.back()->rows[0]);
  const unsigned row_bytes = ctx.tile * registers * 4;
  ctx.annotate(*model.back()->rows[0]);
  const auto chains = static_cast<unsigned>(loop.chains.size());
  const bool homes = home_of(ctx, model) != nullptr;
  const bool halves = homes && home_of(ctx, model)->halves;
  const Mem sums = homes ? home_of(ctx, model)->block : matrix_sums(ctx, chains * rows * row_bytes);
  const auto home = [&](unsigned chain, unsigned row) {
    const Mem block = homes ? home_of(ctx, *loop.chains[chain])->block : sums.cloneAdjusted(chain * rows * row_bytes);
    return RowHome{.block = block, .row = row, .row_bytes = row_bytes, .halves = halves};
  };
  const auto place = [&](unsigned chain, unsigned row, unsigned chunk, unsigned part) {
    return place_of(ctx, home(chain, row), chunk, part);
  };
  for (unsigned c = 0; c < chains; ++c) {
    const MatrixChain& chain = *loop.chains[c];
    for (unsigned row = 0; row < rows; ++row) {
      const Inst* sum = chain[0]->rows[row]->operands[0];
      const bool in_place = homes && !sum->is_const() && sum->op != Op::undef &&
                            is_same_home(row_home(ctx, ctx.resolve(sum).inst),
                                         row_home(ctx, ctx.classes.representative(chain.back()->rows[row])));
      for (unsigned chunk = 0; chunk < ctx.chunks && !in_place; ++chunk) {
        Vec64 value;
        if (registers == 2) {
          value = ctx.v64(sum, chunk);
        } else {
          value.part[0] = ctx.v32(sum, chunk);
        }
        if (halves) {
          store_halves(ctx, home(c, row), chunk, value);
          continue;
        }
        for (unsigned part = 0; part < registers; ++part)
          ctx.isa->store(place(c, row, chunk, part), value.part[part], nullptr);
      }
    }
  }
  std::vector<MatrixDistance> table_data = loop.distances;
  while (!std::has_single_bit(table_data.size())) table_data.push_back({});
  const Gp table = ctx.address_of(
      ctx.pool.get(table_data.data(), static_cast<uint32_t>(table_data.size() * sizeof(MatrixDistance))));
  const Gp a = ctx.new_gp(64), b = ctx.new_gp(64), offset = ctx.new_gp(64), left = ctx.new_gp(32);
  const Label again = ctx.cc.new_label();
  ctx.cc.mov(left, static_cast<uint32_t>(loop.distances.size()));
  ctx.cc.bind(again);
  ctx.cc.movsxd(a, x86::dword_ptr(table, offsetof(MatrixDistance, a)));
  ctx.cc.movsxd(b, x86::dword_ptr(table, offsetof(MatrixDistance, b)));
  ctx.cc.movsxd(offset, x86::dword_ptr(table, offsetof(MatrixDistance, sums)));
  const auto indexed = [](Mem m, const Gp& index) {
    m.setIndex(index, 0);
    return m;
  };
  const unsigned width = origin.end - origin.chunk;
  const auto accumulator = [&](unsigned row, unsigned chunk) {
    Vec64 d;
    for (unsigned part = 0; part < registers; ++part) {
      const size_t index = ((row - origin.row) * width + chunk - origin.chunk) * registers + part;
      d.part[part] = matrix_accumulator(ctx, index);
    }
    return d;
  };
  const auto for_each_sum = [&](auto&& action) {
    for (unsigned row = origin.row; row < origin.end_row; ++row) {
      RowHome there = home(0, row);
      there.block = indexed(there.block, offset);
      for (unsigned chunk = origin.chunk; chunk < origin.end; ++chunk) action(there, chunk, accumulator(row, chunk));
    }
  };
  for_each_sum([&](const RowHome& at, unsigned chunk, const Vec64& sum) {
    if (halves) return load_halves(ctx, at, chunk, sum);
    for (unsigned part = 0; part < registers; ++part)
      ctx.isa->load(sum.part[part], place_of(ctx, at, chunk, part), nullptr);
  });
  for (const MatrixProduct* product : model) {
    ctx.annotate(*product->rows[0]);
    add_matrix_product(ctx, *product, origin, accumulator,
                       [&](const Mem& row, bool of_a) { return indexed(row, of_a ? a : b); });
  }
  for_each_sum([&](const RowHome& at, unsigned chunk, const Vec64& sum) {
    if (halves) return store_halves(ctx, at, chunk, sum);
    for (unsigned part = 0; part < registers; ++part)
      ctx.isa->store(place_of(ctx, at, chunk, part), sum.part[part], nullptr);
  });
  ctx.cc.add(table, static_cast<uint32_t>(sizeof(MatrixDistance)));
  ctx.cc.sub(left, 1);
  ctx.cc.jnz(again);
  for (unsigned c = 0; c < chains && !homes; ++c) {
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned chunk = 0; chunk < ctx.chunks; ++chunk) {
        const Vec64 value = registers == 2 ? ctx.isa->vec64() : Vec64{ctx.isa->vec(), {}};
        for (unsigned part = 0; part < registers; ++part)
          ctx.isa->load(value.part[part], place(c, row, chunk, part), nullptr);
        set_matrix_result(ctx, *loop.chains[c]->back()->rows[row], chunk, value);
      }
    }
  }
}

}  // namespace wavejit::backend
