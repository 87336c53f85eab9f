// What is known of the speed of the CPUs that code is translated for (host_table.def), and what the backend makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace wavejit::backend {

enum class HostVendor : uint8_t { other, amd, intel };

// Figures are cycles; 0: none is known, or the instruction does not exist there. host_table.def says how they are measured.
struct HostRow {
  std::string_view name;  // with a terminating zero
  double gather8, gather16, scatter16;
  bool sampling;  // gathers may have become slower by microcode (CVE-2022-40982)
  std::string_view source;
};
struct HostModels {
  HostVendor vendor;
  uint32_t family, first, last;  // models of the family, inclusive
  std::string_view row;          // HostRow::name
};
[[nodiscard]] std::span<const HostRow> host_rows();  // the first is that of unknown CPUs
[[nodiscard]] std::span<const HostModels> host_models();

struct HostCpu {
  HostVendor vendor;
  uint32_t family, model;  // of CPUID, with their extensions
};
[[nodiscard]] const HostRow& find_host(const HostCpu& cpu);

// Dwords at any addresses by one instruction, or, if false, lane by lane. Results are the same.
struct HostChoices {
  bool gather8 = true, gather16 = true, scatter16 = true;
  bool operator==(const HostChoices&) const = default;
};
[[nodiscard]] uint32_t bits_of(const HostChoices& choices);  // equal for equal choices only
// sampling: the CPU has the microcode that makes gathers slow.
[[nodiscard]] HostChoices choose_for(const HostRow& row, bool sampling);
// Cycles of a chunk's dwords accessed lane by lane, on any CPU.
[[nodiscard]] double cycles_of_single_loads(unsigned lanes);
[[nodiscard]] double cycles_of_single_stores(unsigned lanes);

// Linux's words on gather data sampling: whether gathers are slow, or may be (a guest does not know its hypervisor's microcode).
[[nodiscard]] bool tells_of_slow_gathers(std::string_view sysfs_text);

// What code is translated for: this CPU, or the row that the environment variable WAVEJIT_HOST names. Found out once in a process.
struct Host {
  const HostRow* row;
  bool named = false;     // by WAVEJIT_HOST
  bool sampling = false;  // as of choose_for(); of a named row: wherever it is possible
  HostChoices choices;
};
[[nodiscard]] const Host& host();

}  // namespace wavejit::backend
