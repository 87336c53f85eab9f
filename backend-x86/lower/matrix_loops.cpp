// Loops over the tiles of matrix products: straight-line code of all of them would not fit the first-level cache. And
// the memory in which the accumulators are while other tiles are worked on.
#include <algorithm>
#include <bit>

#include "backend-x86/lower/emitter.h"
#include "backend-x86/lower/matrix_product.h"

namespace wavejit::backend {

using ir::MatrixForm;

namespace {

constexpr size_t kMaxTiles = 64;   // as many distances as the pool takes
constexpr unsigned kMinSteps = 4;  // fewer do not pay for the way to and from the loop's memory

// Takes the first value that is given; whether the others are the same.
bool agrees(std::optional<int32_t>& distance, int64_t value) {
  const auto narrow = static_cast<int32_t>(value);
  if (!distance) distance = narrow;
  return *distance == narrow;
}

}  // namespace

// That of the chain's first row, if the results are all in one block in the order of their rows.
const Emitter::RowHome* Emitter::row_home(const MatrixChain& chain) const {
  const auto& rows = chain.back()->rows;
  const RowHome* home = row_home(classes_.representative(rows[0]));
  for (unsigned row = 0; row < rows.size() && home != nullptr; ++row) {
    const RowHome* own = row_home(classes_.representative(rows[row]));
    const bool here = own != nullptr && own->block.baseId() == home->block.baseId() &&
                      own->block.offset() == home->block.offset() && own->row == row;
    if (!here) home = nullptr;
  }
  return home;
}

// Whether nobody asks for sums between the first and the last product.
bool Emitter::can_loop(const MatrixChain& chain) const {
  unsigned steps = 0;
  for (const MatrixProduct* product : chain) {
    steps += product->form.rows * product->form.groups;
    const bool looked_at =
        std::any_of(product->rows.begin(), product->rows.end(), [](const Inst* row) { return row->users.size() > 1; });
    if (product != chain.back() && looked_at) return false;
  }
  return on(Optimisation::matrix_loops) && (steps >= kMinSteps || row_home(chain) != nullptr);
}

// False, and nothing is added, if the chain's tiles differ from those of the loop by more than where their elements
// are.
bool Emitter::add_to_matrix_loop(MatrixLoop& loop, const MatrixChain& chain) const {
  if (!can_loop(chain)) return false;
  const std::vector<MatrixTile> tiles = matrix_tiles(chain);
  const MatrixChain& model = loop.chains.empty() ? chain : *loop.chains[0];
  const MatrixTile& origin = loop.chains.empty() ? tiles[0] : loop.origin;
  const unsigned registers = parts(chain.back()->rows[0]);
  const auto rows = static_cast<unsigned>(chain.back()->rows.size());
  const unsigned row_bytes = tile_ * registers * 4;
  if (chain.size() != model.size() || rows != model.back()->rows.size()) return false;
  if (loop.distances.size() + tiles.size() > kMaxTiles) return false;

  // From the model's rows to the chain's.
  std::optional<int32_t> to_rows_of_a, to_rows_of_b;
  for (size_t p = 0; p < chain.size(); ++p) {
    const Inst &there = *chain[p]->rows[0], &here = *model[p]->rows[0];
    if (chain[p]->form.groups != model[p]->form.groups) return false;  // steps of the sum
    if (there.op != here.op || there.attr != here.attr || there.operands.size() != here.operands.size()) return false;
    for (size_t i = 1; i < there.operands.size(); ++i) {
      const Mem &to = matrix_row(there, i), &from = matrix_row(here, i);
      if (to.baseId() != from.baseId()) return false;
      if (!agrees(i <= chain[p]->form.rows ? to_rows_of_a : to_rows_of_b, to.offset() - from.offset())) return false;
    }
  }
  const RowHome *home = row_home(chain), *model_home = row_home(model);
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
          for (unsigned l = 0; l < (tile.end - tile.chunk) * isa_->lanes; ++l) {
            const unsigned lane = tile.chunk * isa_->lanes + l, model_lane = origin.chunk * isa_->lanes + l;
            const unsigned own = ir::lane_of_a(there, lane, group);
            // One element for each chunk.
            if (own != ir::lane_of_a(there, lane / isa_->lanes * isa_->lanes, group)) return false;
            const auto distance = [&](unsigned to, unsigned from) {
              return static_cast<int64_t>(matrix_offset(to, wide)) - matrix_offset(from, wide);
            };
            if (!agrees(a, distance(own, ir::lane_of_a(here, model_lane, group)))) return false;
            const unsigned column = ir::lane_of_b(there, lane, group);
            if (!agrees(b, distance(column, ir::lane_of_b(here, model_lane, group)))) return false;
          }
        }
      }
    }
    const unsigned chunk_bytes = home != nullptr && home->halves ? isa_->bytes() : registers * isa_->bytes();
    const unsigned place = tile.row * row_bytes + tile.chunk * chunk_bytes;
    distances.push_back({*a + *to_rows_of_a, *b + *to_rows_of_b, to_sums + static_cast<int32_t>(place), 0});
  }
  if (loop.chains.empty()) loop.origin = origin;
  loop.chains.push_back(&chain);
  loop.distances.insert(loop.distances.end(), distances.begin(), distances.end());
  return true;
}

void Emitter::emit_matrix_loop(const MatrixLoop& loop) {
  const MatrixChain& model = *loop.chains[0];
  const MatrixTile& origin = loop.origin;
  const auto rows = static_cast<unsigned>(model.back()->rows.size());
  const unsigned registers = parts(model.back()->rows[0]);
  const unsigned row_bytes = tile_ * registers * 4;
  annotate(*model.back()->rows[0]);
  const auto chains = static_cast<unsigned>(loop.chains.size());
  const bool homes = row_home(model) != nullptr;
  const bool halves = homes && row_home(model)->halves;
  const Mem sums = homes ? row_home(model)->block : matrix_sums(chains * rows * row_bytes);
  const auto home = [&](unsigned chain, unsigned row) {
    const Mem block = homes ? row_home(*loop.chains[chain])->block : sums.cloneAdjusted(chain * rows * row_bytes);
    return RowHome{.block = block, .row = row, .row_bytes = row_bytes, .halves = halves};
  };
  const auto place = [&](unsigned chain, unsigned row, unsigned chunk, unsigned part) {
    return place_of(home(chain, row), chunk, part);
  };
  for (unsigned c = 0; c < chains; ++c) {
    const MatrixChain& chain = *loop.chains[c];
    for (unsigned row = 0; row < rows; ++row) {
      const Inst* sum = chain[0]->rows[row]->operands[0];
      const bool in_place =
          homes && !sum->is_const() && sum->op != Op::undef &&
          is_same_home(row_home(resolve(sum).inst), row_home(classes_.representative(chain.back()->rows[row])));
      for (unsigned chunk = 0; chunk < chunks_ && !in_place; ++chunk) {
        Vec64 value;
        if (registers == 2) {
          value = v64(sum, chunk);
        } else {
          value.part[0] = v32(sum, chunk);
        }
        if (halves) {
          store_halves(home(c, row), chunk, value);
          continue;
        }
        for (unsigned part = 0; part < registers; ++part)
          isa_->store(place(c, row, chunk, part), value.part[part], nullptr);
      }
    }
  }
  std::vector<MatrixDistance> table_data = loop.distances;
  while (!std::has_single_bit(table_data.size())) table_data.push_back({});
  const Gp table =
      address_of(pool_.get(table_data.data(), static_cast<uint32_t>(table_data.size() * sizeof(MatrixDistance))));
  const Gp a = new_gp(64), b = new_gp(64), offset = new_gp(64), left = new_gp(32);
  const Label again = cc_.new_label();
  cc_.mov(left, static_cast<uint32_t>(loop.distances.size()));
  cc_.bind(again);
  cc_.movsxd(a, x86::dword_ptr(table, offsetof(MatrixDistance, a)));
  cc_.movsxd(b, x86::dword_ptr(table, offsetof(MatrixDistance, b)));
  cc_.movsxd(offset, x86::dword_ptr(table, offsetof(MatrixDistance, sums)));
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
      RowHome there = home(0, row);
      there.block = indexed(there.block, offset);
      for (unsigned chunk = origin.chunk; chunk < origin.end; ++chunk) action(there, chunk, accumulator(row, chunk));
    }
  };
  for_each_sum([&](const RowHome& at, unsigned chunk, const Vec64& sum) {
    if (halves) return load_halves(at, chunk, sum);
    for (unsigned part = 0; part < registers; ++part) isa_->load(sum.part[part], place_of(at, chunk, part), nullptr);
  });
  for (const MatrixProduct* product : model) {
    annotate(*product->rows[0]);
    add_matrix_product(*product, origin, accumulator,
                       [&](const Mem& row, bool of_a) { return indexed(row, of_a ? a : b); });
  }
  for_each_sum([&](const RowHome& at, unsigned chunk, const Vec64& sum) {
    if (halves) return store_halves(at, chunk, sum);
    for (unsigned part = 0; part < registers; ++part) isa_->store(place_of(at, chunk, part), sum.part[part], nullptr);
  });
  cc_.add(table, static_cast<uint32_t>(sizeof(MatrixDistance)));
  cc_.sub(left, 1);
  cc_.jnz(again);
  for (unsigned c = 0; c < chains && !homes; ++c) {
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
        const Vec64 value = registers == 2 ? isa_->vec64() : Vec64{isa_->vec(), {}};
        for (unsigned part = 0; part < registers; ++part)
          isa_->load(value.part[part], place(c, row, chunk, part), nullptr);
        set_matrix_result(*loop.chains[c]->back()->rows[row], chunk, value);
      }
    }
  }
}

// Memory of the stack for the accumulators of a loop, the same for all loops.
Mem Emitter::matrix_sums(unsigned bytes) {
  if (!matrix_sums_ || matrix_sums_bytes_ < bytes) {
    matrix_sums_ = stack_row(bytes);
    matrix_sums_bytes_ = bytes;
  }
  return *matrix_sums_;
}

// Gives rows in memory to matrix results that a block only splits into halves or writes to VGPRs. The initial value of the sum
// gets the same row if it has no other reader. The values then go through no registers and spill slots between the loop over tiles
// and the VGPRs. All blocks share the memory, as no such value outlives its block.
void Emitter::plan_homes_in_blocks() {
  struct Group {
    std::vector<const Inst*> results;  // in the order of the rows
    unsigned offset, row_bytes;
  };
  std::vector<Group> groups;
  unsigned most = 0;
  for (const auto& block : function_.blocks) {
    const auto is_only_taken_apart = [&](const Inst* inst) {
      return has_own_registers(inst) && !inst->users.empty() &&
             std::all_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) {
               return user->parent == block.get() && !is_fused(user) &&
                      (user->op == Op::lo32 || user->op == Op::hi32 || user->op == Op::set_vgpr);
             });
    };
    const auto& insts = block->insts;
    unsigned bytes = 0, values = 0;
    std::vector<Group> own;
    for (size_t i = 0; i < insts.size(); ++i) {
      if (!ir::is_matrix_op(insts[i]->op) || MatrixForm::decode(insts[i]->imm).index != 0) continue;
      const unsigned count = MatrixForm::decode(insts[i]->imm).result_rows();
      Group group{.results = {}, .offset = bytes, .row_bytes = tile_ * 4 * parts(insts[i])};
      while (group.results.size() < count && i + group.results.size() < insts.size()) {
        const Inst* inst = insts[i + group.results.size()];
        if (inst->op != insts[i]->op || MatrixForm::decode(inst->imm).index != group.results.size() ||
            !is_only_taken_apart(inst))
          break;
        group.results.push_back(inst);
      }
      if (group.results.size() != count) continue;
      bytes += count * group.row_bytes;
      values += count * parts(insts[i]) * chunks_;
      own.push_back(std::move(group));
    }
    if (values <= isa_->budget().vectors) continue;
    most = std::max(most, bytes);
    groups.insert(groups.end(), own.begin(), own.end());
  }
  if (groups.empty()) return;
  const Mem memory = stack_row(most);
  for (const Group& group : groups) {
    for (unsigned row = 0; row < group.results.size(); ++row) {
      const RowHome home{.block = memory.cloneAdjusted(group.offset), .row = row, .row_bytes = group.row_bytes};
      const Inst* sum = group.results[row];
      row_homes_[sum] = home;
      while (ir::is_matrix_op(sum->op)) sum = sum->operands[0];
      const bool made_here = sum->op == Op::pack64 || sum->op == Op::get_vgpr;
      if (made_here && sum->parent == group.results[row]->parent && sum->users.size() == 1 && has_own_registers(sum) &&
          !is_left_out(*sum))
        row_homes_[sum] = home;
    }
  }
}

bool Emitter::is_same_home(const RowHome* a, const RowHome* b) {
  return a != nullptr && b != nullptr && a->row == b->row && a->block.baseId() == b->block.baseId() &&
         a->block.offset() == b->block.offset();
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
  // Passes through a region have registers of their own for what they carry.
  for (const auto& block : function_.blocks)
    if (regions_.of(block.get()) != nullptr) return;
  plan_resident_sums();
  plan_homes_in_blocks();
  if (candidates.empty()) return;
  std::vector<std::vector<const Inst*>> groups;
  unsigned bytes = 0;
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
        if (!candidates.contains(phi) || others.contains(phi) || row_homes_.contains(phi)) break;
        if (!rows.insert(phi).second) break;
        phis.push_back(phi);
      }
      if (phis.size() != form.result_rows()) continue;
      const unsigned row_bytes = tile_ * 4 * parts(insts[i]);
      for (const Inst* phi : phis) row_homes_[phi] = {.block = {}, .row = 0, .row_bytes = row_bytes};
      bytes += static_cast<unsigned>(phis.size()) * row_bytes;
      groups.push_back(std::move(phis));
    }
  }
  if (groups.empty()) return;
  // One piece of the stack, so that they are known distances apart.
  const Mem memory = stack_row(bytes);
  unsigned offset = 0;
  for (const auto& group : groups) {
    for (unsigned row = 0; row < group.size(); ++row) {
      RowHome& home = row_homes_[group[row]];
      home.block = memory.cloneAdjusted(offset);
      home.row = row;
    }
    offset += static_cast<unsigned>(group.size()) * row_homes_[group[0]].row_bytes;
  }
}

}  // namespace wavejit::backend
