#include "tests/model/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/support/assembler.h"

namespace wavejit::model {

unsigned group_of(isa::Target target, std::string_view opcode) {
  const isa::Family family = isa::family_of(target);
  if (family == isa::Family::gfx90a && opcode.starts_with("v_dot2")) return 4;
  return family <= isa::Family::gfx7 ? 0 : family == isa::Family::gfx8 ? 1 : family < isa::Family::gfx940 ? 2 : 3;
}

std::vector<test::EngineConfig> chosen_engines(const RunOptions& options) {
  std::vector<test::EngineConfig> chosen;
  for (const test::EngineConfig& engine : test::host_engines()) {
    const bool usual = engine.kind == test::EngineKind::interp || engine.optimise;
    const bool named =
        std::find(options.engines.begin(), options.engines.end(), engine.name()) != options.engines.end();
    if (options.engines.empty() ? usual : named) chosen.push_back(engine);
  }
  return chosen;
}

Expected<std::vector<std::vector<uint8_t>>> assemble_programs(isa::Target target,
                                                              const std::vector<std::string>& programs) {
  constexpr uint64_t kMarker = 0x5ca1ab1e0ddba11ull;  // between programs
  std::string source = ".text\n";
  for (const std::string& p : programs) source += p + fmt::format(".quad {:#x}\n", kMarker);
  const auto bytes = test::assemble(target, source);
  if (!bytes) return tl::make_unexpected(bytes.error());
  std::vector<std::vector<uint8_t>> result;
  size_t begin = 0;
  for (size_t at = 0; at + 8 <= bytes->size(); at += 4) {
    uint64_t word;
    std::memcpy(&word, bytes->data() + at, 8);
    if (word != kMarker) continue;
    result.emplace_back(bytes->begin() + static_cast<std::ptrdiff_t>(begin),
                        bytes->begin() + static_cast<std::ptrdiff_t>(at));
    begin = at + 8;
    at += 4;
  }
  if (result.size() != programs.size())
    return make_error(ErrorCode::kInternal, fmt::format("{} of {} programs", result.size(), programs.size()));
  return result;
}

std::string recording::recorded(const std::string& instruction) {
  return "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0\n" + instruction +
         fmt::format("s_getreg_b32 s{}, hwreg(HW_REG_TRAPSTS, 0, 9)\n", kFlags);
}

std::string recording::lane_by_lane(const std::vector<std::string>& instructions) {
  const std::string lane = fmt::format("s[{}:{}]", kLane, kLane + 1), alone = fmt::format("s_mov_b64 exec, {}\n", lane);
  std::string text = fmt::format("s_mov_b64 {}, 1\n1:\n", lane);
  for (unsigned k = 0; k < instructions.size(); ++k)  // v_cmpx changes EXEC
    text +=
        alone + recorded(instructions[k]) + alone + fmt::format("v_mov_b32 v{}, s{}\n", 16 * k + kExceptions, kFlags);
  return text + fmt::format("s_lshl_b64 {0}, {0}, 1\ns_cbranch_scc1 1b\ns_mov_b64 exec, -1\n", lane);
}

}  // namespace wavejit::model
