// Cases of *.isa files (isa_file.h) as machine code and state before, for the tests that run them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "backend-x86/compiler.h"
#include "internal/check.h"
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

// Zeroed memory that starts at a page. Copies are of equal size.
class Bytes {
 public:
  explicit Bytes(size_t size) : size_(size), memory_(allocate(size)) { std::memset(data(), 0, size); }
  Bytes(const Bytes& other) : size_(other.size_), memory_(allocate(size_)) { std::memcpy(data(), other.data(), size_); }
  Bytes& operator=(const Bytes& other) {
    WAVEJIT_CHECK(size_ == other.size_, "memory of {} bytes for {}", size_, other.size_);
    if (this != &other) std::memcpy(data(), other.data(), size_);
    return *this;
  }
  ~Bytes() = default;

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] uint8_t* data() { return memory_.get(); }
  [[nodiscard]] const uint8_t* data() const { return memory_.get(); }
  [[nodiscard]] uint8_t& operator[](size_t i) { return memory_.get()[i]; }
  [[nodiscard]] const uint8_t& operator[](size_t i) const { return memory_.get()[i]; }

 private:
  struct Delete {
    void operator()(uint8_t* memory) const { ::operator delete(memory, std::align_val_t{kPage}); }
  };
  static uint8_t* allocate(size_t size) { return static_cast<uint8_t*>(::operator new(size, std::align_val_t{kPage})); }

  size_t size_;
  std::unique_ptr<uint8_t, Delete> memory_;
};

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
