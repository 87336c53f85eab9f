// Vocabulary of lowering: register kinds, the constant pool, and the log of instructions that may fault.
#pragma once

#include <asmjit/x86.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend-x86/compiler.h"
#include "backend-x86/encode/encode.h"
#include "backend-x86/lir/builder.h"

namespace wavejit::backend {

using asmjit::InstId;
using asmjit::Label;
using asmjit::Operand;
using asmjit::Operand_;
using x86::Gp;
using x86::Mem;
using x86::Vec;
namespace I = x86::Inst;

// One bit per lane of a chunk: a k register (AVX-512) or a vector of all-ones/all-zeros dwords (AVX2).
using MaskReg = x86::Reg;

// A chunk of 64-bit lanes: two registers. The tier decides which lanes are in which (VectorIsa::lane_of64).
struct Vec64 {
  Vec part[2];
};
struct Mask64 {
  MaskReg part[2];
};

// Read-only data placed after the code. Equal contents are stored once.
class DataPool {
 public:
  explicit DataPool(lir::Builder& cc) : cc_(cc) {}

  // Memory operand of `size` bytes (a power of two from 4 to 1024) aligned to its size, or to 64.
  [[nodiscard]] Mem get(const void* bytes, uint32_t size);
  template <typename T, size_t N>
  [[nodiscard]] Mem table(const T (&values)[N]) {
    return get(values, sizeof values);
  }
  // Memory operand for a call: the 8-byte slot that holds the address of a function of this library. Translated code
  // may refer to addresses that differ between processes only through such slots.
  [[nodiscard]] Mem function(uintptr_t address);
  // Each function that the code calls: its address, and the label of the slot that holds the address.
  [[nodiscard]] const std::map<uintptr_t, Label>& functions() const { return functions_; }
  // All other contents.
  [[nodiscard]] const std::map<std::string, Label, std::less<>>& entries() const { return entries_; }
  // Emits all data. Called once, behind the function.
  void emit(x86::Assembler& assembler) const;

 private:
  lir::Builder& cc_;
  std::map<std::string, Label, std::less<>> entries_;
  std::map<uintptr_t, Label> functions_;
};

// Instructions that may fault carry a mark, of which the encoder says where it is in the code.
class FaultLog {
 public:
  explicit FaultLog(lir::Builder& cc) : cc_(cc) {}
  // The next instruction emitted may fault on behalf of `range`.
  void mark(const FaultRange& range);
  // The ranges of all marks that are in the code, sorted by their beginnings.
  [[nodiscard]] std::vector<FaultRange> placed(std::span<const MarkedCode> marked) const;

 private:
  lir::Builder& cc_;
  std::vector<FaultRange> ranges_;  // by mark - 1
};

}  // namespace wavejit::backend
