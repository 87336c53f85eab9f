// Cases of *.isa files (isa_file.h) as machine code and state before, for the tests that run them.
#pragma once

#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "backend-x86/compiler.h"
#include "internal/error.h"
#include "internal/wave_state.h"
#include "tests/isa/isa_file.h"

namespace wavejit::test {

inline constexpr uint32_t kLdsBytes = 4096;
inline constexpr uint32_t kMemoryBytes = 65536;

// The processors that cases run on.
inline constexpr isa::Target kIsaTargets[] = {
#define WAVEJIT_REPRESENTATIVE(name) isa::Target::name,
#include "frontend/isa/tables/representatives.def"
#undef WAVEJIT_REPRESENTATIVE
};

// The files of a folder and those below it. Those that stand in one folder are assembled and run together; the key is
// the folder's name, or the file's.
[[nodiscard]] std::map<std::string, std::vector<std::string>> isa_files(const std::string& directory);

// Machine code of each case, from one run of the assembler.
[[nodiscard]] Expected<std::vector<std::vector<uint8_t>>> assemble_all(isa::Target target,
                                                                       const std::vector<const IsaCase*>& cases);

// The case as `target` runs it. GFX942 runs the cases of GFX90A, too, if it has all their instructions, with its names
// for what it calls otherwise. Nothing for a case that it cannot run.
[[nodiscard]] std::optional<IsaCase> case_of(const IsaCase& c, isa::Target target);

// Images start at multiples of 256 bytes.
inline constexpr size_t kPage = 256;
template <typename T>
struct PageAllocator {
  using value_type = T;
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{kPage})); }
  void deallocate(T* memory, size_t) { ::operator delete(memory, std::align_val_t{kPage}); }
  bool operator==(const PageAllocator&) const = default;
};
using Bytes = std::vector<uint8_t, PageAllocator<uint8_t>>;

// Global memory and LDS of a case.
struct Memory {
  Bytes global = Bytes(kMemoryBytes);
  Bytes lds = Bytes(kLdsBytes + backend::kLdsSlack);
};

// Every engine works on this buffer, so that addresses are the same in all of them.
[[nodiscard]] Bytes& live_memory();

// A value of a case in a lane.
[[nodiscard]] uint64_t resolve(const IsaValue& value, unsigned lane);
void apply(WaveState& wave, Memory& memory, const IsaAssignment& a);

// The state that the case begins with, and its memory.
void set_initial(const IsaCase& c, WaveState& wave, Memory& memory);
// Makes `memory` the one that the wave works on.
void attach(WaveState& wave, Memory& memory);

}  // namespace wavejit::test
