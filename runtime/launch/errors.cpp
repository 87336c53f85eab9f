#include "runtime/launch/errors.h"

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "frontend/isa/decoder.h"
#include "internal/trap_id.h"
#include "runtime/kernel/symbols.h"
#include "runtime/memory/memory_registry.h"

namespace wavejit::runtime {
namespace {

// There is no trap handler to tell, so the dispatch ends (AMDGPUUsage, "Trap Handler ABI").
Error exception_error(const LaunchState& shared, const WaveState& wave) {
  static constexpr const char* kNames[] = {"invalid operation", "input denormal", "division by zero",        "overflow",
                                           "underflow",         "inexact",        "integer division by zero"};
  std::string names;
  for (unsigned i = 0; i < std::size(kNames); ++i)
    if ((wave.trap_id >> i & 1) != 0) names += fmt::format("{}{}", names.empty() ? "" : ", ", kNames[i]);
  const std::span<const uint8_t> code = code_region(shared.module_at(wave.pc).object(), wave.pc);
  isa::Instruction inst;
  std::string what = "An instruction";
  if (!code.empty() &&
      isa::decode(shared.request.module->target(), code.subspan(wave.pc - reinterpret_cast<uint64_t>(code.data())),
                  wave.pc, inst) == isa::DecodeStatus::ok)
    what = isa::describe(inst);
  return {.code = ErrorCode::kGuestTrap,
          .message = fmt::format("Kernel '{}': {} raised an exception that MODE has trap ({}): {}.",
                                 kernel_name(shared), what, names, where(shared, wave)),
          .pc = wave.pc};
}

}  // namespace

std::string kernel_name(const LaunchState& shared) {
  return demangled(shared.request.kernel->name);
}

std::string where(const LaunchState& shared, const WaveState& wave) {
  return fmt::format("{}, work-group ({}, {}, {}), wave {}",
                     describe_place(shared.module_at(wave.pc).object(), wave.pc), wave.workgroup_id[0],
                     wave.workgroup_id[1], wave.workgroup_id[2], wave.wave_in_group);
}

Error fault_error(const LaunchState& shared, const WaveState& wave, bool address_known) {
  const bool has_lane = wave.fault_lane < kWaveSize;
  const std::string address = address_known ? fmt::format("address {:#x}", wave.fault_address)
                                            : std::string("an address beyond the host's 48 bits");
  const bool misaligned = wave.fault_misaligned != 0;
  const std::string_view act = misaligned         ? "did an atomic operation, which needs alignment,"
                               : wave.fault_write ? "wrote memory it may not access"
                                                  : "read memory it may not access";
  std::string message = fmt::format("Kernel '{}' {} at {}: {}", kernel_name(shared), act, address, where(shared, wave));
  message += has_lane ? fmt::format(", lane {}", wave.fault_lane) : std::string(", scalar access");
  const std::string near = address_known ? describe_address(wave.fault_address) : std::string();
  message += near.empty() ? "." : fmt::format("; the address is {}.", near);
  Error error{.code = ErrorCode::kGuestFault, .message = std::move(message), .pc = wave.pc};
  error.misaligned = misaligned;
  if (has_lane) error.lane = wave.fault_lane;
  if (address_known) error.address = wave.fault_address;
  return error;
}

Error trap_error(const LaunchState& shared, const WaveState& wave) {
  if (wave.trap_id >= trap_id::kException) return exception_error(shared, wave);
  return {.code = ErrorCode::kGuestTrap,
          .message = fmt::format("Kernel '{}' executed s_trap {}{}: {}.", kernel_name(shared), wave.trap_id,
                                 wave.trap_id == 2 ? " (abort or failed assertion)" : "", where(shared, wave)),
          .pc = wave.pc};
}

Error exit_error(const LaunchState& shared, const WaveState& wave, ExitReason reason) {
  if (reason == ExitReason::kFault) return fault_error(shared, wave, true);
  if (reason == ExitReason::kUnsupported || reason == ExitReason::kIllegal) {
    Error error;
    if (!shared.module_at(wave.pc).has_code_at(wave.pc)) {
      error = {.code = ErrorCode::kIllegalInstruction, .message = "Control flow left the code.", .pc = wave.pc};
    } else {
      error = shared.interpreter_at(wave.pc).describe_exit(wave);
    }
    error.message += fmt::format(" At {}.", where(shared, wave));
    if (!error.pc) error.pc = wave.pc;
    return error;
  }
  return {.code = ErrorCode::kInternal,
          .message =
              fmt::format("The engine left with reason {} at {}.", static_cast<unsigned>(reason), where(shared, wave)),
          .pc = wave.pc};
}

}  // namespace wavejit::runtime
