#include "runtime/launch/group_runner.h"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "frontend/isa/decoder.h"
#include "internal/check.h"
#include "internal/trap_id.h"
#include "runtime/kernel/symbols.h"
#include "runtime/launch/errors.h"

namespace wavejit::runtime {
namespace {

using Status = WaveSlot::Status;

// Rounds in which all waves only yield, after which a work-group lets others have a turn although it gets on.
constexpr unsigned kMaxRounds = 64;
constexpr unsigned kIdleRounds = 2;  // until a work-group seems to wait for others

}  // namespace

[[gnu::always_inline]] inline bool GroupRunner::turn(WorkGroup& group, unsigned index, Round& round) {
  WaveSlot& slot = group.slots[index];
  WaveState& wave = group.arena->wave(index);
  if (slot.status == Status::at_sync && sync().released(wave)) slot.status = Status::ready;
  if (slot.status != Status::ready) {
    round.at_barrier += slot.status == Status::at_barrier;
    round.at_sync += slot.status == Status::at_sync;
    return true;
  }
  ++round.ready;
  const ExitReason reason = waves_.run(*group.arena, wave, slot);
  if (shared_.watch.stopping()) return false;
  switch (reason) {
    case ExitReason::kEnd:
      slot.status = Status::ended;
      return true;
    case ExitReason::kBarrier:
      slot.status = Status::at_barrier;
      ++round.arrived;
      return true;
    case ExitReason::kYield:
      ++round.yielded;
      round.idle += slot.idle;
      return true;
    case ExitReason::kTrap:
      ++round.trapped;
      slot.arrival = TranslationCache::Arrival::jump;
      if (wave.trap_id == trap_id::kGlobalSync) return synchronise(wave, slot);
      if (wave.trap_id != trap_id::kDebugTrap) return end_with(trap_error(shared_, wave)), false;
      wave.pc += 4;
      return true;
    default:
      return fail(wave, reason), false;
  }
}

// Waves that have ended do not take part in barriers (Vega ISA manual, S_BARRIER). Behind a barrier the first wave's turn is
// last (docs/design/runtime.md, "Order of waves").
GroupRunner::Progress GroupRunner::run(WorkGroup& group, bool resumed) {
  unsigned first = 0, idle_rounds = resumed, rounds = 0;
  waves_.set_alone(false);
  const bool drawn = shared_.schedule.is_drawn();
  std::array<uint8_t, kMaxWavesPerGroup> order;
  if (drawn) std::iota(order.begin(), order.end(), uint8_t{0});
  for (;;) {
    Round round;
    if (drawn) waves_.draw().shuffle(std::span(order.data(), group.count));
    for (unsigned next = first, left = group.count; left != 0; --left, ++next) {
      if (next == group.count) next = 0;
      if (!turn(group, drawn ? order[next] : next, round)) return Progress::ended;
    }
    if (round.ready != 0 && drawn && waves_.draw().below(4) == 0 && others_.could_go_on()) return Progress::waits;
    // Whether nobody would have a turn in the next round, nor others in a drawn order.
    const bool none_left = !drawn && round.yielded == 0 && round.trapped == 0 && round.at_sync == 0;
    if (round.ready == 0 || none_left) {
      if (round.at_sync != 0) return others_.call(), Progress::waits;
      if (round.at_barrier + round.arrived == 0) return Progress::ended;
      for (unsigned i = 0; i < group.count; ++i)
        if (group.slots[i].status == Status::at_barrier) group.slots[i].status = Status::ready;
      first = group.count > 1;
    } else if (round.yielded == round.ready) {
      // They may be waiting for a work-group that has not begun, is set aside, or is on another thread.
      others_.call();
      idle_rounds = round.idle == round.ready ? idle_rounds + 1 : 0;
      if (round.idle != round.ready) patience_.note_change();
      if ((idle_rounds >= kIdleRounds || ++rounds >= kMaxRounds) && others_.could_go_on()) return Progress::waits;
      waves_.set_alone(round.ready == 1 && !others_.could_go_on());
      if (idle_rounds >= kIdleRounds) patience_.wait_a_moment();
      continue;
    }
    rounds = idle_rounds = 0;
    patience_.note_change();
    waves_.set_alone(false);
  }
}

// A wave at an instruction of GlobalSync. False: it cannot be executed, which is reported.
bool GroupRunner::synchronise(WaveState& wave, WaveSlot& slot) {
  const std::span<const uint8_t> code = code_region(shared_.module_at(wave.pc).object(), wave.pc);
  isa::Instruction inst;
  const auto offset = static_cast<size_t>(wave.pc - reinterpret_cast<uint64_t>(code.data()));
  WAVEJIT_CHECK(!code.empty() && isa::decode(shared_.request.module->target(), code.subspan(offset), wave.pc, inst) ==
                                     isa::DecodeStatus::ok);
  switch (sync().execute(shared_.sync, wave, inst)) {
    case GlobalSync::Outcome::done:
      break;
    case GlobalSync::Outcome::waits:
      slot.status = Status::at_sync;
      break;
    case GlobalSync::Outcome::unsupported:
      return fail(wave, ExitReason::kUnsupported), false;
    case GlobalSync::Outcome::too_many:
      shared_.fail({.code = ErrorCode::kTimeout,
                    .message = fmt::format("Kernel '{}' cannot end: more than {} waves wait for each other, which is "
                                           "more than a device holds at a time, at {} in {}.",
                                           kernel_name(shared_), shared_.request.device->waves(), isa::describe(inst),
                                           where(shared_, wave)),
                    .pc = wave.pc});
      return false;
  }
  wave.pc = inst.next_pc();
  return true;
}

void GroupRunner::fail(const WaveState& wave, ExitReason reason) {
  if (!shared_.watch.stopping()) end_with(exit_error(shared_, wave, reason));
}

void GroupRunner::end_with(Error error) {
  waves_.restore_mxcsr();
  shared_.fail(std::move(error));
}

}  // namespace wavejit::runtime
