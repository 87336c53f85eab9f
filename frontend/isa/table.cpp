// The instruction tables, parsed and indexed at compile time.
#include <array>

#include "frontend/isa/row.h"
#include "internal/check.h"

namespace wavejit::isa {
namespace {

// ---- Operand mini-language (see row.h) ----

struct Named {
  std::string_view name;
  Slot slot;
};
constexpr Named kSlots[] = {
    {"vdst", Slot::vdst},     {"sdst", Slot::sdst},     {"src0", Slot::src0},       {"src1", Slot::src1},
    {"src2", Slot::src2},     {"src3", Slot::src3},     {"vsrc", Slot::src0},       {"vdata", Slot::vdata},
    {"srsrc", Slot::srsrc},   {"ssamp", Slot::ssamp},   {"vaddr", Slot::vaddr},     {"sbase", Slot::sbase},
    {"sdata", Slot::sdata},   {"addr", Slot::addr},     {"data0", Slot::data0},     {"data1", Slot::data1},
    {"simm16", Slot::simm16}, {"target", Slot::target}, {"literal", Slot::literal}, {"attr", Slot::implicit},
};
struct NamedType {
  std::string_view name;
  Type type;
};
constexpr NamedType kTypes[] = {
    {"b16", Type::b16},     {"i16", Type::i16},     {"u16", Type::u16},       {"f16", Type::f16},
    {"b32", Type::b32},     {"i32", Type::i32},     {"u32", Type::u32},       {"f32", Type::f32},
    {"b64", Type::b64},     {"i64", Type::i64},     {"u64", Type::u64},       {"f64", Type::f64},
    {"v2b16", Type::v2b16}, {"v2i16", Type::v2i16}, {"v2u16", Type::v2u16},   {"v2f16", Type::v2f16},
    {"v2f32", Type::v2f32}, {"b96", Type::b96},     {"b128", Type::b128},     {"b256", Type::b256},
    {"b512", Type::b512},   {"b1024", Type::b1024}, {"mask64", Type::mask64},
};

consteval OperandSpec parse_operand(std::string_view word) {
  OperandSpec spec;
  size_t end = word.find_first_of("=:+");
  const std::string_view name = word.substr(0, end);
  for (const Named& s : kSlots)
    if (s.name == name) spec.slot = s.slot;
  if (spec.slot == Slot::none) throw "unknown operand slot";
  spec.is_attr = name == "attr";
  spec.is_literal = name == "literal";
  if (end == std::string_view::npos) return spec;
  spec.dst = word[end] != ':';
  spec.src = word[end] != '=';
  word.remove_prefix(end + 1);
  end = word.find_first_of("!~");
  const std::string_view type = word.substr(0, end);
  if (type.starts_with("d16x")) {
    spec.type = Type::b32;
    spec.d16_components = static_cast<uint8_t>(type[4] - '0');
  }
  for (const NamedType& t : kTypes)
    if (t.name == type) spec.type = t.type;
  if (spec.type == Type::none) throw "unknown operand type";
  spec.dwords = static_cast<uint8_t>(type_dwords(spec.type));
  while (end != std::string_view::npos) {
    const char kind = word[end], value = word[end + 1];
    if (kind == '!') {
      spec.reg_class = value == 'v'   ? RegClass::vector
                       : value == 's' ? RegClass::scalar
                       : value == 'a' ? RegClass::accumulator
                                      : throw "unknown register class";
    } else {
      spec.mods = value == 'm'   ? Mods::both
                  : value == 's' ? Mods::sext
                  : value == 'i' ? Mods::ignored
                                 : throw "unknown modifier class";
    }
    end = word.find_first_of("!~", end + 1);
  }
  return spec;
}

consteval Row make_row(std::string_view name, Format format, std::array<int16_t, kNumFamilies> number, Needs needs,
                       std::string_view operands, uint64_t flags, std::string_view old_names) {
  // "gfx940=name" stands alone. One old name: GFX6 to GFX8 print it; two: GFX8's, then that of GFX6 and GFX7.
  constexpr std::string_view kNew = "gfx940=";
  const std::string_view gfx940_name = old_names.starts_with(kNew) ? old_names.substr(kNew.size()) : "";
  if (!gfx940_name.empty()) old_names = "";
  const size_t between = old_names.find(' ');
  const std::string_view gfx8_name = old_names.substr(0, between);
  Row row{.name = name,
          .gfx8_name = gfx8_name,
          .gfx6_name = between == std::string_view::npos ? gfx8_name : old_names.substr(between + 1),
          .gfx940_name = gfx940_name,
          .format = format,
          .needs = needs,
          .flags = flags,
          .number = number};
  while (!operands.empty()) {
    const size_t space = operands.find(' ');
    row.operands[row.num_operands++] = parse_operand(operands.substr(0, space));
    operands = space == std::string_view::npos ? "" : operands.substr(space + 1);
  }
  return row;
}

consteval std::array<int16_t, kNumFamilies> numbers(int a, int b, int c, int d, int e, int f) {
  return {int16_t(a), int16_t(b), int16_t(c), int16_t(d), int16_t(e), int16_t(f)};
}

namespace rows {
using namespace flag;
constexpr int _ = -1;
#define N(...) numbers(__VA_ARGS__)
#define V3(n) (kVop3Only + (n))
#define WAVEJIT_INST(name, format, number, needs, operands, flags, old_names) \
  make_row(#name, Format::format, number, Needs::needs, operands, flags, old_names),
constexpr Row kRows[] = {
#include "frontend/isa/tables/all.def"
};
#undef WAVEJIT_INST
#undef V3
#undef N
}  // namespace rows
using rows::kRows;
static_assert(std::size(kRows) == kNumOpcodes);

// ---- Columns ----

constexpr Family kFamilyOfColumn[kNumColumns] = {Family::gfx6, Family::gfx7,   Family::gfx8,
                                                 Family::gfx9, Family::gfx9,   Family::gfx9,
                                                 Family::gfx9, Family::gfx90a, Family::gfx940};

constexpr bool column_has(Column column, Needs needs) {
  switch (needs) {
    case Needs::any:
      return true;
    case Needs::mad_mix:
      return column == Column::gfx900;
    case Needs::fma_mix:
      return column >= Column::gfx904;
    case Needs::dl:
    case Needs::dot:
      return column >= Column::gfx906;
    case Needs::dot_c:
    case Needs::mai:
    case Needs::atomic_fadd:
      return column >= Column::gfx908;
  }
  return false;
}

// ---- Lookup tables ----

using LookupTable = std::array<uint16_t, static_cast<size_t>(Space::end)>;

constexpr size_t slot_index(Space space, unsigned number) {
  return static_cast<size_t>(space) + number;
}

constexpr Space space_of(const Row& row) {
  switch (row.format) {
    case Format::sop1:
      return Space::sop1;
    case Format::sop2:
      return Space::sop2;
    case Format::sopc:
      return Space::sopc;
    case Format::sopk:
      return Space::sopk;
    case Format::sopp:
      return Space::sopp;
    case Format::smem:
      return Space::smem;
    case Format::vop1:
      return Space::vop1;
    case Format::vop2:
      return Space::vop2;
    case Format::vopc:
      return Space::vopc;
    case Format::vop3:
    case Format::vop3b:
    case Format::vop3p:
    case Format::mai:
      return Space::vop3;
    case Format::vintrp:
      return Space::vintrp;
    case Format::ds:
      return Space::ds;
    case Format::flat:
      return row.has(flag::global_segment)    ? Space::global
             : row.has(flag::scratch_segment) ? Space::scratch
                                              : Space::flat;
    case Format::mubuf:
      return Space::mubuf;
    case Format::mtbuf:
      return Space::mtbuf;
    case Format::mimg:
      return Space::mimg;
    case Format::exp:
      return Space::exp;
  }
  return Space::end;
}

// Where the VOP3 forms of shorter encodings start (Southern Islands, Sea Islands, GCN3 and Vega ISA, "VOP3 opcode
// numbers").
constexpr int vop3_base(const Row& row, Family family) {
  const bool nine_bits = family <= Family::gfx7;
  switch (row.format) {
    case Format::vopc:
      return 0;
    case Format::vop2:
      return 0x100;
    case Format::vop1:
      return nine_bits ? 0x180 : 0x140;
    case Format::vintrp:
      return nine_bits ? -1 : 0x270;
    case Format::vop3p:
    case Format::mai:
      return 0x380;
    default:
      return -1;
  }
}

consteval void put(LookupTable& table, Space space, int number, size_t opcode) {
  uint16_t& entry = table[slot_index(space, static_cast<unsigned>(number))];
  if (entry != kNumOpcodes) throw "two instructions of one target have the same encoding";
  entry = static_cast<uint16_t>(opcode);
}

consteval LookupTable make_lookup(Column column) {
  LookupTable table{};
  for (auto& entry : table) entry = kNumOpcodes;
  const auto family = static_cast<size_t>(kFamilyOfColumn[static_cast<size_t>(column)]);
  for (size_t i = 0; i < kNumOpcodes; ++i) {
    const Row& row = kRows[i];
    const int number = row.number[family];
    if (number < 0 || !column_has(column, row.needs)) continue;
    if (number >= kVop3Only) {
      put(table, Space::vop3, number - kVop3Only, i);
      continue;
    }
    const int base = vop3_base(row, kFamilyOfColumn[static_cast<size_t>(column)]);
    if (row.format == Format::vop3p || row.format == Format::mai) {
      put(table, Space::vop3, base + number, i);
      continue;
    }
    put(table, space_of(row), number, i);
    const bool has_e64 = !row.has(flag::no_e64) || row.has(flag::dot_e64);
    if (base >= 0 && has_e64) put(table, Space::vop3, base + number, i);
  }
  return table;
}

constexpr LookupTable kLookupGfx6 = make_lookup(Column::gfx6);
constexpr LookupTable kLookupGfx7 = make_lookup(Column::gfx7);
constexpr LookupTable kLookupGfx8 = make_lookup(Column::gfx8);
constexpr LookupTable kLookupGfx900 = make_lookup(Column::gfx900);
constexpr LookupTable kLookupGfx904 = make_lookup(Column::gfx904);
constexpr LookupTable kLookupGfx906 = make_lookup(Column::gfx906);
constexpr LookupTable kLookupGfx908 = make_lookup(Column::gfx908);
constexpr LookupTable kLookupGfx90a = make_lookup(Column::gfx90a);
constexpr LookupTable kLookupGfx940 = make_lookup(Column::gfx940);
constexpr const LookupTable* kLookup[kNumColumns] = {&kLookupGfx6,   &kLookupGfx7,   &kLookupGfx8,
                                                     &kLookupGfx900, &kLookupGfx904, &kLookupGfx906,
                                                     &kLookupGfx908, &kLookupGfx90a, &kLookupGfx940};

// ---- Public facts ----

consteval OpcodeInfo make_info(const Row& row) {
  OpcodeInfo info{};
  info.name = row.name;
  info.format = row.format;
  info.implicit = {
      .reads_scc = row.has(flag::reads_scc),
      .writes_scc = row.has(flag::writes_scc),
      .reads_vcc = row.has(flag::reads_vcc),
      .writes_vcc = row.has(flag::writes_vcc),
      .reads_exec = row.has(flag::reads_exec),
      .writes_exec = row.has(flag::writes_exec),
      .reads_m0 = row.has(flag::reads_m0),
      .writes_m0 = row.has(flag::writes_m0),
      .reads_mode = row.has(flag::reads_mode),
      .writes_mode = row.has(flag::writes_mode),
  };
  info.control_flow = row.has(flag::branches_always) ? ControlFlow::branch
                      : row.has(flag::branches)      ? ControlFlow::cond_branch
                      : row.has(flag::jumps)         ? ControlFlow::jump
                      : row.has(flag::forks)         ? ControlFlow::fork
                      : row.has(flag::calls)         ? ControlFlow::call
                      : row.has(flag::ends)          ? ControlFlow::end
                      : row.has(flag::barrier)       ? ControlFlow::barrier
                      : row.has(flag::traps)         ? ControlFlow::trap
                                                     : ControlFlow::none;
  info.is_memory = row.has(flag::memory);
  info.is_store = row.has(flag::store);
  info.is_atomic = row.has(flag::atomic);
  info.is_cross_lane = row.has(flag::cross_lane);
  info.is_graphics = row.has(flag::graphics);
  info.number = row.number;
  return info;
}

constexpr OpcodeInfo kInfos[] = {
#define WAVEJIT_INST(name, ...) make_info(kRows[static_cast<size_t>(Opcode::name)]),
#include "frontend/isa/tables/all.def"
#undef WAVEJIT_INST
};

}  // namespace

const Row& row_of(Opcode opcode) {
  WAVEJIT_CHECK(opcode < Opcode::kCount);
  return kRows[static_cast<size_t>(opcode)];
}

const OpcodeInfo& info(Opcode opcode) {
  WAVEJIT_CHECK(opcode < Opcode::kCount);
  return kInfos[static_cast<size_t>(opcode)];
}

std::optional<uint64_t> branch_target(const Instruction& inst) {
  const Operand* target = inst.find(Slot::target);
  if (!target) return std::nullopt;
  return inst.next_pc() + target->value;  // the distance is signed; the addition wraps
}

std::string_view opcode_name(Opcode opcode) {
  return row_of(opcode).name;
}

std::string_view printed_name(Opcode opcode, Family family) {
  const Row& row = row_of(opcode);
  const std::string_view other = family == Family::gfx940 ? row.gfx940_name
                                 : family == Family::gfx8 ? row.gfx8_name
                                 : family < Family::gfx8  ? row.gfx6_name
                                                          : std::string_view();
  return other.empty() ? row.name : other;
}

Column column_of(Target target) {
  switch (target) {
    case Target::gfx600:
    case Target::gfx601:
    case Target::gfx602:
      return Column::gfx6;
    case Target::gfx700:
    case Target::gfx701:
    case Target::gfx702:
    case Target::gfx703:
    case Target::gfx704:
    case Target::gfx705:
      return Column::gfx7;
    case Target::gfx801:
    case Target::gfx802:
    case Target::gfx803:
    case Target::gfx805:
    case Target::gfx810:
      return Column::gfx8;
    case Target::gfx900:
    case Target::gfx902:
    case Target::gfx909:
    case Target::gfx90c:
      return Column::gfx900;
    case Target::gfx904:
      return Column::gfx904;
    case Target::gfx906:
      return Column::gfx906;
    case Target::gfx908:
      return Column::gfx908;
    case Target::gfx90a:
      return Column::gfx90a;
    case Target::gfx940:
    case Target::gfx941:
    case Target::gfx942:
      return Column::gfx940;
    default:
      return Column::none;
  }
}

bool has_feature(Column column, Needs needs) {
  return column != Column::none && column_has(column, needs);
}

bool available(Opcode opcode, Target target) {
  const Column column = column_of(target);
  const Row& row = row_of(opcode);
  return column != Column::none && row.number[static_cast<size_t>(family_of(target))] >= 0 &&
         column_has(column, row.needs);
}

Opcode lookup(Column column, Space space, unsigned number) {
  return static_cast<Opcode>((*kLookup[static_cast<size_t>(column)])[slot_index(space, number)]);
}

}  // namespace wavejit::isa
