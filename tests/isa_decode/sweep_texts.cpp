// What can LLVM assemble for GFX6 and GFX7 that the decoder does not know? LLVM 15 cannot disassemble them, so every
// mnemonic of its assembler is tried with all operands that instructions of any generation have.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <regex>
#include <set>

#include "assembler_oracle.h"
#include "frontend/isa/decoder.h"
#include "frontend/isa/row.h"
#include "operand_texts.h"
#include "sweep.h"

namespace wavejit::isa::test {
namespace {

// Mnemonics without suffixes: those of LLVM's assembler and those of the tables, as each generation calls them.
std::vector<std::string> all_mnemonics() {
  const std::vector<std::string> llvm = assembler_mnemonics();
  std::set<std::string> names(llvm.begin(), llvm.end());
  for (unsigned i = 0; i < kNumOpcodes; ++i) {
    const Row& row = row_of(static_cast<Opcode>(i));
    for (const std::string_view name : {row.name, row.gfx8_name, row.gfx6_name, row.gfx940_name})
      if (!name.empty()) names.insert(std::string(name));
  }
  return {names.begin(), names.end()};
}

// Machine instructions that LLVM's assembler does not give for any text: it takes ds_nop from GFX7 on only,
// s_endpgm_saved and packed 16-bit results of gathers from GFX8, 16-bit gradients from GFX10 and image_msaa_load_x from
// GFX11 on; of two for v_interp_p1_f32 it takes the first.
const std::regex kNoText(
    "^(DS_NOP|S_ENDPGM_SAVED|IMAGE_MSAA_LOAD_X|V_INTERP_P1_F32)_|^IMAGE_(GATHER4\\w*_V2|SAMPLE_\\w*G16\\w*_V\\d)_V\\d+"
    "$");

// Addresses of images have as many registers as the kind of image wants.
std::string with_address(const std::string& core, unsigned registers) {
  static const std::regex kAddress(R"(, v(\[32:\d+\]|32),)");
  return std::regex_replace(core, kAddress,
                            registers == 1 ? std::string(", v32,") : fmt::format(", v[32:{}],", 31 + registers));
}

// One run of the assembler, and what the decoder makes of it.
class TextSweep {
 public:
  TextSweep(Target target, std::vector<ExceptionRule>& exceptions, uint64_t limit)
      : target_(target), exceptions_(exceptions), oracle_(target), left_(limit) {}

  // Each line is a mnemonic and a tail; those that LLVM assembles.
  std::vector<bool> check(const std::vector<std::string>& lines) {
    std::vector<bool> taken(lines.size());
    for (size_t begin = 0; begin < lines.size() && left_ != 0;) {
      const size_t count = std::min<uint64_t>({kLinesAtOnce, lines.size() - begin, left_});
      const std::vector<Assembled> all = oracle_.assemble(std::span(lines).subspan(begin, count));
      std::vector<Mismatch> different;
      for (size_t i = 0; i < count; ++i) {
        taken[begin + i] = !all[i].code.empty() && !all[i].text.empty();
        ++(taken[begin + i] ? result_.accepted : result_.rejected);
        if (!taken[begin + i]) continue;
        reached_.insert(all[i].machine_opcode);
        compare(lines[begin + i], all[i], different);
      }
      judge(std::move(different));
      begin += count;
      left_ -= count;
      result_.encodings += count;
    }
    return taken;
  }

  [[nodiscard]] TextSweepResult result() {
    for (const auto& [opcode, name] : oracle_.machine_opcodes())
      if (!reached_.contains(opcode) && !std::regex_search(name, kNoText)) result_.unreached.push_back(name);
    return result_;
  }

  TextSweepResult result_;

 private:
  static constexpr size_t kLinesAtOnce = 5000;

  void compare(const std::string& line, const Assembled& assembled, std::vector<Mismatch>& different) const {
    std::array<uint8_t, sizeof(Mismatch::words)> code{};
    Mismatch m{.words = {}, .kind = {}, .expected = assembled.text, .actual = {}, .source = line};
    std::memcpy(code.data(), assembled.code.data(), std::min(assembled.code.size(), code.size()));
    std::memcpy(m.words.data(), code.data(), sizeof m.words);
    Instruction inst;
    const bool decoded = decode(target_, code, 0, inst) == DecodeStatus::ok;
    if (decoded) m.actual = disassemble(inst);
    m.kind = decoded ? "text" : "llvm-only";
    if (m.actual == m.expected && inst.size == assembled.code.size()) return;
    if (m.actual == m.expected) m.expected += " (size differs)";
    different.push_back(std::move(m));
  }

  // The number of address registers of an image instruction is not encoded, nor whether a constant is negative that is
  // as wide as its field.
  void judge(std::vector<Mismatch> different) {
    std::vector<std::string> ours;
    for (const Mismatch& m : different) ours.push_back(m.actual);
    const std::vector<Assembled> again = oracle_.assemble(ours);
    for (size_t i = 0; i < different.size(); ++i) {
      Mismatch& m = different[i];
      decltype(m.words) words{};
      std::memcpy(words.data(), again[i].code.data(), std::min(again[i].code.size(), sizeof words));
      if (m.kind == "text" && !again[i].code.empty() && words == m.words) {
        ++result_.other_spellings;
      } else if (excepted(exceptions_, to_string(target_), m)) {
        ++result_.excepted;
      } else {
        ++result_.mismatches;
        if (shown_.insert(m.kind + " " + m.source.substr(0, m.source.find(' '))).second)
          result_.examples.push_back(std::move(m));
      }
    }
  }

  Target target_;
  std::vector<ExceptionRule>& exceptions_;
  AssemblerOracle oracle_;
  uint64_t left_;
  std::set<unsigned> reached_;
  std::set<std::string> shown_;
};

}  // namespace

TextSweepResult sweep_texts(Target target, const SweepOptions& options, std::vector<ExceptionRule>& exceptions) {
  constexpr unsigned kEncodingsEach = 60;  // of an opcode value
  const OperandTexts operands = collect_operand_texts(options.seed, kEncodingsEach);
  std::map<std::string, std::set<std::string>> any_unit;  // for mnemonics like those of no other
  for (const auto& [unit, cores] : operands)
    for (const auto& [core, shapes] : cores) any_unit[core].insert(core);

  // LLVM's own, for branches that an erratum of GFX10 moves: two instructions.
  std::vector<std::string> mnemonics = all_mnemonics();
  std::erase_if(mnemonics, [](const std::string& name) { return name.ends_with("_pad_s_nop"); });
  std::mt19937_64 random(options.seed);
  std::shuffle(mnemonics.begin(), mnemonics.end(), random);
  TextSweep sweep(target, exceptions, options.encodings);
  sweep.result_.mnemonics = mnemonics.size();
  for (const std::string& mnemonic : mnemonics) {
    const auto own = operands.find(unit_of(mnemonic));
    const auto& cores = own != operands.end() ? own->second : any_unit;
    // The assembler chooses the shortest encoding unless a suffix says otherwise.
    std::vector<std::string> forms{mnemonic};
    if (mnemonic.starts_with("v_"))
      for (const char* suffix : {"_e32", "_e64", "_dpp", "_sdwa"}) forms.push_back(mnemonic + suffix);
    bool accepted = false;
    for (const std::string& form : forms) {
      std::vector<std::string> lines;
      for (const auto& [core, shapes] : cores) lines.push_back(form + " " + core);
      const std::vector<bool> taken = sweep.check(lines);
      lines.clear();
      size_t at = 0;
      for (const auto& [core, shapes] : cores)
        if (taken[at++])
          for (const std::string& shape : shapes)
            if (shape != core) lines.push_back(fmt::format("{} {}", form, shape));
      if (mnemonic.starts_with("image_"))
        for (const auto& [core, shapes] : cores)
          for (const unsigned registers : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 16u})
            lines.push_back(fmt::format("{} {}", form, with_address(core, registers)));
      accepted |= std::find(taken.begin(), taken.end(), true) != taken.end();
      (void)sweep.check(lines);
    }
    sweep.result_.accepted_mnemonics += accepted ? 1 : 0;
  }
  return sweep.result();
}

}  // namespace wavejit::isa::test
