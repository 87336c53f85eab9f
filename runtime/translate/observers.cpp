#include "runtime/translate/observers.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/isa/decoder.h"
#include "frontend/isa/exceptions.h"
#include "frontend/isa/info.h"
#include "runtime/kernel/symbols.h"
#include "runtime/translate/translation_cache.h"

namespace wavejit::runtime {
namespace {

using isa::ControlFlow;
using isa::Opcode;

bool observes(isa::Target target, std::span<const uint8_t> code, size_t offset) {
  isa::Instruction inst;
  return isa::decode(target, code.subspan(offset), reinterpret_cast<uint64_t>(code.data()) + offset, inst) ==
             isa::DecodeStatus::ok &&
         isa::observes_exceptions(inst);
}

// SOPK (bits 31:28) whose immediate names hardware register 1 or 3.
bool might_observe(uint32_t word) {
  return ((word >> 28) == 0xb) & ((word & 61) == 1);
}

// SOPK, SOP1, SOPC and SOPP (bits 31:28), and SOP2 with opcodes 40 to 43: all that change the program counter or a
// hardware register.
bool might_leave_or_observe(uint32_t word) {
  return ((word >> 28) == 0xb) | ((word >> 25) == 0x4a);
}

// What assemblers put behind code to align what follows: zeros, s_nop and s_code_end.
bool is_padding(uint32_t word) {
  return word == 0 || (word & 0xffff0000) == 0xbf800000 || word == 0xbf9f0000;
}

// s_getpc_b64 d; s_add_i32 t, K, 4; s_add_u32 d.lo, d.lo, t; s_addc_u32 d.hi, d.hi, 0; s_setpc_b64 d: how Tensile branches
// to where no branch reaches, forwards.
constexpr uint64_t kLongBranchBytes = 20;  // in front of the jump

// Where the long branch goes that ends with the s_setpc_b64 at `jump`; nothing if it is none.
template <typename DecodeAt>
std::optional<uint64_t> long_branch_target(const DecodeAt& decode_at, uint64_t jump) {
  isa::Instruction get, offset, low, high, set;
  const uint64_t first = jump - kLongBranchBytes;
  if (!decode_at(first, get) || get.opcode != Opcode::s_getpc_b64 || !decode_at(first + 4, offset) ||
      offset.opcode != Opcode::s_add_i32 || offset.size != 8 || !decode_at(first + 12, low) ||
      low.opcode != Opcode::s_add_u32 || low.size != 4 || !decode_at(first + 16, high) ||
      high.opcode != Opcode::s_addc_u32 || high.size != 4 || !decode_at(jump, set))
    return std::nullopt;
  // SOP2: ssrc0 7:0, ssrc1 15:8, sdst 22:16; 255 is a literal, 132 the number 4, 128 the number 0.
  const auto sources = [](const isa::Instruction& inst) { return inst.words[0] & 0xffff; };
  const auto destination = [](const isa::Instruction& inst) { return inst.words[0] >> 16 & 0x7f; };
  const uint32_t pc = destination(get), sum = destination(offset);
  if (sources(offset) != (132u << 8 | 255u) || sources(low) != (sum << 8 | pc) || destination(low) != pc ||
      sources(high) != (128u << 8 | (pc + 1)) || destination(high) != pc + 1 || (set.words[0] & 0xff) != pc ||
      sum == pc || sum == pc + 1 || offset.words[1] > INT32_MAX - 4)
    return std::nullopt;
  return first + 4 + offset.words[1] + 4;
}

}  // namespace

bool is_blind(const codeobject::CodeObject& object, isa::Target target, const codeobject::Kernel& kernel) {
  const uint64_t entry = kernel.descriptor.entry, size = kernel.code_size / 4 * 4;
  const std::span<const uint8_t> region = code_region(object, entry);
  const uint64_t base = reinterpret_cast<uint64_t>(region.data());
  if (region.empty() || size > base + region.size() - entry) return false;
  const auto decode_at = [&](uint64_t pc, isa::Instruction& inst) {
    return isa::decode(target, region.subspan(pc - base), pc, inst) == isa::DecodeStatus::ok;
  };
  std::vector<uint64_t> targets;
  std::vector<std::pair<uint64_t, uint64_t>> long_branches;  // first and last instruction
  // Each word is taken for the start of an instruction, which finds more than there is.
  ControlFlow last = ControlFlow::none;
  for (uint64_t pc = entry; pc < entry + size; pc += 4) {
    uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(pc), 4);
    if (is_padding(word) && (last == ControlFlow::end || last == ControlFlow::branch)) continue;
    last = ControlFlow::none;
    isa::Instruction inst;
    if (!might_leave_or_observe(word) || !decode_at(pc, inst)) continue;
    if (isa::observes_exceptions(inst)) return false;
    last = isa::info(inst.opcode).control_flow;
    std::optional<uint64_t> to = isa::branch_target(inst);
    if (inst.opcode == Opcode::s_setpc_b64 && pc - entry >= kLongBranchBytes) {
      to = long_branch_target(decode_at, pc);
      if (!to) return false;
      long_branches.emplace_back(pc - kLongBranchBytes, pc);
    } else if (last == ControlFlow::jump || last == ControlFlow::fork || last == ControlFlow::call) {
      return false;
    }
    if (!to) continue;
    if (*to - entry >= size) return false;
    targets.push_back(*to);
  }
  // Nobody comes to the middle of a long branch.
  for (const auto& [first, jump] : long_branches)
    for (const uint64_t to : targets)
      if (to > first && to <= jump) return false;
  return last == ControlFlow::end || last == ControlFlow::branch;
}

bool has_observers(const codeobject::CodeObject& object, isa::Target target) {
  constexpr size_t kBlock = 64;
  for (const std::span<const uint8_t> code : object.code()) {
    uint32_t words[kBlock];
    for (size_t at = 0; at < code.size(); at += sizeof words) {
      const size_t bytes = std::min(sizeof words, code.size() - at);
      std::memset(words, 0, sizeof words);
      std::memcpy(words, code.data() + at, bytes);
      unsigned any = 0;
      for (const uint32_t word : words) any |= might_observe(word) ? 1 : 0;
      if (any == 0) continue;
      for (size_t i = 0; i + 4 <= bytes; i += 4)
        if (might_observe(words[i / 4]) && observes(target, code, at + i)) return true;
    }
  }
  return false;
}

bool reaches_observer(const codeobject::CodeObject& object, isa::Target target, uint64_t entry) {
  std::vector<uint64_t> work{entry};
  std::unordered_set<uint64_t> seen;
  while (!work.empty()) {
    uint64_t pc = work.back();
    work.pop_back();
    while (seen.insert(pc).second) {
      const std::span<const uint8_t> code = code_region(object, pc);
      isa::Instruction inst;
      if (code.empty() || pc % 4 != 0 ||
          isa::decode(target, code.subspan(pc - reinterpret_cast<uint64_t>(code.data())), pc, inst) !=
              isa::DecodeStatus::ok)
        break;
      if (isa::observes_exceptions(inst)) return true;
      const isa::ControlFlow flow = isa::info(inst.opcode).control_flow;
      if (flow == isa::ControlFlow::jump || flow == isa::ControlFlow::fork || inst.opcode == Opcode::s_swappc_b64)
        return true;
      if (const auto target = isa::branch_target(inst)) work.push_back(*target);
      if (flow == isa::ControlFlow::branch || flow == isa::ControlFlow::end) break;
      pc = inst.next_pc();
    }
  }
  return false;
}

}  // namespace wavejit::runtime
