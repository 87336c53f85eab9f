#include "assembler_oracle.h"

#include <llvm-c/Target.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCFixup.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/FormattedStream.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

#include <algorithm>
#include <map>
#include <random>
#include <regex>
#include <stdexcept>

namespace wavejit::isa::test {
namespace {

constexpr const char* kTriple = "amdgcn-amd-amdhsa";

using Bytes = std::vector<uint8_t>;

#if LLVM_VERSION_MAJOR >= 16
using Alignment = llvm::Align;
#else
using Alignment = unsigned;
#endif

// Empty if the encoding depends on a symbol.
Bytes encode(const llvm::MCCodeEmitter& emitter, const llvm::MCInst& inst, const llvm::MCSubtargetInfo& subtarget) {
  llvm::SmallVector<char, 16> code;
  llvm::SmallVector<llvm::MCFixup, 4> fixups;
#if LLVM_VERSION_MAJOR >= 17
  emitter.encodeInstruction(inst, code, fixups, subtarget);
#else
  llvm::raw_svector_ostream out(code);
  emitter.encodeInstruction(inst, out, fixups, subtarget);
#endif
  return fixups.empty() ? Bytes(code.begin(), code.end()) : Bytes();
}

// Empty for what LLVM prints as invalid ("/*invalid immediate*/").
std::string printed(llvm::MCInstPrinter& printer, const llvm::MCInst& inst, const llvm::MCSubtargetInfo& subtarget) {
  std::string text;
  llvm::raw_string_ostream out(text);
  printer.printInst(&inst, 0, "", subtarget, out);
  out.flush();
  text.erase(0, text.find_first_not_of(" \t"));
  text.erase(text.find_last_not_of(" \t") + 1);
  return text.find("/*") == std::string::npos ? text : std::string();
}

// Keeps the encoding of each instruction by the line it stands in.
class Recorder : public llvm::MCStreamer {
 public:
  Recorder(llvm::MCContext& context, const llvm::SourceMgr& sources, const llvm::MCCodeEmitter& emitter,
           llvm::MCInstPrinter& printer, std::vector<Assembled>& lines)
      : MCStreamer(context), sources_(sources), emitter_(emitter), printer_(printer), lines_(lines) {}

  bool emitSymbolAttribute(llvm::MCSymbol*, llvm::MCSymbolAttr) override { return true; }
  void emitCommonSymbol(llvm::MCSymbol*, uint64_t, Alignment) override {}
  void emitZerofill(llvm::MCSection*, llvm::MCSymbol*, uint64_t, Alignment, llvm::SMLoc) override {}
  void emitInstruction(const llvm::MCInst& inst, const llvm::MCSubtargetInfo& subtarget) override {
    Bytes code = encode(emitter_, inst, subtarget);
    if (code.empty()) return;
    Assembled& line = lines_.at(sources_.FindLineNumber(inst.getLoc()) - 1);
    line.code = std::move(code);
    line.text = printed(printer_, inst, subtarget);
    line.machine_opcode = inst.getOpcode();
  }

 private:
  const llvm::SourceMgr& sources_;
  const llvm::MCCodeEmitter& emitter_;
  llvm::MCInstPrinter& printer_;
  std::vector<Assembled>& lines_;
};

const llvm::Target& amdgpu() {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (target == nullptr) throw std::runtime_error(error);
  return *target;
}

// LLVM names its encodings of one generation by suffixes; few instructions and most images are the same in all.
const char* encodings_of(Family family) {
  switch (family) {
    case Family::gfx6:
      return "_(si|gfx6|gfx6_gfx7\\w*)$|^V_READFIRSTLANE_B32$|^IMAGE_\\w+_V\\d_V\\d+$";
    case Family::gfx7:
      return "_(si|ci|gfx7|gfx6_gfx7\\w*|gfx7_gfx10)$|^V_READFIRSTLANE_B32$|^IMAGE_\\w+_V\\d_V\\d+$";
    default:
      throw std::runtime_error("the assembler is the oracle for GFX6 and GFX7 only");
  }
}

}  // namespace

struct AssemblerOracle::Machine {
  explicit Machine(Target processor)
      : family(family_of(processor)),
        target(amdgpu()),
        registers(target.createMCRegInfo(kTriple)),
        asm_info(target.createMCAsmInfo(*registers, kTriple, options)),
        instructions(target.createMCInstrInfo()),
        subtarget(target.createMCSubtargetInfo(kTriple, std::string(to_string(processor)), "")),
        context(llvm::Triple(kTriple), asm_info.get(), registers.get(), subtarget.get()),
        emitter(target.createMCCodeEmitter(*instructions, context)),
        printer(target.createMCInstPrinter(llvm::Triple(kTriple), 0, *asm_info, *instructions, *registers)) {
    const std::regex wanted(encodings_of(family));
    for (unsigned opcode = 0; opcode < instructions->getNumOpcodes(); ++opcode) {
      std::string name = instructions->getName(opcode).str();
      if (!std::regex_search(name, wanted)) continue;
      if (name.find("_pad_s_nop") != std::string::npos) continue;  // two instructions
      machine_opcodes.emplace(opcode, std::move(name));
    }
  }

  // Registers of a class whose number is the same in all generations.
  const std::vector<unsigned>& registers_of(unsigned register_class) {
    auto [it, fresh] = usable.try_emplace(register_class);
    if (!fresh) return it->second;
    static const std::regex kSame(R"((s|v)(\d+|\[\d+:\d+\])|vcc|vcc_lo|vcc_hi|exec|exec_lo|exec_hi|m0)");
    for (const llvm::MCPhysReg reg : registers->getRegClass(register_class)) {
      std::string name;
      llvm::raw_string_ostream out(name);
      printer->printRegName(out, reg);
      out.flush();
      // Tuples of scalar registers are aligned, and GFX6 has 104 of them.
      std::smatch parts;
      static const std::regex kTuple(R"(s\[(\d+):(\d+)\])");
      if (std::regex_match(name, parts, kTuple)) {
        const int first = std::stoi(parts[1]), last = std::stoi(parts[2]);
        if (first % (last == first + 1 ? 2 : 4) != 0 || last > 103) continue;
      } else if (name[0] == 's' && std::stoi(name.substr(1)) > 103) {
        continue;
      }
      if (std::regex_match(name, kSame)) it->second.push_back(reg);
    }
    return it->second;
  }

  Family family;
  const llvm::Target& target;
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asm_info;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  llvm::MCContext context;
  std::unique_ptr<llvm::MCCodeEmitter> emitter;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  std::map<unsigned, std::vector<unsigned>> usable;
  std::map<unsigned, std::string> machine_opcodes;
};

AssemblerOracle::AssemblerOracle(Target target) : machine_(std::make_unique<Machine>(target)) {}
AssemblerOracle::~AssemblerOracle() = default;

const std::map<unsigned, std::string>& AssemblerOracle::machine_opcodes() const {
  return machine_->machine_opcodes;
}

std::vector<Assembled> AssemblerOracle::assemble(std::span<const std::string> lines) {
  Machine& m = *machine_;
  std::vector<Assembled> result(lines.size() + 2);
  std::string source;
  for (const std::string& line : lines) source += line + "\n";
  llvm::SourceMgr sources;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& diagnostic, void* lines) {
        const auto line = static_cast<size_t>(diagnostic.getLineNo());
        auto& all = *static_cast<std::vector<Assembled>*>(lines);
        if (line >= 1 && line <= all.size()) all[line - 1].error = diagnostic.getMessage().str();
      },
      &result);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source), llvm::SMLoc());
  llvm::MCContext context(llvm::Triple(kTriple), m.asm_info.get(), m.registers.get(), m.subtarget.get(), &sources);
  std::unique_ptr<llvm::MCObjectFileInfo> object_info(m.target.createMCObjectFileInfo(context, false));
  context.setObjectFileInfo(object_info.get());
  Recorder recorder(context, sources, *m.emitter, *m.printer, result);
  llvm::formatted_raw_ostream nowhere(llvm::nulls());
  m.target.createAsmTargetStreamer(recorder, nowhere, m.printer.get(), false);  // owned by the streamer
  std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, recorder, *m.asm_info));
  std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      m.target.createMCAsmParser(*m.subtarget, *parser, *m.instructions, m.options));
  parser->setTargetParser(*target_parser);
  (void)parser->Run(false);
  result.resize(lines.size());
  return result;
}

std::vector<KnownInstruction> AssemblerOracle::instructions(uint64_t seed, unsigned each) {
  Machine& m = *machine_;
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<KnownInstruction> result;
  for (const auto& [opcode, name] : m.machine_opcodes) {
    // The data and address registers of images depend on the resource; `assemble` has them.
    if (name.starts_with("IMAGE_")) continue;
    const llvm::MCInstrDesc& description = m.instructions->get(opcode);
    for (unsigned repeat = 0; repeat < each; ++repeat) {
      llvm::MCInst inst;
      inst.setOpcode(opcode);
      bool possible = true;
      for (unsigned i = 0; i < description.getNumOperands() && possible; ++i) {
        const llvm::MCOperandInfo& info = description.operands().begin()[i];
        const int tied = description.getOperandConstraint(i, llvm::MCOI::TIED_TO);
        if (tied >= 0) {
          inst.addOperand(inst.getOperand(static_cast<unsigned>(tied)));
        } else if (info.RegClass < 0) {
          inst.addOperand(llvm::MCOperand::createImm(static_cast<int64_t>(repeat == 0 ? 0 : below(2))));
        } else if (info.OperandType >= llvm::MCOI::OPERAND_FIRST_TARGET && below(3) == 0) {
          inst.addOperand(llvm::MCOperand::createImm(static_cast<int64_t>(below(81)) - 16));
        } else {
          const auto& choice = m.registers_of(static_cast<unsigned>(info.RegClass));
          possible = !choice.empty();
          if (possible) inst.addOperand(llvm::MCOperand::createReg(choice[below(choice.size())]));
        }
      }
      if (!possible) continue;
      KnownInstruction known{encode(*m.emitter, inst, *m.subtarget), printed(*m.printer, inst, *m.subtarget)};
      if (!known.text.empty()) result.push_back(std::move(known));
    }
  }
  return result;
}

}  // namespace wavejit::isa::test
