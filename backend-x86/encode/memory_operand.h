// Decodes the memory operand of a host instruction and computes its addresses from the machine state that a signal
// handler gets. Async-signal-safe.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <optional>

namespace wavejit::backend {

// Of an instruction in 64-bit mode with a ModRM byte: legacy, VEX or EVEX encoding (Intel SDM volume 2, chapter 2).
struct MemoryOperand {
  enum class Encoding : uint8_t { legacy, vex, evex };
  Encoding encoding = Encoding::legacy;
  uint8_t map = 0, opcode = 0;  // opcode map: 0 one byte, 1 0F, 2 0F38, 3 0F3A
  uint8_t prefix = 0;           // 0 none, 1 66, 2 F3, 3 F2
  bool wide = false;            // the W bit
  uint8_t length = 0;           // of vectors: 0 128, 1 256, 2 512 bits
  uint8_t mask = 0;             // EVEX.aaa
  uint8_t vvvv = 0;
  bool has_base = false, has_index = false;
  bool vector_index = false;  // of a gather or scatter; then `index` is a vector register
  uint8_t base = 0, index = 0, scale = 0;
  int64_t displacement = 0;  // in bytes

  // Bytes per mask element of a gather, scatter or VEX masked move.
  [[nodiscard]] unsigned masked_bytes() const { return wide ? 8 : 4; }
  // Elements that a gather or scatter accesses.
  [[nodiscard]] unsigned elements() const;
};

// Empty for instructions without such an operand, and for operands relative to RIP or a segment, which never access
// guest memory.
[[nodiscard]] std::optional<MemoryOperand> decode_memory_operand(const uint8_t* code);

// Registers from a signal context.
class MachineState {
 public:
  explicit MachineState(const ucontext_t& context);

  [[nodiscard]] uint64_t general(unsigned number) const;
  // Elements of vector registers 0..31, and opmasks. Empty if the context does not hold them.
  [[nodiscard]] std::optional<uint32_t> vector32(unsigned number, unsigned element) const;
  [[nodiscard]] std::optional<uint64_t> vector64(unsigned number, unsigned element) const;
  [[nodiscard]] std::optional<uint64_t> opmask(unsigned number) const;

  // The address of the access; with a vector index, that of `element`.
  [[nodiscard]] std::optional<uint64_t> address(const MemoryOperand& operand, unsigned element) const;
  // The elements that a masked access has not done yet, as bits. Empty if the access is not masked.
  [[nodiscard]] std::optional<uint32_t> pending(const MemoryOperand& operand) const;

 private:
  // Pointer into a component of the XSAVE area; null if the area does not hold it. `component` as in XCR0.
  [[nodiscard]] const uint8_t* component(unsigned component, unsigned offset) const;

  const ucontext_t& context_;
  const uint8_t* area_ = nullptr;
};

}  // namespace wavejit::backend
