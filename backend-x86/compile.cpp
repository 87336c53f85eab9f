// compile(): emitter, register allocation, machine code, fault table.
#include <algorithm>

#include "backend-x86/code_memory.h"
#include "backend-x86/emitter.h"
#include "backend-x86/register_allocation.h"

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

// Records where the marked instructions end up, and counts.
class RecordingAssembler : public x86::Assembler {
 public:
  RecordingAssembler(asmjit::CodeHolder* code, FaultLog& faults) : x86::Assembler(code), faults_(faults) {}

  asmjit::Error _emit(InstId id, const Operand_& a, const Operand_& b, const Operand_& c,
                      const Operand_* more) override {
    FaultRange* range = faults_.find(inlineComment());
    resetInlineComment();  // markers are not for the listing
    if (writes_all(id, a)) setInstOptions(instOptions() & ~asmjit::InstOptions::kX86_ZMask);  // see set_whole_mask
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

  FaultLog& faults_;
  uint32_t instructions_ = 0;
};

class Code final : public CompiledCode {
 public:
  Code(CodeBlock block, std::vector<FaultRange> faults, std::string listing, uint32_t instructions)
      : block_(std::move(block)),
        faults_(std::move(faults)),
        listing_(std::move(listing)),
        instructions_(instructions) {}

  EntryFn entry() const override { return reinterpret_cast<EntryFn>(reinterpret_cast<uintptr_t>(block_.begin())); }
  std::span<const uint8_t> code() const override { return block_.bytes(); }
  std::span<const FaultRange> fault_ranges() const override { return faults_; }
  const std::string& listing() const override { return listing_; }
  uint32_t host_instructions() const override { return instructions_; }

 private:
  const CodeBlock block_;
  const std::vector<FaultRange> faults_;
  const std::string listing_;
  const uint32_t instructions_;
};

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

  x86::Compiler compiler(&code);
  Emitter emitter(function, compiler, options);
  const auto finished = [&](std::string_view stage) {
    if (options.finished) options.finished(stage);
  };
  if (auto done = emitter.run(); !done) return tl::make_unexpected(done.error());
  if (!errors.first().empty()) return failed(errors.first());
  finished("emit");
  if (options.optimisations.has(Optimisation::shared_registers))
    share_virtual_registers(compiler, *emitter.function_node());
  if (const auto error = compiler.runPasses())
    return failed(errors.first().empty() ? asmjit::DebugUtils::errorAsString(error) : errors.first());
  finished("allocate");
  RecordingAssembler assembler(&code, emitter.faults());
  compiler.serializeTo(&assembler);
  if (!errors.first().empty()) return failed(errors.first());

  finished("assemble");
  auto block = CodeBlock::create(code);
  if (!block) return tl::make_unexpected(block.error());
  std::vector<FaultRange> faults = std::move(emitter.faults().ranges());
  std::erase_if(faults, [](const FaultRange& range) { return range.begin == range.end; });
  std::sort(faults.begin(), faults.end(), [](const FaultRange& a, const FaultRange& b) { return a.begin < b.begin; });
  std::string listing;
  if (options.keep_listing) listing.assign(logger.data(), logger.dataSize());
  finished("place");
  return std::make_shared<const Code>(std::move(*block), std::move(faults), std::move(listing),
                                      assembler.instructions());
}

}  // namespace wavejit::backend
