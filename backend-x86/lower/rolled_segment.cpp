// Segments that are emitted once, as a loop over the chunks of the wave.
//
// Chunk after chunk, the code of an unrolled matrix product is larger than the first-level instruction cache, and waits
// for the second level: a block of 500 multiply-adds is 100 KB for the eight chunks of AVX2. As a loop it is a chunk's
// code, which stays in the cache of decoded instructions, and takes an eighth of the time to translate.
//
// In the loop, values have registers of their own for one chunk, and `Rolled::offset` is the distance in bytes of the
// chunk's part of a row of 32-bit lanes from the first chunk's. What the loop shares with other code goes through tables
// on the stack, a row for each register: stored for all chunks in front of it, or loaded behind it. The wave state's rows
// are such tables by themselves.
#include <algorithm>
#include <iterator>

#include "backend-x86/lower/emitter.h"
#include "backend-x86/lower/simple_forms.h"
#include "ir/analysis/lane_period.h"
#include "ir/matrix.h"

namespace wavejit::backend {
namespace {

// Host instructions of all chunks, about, from which the loop pays for its tables.
constexpr size_t kMinInstructions = 800;
// One in so many of them may be of a register that goes through a table.
constexpr size_t kMaxCopied = 8;
// What loads add to a pointer at most.
constexpr uint64_t kFarthest = 1 << 20;
// Bytes of what chunks have in common, at most, so that it stays in the first-level cache beside the sums.
constexpr unsigned kMaxShared = 12 << 10;

}  // namespace

// Whether a chunk's code differs from another one's by registers, addresses of rows and the pointer of the access only.
bool Emitter::is_rollable(const Inst& inst) const {
  if (is_invariant(&inst) || lane_addresses_.is_scalar(&inst) || !is_wanted_whole(&inst)) return false;
  if (made_rows_.contains(&inst)) return false;
  if (ternaries_.contains(inst.id) || divisions_.contains(inst.id)) return false;
  const auto plain = [&](const Inst* operand) {
    if (operand->op == Op::lane_id) return false;
    if (operand->type.is_mask() || operand->type.is_scalar() || lane_addresses_.is_scalar(operand)) return false;
    return operand->op == Op::phi || !is_left_out(*operand) || is_rollable(*operand);
  };
  const auto all_plain = [&] { return std::all_of(inst.operands.begin(), inst.operands.end(), plain); };
  switch (inst.op) {
    case Op::get_vgpr:
      return true;
    case Op::set_vgpr:
      return all_plain();
    case Op::extract:
      return inst.operands[0]->type.is_tuple();
    case Op::fma_f32:
    case Op::fma_f64:
    case Op::pk_fma_f16:
    case Op::pack64:
    case Op::lo32:
    case Op::hi32:
      return inst.type.is_vector() && all_plain();
    case Op::shl:
    case Op::lshr:
      return inst.type == ir::kV32 && inst.operands[1]->is_const() && plain(inst.operands[0]);
    case Op::load:
      return is_rollable_load(inst);
    default: {
      const SimpleForm* form = find_simple_form(inst);
      if (form == nullptr || (options_.tier == Tier::avx512 ? form->avx512 : form->avx2) == I::kIdNone) return false;
      return all_plain();
    }
  }
}

// From the LDS, by all lanes, at addresses a known distance apart: no guard, no fault, no code that knows the chunk.
bool Emitter::is_rollable_load(const Inst& load) const {
  const ir::MemAttr& mem = load.mem;
  if (mem.form != ir::AddressForm::lds_offset || mem.bytes != 4) return false;
  if (!is_full(load.operands[0]) || (mem.glc && mem.count > 1)) return false;
  if (streams_.contains(&load) || advances_.contains(&load) || walks_.contains(load.id)) return false;
  const std::optional<int64_t> stride = chunk_stride(load);
  if (!stride) return false;
  if (*stride == 0 || *stride == 4) return true;
  return *stride == 4 * mem.count && mem.count <= 4 && isa_->can_interleave(mem.count) && on(Optimisation::interleaved);
}

// The distance from lane to lane inside each chunk, if it is known and no address wraps around there.
std::optional<int64_t> Emitter::chunk_stride(const Inst& load) const {
  const Inst* address = lane_operand(load);
  const unsigned wrap_free = shapes_.extended(address, false).group;
  if (lane_addresses_.serves(load)) {
    const LaneAddress& fact = lane_addresses_.of(address);
    const bool good = fact.guards.empty() && (fact.stride == 0 || wrap_free >= (fact.wave ? kWaveSize : isa_->lanes));
    return good ? std::optional(fact.stride) : std::nullopt;
  }
  const ir::LaneShape shape = shapes_.of(address);
  if (!on(Optimisation::known_strides) || address->is_const() || address->op == Op::lane_id) return std::nullopt;
  if (shape.group < isa_->lanes || (shape.stride != 0 && wrap_free < isa_->lanes)) return std::nullopt;
  return shape.stride;
}

// Takes the instructions of the segment apart. None if the loop would be too small.
std::optional<Emitter::RolledParts> Emitter::rolled_parts(std::span<const schedule::Node> nodes,
                                                          std::span<const uint32_t> order) const {
  if (pass_ != nullptr || !on(Optimisation::rolled_segments)) return std::nullopt;
  enum class Part : uint8_t { front, loop, behind };
  std::vector<Part> part(nodes.size(), Part::front);
  size_t host_instructions = 0;
  // The loop contains sums, their operands, and instructions that depend on these alone. Address computations stay
  // outside: the loop loads pointers that are stored in front of it.
  std::vector<bool> wanted(nodes.size()), addressing(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].adds) wanted[i] = true;
    for (const uint32_t b : nodes[i].before) {
      if (wanted[i]) wanted[b] = true;
      // Stores that a load of the loop waits for stay in front of it, with all that they wait for. Other loads may follow the loop,
      // so the stores in front of them may, too.
      const bool stores = segment_[b]->op == Op::store || segment_[b]->op == Op::store_edges;
      if (addressing[i] || (segment_[i]->op == Op::load && (wanted[i] || !stores))) addressing[b] = true;
    }
  }
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const bool after_loop =
        std::any_of(nodes[i].before.begin(), nodes[i].before.end(), [&](uint32_t b) { return part[b] != Part::front; });
    const bool after_behind = std::any_of(nodes[i].before.begin(), nodes[i].before.end(),
                                          [&](uint32_t b) { return part[b] == Part::behind; });
    if (!after_behind && !addressing[i] && (wanted[i] || after_loop) && is_rollable(*segment_[i])) {
      part[i] = Part::loop;
      host_instructions += std::max(1U, nodes[i].registers);
    } else if (after_loop) {
      part[i] = Part::behind;
    }
  }
  if (host_instructions * chunks_ < kMinInstructions) return std::nullopt;

  RolledParts parts;
  std::vector<bool> placed(nodes.size());
  for (const uint32_t i : order) {
    const Inst* inst = segment_[i];
    if (part[i] != Part::loop && placed[i]) continue;
    placed[i] = true;
    (part[i] == Part::front ? parts.front : part[i] == Part::loop ? parts.loop : parts.behind).push_back(inst);
  }
  std::unordered_set<const Inst*> in_loop(parts.loop.begin(), parts.loop.end());
  for (const Inst* inst : parts.loop) for_each_result(*inst, [&](const Inst* result) { in_loop.insert(result); });
  std::unordered_set<uint32_t> written;
  size_t copied = 0;  // registers
  for (const Inst* inst : parts.loop) {
    if (inst->op != Op::load)
      for_each_read(*inst, [&](const Inst* place) {
        const bool vector = place->type.is_vector() && !place->is_const() && place->op != Op::undef;
        if (!vector || is_invariant(place) || lane_addresses_.is_scalar(place)) return;
        parts.local.insert(place->id);
        if (written.contains(place->id) || row_home(place) != nullptr || !parts.imports.insert(place->id).second)
          return;
        copied += place->type.count * this->parts(place);
      });
    for_each_result(*inst, [&](const Inst* result) {
      if (!result->type.is_vector() || (result->op == Op::extract && !classes_.is_shared(result))) return;
      const Inst* place = classes_.representative(result);
      written.insert(place->id);
      parts.local.insert(place->id);
      if (row_home(place) != nullptr) return;
      // A tuple's elements are its own registers, whoever reads them.
      const std::function<bool(const Inst*)> read_in_loop = [&](const Inst* user) {
        if (user->op == Op::extract && !classes_.is_shared(user))
          return std::all_of(user->users.begin(), user->users.end(), read_in_loop);
        if (in_loop.contains(user)) return true;
        return user->op != Op::phi && is_left_out(*user) && !user->users.empty() &&
               std::all_of(user->users.begin(), user->users.end(), read_in_loop);
      };
      if (classes_.is_shared(result) || !std::all_of(result->users.begin(), result->users.end(), read_in_loop)) {
        copied += parts.exports.emplace(place->id, result).second ? place->type.count * this->parts(place) : 0;
        parts.exports[place->id] = result;
      }
    });
  }
  if (copied * kMaxCopied > host_instructions) return std::nullopt;
  fold_offsets(parts);
  if (on(Optimisation::shared_loads)) find_shared_loads(parts);
  return parts;
}

// A row of the table that has a register of the place for each chunk.
Mem Emitter::rolled_row(RolledTables& tables, const Inst* place, unsigned element, unsigned part) {
  const auto [entry, inserted] = tables.try_emplace({place->id, element, part});
  if (inserted) entry->second = stack_row(chunks_ * isa_->bytes());
  return entry->second;
}

void Emitter::for_each_register(const Inst* place,
                                const std::function<void(unsigned element, unsigned part)>& visit) const {
  for (unsigned element = 0; element < place->type.count; ++element)
    for (unsigned part = 0; part < parts(place); ++part) visit(element, part);
}

void Emitter::emit_rolled(const RolledParts& parts) {
  emit_chunks(parts.front);
  if (error_) return;
  RolledTables tables;
  std::unordered_map<uint32_t, const Inst*> place_of_id;
  for (const Inst* inst : parts.loop) {
    for_each_read(*inst, [&](const Inst* place) { place_of_id[place->id] = place; });
    for_each_result(*inst, [&](const Inst* result) {
      const Inst* place = classes_.representative(result);
      place_of_id[place->id] = place;
    });
  }
  for (const uint32_t id : parts.imports) {
    const Inst* place = place_of_id.at(id);
    for_each_register(place, [&](unsigned element, unsigned part) {
      const Mem row = rolled_row(tables, place, element, part);
      for (unsigned chunk = 0; chunk < chunks_; ++chunk)
        isa_->store(row.cloneAdjusted(chunk * isa_->bytes()), reg(place, element, chunk, part).as<Vec>(), nullptr);
    });
  }
  std::map<const Inst*, Mem> pointers;
  for (const Inst* inst : parts.loop)
    if (inst->op == Op::load) store_pointers(pointers, parts.addresses.at(lane_operand(*inst)).base);

  RolledTables shared = emit_shared_loads(parts, pointers);
  const std::unordered_set<const Inst*> loaded_in_front(parts.shared.begin(), parts.shared.end());
  Rolled rolled{.offset = cc_.new_gp64(),
                .values = std::vector<Storage>(values_.size()),
                .local = parts.local,
                .pointers = std::move(pointers),
                .loaded_pointers = {},
                .addresses = parts.addresses};
  const Label start = cc_.new_label();
  uniform_pointers_.clear();
  cc_.xor_(rolled.offset.r32(), rolled.offset.r32());
  isa_->keep_tables(cc_.cursor());
  cc_.bind(start);
  rolled_ = &rolled;
  begin_shared_halves(parts.loop);
  const auto at = [&](const Mem& row) {
    Mem m = row;
    m.setIndex(rolled.offset);
    return m;
  };
  Gp shared_offset;  // of the chunk whose loads this one shares
  if (parts.shared_chunks > 1) {
    shared_offset = cc_.new_gp64();
    cc_.mov(shared_offset, rolled.offset);
    cc_.and_(shared_offset, (parts.shared_chunks - 1) * isa_->bytes());
  }
  const auto import_shared = [&](const Inst& load) {
    for_each_result(load, [&](const Inst* place) {
      for_each_register(place, [&](unsigned element, unsigned part) {
        Mem row = shared.at({place->id, element, part});
        if (shared_offset.isValid()) row.setIndex(shared_offset);
        isa_->load(reg(place, element, 0, part).as<Vec>(), row, nullptr);
      });
    });
  };
  std::unordered_set<uint32_t> there;
  const auto import = [&](const Inst* place) {
    if (!parts.imports.contains(place->id) || !there.insert(place->id).second) return;
    for_each_register(place, [&](unsigned element, unsigned part) {
      isa_->load(reg(place, element, 0, part).as<Vec>(), at(rolled_row(tables, place, element, part)), nullptr);
    });
  };
  const std::vector<Mem> rows = on(Optimisation::prefetch) ? rows_read(parts) : std::vector<Mem>();
  size_t fetched = 0, emitted = 0;
  for (const Inst* inst : parts.loop) {
    if (error_) break;
    annotate(*inst);
    // The next chunk's sums, evenly between the instructions of this one: those of all waves are too many for the first-level
    // cache.
    for (++emitted; fetched < rows.size() * emitted / parts.loop.size(); ++fetched)
      cc_.prefetcht0(rows[fetched].cloneAdjusted(isa_->bytes() << rows[fetched].shift()));
    if (loaded_in_front.contains(inst)) {
      import_shared(*inst);
      continue;
    }
    for_each_read(*inst, import);
    emit_chunk(*inst, 0);
    store_home(*inst, 0);
    for_each_result(*inst, [&](const Inst* result) {
      const Inst* place = classes_.representative(result);
      const auto exported = parts.exports.find(place->id);
      if (exported == parts.exports.end() || exported->second != result) return;
      for_each_register(place, [&](unsigned element, unsigned part) {
        isa_->store(at(rolled_row(tables, place, element, part)), reg(place, element, 0, part).as<Vec>(), nullptr);
      });
    });
  }
  rolled_ = nullptr;
  shared_halves_ = {};
  isa_->keep_tables(nullptr);
  uniform_pointers_.clear();
  cc_.add(rolled.offset, isa_->bytes());
  cc_.cmp(rolled.offset, chunks_ * isa_->bytes());
  cc_.jb(start);
  for (const auto& [id, inst] : parts.exports) {
    const Inst* place = place_of_id.at(id);
    for_each_register(place, [&](unsigned element, unsigned part) {
      const Mem row = rolled_row(tables, place, element, part);
      for (unsigned chunk = 0; chunk < chunks_; ++chunk)
        isa_->load(reg(place, element, chunk, part).as<Vec>(), row.cloneAdjusted(chunk * isa_->bytes()), nullptr);
    });
  }
  emit_chunks(parts.behind);
}

// The address of a load in the loop as a sum of a value and a constant. Behind the instructions of `front` the value is
// still what the sum was made of.
Emitter::RolledAddress Emitter::rolled_address(const Inst& load, std::span<const Inst* const> front) const {
  RolledAddress found{.base = lane_operand(load)};
  while (found.base->op == Op::add && found.base->operands[1]->is_const()) {
    const Inst* sum = found.base;
    const Inst* base = sum->operands[0];
    const uint64_t by = sum->operands[1]->imm;
    if (base->is_const() || (is_left_out(*base) && base->op != Op::phi)) break;
    // Only in the load's block are all values that its instructions read at hand.
    if (sum->parent != load.parent || regions_.of(base->parent) != regions_.of(load.parent)) break;
    if (lane_addresses_.is_scalar(base) && !lane_addresses_.of(base).guards.empty()) break;
    if (shapes_.bits().of(base).maximum + by > UINT32_MAX || by + static_cast<uint64_t>(found.offset) > kFarthest)
      break;
    if (classes_.is_shared(base)) {
      const Inst* place = classes_.representative(base);
      const auto writes = [&](const Inst* inst) {
        bool any = false;
        for_each_result(*inst, [&](const Inst* result) { any |= classes_.representative(result) == place; });
        return any && inst != base;
      };
      if (classes_.representative(sum) == place || classes_.rewritten_between(base, *sum, load)) break;
      if (std::any_of(front.begin(), front.end(), writes)) break;
    }
    found = {.base = base, .offset = found.offset + static_cast<int32_t>(by)};
  }
  return found;
}

// Loads whose addresses are known distances apart share a pointer. The sums that only they read are not made.
void Emitter::fold_offsets(RolledParts& parts) const {
  for (const Inst* load : parts.loop)
    if (load->op == Op::load) parts.addresses.try_emplace(lane_operand(*load), rolled_address(*load, parts.front));
  const std::unordered_set<const Inst*> in_loop(parts.loop.begin(), parts.loop.end());
  std::unordered_set<const Inst*> sums, dropped;
  for (const auto& [address, found] : parts.addresses)
    for (const Inst* sum = address; sum != found.base; sum = sum->operands[0]) sums.insert(sum);
  for (const auto& [address, found] : parts.addresses) sums.erase(found.base);
  for (size_t i = parts.front.size(); i-- > 0;) {
    const Inst* inst = parts.front[i];
    if (!sums.contains(inst) || classes_.is_shared(inst)) continue;
    const bool unread = std::all_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) {
      return dropped.contains(user) || (user->op == Op::load && in_loop.contains(user));
    });
    if (unread) dropped.insert(inst);
  }
  std::erase_if(parts.front, [&](const Inst* inst) { return dropped.contains(inst); });
}

// The rows in memory that the loop reads. Outside of the loop the operands address the first chunk's part of each row, inside of
// it the current chunk's.
std::vector<Mem> Emitter::rows_read(const RolledParts& parts) const {
  std::vector<Mem> rows;
  std::unordered_set<const Inst*> seen;
  for (const Inst* inst : parts.loop) {
    if (inst->op == Op::get_vgpr) rows.push_back(row(static_cast<unsigned>(inst->imm), 0));
    for_each_read(*inst, [&](const Inst* place) {
      const RowHome* home = row_home(place);
      if (home == nullptr || !seen.insert(place).second) return;
      for (unsigned part = 0; part < this->parts(place); ++part) rows.push_back(place_of(*home, 0, part));
    });
  }
  return rows;
}

// Finds loads of several dwords a lane that give the same values to more than one chunk. In a matrix product these are loads of
// a factor that lanes of several chunks share.
void Emitter::find_shared_loads(RolledParts& parts) const {
  unsigned registers = 0;
  std::map<const Inst*, unsigned> periods;  // by address
  for (const Inst* load : parts.loop) {
    if (load->op != Op::load || chunk_stride(*load).value_or(0) != 4 * int64_t{load->mem.count} || load->mem.count == 1)
      continue;
    bool local = true;
    for_each_result(*load, [&](const Inst* result) {
      local =
          local && !classes_.is_shared(result) && row_home(result) == nullptr && !parts.exports.contains(result->id);
    });
    const auto [found, inserted] = periods.try_emplace(lane_operand(*load));
    if (inserted) found->second = ir::lane_period(shapes_, *found->first);
    const unsigned period = std::max(1U, found->second / isa_->lanes);
    const unsigned chunks = std::max(parts.shared_chunks, period);
    if (!local || period == chunks_ || (registers + load->mem.count) * chunks * isa_->bytes() > kMaxShared) continue;
    registers += load->mem.count;
    parts.shared_chunks = chunks;
    parts.shared.push_back(load);
  }
}

// Emits the shared loads in front of the loop, once for each of the first `shared_chunks` chunks. Returns the stack rows that hold
// the loaded values.
Emitter::RolledTables Emitter::emit_shared_loads(const RolledParts& parts, const std::map<const Inst*, Mem>& pointers) {
  RolledTables tables;
  if (parts.shared.empty()) return tables;
  Rolled rolled{.offset = cc_.new_gp64(),
                .values = std::vector<Storage>(values_.size()),
                .local = {},
                .pointers = pointers,
                .loaded_pointers = {},
                .addresses = parts.addresses};
  for (const Inst* load : parts.shared)
    for_each_result(*load, [&](const Inst* result) { rolled.local.insert(result->id); });
  const std::vector<Mem> sums = on(Optimisation::prefetch) ? rows_read(parts) : std::vector<Mem>();
  size_t fetched = 0, emitted = 0;
  const Label start = cc_.new_label();
  cc_.xor_(rolled.offset.r32(), rolled.offset.r32());
  isa_->keep_tables(cc_.cursor());
  cc_.bind(start);
  rolled_ = &rolled;
  for (const Inst* load : parts.shared) {
    annotate(*load);
    for (++emitted; fetched < sums.size() * emitted / parts.shared.size(); ++fetched) cc_.prefetcht0(sums[fetched]);
    emit_chunk(*load, 0);
    for_each_result(*load, [&](const Inst* place) {
      for_each_register(place, [&](unsigned element, unsigned part) {
        const Mem row = stack_row(parts.shared_chunks * isa_->bytes());
        tables.emplace(std::tuple(place->id, element, part), row);
        Mem at = row;
        at.setIndex(rolled.offset);
        isa_->store(at, reg(place, element, 0, part).as<Vec>(), nullptr);
      });
    });
  }
  rolled_ = nullptr;
  isa_->keep_tables(nullptr);
  if (parts.shared_chunks > 1) {
    cc_.add(rolled.offset, isa_->bytes());
    cc_.cmp(rolled.offset, parts.shared_chunks * isa_->bytes());
    cc_.jb(start);
  }
  return tables;
}

// Stores the host address that `base` stands for, an offset in the LDS, for each chunk's first lane. The loop loads it.
void Emitter::store_pointers(std::map<const Inst*, Mem>& pointers, const Inst* base) {
  const auto [entry, inserted] = pointers.try_emplace(base);
  if (!inserted) return;
  entry->second = stack_row(chunks_ * isa_->bytes());
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    const Gp pointer = cc_.new_gp64();
    if (lane_addresses_.is_scalar(base)) {
      cc_.emit(I::kIdMov, pointer.r32(), lane_base(base, chunk, false));
    } else {
      isa_->low32(pointer, v32(base, chunk));
    }
    cc_.add(pointer, wave_field(offsetof(WaveState, lds_base), 8));
    Mem place = entry->second.cloneAdjusted(chunk * isa_->bytes());
    place.setSize(8);
    cc_.mov(place, pointer);
  }
}

// The pointer of the chunk of this iteration, and what the load adds to it.
std::pair<Gp, int32_t> Emitter::rolled_pointer(const Inst& load) {
  const RolledAddress& address = rolled_->addresses.at(lane_operand(load));
  const auto [entry, inserted] = rolled_->loaded_pointers.try_emplace(address.base);
  if (inserted) {
    entry->second = cc_.new_gp64();
    Mem place = rolled_->pointers.at(address.base);
    place.setIndex(rolled_->offset);
    place.setSize(8);
    cc_.mov(entry->second, place);
  }
  return {entry->second, address.offset};
}

}  // namespace wavejit::backend
