// The one handler of vector ALU instructions: fetch stages, kernel call, store stages.
#include <immintrin.h>

#include <bit>
#include <cstring>

#include "frontend/interp/engine.h"
#include "frontend/interp/half_math.h"
#include "internal/semantics/rounding.h"

namespace wavejit::interp {
namespace {

using isa::SdwaSelect;
using isa::Type;

bool has_two_rows(Type t) {
  return t == Type::b64 || t == Type::i64 || t == Type::u64 || t == Type::f64;
}
bool is_16bit(Type t) {
  return t == Type::b16 || t == Type::i16 || t == Type::u16 || t == Type::f16;
}
bool is_packed16(Type t) {
  return t == Type::v2b16 || t == Type::v2i16 || t == Type::v2u16 || t == Type::v2f16;
}

// Lanes whose DPP source exists and is enabled.
uint64_t dpp_valid_lanes(const Op& op, uint64_t exec) {
  uint64_t valid = 0;
  for (unsigned l = 0; l < kWaveSize; ++l) {
    const int source = op.dpp_lanes[l];
    if (source >= 0 && (exec >> source & 1) != 0) valid |= 1ull << l;
  }
  return valid;
}

void fetch_dpp(const Op& op, uint64_t exec, const uint32_t* src, uint32_t* dst, unsigned rows) {
  for (unsigned r = 0; r < rows; ++r, src += kWaveSize, dst += kWaveSize)
    for (unsigned l = 0; l < kWaveSize; ++l) {
      const int source = op.dpp_lanes[l];
      dst[l] = source >= 0 && (exec >> source & 1) != 0 ? src[source] : 0;
    }
}

// SDWA and VOP3 op_sel selects, then abs/neg/sext, then packed selects. `p` is the operand as stored; the result is in
// `tmp`.
const uint32_t* apply_modifiers(Context& c, const Op& op, unsigned index, const uint32_t* p, uint32_t* tmp) {
  const isa::Instruction& inst = op.inst;
  const Source& s = op.sources[index];
  const isa::Operand& o = *s.operand;
  const LaneFunctions& f = c.lanes;
  if ((op.param & kMix) != 0 && index < 3) {
    if (o.type == Type::f16) {
      f.extract(tmp, p, (inst.op_sel >> index & 1) != 0 ? 16 : 0, 16, false);
      // v_mad_mix flushes halves whatever MODE says, as it flushes binary32.
      f.half_to_float(tmp, tmp, op.env == Env::flush ? flushing_halves(c.wave.mode) : c.wave.mode);
      p = tmp;
    }
    if (o.abs || o.neg) {
      f.bits(tmp, p, o.abs ? 0x7fffffffu : ~0u, o.neg ? 0x80000000u : 0u);
      p = tmp;
    }
    return p;
  }
  if (inst.format == isa::Format::vop3p) {
    if (index >= 3) return p;
    const bool lo_from_hi = (inst.op_sel >> index & 1) != 0;
    const bool hi_from_hi = (inst.op_sel_hi >> index & 1) != 0;
    const uint32_t neg_lo = inst.neg_lo >> index & 1;
    const uint32_t neg_hi = inst.neg_hi >> index & 1;
    if (o.type == Type::v2f32 || (has_two_rows(o.type) && s.dwords == 2)) {
      // Both rows may come from the same place that is being written: copy through a second buffer half.
      const uint32_t* lo = p + (lo_from_hi ? kWaveSize : 0);
      const uint32_t* hi = p + (hi_from_hi ? kWaveSize : 0);
      f.bits(tmp + 2 * kWaveSize, lo, ~0u, neg_lo << 31);
      f.bits(tmp + 3 * kWaveSize, hi, ~0u, neg_hi << 31);
      return tmp + 2 * kWaveSize;
    }
    if (!is_packed16(o.type)) {
      if (o.type != Type::f32 || neg_lo == 0) return p;
      f.bits(tmp, p, ~0u, 0x80000000u);
      return tmp;
    }
    const uint32_t flip = o.type == Type::v2f16 ? neg_lo << 15 | neg_hi << 31 : 0;
    if (!lo_from_hi && hi_from_hi && flip == 0) return p;
    f.select_halves(tmp, p, lo_from_hi, hi_from_hi, flip);
    return tmp;
  }
  if (o.sdwa_sel != SdwaSelect::dword) {
    const auto sel = static_cast<unsigned>(o.sdwa_sel);
    if (sel < 4) {
      f.extract(tmp, p, 8 * sel, 8, o.sext);
    } else {
      f.extract(tmp, p, 16 * (sel - 4), 16, o.sext);
    }
    p = tmp;
  } else if ((inst.op_sel >> index & 1) != 0 && is_16bit(o.type)) {
    f.extract(tmp, p, 16, 16, false);
    p = tmp;
  }
  if (o.abs || o.neg) {
    const uint32_t sign = is_16bit(o.type) ? 0x8000u : 0x80000000u;
    const unsigned row = has_two_rows(o.type) ? 1 : 0;
    if (row == 1 && p != tmp) std::memcpy(tmp, p, kWaveSize * 4);
    f.bits(tmp + row * kWaveSize, p + row * kWaveSize, o.abs ? ~sign : ~0u, o.neg ? sign : 0u);
    p = tmp;
  }
  return p;
}

bool omod_applies(Type t, uint32_t mode) {
  if ((mode & mode::kIeee) != 0) return false;
  const uint32_t denorm =
      mode >> (t == Type::f32 || t == Type::v2f32 ? mode::kDenormF32Shift : mode::kDenormF16F64Shift);
  return (denorm & 2) == 0;
}

// omod and clamp of a floating-point result in `rows`.
void apply_result_modifiers(Context& c, const Op& op, Type t, uint32_t* rows) {
  const isa::Instruction& inst = op.inst;
  const LaneFunctions& f = c.lanes;
  const bool dx10 = (c.wave.mode & mode::kDx10Clamp) != 0;
  if (inst.omod != 0 && omod_applies(t, c.wave.mode)) {
    static constexpr float kFactor[4] = {1.0f, 2.0f, 4.0f, 0.5f};
    const float factor = kFactor[inst.omod & 3];
    if (t == Type::f32 || t == Type::v2f32) {
      c.use(Env::f32);
      f.scale_f32(rows, factor);
      if (t == Type::v2f32) f.scale_f32(rows + kWaveSize, factor);
    } else if (t == Type::f64) {
      c.use(Env::f64);
      f.scale_f64(rows, factor);
    } else if (t == Type::f16) {
      c.use(Env::f16);
      f.scale_f16(rows, factor, c.wave.mode);
    }
  }
  if (!inst.clamp) return;
  // Clamping is a floating-point operation of the result's type: it flushes denormals as MODE says.
  if (t == Type::f32 || t == Type::v2f32) c.use(Env::f32);
  if (t == Type::f64) c.use(Env::f64);
  if (t == Type::f16 || t == Type::v2f16) c.use(Env::f16);
  switch (t) {
    case Type::f32:
      f.clamp_f32(rows, dx10);
      break;
    case Type::v2f32:
      f.clamp_f32(rows, dx10);
      f.clamp_f32(rows + kWaveSize, dx10);
      break;
    case Type::f64:
      f.clamp_f64(rows, dx10);
      break;
    case Type::f16:
      f.clamp_f16(rows, c.wave.mode, false);
      break;
    case Type::v2f16:
      f.clamp_f16(rows, c.wave.mode, true);
      break;
    default:
      break;
  }
}

// Moves the result into place within the destination dword: SDWA dst_sel, op_sel[3], preserved upper half.
void place_result(Context& c, const Op& op, uint32_t* rows) {
  const isa::Instruction& inst = op.inst;
  const LaneFunctions& f = c.lanes;
  const uint32_t* old = c.row(op.old_reg);
  if (inst.is_sdwa && inst.sdwa_dst_sel != SdwaSelect::dword) {
    const auto sel = static_cast<unsigned>(inst.sdwa_dst_sel);
    const unsigned width = sel < 4 ? 8 : 16;
    const unsigned shift = sel < 4 ? 8 * sel : 16 * (sel - 4);
    const uint32_t field = (width == 8 ? 0xffu : 0xffffu) << shift;
    alignas(64) uint32_t base[kWaveSize];
    switch (inst.sdwa_dst_unused) {
      case isa::SdwaUnused::pad:
        f.splat(base, 0, 1);
        break;
      case isa::SdwaUnused::preserve:
        std::memcpy(base, old, sizeof base);
        break;
      case isa::SdwaUnused::sext:
        // The bits above the field repeat its sign; those below are zero.
        for (unsigned l = 0; l < kWaveSize; ++l) {
          const bool negative = (rows[l] >> (width - 1) & 1) != 0;
          const unsigned top = shift + width;
          base[l] = negative && top < 32 ? ~0u << top : 0;
        }
        break;
    }
    f.insert(rows, rows, base, field, shift);
    return;
  }
  if (inst.is_sdwa) return;
  if ((op.param & kResult16) == 0) return;
  if ((op.param & kToHi) != 0 || (inst.format == isa::Format::vop3 && (inst.op_sel & 8) != 0)) {
    f.insert(rows, rows, old, 0xffff0000u, 16);
  } else if ((op.param & kPreservesHi) != 0) {
    f.insert(rows, rows, old, 0x0000ffffu, 0);
  }
}

Step run_valu(Context& c, const Op& op) {
  WaveState& wave = c.wave;
  const uint64_t exec = wave.exec();
  if (exec == 0 && !op.writes_mask) return Step::next;
  Lanes lanes;
  for (unsigned i = 0; i < op.num_sources; ++i) lanes.src[i] = fetch_rows(c, op, i);
  if (op.has_mask_in) lanes.mask_in = read_scalar64(c, op.mask_source);
  lanes.mode = wave.mode;
  lanes.clamp = op.inst.clamp;
  lanes.before_gfx9 = c.before_gfx9;
  lanes.dot2_flushes_halves = c.dot2_flushes_halves;
  lanes.op_sel = op.inst.op_sel;
  const bool direct = op.plain && exec == ~0ull;
  lanes.dst = direct && op.has_vdst ? c.row(op.dst_reg) : c.out;
  c.use(op.env);
  op.kernel(lanes);

  uint64_t write_mask = exec;
  if (op.dpp_lanes != nullptr) write_mask = written_lanes(c, op);
  if (op.has_vdst && !direct) {
    if (!op.plain) {
      if (op.inst.omod != 0 || op.inst.clamp) {
        const isa::Operand& vdst = op.inst.operands[0];
        apply_result_modifiers(c, op, vdst.type, c.out);
      }
      place_result(c, op, c.out);
    }
    c.lanes.merge(c.row(op.dst_reg), c.out, write_mask, op.dst_rows);
  }
  if (op.writes_mask) {
    const uint64_t result = lanes.mask_out & write_mask;
    write_scalar64(c, op.mask_reg, result);
    if (op.writes_exec) wave.set_exec(result);
  }
  return Step::next;
}

Step run_indexed(Context& c, const Op& op) {
  Op indexed = op;
  return index_registers(c, indexed) ? run_valu(c, indexed) : Step::next;
}

}  // namespace

uint64_t written_lanes(const Context& c, const Op& op) {
  uint64_t lanes = c.wave.exec();
  if (op.dpp_lanes == nullptr) return lanes;
  if (!op.inst.dpp.bound_ctrl) lanes &= dpp_valid_lanes(op, lanes);
  return lanes & op.dpp_write_mask;
}

// Vega ISA manual, "VGPR indexing": M0[7:0] is added to the VGPR numbers of the operands enabled in M0[15:12] (src0,
// src1, src2, dst). A destination that is also a source (v_mac, results that keep a part of the register) is read as
// src2. "Out-of-range behavior": a source out of range is v0, a destination makes the instruction do nothing.
bool index_registers(const Context& c, Op& op) {
  if (op.inst.format == isa::Format::mai) return true;
  const uint32_t m0 = c.wave.sgpr[sreg::kM0];
  const uint32_t index = m0 & 0xff;
  const auto enabled = [&](unsigned operand) { return (m0 >> (12 + operand) & 1) != 0; };
  const auto relative = [&](uint16_t reg, unsigned rows) {
    return static_cast<uint16_t>(reg + index + rows > kNumVgprs ? 0 : reg + index);
  };
  for (unsigned i = 0; i < op.num_sources && i < 3; ++i)
    if (enabled(i) && op.sources[i].kind == Source::Kind::vgpr)
      op.sources[i].reg = relative(op.sources[i].reg, op.sources[i].dwords);
  if (!op.has_vdst || op.dst_reg >= kNumVgprs) return true;
  if (enabled(2)) op.old_reg = relative(op.old_reg, op.dst_rows);
  if (!enabled(3)) return true;
  if (op.dst_reg + index + op.dst_rows > kNumVgprs) return false;
  op.dst_reg = static_cast<uint16_t>(op.dst_reg + index);
  return true;
}

const uint32_t* fetch_rows(Context& c, const Op& op, unsigned index) {
  const Source& s = op.sources[index];
  const uint32_t* p = nullptr;
  uint32_t* tmp = c.tmp[index];
  switch (s.kind) {
    case Source::Kind::vgpr:
      p = c.row(s.reg);
      break;
    case Source::Kind::agpr:
      p = c.row(kNumVgprs + s.reg);
      break;
    case Source::Kind::constant:
      p = s.splat;
      break;
    case Source::Kind::sgpr:
    case Source::Kind::special:
      if (s.kind == Source::Kind::sgpr &&
          s.dwords > 2) {  // v_mqsad_u32_u8 alone has a longer source that can be scalar
        for (unsigned i = 0; i < s.dwords; ++i) c.lanes.splat(tmp + i * kWaveSize, c.wave.sgpr[(s.reg + i) % 128], 1);
      } else {
        c.lanes.splat(tmp, s.dwords >= 2 ? read_scalar64(c, s) : read_scalar32(c, s), s.dwords);
      }
      p = tmp;
      break;
  }
  if (op.plain) return p;
  if (index == 0 && op.dpp_lanes != nullptr) {
    fetch_dpp(op, c.wave.exec(), p, tmp, s.dwords);
    p = tmp;
  }
  return apply_modifiers(c, op, index, p, tmp);
}

Step execute_valu(Context& c, const Op& op) {
  if ((c.wave.mode & mode::kGprIdxEn) != 0) [[unlikely]]
    return run_indexed(c, op);
  return run_valu(c, op);
}

Context::Context(WaveState& w) : wave(w), lanes(lane_functions()) {
  load_mode();
}

void Context::load_mode() {
  const uint32_t m = wave.mode, round32 = m >> mode::kRoundF32Shift, round64 = m >> mode::kRoundF16F64Shift;
  constexpr uint32_t kNearest = 0, kFlush = 0, kKeep = 3;
  const uint32_t denorm32 = m >> mode::kDenormF32Shift & 3, denorm64 = m >> mode::kDenormF16F64Shift & 3;
  const auto set = [&](Env env, uint32_t round, uint32_t denorm) {
    mxcsr[static_cast<unsigned>(env)] = rounding::mxcsr(round, (denorm & 1) != 0, (denorm & 2) != 0);
  };
  set(Env::f32, round32, denorm32);
  set(Env::f64, round64, denorm64);
  set(Env::flush, round32, kFlush);
  set(Env::trans, kNearest, kFlush);
  set(Env::rn64, kNearest, denorm64);
  set(Env::f16, round64, kKeep);
  set(Env::rn, kNearest, kKeep);
  set(Env::rn32, kNearest, denorm32);
}

void Context::use(Env env) {
  if (env == Env::none) return;
  const uint32_t wanted = mxcsr[static_cast<unsigned>(env)];
  if (wanted == mxcsr_now) return;
  _mm_setcsr(wanted);
  mxcsr_now = wanted;
}

}  // namespace wavejit::interp
