#include "tests/model/directed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <span>

#include "tests/model/data.h"
#include "tests/model/form.h"
#include "tests/model/programs.h"

namespace wavejit::model {
namespace {

using isa::Target;
using isa::Type;

constexpr Target kTargets[] = {Target::gfx600, Target::gfx700, Target::gfx803, Target::gfx900,
                               Target::gfx906, Target::gfx908, Target::gfx90a};
constexpr unsigned kPeriod = 16;                // values of a case; lanes repeat them
constexpr uint64_t kMask = 0xa5a5a5a5a5a5a5a5;  // of masks that are read: its low half repeats like the values

struct CaseKind {
  Class cls;
  uint32_t mode;
  unsigned variant;  // of random_modifiers
  std::string_view shows;
  bool of_floats;           // only for instructions that depend on MODE
  bool droppable = false;   // where the file becomes too long
  bool only_clamp = false;  // the bit, of instructions that do not clamp with it
};
constexpr size_t kMostBytes = 10000;
constexpr CaseKind kKinds[] = {
    {Class::plain, 0x3c0, 1, "zeros, ones, infinities, both kinds of NaN, denormals (those of f32 flushed), extremes",
     false},
    {Class::mode, 0x3f5, 1, "rounds toward +infinity, denormals kept", true},
    {Class::mode, 0x30a, 0, "rounds toward -infinity, all denormals flushed", true},
    {Class::mode, 0x1ff, 1, "rounds toward zero, denormals kept, IEEE off", true},
    {Class::scalar, 0x3c0, 0, "the first source is an SGPR or a constant", false},
    {Class::scalar, 0x3c0, 1, "the first source is a constant", false, true},
    {Class::abs_neg, 0x3f0, 0, "signs of sources changed", false},
    {Class::clamp, 0x3f0, 0, "clamped; NaN becomes 0 with DX10_CLAMP", false},
    {Class::clamp, 0x2f0, 1, "clamped without DX10_CLAMP: NaN stays", true, true},
    {Class::omod, 0x100, 0, "output times 2: IEEE off, denormals flushed", false},
    {Class::omod, 0x100, 2, "output times 0.5", false, true},
    {Class::omod, 0x3c0, 1, "output modifiers do nothing with IEEE on", false, true},
    {Class::op_sel, 0x3f0, 0, "halves chosen by op_sel", false},
    {Class::op_sel, 0x3f0, 1, "halves chosen by op_sel", false, true},
    {Class::sdwa, 0x3c0, 1, "parts of registers", false},
    {Class::sdwa, 0x3c0, 2, "parts of registers", false, true},
    {Class::dpp, 0x3c0, 1, "the first source from the lane below; 0 where there is none", false},
    {Class::dpp, 0x3c0, 0, "the first source from the lane below; nothing is written where there is none", false},
};

constexpr CaseKind kExceptionKinds[] = {
    {Class::plain, 0x3c0, 1, "rounds to nearest, denormals of f32 flushed", false},
    {Class::plain, 0x3f5, 1, "rounds toward +infinity, denormals kept", false},
    {Class::plain, 0x30a, 0, "rounds toward -infinity, all denormals flushed", false},
    {Class::plain, 0x35f, 1, "rounds toward zero, denormal operands kept, results flushed", false},
    {Class::plain, 0x3f0, 1, "the clamp bit", false, false, true},
};

std::string number(uint64_t value) {
  return value < 10 ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

std::string vgprs(unsigned first, unsigned dwords) {
  return dwords == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + dwords - 1);
}

// The shortest cycle.
std::string compressed(std::vector<std::string> values) {
  for (size_t n = 1; n < values.size(); n *= 2) {
    bool repeats = true;
    for (size_t i = n; i < values.size(); ++i) repeats &= values[i] == values[i % n];
    if (repeats) {
      values.resize(n);
      break;
    }
  }
  return fmt::format("{}", fmt::join(values, " "));
}

std::string expected(const LaneResult& r, unsigned dwords) {
  if (r.is_anything || r.is_interval) return "*";
  if (r.nans == 0) return number(static_cast<uint64_t>(r.bits));
  // The format knows NaNs of a whole register, and of 16 bits with zeros above.
  const bool whole = (dwords == 1 && r.nans == LaneResult::kNan32Low) ||
                     (dwords == 2 && r.nans == LaneResult::kNan64) ||
                     (r.nans == LaneResult::kNan16Low && r.bits >> 16 == 0);
  return whole ? "nan" : "*";
}

// Corner values; for functions whose results are exact only here and there, such arguments.
std::vector<Bits> values_of(const Instruction& i, unsigned source) {
  const Type type = i.sources[source].type;
  std::vector<Bits> all = corners(type);
  const std::string_view name = i.name();
  const Format* f = type == Type::f16 ? &kF16 : type == Type::f32 ? &kF32 : type == Type::f64 ? &kF64 : nullptr;
  if (f != nullptr && i.sources.size() == 1) {
    std::vector<std::pair<int, int>> arguments;  // n * 2^e
    if (name.starts_with("v_exp")) arguments = {{3, 0}, {-5, 0}, {10, 0}, {-14, 0}};
    if (name.starts_with("v_log") || name.starts_with("v_rsq")) arguments = {{1, 2}, {1, 4}, {1, -6}, {1, 10}};
    if (name.starts_with("v_sin") || name.starts_with("v_cos")) arguments = {{1, -2}, {-1, -2}, {3, -1}, {5, -2}};
    if (name.starts_with("v_sqrt")) arguments = {{9, 0}, {2, 0}, {1, -4}, {49, 2}};
    for (size_t k = 0; k < arguments.size(); ++k)
      all[11 + k] = ldexp(exact(*f), from_int(exact(*f), arguments[k].first), arguments[k].second);
  }
  if (type == Type::f16) {
    for (size_t k = 0; k < all.size(); ++k) all[k] |= Bits{(0x3c00 + 0x1111 * k) & 0xffff} << 16;
  }
  // Sources of one instruction meet in other orders.
  static constexpr unsigned kStep[] = {1, 5, 11}, kStart[] = {0, 1, 7};
  std::vector<Bits> result;
  for (unsigned k = 0; k < kPeriod; ++k)
    result.push_back(all[(kStart[source % 3] + kStep[source % 3] * k) % all.size()]);
  return result;
}

struct Case {
  std::vector<Target> targets;
  std::string body, comment;
  bool droppable;
};

class Writer {
 public:
  explicit Writer(const Instruction& i, bool of_exceptions = false) : i_(i), of_exceptions_(of_exceptions) {
    unsigned row = 0;
    for (unsigned s = 0; s < i.sources.size(); ++s) {
      if (i.sources[s].is_old || i.sources[s].is_literal) continue;
      values_.push_back(values_of(i, s));
      types_.push_back(i.sources[s].type);
      for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned d = 0; d < 4; ++d)
          rows_[row][d][lane] = static_cast<uint32_t>(values_.back()[lane % kPeriod] >> 32 * d);
      ++row;
    }
  }

  std::string file() {
    const std::span<const CaseKind> kinds =
        of_exceptions_ ? std::span<const CaseKind>(kExceptionKinds) : std::span<const CaseKind>(kKinds);
    for (const CaseKind& kind : kinds)
      for (const Target target : kTargets) add(kind, target);
    std::string text = fmt::format(
        "# {}: written by wavejit_model --directed{} (tests/model): corner values, and what the model expects of "
        "them.\n",
        i_.name(), of_exceptions_ ? "-exceptions" : "");
    if (of_exceptions_)
      text +=
          "# v15 is what each lane leaves in TRAPSTS: 1 invalid, 2 input denormal, 4 division by zero, 8 overflow, 16\n"
          "# underflow, 32 inexact, 64 integer division by zero. Bit 22 of the mode, which is not the processor's, has "
          "the wave\n"
          "# record them.\n";
    const auto bytes = [&] {
      size_t sum = 0;
      for (const Case& c : cases_) sum += c.body.size() + c.comment.size() + 80;
      return sum;
    };
    while (bytes() > kMostBytes) {
      const auto last = std::find_if(cases_.rbegin(), cases_.rend(), [](const Case& c) { return c.droppable; });
      if (last == cases_.rend()) break;
      cases_.erase(std::next(last).base());
    }
    unsigned count = 0;
    for (const Case& c : cases_) {
      std::vector<std::string_view> names;
      for (const Target target : c.targets) names.push_back(isa::to_string(target));
      text += fmt::format("\n# {}\ncase {} {}\ntargets {}\n{}", c.comment, i_.name(), ++count, fmt::join(names, " "),
                          c.body);
    }
    return text;
  }

 private:
  void add(const CaseKind& kind, Target target) {
    if (!has_class(i_, kind.cls, target)) return;
    // gfx700 and gfx906 stand for them.
    if (of_exceptions_ && (target == Target::gfx600 || target == Target::gfx908)) return;
    const bool depends = i_.row->has(isa::flag::reads_mode);
    if (kind.of_floats && !depends) return;
    if (kind.only_clamp && (isa::family_of(target) < isa::Family::gfx8 || !i_.row->has(isa::flag::clamp) ||
                            (i_.row->format != isa::Format::vopc && format_of_result() != nullptr)))
      return;
    std::mt19937_64 rng(i_.name().size() * 31 + static_cast<unsigned>(kind.cls) * 7 + kind.variant);
    Modifiers m = random_modifiers(i_, kind.cls, target, rng, kind.variant);
    if (kind.cls == Class::dpp) {
      if (m.control != DppControl::row_newbcast) m.control = DppControl::row_shr;
      m.amount = 1;
      m.row_mask = m.bank_mask = 15;
      m.bound = kind.variant == 1;
    }
    if (kind.only_clamp) m.encoding = Encoding::e64, m.clamp = true;
    const Registers r(0);
    WaveInput input;
    if (of_exceptions_) input.raises = exceptions_of(i_.name());
    for (size_t s = 0; s < values_.size(); ++s)
      for (unsigned d = 0; d < 4; ++d) input.source[s][d] = rows_[s][d].data();
    if (!values_.empty()) input.uniform = static_cast<uint64_t>(values_[0][4]);
    input.carry = kMask;
    input.mode = kind.mode;
    input.exact_only = true;
    WaveResult result;
    evaluate(i_, m, isa::family_of(target), input, result);
    const unsigned dwords = i_.result == Type::none ? 0 : dwords_of(i_.result);
    std::string body;
    if (of_exceptions_) {
      body += fmt::format("mode {:#x}\n", kind.mode | recording::kMode);
    } else if (depends) {
      body += fmt::format("mode {:#x}\n", kind.mode);
    }
    for (size_t s = 0; s < values_.size(); ++s) {
      std::vector<std::string> all;
      for (const Bits value : values_[s]) all.push_back(number(static_cast<uint64_t>(value)));
      body +=
          fmt::format("{} = {}\n", vgprs(r.source(static_cast<unsigned>(s)), dwords_of(types_[s])), compressed(all));
    }
    if (m.first == Modifiers::First::sgpr)
      body += fmt::format("s[{}:{}] = {}\n", r.uniform(), r.uniform() + 1, number(input.uniform));
    const bool vcc = through_vcc(i_, m);
    if (i_.has_mask_source) body += fmt::format("{} = {:#x}\n", vcc && !of_exceptions_ ? "vcc" : "s[0:1]", kMask);
    if (dwords != 0)
      body += fmt::format("{} = {:#x}\n", vgprs(r.result(), dwords), dwords == 1 ? kOld : kOld * uint64_t{0x100000001});
    if (of_exceptions_) {
      std::vector<std::string> raised;
      for (const LaneResult& lane : result.lanes) raised.push_back(number(lane.raised));
      body += fmt::format("---\n{}---\nv{} = {}\ns[{}:{}] = 0\ns{} = *\nscc = 0\n",
                          recording::lane_by_lane({program(i_, m, target, r)}), recording::kExceptions,
                          compressed(raised), recording::kLane, recording::kLane + 1, recording::kFlags);
      if (dwords != 0) body += vgprs(r.result(), dwords) + " = *\n";
      if (vcc) body += "vcc = *\n";
      if (i_.has_mask_result) body += "s[2:3] = *\n";
      if (i_.writes_exec) body += "s[4:5] = *\n";
      return keep(kind, target, body);
    }
    body += fmt::format("---\n{}\n---\n", assembly(i_, m, target, r));
    if (dwords != 0) {
      std::vector<std::string> all;
      for (const LaneResult& lane : result.lanes) {
        all.push_back(expected(lane, dwords));
        // Nothing says which zero the sine of half a revolution is, or of what is out of range.
        if (i_.name().starts_with("v_sin") &&
            (all.back() == "0" || all.back() == "0x80000000" || all.back() == "0x8000"))
          all.back() = "*";
      }
      body += fmt::format("{} = {}\n", vgprs(r.result(), dwords), compressed(all));
    }
    if (i_.has_mask_result) body += fmt::format("{} = {:#x}\n", vcc ? "vcc" : "s[2:3]", result.mask);
    keep(kind, target, body);
  }

  // As a case of its own, or of another processor's.
  void keep(const CaseKind& kind, Target target, const std::string& body) {
    for (Case& c : cases_) {
      if (c.body != body) continue;
      if (c.targets.back() != target) c.targets.push_back(target);
      return;
    }
    cases_.push_back({{target}, body, std::string(kind.shows), kind.droppable});
  }

  [[nodiscard]] const Format* format_of_result() const {
    return i_.result == Type::f16 ? &kF16 : i_.result == Type::f32 ? &kF32 : i_.result == Type::f64 ? &kF64 : nullptr;
  }

  const Instruction& i_;
  const bool of_exceptions_;
  std::vector<std::vector<Bits>> values_;
  std::vector<Type> types_;
  std::array<std::array<std::array<uint32_t, kLanes>, 4>, 3> rows_{};
  std::vector<Case> cases_;
};

}  // namespace

unsigned write_directed(const std::string& directory, const std::string& only) {
  static constexpr std::string_view kFolders[] = {"sop1", "sop2", "sopc", "sopk", "sopp",  "smem",
                                                  "vop1", "vop2", "vopc", "vop3", "vop3b", "vop3p"};
  const std::regex pattern(only);
  unsigned files = 0;
  for (const Instruction& i : all_instructions()) {
    if (!std::regex_search(std::string(i.name()), pattern) || i.result == Type::b128) continue;
    const auto folder = std::filesystem::path(directory) / kFolders[static_cast<size_t>(i.row->format)];
    std::filesystem::create_directories(folder);
    std::ofstream(folder / (std::string(i.name()) + ".isa")) << Writer(i).file();
    ++files;
  }
  return files;
}

unsigned write_exceptions(const std::string& directory, const std::string& only) {
  const std::regex pattern(only);
  unsigned files = 0;
  for (const Instruction& i : all_instructions()) {
    if (!std::regex_search(std::string(i.name()), pattern) || exceptions_of(i.name()) == nullptr) continue;
    std::ofstream(std::filesystem::path(directory) / (std::string(i.name()) + ".isa")) << Writer(i, true).file();
    ++files;
  }
  return files;
}

}  // namespace wavejit::model
