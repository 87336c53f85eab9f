// How messages name kernels and places in guest code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "frontend/codeobject/code_object.h"

namespace wavejit::runtime {

// As the source has it: "saxpy(float, float*)" for a mangled C++ name, others as they are.
[[nodiscard]] std::string demangled(std::string_view name);

// "kernel+0x48": the function or kernel that holds the address, by its symbol.
[[nodiscard]] std::string symbolise(const codeobject::CodeObject& object, uint64_t pc);

// For messages: "saxpy(float, float*)+0x48 (pc 0x7f..., saxpy.cpp:12)", the line if the object has one.
[[nodiscard]] std::string describe_place(const codeobject::CodeObject& object, uint64_t pc);

// The executable segment that holds the address; empty if none does.
[[nodiscard]] std::span<const uint8_t> code_region(const codeobject::CodeObject& object, uint64_t pc);

}  // namespace wavejit::runtime
