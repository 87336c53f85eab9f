#include "ir/signature.h"

#include <fmt/format.h>

#include "internal/lane_way.h"
#include "ir/matrix.h"

namespace wavejit::ir {
namespace {

// Matches types against the letters of one row. Letters that must agree with each other are bound at first sight.
class Matcher {
 public:
  // False when the type does not fit. A condition ('c') is remembered and judged by `conditions_fit`.
  bool match(char letter, Type type) {
    switch (letter) {
      case 'b':
        return type == kI1;
      case 's':
        return type == kI32;
      case 'd':
        return type == kI64;
      case 'm':
        return type == kMask;
      case 'v':
        return type == kV32;
      case 'w':
        return type == kV64;
      case '-':
        return type == kNone;
      case 'N':
        return is_integer(type) && bind(n_, type) && bind_shape(type.is_vector());
      case 'L':
        return type.kind != TypeKind::none && !type.is_tuple() && bind(l_, type);
      case 'T':
        return type.kind != TypeKind::none && bind(t_, type);
      case 'V':
        return (type == kI32 || type == kV32) && bind_shape(type.is_vector());
      case 'X':
        return (type == kI64 || type == kV64) && bind_shape(type.is_vector());
      case 'c':
        condition_ = type;
        return type == kI1 || type == kMask;
      default:
        return false;
    }
  }

  [[nodiscard]] bool conditions_fit() const {
    if (!condition_) return true;
    if (t_) return *condition_ == kI1 || t_->is_vector();
    return shape_ && (*condition_ == kMask) == *shape_;
  }

  [[nodiscard]] std::optional<Type> result(char letter) const {
    switch (letter) {
      case 'b':
        return kI1;
      case 's':
        return kI32;
      case 'd':
        return kI64;
      case 'm':
        return kMask;
      case 'v':
        return kV32;
      case 'w':
        return kV64;
      case '-':
        return kNone;
      case 'N':
        return n_;
      case 'L':
        return l_;
      case 'T':
        return t_;
      case 'V':
        return shape_ ? std::optional(*shape_ ? kV32 : kI32) : std::nullopt;
      case 'X':
        return shape_ ? std::optional(*shape_ ? kV64 : kI64) : std::nullopt;
      case 'c':
        return shape_ ? std::optional(*shape_ ? kMask : kI1) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

 private:
  static bool is_integer(Type type) { return type == kI32 || type == kI64 || type == kV32 || type == kV64; }
  static bool bind(std::optional<Type>& slot, Type type) {
    if (!slot) slot = type;
    return *slot == type;
  }
  bool bind_shape(bool vector) {
    if (!shape_) shape_ = vector;
    return *shape_ == vector;
  }

  std::optional<Type> n_, l_, t_, condition_;
  std::optional<bool> shape_;
};

bool match_operands(Matcher& matcher, std::string_view letters, std::span<Inst* const> operands, std::string* why) {
  size_t index = 0;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == '*') return true;  // always the last letter
    if (index == operands.size()) break;
    if (!matcher.match(letters[i], operands[index]->type)) {
      if (why)
        *why =
            fmt::format("operand {} has type {}, the row wants '{}'", index, to_string(operands[index]->type), letters);
      return false;
    }
    ++index;
  }
  const size_t wanted = letters.size();
  if (operands.size() != wanted) {
    if (why) *why = fmt::format("{} operands, the row wants {}", operands.size(), wanted);
    return false;
  }
  if (!matcher.conditions_fit()) {
    if (why) *why = "the condition's type does not fit (i1 for scalars, mask for vectors)";
    return false;
  }
  return true;
}

std::string check_memory(const Inst& inst) {
  const MemAttr& mem = inst.mem;
  const bool atomic = inst.op == Op::atomic;
  const Space space = mem.space;
  switch (mem.form) {
    case AddressForm::base_offset:
    case AddressForm::base_only:
      if (space != Space::global) return "address forms with a 64-bit base are for the global space";
      break;
    case AddressForm::vector64:
      if (space != Space::global && space != Space::flat)
        return "64-bit lane addresses are for the global and flat spaces";
      break;
    case AddressForm::lds_offset:
      if (space != Space::lds) return "lds_offset is for the lds space";
      break;
    case AddressForm::scratch_off:
    case AddressForm::scratch_base:
      if (space != Space::scratch) return "scratch forms are for the scratch space";
      break;
  }
  if (mem.bytes != 1 && mem.bytes != 2 && mem.bytes != 4 && !(atomic && mem.bytes == 8))
    return fmt::format("element size {}", mem.bytes);
  if (mem.count < 1 || (atomic && mem.count != 1)) return fmt::format("element count {}", mem.count);

  static constexpr std::string_view kForms[] = {"dv", "d", "w", "v", "dv", "d"};  // order of AddressForm
  std::string letters = "m";
  letters += kForms[static_cast<unsigned>(mem.form)];
  const Type element = mem.bytes == 8 ? kV64 : kV32;
  if (atomic) {
    letters += mem.bytes == 8 ? 'w' : 'v';
    if (has_two_operands(mem.atomic_op)) letters += mem.bytes == 8 ? 'w' : 'v';
    if (inst.type != element && inst.type != kNone) return "an atomic returns the element type or none";
  } else if (inst.op == Op::store) {
    letters.append(mem.count, 'v');
  } else if (inst.type != Type{TypeKind::v32, mem.count}) {
    return "a load returns a v32 per element";
  }
  Matcher matcher;
  std::string why;
  match_operands(matcher, letters, inst.operands, &why);
  return why;
}

constexpr uint64_t kMaxFrameRows = 1024;

bool is_row_type(Type type, bool lanes) {
  return lanes ? type == kV32 || type == kV64 : type == kI32 || type == kI64;
}

std::string check_lane_access(const Inst& inst) {
  const MemAttr& mem = inst.mem;
  if (mem.form != AddressForm::base_only || mem.bytes > 4 || mem.count < 1)
    return "an access of one lane to an address";
  std::string letters = "bd";
  if (inst.op == Op::store_lane) letters.append(mem.count, 's');
  if (inst.op == Op::store_lane ? inst.type != kNone : inst.type != Type{TypeKind::i32, mem.count})
    return "load_lane returns an i32 per element, store_lane nothing";
  Matcher matcher;
  std::string why;
  match_operands(matcher, letters, inst.operands, &why);
  return why;
}

std::string check_attributes(const Inst& inst) {
  const auto limit = [&](uint64_t end, std::string_view what) {
    return inst.imm < end ? std::string() : fmt::format("{} {} is out of range", what, inst.imm);
  };
  switch (inst.op) {
    case Op::const_:
      return truncate_to(inst.type, inst.imm) == inst.imm ? "" : "constant has bits beyond its type";
    case Op::get_sgpr:
    case Op::set_sgpr:
      return limit(128, "scalar register");
    case Op::get_sgpr64:
    case Op::set_sgpr64:
    case Op::get_mask:
    case Op::set_mask:
      return limit(127, "scalar register pair");
    case Op::get_vgpr:
    case Op::set_vgpr:
    case Op::read_row:
    case Op::write_row:
      return limit(512, "vector register row");
    case Op::icmp:
      return inst.attr <= static_cast<uint32_t>(ICmp::sge) ? "" : "unknown predicate";
    case Op::fcmp_f16:
    case Op::fcmp_f32:
    case Op::fcmp_f64:
      return (inst.attr >> fpenv::kFCmpShift) < 16 ? "" : "unknown predicate";
    case Op::set_field:
      return inst.operands[0]->type == kI32 || inst.operands[0]->type == kI64 ? limit(sizeof(WaveState), "field offset")
                                                                              : "a field is i32 or i64";
    case Op::get_field:
      return inst.type == kI32 || inst.type == kI64 ? limit(sizeof(WaveState), "field offset")
                                                    : "a field is i32 or i64";
    case Op::set_lanes:
      return is_row_type(inst.operands[0]->type, true) ? limit(kMaxFrameRows, "row") : "a row is v32 or v64";
    case Op::get_lanes:
      return is_row_type(inst.type, true) ? limit(kMaxFrameRows, "row") : "a row is v32 or v64";
    case Op::set_lane:
      return is_row_type(inst.operands[1]->type, false) ? limit(kMaxFrameRows, "row") : "an element is i32 or i64";
    case Op::get_lane:
      return is_row_type(inst.type, false) ? limit(kMaxFrameRows, "row") : "an element is i32 or i64";
    case Op::begin_streams:
    case Op::end_streams:
      return limit(kMaxFrameRows - 4, "row");
    case Op::lane_way:
    case Op::lane_way_end:
      return limit(kLaneWays, "record");
    case Op::exit:
      return inst.attr <= static_cast<uint32_t>(ExitReason::kStopped) ? "" : "unknown exit reason";
    case Op::mfma_f32:
    case Op::mfma_f64:
    case Op::mfma_i16:
      return check_matrix(inst);
    default:
      return "";
  }
}

}  // namespace

unsigned address_operands(AddressForm form) {
  return form == AddressForm::base_offset || form == AddressForm::scratch_off ? 2 : 1;
}

uint64_t truncate_to(Type type, uint64_t bits) {
  switch (type.kind) {
    case TypeKind::i1:
      return bits & 1;
    case TypeKind::i32:
    case TypeKind::v32:
      return bits & 0xffffffffu;
    default:
      return bits;
  }
}

std::optional<Type> infer_type(Op op, std::span<Inst* const> operands, std::string* why) {
  const OpInfo& info = op_info(op);
  if (op == Op::extract) {
    if (operands.size() == 1 && operands[0]->type.is_tuple()) return Type{operands[0]->type.kind};
    if (why) *why = "extract wants one tuple";
    return std::nullopt;
  }
  if (op == Op::tuple) {
    const bool good = !operands.empty() && operands.size() < 256 && !operands[0]->type.is_tuple();
    if (good) return Type{operands[0]->type.kind, static_cast<uint8_t>(operands.size())};
    if (why) *why = "a tuple has 1 to 255 single elements";
    return std::nullopt;
  }
  Matcher matcher;
  if (!match_operands(matcher, info.operands, operands, why)) return std::nullopt;
  const std::optional<Type> type = matcher.result(info.result);
  if (!type && why) *why = "the type of this operation has to be given";
  return type;
}

std::string check_signature(const Inst& inst) {
  const OpInfo& info = op_info(inst.op);
  if (std::string why = check_attributes(inst); !why.empty()) return why;
  switch (inst.op) {
    case Op::load:
    case Op::store:
    case Op::atomic: {
      if (inst.op == Op::store && inst.type != kNone) return "a store has no result";
      return check_memory(inst);
    }
    case Op::load_lane:
    case Op::store_lane:
      return check_lane_access(inst);
    case Op::get_lane: {
      Matcher matcher;
      std::string why;
      match_operands(matcher, info.operands, inst.operands, &why);
      return why;
    }
    case Op::load_edges:
    case Op::store_edges: {
      if (inst.op == Op::load_edges ? inst.type.kind != TypeKind::v32 : inst.type != kNone)
        return "load_edges returns v32 elements, store_edges nothing";
      std::string letters = "mdvs";
      if (inst.op == Op::store_edges) letters.append(std::max<size_t>(inst.operands.size(), 5) - 4, 'v');
      Matcher matcher;
      std::string why;
      match_operands(matcher, letters, inst.operands, &why);
      return why;
    }
    case Op::load_scalar: {
      const auto& operands = inst.operands;
      const bool base = !operands.empty() && operands[0]->type == kI64;
      const bool offset = operands.size() == 1 || (operands.size() == 2 && operands[1]->type == kI32);
      if (!base || !offset) return "load_scalar wants an i64 base and at most one i32 offset";
      return inst.type.kind == TypeKind::i32 ? "" : "load_scalar returns i32 elements";
    }
    case Op::phi: {
      if (inst.type.kind == TypeKind::none || inst.type.is_tuple()) return "a phi has a single value";
      for (const Inst* operand : inst.operands) {
        if (operand->type != inst.type) return "a phi operand has another type";
      }
      return "";
    }
    case Op::helper: {
      if (inst.attr >= static_cast<uint32_t>(Helper::kCount)) return "unknown helper";
      const HelperInfo& helper = helper_info(static_cast<Helper>(inst.attr));
      Matcher matcher;
      std::string why;
      if (!match_operands(matcher, helper.operands, inst.operands, &why)) return why;
      return matcher.match(helper.result, inst.type) ? "" : "result type differs from the helper's row";
    }
    case Op::call: {
      if (inst.attr >= static_cast<uint32_t>(Call::kCount)) return "unknown call";
      if (inst.operands.empty() || inst.operands[0]->type != kMask) return "a call's first operand is a mask";
      bool rows = false;
      for (size_t i = 1; i < inst.operands.size(); ++i) {
        rows |= inst.operands[i]->type == kV32;
        if (inst.operands[i]->type != (rows ? kV32 : kI32)) return "a call wants i32 scalars, then v32 rows";
      }
      return inst.type == kNone || inst.type.kind == TypeKind::v32 ? "" : "a call returns v32 elements or nothing";
    }
    case Op::extract:
      if (inst.operands.size() == 1 && inst.imm >= inst.operands[0]->type.count) return "element index is out of range";
      break;
    case Op::tuple:
      for (const Inst* operand : inst.operands) {
        if (operand->type != inst.operands[0]->type) return "tuple elements differ in type";
      }
      break;
    default:
      break;
  }
  if (info.operands.empty() && (info.result == 'L' || info.result == 'T' || info.result == 'E')) {
    if (!inst.operands.empty()) return "this operation has no operands";
    Matcher matcher;
    return info.result == 'E' || matcher.match(info.result, inst.type) ? "" : "result type does not fit the row";
  }
  std::string why;
  const std::optional<Type> type = infer_type(inst.op, inst.operands, &why);
  if (!type) return why;
  if (*type != inst.type) return fmt::format("result type {} instead of {}", to_string(inst.type), to_string(*type));
  return "";
}

}  // namespace wavejit::ir
