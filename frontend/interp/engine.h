// Internal interfaces of the reference interpreter: decoded operations, the per-run context, handlers and lane kernels.
//
// A decoded instruction (isa::Instruction) is prepared once into an Op: operands resolved to sources and destinations,
// a handler chosen. Vector ALU instructions share one handler (execute_valu) that fetches operands as pointers to
// 64-lane rows, calls the opcode's kernel (a Highway loop over 64 lanes) and stores the result; modifiers, SDWA, DPP
// and packed selects are fetch and store stages there, never per opcode.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "frontend/interp/interpreter.h"
#include "frontend/isa/instruction.h"
#include "internal/wave_state.h"

namespace wavejit::interp {

using isa::Opcode;

enum class Step : uint8_t {
  next,  // go on after the instruction
  jump,  // wave.pc has been set by the handler
  exit,  // leave run(); wave.exit_reason and wave.pc are set
  mode,  // as jump; MODE.vskip may have changed
};

// The host floating-point environments (MXCSR values) that instructions run under, derived from MODE.
enum class Env : uint8_t {
  none,   // no floating point: whatever is set
  f32,    // MODE round and denormals of f32
  f64,    // MODE round and denormals of f64/f16
  flush,  // f32 rounding, denormals flushed: v_mad_f32 and friends
  trans,  // nearest-even, denormals flushed: f32 transcendentals
  rn64,   // nearest-even, f64 denormals: f64 rcp/rsq/sqrt
  f16,    // f16 arithmetic carried out in f32: f64/f16 rounding, nothing flushed
  rn,     // nearest-even, nothing flushed
  rn32,   // nearest-even, f32 denormals
  kCount,
};

// Operands and results of one kernel call. Rows are 64 dwords; wider operands are consecutive rows.
struct Lanes {
  uint32_t* dst = nullptr;
  const uint32_t* src[4] = {};
  uint64_t mask_in = 0;   // carry in, select mask or VCC
  uint64_t mask_out = 0;  // carry out or compare result, not yet masked by EXEC
  uint32_t mode = 0;      // MODE
  bool clamp = false;     // integer saturation (floating-point clamp is a store stage)
  bool before_gfx9 = false;
  bool d16_loads_clear = false;
  bool dot2_flushes_halves = false;
  uint32_t op_sel = 0;  // for the few kernels that take selects themselves
};
using Kernel = void (*)(Lanes&);

// A source operand after preparation.
struct Source {
  enum class Kind : uint8_t { vgpr, agpr, sgpr, constant, special };
  Kind kind = Kind::constant;
  uint8_t dwords = 1;
  uint16_t reg = 0;
  uint64_t value = 0;               // constant bits
  const uint32_t* splat = nullptr;  // constant: `dwords` rows, prepared
  const isa::Operand* operand = nullptr;
  bool modified = false;  // needs the general fetch stage
};

struct Context;
struct Op;
using Handler = Step (*)(Context&, const Op&);

struct Op {
  static constexpr uint16_t kNone = 0xffff;
  Handler handler = nullptr;
  Kernel kernel = nullptr;
  Env env = Env::none;
  uint8_t num_sources = 0;
  uint8_t dst_rows = 0;
  uint8_t param = 0;   // handler-specific
  bool plain = false;  // no source or result needs a general stage
  bool has_vdst = false;
  bool writes_mask = false;  // compare or carry-out to `mask_reg`
  bool writes_exec = false;  // v_cmpx
  bool dpp_covers_all = false;
  uint16_t dst_reg = 0;   // row index, AGPRs from 256
  uint16_t old_reg = 0;   // row whose bits a result keeps that is narrower than the register: dst_reg unless indexed
  uint16_t mask_reg = 0;  // scalar destination
  // Memory instructions: rows of address and data operands, first SGPR of saddr/srsrc; kNone where absent.
  uint16_t addr_row = kNone, data_row = kNone, data1_row = kNone, scalar_base = kNone;
  uint32_t size = 4;
  std::array<Source, 4> sources{};
  Source mask_source{};  // carry in or select mask (VALU), soffset (MUBUF)
  bool has_mask_in = false;
  const int8_t* dpp_lanes = nullptr;  // 64 source lanes, -1 = invalid
  uint64_t dpp_write_mask = ~0ull;    // row_mask and bank_mask
  isa::Instruction inst{};
};

// Whole-row helpers, vectorised for the host at run time (lanes.cpp).
struct LaneFunctions {
  void (*splat)(uint32_t* rows, uint64_t value, unsigned dwords);
  void (*merge)(uint32_t* dst, const uint32_t* src, uint64_t mask, unsigned rows);  // dst lanes in `mask` take src
  void (*clamp_f32)(uint32_t* row, bool dx10);                                      // in place, to [0, 1]
  void (*clamp_f64)(uint32_t* rows, bool dx10);
  void (*clamp_f16)(uint32_t* row, uint32_t mode, bool both_halves);
  void (*scale_f32)(uint32_t* row, float factor);
  void (*scale_f64)(uint32_t* rows, double factor);
  void (*scale_f16)(uint32_t* row, float factor, uint32_t mode);
  void (*bits)(uint32_t* dst, const uint32_t* src, uint32_t and_mask, uint32_t xor_mask);  // (src & and) ^ xor
  void (*extract)(uint32_t* dst, const uint32_t* src, unsigned shift, unsigned width, bool sign);
  void (*select_halves)(uint32_t* dst, const uint32_t* src, bool lo_from_hi, bool hi_from_hi, uint32_t xor_mask);
  void (*half_to_float)(uint32_t* dst, const uint32_t* src, uint32_t mode);  // low halves
  // dst = (old & ~field) | (value << shift & field)
  void (*insert)(uint32_t* dst, const uint32_t* value, const uint32_t* old, uint32_t field, unsigned shift);
};
[[nodiscard]] const LaneFunctions& lane_functions();

struct Context {
  WaveState& wave;
  isa::Target target{};
  bool before_gfx9 = false;
  bool d16_loads_clear = false, dot2_flushes_halves = false;
  uint32_t mxcsr[static_cast<unsigned>(Env::kCount)] = {};
  uint32_t mxcsr_now = 0;

  const LaneFunctions& lanes;

  alignas(64) uint32_t tmp[4][4 * kWaveSize];  // fetched operands
  alignas(64) uint32_t out[32 * kWaveSize];    // results before the masked store; large enough for any MFMA
  alignas(64) uint64_t addresses[kWaveSize];

  explicit Context(WaveState& w);
  void load_mode();  // recomputes mxcsr[] after a write of MODE
  void use(Env env);

  // AGPRs are the rows from 256 on, so this is arithmetic on the state's bytes and not on one of its arrays.
  [[nodiscard]] uint32_t* row(unsigned index) {
    return reinterpret_cast<uint32_t*>(reinterpret_cast<std::byte*>(&wave) + offsetof(WaveState, vgpr) +
                                       static_cast<size_t>(index) * sizeof wave.vgpr[0]);
  }

  Step exit(ExitReason reason, const Op& op) {
    wave.exit_reason = reason;
    wave.pc = op.inst.pc;
    return Step::exit;
  }
};
static_assert(offsetof(WaveState, agpr) == offsetof(WaveState, vgpr) + sizeof(WaveState::vgpr));

// Facts an opcode registers with its handler.
struct Registration {
  Handler handler = nullptr;
  Kernel kernel = nullptr;
  Env env = Env::none;
  uint8_t flags = 0;
  uint8_t param = 0;
};
inline constexpr uint8_t kReadsVcc = 1;     // mask_in = VCC although it is not an operand
inline constexpr uint8_t kPreservesHi = 2;  // GFX9: 16-bit result keeps the upper half
inline constexpr uint8_t kCmpx = 4;         // also writes EXEC
inline constexpr uint8_t kResult16 = 8;     // 16-bit result in the low half of the kernel's row
inline constexpr uint8_t kMix = 16;         // v_mad_mix/v_fma_mix: sources are f32 or an f16 half
inline constexpr uint8_t kToHi = 32;        // 16-bit result goes to the upper half
inline constexpr uint8_t kRawSources = 64;  // VOP3P selects are the kernel's business

class Registry {
 public:
  static const Registry& get();
  [[nodiscard]] const Registration& operator[](Opcode op) const { return entries_[static_cast<unsigned>(op)]; }

  void handler(Opcode op, Handler handler, uint8_t param = 0) {
    entries_[static_cast<unsigned>(op)] = {.handler = handler, .param = param};
  }
  void kernel(Opcode op, Kernel kernel, Env env = Env::none, uint8_t flags = 0);

 private:
  Registry();
  std::array<Registration, isa::kNumOpcodes> entries_{};
};

// One function per unit, called once by Registry's constructor.
void register_salu(Registry& r);
void register_salu_bits(Registry& r);
void register_control(Registry& r);
void register_smem(Registry& r);
void register_valu_int(Registry& r);
void register_valu_int3(Registry& r);
void register_valu_f32(Registry& r);
void register_valu_f64(Registry& r);
void register_valu_f16(Registry& r);
void register_transcendental(Registry& r);
void register_division(Registry& r);
void register_conversions(Registry& r);
void register_compares(Registry& r);
void register_fp8(Registry& r);
void register_packed(Registry& r);
void register_dot(Registry& r);
void register_cross_lane(Registry& r);
void register_ds(Registry& r);
void register_ds_atomics(Registry& r);
void register_flat(Registry& r);
void register_buffer(Registry& r);
void register_buffer_format(Registry& r);
void register_mimg(Registry& r);
void register_mfma(Registry& r);

Step execute_valu(Context& c, const Op& op);

// Resolves operands and handler; storage for constant rows and DPP tables comes from `arena`. An opcode without handler
// gets one that exits with kUnsupported.
class Arena {
 public:
  template <typename T>
  T* allocate(size_t count) {
    blocks_.push_back(std::make_unique<std::byte[]>(count * sizeof(T) + 64));
    auto address = reinterpret_cast<uintptr_t>(blocks_.back().get());
    return reinterpret_cast<T*>((address + 63) & ~uintptr_t{63});
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};
void prepare(Op& op, Arena& arena);

// Scalar operand access (operands.cpp).
[[nodiscard]] uint32_t read_scalar32(const Context& c, const Source& s);
[[nodiscard]] uint64_t read_scalar64(const Context& c, const Source& s);
// Register 125 is reserved before GFX10 ("null" in LLVM's disassembly): writes to it are dropped.
inline constexpr unsigned kNullRegister = 125;
// Writes of the SALU update VCCZ, also those of one half of VCC.
inline void write_scalar32(Context& c, unsigned reg, uint32_t value) {
  if (reg == kNullRegister) return;
  c.wave.sgpr[reg] = value;
  if (reg / 2 == sreg::kVccLo / 2) c.wave.vccz = c.wave.vcc() == 0;
}
// v_readlane and v_readfirstlane leave VCCZ as it was.
inline void write_scalar32_of_lane(Context& c, unsigned reg, uint32_t value) {
  if (reg != kNullRegister) c.wave.sgpr[reg] = value;
}
inline void write_scalar64(Context& c, unsigned reg, uint64_t value) {
  if (reg == kNullRegister) return;
  c.wave.set_sgpr64(reg, value);
  if (reg == sreg::kVccLo) c.wave.vccz = value == 0;
}

// Vector operand access (valu.cpp): a pointer to the operand's rows, through c.tmp[slot] where it must be materialised.
[[nodiscard]] const uint32_t* fetch_rows(Context& c, const Op& op, unsigned index);

// Lanes whose results are written: EXEC and what DPP leaves of it.
[[nodiscard]] uint64_t written_lanes(const Context& c, const Op& op);

// Adds the exceptions that the instruction is going to raise to TRAPSTS. False if one is enabled to trap: then the wave
// has left in front of it (exceptions.cpp).
[[nodiscard]] bool record_exceptions(Context& c, const Op& op);

// `op` with the VGPR numbers that it has while MODE.gpr_idx_en is set. False if the destination does not exist: then
// the instruction does nothing.
[[nodiscard]] bool index_registers(const Context& c, Op& op);

}  // namespace wavejit::interp
