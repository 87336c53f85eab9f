// Running a kernel over a grid.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend-x86/compiler.h"
#include "frontend/codeobject/code_object.h"
#include "internal/error.h"
#include "runtime/kernel/dispatch_state.h"
#include "runtime/kernel/execution_profile.h"
#include "runtime/launch/device.h"
#include "runtime/launch/watchdog.h"
#include "runtime/translate/module.h"

namespace wavejit::runtime {

enum class Engine : uint8_t {
  interpreter,
  jit,     // translates before anything runs
  tiered,  // interprets while a thread of its own translates, then goes on in translated code
};

struct LaunchRequest {
  std::shared_ptr<Module> module;
  const codeobject::Kernel* kernel = nullptr;  // of `module`
  Shape shape;
  ShapeLimits shape_limits = ShapeLimits::kernel;
  uint64_t kernarg = 0;    // address of the complete kernarg segment, hidden arguments included
  uint32_t lds_bytes = 0;  // per work-group: static, argument and dynamic
  // The AQL packet and the queue (an amd_queue_t) that the kernel can look at. Without them it finds ones of the
  // engine's.
  const DispatchPacket* packet = nullptr;
  uint64_t queue = 0;
  Engine engine = Engine::interpreter;
  bool only_translates = false;              // with Engine::jit: what most waves start in; nothing is run
  backend::Tier tier = backend::Tier::avx2;  // of translated code
  std::vector<std::string> disabled_passes;  // and other optimisations: of check_switches()
  // With Engine::jit: instructions that begin elsewhere are interpreted. Waves change between the two at any instruction.
  lift::CodeRange translated_part = lift::kAllCode;
  bool count_instructions = false;   // in translated code; the interpreter alone always does
  OpcodeCounts* executed = nullptr;  // not null: filled in, by code that counts
  // With Engine::interpreter. Not null: what waves do at each instruction is added. Not to be used meanwhile.
  interp::Profile* profile = nullptr;
  uint32_t threads = 1;
  Device* device = &Device::of_process();
  uint64_t schedule = 0;  // not 0: the seed of the order in which work-groups and waves have their turns (schedule.h)
  Cancellation* cancellation = nullptr;                         // of the caller's, to end it by
  uint64_t timeout_ns = 0;                                      // 0: none
  std::function<void(uint64_t done, uint64_t total)> progress;  // see wavejit_progress_fn
  // Called from time to time, by a worker, while all work-groups of the worker seem to wait for something.
  std::function<void()> waiting;
};

struct LaunchStats {
  uint64_t wall_ns = 0;
  uint64_t translate_ns = 0;
  uint64_t guest_instructions = 0;  // executed by waves; 0 when they were not counted
  uint64_t workgroups = 0;
  uint64_t waves = 0;
  uint64_t work_items = 0;
  uint64_t host_instructions = 0;
  uint64_t interpreted_workgroups = 0;  // begun by the interpreter
  uint64_t moved_waves = 0;             // of these: from the interpreter to translated code before their end
  uint32_t translations = 0;
  uint32_t cached_translations = 0;  // taken from the disk
  uint64_t cache_ns = 0;
  uint32_t threads = 0;
  uint32_t fallbacks = 0;  // units that could not be translated and were interpreted
};

// Returns when all work-groups have ended, or with the first error: kInvalidArgument, kGuestFault, kGuestTrap,
// kTimeout, kUnsupported, kIllegalInstruction, kOutOfMemory. `stats` is filled in either way. Thread-safe.
[[nodiscard]] Expected<void> launch(const LaunchRequest& request, LaunchStats& stats);

}  // namespace wavejit::runtime
