#include "backend-x86/host_table.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "backend-x86/host_features.h"
#include "internal/environment.h"

namespace wavejit::backend {
namespace {

constexpr HostRow kHostRows[] = {
#define WAVEJIT_HOST_ROW(name, gather8, gather16, scatter16, sampling, source) \
  {name, gather8, gather16, scatter16, sampling, source},
#include "backend-x86/host_table.def"
};
constexpr HostModels kModels[] = {
#define WAVEJIT_HOST_MODELS(vendor, family, first, last, name) {HostVendor::vendor, family, first, last, name},
#include "backend-x86/host_table.def"
};

const HostRow* find_row(std::string_view name) {
  const auto* const row = std::ranges::find(kHostRows, name, &HostRow::name);
  return row != std::end(kHostRows) ? row : nullptr;
}

bool has_slow_gathers() {
  std::string text;
  std::ifstream file("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling");
  return std::getline(file, text) && tells_of_slow_gathers(text);
}

Host find_out() {
  constexpr const char* kName = "WAVEJIT_HOST";
  Host host{.row = nullptr, .choices = {}};
  if (const std::string_view name = environment_text(kName); !name.empty()) {
    host.row = find_row(name);
    if (host.row == nullptr) {
      std::string known;
      for (const HostRow& row : kHostRows) known.append(known.empty() ? "" : ", ").append(row.name);
      std::fprintf(stderr, "wavejit: %s: '%s' is none of %s.\n", kName, std::string(name).c_str(), known.c_str());
    }
  }
  host.named = host.row != nullptr;
  if (!host.named) host.row = &find_host(host_cpu());
  host.sampling = host.row->sampling && (host.named || has_slow_gathers());
  host.choices = choose_for(*host.row, host.sampling);
  return host;
}

}  // namespace

std::span<const HostRow> host_rows() {
  return kHostRows;
}

std::span<const HostModels> host_models() {
  return kModels;
}

const HostRow& find_host(const HostCpu& cpu) {
  const auto* const models = std::ranges::find_if(kModels, [&](const HostModels& m) {
    return m.vendor == cpu.vendor && m.family == cpu.family && m.first <= cpu.model && cpu.model <= m.last;
  });
  const HostRow* const row = models != std::end(kModels) ? find_row(models->row) : nullptr;
  return row != nullptr ? *row : kHostRows[0];
}

// Measured on an Emerald Rapids (wavejit doctor --measure): 7.7 cycles of 8 loads, 22 of 16, 44 of 16 stores. An address is loaded
// from a row on the stack, then the dword, and inserted: no CPU of the table executes much more than one such pair of loads a cycle,
// nor more than one insertion.
double cycles_of_single_loads(unsigned lanes) {
  return lanes <= 8 ? 1.0 * lanes : 1.4 * lanes;
}

double cycles_of_single_stores(unsigned lanes) {
  return 2.75 * lanes;
}

// An instruction must be much slower than the code for single lanes: that is longer, and keeps the other units of the CPU busy.
HostChoices choose_for(const HostRow& row, bool sampling) {
  constexpr double kMuch = 1.5;
  return {.gather8 = !sampling && row.gather8 <= kMuch * cycles_of_single_loads(8),
          .gather16 = !sampling && row.gather16 <= kMuch * cycles_of_single_loads(16),
          .scatter16 = row.scatter16 <= kMuch * cycles_of_single_stores(16)};
}

uint32_t bits_of(const HostChoices& choices) {
  const auto& [gather8, gather16, scatter16] = choices;
  return (gather8 ? 1U : 0) | (gather16 ? 2U : 0) | (scatter16 ? 4U : 0);
}

bool tells_of_slow_gathers(std::string_view sysfs_text) {
  return sysfs_text.starts_with("Mitigation") || sysfs_text.starts_with("Unknown");
}

const Host& host() {
  static const Host found = find_out();
  return found;
}

}  // namespace wavejit::backend
