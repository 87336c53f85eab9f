#include "backend-x86/lir/instruction_access.h"

#include <pthread.h>

#include <memory>
#include <new>

#include "internal/check.h"

namespace wavejit::backend::lir {
namespace {

using asmjit::InstRWFlags;
using asmjit::Operand;
using asmjit::OpRWFlags;

// Rounding of the instruction's own, which only its forms without memory have.
constexpr auto kOwnRounding = asmjit::InstOptions::kX86_ER | asmjit::InstOptions::kX86_SAE;

// All that the answer depends on: name and options, mask and number of operands, and the operands' signatures.
using Form = std::array<uint64_t, 4>;

uint64_t pair(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

Form form_of(const Node& node) {
  static_assert(InstructionAccess::kMaxOperands == 4);
  const auto options = static_cast<uint32_t>(node.options & (asmjit::InstOptions::kX86_ZMask | kOwnRounding));
  const uint32_t mask = node.has_mask() ? node.mask.signature().bits() | (node.mask.id() != 0 ? 1u << 31 : 0) : 0;
  const auto signature = [&](uint32_t i) { return node.operands[i].signature().bits(); };
  return {pair(node.id, options), pair(mask, node.operand_count), pair(signature(0), signature(1)),
          pair(signature(2), signature(3))};
}

struct Entry {
  Form form{};
  InstructionAccess access;
};

// Direct-mapped: a few hundred forms are in use.
constexpr size_t kEntries = 1024;

size_t slot_of(const Form& form) {
  // One odd factor for each word, so that the multiplications do not wait for each other.
  uint64_t hash = form[0] * 0x9e3779b97f4a7c15u + form[1] * 0xc2b2ae3d27d4eb4fu;
  hash ^= form[2] * 0x165667b19e3779f9u + form[3] * 0xd6e8feb86659fd93u;
  return static_cast<size_t>((hash ^ hash << 24) >> 48) % kEntries;
}

uint16_t accesses(bool reads, bool writes) {
  if (reads)
    return static_cast<uint16_t>(OperandAccess::read | OperandAccess::use | (writes ? OperandAccess::write : 0));
  return writes ? OperandAccess::write | OperandAccess::out : 0;
}

uint32_t nameable_vectors(const Node& node, const x86::InstDB::InstInfo& info) {
  constexpr uint32_t kAll = ~0u, kLow = 0xffff;
  if (!info.isEvex()) return info.isEvexTransformable() ? kAll : kLow;
  if (!info.isVex() || info.isEvexCompatible()) return kAll;
  // Both encodings exist and differ: compares to mask registers, gathers under a mask register.
  if (info.isEvexKRegOnly()) return x86::Reg::isKReg(node.operands[0]) ? kAll : kLow;
  if (info.isEvexTwoOpOnly()) return node.operand_count == 2 ? kAll : kLow;
  return kLow;
}

// Compares under a mask clear the other elements of their result, and blends write all: nothing of what has been there
// remains. asmjit's database has that of {z} only, which compares do not take.
bool replaces_result(const Node& node) {
  return node.has_mask() && (node.id == x86::Inst::kIdVpblendmd || node.id == x86::Inst::kIdVpblendmq ||
                             x86::Reg::isKReg(node.operands[0]));
}

// vpternlog's truth table is an immediate. From version 1.11 on, asmjit reports that the first operand is not read if the
// table ignores it. A Form does not contain immediates, so the operand counts as read for all tables.
bool has_table(const Node& node) {
  return node.id == x86::Inst::kIdVpternlogd || node.id == x86::Inst::kIdVpternlogq;
}

bool look_up(const Node& node, InstructionAccess& access) {
  asmjit::BaseInst inst = node.base();
  if (replaces_result(node)) inst.addOptions(asmjit::InstOptions::kX86_ZMask);
  asmjit::InstRWInfo rw;
  if (asmjit::InstAPI::queryRWInfo(asmjit::Arch::kX64, inst, node.operands.data(), node.operand_count, &rw))
    return false;
  const x86::InstDB::InstInfo& info = x86::InstDB::infoById(node.id);
  access = {};
  access.flow = info.controlFlow();
  access.same_register = info.sameRegHint();
  access.vector_mask = nameable_vectors(node, info);
  access.transformable = !info.isEvex() && info.isEvexTransformable();
  bool registers = false;
  for (uint32_t i = 0; i < node.operand_count; ++i) {
    const Operand& op = node.operands[i];
    const asmjit::OpRWInfo& from = rw.operand(i);
    OperandAccess& to = access.operands[i];
    if (op.isReg()) {
      if (x86::Reg::isGpbHi(op) || from.consecutiveLeadCount() != 0 || from.hasOpFlag(OpRWFlags::kConsecutive))
        return false;
      registers = true;
      to.flags = accesses(from.isRead() || has_table(node), from.isWrite());
      if (from.hasOpFlag(OpRWFlags::kRegMem) && from.isRead() && rw.rmFeature() == 0 &&
          !asmjit::Support::test(node.options, kOwnRounding))
        to.flags |= OperandAccess::use_memory;
      to.read_bytes = from.readByteMask();
      to.written = from.writeByteMask();
      to.zeroed = from.extendByteMask();
      to.memory_size = static_cast<uint8_t>(from.rmSize());
      if (from.hasOpFlag(OpRWFlags::kRegPhysId)) to.fixed = static_cast<uint8_t>(from.physId());
    } else if (op.isMem()) {
      access.writes_memory |= from.isWrite();
      to.base_flags = accesses(from.hasOpFlag(OpRWFlags::kMemBaseRead), from.hasOpFlag(OpRWFlags::kMemBaseWrite));
      to.index_flags = accesses(from.hasOpFlag(OpRWFlags::kMemIndexRead), from.hasOpFlag(OpRWFlags::kMemIndexWrite));
      if (from.hasOpFlag(OpRWFlags::kMemPhysId)) to.fixed = static_cast<uint8_t>(from.physId());
    }
  }
  access.is_move = rw.hasInstFlag(InstRWFlags::kMovOp) && registers && !node.has_mask() && node.operand_count == 2;
  return true;
}

using Entries = std::array<Entry, kEntries>;

thread_local Entries* t_entries = nullptr;

// Deletes the thread's entries at its end. Not an object with a destructor, which glibc allocates memory for, or ends the
// process.
pthread_key_t entries_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    WAVEJIT_CHECK(pthread_key_create(&made,
                                     [](void* entries) {
                                       delete static_cast<Entries*>(entries);
                                       t_entries = nullptr;
                                     }) == 0,
                  "there are no keys for threads");
    return made;
  }();
  return key;
}

// The thread's, made anew for destructors that translate at its end.
Entries& thread_entries() {
  if (!t_entries) {
    auto made = std::make_unique<Entries>();
    if (pthread_setspecific(entries_key(), made.get()) != 0) throw std::bad_alloc();
    t_entries = made.release();
  }
  return *t_entries;
}

}  // namespace

const InstructionAccess* instruction_access(const Node& node) {
  if (!x86::Inst::isDefinedId(node.id) || node.operand_count > InstructionAccess::kMaxOperands) return nullptr;
  const Form form = form_of(node);
  Entry& entry = thread_entries()[slot_of(form)];
  if (entry.form == form) return &entry.access;
  if (!look_up(node, entry.access)) {
    entry.form = {};
    return nullptr;
  }
  entry.form = form;
  return &entry.access;
}

bool is_plain_move(asmjit::InstId id) {
  switch (id) {
    case x86::Inst::kIdMov:
    case x86::Inst::kIdKmovb:
    case x86::Inst::kIdKmovw:
    case x86::Inst::kIdKmovd:
    case x86::Inst::kIdKmovq:
    case x86::Inst::kIdVmovaps:
    case x86::Inst::kIdVmovapd:
    case x86::Inst::kIdVmovups:
    case x86::Inst::kIdVmovupd:
    case x86::Inst::kIdVmovdqa:
    case x86::Inst::kIdVmovdqu:
    case x86::Inst::kIdVmovdqa32:
    case x86::Inst::kIdVmovdqa64:
    case x86::Inst::kIdVmovdqu8:
    case x86::Inst::kIdVmovdqu16:
    case x86::Inst::kIdVmovdqu32:
    case x86::Inst::kIdVmovdqu64:
      return true;
    default:
      return false;
  }
}

bool differs_in_memory(const Node& node) {
  switch (node.id) {
    case x86::Inst::kIdBt:
    case x86::Inst::kIdBtc:
    case x86::Inst::kIdBtr:
    case x86::Inst::kIdBts:
      return node.operands[1].isReg();
    case x86::Inst::kIdInsertps:
    case x86::Inst::kIdVinsertps:
      return (node.operands[node.operand_count - 1].as<asmjit::Imm>().valueAs<uint32_t>() & 0xc0) != 0;
    case x86::Inst::kIdKmovb:
    case x86::Inst::kIdKmovw:
    case x86::Inst::kIdKmovd:
    case x86::Inst::kIdKmovq:
    case x86::Inst::kIdVmovd:
    case x86::Inst::kIdVmovq:
      return x86::Reg::isGp(node.operands[0]);
    default:
      return false;
  }
}

}  // namespace wavejit::backend::lir
