// compile(): emitter, register allocation, machine code, fault table.
#include <algorithm>
#include <new>

#include "backend-x86/address_audit.h"
#include "backend-x86/code_memory.h"
#include "backend-x86/emitter.h"
#include "backend-x86/helpers.h"
#include "backend-x86/regalloc/allocation.h"
#include "backend-x86/regalloc/checker.h"

#ifdef WAVEJIT_WITHOUT_ALLOCATOR_ASSERTIONS
// For the tests (CMakeLists.txt), which select asmjit's own allocator for each of their kernels: Debian's libasmjit.a is built
// with assertions, and that allocator asserts verify() at every instruction. This is a walk over all virtual registers, nine
// tenths of the time for large functions. The header of the class is not installed; this definition replaces the archive's
// weak one, or does nothing where asmjit has no such function.
ASMJIT_BEGIN_NAMESPACE
class RAAssignment {
 public:
  bool verify() noexcept;
};
bool RAAssignment::verify() noexcept {
  return true;
}
ASMJIT_END_NAMESPACE
#endif

namespace wavejit::backend {
namespace {

class Errors : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error code, const char* message, asmjit::BaseEmitter*) override {
    if (first_.empty()) first_ = fmt::format("{} ({})", message, asmjit::DebugUtils::errorAsString(code));
  }
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  std::string first_;
};

// asmjit leaves an emitter that there was no memory for half attached, and its destructor takes it for attached.
void attach(asmjit::CodeHolder& code, asmjit::BaseEmitter& emitter) {
  if (code.attach(&emitter) == asmjit::kErrorOk) return;
  emitter._code = nullptr;
  throw std::bad_alloc();
}

// Records where the marked instructions end up, and counts. Shows numbers to the audit, if there is one.
class RecordingAssembler : public x86::Assembler {
 public:
  RecordingAssembler(asmjit::CodeHolder& code, FaultLog& faults, AddressAudit* audit) : faults_(faults), audit_(audit) {
    attach(code, *this);
  }

  asmjit::Error _emit(InstId id, const Operand_& a, const Operand_& b, const Operand_& c,
                      const Operand_* more) override {
    FaultRange* range = faults_.find(inlineComment());
    resetInlineComment();  // markers are not for the listing
    if (writes_all(id, a)) setInstOptions(instOptions() & ~asmjit::InstOptions::kX86_ZMask);  // see set_whole_mask
    if (audit_ != nullptr)
      for (const Operand_* operand : {&a, &b, &c}) look_at(*operand);
    const size_t begin = offset();
    const asmjit::Error error = x86::Assembler::_emit(id, a, b, c, more);
    ++instructions_;
    if (range != nullptr) {
      range->begin = static_cast<uint32_t>(begin);
      range->end = static_cast<uint32_t>(offset());
    }
    return error;
  }
  // In listings, every IR instruction is preceded by the offset of its code.
  asmjit::Error comment(const char* data, size_t size) override {
    if (_logger != nullptr) _logger->logf("%06zx", offset());
    return x86::Assembler::comment(data, size);
  }
  [[nodiscard]] uint32_t instructions() const { return instructions_; }

 private:
  // Whatever the mask, it is not one under which lanes keep what they had.
  static bool writes_all(InstId id, const Operand_& to) {
    return id == I::kIdVpblendmd || id == I::kIdVpblendmq || (to.isReg() && to.as<x86::Reg>().isKReg());
  }

  // Only moves have immediates of 64 bits, and no instruction takes memory behind its third operand without a base.
  void look_at(const Operand_& operand) {
    if (operand.isImm()) audit_->look_at(operand.as<asmjit::Imm>().valueAs<uint64_t>());
    if (operand.isMem() && !operand.as<Mem>().hasBase() && !operand.as<Mem>().hasIndex())
      audit_->found_absolute_operand();
  }

  FaultLog& faults_;
  AddressAudit* const audit_;
  uint32_t instructions_ = 0;
};

class Code final : public CompiledCode {
 public:
  Code(CodeBlock block, std::vector<FaultRange> faults, std::optional<std::vector<FunctionSlot>> slots,
       std::string listing, uint32_t instructions)
      : block_(std::move(block)),
        faults_(std::move(faults)),
        slots_(std::move(slots)),
        listing_(std::move(listing)),
        instructions_(instructions) {}

  EntryFn entry() const override { return reinterpret_cast<EntryFn>(reinterpret_cast<uintptr_t>(block_.begin())); }
  std::span<const uint8_t> code() const override { return block_.bytes(); }
  std::span<const FaultRange> fault_ranges() const override { return faults_; }
  const std::string& listing() const override { return listing_; }
  uint32_t host_instructions() const override { return instructions_; }
  bool is_movable() const override { return slots_.has_value(); }
  std::span<const FunctionSlot> slots() const override {
    return slots_ ? std::span<const FunctionSlot>(*slots_) : std::span<const FunctionSlot>();
  }

 private:
  const CodeBlock block_;
  const std::vector<FaultRange> faults_;
  const std::optional<std::vector<FunctionSlot>> slots_;  // nothing: the code stays where it is
  const std::string listing_;
  const uint32_t instructions_;
};

// The slots of what the pool holds, once its labels have their places; nothing when a function is none of those that
// have numbers.
std::optional<std::vector<FunctionSlot>> slots_of(const DataPool& pool, const asmjit::CodeHolder& code) {
  const std::span<const uintptr_t> known = callable_functions();
  std::vector<FunctionSlot> slots;
  for (const auto& [address, label] : pool.functions()) {
    const auto it = std::find(known.begin(), known.end(), address);
    if (it == known.end()) return std::nullopt;
    slots.push_back({.offset = static_cast<uint32_t>(code.labelOffsetFromBase(label)),
                     .function = static_cast<uint32_t>(it - known.begin())});
  }
  return slots;
}

}  // namespace

Expected<std::shared_ptr<const CompiledCode>> compile(const ir::Function& function, const CompileOptions& options) {
  const auto failed = [&](const std::string& what) {
    return make_error(ErrorCode::kInternal,
                      fmt::format("Translating '{}' for {} failed: {}.", function.name, to_string(options.tier), what));
  };
  Errors errors;
  asmjit::CodeHolder code;
  asmjit::Environment environment(asmjit::Arch::kX64);
  environment.setPlatform(asmjit::Platform::kLinux);
  if (const auto error = code.init(environment)) return failed(asmjit::DebugUtils::errorAsString(error));
  code.setErrorHandler(&errors);
  asmjit::StringLogger logger;
  if (options.keep_listing) code.setLogger(&logger);

  x86::Compiler compiler;
  attach(code, compiler);
  Emitter emitter(function, compiler, options);
  const auto finished = [&](std::string_view stage) {
    if (options.finished) options.finished(stage);
  };
  if (auto done = emitter.run(); !done) return tl::make_unexpected(done.error());
  if (!errors.first().empty()) return failed(errors.first());
  finished("emit");
  std::optional<AllocationChecker> checker;
  if (allocation_is_checked()) checker.emplace(compiler, *emitter.function_node());
  const asmjit::Error allocated = options.optimisations.has(Optimisation::own_allocator)
                                      ? allocate_registers(compiler, *emitter.function_node())
                                      : compiler.runPasses();
  if (allocated != asmjit::kErrorOk)
    return failed(errors.first().empty() ? asmjit::DebugUtils::errorAsString(allocated) : errors.first());
  if (checker)
    if (const auto wrong = checker->check()) return failed(*wrong);
  finished("allocate");
  std::optional<AddressAudit> audit;
  if (options.movable_within) audit.emplace(*options.movable_within);
  RecordingAssembler assembler(code, emitter.faults(), audit ? &*audit : nullptr);
  compiler.serializeTo(&assembler);
  if (!errors.first().empty()) return failed(errors.first());

  finished("assemble");
  bool movable = audit.has_value();
  if (audit) {
    for (const auto& [bytes, label] : emitter.pool().entries()) audit->look_at_data(bytes.data(), bytes.size());
    // Everything inside is relative to itself, unless asmjit has noted something else.
    movable = !audit->found() && code.relocEntries().empty();
  }
  auto block = CodeBlock::create(code);
  if (!block) return tl::make_unexpected(block.error());
  std::vector<FaultRange> faults = std::move(emitter.faults().ranges());
  std::erase_if(faults, [](const FaultRange& range) { return range.begin == range.end; });
  std::sort(faults.begin(), faults.end(), [](const FaultRange& a, const FaultRange& b) { return a.begin < b.begin; });
  std::string listing;
  if (options.keep_listing) listing.assign(logger.data(), logger.dataSize());
  finished("place");
  std::optional<std::vector<FunctionSlot>> slots;
  if (movable) slots = slots_of(emitter.pool(), code);
  return std::make_shared<const Code>(std::move(*block), std::move(faults), std::move(slots), std::move(listing),
                                      assembler.instructions());
}

Expected<std::shared_ptr<const CompiledCode>> place(CodeImage image) {
  const size_t size = image.code.size();
  const auto bad = [](const char* what) { return make_error(ErrorCode::kInvalidArgument, what); };
  if (size == 0) return bad("There is no code.");
  const std::span<const uintptr_t> known = callable_functions();
  std::vector<CodeBlock::Patch> patches;
  for (const FunctionSlot& slot : image.slots) {
    if (slot.offset > size || size - slot.offset < sizeof(uint64_t) || slot.function >= known.size())
      return bad("A function's address is not inside of the code.");
    patches.push_back({.offset = slot.offset, .value = known[slot.function]});
  }
  uint32_t last = 0;
  for (const FaultRange& range : image.fault_ranges) {
    if (range.begin < last || range.end <= range.begin || range.end > size)
      return bad("The table of faults is not that of the code.");
    last = range.begin;
  }
  auto block = CodeBlock::create(image.code, patches);
  if (!block) return tl::make_unexpected(block.error());
  return std::make_shared<const Code>(std::move(*block), std::move(image.fault_ranges),
                                      std::vector<FunctionSlot>(image.slots.begin(), image.slots.end()), std::string(),
                                      image.host_instructions);
}

}  // namespace wavejit::backend
