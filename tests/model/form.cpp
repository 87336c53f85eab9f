#include "tests/model/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace wavejit::model {

using isa::Type;
namespace flag = isa::flag;

namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Format* format_of(Type type) {
  switch (type) {
    case Type::f16:
    case Type::v2f16:
      return &kF16;
    case Type::f32:
    case Type::v2f32:
      return &kF32;
    case Type::f64:
      return &kF64;
    default:
      return nullptr;
  }
}

bool is_vop3p(const Instruction& i) {
  return i.row->format == isa::Format::vop3p;
}
bool has_short_form(const Instruction& i) {
  return i.row->format == isa::Format::vop1 || i.row->format == isa::Format::vop2 || i.row->format == isa::Format::vopc;
}
// VOP1, VOP2 and VOPC opcodes that the family has only as VOP3.
bool only_long(const Instruction& i, isa::Target target) {
  return has_short_form(i) && i.row->number[static_cast<size_t>(isa::family_of(target))] >= isa::kVop3Only;
}
bool is_64bit(const Instruction& i) {
  if (dwords_of(i.result) > 1) return true;
  return std::any_of(i.sources.begin(), i.sources.end(), [](const Source& s) { return dwords_of(s.type) > 1; });
}
bool takes_neg(const Instruction& i) {
  return std::any_of(i.sources.begin(), i.sources.end(), [](const Source& s) { return s.takes_neg; });
}
// Conversions to eight bits, which replace the part of the destination that op_sel says.
bool replaces_part(const Instruction& i) {
  return i.row->has(flag::op_sel) && i.result == Type::b32 && i.sources.back().is_old;
}
// The assembler takes no modifiers of them.
bool without_modifiers(const Instruction& i) {
  return is_one_of(i.name(), {"v_cvt_pk_u8_f32", "v_cvt_pkaccum_u8_f32", "v_cvt_pknorm_i16_f32", "v_cvt_pknorm_u16_f32",
                              "v_div_scale_f32", "v_div_scale_f64"});
}

constexpr uint64_t mask_of(unsigned bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}
constexpr Bits wide_mask_of(unsigned bits) {
  return bits >= 128 ? ~Bits{0} : (Bits{1} << bits) - 1;
}

}  // namespace

std::string_view to_string(Class cls) {
  static constexpr std::string_view kNames[] = {"plain", "mode",   "scalar", "abs_neg", "clamp",
                                                "omod",  "op_sel", "sdwa",   "dpp"};
  return kNames[static_cast<size_t>(cls)];
}

unsigned dwords_of(Type type) {
  return type == Type::mask64 ? 2 : isa::type_dwords(type);
}

unsigned Instruction::vector_sources() const {
  return static_cast<unsigned>(
      std::count_if(sources.begin(), sources.end(), [](const Source& s) { return !s.is_literal && !s.is_old; }));
}

std::vector<Instruction> all_instructions() {
  std::vector<Instruction> all;
  for (unsigned number = 0; number < isa::kNumOpcodes; ++number) {
    const auto opcode = static_cast<isa::Opcode>(number);
    const Entry* entry = find(isa::opcode_name(opcode));
    if (entry == nullptr) continue;
    Instruction i;
    i.entry = entry;
    i.opcode = opcode;
    i.row = &isa::row_of(opcode);
    Type old = Type::none;
    for (const isa::OperandSpec& spec : i.row->specs()) {
      if (spec.type == Type::mask64) {
        (spec.dst ? i.has_mask_result : i.has_mask_source) = true;
        continue;
      }
      if (spec.dst) {
        i.result = spec.type;
        // v_mad_mixlo and the like keep a half and do not compute with it.
        if (spec.src && !i.row->has(flag::mix)) old = spec.type;
      } else {
        const bool neg = (isa::is_float(spec.type) || spec.type == Type::v2f16 || spec.type == Type::v2f32 ||
                          spec.mods == isa::Mods::both) &&
                         spec.mods != isa::Mods::ignored &&
                         !(i.row->format == isa::Format::vop3p && !isa::is_float(spec.type) &&
                           spec.type != Type::v2f16 && spec.type != Type::v2f32);
        i.sources.push_back({.type = spec.type, .is_literal = spec.is_literal, .takes_neg = neg && !spec.is_literal});
      }
    }
    if (old != Type::none) i.sources.push_back({.type = old, .is_old = true});
    i.reads_vcc = i.row->has(flag::reads_vcc);
    i.has_mask_source |= i.reads_vcc;
    i.writes_exec = i.row->has(flag::writes_exec);
    all.push_back(std::move(i));
  }
  return all;
}

bool has_class(const Instruction& i, Class cls, isa::Target target) {
  if (!isa::available(i.opcode, target)) return false;
  const isa::Family family = isa::family_of(target);
  const bool gfx9 = family >= isa::Family::gfx9, only_e64 = only_long(i, target);
  const bool is_compare = i.row->format == isa::Format::vopc;
  const bool has_e64 = !i.row->has(flag::no_e64);
  const bool float_result = format_of(i.result) != nullptr;
  switch (cls) {
    case Class::plain:
      return true;
    case Class::mode:
      return i.row->has(flag::reads_mode);
    case Class::scalar:
      return !is_vop3p(i) && !i.sources[0].is_literal && dwords_of(i.sources[0].type) <= 2 &&
             !isa::is_packed(i.sources[0].type) &&
             // LLVM takes no constants of half precision before GFX8.
             !(i.sources[0].type == Type::f16 && family < isa::Family::gfx8);
    case Class::abs_neg:
      return takes_neg(i) && has_e64 && !without_modifiers(i) && i.name() != "v_pk_mov_b32";
    case Class::clamp:
      if (!i.row->has(flag::clamp) || !has_e64 || is_compare || without_modifiers(i) || i.name() == "v_pk_mov_b32")
        return false;
      // Packed results of conversions are not clamped; integer clamping came with GFX8.
      if (i.name() == "v_cvt_pkrtz_f16_f32" || i.name() == "v_pack_b32_f16") return false;
      if (!float_result) return family >= isa::Family::gfx8 && !i.row->has(flag::reads_mode);
      return true;
    case Class::omod:
      return i.row->has(flag::omod) && has_e64 && float_result &&
             (!isa::is_packed(i.result) || i.row->has(flag::fp8)) && !without_modifiers(i);
    case Class::op_sel:
      return (i.row->has(flag::op_sel) && gfx9) ||
             (is_vop3p(i) && !(family == isa::Family::gfx940 && i.name().starts_with("v_dot")) &&
              !is_one_of(i.name(), {"v_dot4_i32_i8", "v_dot4_u32_u8", "v_dot8_i32_i4", "v_dot8_u32_u4"}));
    case Class::sdwa:
      return (i.row->has(flag::sdwa) || (i.row->has(flag::sdwa8) && family == isa::Family::gfx8)) &&
             family >= isa::Family::gfx8 && !only_e64;
    case Class::dpp:
      if (i.row->has(flag::dpp90a)) return family >= isa::Family::gfx90a && !only_e64;
      return i.row->has(flag::dpp) && family >= isa::Family::gfx8 && !only_e64;
  }
  return false;
}

namespace {

Constant random_constant(Type type, bool literal, std::mt19937_64& rng) {
  const Format* format = format_of(type);
  struct Number {
    std::string_view text;
    int quarter;   // times four
    int exponent;  // of a float constant: 2^exponent
    bool negative;
  };
  static constexpr Number kFloats[] = {{"0.5", 0, -1, false}, {"-0.5", 0, -1, true}, {"1.0", 0, 0, false},
                                       {"-1.0", 0, 0, true},  {"2.0", 0, 1, false},  {"-2.0", 0, 1, true},
                                       {"4.0", 0, 2, false},  {"-4.0", 0, 2, true}};
  static constexpr Constant kInts[] = {
      {"0", 0}, {"1", 1}, {"31", 31}, {"64", 64}, {"-1", ~uint64_t{0}}, {"-16", ~uint64_t{15}}};
  const unsigned bits = isa::is_16bit(type) ? 16 : 32 * dwords_of(type);
  if (literal && bits == 32) {
    static constexpr Constant kLiterals[] = {
        {"0x40490fdb", 0x40490fdb}, {"0x80000123", 0x80000123}, {"0xbf7fffff", 0xbf7fffff}, {"0x12345678", 0x12345678}};
    return kLiterals[rng() % std::size(kLiterals)];
  }
  if (format != nullptr && rng() % 2 != 0) {
    const Number& n = kFloats[rng() % std::size(kFloats)];
    return {n.text,
            static_cast<uint64_t>(format->bias() + n.exponent) << format->fraction | (n.negative ? format->sign() : 0)};
  }
  Constant c = kInts[rng() % std::size(kInts)];
  c.bits &= mask_of(bits);
  return c;
}

// Bits for which `takes` is true, at least one of them set.
template <typename Takes>
unsigned random_bits(std::mt19937_64& rng, unsigned count, Takes takes) {
  unsigned allowed = 0;
  for (unsigned i = 0; i < count; ++i) allowed |= takes(i) ? 1u << i : 0;
  for (;;)
    if (const unsigned bits = static_cast<unsigned>(rng()) & allowed; bits != 0 || allowed == 0) return bits;
}

}  // namespace

Modifiers random_modifiers(const Instruction& i, Class cls, isa::Target target, std::mt19937_64& rng,
                           unsigned variant) {
  Modifiers m;
  const isa::Family family = isa::family_of(target);
  const auto count = static_cast<unsigned>(i.sources.size());
  const auto with_neg = [&](unsigned s) { return i.sources[s].takes_neg; };
  const bool short_form = has_short_form(i) && !only_long(i, target);
  const bool has_e64 = !i.row->has(flag::no_e64);
  if (i.row->has(flag::mix)) m.op_sel_hi = 0;  // binary32 throughout
  if (short_form && (!has_e64 || (variant % 2 == 0 && (cls == Class::plain || cls == Class::mode))))
    m.encoding = Encoding::e32;
  m.literal = static_cast<uint32_t>(rng());
  if (rng() % 2 != 0) m.literal = 0x3f800000 + static_cast<uint32_t>(rng() % 0x1000000);
  for (const Source& s : i.sources)
    if (s.is_literal && isa::is_16bit(s.type)) m.literal = m.literal >> 16;
  // Inline constants would be printed otherwise.
  if (m.literal <= 64 || m.literal >= 0xfffffff0) m.literal = 0x3c01;
  const auto negate = [&] {
    if (is_vop3p(i) && !i.row->has(flag::mix)) {
      m.neg_lo = random_bits(rng, count, with_neg);
      const auto packed = [&](unsigned s) { return with_neg(s) && isa::is_packed(i.sources[s].type); };
      m.neg_hi = random_bits(rng, count, packed);
    } else {
      m.neg = random_bits(rng, count, with_neg);
      m.abs = static_cast<unsigned>(rng()) & random_bits(rng, count, with_neg);
    }
  };
  switch (cls) {
    case Class::plain:
    case Class::mode:
      break;
    case Class::scalar: {
      // One SGPR or literal is all that these processors read: masks and literals are one already.
      const bool alone = !i.has_mask_source &&
                         std::none_of(i.sources.begin(), i.sources.end(), [](const Source& s) { return s.is_literal; });
      const bool literal = alone && short_form && variant % 4 == 3;
      if (literal) m.encoding = Encoding::e32;
      m.first = alone && variant % 2 == 0 ? Modifiers::First::sgpr : Modifiers::First::constant;
      m.constant = random_constant(i.sources[0].type, literal, rng);
      break;
    }
    case Class::abs_neg:
      negate();
      break;
    case Class::clamp:
      m.clamp = true;
      if (takes_neg(i) && variant % 4 == 3) negate();
      break;
    case Class::omod:
      m.omod = 1 + variant % 3;
      m.clamp = variant % 2 != 0;
      break;
    case Class::op_sel:
      if (is_vop3p(i)) {
        m.op_sel = static_cast<unsigned>(rng()) & mask_of(count - (i.sources.back().is_old ? 1 : 0));
        m.op_sel_hi = static_cast<unsigned>(rng()) & 7;
        if (!i.row->has(flag::mix)) {  // unpacked sources have no halves
          for (unsigned s = 0; s < count; ++s)
            if (!isa::is_packed(i.sources[s].type)) m.op_sel &= ~(1u << s), m.op_sel_hi |= 1u << s;
        } else {
          m.op_sel &= m.op_sel_hi;  // of binary32 there are no halves
        }
      } else if (replaces_part(i)) {
        m.op_sel = i.row->has(flag::stochastic) ? static_cast<unsigned>(rng() % 4) << 2
                                                : static_cast<unsigned>(rng() % 2) << 3;
      } else {
        m.op_sel = random_bits(rng, count, [&](unsigned s) { return isa::is_16bit(i.sources[s].type); });
        if (isa::is_16bit(i.result)) m.op_sel |= static_cast<unsigned>(rng() % 2) << 3;
      }
      if (i.row->has(flag::clamp) && variant % 4 == 3 && i.name() != "v_pk_mov_b32" && i.result != Type::b32 &&
          !(i.row->has(flag::reads_mode) && format_of(i.result) == nullptr))
        m.clamp = true;
      break;
    case Class::sdwa: {
      m.encoding = Encoding::sdwa;
      for (unsigned& select : m.select) select = static_cast<unsigned>(rng() % 7);
      if (i.row->has(flag::fp8)) break;  // nothing else
      if (i.result != Type::none && !(i.sources.back().is_old)) {
        m.dst_select = static_cast<unsigned>(rng() % 7);
        m.dst_unused = static_cast<unsigned>(rng() % 3);
      }
      for (unsigned s = 0; s < count; ++s) {
        if (i.sources[s].is_old) continue;
        if (!i.sources[s].takes_neg || !isa::is_float(i.sources[s].type)) {
          // GFX940's v_cndmask has the modifiers of floating-point numbers (LLVM).
          if (family == isa::Family::gfx940 && i.name() == "v_cndmask_b32") continue;
          m.sext |= static_cast<unsigned>(rng() % 2) << s;
        } else if (variant % 2 != 0) {
          m.neg |= static_cast<unsigned>(rng() % 2) << s;
          m.abs |= static_cast<unsigned>(rng() % 2) << s;
        }
      }
      if (i.row->has(flag::clamp) && variant % 4 == 2 && has_class(i, Class::clamp, target)) m.clamp = true;
      if (i.row->has(flag::omod) && variant % 8 == 5 && family >= isa::Family::gfx9 &&
          has_class(i, Class::omod, target))
        m.omod = 1 + static_cast<unsigned>(rng() % 3);
      break;
    }
    case Class::dpp: {
      m.encoding = Encoding::dpp;
      m.control = static_cast<DppControl>((variant + rng() % 2 * 4) % 12);
      if (is_64bit(i)) m.control = DppControl::row_newbcast;
      for (unsigned& lane : m.quad) lane = static_cast<unsigned>(rng() % 4);
      m.amount = static_cast<unsigned>(1 + rng() % 15);
      if (rng() % 2 != 0) m.row_mask = static_cast<unsigned>(rng() % 16);
      if (rng() % 2 != 0) m.bank_mask = static_cast<unsigned>(rng() % 16);
      m.bound = rng() % 2 != 0;
      if (variant % 2 != 0) {
        for (unsigned s = 0; s < count; ++s) {
          if (!i.sources[s].takes_neg || isa::is_packed(i.sources[s].type) || !isa::is_float(i.sources[s].type))
            continue;
          m.neg |= static_cast<unsigned>(rng() % 2) << s;
          m.abs |= static_cast<unsigned>(rng() % 2) << s;
        }
      }
      break;
    }
  }
  return m;
}

// ---- Assembly ----

namespace {

std::string vgprs(unsigned first, unsigned dwords) {
  return dwords == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + dwords - 1);
}
std::string sgprs(unsigned first, unsigned dwords) {
  return dwords == 1 ? fmt::format("s{}", first) : fmt::format("s[{}:{}]", first, first + dwords - 1);
}
std::string bit_list(unsigned bits, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", bits >> i & 1);
  return "[" + text + "]";
}

constexpr std::string_view kSelects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
constexpr std::string_view kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};

std::string dpp_text(const Modifiers& m) {
  std::string text;
  switch (m.control) {
    case DppControl::quad_perm:
      text = fmt::format("quad_perm:[{},{},{},{}]", m.quad[0], m.quad[1], m.quad[2], m.quad[3]);
      break;
    case DppControl::row_shl:
      text = fmt::format("row_shl:{}", m.amount);
      break;
    case DppControl::row_shr:
      text = fmt::format("row_shr:{}", m.amount);
      break;
    case DppControl::row_ror:
      text = fmt::format("row_ror:{}", m.amount);
      break;
    case DppControl::row_mirror:
      text = "row_mirror";
      break;
    case DppControl::row_half_mirror:
      text = "row_half_mirror";
      break;
    case DppControl::wave_shl:
      text = "wave_shl:1";
      break;
    case DppControl::wave_rol:
      text = "wave_rol:1";
      break;
    case DppControl::wave_shr:
      text = "wave_shr:1";
      break;
    case DppControl::wave_ror:
      text = "wave_ror:1";
      break;
    case DppControl::row_bcast15:
      text = "row_bcast:15";
      break;
    case DppControl::row_bcast31:
      text = "row_bcast:31";
      break;
    case DppControl::row_newbcast:
      text = fmt::format("row_newbcast:{}", m.amount);
      break;
  }
  return fmt::format(" {} row_mask:{:#x} bank_mask:{:#x}{}", text, m.row_mask, m.bank_mask,
                     m.bound ? " bound_ctrl:0" : "");
}

}  // namespace

bool through_vcc(const Instruction& i, const Modifiers& m) {
  return i.reads_vcc || ((i.has_mask_source || i.has_mask_result) && m.encoding != Encoding::e64);
}

std::string assembly(const Instruction& i, const Modifiers& m, isa::Target target, const Registers& r) {
  std::string text(isa::printed_name(i.opcode, isa::family_of(target)));
  if (!i.row->has(flag::no_suffix)) {
    if (m.encoding == Encoding::sdwa) text += "_sdwa";
    if (m.encoding == Encoding::dpp) text += "_dpp";
    if (has_short_form(i) && m.encoding == Encoding::e32) text += "_e32";
    if (has_short_form(i) && m.encoding == Encoding::e64) text += "_e64";
  }
  const bool vcc = through_vcc(i, m);
  std::string separator = " ";
  const auto operand = [&](const std::string& what) {
    text += separator + what;
    separator = ", ";
  };
  if (i.result != Type::none) operand(vgprs(r.result(), dwords_of(i.result)));
  if (i.has_mask_result) operand(vcc ? "vcc" : sgprs(r.mask_out(), 2));
  unsigned source = 0;
  for (unsigned s = 0; s < i.sources.size(); ++s) {
    if (i.sources[s].is_old) continue;
    if (i.sources[s].is_literal) {
      operand(fmt::format("{:#x}", m.literal));
      continue;
    }
    const unsigned dwords = dwords_of(i.sources[s].type);
    std::string name = vgprs(r.source(source++), dwords);
    if (s == 0 && m.first == Modifiers::First::sgpr) name = sgprs(r.uniform(), dwords);
    if (s == 0 && m.first == Modifiers::First::constant) name = m.constant.text;
    if ((m.abs >> s & 1) != 0) name = "|" + name + "|";
    if ((m.neg >> s & 1) != 0) name = "-" + name;
    if ((m.sext >> s & 1) != 0) name = "sext(" + name + ")";
    operand(name);
  }
  if (i.has_mask_source && !i.reads_vcc) operand(vcc ? "vcc" : sgprs(r.mask_in(), 2));
  const unsigned count = i.vector_sources();
  if (is_vop3p(i)) {
    if (m.op_sel != 0) text += " op_sel:" + bit_list(m.op_sel, count);
    const unsigned usual = i.row->has(flag::mix) ? 0 : 7;
    if (((m.op_sel_hi ^ usual) & mask_of(count)) != 0) text += " op_sel_hi:" + bit_list(m.op_sel_hi, count);
    if (m.neg_lo != 0) text += " neg_lo:" + bit_list(m.neg_lo, count);
    if (m.neg_hi != 0) text += " neg_hi:" + bit_list(m.neg_hi, count);
  } else if (m.op_sel != 0) {
    text += " op_sel:" + bit_list(m.op_sel & 7, count);
    // The destination's bit follows those of the sources.
    text.back() = ',';
    if (i.row->has(flag::stochastic)) text += fmt::format("{},", m.op_sel >> 2 & 1);
    text += fmt::format("{}]", m.op_sel >> 3 & 1);
  }
  if (m.clamp) text += " clamp";
  if (m.omod != 0) text += m.omod == 1 ? " mul:2" : m.omod == 2 ? " mul:4" : " div:2";
  if (m.encoding == Encoding::sdwa) {
    if (i.result != Type::none && !i.row->has(flag::fp8))
      text += fmt::format(" dst_sel:{} dst_unused:{}", kSelects[m.dst_select], kUnused[m.dst_unused]);
    for (unsigned s = 0; s < std::min(count, 2u); ++s) text += fmt::format(" src{}_sel:{}", s, kSelects[m.select[s]]);
  }
  if (m.encoding == Encoding::dpp) text += dpp_text(m);
  return text;
}

std::string program(const Instruction& i, const Modifiers& m, isa::Target target, const Registers& r) {
  std::string text;
  const bool vcc = through_vcc(i, m);
  if (vcc && i.has_mask_source) text += fmt::format("s_mov_b64 vcc, {}\n", sgprs(r.mask_in(), 2));
  text += assembly(i, m, target, r) + "\n";
  if (vcc && i.has_mask_result) text += fmt::format("s_mov_b64 {}, vcc\n", sgprs(r.mask_out(), 2));
  if (i.writes_exec)
    text += fmt::format("s_mov_b64 {}, exec\ns_mov_b64 exec, {}\n", sgprs(r.exec_out(), 2), sgprs(kExecCopy, 2));
  return text;
}

// ---- Evaluation ----

namespace {

struct Field {
  unsigned at, width;
};
constexpr Field kFields[] = {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {0, 16}, {16, 16}, {0, 32}};

// The lane that DPP reads, or -1 (Vega ISA manual, "DPP").
int dpp_lane(const Modifiers& m, unsigned lane) {
  const auto row = static_cast<int>(lane & ~15u), within = static_cast<int>(lane & 15);
  const auto all = static_cast<int>(lane), amount = static_cast<int>(m.amount);
  switch (m.control) {
    case DppControl::quad_perm:
      return static_cast<int>((lane & ~3u) | m.quad[lane & 3]);
    case DppControl::row_shl:
      return within + amount < 16 ? all + amount : -1;
    case DppControl::row_shr:
      return within >= amount ? all - amount : -1;
    case DppControl::row_ror:
      return row | ((within - amount) & 15);
    case DppControl::row_mirror:
      return row | (15 - within);
    case DppControl::row_half_mirror:
      return (all & ~7) | (7 - (all & 7));
    case DppControl::wave_shl:
      return all < 63 ? all + 1 : -1;
    case DppControl::wave_rol:
      return (all + 1) & 63;
    case DppControl::wave_shr:
      return all > 0 ? all - 1 : -1;
    case DppControl::wave_ror:
      return (all - 1) & 63;
    case DppControl::row_bcast15:
      return row > 0 ? row - 1 : -1;
    case DppControl::row_bcast31:
      return lane >= 32 ? 31 : -1;
    case DppControl::row_newbcast:
      return row | amount;
  }
  return -1;
}

uint64_t omod_result(const Env& e, uint64_t x, unsigned omod) {
  const Format& f = e.format;
  if (omod == 0 || e.ieee || !e.flush_out) return x;
  x = e.input(x);
  if (f.is_finite(x) && !f.is_zero(x)) x = ldexp(e, x, omod == 3 ? -1 : static_cast<int>(omod));
  return x == f.sign() ? 0 : x;
}
uint64_t clamp_result(const Env& e, uint64_t x) {
  const Format& f = e.format;
  if (f.is_nan(x)) return e.dx10_clamp ? 0 : f.nan();
  x = e.input(x);
  if (f.negative(x) || f.is_zero(x)) return 0;
  return less(f, f.one(), x) ? f.one() : x;
}

// A source after its modifiers, as the model wants it.
Bits modified(const Instruction& i, const Modifiers& m, const Lane& l, unsigned s, Bits value) {
  const Source& source = i.sources[s];
  if (source.is_old || source.is_literal) {
    return isa::is_16bit(source.type) ? value & 0xffff : value;
  }
  if (m.encoding == Encoding::sdwa && s < 2) {
    const Field field = kFields[m.select[s]];
    uint64_t bits = static_cast<uint64_t>(value) >> field.at & mask_of(field.width);
    if ((m.sext >> s & 1) != 0)
      bits = static_cast<uint32_t>(static_cast<int32_t>(bits << (32 - field.width)) >> (32 - field.width));
    value = bits;
  }
  if (i.row->has(flag::mix)) {
    // op_sel_hi: a half that op_sel chooses, else binary32.
    uint64_t bits = static_cast<uint32_t>(value);
    if ((m.op_sel_hi >> s & 1) != 0) {
      const uint64_t half = bits >> ((m.op_sel >> s & 1) != 0 ? 16 : 0) & 0xffff;
      bits = convert(i.name().starts_with("v_mad_mix") ? flushing(l.f16) : l.f16, exact(kF32), half);
      if (kF16.is_signalling(half)) bits ^= kF32.quiet_bit() | 1;  // it still is
    }
    if ((m.abs >> s & 1) != 0) bits &= ~kF32.sign();
    if ((m.neg >> s & 1) != 0) bits ^= kF32.sign();
    return bits;
  }
  if (is_vop3p(i) && isa::is_packed(source.type)) {
    const unsigned bits = source.type == Type::v2f32 ? 32 : 16;
    uint64_t low = static_cast<uint64_t>(value) >> ((m.op_sel >> s & 1) != 0 ? bits : 0) & mask_of(bits);
    uint64_t high = static_cast<uint64_t>(value) >> ((m.op_sel_hi >> s & 1) != 0 ? bits : 0) & mask_of(bits);
    const uint64_t sign = uint64_t{1} << (bits - 1);
    if ((m.neg_lo >> s & 1) != 0) low ^= sign;
    if ((m.neg_hi >> s & 1) != 0) high ^= sign;
    return low | high << bits;
  }
  if ((m.op_sel >> s & 1) != 0 && !is_vop3p(i)) value >>= 16;
  if (isa::is_16bit(source.type)) value &= 0xffff;
  if (source.takes_neg) {
    const unsigned width = isa::is_16bit(source.type) ? 16 : 32 * dwords_of(source.type);
    const Bits sign = Bits{1} << (width - 1);
    // neg_lo of a source of VOP3P that is not packed.
    if ((m.abs >> s & 1) != 0) value &= ~sign;
    if (((m.neg | m.neg_lo) >> s & 1) != 0) value ^= sign;
  }
  return value;
}

const Env& env_of_type(const Lane& l, Type type) {
  const Format* f = format_of(type);
  return f->bits == 16 ? l.f16 : f->bits == 32 ? l.f32 : l.f64;
}

// Places a result in its register(s).
void place(const Instruction& i, const Modifiers& m, const Lane& l, Bits value, Bits old, LaneResult& out) {
  const Format* f = format_of(i.result);
  const bool copies = is_one_of(i.name(), {"v_pk_mov_b32"});  // typed as floating point, but bits
  out = {};
  if (f != nullptr && isa::is_packed(i.result) && !copies) {
    const unsigned bits = f->bits;
    Bits result = 0;
    for (unsigned half = 0; half < 2; ++half) {
      auto x = static_cast<uint64_t>(value >> bits * half) & mask_of(bits);
      x = omod_result(env_of_type(l, i.result), x, m.omod);
      if (m.clamp) x = clamp_result(env_of_type(l, i.result), x);
      if (f->is_nan(x))
        out.nans |= static_cast<uint8_t>((bits == 16 ? LaneResult::kNan16Low : LaneResult::kNan32Low) << half);
      result |= Bits{x} << bits * half;
    }
    out.bits = result;
    return;
  }
  uint64_t high = l.high;
  if (f != nullptr && !copies) {
    const Env& e = env_of_type(l, i.result);
    auto x = static_cast<uint64_t>(value);
    for (uint64_t* end : {&x, &high}) {
      *end = omod_result(e, *end, m.omod);
      if (m.clamp) *end = clamp_result(e, *end);
      if (!l.is_interval) break;
    }
    value = x;
  }
  const bool nan = f != nullptr && !copies && f->is_nan(static_cast<uint64_t>(value));
  const bool interval = l.is_interval && static_cast<uint64_t>(value) != high && !nan;
  if (interval && l.exact_only) return void(out.is_anything = true);
  Field field{0, isa::is_16bit(i.result) ? 16 : 32 * dwords_of(i.result)};
  Bits rest = 0;
  if (m.encoding == Encoding::sdwa) {
    field = kFields[m.dst_select];
    if (field.width == 32) {
      field.width = isa::is_16bit(i.result) ? 16 : 32;
    } else {
      const Bits mask = Bits{mask_of(field.width)} << field.at;
      if (m.dst_unused == 2) rest = old & ~mask & 0xffffffff;
      if (m.dst_unused == 1 && (value >> (field.width - 1) & 1) != 0)
        rest = ~Bits{mask_of(field.at + field.width)} & 0xffffffff;
      const unsigned width = f == nullptr ? 0 : f->bits;
      // A part of a number that is not known exactly.
      if ((nan || interval) && width != field.width) return void(out.is_anything = true);
      if ((nan || interval) && m.dst_unused == 1) return void(out.is_anything = true);
    }
  } else if (isa::is_16bit(i.result)) {
    const bool upper = (m.op_sel & 8) != 0 || is_one_of(i.name(), {"v_mad_mixhi_f16", "v_fma_mixhi_f16"});
    if (upper) {
      field.at = 16;
      rest = old & 0xffff;
    } else if (l.family >= isa::Family::gfx9 && keeps_high(i.name())) {
      rest = old & 0xffff0000;
    }
  }
  out.bits = rest | (value & wide_mask_of(field.width)) << field.at;
  if (nan) {
    out.nans = f->bits == 16   ? (field.at == 16 ? LaneResult::kNan16High : LaneResult::kNan16Low)
               : f->bits == 32 ? LaneResult::kNan32Low
                               : LaneResult::kNan64;
  }
  if (interval) {
    out.is_interval = true;
    out.high = high;
    out.field_at = static_cast<uint8_t>(field.at);
    out.format = f;
  }
}

}  // namespace

void evaluate(const Instruction& i, const Modifiers& m, isa::Family family, const WaveInput& input,
              WaveResult& result) {
  Lane common;
  common.family = family;
  common.f16 = env_of(kF16, input.mode);
  common.f32 = env_of(kF32, input.mode);
  common.f64 = env_of(kF64, input.mode);
  common.clamp = m.clamp;
  common.exact_only = input.exact_only;
  common.op_sel = m.op_sel;
  const unsigned result_dwords = i.result == Type::none ? 0 : dwords_of(i.result);
  result.mask = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    Bits old = 0;
    for (unsigned d = 0; d < result_dwords; ++d)
      old |= Bits{input.old[d] != nullptr ? input.old[d][lane] : kOld} << 32 * d;
    LaneResult& out = result.lanes[lane];
    out = {};
    out.bits = old;
    if ((input.exec >> lane & 1) == 0) continue;
    int from = static_cast<int>(lane);
    if (m.encoding == Encoding::dpp) {
      from = dpp_lane(m, lane);
      if (from >= 0 && (input.exec >> from & 1) == 0) from = -1;
      if ((m.row_mask >> (lane / 16) & 1) == 0 || (m.bank_mask >> (lane % 16 / 4) & 1) == 0 || (from < 0 && !m.bound))
        continue;
    }
    Lane l = common;
    l.number = lane;
    l.carry_in = (input.carry >> lane & 1) != 0;
    Bits values[4] = {};
    unsigned row = 0;
    for (unsigned s = 0; s < i.sources.size(); ++s) {
      const Source& source = i.sources[s];
      Bits value = 0;
      if (source.is_old) {
        value = old;
      } else if (source.is_literal) {
        value = m.literal;
      } else if (s == 0 && m.first == Modifiers::First::sgpr) {
        value = input.uniform & mask_of(32 * dwords_of(source.type));
        ++row;
      } else if (s == 0 && m.first == Modifiers::First::constant) {
        value = m.constant.bits;
        ++row;
      } else {
        for (unsigned d = 0; d < dwords_of(source.type); ++d)
          if (s != 0 || from >= 0)
            value |= Bits{input.source[row][d][s == 0 ? from : static_cast<int>(lane)]} << 32 * d;
        ++row;
      }
      values[s] = modified(i, m, l, s, value);
    }
    if (input.raises != nullptr) out.raised = static_cast<uint8_t>(input.raises(l, values));
    const Bits value = i.entry->model(l, values);
    if (i.result == Type::none) {
      if (value != 0) result.mask |= uint64_t{1} << lane;
      continue;
    }
    if (l.carry_out) result.mask |= uint64_t{1} << lane;
    const uint8_t raised = out.raised;
    place(i, m, l, value, old, out);
    out.raised = raised;
  }
}

bool agrees(const LaneResult& want, Bits got) {
  if (want.is_anything || want.bits == got) return true;
  if (want.is_interval) {
    const Format& f = *want.format;
    const Bits mask = Bits{mask_of(f.bits)} << want.field_at;
    if ((want.bits & ~mask) != (got & ~mask)) return false;
    const auto low = static_cast<uint64_t>(want.bits >> want.field_at) & mask_of(f.bits);
    const auto x = static_cast<uint64_t>(got >> want.field_at) & mask_of(f.bits);
    return !f.is_nan(x) && !less(f, x, low) && !less(f, want.high, x);
  }
  Bits expected = want.bits;
  const auto clear = [&](const Format& f, unsigned at) {
    const Bits mask = Bits{mask_of(f.bits)} << at;
    if (!f.is_nan(static_cast<uint64_t>(got >> at) & mask_of(f.bits))) return;
    expected &= ~mask;
    got &= ~mask;
  };
  if ((want.nans & LaneResult::kNan16Low) != 0) clear(kF16, 0);
  if ((want.nans & LaneResult::kNan16High) != 0) clear(kF16, 16);
  if ((want.nans & LaneResult::kNan32Low) != 0) clear(kF32, 0);
  if ((want.nans & LaneResult::kNan32High) != 0) clear(kF32, 32);
  if ((want.nans & LaneResult::kNan64) != 0) clear(kF64, 0);
  return expected == got;
}

}  // namespace wavejit::model
