// The C API: the instruction set and what launches have executed of it.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/interp/interpreter.h"
#include "frontend/isa/fidelity.h"
#include "frontend/isa/info.h"
#include "frontend/lift/lifter.h"
#include "runtime/api/c_api_internal.h"

namespace isa = wavejit::isa;
using wavejit::ErrorCode;
using wavejit::runtime::guarded;
using wavejit::runtime::invalid;
using wavejit::runtime::report;
using wavejit::runtime::write_info;

const char* wavejit_fidelity_string(wavejit_fidelity fidelity) WAVEJIT_NOEXCEPT {
  switch (fidelity) {
    case WAVEJIT_FIDELITY_UNSUPPORTED:
      return "unsupported";
    case WAVEJIT_FIDELITY_BOUNDED:
      return "bounded";
    case WAVEJIT_FIDELITY_EXACT:
      return "exact";
    case WAVEJIT_FIDELITY_DECIDED:
      return "decided";
  }
  return "unknown fidelity";
}

size_t wavejit_instruction_count(void) WAVEJIT_NOEXCEPT {
  return isa::kNumOpcodes;
}

wavejit_status wavejit_instruction_get_info(size_t index, wavejit_instruction_info* info) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (index >= isa::kNumOpcodes)
      return report({.code = ErrorCode::kNotFound, .message = fmt::format("There is no instruction {}.", index)});
    const auto opcode = static_cast<isa::Opcode>(index);
    const isa::Approximation* approximation = isa::approximation_of(opcode);
    const std::string_view decision = isa::decision_of(opcode);
    const auto fidelity = [&](bool supported) {
      if (!supported || isa::info(opcode).is_graphics) return WAVEJIT_FIDELITY_UNSUPPORTED;
      if (approximation) return WAVEJIT_FIDELITY_BOUNDED;
      return decision.empty() ? WAVEJIT_FIDELITY_EXACT : WAVEJIT_FIDELITY_DECIDED;
    };
    wavejit_instruction_info value{};
    // Names in the tables are string literals.
    value.name = isa::info(opcode).name.data();
    value.format = isa::format_name(opcode).data();
    value.unit = isa::to_string(isa::unit_of(opcode)).data();
    if (approximation) {
      value.hardware = approximation->hardware.data();
      value.max_ulp = approximation->max_ulp;
      value.max_absolute = approximation->max_absolute;
    }
    value.interpreter = fidelity(wavejit::interp::Interpreter::supports(opcode));
    if (value.interpreter == WAVEJIT_FIDELITY_DECIDED) value.decision = decision.data();
    // Both tiers implement every operation that the lifter makes.
    value.avx2 = value.avx512 = fidelity(wavejit::lift::supports(static_cast<uint16_t>(index)));
    return write_info(info, value);
  });
}

int wavejit_instruction_available(size_t index, const char* target) WAVEJIT_NOEXCEPT {
  if (index >= isa::kNumOpcodes || !target) return 0;
  const auto parsed = isa::parse_target(target);
  return parsed && isa::available(static_cast<isa::Opcode>(index), *parsed) ? 1 : 0;
}

const char* wavejit_target_name(size_t index) WAVEJIT_NOEXCEPT {
  for (const isa::Target target : isa::all_targets()) {
    const auto has = [&](unsigned opcode) { return isa::available(static_cast<isa::Opcode>(opcode), target); };
    unsigned opcode = 0;
    while (opcode < isa::kNumOpcodes && !has(opcode)) ++opcode;
    if (opcode < isa::kNumOpcodes && index-- == 0) return isa::to_string(target).data();
  }
  return nullptr;
}

wavejit_report* wavejit_report_create(void) WAVEJIT_NOEXCEPT {
  return new (std::nothrow) wavejit_report;
}
void wavejit_report_destroy(wavejit_report* report) WAVEJIT_NOEXCEPT {
  delete report;
}

size_t wavejit_report_size(const wavejit_report* report) WAVEJIT_NOEXCEPT {
  if (!report) return 0;
  const std::lock_guard lock(report->mutex);
  return static_cast<size_t>(std::count_if(report->counts.begin(), report->counts.end(), [](uint64_t n) { return n; }));
}

wavejit_status wavejit_report_entry(const wavejit_report* executed, size_t index, size_t* instruction,
                                    uint64_t* count) WAVEJIT_NOEXCEPT {
  return guarded([&] {
    if (!executed || !instruction || !count) return invalid("wavejit_report_entry: NULL argument.");
    std::vector<size_t> order;
    const std::lock_guard lock(executed->mutex);
    for (size_t i = 0; i < executed->counts.size(); ++i)
      if (executed->counts[i] != 0) order.push_back(i);
    if (index >= order.size())
      return report({.code = ErrorCode::kNotFound, .message = fmt::format("The report has no entry {}.", index)});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return executed->counts[a] > executed->counts[b]; });
    *instruction = order[index];
    *count = executed->counts[order[index]];
    return WAVEJIT_OK;
  });
}
