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
#include "internal/data_format.h"
#include "tests/diff/random_program.h"
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
  if (info.control_flow != isa::ControlFlow::none || info.is_graphics) return false;
  switch (info.format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopc:
    case Format::sopk:
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3:
    case Format::vop3b:
    case Format::vop3p:
    case Format::mai:
    case Format::ds:
    case Format::flat:
    case Format::mubuf:
    case Format::mtbuf:
      break;
    default:
      return false;
  }
  // Results that differ between runs by nature, or that address memory or code. The order of partly overlapping LDS
  // stores of several elements is unspecified (docs/isa-decisions.md).
  const std::string_view name = info.name;
  for (std::string_view prefix :
       {"s_getpc", "s_setreg", "s_getreg", "s_set_gpr", "s_cbranch", "s_mov_fed", "v_mov_fed", "s_rfe", "s_movreld",
        "s_setvskip", "ds_gws", "ds_ordered", "v_clrexcp", "ds_write2", "ds_wrxchg2"})
    if (name.starts_with(prefix)) return false;
  const bool vector_memory =
      info.format == Format::flat || info.format == Format::mubuf || info.format == Format::mtbuf;
  // Scratch is nowhere here; NaNs that atomics leave in memory have a payload; dwords of lanes may overlap.
  const bool several = name.find("store_dwordx") != std::string_view::npos;
  const bool is_float = name.ends_with("_f16") || name.ends_with("_f32") || name.ends_with("_f64");
  const bool compares_floats = name.find("atomic_f") != std::string_view::npos;
  return !vector_memory ||
         !(name.starts_with("scratch_") || is_float || compares_floats || (several && info.format == Format::mubuf) ||
           name.starts_with("buffer_wb") || name.starts_with("buffer_inv"));
}

// FLAT and GLOBAL with the addresses of set_addresses(): pairs that step by 16 bytes where several dwords are stored.
std::vector<uint32_t> flat_words(const isa::OpcodeInfo& info, isa::Target target, uint32_t op, Rng& rng) {
  const bool several = info.name.find("store_dwordx") != std::string_view::npos;
  const bool global = info.name.starts_with("global_");
  const bool scalar = global && rng() % 2 == 0;
  const uint32_t pair = several ? 32 : 24 + 2 * static_cast<uint32_t>(rng() % 3);
  const uint32_t offset = several ? 36 : 20 + static_cast<uint32_t>(rng() % 4);
  const uint32_t imm = isa::family_of(target) >= isa::Family::gfx9 ? static_cast<uint32_t>(rng()) & 0x7c : 0;
  uint32_t word0 = 0xdc000000u | op << 18 | (global ? 2u << 14 : 0) | imm | (rng() % 2 == 0 ? 1u << 16 : 0);
  if (rng() % 8 == 0) word0 |= 1u << 13;
  const uint32_t saddr = !global ? 0 : scalar ? kAddressSgpr : 0x7f;
  return {word0, vgpr(rng) << 24 | saddr << 16 | vgpr(rng) << 8 | (scalar ? offset : pair)};
}

// MUBUF and MTBUF with the descriptor of set_addresses(). Offsets are multiples of four: elements of lanes that overlap
// in part are written in no particular order.
std::vector<uint32_t> buffer_words(const isa::OpcodeInfo& info, uint32_t op, Rng& rng) {
  const auto modes = static_cast<uint32_t>(rng() % 4);  // offen, idxen
  const uint32_t address = modes == 1 ? 36 : 34;
  const uint32_t word1 =
      (128 + 4 * static_cast<uint32_t>(rng() % 9)) << 24 | (kDescriptorSgpr / 4) << 16 | vgpr(rng) << 8 | address;
  const uint32_t common = modes << 12 | (rng() % 2 == 0 ? 1u << 14 : 0) | (static_cast<uint32_t>(rng()) & 0x7c);
  if (info.format == Format::mubuf)
    return {0xe0000000u | op << 18 | common | (rng() % 8 == 0 ? 1u << 16 : 0), word1 | (rng() % 8 == 0 ? 1u << 23 : 0)};
  const uint32_t formats = valid_format(rng);
  return {0xe8000000u | op << 15 | common | (formats & 15) << 19 | (formats >> 4) << 23, word1};
}

std::vector<uint32_t> encode(const Candidate& candidate, isa::Target target, Rng& rng) {
  const isa::OpcodeInfo& info = isa::info(candidate.opcode);
  const auto op = static_cast<uint32_t>(base_number(info, target));
  const bool vop3_only = op >= kVop3Only;
  const auto literal = corner_value(rng);
  std::vector<uint32_t> words;
  const auto vop3_words = [&](uint32_t number) {
    const uint32_t modifiers =
        static_cast<uint32_t>(rng()) & (rng() % 2 == 0 ? before_gfx8(target) ? 0xf00u : 0xff00u : 0u);
    const uint32_t high = (static_cast<uint32_t>(rng()) & (rng() % 2 == 0 ? 0xf8000000u : 0u));
    uint32_t word0 = 0xd0000000u | (number << (before_gfx8(target) ? 17 : 16)) | modifiers | vgpr(rng);
    if (rng() % 2 == 0 && info.format == Format::vop3b) word0 = (word0 & ~0x7f00u) | (scalar_dst(rng) << 8);
    words = {word0, high | (vector_src(rng) << 18) | (vector_src(rng) << 9) | vector_src(rng)};
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
      words = {0x80000000u | (op << 23) | (scalar_dst(rng) << 16) | (scalar_src(rng) << 8) | scalar_src(rng), literal};
      break;
    case Format::sopk:
      words = {0xb0000000u | (op << 23) | (scalar_dst(rng) << 16) | (static_cast<uint32_t>(rng()) & 0xffffu)};
      break;
    case Format::sop1:
      words = {0xbe800000u | (scalar_dst(rng) << 16) | (op << 8) | scalar_src(rng), literal};
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
               (static_cast<uint32_t>(rng()) & 0xf8000000u) | (vector_src(rng) << 18) | (vector_src(rng) << 9) |
                   vector_src(rng)};
      if (rng() % 2 == 0) words = {(words[0] & ~0xbf00u) | 0x4000u, (words[1] & 0x07ffffffu) | 0x18000000u};
      // Half of the rest without CBSZ and ABID, which few forms have.
      else if (rng() % 2 == 0)
        words[0] &= ~0x7f00u;
      break;
    case Format::ds:
      words = {0xd8000000u | (op << (before_gfx8(target) ? 18 : 17)) | (static_cast<uint32_t>(rng()) & 0x00fcu),
               (vgpr(rng) << 24) | (vgpr(rng) << 16) | (vgpr(rng) << 8) | static_cast<uint32_t>(rng() % 3)};
      // Modes of swizzle, distances of the two-source forms; sometimes the GDS. Fields that must be 0 without operand.
      if (info.is_cross_lane || info.name.find("src2") != std::string_view::npos) words[0] |= rng() & 0xff00u;
      if (rng() % 8 == 0) words[0] |= 0x10000u;
      if (rng() % 2 == 0) words[1] &= pick(rng, {0xff00ffffu, 0xff0000ffu, 0xff000000u, 0x000000ffu, 0x0000ff00u});
      break;
    case Format::flat:
      words = flat_words(info, target, op, rng);
      break;
    case Format::mubuf:
    case Format::mtbuf:
      words = buffer_words(info, op, rng);
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

bool touches_return_pair(const isa::Instruction& inst) {
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const isa::Operand& operand = inst.operands[i];
    if (operand.kind == isa::OperandKind::sgpr && operand.is_dst && operand.reg < kReturnSgpr + 2u &&
        operand.reg + operand.dwords > kReturnSgpr)
      return true;
    if (operand.kind == isa::OperandKind::special && operand.reg == static_cast<uint16_t>(isa::Special::lds_direct))
      return true;
  }
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

bool needs_addresses(isa::Opcode opcode) {
  const Format format = isa::info(opcode).format;
  return format == Format::flat || format == Format::mubuf || format == Format::mtbuf;
}

bool stores_several_dwords(isa::Opcode opcode) {
  const std::string_view name = isa::info(opcode).name;
  return name == "ds_write_b64" || name == "ds_write_b96" || name == "ds_write_b128";
}

std::vector<uint32_t> random_words(const Candidate& candidate, isa::Target target, Rng& rng) {
  for (unsigned attempt = 0; attempt < 200; ++attempt) {
    std::vector<uint32_t> words = encode(candidate, target, rng);
    isa::Instruction inst;
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
    if (isa::decode(target, bytes, 0, inst) != isa::DecodeStatus::ok) continue;
    if (inst.opcode != candidate.opcode || touches_return_pair(inst)) continue;
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
  for (unsigned row = 0; row < kNumVgprs; ++row) {
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
