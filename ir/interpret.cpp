#include "ir/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "internal/lane_streams.h"
#include "internal/wave_state.h"
#include "ir/fold.h"
#include "ir/matrix.h"
#include "ir/signature.h"
#include "ir/text.h"

namespace wavejit::ir {
namespace {

uint64_t scramble(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Scalars and masks are one word; vectors 64 per element, element by element.
using Value = std::vector<uint64_t>;

class Interpreter {
 public:
  Interpreter(const Function& function, uint64_t seed, MemoryModel model)
      : function_(function), seed_(seed), model_(model), values_(function.num_values()) {}

  Expected<Interpretation> run(const Block* block, uint64_t max_steps) {
    const Block* from = nullptr;
    while (block != nullptr) {
      if (result_.steps > max_steps) return make_error(ErrorCode::kTimeout, "Too many steps.");
      enter_phis(block, from);
      const Block* next = nullptr;
      for (const Inst* inst : block->insts) {
        ++result_.steps;
        if (inst->op == Op::phi) continue;
        if (is_terminator(inst->op)) {
          next = leave(block, *inst);
        } else if (!execute(*inst)) {
          return make_error(ErrorCode::kUnsupported, print(*inst) + " has no defined value.");
        }
      }
      from = block;
      block = next;
    }
    return std::move(result_);
  }

 private:
  Value& value(const Inst* inst) { return values_[inst->id]; }
  uint64_t scalar(const Inst* inst) { return value(inst).at(0); }
  // The value in a lane: the bit of a mask, the scalar for scalars.
  uint64_t in_lane(const Inst* inst, unsigned lane) {
    const Value& v = value(inst);
    if (inst->type.is_mask()) return v.at(0) >> lane & 1;
    return inst->type.is_scalar() ? v.at(0) : v.at(lane);
  }

  void enter_phis(const Block* block, const Block* from) {
    if (from == nullptr) return;
    // With two edges between the blocks both carry a value; the branch said which one is taken.
    size_t edge = 0;
    for (unsigned skip = edge_; edge < block->predecessors.size(); ++edge) {
      if (block->predecessors[edge] == from && skip-- == 0) break;
    }
    std::vector<std::pair<const Inst*, Value>> incoming;
    for (const Inst* inst : block->insts) {
      if (inst->op != Op::phi) break;
      incoming.emplace_back(inst, value(inst->operands.at(edge)));
    }
    for (auto& [inst, v] : incoming) value(inst) = std::move(v);
  }

  const Block* leave(const Block* block, const Inst& inst) {
    edge_ = 0;
    switch (inst.op) {
      case Op::br:
        return block->successors.at(0);
      case Op::cond_br: {
        const bool taken = scalar(inst.operands[0]) != 0;
        if (!taken && block->successors[0] == block->successors[1]) edge_ = 1;
        return block->successors.at(taken ? 0 : 1);
      }
      default:
        break;
    }
    const auto reason = static_cast<ExitReason>(inst.attr);
    if (inst.op == Op::exit && (reason == ExitReason::kBarrier || reason == ExitReason::kYield)) {
      // The wave goes on where it left off: in this function if that is one of its entries.
      for (const Entry& entry : function_.entries) {
        if (entry.guest_pc == inst.imm) {
          event("resume", {inst.imm});
          return entry.block;
        }
      }
    }
    // Nobody sees the registers of a wave that has ended.
    if (inst.op != Op::exit || reason != ExitReason::kEnd) {
      // Whether a register has been written with what it held makes no difference.
      for (const auto& [name, v] : state_)
        if (v != initial_state(name, v.size(), bits_of(name))) event(name, v);
    }
    for (const auto& [address, byte] : written_)
      if (address - kBuffers >= kStreamBufferBytes) event("memory", {address, byte});
    Value v{inst.attr, inst.imm, inst.imm2};
    if (inst.op == Op::exit_jump) v.push_back(scalar(inst.operands[0]));
    event(std::string(op_info(inst.op).mnemonic), v);
    return nullptr;
  }

  void memory_event(const std::string& what, const Value& v) {
    if (model_ == MemoryModel::any_store) event(what, v);
  }
  void event(const std::string& what, const Value& v) {
    std::string text = what;
    for (const uint64_t word : v) text += fmt::format(" {:x}", word);
    result_.events.push_back(std::move(text));
  }

  bool execute(const Inst& inst) {
    switch (inst.op) {
      case Op::undef:
        return false;
      case Op::get_sgpr:
        return read_state(inst, {sgpr_name(inst.imm)});
      case Op::get_sgpr64:
      case Op::get_mask: {
        const uint64_t lo = state(sgpr_name(inst.imm), 1, 32)[0];
        const uint64_t hi = state(sgpr_name(inst.imm + 1), 1, 32)[0];
        value(&inst) = {lo | hi << 32};
        return true;
      }
      case Op::get_vgpr:
      case Op::read_row:
        return read_state(inst, fmt::format("v{}", inst.imm));
      case Op::get_scc:
        return read_state(inst, "scc");
      case Op::get_vccz:
        return read_state(inst, "vccz");
      case Op::get_field:
        if (const auto it = fields_.find(inst.imm); it != fields_.end()) {
          value(&inst) = {it->second};
          return true;
        }
        return read_state(inst, fmt::format("field{}", inst.imm));
      case Op::set_sgpr:
        return write_state(sgpr_name(inst.imm), inst);
      case Op::set_sgpr64:
      case Op::set_mask: {
        const uint64_t v = scalar(inst.operands[0]);
        state_[sgpr_name(inst.imm)] = {v & 0xffffffff};
        state_[sgpr_name(inst.imm + 1)] = {v >> 32};
        return true;
      }
      case Op::set_vgpr:
      case Op::write_row:
        return write_state(fmt::format("v{}", inst.imm), inst);
      case Op::set_scc:
        return write_state("scc", inst);
      case Op::set_vccz:
        return write_state("vccz", inst);
      case Op::set_field:
        if (inst.imm == offsetof(WaveState, fault_lane)) return true;  // for the report of a fault alone
        return write_state(fmt::format("field{}", inst.imm), inst);
      case Op::load:
      case Op::store:
      case Op::atomic:
        access(inst);
        return true;
      case Op::load_edges:
      case Op::store_edges:
        access_edges(inst);
        return true;
      case Op::load_lane:
      case Op::store_lane:
        access_lane(inst);
        return true;
      case Op::lane_way:
        value(&inst) = {scramble(seed_ ^ inst.imm) & 1};
        return true;
      case Op::lane_way_end:
        return true;
      case Op::begin_streams:
        value(&inst) = {begin_streams(inst) ? 1u : 0u};
        return true;
      case Op::end_streams:
        end_streams(inst);
        return true;
      case Op::set_lanes:
        rows_[inst.imm] = value(inst.operands[0]);
        return true;
      case Op::get_lanes:
        value(&inst) = rows_[inst.imm];
        value(&inst).resize(kWaveSize);
        return true;
      case Op::set_lane:
        rows_[inst.imm].resize(kWaveSize);
        rows_[inst.imm].at(scalar(inst.operands[0])) = scalar(inst.operands[1]);
        return true;
      case Op::get_lane:
        rows_[inst.imm].resize(kWaveSize);
        value(&inst) = {rows_[inst.imm].at(scalar(inst.operands[0]))};
        return true;
      case Op::call:
        call(inst);
        return true;
      case Op::load_scalar: {
        uint64_t address = scalar(inst.operands[0]) + inst.imm;
        if (inst.operands.size() > 1) address += scalar(inst.operands[1]);
        memory_event("load_scalar", {address, inst.type.count});
        Value& v = value(&inst);
        v.clear();
        for (unsigned i = 0; i < inst.type.count; ++i) {
          const uint64_t at = address + uint64_t{4} * i;
          v.push_back(model_ == MemoryModel::bytes ? element({.bytes = 4}, at) : memory(at) & 0xffffffff);
        }
        return true;
      }
      case Op::fence:
        event("fence", {});
        return true;
      case Op::poll:
        return true;
      case Op::interrupt:
        event("interrupt", {scalar(inst.operands[0])});
        return true;
      case Op::clock:
        value(&inst) = {scramble(seed_ ^ ++epoch_)};
        return true;
      default:
        pure(inst);
        return true;
    }
  }

  static unsigned bits_of(const std::string& name) { return name == "scc" || name == "vccz" ? 1 : 32; }
  static std::string sgpr_name(uint64_t index) { return fmt::format("s{}", index); }

  Value state(const std::string& name, size_t words, unsigned bits) const {
    if (const auto it = state_.find(name); it != state_.end()) return it->second;
    return initial_state(name, words, bits);
  }
  Value initial_state(const std::string& name, size_t words, unsigned bits) const {
    const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    uint64_t x = scramble(seed_ ^ std::hash<std::string>{}(name));
    Value v;
    for (size_t i = 0; i < words; ++i) v.push_back((x = scramble(x)) & mask);
    return v;
  }
  bool read_state(const Inst& inst, const std::string& name) {
    value(&inst) = state(name, inst.type.is_vector() ? kWaveSize : 1, inst.type.bits());
    return true;
  }
  bool write_state(const std::string& name, const Inst& inst) {
    state_[name] = value(inst.operands[0]);
    return true;
  }

  uint64_t memory(uint64_t address) const {
    return scramble(scramble(address ^ seed_) + (model_ == MemoryModel::any_store ? epoch_ : 0));
  }
  void write(const MemAttr& mem, uint64_t address, uint64_t data) {
    if (model_ == MemoryModel::any_store) return;
    for (unsigned i = 0; i < mem.bytes; ++i) written_[address + i] = data >> (8 * i) & 0xff;
  }

  // As begin_streams() and end_streams() of internal/lane_streams.h, with buffers that nothing else is in.
  bool begin_streams(const Inst& inst) {
    const uint64_t lanes = scalar(inst.operands[0]);
    const Value& begins = rows_[inst.imm];
    Value order;
    for (unsigned lane = 0; lane < kWaveSize; ++lane)
      if ((lanes >> lane & 1) != 0) order.push_back(lane);
    std::ranges::stable_sort(order, {}, [&](uint64_t lane) { return begins.at(lane); });
    Value& rooms = rows_[inst.imm + 2];
    rooms.resize(kWaveSize);
    for (size_t i = 0; i < order.size(); ++i) {
      const uint64_t begin = begins[order[i]];
      rooms[order[i]] = i + 1 < order.size() ? begins[order[i + 1]] - begin : 1 + memory(begin) % 100;
      if (rooms[order[i]] == 0) return false;
    }
    if (order.empty()) return false;
    const auto set = [&](size_t offset, uint64_t value) { fields_[offset] = value; };
    const uint64_t first = begins[order[0]], last = order.back();
    set(offsetof(WaveState, stream_space_begin), first);
    set(offsetof(WaveState, stream_space_bytes), begins[last] + rooms[last] - first);
    set(offsetof(WaveState, stream_buffers), kBuffers);
    set(offsetof(WaveState, streams_in_order), std::ranges::is_sorted(order) ? 1 : 0);
    return true;
  }
  void end_streams(const Inst& inst) {
    for (unsigned lane = 0; lane < kWaveSize; ++lane) {
      if ((scalar(inst.operands[0]) >> lane & 1) == 0) continue;
      for (uint64_t i = 0; i < rows_[inst.imm + 4].at(lane); ++i)
        written_[rows_[inst.imm].at(lane) + i] = written_.at(kBuffers + (uint64_t{lane} << kStreamShift) + i);
    }
  }

  uint64_t address_of(const Inst& inst, unsigned lane) {
    const MemAttr& mem = inst.mem;
    const auto imm = static_cast<uint64_t>(mem.imm);
    const auto operand = [&](unsigned i) { return in_lane(inst.operands[i], lane); };
    switch (mem.form) {
      case AddressForm::base_offset:
        return operand(1) + operand(2) + imm;
      case AddressForm::base_only:
      case AddressForm::vector64:
      case AddressForm::lds_offset:
        return operand(1) + imm;
      case AddressForm::scratch_off:
      case AddressForm::scratch_base: {
        const uint64_t b = (mem.form == AddressForm::scratch_off ? operand(2) : 0) + imm;
        return operand(1) + (b / 4) * 256 + lane * 4 + b % 4;
      }
    }
    return 0;
  }

  void access(const Inst& inst) {
    const MemAttr& mem = inst.mem;
    const uint64_t mask = scalar(inst.operands[0]);
    const unsigned first_data = 1 + address_operands(mem.form);
    Value loaded(size_t{kWaveSize} * mem.count, 0);
    if (mask == 0 && inst.op != Op::atomic) {  // no access
      if (inst.type != kNone) value(&inst) = std::move(loaded);
      return;
    }
    Value log{static_cast<uint64_t>(mem.space), mem.bytes, mem.count, mem.sign_extend, mem.glc};
    if (inst.op == Op::atomic) log.push_back(static_cast<uint64_t>(mem.atomic_op));
    if (inst.op == Op::store && is_one_place(inst, mask)) {
      const auto last = static_cast<unsigned>(kWaveSize - 1 - std::countl_zero(mask));
      log.push_back(address_of(inst, last));
      for (unsigned i = first_data; i < inst.operands.size(); ++i) log.push_back(in_lane(inst.operands[i], last));
      memory_event("store", log);
      ++epoch_;
      for (unsigned i = first_data; i < inst.operands.size(); ++i)
        write(mem, address_of(inst, last) + (i - first_data) * mem.bytes, in_lane(inst.operands[i], last));
      return;
    }
    for (unsigned lane = 0; lane < kWaveSize; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const uint64_t address = address_of(inst, lane);
      log.push_back(lane);
      log.push_back(address);
      for (unsigned i = first_data; i < inst.operands.size(); ++i) log.push_back(in_lane(inst.operands[i], lane));
      for (unsigned element = 0; element < mem.count; ++element) {
        const uint64_t v = this->element(mem, address + element * mem.bytes);
        loaded[element * kWaveSize + lane] = mem.bytes == 8 ? v : v & 0xffffffff;
        if (inst.op == Op::store)
          write(mem, address + element * mem.bytes, in_lane(inst.operands[first_data + element], lane));
      }
    }
    memory_event(std::string(op_info(inst.op).mnemonic), log);
    if (inst.op != Op::load) ++epoch_;
    if (inst.type != kNone) value(&inst) = std::move(loaded);
  }

  // All lanes store to the same memory: what the last one stores is what counts.
  bool is_one_place(const Inst& inst, uint64_t mask) {
    if (inst.mem.space == Space::scratch) return false;
    const uint64_t address = address_of(inst, static_cast<unsigned>(std::countr_zero(mask)));
    if (inst.mem.space == Space::flat && address >> 32 == kPrivateApertureHi) return false;
    for (unsigned lane = 0; lane < kWaveSize; ++lane)
      if ((mask >> lane & 1) != 0 && address_of(inst, lane) != address) return false;
    return true;
  }

  void access_edges(const Inst& inst) {
    const bool loads = inst.op == Op::load_edges;
    const size_t count = loads ? inst.type.count : inst.operands.size() - 4;
    const uint64_t mask = scalar(inst.operands[0]), base = scalar(inst.operands[1]), limit = scalar(inst.operands[3]);
    Value loaded(kWaveSize * count, 0);
    Value log;
    for (unsigned lane = 0; lane < kWaveSize; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const uint64_t offset = in_lane(inst.operands[2], lane);
      for (size_t i = 0; i < count && offset + 4 * (i + 1) <= limit; ++i) {
        const uint64_t address = base + offset + 4 * i;
        log.insert(log.end(), {lane, address});
        if (!loads) log.push_back(in_lane(inst.operands[4 + i], lane));
        loaded[i * kWaveSize + lane] = memory(address) >> 7 & 0xffffffff;
      }
    }
    if (!log.empty()) event(std::string(op_info(inst.op).mnemonic), log);
    if (loads) value(&inst) = std::move(loaded);
    if (!loads && !log.empty()) ++epoch_;
  }

  void access_lane(const Inst& inst) {
    const MemAttr& mem = inst.mem;
    const bool loads = inst.op == Op::load_lane;
    Value loaded(mem.count, 0);
    if (scalar(inst.operands[0]) != 0) {
      const uint64_t address = scalar(inst.operands[1]) + static_cast<uint64_t>(mem.imm);
      Value log{static_cast<uint64_t>(mem.space), mem.bytes, mem.count, address};
      for (size_t i = 2; i < inst.operands.size(); ++i) log.push_back(scalar(inst.operands[i]));
      memory_event(std::string(op_info(inst.op).mnemonic), log);
      for (unsigned i = 2; i < inst.operands.size(); ++i)
        write(mem, address + (i - 2) * mem.bytes, scalar(inst.operands[i]));
      for (unsigned i = 0; i < mem.count; ++i) loaded[i] = element(mem, address + i * mem.bytes) & 0xffffffff;
      if (!loads) ++epoch_;
    }
    if (loads) value(&inst) = std::move(loaded);
  }

  uint64_t element(const MemAttr& mem, uint64_t address) const {
    uint64_t v = memory(address) >> 7;
    if (model_ == MemoryModel::bytes) {
      v = 0;
      for (unsigned i = 0; i < mem.bytes; ++i) {
        const auto it = written_.find(address + i);
        v |= (it != written_.end() ? it->second : memory(address + i) & 0xff) << (8 * i);
      }
    }
    if (mem.bytes < 8) v &= (uint64_t{1} << (8 * mem.bytes)) - 1;
    if (mem.sign_extend && mem.bytes < 4 && (v >> (8 * mem.bytes - 1)) != 0) v |= ~uint64_t{0} << (8 * mem.bytes);
    return v;
  }

  // Looks at what active lanes have, and changes memory.
  void call(const Inst& inst) {
    const uint64_t mask = scalar(inst.operands[0]);
    Value log{inst.attr, inst.imm, mask};
    for (const Inst* operand : inst.operands) {
      if (operand->type == kI32) log.push_back(scalar(operand));
      for (unsigned lane = 0; operand->type == kV32 && lane < kWaveSize; ++lane)
        if ((mask >> lane & 1) != 0) log.push_back(in_lane(operand, lane));
    }
    event("call", log);
    ++epoch_;
    if (inst.type == kNone) return;
    uint64_t seen = epoch_;
    for (const uint64_t word : log) seen = scramble(seen ^ word);
    Value results(size_t{kWaveSize} * inst.type.count, 0);
    for (size_t i = 0; i < results.size(); ++i)
      if ((mask >> (i % kWaveSize) & 1) != 0) results[i] = memory(seen + i) & 0xffffffff;
    value(&inst) = std::move(results);
  }

  // Some function of what a lane-wise operation may depend on.
  uint64_t stand_in(const Inst& original, std::span<const uint64_t> arguments) {
    Inst inst;
    inst.op = original.op;
    inst.type = original.type;
    inst.attr = original.attr;
    // The greater of a number and itself.
    const bool narrow = inst.op == Op::fmin_f32 || inst.op == Op::fmax_f32;
    if ((narrow || inst.op == Op::fmin_f64 || inst.op == Op::fmax_f64) && arguments[0] == arguments[1]) {
      inst.op = narrow ? Op::fcanon_f32 : Op::fcanon_f64;
      arguments = arguments.first(1);
    }
    const bool compare = inst.op == Op::fcmp_f16 || inst.op == Op::fcmp_f32 || inst.op == Op::fcmp_f64;
    const uint32_t attr = compare ? inst.attr & ((1u << fpenv::kFCmpShift) - 1) : inst.attr;
    uint64_t x = scramble(static_cast<uint64_t>(inst.op) << 32 | attr);
    if (compare) {
      // Two numbers are less, equal, greater or unordered: one of four cases, each a bit of the predicate. Turned
      // around, less is greater.
      const auto [low, high] = std::minmax(arguments[0], arguments[1]);
      x = scramble(scramble(x ^ low) ^ high);
      unsigned relation = x % 4;
      if (low == high) relation |= 1;  // a number equals itself
      if (arguments[0] > arguments[1] && relation % 2 == 0) relation ^= 2;
      return inst.attr >> fpenv::kFCmpShift >> relation & 1;
    }
    for (const uint64_t argument : arguments) x = scramble(x ^ argument);
    return x & (inst.type.bits() >= 64 ? ~uint64_t{0} : (uint64_t{1} << inst.type.bits()) - 1);
  }

  void pure(const Inst& inst) {
    if (cross_lane(inst)) return;
    Value& v = value(&inst);
    v.clear();
    std::vector<uint64_t> arguments(inst.operands.size());
    const auto lane_value = [&](unsigned lane) {
      for (size_t i = 0; i < arguments.size(); ++i) arguments[i] = in_lane(inst.operands[i], lane);
      const std::optional<uint64_t> known = evaluate(inst, arguments);
      return known ? *known : stand_in(inst, arguments);
    };
    const bool whole_mask = inst.op == Op::const_ || inst.op == Op::splat_mask || inst.op == Op::i64_to_mask ||
                            inst.op == Op::mask_to_i64 || inst.op == Op::mask_any || inst.op == Op::mask_all;
    if (inst.op == Op::extract) {
      const Value& tuple = value(inst.operands[0]);
      const size_t words = inst.type.is_vector() ? kWaveSize : 1;
      v.assign(tuple.begin() + static_cast<ptrdiff_t>(inst.imm * words),
               tuple.begin() + static_cast<ptrdiff_t>((inst.imm + 1) * words));
    } else if (inst.op == Op::tuple) {
      for (const Inst* operand : inst.operands) v.insert(v.end(), value(operand).begin(), value(operand).end());
    } else if (inst.op == Op::select && inst.operands[0]->type == kI1) {
      v = value(inst.operands[scalar(inst.operands[0]) != 0 ? 1 : 2]);
    } else if (inst.type.is_vector()) {
      for (unsigned lane = 0; lane < kWaveSize; ++lane) v.push_back(lane_value(lane));
    } else if (inst.type.is_mask() && !whole_mask) {
      uint64_t mask = 0;
      for (unsigned lane = 0; lane < kWaveSize; ++lane) mask |= (lane_value(lane) & 1) << lane;
      v = {mask};
    } else {
      for (size_t i = 0; i < arguments.size(); ++i) arguments[i] = scalar(inst.operands[i]);
      v = {evaluate(inst, arguments).value_or(0)};
    }
  }

  bool cross_lane(const Inst& inst) {
    const auto lane_of = [&](unsigned operand, unsigned lane) { return in_lane(inst.operands[operand], lane); };
    Value result(kWaveSize, 0);
    switch (inst.op) {
      case Op::lane_id:
        for (unsigned lane = 0; lane < kWaveSize; ++lane) result[lane] = lane;
        break;
      // Some function of the elements that a lane's result depends on.
      case Op::mfma_f32:
      case Op::mfma_f64:
      case Op::mfma_i16: {
        const MatrixForm form = MatrixForm::decode(inst.imm);
        for (unsigned lane = 0; lane < kWaveSize; ++lane) {
          std::vector<uint64_t> elements{inst.imm, lane_of(0, lane)};
          for (unsigned group = 0; group < form.groups; ++group) {
            for (unsigned row = 1; row <= form.rows; ++row) {
              elements.push_back(lane_of(row, lane_of_a(inst, lane, group)));
              elements.push_back(lane_of(form.rows + row, lane_of_b(inst, lane, group)));
            }
          }
          result[lane] = stand_in(inst, elements);
        }
        break;
      }
      case Op::mbcnt: {
        const uint64_t mask = scalar(inst.operands[0]);
        for (unsigned lane = 0; lane < kWaveSize; ++lane)
          result[lane] = std::popcount(mask & ((uint64_t{1} << lane) - 1));
        break;
      }
      case Op::readlane:
        result = {lane_of(0, scalar(inst.operands[1]) % 64)};
        break;
      case Op::readfirstlane: {
        const uint64_t mask = scalar(inst.operands[1]);
        result = {lane_of(0, mask == 0 ? 0 : static_cast<unsigned>(std::countr_zero(mask)))};
        break;
      }
      case Op::writelane:
        result = value(inst.operands[0]);
        result[scalar(inst.operands[2]) % 64] = scalar(inst.operands[1]);
        break;
      case Op::bpermute:
        for (unsigned lane = 0; lane < kWaveSize; ++lane) {
          const unsigned source = static_cast<unsigned>((lane_of(0, lane) + inst.imm) / 4 % 64);
          if (lane_of(2, source) != 0) result[lane] = lane_of(1, source);
        }
        break;
      case Op::permute:
        for (unsigned lane = 0; lane < kWaveSize; ++lane) {
          if (lane_of(2, lane) != 0) result[(lane_of(0, lane) + inst.imm) / 4 % 64] = lane_of(1, lane);
        }
        break;
      // Some movement of lanes that depends on the control word stands for all of them.
      case Op::dpp:
      case Op::swizzle:
        for (unsigned lane = 0; lane < kWaveSize; ++lane) {
          const unsigned source = static_cast<unsigned>(scramble(inst.attr) + lane * 5) % 64;
          if (lane_of(1, source) != 0) result[lane] = lane_of(0, source);
        }
        break;
      case Op::dpp_valid: {
        uint64_t mask = 0;
        for (unsigned lane = 0; lane < kWaveSize; ++lane) {
          mask |= lane_of(0, static_cast<unsigned>(scramble(inst.attr) + lane * 5) % 64) << lane;
        }
        result = {mask};
        break;
      }
      default:
        return false;
    }
    value(&inst) = std::move(result);
    return true;
  }

  static constexpr uint64_t kBuffers = uint64_t{1} << 62;

  const Function& function_;
  uint64_t seed_;
  const MemoryModel model_;
  uint64_t epoch_ = 0;
  unsigned edge_ = 0;
  std::vector<Value> values_;
  std::map<std::string, Value> state_;    // what was written
  std::map<uint64_t, Value> rows_;        // of the frame
  std::map<uint64_t, uint64_t> fields_;   // that begin_streams() has set
  std::map<uint64_t, uint64_t> written_;  // bytes by address
  Interpretation result_;
};

}  // namespace

Expected<Interpretation> interpret(const Function& function, unsigned entry, uint64_t seed, uint64_t max_steps,
                                   MemoryModel model) {
  if (entry >= function.entries.size()) return make_error(ErrorCode::kInvalidArgument, "No such entry.");
  return Interpreter(function, seed, model).run(function.entries[entry].block, max_steps);
}

}  // namespace wavejit::ir
