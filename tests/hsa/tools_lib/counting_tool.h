// What the tests ask the counting tool.
#pragma once

#include <cstdint>

// Calls of the function with this name since the last reset; UINT64_MAX if no table has it.
using CallsOf = uint64_t (*)(const char* name);
using ResetCalls = void (*)();
// Whether functions are forwarded to what was in the table before. If not they only count, and return 0.
using SetForwarding = void (*)(bool forward);
// How often OnLoad() and OnUnload() have been called, and the names of tools that had failed before.
struct ToolState {
  unsigned loads, unloads;
  uint64_t runtime_version, failed_count;
  char failed_name[256];
  uint32_t core_bytes, amd_bytes;
};
using StateOf = const ToolState* (*)();
