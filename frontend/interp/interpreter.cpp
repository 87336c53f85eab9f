#include "frontend/interp/interpreter.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>

#include "frontend/interp/engine.h"
#include "frontend/interp/profile_lanes.h"
#include "frontend/isa/decoder.h"
#include "frontend/isa/fidelity.h"
#include "frontend/isa/info.h"
#include "internal/check.h"
#include "internal/semantics/exceptions.h"

namespace wavejit::interp {
namespace {

Step illegal(Context& c, const Op& op) {
  return c.exit(ExitReason::kIllegal, op);
}

// The prepared instructions of one code region, by dword. Slots start out null; calloc leaves untouched pages unbacked,
// so large regions cost what is executed.
class Region {
 public:
  explicit Region(const CodeRegion& code)
      : base_(code.base),
        bytes_(code.bytes),
        slots_(static_cast<Slot*>(std::calloc(code.bytes.size() / 4 + 1, sizeof(Slot)))) {
    if (!slots_) throw std::bad_alloc();
  }
  ~Region() { std::free(slots_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  [[nodiscard]] bool contains(uint64_t pc) const { return pc - base_ < bytes_.size(); }
  [[nodiscard]] const Op* find(uint64_t pc) const { return slots_[(pc - base_) / 4].load(std::memory_order_acquire); }
  void publish(uint64_t pc, const Op* op) { slots_[(pc - base_) / 4].store(op, std::memory_order_release); }
  [[nodiscard]] std::span<const uint8_t> bytes_at(uint64_t pc) const { return bytes_.subspan(pc - base_); }

 private:
  using Slot = std::atomic<const Op*>;
  uint64_t base_;
  std::span<const uint8_t> bytes_;
  Slot* slots_;
};

class SavedMxcsr {
 public:
  SavedMxcsr() : saved_(_mm_getcsr()) {}
  ~SavedMxcsr() { _mm_setcsr(saved_); }
  SavedMxcsr(const SavedMxcsr&) = delete;
  SavedMxcsr& operator=(const SavedMxcsr&) = delete;
  [[nodiscard]] uint32_t value() const { return saved_; }

 private:
  uint32_t saved_;
};

}  // namespace

struct Interpreter::Impl {
  isa::Target target;
  bool d16_loads_clear = false;
  std::deque<Region> regions;
  std::mutex mutex;  // guards ops and arena
  std::deque<Op> ops;
  Arena arena;

  Region* region_of(uint64_t pc) {
    for (Region& r : regions)
      if (r.contains(pc)) return &r;
    return nullptr;
  }

  const Op* prepare_at(Region& region, uint64_t pc) {
    const std::lock_guard lock(mutex);
    if (const Op* op = region.find(pc); op != nullptr) return op;
    Op& op = ops.emplace_back();
    if (isa::decode(target, region.bytes_at(pc), pc, op.inst) == isa::DecodeStatus::ok) {
      prepare(op, arena);
    } else {
      op.inst.pc = pc;
      op.handler = illegal;
    }
    region.publish(pc, &op);
    return &op;
  }

  const Op* op_at(uint64_t pc) {
    Region* region = pc % 4 == 0 ? region_of(pc) : nullptr;
    if (region == nullptr) return nullptr;
    const Op* op = region->find(pc);
    return op != nullptr ? op : prepare_at(*region, pc);
  }

  void begin(Context& c, uint32_t mxcsr) const;
  // Runs until the wave leaves.
  ExitReason run(Context& c, uint64_t left);

 private:
  // Runs until the wave leaves, or to behind an instruction that may have changed MODE.vskip (then false).
  template <bool kSkipsVector, bool kRecords>
  bool run_in_mode(Context& c, uint64_t& left);
};

void Interpreter::Impl::begin(Context& c, uint32_t mxcsr) const {
  c.target = target;
  c.before_gfx9 = isa::family_of(target) < isa::Family::gfx9;
  c.d16_loads_clear = d16_loads_clear;
  c.dot2_flushes_halves = isa::family_of(target) == isa::Family::gfx90a;
  c.mxcsr_now = mxcsr;
  c.wave.engine_private[0] = kFaultScalar;
}

ExitReason Interpreter::Impl::run(Context& c, uint64_t left) {
  for (;;) {
    const bool skips = (c.wave.mode & mode::kVskip) != 0;
    const bool records = (c.wave.mode & exceptions::kRecords) != 0;
    if (skips     ? records ? run_in_mode<true, true>(c, left) : run_in_mode<true, false>(c, left)
            : records ? run_in_mode<false, true>(c, left)
                  : run_in_mode<false, false>(c, left))
      return c.wave.exit_reason;
  }
}

template <bool kSkipsVector, bool kRecords>
bool Interpreter::Impl::run_in_mode(Context& c, uint64_t& left) {
  WaveState& wave = c.wave;
  uint64_t pc = wave.pc;
  Region* region = nullptr;
  for (; left != 0; --left) {
    if (region == nullptr || !region->contains(pc)) {
      region = region_of(pc);
      if (region == nullptr || pc % 4 != 0) {
        wave.pc = pc;
        wave.exit_reason = ExitReason::kIllegal;
        return true;
      }
    }
    const Op* op = region->find(pc);
    if (op == nullptr) [[unlikely]]
      op = prepare_at(*region, pc);
    wave.pc = pc;
    Step step = Step::next;
    if (!kSkipsVector || !isa::is_vector(op->inst.opcode))
      step = kRecords && !record_exceptions(c, *op) ? Step::exit : op->handler(c, *op);
    if (step == Step::next) [[likely]] {
      pc += op->size;
    } else if (step == Step::jump) {
      pc = wave.pc;
      if (pc % 4 != 0) region = nullptr;
    } else if (step == Step::mode) {
      ++wave.instructions;
      --left;
      return false;
    } else {
      // Instructions that could not be executed are not counted.
      const ExitReason reason = wave.exit_reason;
      if (reason != ExitReason::kUnsupported && reason != ExitReason::kIllegal && reason != ExitReason::kFault)
        ++wave.instructions;
      return true;
    }
    ++wave.instructions;
  }
  wave.pc = pc;
  wave.exit_reason = ExitReason::kYield;
  return true;
}

Interpreter::Interpreter(isa::Target target, std::span<const CodeRegion> code, bool ecc_off)
    : impl_(std::make_unique<Impl>()) {
  impl_->target = target;
  impl_->d16_loads_clear = isa::d16_loads_clear(target, ecc_off);
  for (const CodeRegion& region : code) impl_->regions.emplace_back(region);
}

Interpreter::~Interpreter() = default;

ExitReason Interpreter::run(WaveState& wave, uint64_t budget) const {
  const SavedMxcsr saved;
  Context c(wave);
  impl_->begin(c, saved.value());
  return impl_->run(c, budget);
}

ExitReason Interpreter::run_counting(WaveState& wave, uint64_t budget,
                                     std::span<uint64_t, isa::kNumOpcodes> counts) const {
  for (uint64_t left = budget; left != 0; --left) {
    const Op* op = impl_->op_at(wave.pc);
    const uint64_t before = wave.instructions;
    const ExitReason reason = run(wave, 1);
    if (wave.instructions != before) counts[static_cast<unsigned>(op->inst.opcode)] += wave.instructions - before;
    if (reason != ExitReason::kYield || (op != nullptr && op->inst.opcode == isa::Opcode::s_sleep)) return reason;
  }
  return ExitReason::kYield;
}

ExitReason Interpreter::run_profiling(WaveState& wave, uint64_t budget, Profile& profile) const {
  const SavedMxcsr saved;
  Context c(wave);
  impl_->begin(c, saved.value());
  const bool has_turns = wave.polls_left != 0;
  for (uint64_t left = budget; left != 0; --left) {
    const Op* op = impl_->op_at(wave.pc);
    const uint64_t exec = wave.exec(), before = wave.instructions;
    const LdsAccess lds = op != nullptr && op->handler != illegal ? ds_access(c, *op) : LdsAccess();
    wave.engine_private[0] = kFaultScalar;
    const ExitReason reason = impl_->run(c, 1);
    if (wave.instructions == before) return reason;
    InstructionProfile& at = profile[op->inst.pc];
    at.opcode = op->inst.opcode;
    ++at.executed;
    at.lanes += static_cast<uint64_t>(std::popcount(exec));
    at.taken += reason == ExitReason::kYield && wave.pc != op->inst.next_pc();
    add_lds_access(at, exec, lds);
    add_vector_access(at, c, *op, exec);
    if (reason != ExitReason::kYield || op->inst.opcode == isa::Opcode::s_sleep) return reason;
    if (has_turns && wave.polls_left == 0) return reason;
  }
  return ExitReason::kYield;
}

Error Interpreter::describe_exit(const WaveState& wave) const {
  Error error{.code = ErrorCode::kIllegalInstruction, .message = "", .pc = wave.pc};
  Region* region = impl_->region_of(wave.pc);
  if (region == nullptr || wave.pc % 4 != 0) {
    error.message = fmt::format("The program counter {:#x} is outside the code.", wave.pc);
    return error;
  }
  isa::Instruction inst;
  const auto bytes = region->bytes_at(wave.pc);
  if (isa::decode(impl_->target, bytes, wave.pc, inst) != isa::DecodeStatus::ok) {
    std::string words;
    for (size_t i = 0; i + 4 <= bytes.size() && i < 8; i += 4) {
      uint32_t word;
      std::memcpy(&word, bytes.data() + i, 4);
      words += fmt::format(" {:#010x}", word);
    }
    error.message =
        fmt::format("No {} instruction has the encoding{} at {:#x}.", isa::to_string(impl_->target), words, wave.pc);
    return error;
  }
  error.code = ErrorCode::kUnsupported;
  error.message = isa::is_privileged(inst.opcode)
                      ? fmt::format("{} is for trap handlers only, at {:#x}.", isa::describe(inst), wave.pc)
                      : fmt::format("The interpreter does not execute {} at {:#x}.", isa::describe(inst), wave.pc);
  return error;
}

bool Interpreter::supports(isa::Opcode opcode) {
  return Registry::get()[opcode].handler != nullptr;
}

uint32_t find_fault_lane(const WaveState& wave, uint64_t address) {
  if (wave.engine_private[0] != kFaultLanes) return kWaveSize;
  const auto* addresses = reinterpret_cast<const uint64_t*>(wave.engine_private[1]);
  for (uint32_t l = 0; l < kWaveSize; ++l)
    if ((wave.engine_private[3] >> l & 1) != 0 && address - addresses[l] < wave.engine_private[2]) return l;
  return kWaveSize;
}

}  // namespace wavejit::interp
