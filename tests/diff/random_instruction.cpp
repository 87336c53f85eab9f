#include "tests/diff/random_instruction.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <span>

#include "frontend/interp/interpreter.h"
#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "frontend/lift/handlers.h"
#include "frontend/lift/lifter.h"
#include "internal/semantics/data_format.h"
#include "tests/diff/random_memory.h"
#include "tests/support/engine_runner.h"

namespace wavejit::test {
namespace {

using isa::Format;

uint32_t pick(Rng& rng, std::initializer_list<uint32_t> values) {
  return values.begin()[rng() % values.size()];
}

// 7-bit scalar destination: s0..s19 (even: 64-bit results), vcc halves, sometimes m0 or exec.
uint32_t scalar_dst(Rng& rng) {
  const uint64_t r = rng() % 16;
  if (r < 12) return static_cast<uint32_t>(rng() % 10) * 2;
  if (r == 12) return 106;
  return static_cast<uint32_t>(rng() % 20);
}

// Of SALU instructions: EXEC and M0, too.
uint32_t salu_dst(Rng& rng) {
  const uint64_t r = rng() % 32;
  if (r == 0) return 126 + static_cast<uint32_t>(rng() % 4 == 0);
  return r == 1 ? 124 : scalar_dst(rng);
}

// 8-bit scalar source: SGPRs, vcc, exec, m0, inline constants, rarely a literal.
uint32_t scalar_src(Rng& rng) {
  switch (rng() % 12) {
    case 0:
      return 106;
    case 1:
      return 126;
    case 2:
      return 128 + static_cast<uint32_t>(rng() % 81);  // 0, 1..64, -1..-16
    case 3:
      return 240 + static_cast<uint32_t>(rng() % 9);  // floats
    case 4:
      return pick(rng, {124, 107, 127, 255, 253, 251, 252});
    default:
      return static_cast<uint32_t>(rng() % 10) * 2;
  }
}

// 9-bit VALU source.
uint32_t vector_src(Rng& rng) {
  if (rng() % 4 != 0) return 256 + static_cast<uint32_t>(rng() % 16);
  const uint32_t s = scalar_src(rng);
  return s == 255 && rng() % 2 == 0 ? 128 : s;
}

uint32_t vgpr(Rng& rng) {
  return static_cast<uint32_t>(rng() % 16);
}

int base_number(const isa::OpcodeInfo& info, isa::Target target) {
  return info.number[static_cast<unsigned>(isa::family_of(target))];
}

bool before_gfx8(isa::Target target) {
  return isa::family_of(target) < isa::Family::gfx8;
}

// A row may have a VOP3 opcode only, although other generations have it as VOP2; info.number then counts from here.
constexpr int kVop3Only = 0x400;

// VOP3 opcode of a row on GFX8/GFX9 (GCN3 and Vega ISA manuals, "VOP3": VOPC at 0, VOP2 at 0x100, VOP1 at 0x140).
int vop3_number(const isa::OpcodeInfo& info, isa::Target target) {
  const int n = base_number(info, target);
  if (n >= kVop3Only) return n - kVop3Only;
  switch (info.format) {
    case Format::vopc:
      return n;
    case Format::vop2:
      return 0x100 + n;
    case Format::vop1:
      return (before_gfx8(target) ? 0x180 : 0x140) + n;
    default:
      return n;
  }
}

// A data format, and above it a number format that it has.
uint32_t valid_format(Rng& rng) {
  for (;;) {
    const auto data = static_cast<uint32_t>(rng() % 16), number = static_cast<uint32_t>(rng() % 8);
    if (format::is_valid(format::layout_of(data), static_cast<format::Number>(number))) return data | number << 4;
  }
}

bool usable(isa::Opcode opcode, isa::Target target) {
  const isa::OpcodeInfo& info = isa::info(opcode);
  if (!isa::available(opcode, target)) return false;
  if (!interp::Interpreter::supports(opcode) || !lift::supports(static_cast<uint16_t>(opcode))) return false;
  return !info.is_graphics && unfit_reason(opcode).empty();
}

// SOPP instructions that neither branch nor end the wave, with immediates that they accept.
uint32_t sopp_immediate(std::string_view name, Rng& rng) {
  if (name.starts_with("s_sendmsg")) return pick(rng, {1, 4, 9, 10});
  if (name == "s_sethalt" || name == "s_setkill") return 0;
  if (name == "s_set_gpr_idx_mode") return static_cast<uint32_t>(rng() % 16);
  if (name == "s_sleep" || name == "s_nop" || name == "s_setprio" || name == "s_waitcnt" ||
      name.find("perflevel") != name.npos)
    return static_cast<uint32_t>(rng() % 4);
  return 0;
}

// Fields of MODE that may have any value: rounding, denormals, clamp of NaNs, IEEE, overflow of f16.
constexpr uint32_t kModeFields[] = {0 | 3 << 5, 4 | 3 << 5, 0 | 7 << 5, 4 | 1 << 5, 6 | 1 << 5,
                                    8,          9,          8 | 1 << 5, 23,         0 | 9 << 5};

bool has_hwreg(std::string_view name) {
  return name.starts_with("s_setreg") || name.starts_with("s_getreg");
}

// id, offset, size - 1 of a hardware register.
uint32_t hardware_register(std::string_view name, Rng& rng) {
  const bool sets = name.starts_with("s_setreg");
  if (sets ? rng() % 8 != 0 : rng() % 2 != 0) return 1 | kModeFields[rng() % std::size(kModeFields)] << 6;
  const auto bits = static_cast<uint32_t>(rng()) & 0xffc0;
  return bits | (sets ? pick(rng, {4, 5, 6, 7}) : pick(rng, {1, 2, 4, 5, 6, 7, 15}));
}

std::vector<uint32_t> encode(const Candidate& candidate, isa::Target target, Rng& rng) {
  const isa::OpcodeInfo& info = isa::info(candidate.opcode);
  if (is_memory_format(info.format)) return random_memory_words(candidate.opcode, target, rng);
  const auto op = static_cast<uint32_t>(base_number(info, target));
  const bool vop3_only = op >= kVop3Only;
  const auto literal = corner_value(rng);
  std::vector<uint32_t> words;
  // Fields of sources that the instruction does not have must be 0.
  const auto source_mask = [&] { return pick(rng, {~0u, ~0u, 0x1ffu << 9, 0}); };
  const auto vop3_words = [&](uint32_t number) {
    const uint32_t modifiers =
        static_cast<uint32_t>(rng()) & (rng() % 2 == 0 ? before_gfx8(target) ? 0xf00u : 0xff00u : 0u);
    const uint32_t high = (static_cast<uint32_t>(rng()) & (rng() % 2 == 0 ? 0xf8000000u : 0u));
    uint32_t word0 = 0xd0000000u | (number << (before_gfx8(target) ? 17 : 16)) | modifiers | vgpr(rng);
    if (rng() % 2 == 0 && info.format == Format::vop3b) word0 = (word0 & ~0x7f00u) | (scalar_dst(rng) << 8);
    words = {word0, high | ((vector_src(rng) << 18 | vector_src(rng) << 9) & source_mask()) | vector_src(rng)};
  };
  if (candidate.form == Form::e64 || vop3_only) {
    vop3_words(static_cast<uint32_t>(vop3_number(info, target)));
    // Results that are scalar (compares) or carry-outs need a scalar register in their place.
    if (info.format == Format::vopc)
      words[0] = (words[0] & ~0xffu) | scalar_dst(rng);
    else if (rng() % 2 == 0)
      words[0] = (words[0] & ~0x7f00u) | (scalar_dst(rng) << 8);
    return words;
  }
  const uint32_t src0 = candidate.form == Form::sdwa ? 0xf9u : candidate.form == Form::dpp ? 0xfau : vector_src(rng);
  switch (info.format) {
    case Format::sop2:
      words = {0x80000000u | (op << 23) | (salu_dst(rng) << 16) | (scalar_src(rng) << 8) | scalar_src(rng), literal};
      break;
    case Format::sopk:
      words = {0xb0000000u | (op << 23) | (salu_dst(rng) << 16) |
               (has_hwreg(info.name) ? hardware_register(info.name, rng) : static_cast<uint32_t>(rng()) & 0xffffu)};
      if (info.name == "s_setreg_imm32_b32") words = {words[0] & ~0x7f0000u, static_cast<uint32_t>(rng())};
      break;
    case Format::sop1:
      words = {0xbe800000u | (salu_dst(rng) << 16) | (op << 8) | scalar_src(rng), literal};
      break;
    case Format::sopc:
      words = {0xbf000000u | (op << 16) | (scalar_src(rng) << 8) | scalar_src(rng), literal};
      break;
    case Format::vop2:
      words = {(op << 25) | (vgpr(rng) << 17) | (vgpr(rng) << 9) | src0, literal};
      break;
    case Format::vop1:
      words = {0x7e000000u | (vgpr(rng) << 17) | (op << 9) | src0, literal};
      break;
    case Format::vopc:
      words = {0x7c000000u | (op << 17) | (vgpr(rng) << 9) | src0, literal};
      break;
    case Format::vop3:
    case Format::vop3b:
      vop3_words(op);
      break;
    case Format::vop3p:
    case Format::mai:
      words = {0xd3800000u | (op << 16) | (static_cast<uint32_t>(rng()) & 0xff00u) | vgpr(rng),
               (static_cast<uint32_t>(rng()) & 0xf8000000u) |
                   ((vector_src(rng) << 18 | vector_src(rng) << 9) & source_mask()) | vector_src(rng)};
      if (rng() % 2 == 0) words = {(words[0] & ~0xbf00u) | 0x4000u, (words[1] & 0x07ffffffu) | 0x18000000u};
      // Half of the rest without CBSZ and ABID, which few forms have.
      else if (rng() % 2 == 0)
        words[0] &= ~0x7f00u;
      // Many forms have no BLGP, either.
      if (info.format == Format::mai && rng() % 2 == 0) words = {words[0] & ~0x7f00u, words[1] & 0x1fffffffu};
      break;
    case Format::sopp:
      words = {0xbf800000u | op << 16 | sopp_immediate(info.name, rng)};
      break;
    default:
      break;
  }
  if (candidate.form == Form::sdwa) {
    // dst_sel, dst_unused, clamp, omod, src selects and modifiers; the register fields are VGPRs mostly.
    uint32_t sdwa = (static_cast<uint32_t>(rng()) & 0x3f3f3f00u) | vgpr(rng);
    if (rng() % 4 == 0) sdwa |= static_cast<uint32_t>(rng()) & 0xc000u;
    if (rng() % 8 == 0 && isa::family_of(target) != isa::Family::gfx8)
      sdwa = (sdwa & ~0xffu) | 0x800000u | scalar_dst(rng);
    if (info.format == Format::vopc && isa::family_of(target) != isa::Family::gfx8)
      sdwa = (sdwa & ~0xff00u) | (rng() % 2 == 0 ? 0x8000u | scalar_dst(rng) << 8 : 0u);
    words = {words[0], sdwa};
  } else if (candidate.form == Form::dpp) {
    static constexpr std::array<uint32_t, 4> kWave{0x130, 0x134, 0x138, 0x13c};
    uint32_t ctrl = 0;
    switch (rng() % 6) {
      case 0:
        ctrl = static_cast<uint32_t>(rng() % 256);
        break;
      case 1:
        ctrl = 0x101 + static_cast<uint32_t>(rng() % 15);
        break;
      case 2:
        ctrl = 0x111 + static_cast<uint32_t>(rng() % 15);
        break;
      case 3:
        ctrl = 0x121 + static_cast<uint32_t>(rng() % 15);
        break;
      case 4:
        ctrl = kWave[rng() % 4];
        break;
      default:
        ctrl = 0x140 + static_cast<uint32_t>(rng() % 4);
        break;
    }
    const uint32_t masks = rng() % 2 == 0 ? 0xffu : static_cast<uint32_t>(rng() & 0xff);
    const uint32_t mods = rng() % 2 == 0 ? 0u : static_cast<uint32_t>(rng() & 0xf);
    words = {words[0],
             vgpr(rng) | (ctrl << 8) | (static_cast<uint32_t>(rng() % 2) << 19) | (mods << 20) | (masks << 24)};
  }
  return words;
}

// Writes registers of addresses, of control flow or the runner's return pair.
bool writes_reserved(const isa::Instruction& inst) {
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const isa::Operand& operand = inst.operands[i];
    const unsigned end = operand.reg + operand.dwords;
    if (operand.kind == isa::OperandKind::sgpr && operand.is_dst && operand.reg < kReturnSgpr + 2u && end > kImageSgpr)
      return true;
    if (operand.kind == isa::OperandKind::vgpr && operand.is_dst && end > kAddressVgpr) return true;
    if (operand.kind == isa::OperandKind::special && operand.reg == static_cast<uint16_t>(isa::Special::lds_direct))
      return true;
  }
  return false;
}

// Two results in one register, which no document orders.
bool writes_exec_twice(const isa::Instruction& inst) {
  if (!isa::info(inst.opcode).implicit.writes_exec) return false;
  for (unsigned i = 0; i < inst.num_operands; ++i)
    if (inst.operands[i].is_dst && inst.operands[i].kind == isa::OperandKind::sgpr && inst.operands[i].reg >= 126)
      return true;
  return false;
}

// SDWA results narrower than the float they come from show bits of a NaN's payload or sign, which engines may choose.
bool selects_part_of_nan(const isa::Instruction& inst) {
  const isa::Operand* dst = inst.find(isa::Slot::vdst);
  const bool is_float = dst != nullptr && (dst->type == isa::Type::f16 || dst->type == isa::Type::f32);
  return inst.is_sdwa && is_float && inst.sdwa_dst_sel != isa::SdwaSelect::dword;
}

bool nan32(uint32_t v) {
  return (v & 0x7fffffffu) > 0x7f800000u;
}
bool nan16(uint32_t v) {
  return (v & 0x7fffu) > 0x7c00u;
}
bool nan64(uint64_t v) {
  return (v & ~(uint64_t{1} << 63)) > 0x7ff0000000000000u;
}

using RegisterFile = uint32_t[kNumVgprs][kWaveSize];

bool same_vgpr(const RegisterFile& a, const RegisterFile& b, unsigned row, unsigned lane) {
  const uint32_t x = a[row][lane], y = b[row][lane];
  if (x == y || (nan32(x) && nan32(y))) return true;
  const auto half = [&](unsigned shift) {
    const uint32_t p = (x >> shift) & 0xffff, q = (y >> shift) & 0xffff;
    return p == q || (nan16(p) && nan16(q));
  };
  if (half(0) && half(16)) return true;
  const auto wide = [&](unsigned low) {
    const auto value = [&](const RegisterFile& r) { return r[low][lane] | (uint64_t{r[low + 1][lane]} << 32); };
    return nan64(value(a)) && nan64(value(b));
  };
  return (row + 1 < kNumVgprs && wide(row)) || (row > 0 && wide(row - 1));
}

}  // namespace

std::vector<Candidate> candidates(isa::Target target) {
  std::vector<Candidate> list;
  for (unsigned i = 0; i < isa::kNumOpcodes; ++i) {
    const auto opcode = static_cast<isa::Opcode>(i);
    if (!usable(opcode, target)) continue;
    const Format format = isa::info(opcode).format;
    Rng probe(i);
    for (const Form form : {Form::base, Form::e64, Form::sdwa, Form::dpp}) {
      const bool derived = format == Format::vop1 || format == Format::vop2 || format == Format::vopc;
      if (form != Form::base && !derived) continue;
      if (!random_words({opcode, form}, target, probe).empty()) list.push_back({opcode, form});
    }
  }
  return list;
}

std::string_view unfit_reason(isa::Opcode opcode) {
  const isa::OpcodeInfo& info = isa::info(opcode);
  const std::string_view name = info.name;
  if (info.control_flow != isa::ControlFlow::none) return "control flow";
  if (name == "s_getpc_b64") return "addresses differ from run to run";
  if (name == "s_memtime" || name == "s_memrealtime") return "clocks";
  if (name.starts_with("ds_gws_") || name == "ds_ordered_count") return "work-groups with each other";
  return {};
}

bool needs_region(isa::Opcode opcode) {
  const std::string_view name = isa::info(opcode).name;
  return name == "s_set_gpr_idx_on" || name == "s_setvskip" || name.find("movreld") != name.npos ||
         name.find("movrelsd") != name.npos;
}

std::vector<uint32_t> random_words(const Candidate& candidate, isa::Target target, Rng& rng) {
  for (unsigned attempt = 0; attempt < 200; ++attempt) {
    std::vector<uint32_t> words = encode(candidate, target, rng);
    isa::Instruction inst;
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
    if (isa::decode(target, bytes, 0, inst) != isa::DecodeStatus::ok) continue;
    if (inst.opcode != candidate.opcode || writes_reserved(inst) || writes_exec_twice(inst)) continue;
    if ((candidate.form == Form::sdwa) != inst.is_sdwa || (candidate.form == Form::dpp) != inst.is_dpp) continue;
    if (selects_part_of_nan(inst)) continue;
    if (inst.format == Format::mai && !lift::can_lift(inst)) continue;  // a broadcast of blocks that do not exist
    words.resize(inst.size / 4);
    return words;
  }
  return {};
}

uint32_t corner_value(Rng& rng) {
  static constexpr std::array<uint32_t, 40> kCorners{
      0,          1,          2,          3,          31,         32,         63,         64,
      0xff,       0x7fff,     0x8000,     0xffff,     0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe,
      0x3f800000, 0xbf800000, 0x3f000000, 0x40000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
      0xffc00001, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff, 0x4f000000, 0xcf000000, 0x4f800000,
      0x3c003c00, 0x7c00fc00, 0x7e007c01, 0x04000001, 0x7bff83ff, 0x3ff00000, 0x7ff00000, 0x00100000};
  switch (rng() % 8) {
    case 0:
    case 1:
    case 2:
      return kCorners[rng() % kCorners.size()];
    case 3:
      return static_cast<uint32_t>(rng() % 256);
    case 4:
      return static_cast<uint32_t>(-static_cast<int64_t>(rng() % 256));
    case 5:
      return 0x3f800000u + static_cast<uint32_t>(rng() % 0x02000000) - 0x01000000u;  // floats around 1
    default:
      return static_cast<uint32_t>(rng());
  }
}

uint32_t random_format(Rng& rng) {
  return valid_format(rng);
}

void randomise(WaveState& wave, Rng& rng, uint32_t mode) {
  for (unsigned i = 0; i < sreg::kTtmp0; ++i) wave.sgpr[i] = corner_value(rng);
  wave.sgpr[sreg::kM0] = rng() % 2 == 0 ? ~0u : corner_value(rng);
  for (unsigned row = 0; row < 20; ++row)
    for (uint32_t& value : wave.vgpr[row]) value = corner_value(rng);
  for (unsigned row = 0; row < 20; ++row)
    for (uint32_t& value : wave.agpr[row]) value = corner_value(rng);
  for (unsigned row = 0; row < 3; ++row)
    for (unsigned lane = 0; lane < kWaveSize; ++lane)
      wave.vgpr[row][lane] =
          rng() % 8 != 0 ? static_cast<uint32_t>(rng() % 256) * 16 : ~0xfffu & static_cast<uint32_t>(rng());
  switch (rng() % 6) {
    case 0:
    case 1:
      wave.set_exec(~uint64_t{0});
      break;
    case 2:
      wave.set_exec(0);
      break;
    case 3:
      wave.set_exec((uint64_t{1} << (rng() % 64)) - 1);
      break;
    default:
      wave.set_exec(rng() & rng());
      break;
  }
  wave.set_vcc(rng() % 4 == 0 ? 0 : rng());
  wave.scc = rng() % 2;
  wave.mode = mode;
  if (rng() % 2 != 0) wave.trapsts = static_cast<uint32_t>(rng()) & 0x1ff;
  // These are only read (s_getreg).
  wave.gpr_alloc = static_cast<uint32_t>(rng()) & 0x0f003f00;
  wave.status = static_cast<uint32_t>(rng()) & status::kInTg;
}

std::string compare(const WaveState& expected, const WaveState& actual) {
  std::string text;
  const auto differ = [&](std::string_view what, uint64_t a, uint64_t b) {
    if (text.size() < 2000) text += fmt::format("  {}: expected {:#x}, got {:#x}\n", what, a, b);
  };
  for (unsigned i = 0; i < 128; ++i)
    if (expected.sgpr[i] != actual.sgpr[i] && !(nan32(expected.sgpr[i]) && nan32(actual.sgpr[i])))
      differ(fmt::format("s[{}]", i), expected.sgpr[i], actual.sgpr[i]);
  if (expected.scc != actual.scc) differ("scc", expected.scc, actual.scc);
  if (expected.vccz != actual.vccz) differ("vccz", expected.vccz, actual.vccz);
  if (expected.mode != actual.mode) differ("mode", expected.mode, actual.mode);
  if (expected.trapsts != actual.trapsts) differ("trapsts", expected.trapsts, actual.trapsts);
  for (unsigned row = 0; row < kNumVgprs; ++row) {
    if (std::memcmp(expected.vgpr[row], actual.vgpr[row], sizeof expected.vgpr[row]) == 0 &&
        std::memcmp(expected.agpr[row], actual.agpr[row], sizeof expected.agpr[row]) == 0)
      continue;
    for (unsigned lane = 0; lane < kWaveSize; ++lane) {
      if (!same_vgpr(expected.vgpr, actual.vgpr, row, lane))
        differ(fmt::format("v{} lane {}", row, lane), expected.vgpr[row][lane], actual.vgpr[row][lane]);
      if (!same_vgpr(expected.agpr, actual.agpr, row, lane))
        differ(fmt::format("a{} lane {}", row, lane), expected.agpr[row][lane], actual.agpr[row][lane]);
    }
  }
  return text;
}

}  // namespace wavejit::test
