// An instruction with modifiers: its assembly, and what the model says it does to a wave.
#pragma once

#include <array>
#include <random>
#include <string>
#include <vector>

#include "frontend/isa/row.h"
#include "tests/model/exceptions.h"
#include "tests/model/opcodes.h"

namespace wavejit::model {

inline constexpr unsigned kLanes = 64;
inline constexpr uint32_t kOld = 0x5a5a1234;  // what destinations hold before

// What a set of forms exercises.
enum class Class : uint8_t { plain, mode, scalar, abs_neg, clamp, omod, op_sel, sdwa, dpp };
[[nodiscard]] std::string_view to_string(Class cls);

enum class Encoding : uint8_t { e32, e64, sdwa, dpp };
enum class DppControl : uint8_t {
  quad_perm,
  row_shl,
  row_shr,
  row_ror,
  row_mirror,
  row_half_mirror,
  wave_shl,
  wave_rol,
  wave_shr,
  wave_ror,
  row_bcast15,
  row_bcast31,
  row_newbcast,
};

struct Constant {
  std::string_view text;
  uint64_t bits = 0;  // as the type of the operand has them
};

struct Modifiers {
  Encoding encoding = Encoding::e64;
  enum class First : uint8_t { vgpr, sgpr, constant } first = First::vgpr;
  Constant constant{};
  unsigned abs = 0, neg = 0, sext = 0;  // a bit for each source
  bool clamp = false;
  unsigned omod = 0;                     // 1: * 2, 2: * 4, 3: / 2
  unsigned op_sel = 0, op_sel_hi = 7;    // bit 3 of op_sel: the destination
  unsigned neg_lo = 0, neg_hi = 0;       // VOP3P
  std::array<unsigned, 2> select{6, 6};  // SDWA: bytes 0-3, words 4-5, dword
  unsigned dst_select = 6, dst_unused = 0;
  DppControl control{};
  std::array<unsigned, 4> quad{};
  unsigned amount = 0, row_mask = 15, bank_mask = 15;
  bool bound = false;
  uint32_t literal = 0;  // of v_madmk, v_madak
};

struct Source {
  isa::Type type{};
  bool is_literal = false;
  bool takes_neg = false;  // neg and abs; VOP3P: neg_lo and neg_hi
  bool is_old = false;     // the destination of a read-modify-write instruction
};

// An opcode as the tables have it, and its meaning.
struct Instruction {
  const Entry* entry = nullptr;
  isa::Opcode opcode{};
  const isa::Row* row = nullptr;
  isa::Type result = isa::Type::none;  // none: a mask only
  std::vector<Source> sources;         // as the model wants them
  bool has_mask_source = false, has_mask_result = false;
  bool reads_vcc = false, writes_exec = false;

  [[nodiscard]] std::string_view name() const { return entry->name; }
  [[nodiscard]] unsigned vector_sources() const;  // those that are registers of their own
};

[[nodiscard]] std::vector<Instruction> all_instructions();

// Whether `target` has the class of forms of this instruction at all.
[[nodiscard]] bool has_class(const Instruction& instruction, Class cls, isa::Target target);
// Modifiers of a class at random, which all targets take for which has_class is true. `variant` counts up.
[[nodiscard]] Modifiers random_modifiers(const Instruction& instruction, Class cls, isa::Target target,
                                         std::mt19937_64& rng, unsigned variant);

// Registers of copy `index` of an instruction in a program: VGPRs of each source and of the result, SGPR pairs.
struct Registers {
  unsigned vgpr = 0, sgpr = 0;
  explicit Registers(unsigned index) : vgpr(16 * index), sgpr(8 * index) {}
  [[nodiscard]] unsigned source(unsigned i) const { return vgpr + 4 * i; }
  [[nodiscard]] unsigned result() const { return vgpr + 12; }
  [[nodiscard]] unsigned mask_in() const { return sgpr; }
  [[nodiscard]] unsigned mask_out() const { return sgpr + 2; }
  [[nodiscard]] unsigned exec_out() const { return sgpr + 4; }
  [[nodiscard]] unsigned uniform() const { return sgpr + 6; }
};
inline constexpr unsigned kExecCopy = 98;  // SGPR pair with EXEC, for programs that change it

// The instruction alone, and as a step of a program with masks brought to and from VCC and EXEC.
[[nodiscard]] std::string assembly(const Instruction& instruction, const Modifiers& m, isa::Target target,
                                   const Registers& registers);
[[nodiscard]] std::string program(const Instruction& instruction, const Modifiers& m, isa::Target target,
                                  const Registers& registers);
// Whether masks go through VCC in this form.
[[nodiscard]] bool through_vcc(const Instruction& instruction, const Modifiers& m);

// A lane's result register(s): bits that are given, fields that may hold any NaN, or a number between two.
struct LaneResult {
  Bits bits = 0;
  enum : uint8_t { kNan16Low = 1, kNan16High = 2, kNan32Low = 4, kNan32High = 8, kNan64 = 16 };
  uint8_t nans = 0;
  bool is_interval = false;
  bool is_anything = false;
  uint64_t high = 0;     // the other end of the interval
  uint8_t field_at = 0;  // where it is in the register
  const Format* format = nullptr;
  uint8_t raised = 0;  // exceptions, if WaveInput asks for them
};
[[nodiscard]] bool agrees(const LaneResult& want, Bits got);

struct WaveInput {
  std::array<std::array<const uint32_t*, 4>, 3> source{};  // rows of registers
  std::array<const uint32_t*, 4> old{};                    // what the destination holds before; null: kOld
  uint64_t uniform = 0, carry = 0, exec = ~uint64_t{0};
  uint32_t mode = 0;
  Raises raises = nullptr;  // what the instruction leaves in TRAPSTS, if that is wanted
  bool exact_only = false;  // of functions with a bound only: what is not known exactly may be anything
};
struct WaveResult {
  std::array<LaneResult, kLanes> lanes;
  uint64_t mask = 0;  // VCC or the pair of SGPRs
};
void evaluate(const Instruction& instruction, const Modifiers& m, isa::Family family, const WaveInput& input,
              WaveResult& result);

[[nodiscard]] unsigned dwords_of(isa::Type type);

}  // namespace wavejit::model
