#include "runtime/launch/global_sync.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace wavejit::runtime {
namespace {

using isa::Opcode;
using isa::Slot;

uint32_t* row_of(WaveState& wave, const isa::Operand& operand) {
  return operand.kind == isa::OperandKind::agpr ? wave.agpr[operand.reg] : wave.vgpr[operand.reg];
}

// "find_first_valid(vector mask)"; lane 0 if there is none, as for v_readfirstlane.
uint32_t first_active(WaveState& wave, const isa::Operand& operand) {
  const uint64_t exec = wave.exec();
  return row_of(wave, operand)[exec == 0 ? 0 : std::countr_zero(exec)];
}

}  // namespace

struct GlobalSync::Process {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned released = 0;  // waves of all devices that have not gone on yet
  uint64_t deadlocks = 0;
  std::atomic<uint32_t> running{0}, sleeping{0};  // threads
};

GlobalSync::Process& GlobalSync::process() {
  static Process& instance = *new Process;  // never destroyed: worker threads may outlive static destruction
  return instance;
}

void GlobalSync::enter() {
  process().running.fetch_add(1, std::memory_order_seq_cst);
}

void GlobalSync::leave() {
  Process& p = process();
  if (p.running.fetch_sub(1, std::memory_order_seq_cst) != 1 || p.sleeping.load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard lock(p.mutex);
  // Whoever has been released is about to run.
  if (p.running.load(std::memory_order_seq_cst) != 0 || p.released != 0) return;
  ++p.deadlocks;
  p.changed.notify_all();
}

GlobalSync::Outcome GlobalSync::execute(Launch& launch, WaveState& wave, const isa::Instruction& inst) {
  const std::lock_guard lock(process().mutex);
  if (inst.opcode == Opcode::ds_ordered_count) return ordered_count(launch, wave, inst);
  const auto number = static_cast<unsigned>((wave.sgpr[sreg::kM0] >> 16) + static_cast<uint64_t>(inst.offset));
  Resource& resource = resources_[number % kResources];
  switch (inst.opcode) {
    case Opcode::ds_gws_init:
      resource.counter = first_active(wave, inst.get(Slot::data0));
      resource.flag = false;
      return Outcome::done;
    case Opcode::ds_gws_sema_v:
      resource.is_barrier = false;
      ++resource.counter;
      release(resource);
      return Outcome::done;
    case Opcode::ds_gws_sema_br:
      resource.is_barrier = false;
      resource.counter += first_active(wave, inst.get(Slot::data0));
      release(resource);
      return Outcome::done;
    case Opcode::ds_gws_sema_release_all:
      resource.is_barrier = false;
      resource.counter = resource.queue.size();
      release(resource);
      return Outcome::done;
    case Opcode::ds_gws_sema_p:
      resource.is_barrier = false;
      if (resource.counter != 0 && resource.queue.empty()) {
        --resource.counter;
        return Outcome::done;
      }
      return enqueue(resource, launch, wave);
    case Opcode::ds_gws_barrier: {
      resource.is_barrier = true;
      if (resource.counter != 0) {
        --resource.counter;
        return enqueue(resource, launch, wave);
      }
      // The last one brings the number of the next barrier.
      resource.counter = first_active(wave, inst.get(Slot::data0));
      resource.flag = !resource.flag;
      release(resource);
      return Outcome::done;
    }
    default:
      return Outcome::unsupported;
  }
}

GlobalSync::Outcome GlobalSync::enqueue(Resource& resource, const Launch& launch, WaveState& wave) {
  if (!has_room(launch)) return Outcome::too_many;
  Waiting& entry = waiting_[&wave];
  entry = Waiting();
  entry.flag = resource.flag;
  resource.queue.push_back(&wave);
  return Outcome::waits;
}

// The manuals' "release machine".
void GlobalSync::release(Resource& resource) {
  if (resource.is_barrier) {
    std::erase_if(resource.queue, [&](const WaveState* wave) {
      if (waiting_.at(wave).flag == resource.flag) return false;
      let_go(wave);
      return true;
    });
    return;
  }
  while (resource.counter != 0 && !resource.queue.empty()) {
    --resource.counter;
    let_go(resource.queue.front());
    resource.queue.pop_front();
  }
}

void GlobalSync::let_go(const WaveState* wave) {
  waiting_.at(wave).released = true;
  ++released_;
  ++process().released;
  process().changed.notify_all();
}

// OFFSET0: the counter's byte in the GDS behind M0[31:16]. OFFSET1: bit 0 the next wave may go, bit 1 the wave has
// counted for the last time, bits 3:2 the type of shader, bits 5:4 what to do. M0[15:0]: the wave's number.
GlobalSync::Outcome GlobalSync::ordered_count(Launch& launch, WaveState& wave, const isa::Instruction& inst) {
  const auto offset1 = static_cast<uint32_t>(inst.offset) >> 8 & 0xff;
  if ((offset1 >> 4) > 1) return Outcome::unsupported;  // neither add nor exchange
  const uint32_t turn = wave.sgpr[sreg::kM0] & 0xffff;
  if (turn == launch.next_in_order) {
    count(launch, wave, inst);
    return Outcome::done;
  }
  if (!has_room(launch)) return Outcome::too_many;
  Waiting& entry = waiting_[&wave];
  entry = Waiting();
  entry.wave = &wave;
  entry.launch = &launch;
  entry.turn = turn;
  entry.inst = inst;
  return Outcome::waits;
}

// The first active lane's data counts, and all active lanes get the old value. Without active lanes nothing is added.
void GlobalSync::count(Launch& launch, WaveState& wave, const isa::Instruction& inst) {
  const uint64_t exec = wave.exec();
  const auto offset1 = static_cast<uint32_t>(inst.offset) >> 8 & 0xff;
  if (exec != 0) {
    const uint32_t data = first_active(wave, inst.get(Slot::addr));
    const uint32_t at = (wave.sgpr[sreg::kM0] >> 16) + (static_cast<uint32_t>(inst.offset) & 0xfc);
    uint32_t old = 0;
    if (at % 4 == 0 && uint64_t{at} + 4 <= wave.gds_size) {
      auto* memory = reinterpret_cast<uint32_t*>(wave.gds_base + at);
      old = (offset1 >> 4 & 3) == 0 ? __atomic_fetch_add(memory, data, __ATOMIC_SEQ_CST)
                                    : __atomic_exchange_n(memory, data, __ATOMIC_SEQ_CST);
    }
    uint32_t* result = row_of(wave, inst.get(Slot::vdst));
    for (uint64_t lanes = exec; lanes != 0; lanes &= lanes - 1) result[std::countr_zero(lanes)] = old;
  }
  if ((offset1 & 1) == 0) return;
  launch.next_in_order = (launch.next_in_order + 1) & 0xffff;
  for (auto& [other, entry] : waiting_) {
    if (entry.released || entry.launch != &launch || entry.turn != launch.next_in_order) continue;
    let_go(other);
    count(launch, *entry.wave, entry.inst);
    return;
  }
}

bool GlobalSync::is_released(const WaveState* wave) const {
  const auto found = waiting_.find(wave);
  return found != waiting_.end() && found->second.released;
}

bool GlobalSync::released(const WaveState& wave) {
  const std::lock_guard lock(process().mutex);
  if (!is_released(&wave)) return false;
  waiting_.erase(&wave);
  --released_;
  --process().released;
  return true;
}

bool GlobalSync::any_released(std::span<const WaveState* const> waves) {
  const std::lock_guard lock(process().mutex);
  return std::any_of(waves.begin(), waves.end(), [this](const WaveState* wave) { return is_released(wave); });
}

void GlobalSync::forget(std::span<const WaveState* const> waves) {
  const std::lock_guard lock(process().mutex);
  for (const WaveState* wave : waves) {
    const auto found = waiting_.find(wave);
    if (found == waiting_.end()) continue;
    released_ -= found->second.released;
    process().released -= found->second.released;
    waiting_.erase(found);
    for (Resource& resource : resources_) std::erase(resource.queue, wave);
  }
}

GlobalSync::Wake GlobalSync::wait(std::span<const WaveState* const> waves, const volatile uint32_t* stop_flag) {
  // Nobody notifies of the stop flag.
  constexpr auto kPeriod = std::chrono::milliseconds(5);
  Process& p = process();
  std::unique_lock lock(p.mutex);
  const uint64_t deadlocks = p.deadlocks;
  const auto released = [&] {
    return std::any_of(waves.begin(), waves.end(), [this](const WaveState* wave) { return is_released(wave); });
  };
  if (released()) return Wake::released;
  p.sleeping.fetch_add(1, std::memory_order_seq_cst);
  if (p.running.fetch_sub(1, std::memory_order_seq_cst) == 1 && p.released == 0) {
    ++p.deadlocks;
    p.changed.notify_all();
  }
  Wake wake = Wake::released;
  for (;;) {
    if (released()) break;
    if (p.deadlocks != deadlocks) {
      wake = Wake::deadlock;
      break;
    }
    if (__atomic_load_n(stop_flag, __ATOMIC_ACQUIRE) != 0) {
      wake = Wake::stopped;
      break;
    }
    p.changed.wait_for(lock, kPeriod);
  }
  p.running.fetch_add(1, std::memory_order_seq_cst);
  p.sleeping.fetch_sub(1, std::memory_order_seq_cst);
  return wake;
}

}  // namespace wavejit::runtime
