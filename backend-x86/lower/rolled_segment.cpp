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
#include "backend-x86/lower/rolled_segment.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

#include "backend-x86/lower/matrix/matrix_rows.h"
#include "backend-x86/lower/memory/lane_address_code.h"
#include "backend-x86/lower/operations.h"
#include "backend-x86/lower/plans/divisions.h"
#include "backend-x86/lower/plans/idle_halves.h"
#include "backend-x86/lower/plans/prefetches.h"
#include "backend-x86/lower/plans/row_homes.h"
#include "backend-x86/lower/plans/ternary_logic.h"
#include "backend-x86/lower/plans/walks.h"
#include "backend-x86/lower/row_homes.h"
#include "backend-x86/lower/segment.h"
#include "backend-x86/lower/segment_order.h"
#include "backend-x86/lower/segment_values.h"
#include "backend-x86/lower/vector/simple_forms.h"
#include "backend-x86/lower/vector/vector_float16.h"
#include "ir/analysis/lane_period.h"
#include "ir/matrix.h"

namespace wavejit::backend {
namespace {

using RolledTables = std::map<std::tuple<uint32_t, unsigned, unsigned>, Mem>;  // by value, element and part

// Host instructions of all chunks, about, from which the loop pays for its tables.
constexpr size_t kMinInstructions = 800;
// One in so many of them may be of a register that goes through a table.
constexpr size_t kMaxCopied = 8;
// What loads add to a pointer at most.
constexpr uint64_t kFarthest = 1 << 20;
// Bytes of what chunks have in common, at most, so that it stays in the first-level cache beside the sums.
constexpr unsigned kMaxShared = 12 << 10;

// Whether a chunk's code differs from another one's by registers, addresses of rows and the pointer of the access only.
bool is_rollable(const Lowering& ctx, const Inst& inst) {
  if (ctx.is_invariant(&inst) || ctx.lane_addresses.is_scalar(&inst) || !ctx.idle->is_wanted_whole(&inst)) return false;
  if (ctx.matrix_rows->made.contains(&inst)) return false;
  if (ctx.ternaries->trees.contains(inst.id) || ctx.divisions->steps.contains(inst.id)) return false;
  const auto plain = [&](const Inst* operand) {
    if (operand->op == Op::lane_id) return false;
    if (operand->type.is_mask() || operand->type.is_scalar() || ctx.lane_addresses.is_scalar(operand)) return false;
    return operand->op == Op::phi || !ctx.is_left_out(*operand) || is_rollable(ctx, *operand);
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
      return is_rollable_load(ctx, inst);
    default: {
      const SimpleForm* form = find_simple_form(inst);
      if (form == nullptr || (ctx.options.tier == Tier::avx512 ? form->avx512 : form->avx2) == I::kIdNone) return false;
      return all_plain();
    }
  }
}

}  // namespace

bool is_rollable_load(const Lowering& ctx, const Inst& load) {
  const ir::MemAttr& mem = load.mem;
  if (mem.form != ir::AddressForm::lds_offset || mem.bytes != 4) return false;
  if (!is_full(load.operands[0]) || (mem.glc && mem.count > 1)) return false;
  if (ctx.prefetches->streams.contains(&load) || ctx.prefetches->advances.contains(&load) ||
      ctx.walks->loads.contains(load.id))
    return false;
  const std::optional<int64_t> stride = chunk_stride(ctx, load);
  if (!stride) return false;
  if (*stride == 0 || *stride == 4) return true;
  return *stride == 4 * mem.count && mem.count <= 4 && ctx.isa->can_interleave(mem.count) &&
         ctx.on(Optimisation::interleaved);
}

std::optional<int64_t> chunk_stride(const Lowering& ctx, const Inst& load) {
  const Inst* address = lane_operand(load);
  const unsigned wrap_free = ctx.shapes.extended(address, false).group;
  if (ctx.lane_addresses.serves(load)) {
    const LaneAddress& fact = ctx.lane_addresses.of(address);
    const bool good =
        fact.guards.empty() && (fact.stride == 0 || wrap_free >= (fact.wave ? kWaveSize : ctx.isa->lanes));
    return good ? std::optional(fact.stride) : std::nullopt;
  }
  const ir::LaneShape shape = ctx.shapes.of(address);
  if (!ctx.on(Optimisation::known_strides) || address->is_const() || address->op == Op::lane_id) return std::nullopt;
  if (shape.group < ctx.isa->lanes || (shape.stride != 0 && wrap_free < ctx.isa->lanes)) return std::nullopt;
  return shape.stride;
}

namespace {

// The address of a load in the loop as a sum of a value and a constant. Behind the instructions of `front` the value is
// still what the sum was made of.
RolledAddress rolled_address(const Lowering& ctx, const Inst& load, std::span<const Inst* const> front) {
  RolledAddress found{.base = lane_operand(load)};
  while (found.base->op == Op::add && found.base->operands[1]->is_const()) {
    const Inst* sum = found.base;
    const Inst* base = sum->operands[0];
    const uint64_t by = sum->operands[1]->imm;
    if (base->is_const() || (ctx.is_left_out(*base) && base->op != Op::phi)) break;
    // Only in the load's block are all values that its instructions read at hand.
    if (sum->parent != load.parent || ctx.regions.of(base->parent) != ctx.regions.of(load.parent)) break;
    if (ctx.lane_addresses.is_scalar(base) && !ctx.lane_addresses.of(base).guards.empty()) break;
    if (ctx.shapes.bits().of(base).maximum + by > UINT32_MAX || by + static_cast<uint64_t>(found.offset) > kFarthest)
      break;
    if (ctx.classes.is_shared(base)) {
      const Inst* place = ctx.classes.representative(base);
      const auto writes = [&](const Inst* inst) {
        bool any = false;
        for_each_result(ctx, *inst, [&](const Inst* result) { any |= ctx.classes.representative(result) == place; });
        return any && inst != base;
      };
      if (ctx.classes.representative(sum) == place || ctx.classes.rewritten_between(base, *sum, load)) break;
      if (std::any_of(front.begin(), front.end(), writes)) break;
    }
    found = {.base = base, .offset = found.offset + static_cast<int32_t>(by)};
  }
  return found;
}

// Loads whose addresses are known distances apart share a pointer. The sums that only they read are not made.
void fold_offsets(const Lowering& ctx, RolledParts& parts) {
  for (const Inst* load : parts.loop)
    if (load->op == Op::load) parts.addresses.try_emplace(lane_operand(*load), rolled_address(ctx, *load, parts.front));
  const std::unordered_set<const Inst*> in_loop(parts.loop.begin(), parts.loop.end());
  std::unordered_set<const Inst*> sums, dropped;
  for (const auto& [address, found] : parts.addresses)
    for (const Inst* sum = address; sum != found.base; sum = sum->operands[0]) sums.insert(sum);
  for (const auto& [address, found] : parts.addresses) sums.erase(found.base);
  for (size_t i = parts.front.size(); i-- > 0;) {
    const Inst* inst = parts.front[i];
    if (!sums.contains(inst) || ctx.classes.is_shared(inst)) continue;
    const bool unread = std::all_of(inst->users.begin(), inst->users.end(), [&](const Inst* user) {
      return dropped.contains(user) || (user->op == Op::load && in_loop.contains(user));
    });
    if (unread) dropped.insert(inst);
  }
  std::erase_if(parts.front, [&](const Inst* inst) { return dropped.contains(inst); });
}

// Finds loads of several dwords a lane that give the same values to more than one chunk. In a matrix product these are loads of
// a factor that lanes of several chunks share.
void find_shared_loads(const Lowering& ctx, RolledParts& parts) {
  unsigned registers = 0;
  std::map<const Inst*, unsigned> periods;  // by address
  for (const Inst* load : parts.loop) {
    if (load->op != Op::load || chunk_stride(ctx, *load).value_or(0) != 4 * int64_t{load->mem.count} ||
        load->mem.count == 1)
      continue;
    bool local = true;
    for_each_result(ctx, *load, [&](const Inst* result) {
      local = local && !ctx.classes.is_shared(result) && row_home(ctx, result) == nullptr &&
              !parts.exports.contains(result->id);
    });
    const auto [found, inserted] = periods.try_emplace(lane_operand(*load));
    if (inserted) found->second = ir::lane_period(ctx.shapes, *found->first);
    const unsigned period = std::max(1U, found->second / ctx.isa->lanes);
    const unsigned chunks = std::max(parts.shared_chunks, period);
    if (!local || period == ctx.chunks || (registers + load->mem.count) * chunks * ctx.isa->bytes() > kMaxShared)
      continue;
    registers += load->mem.count;
    parts.shared_chunks = chunks;
    parts.shared.push_back(load);
  }
}

}  // namespace

std::optional<RolledParts> rolled_parts(const Lowering& ctx, std::span<const schedule::Node> nodes,
                                        std::span<const uint32_t> order) {
  if (ctx.pass != nullptr || !ctx.on(Optimisation::rolled_segments)) return std::nullopt;
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
      const bool stores = ctx.segment->insts[b]->op == Op::store || ctx.segment->insts[b]->op == Op::store_edges;
      if (addressing[i] || (ctx.segment->insts[i]->op == Op::load && (wanted[i] || !stores))) addressing[b] = true;
    }
  }
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const bool after_loop =
        std::any_of(nodes[i].before.begin(), nodes[i].before.end(), [&](uint32_t b) { return part[b] != Part::front; });
    const bool after_behind = std::any_of(nodes[i].before.begin(), nodes[i].before.end(),
                                          [&](uint32_t b) { return part[b] == Part::behind; });
    if (!after_behind && !addressing[i] && (wanted[i] || after_loop) && is_rollable(ctx, *ctx.segment->insts[i])) {
      part[i] = Part::loop;
      host_instructions += std::max(1U, nodes[i].registers);
    } else if (after_loop) {
      part[i] = Part::behind;
    }
  }
  if (host_instructions * ctx.chunks < kMinInstructions) return std::nullopt;

  RolledParts parts;
  std::vector<bool> placed(nodes.size());
  for (const uint32_t i : order) {
    const Inst* inst = ctx.segment->insts[i];
    if (part[i] != Part::loop && placed[i]) continue;
    placed[i] = true;
    (part[i] == Part::front ? parts.front : part[i] == Part::loop ? parts.loop : parts.behind).push_back(inst);
  }
  std::unordered_set<const Inst*> in_loop(parts.loop.begin(), parts.loop.end());
  for (const Inst* inst : parts.loop) for_each_result(ctx, *inst, [&](const Inst* result) { in_loop.insert(result); });
  std::unordered_set<uint32_t> written;
  size_t copied = 0;  // registers
  for (const Inst* inst : parts.loop) {
    if (inst->op != Op::load)
      for_each_read(ctx, *inst, [&](const Inst* place) {
        const bool vector = place->type.is_vector() && !place->is_const() && place->op != Op::undef;
        if (!vector || ctx.is_invariant(place) || ctx.lane_addresses.is_scalar(place)) return;
        parts.local.insert(place->id);
        if (written.contains(place->id) || row_home(ctx, place) != nullptr || !parts.imports.insert(place->id).second)
          return;
        copied += place->type.count * ctx.parts(place);
      });
    for_each_result(ctx, *inst, [&](const Inst* result) {
      if (!result->type.is_vector() || (result->op == Op::extract && !ctx.classes.is_shared(result))) return;
      const Inst* place = ctx.classes.representative(result);
      written.insert(place->id);
      parts.local.insert(place->id);
      if (row_home(ctx, place) != nullptr) return;
      // A tuple's elements are its own registers, whoever reads them.
      const std::function<bool(const Inst*)> read_in_loop = [&](const Inst* user) {
        if (user->op == Op::extract && !ctx.classes.is_shared(user))
          return std::all_of(user->users.begin(), user->users.end(), read_in_loop);
        if (in_loop.contains(user)) return true;
        return user->op != Op::phi && ctx.is_left_out(*user) && !user->users.empty() &&
               std::all_of(user->users.begin(), user->users.end(), read_in_loop);
      };
      if (ctx.classes.is_shared(result) || !std::all_of(result->users.begin(), result->users.end(), read_in_loop)) {
        copied += parts.exports.emplace(place->id, result).second ? place->type.count * ctx.parts(place) : 0;
        parts.exports[place->id] = result;
      }
    });
  }
  if (copied * kMaxCopied > host_instructions) return std::nullopt;
  fold_offsets(ctx, parts);
  if (ctx.on(Optimisation::shared_loads)) find_shared_loads(ctx, parts);
  return parts;
}

namespace {

// A row of the table that has a register of the place for each chunk.
Mem rolled_row(Lowering& ctx, RolledTables& tables, const Inst* place, unsigned element, unsigned part) {
  const auto [entry, inserted] = tables.try_emplace({place->id, element, part});
  if (inserted) entry->second = ctx.stack_row(ctx.chunks * ctx.isa->bytes());
  return entry->second;
}

void for_each_register(const Lowering& ctx, const Inst* place,
                       const std::function<void(unsigned element, unsigned part)>& visit) {
  for (unsigned element = 0; element < place->type.count; ++element)
    for (unsigned part = 0; part < ctx.parts(place); ++part) visit(element, part);
}

// Stores the host address that `base` stands for, an offset in the LDS, for each chunk's first lane. The loop loads it.
void store_pointers(Lowering& ctx, std::map<const Inst*, Mem>& pointers, const Inst* base) {
  const auto [entry, inserted] = pointers.try_emplace(base);
  if (!inserted) return;
  entry->second = ctx.stack_row(ctx.chunks * ctx.isa->bytes());
  for (unsigned chunk = 0; chunk < ctx.chunks; ++chunk) {
    const Gp pointer = ctx.cc.new_gp64();
    if (ctx.lane_addresses.is_scalar(base)) {
      ctx.cc.emit(I::kIdMov, pointer.r32(), lane_base(ctx, base, chunk, false));
    } else {
      ctx.isa->low32(pointer, ctx.v32(base, chunk));
    }
    ctx.cc.add(pointer, ctx.wave_field(offsetof(WaveState, lds_base), 8));
    Mem place = entry->second.cloneAdjusted(chunk * ctx.isa->bytes());
    place.setSize(8);
    ctx.cc.mov(place, pointer);
  }
}

// The rows in memory that the loop reads. Outside of the loop the operands address the first chunk's part of each row, inside of
// it the current chunk's.
std::vector<Mem> rows_read(const Lowering& ctx, const RolledParts& parts) {
  std::vector<Mem> rows;
  std::unordered_set<const Inst*> seen;
  for (const Inst* inst : parts.loop) {
    if (inst->op == Op::get_vgpr) rows.push_back(ctx.row(static_cast<unsigned>(inst->imm), 0));
    for_each_read(ctx, *inst, [&](const Inst* place) {
      const RowHome* home = row_home(ctx, place);
      if (home == nullptr || !seen.insert(place).second) return;
      for (unsigned part = 0; part < ctx.parts(place); ++part) rows.push_back(place_of(ctx, *home, 0, part));
    });
  }
  return rows;
}

// Emits the shared loads in front of the loop, once for each of the first `shared_chunks` chunks. Returns the stack rows that hold
// the loaded values.
RolledTables emit_shared_loads(Lowering& ctx, const RolledParts& parts, const std::map<const Inst*, Mem>& pointers) {
  RolledTables tables;
  if (parts.shared.empty()) return tables;
  Rolled rolled{.offset = ctx.cc.new_gp64(),
                .values = std::vector<Storage>(ctx.values.size()),
                .local = {},
                .pointers = pointers,
                .loaded_pointers = {},
                .addresses = parts.addresses};
  for (const Inst* load : parts.shared)
    for_each_result(ctx, *load, [&](const Inst* result) { rolled.local.insert(result->id); });
  const std::vector<Mem> sums = ctx.on(Optimisation::prefetch) ? rows_read(ctx, parts) : std::vector<Mem>();
  size_t fetched = 0, emitted = 0;
  const Label start = ctx.cc.new_label();
  ctx.cc.xor_(rolled.offset.r32(), rolled.offset.r32());
  ctx.isa->keep_tables(ctx.cc.cursor());
  ctx.cc.bind(start);
  ctx.rolled = &rolled;
  for (const Inst* load : parts.shared) {
    ctx.annotate(*load);
    for (++emitted; fetched < sums.size() * emitted / parts.shared.size(); ++fetched) ctx.cc.prefetcht0(sums[fetched]);
    emit_chunk(ctx, *load, 0);
    for_each_result(ctx, *load, [&](const Inst* place) {
      for_each_register(ctx, place, [&](unsigned element, unsigned part) {
        const Mem row = ctx.stack_row(parts.shared_chunks * ctx.isa->bytes());
        tables.emplace(std::tuple(place->id, element, part), row);
        Mem at = row;
        at.setIndex(rolled.offset);
        ctx.isa->store(at, ctx.reg(place, element, 0, part).as<Vec>(), nullptr);
      });
    });
  }
  ctx.rolled = nullptr;
  ctx.isa->keep_tables(nullptr);
  if (parts.shared_chunks > 1) {
    ctx.cc.add(rolled.offset, ctx.isa->bytes());
    ctx.cc.cmp(rolled.offset, parts.shared_chunks * ctx.isa->bytes());
    ctx.cc.jb(start);
  }
  return tables;
}

}  // namespace

void emit_rolled(Lowering& ctx, const RolledParts& parts) {
  emit_chunks(ctx, parts.front);
  if (ctx.error) return;
  RolledTables tables;
  std::unordered_map<uint32_t, const Inst*> place_of_id;
  for (const Inst* inst : parts.loop) {
    for_each_read(ctx, *inst, [&](const Inst* place) { place_of_id[place->id] = place; });
    for_each_result(ctx, *inst, [&](const Inst* result) {
      const Inst* place = ctx.classes.representative(result);
      place_of_id[place->id] = place;
    });
  }
  for (const uint32_t id : parts.imports) {
    const Inst* place = place_of_id.at(id);
    for_each_register(ctx, place, [&](unsigned element, unsigned part) {
      const Mem row = rolled_row(ctx, tables, place, element, part);
      for (unsigned chunk = 0; chunk < ctx.chunks; ++chunk)
        ctx.isa->store(row.cloneAdjusted(chunk * ctx.isa->bytes()), ctx.reg(place, element, chunk, part).as<Vec>(),
                       nullptr);
    });
  }
  std::map<const Inst*, Mem> pointers;
  for (const Inst* inst : parts.loop)
    if (inst->op == Op::load) store_pointers(ctx, pointers, parts.addresses.at(lane_operand(*inst)).base);

  RolledTables shared = emit_shared_loads(ctx, parts, pointers);
  const std::unordered_set<const Inst*> loaded_in_front(parts.shared.begin(), parts.shared.end());
  Rolled rolled{.offset = ctx.cc.new_gp64(),
                .values = std::vector<Storage>(ctx.values.size()),
                .local = parts.local,
                .pointers = std::move(pointers),
                .loaded_pointers = {},
                .addresses = parts.addresses};
  const Label start = ctx.cc.new_label();
  ctx.reused->uniform_pointers.clear();
  ctx.cc.xor_(rolled.offset.r32(), rolled.offset.r32());
  ctx.isa->keep_tables(ctx.cc.cursor());
  ctx.cc.bind(start);
  ctx.rolled = &rolled;
  begin_shared_halves(ctx, parts.loop);
  const auto at = [&](const Mem& row) {
    Mem m = row;
    m.setIndex(rolled.offset);
    return m;
  };
  Gp shared_offset;  // of the chunk whose loads this one shares
  if (parts.shared_chunks > 1) {
    shared_offset = ctx.cc.new_gp64();
    ctx.cc.mov(shared_offset, rolled.offset);
    ctx.cc.and_(shared_offset, (parts.shared_chunks - 1) * ctx.isa->bytes());
  }
  const auto import_shared = [&](const Inst& load) {
    for_each_result(ctx, load, [&](const Inst* place) {
      for_each_register(ctx, place, [&](unsigned element, unsigned part) {
        Mem row = shared.at({place->id, element, part});
        if (shared_offset.isValid()) row.setIndex(shared_offset);
        ctx.isa->load(ctx.reg(place, element, 0, part).as<Vec>(), row, nullptr);
      });
    });
  };
  std::unordered_set<uint32_t> there;
  const auto import = [&](const Inst* place) {
    if (!parts.imports.contains(place->id) || !there.insert(place->id).second) return;
    for_each_register(ctx, place, [&](unsigned element, unsigned part) {
      ctx.isa->load(ctx.reg(place, element, 0, part).as<Vec>(), at(rolled_row(ctx, tables, place, element, part)),
                    nullptr);
    });
  };
  const std::vector<Mem> rows = ctx.on(Optimisation::prefetch) ? rows_read(ctx, parts) : std::vector<Mem>();
  size_t fetched = 0, emitted = 0;
  for (const Inst* inst : parts.loop) {
    if (ctx.error) break;
    ctx.annotate(*inst);
    // The next chunk's sums, evenly between the instructions of this one: those of all waves are too many for the first-level
    // cache.
    for (++emitted; fetched < rows.size() * emitted / parts.loop.size(); ++fetched)
      ctx.cc.prefetcht0(rows[fetched].cloneAdjusted(ctx.isa->bytes() << rows[fetched].shift()));
    if (loaded_in_front.contains(inst)) {
      import_shared(*inst);
      continue;
    }
    for_each_read(ctx, *inst, import);
    emit_chunk(ctx, *inst, 0);
    store_home(ctx, *inst, 0);
    for_each_result(ctx, *inst, [&](const Inst* result) {
      const Inst* place = ctx.classes.representative(result);
      const auto exported = parts.exports.find(place->id);
      if (exported == parts.exports.end() || exported->second != result) return;
      for_each_register(ctx, place, [&](unsigned element, unsigned part) {
        ctx.isa->store(at(rolled_row(ctx, tables, place, element, part)), ctx.reg(place, element, 0, part).as<Vec>(),
                       nullptr);
      });
    });
  }
  ctx.rolled = nullptr;
  *ctx.halves = {};
  ctx.isa->keep_tables(nullptr);
  ctx.reused->uniform_pointers.clear();
  ctx.cc.add(rolled.offset, ctx.isa->bytes());
  ctx.cc.cmp(rolled.offset, ctx.chunks * ctx.isa->bytes());
  ctx.cc.jb(start);
  for (const auto& [id, inst] : parts.exports) {
    const Inst* place = place_of_id.at(id);
    for_each_register(ctx, place, [&](unsigned element, unsigned part) {
      const Mem row = rolled_row(ctx, tables, place, element, part);
      for (unsigned chunk = 0; chunk < ctx.chunks; ++chunk)
        ctx.isa->load(ctx.reg(place, element, chunk, part).as<Vec>(), row.cloneAdjusted(chunk * ctx.isa->bytes()),
                      nullptr);
    });
  }
  emit_chunks(ctx, parts.behind);
}

std::pair<Gp, int32_t> rolled_pointer(Lowering& ctx, const Inst& load) {
  const RolledAddress& address = ctx.rolled->addresses.at(lane_operand(load));
  const auto [entry, inserted] = ctx.rolled->loaded_pointers.try_emplace(address.base);
  if (inserted) {
    entry->second = ctx.cc.new_gp64();
    Mem place = ctx.rolled->pointers.at(address.base);
    place.setIndex(ctx.rolled->offset);
    place.setSize(8);
    ctx.cc.mov(entry->second, place);
  }
  return {entry->second, address.offset};
}

}  // namespace wavejit::backend
