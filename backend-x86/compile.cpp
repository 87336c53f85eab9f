// compile(): lowering, register allocation, machine code, fault table.
#include <algorithm>
#include <new>

#include "backend-x86/encode/address_audit.h"
#include "backend-x86/encode/code_memory.h"
#include "backend-x86/encode/encode.h"
#include "backend-x86/helpers/helpers.h"
#include "backend-x86/lir/passes/fold_loads.h"
#include "backend-x86/lir/passes/jump_tables.h"
#include "backend-x86/lir/passes/narrow_registers.h"
#include "backend-x86/lir/passes/reuse_flags.h"
#include "backend-x86/lir/passes/straighten_jumps.h"
#include "backend-x86/lir/text.h"
#include "backend-x86/lir/verify.h"
#include "backend-x86/lower/lower.h"
#include "backend-x86/regalloc/allocation.h"
#include "backend-x86/regalloc/checker.h"

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

// Shows the audit what can hold an address of this process: immediates, and memory operands without base and index.
void look_at(const lir::Function& function, AddressAudit& audit) {
  for (const lir::Node* node = function.begin(); node != nullptr; node = node->next) {
    if (!node->is_code()) continue;
    for (const Operand& operand : node->ops()) {
      if (operand.isImm()) audit.look_at(operand.as<asmjit::Imm>().valueAs<uint64_t>());
      if (operand.isMem() && !operand.as<Mem>().hasBase() && !operand.as<Mem>().hasIndex())
        audit.found_absolute_operand();
    }
  }
}

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
  if (options.listing == ListingKind::x86) code.setLogger(&logger);

  lir::Function lir;
  lir::Builder builder(lir);
  Lowering lowering(function, builder, options);
  const auto finished = [&](std::string_view stage) {
    if (options.finished) options.finished(stage);
  };
  if (auto done = lower(lowering); !done) return tl::make_unexpected(done.error());
  if (options.optimisations.has(Optimisation::narrow_values)) lir::narrow_registers(lir);
  if (options.optimisations.has(Optimisation::reused_flags)) lir::reuse_flags(lir);
  if (options.optimisations.has(Optimisation::folded_loads)) lir::fold_loads(lir);
  finished("emit");
  std::string listing;
  if (options.listing == ListingKind::lir) listing = lir::print(lir);
  std::optional<AllocationChecker> checker;
  if (allocation_is_checked()) {
    if (const auto wrong = lir::verify(lir)) return failed(*wrong);
    checker.emplace(lir);
  }
  if (const asmjit::Error error = allocate_registers(lir)) return failed(asmjit::DebugUtils::errorAsString(error));
  if (checker)
    if (const auto wrong = checker->check()) return failed(*wrong);
  if (options.optimisations.has(Optimisation::straight_jumps)) lir::straighten_jumps(lir);
  if (options.optimisations.has(Optimisation::jump_tables)) lir::make_jump_tables(lir);
  finished("allocate");
  x86::Assembler assembler;
  attach(code, assembler);
  const EncodedFunction encoded = encode(lir, assembler);
  lowering.pool.emit(assembler);
  if (!errors.first().empty()) return failed(errors.first());
  finished("assemble");
  bool movable = options.movable_within.has_value();
  if (movable) {
    AddressAudit audit(*options.movable_within);
    look_at(lir, audit);
    for (const auto& [bytes, label] : lowering.pool.entries()) audit.look_at_data(bytes.data(), bytes.size());
    // Everything inside is relative to itself, unless asmjit has noted something else.
    movable = !audit.found() && code.relocEntries().empty();
  }
  auto block = CodeBlock::create(code);
  if (!block) return tl::make_unexpected(block.error());
  std::vector<FaultRange> faults = lowering.faults.placed(encoded.marked);
  if (options.listing == ListingKind::x86) listing.assign(logger.data(), logger.dataSize());
  finished("place");
  std::optional<std::vector<FunctionSlot>> slots;
  if (movable) slots = slots_of(lowering.pool, code);
  return std::make_shared<const Code>(std::move(*block), std::move(faults), std::move(slots), std::move(listing),
                                      encoded.instructions);
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
