// An IR function: one translation unit with one or more entry points, in SSA form after construction.
//
// Ownership: a Function owns its blocks and instructions; pointers to them stay valid until the instruction or block is
// erased. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "internal/check.h"
#include "internal/wave_state.h"
#include "ir/profile.h"
#include "ir/types.h"

namespace wavejit::ir {

enum class Op : uint16_t {
#define OP(name, ...) name,
#include "ir/ops.def"
#undef OP
  kCount,
};
inline constexpr unsigned kNumOps = static_cast<unsigned>(Op::kCount);

// Rewrites that passes perform; see ir/rules.h.
enum class Rule : uint16_t;

enum class Helper : uint16_t {
#define HELPER(name, ...) name,
#include "ir/helpers.def"
#undef HELPER
  kCount,
};

enum class ICmp : uint8_t { eq, ne, ult, ule, ugt, uge, slt, sle, sgt, sge };
// The 16 predicates of v_cmp_*_f32, in ISA order; bit 0 less, bit 1 equal, bit 2 greater, bit 3 unordered.
enum class FCmp : uint8_t { f, lt, eq, le, gt, lg, ge, o, u, nge, nlg, ngt, nle, neq, nlt, tru };

// `attr` of floating-point operations: the MODE bits that affect the operation.
namespace fpenv {
inline constexpr uint32_t kRoundMask = 3;  // 0 nearest even, 1 +inf, 2 -inf, 3 zero (of the operation's precision)
inline constexpr uint32_t kKeepInputDenorm = 1u << 2;
inline constexpr uint32_t kKeepOutputDenorm = 1u << 3;
inline constexpr uint32_t kIeee = 1u << 4;
inline constexpr uint32_t kDx10Clamp = 1u << 5;
inline constexpr uint32_t kFp16Ovfl = 1u << 6;
inline constexpr uint32_t kFCmpShift = 8;  // FCmp predicate of fcmp_*
}  // namespace fpenv

enum class Space : uint8_t { global, flat, lds, scratch };
// Address operands (after the mask):
//   base_offset  i64 base, v32 offset: address = base + zext(offset) + imm   (global; lds: not used)
//   base_only    i64 base: the same address for all lanes = base + imm
//   vector64     v64: address + imm (global, flat: apertures are resolved by the operation)
//   lds_offset   v32: lds byte address = offset + imm (offset wraps at 32 bits before imm is added); lds_base is
//                implied; the mask excludes lanes whose access would end beyond lds_size
//   scratch_off  i64 base, v32 offset: byte b = offset + imm of the lane, at base + (b / 4) * 256 + lane * 4 + b % 4
//   scratch_base i64 base: as scratch_off with offset 0 (b = imm)
enum class AddressForm : uint8_t { base_offset, base_only, vector64, lds_offset, scratch_off, scratch_base };

enum class AtomicOp : uint8_t {
  swap,
  cmpswap,
  add,
  sub,
  rsub,
  smin,
  umin,
  smax,
  umax,
  and_,
  or_,
  xor_,
  inc,
  dec,
  fadd_f32,
  fadd_f64,
  fmin_f32,
  fmax_f32,
  fmin_f64,
  fmax_f64,
  pk_fadd_f16,
  pk_fadd_bf16,
  mskor,
  wrap,  // ds_wrap: old >= data ? old - data : old + second
  // Compare-and-swap whose comparison is that of floating-point numbers.
  fcmpswap_f32,
  fcmpswap_f64,
};
// Returns true if the operation has a second operand: the comparand, the value under the mask, or the addend of wrap.
[[nodiscard]] constexpr bool has_two_operands(AtomicOp op) {
  return op == AtomicOp::cmpswap || op >= AtomicOp::mskor;
}

struct MemAttr {
  Space space = Space::global;
  AddressForm form = AddressForm::vector64;
  uint8_t bytes = 4;         // per element: 1, 2, 4 or 8 (8 only for 64-bit atomics); elements are `bytes` apart
  uint8_t count = 1;         // elements (registers) per lane
  bool sign_extend = false;  // 1- and 2-byte loads
  bool glc = false;          // coherent (volatile or atomic access)
  bool wraps = false;        // base_offset: element k is at base + zext(offset + k * bytes) + imm, modulo 2^32 inside
  bool aligned = false;      // atomics: an address that is not a multiple of `bytes` is a fault
  AtomicOp atomic_op = AtomicOp::swap;
  int64_t imm = 0;  // byte offset

  bool operator==(const MemAttr&) const = default;
};

struct Block;

struct Inst {
  Op op{};
  Type type{};
  uint32_t id = 0;  // unique in the function; "%id" in the text form
  uint32_t attr = 0;
  uint64_t imm = 0;
  uint64_t imm2 = 0;
  MemAttr mem{};
  uint64_t guest_pc = 0;  // instruction this came from, 0 when none
  Block* parent = nullptr;
  std::vector<Inst*> operands;
  std::vector<Inst*> users;  // one entry per use: an instruction that uses a value twice is listed twice

  [[nodiscard]] bool is_const() const { return op == Op::const_; }
  [[nodiscard]] bool is_const(uint64_t value) const { return is_const() && imm == value; }
};

struct Block {
  uint32_t id = 0;
  uint64_t guest_pc = 0;             // first guest instruction
  bool rare = false;                 // hardly ever executed: a hint for the order of the code and for registers
  std::vector<Inst*> insts;          // phis first, exactly one terminator last
  std::vector<Block*> successors;    // in the order of the terminator
  std::vector<Block*> predecessors;  // order of phi operands; a block may appear twice (both edges of a cond_br)

  [[nodiscard]] Inst* terminator() const { return insts.empty() ? nullptr : insts.back(); }
};

// A place where translated code can be entered: kernel start, after a barrier or yield, after a call returns.
struct Entry {
  uint64_t guest_pc = 0;
  Block* block = nullptr;  // has no predecessors inside the function; starts by reading the state it needs
  // Waves enter here only after a barrier or yield, with the MODE that this function is specialised on. They have left
  // through an exit of this function with this pc, or, if this is the variant for any EXEC, through one of the variant
  // for a single EXEC. Registers hold what that exit has written to them.
  bool resumed_only = false;
  // Waves enter here that the interpreter has run from the start: in all registers they hold what they would hold at the
  // exits with this pc, which only exist up to pass moved-entry.
  bool moved = false;
  uint64_t exec = ~uint64_t{0};  // EXEC of entering waves if the block does not read it
};

class Function {
 public:
  explicit Function(std::string name);
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  std::string name;
  std::vector<Entry> entries;
  std::vector<std::unique_ptr<Block>> blocks;  // layout order
  // The scalar register that holds the work-group id in x when the kernel starts; -1: none. Ids of consecutive
  // work-groups differ by one. Only a hint: the register may hold something else later.
  int group_id_sgpr = -1;
  Profile profile;                    // of this code; empty: nothing is known
  std::vector<uint32_t> rule_counts;  // by Rule: how often passes have performed that rewrite on this function

  void count(Rule rule) { ++rule_counts[static_cast<size_t>(rule)]; }

  Block* add_block(uint64_t guest_pc = 0);
  // Makes an instruction that is in no block yet. Updates the users of its operands.
  Inst* create(Op op, Type type, std::vector<Inst*> operands = {});
  void append(Block* block, Inst* inst);
  void insert_before(Inst* position, Inst* inst);
  // Removes an instruction without users from its block and from its operands' users.
  void erase(Inst* inst);
  void replace_all_uses(Inst* from, Inst* to);
  void set_operand(Inst* inst, unsigned index, Inst* value);
  static void connect(Block* from, Block* to);                    // appends to successors and predecessors
  void remove_edge(Block* from, unsigned successor_index);        // also drops the matching phi operands in the target
  bool remove_unreachable();                                      // erases blocks that no entry reaches; true if any
  [[nodiscard]] uint32_t num_values() const { return next_id_; }  // all ids are below this
  [[nodiscard]] size_t num_insts() const;
  void renumber();  // dense instruction and block ids in layout order
  // Instructions and blocks created from now on get ids of at least these.
  void reserve_ids(uint32_t inst_id, uint32_t block_id);
  [[nodiscard]] uint32_t num_block_ids() const { return next_block_id_; }  // all block ids are below this

  // For passes that rebuild Block::insts themselves: erase() is linear in the block size, this is not. Drops the
  // operands of an instruction without users. The caller must leave the instruction out of its block.
  void unlink(Inst* inst);
  // Removes instructions without users and side effects, transitively, and everything unlinked. Memory accesses stay:
  // they may fault. Linear. Returns how many it has taken out of their blocks.
  size_t sweep();

 private:
  uint32_t next_id_ = 0;
  uint32_t next_block_id_ = 0;
  std::deque<Inst> storage_;
};

// Facts about an operation, from ops.def.
enum class Effect : uint8_t { pure, reads, writes, atomic, control };
// The floating-point environment that an operation wants, as the letters of ops.def say.
enum class FpUse : uint8_t {
  none,
  mode,           // m
  rounding,       // r
  nearest,        // n
  nearest_mode,   // k
  input_denorms,  // d
  any_helper,     // h
  helper,         // c
  atomic,         // a
};
struct OpInfo {
  std::string_view name;      // enumerator
  std::string_view mnemonic;  // text form
  char result;
  std::string_view operands;
  Effect effect;
  bool whole_wave;  // the backend emits it for all lanes at once, rather than lane by lane with others
  bool lane_wise;   // pure, and a lane of the result depends on the same lane of the operands alone, and on scalars
  FpUse environment;
  bool commutes;  // operands 0 and 1 can be exchanged
  std::string_view meaning;
};
extern const std::array<OpInfo, kNumOps> kOpInfos;  // by Op
[[nodiscard]] inline const OpInfo& op_info(Op op) {
  WAVEJIT_DCHECK(static_cast<unsigned>(op) < kNumOps, "operation number {}", static_cast<unsigned>(op));
  return kOpInfos[static_cast<unsigned>(op)];
}
[[nodiscard]] inline bool is_terminator(Op op) {
  return op_info(op).effect == Effect::control;
}
// Operations that Inst::mem describes.
[[nodiscard]] inline bool has_memory_attributes(Op op) {
  return op == Op::load || op == Op::store || op == Op::atomic || op == Op::load_lane || op == Op::store_lane;
}
[[nodiscard]] inline bool is_pure(Op op) {
  return op_info(op).effect == Effect::pure;
}

}  // namespace wavejit::ir
