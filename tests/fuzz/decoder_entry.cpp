#include "decoder_entry.h"

#include <span>

#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "internal/check.h"

namespace wavejit::test {
namespace {

using namespace wavejit::isa;

void check_operand(const Instruction& inst, const Operand& op) {
  switch (op.kind) {
    case OperandKind::vgpr:
    case OperandKind::agpr:
      WAVEJIT_CHECK(op.dwords >= 1 && op.reg + op.dwords <= 256, "{}", describe(inst));
      break;
    case OperandKind::sgpr: {
      WAVEJIT_CHECK(op.dwords >= 1 && op.reg < 128, "{}", describe(inst));
      // A 128-bit operand may name a pair (flat_scratch, vcc, exec), as in LLVM; it still starts inside the file.
      const bool pair = op.dwords == 4 && op.reg % 2 == 0 && op.reg >= 102;
      WAVEJIT_CHECK(op.reg + op.dwords <= 128 || pair, "{}", describe(inst));
      break;
    }
    case OperandKind::constant:
      WAVEJIT_CHECK(!op.is_dst, "{}", describe(inst));
      break;
    default:
      break;
  }
}

}  // namespace

void fuzz_decoder(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const std::span<const Target> targets = all_targets();
  const Target target = targets[data[0] % targets.size()];
  std::span<const uint8_t> code(data + 1, size - 1);
  uint64_t pc = 0x1000;
  while (!code.empty()) {
    Instruction inst;
    const DecodeStatus status = decode(target, code, pc, inst);
    const std::string description = describe(inst);
    WAVEJIT_CHECK(!description.empty());
    if (status == DecodeStatus::truncated) {
      if (code.size() < 4) return;
      code = code.subspan(4);
      continue;
    }
    if (status == DecodeStatus::illegal) {
      code = code.subspan(4);
      continue;
    }
    WAVEJIT_CHECK(inst.size <= code.size() && inst.size % 4 == 0 && inst.size != 0);
    WAVEJIT_CHECK(available(inst.opcode, target));
    WAVEJIT_CHECK(inst.num_operands <= Instruction::kMaxOperands);
    for (unsigned i = 0; i < inst.num_operands; ++i) check_operand(inst, inst.operands[i]);
    WAVEJIT_CHECK(disassemble(inst).find(info(inst.opcode).name.substr(0, 2)) == 0);
    code = code.subspan(inst.size);
    pc += inst.size;
  }
}

}  // namespace wavejit::test
