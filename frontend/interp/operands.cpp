// Scalar operand fetch and the preparation of decoded instructions into Ops.
#include <cstring>

#include "frontend/interp/engine.h"

namespace wavejit::interp {
namespace {

using isa::Operand;
using isa::OperandKind;
using isa::SdwaSelect;
using isa::Slot;
using isa::Type;

uint64_t special_value(const Context& c, unsigned reg, bool wide) {
  // The aperture registers read as 64-bit values; their 32-bit reads return 0 (LLVM SIISelLowering::getSegmentAperture
  // documents the erratum).
  const auto aperture = [&](uint32_t hi, bool limit) -> uint64_t {
    return wide ? (static_cast<uint64_t>(hi) << 32 | (limit ? 0xffffffffu : 0u)) : 0;
  };
  switch (static_cast<isa::Special>(reg)) {
    case isa::Special::shared_base:
      return aperture(kSharedApertureHi, false);
    case isa::Special::shared_limit:
      return aperture(kSharedApertureHi, true);
    case isa::Special::private_base:
      return aperture(kPrivateApertureHi, false);
    case isa::Special::private_limit:
      return aperture(kPrivateApertureHi, true);
    case isa::Special::vccz:
      return c.wave.vccz;
    case isa::Special::execz:
      return c.wave.exec() == 0;
    case isa::Special::scc:
      return c.wave.scc;
    case isa::Special::lds_direct: {
      // LDS_DIRECT broadcasts the dword at LDS address M0[15:0].
      const uint32_t address = c.wave.sgpr[sreg::kM0] & 0xfffc;
      uint32_t value = 0;
      if (address + 4 <= c.wave.lds_size)
        std::memcpy(&value, reinterpret_cast<const void*>(c.wave.lds_base + address), sizeof value);
      return value;
    }
    case isa::Special::pops_exiting_wave_id:
    case isa::Special::null:
      return 0;
  }
  return 0;
}

bool is_mask(Type type) {
  return type == Type::mask64;
}

bool is_modified(const Operand& o) {
  return o.abs || o.neg || o.sext || o.sdwa_sel != SdwaSelect::dword;
}

// The source lane per destination lane for a DPP_CTRL, -1 where there is none (Vega ISA manual, "DPP").
void fill_dpp_lanes(unsigned ctrl, int8_t* lanes) {
  for (int l = 0; l < 64; ++l) {
    const int row = l & ~15;
    const int n = static_cast<int>(ctrl & 15);
    int s = -1;
    if (ctrl <= 0xff) {
      s = (l & ~3) | static_cast<int>(ctrl >> (2 * (l & 3)) & 3);
    } else if (ctrl > 0x100 && ctrl <= 0x10f) {  // row_shl
      s = (l & 15) + n < 16 ? l + n : -1;
    } else if (ctrl > 0x110 && ctrl <= 0x11f) {  // row_shr
      s = (l & 15) - n >= 0 ? l - n : -1;
    } else if (ctrl > 0x120 && ctrl <= 0x12f) {  // row_ror
      s = row | ((l - n) & 15);
    } else if (ctrl == 0x130) {  // wave_shl:1
      s = l < 63 ? l + 1 : -1;
    } else if (ctrl == 0x134) {  // wave_rol:1
      s = (l + 1) & 63;
    } else if (ctrl == 0x138) {  // wave_shr:1
      s = l > 0 ? l - 1 : -1;
    } else if (ctrl == 0x13c) {  // wave_ror:1
      s = (l - 1) & 63;
    } else if (ctrl == 0x140) {  // row_mirror
      s = row | (15 - (l & 15));
    } else if (ctrl == 0x141) {  // row_half_mirror
      s = (l & ~7) | (7 - (l & 7));
    } else if (ctrl == 0x142) {  // row_bcast:15
      s = row > 0 ? row - 1 : -1;
    } else if (ctrl == 0x143) {  // row_bcast:31
      s = l >= 32 ? 31 : -1;
    } else if (ctrl >= 0x150 && ctrl <= 0x15f) {  // row_newbcast (GFX90A)
      s = row | n;
    }
    lanes[l] = static_cast<int8_t>(s);
  }
}

Step unsupported(Context& c, const Op& op) {
  return c.exit(ExitReason::kUnsupported, op);
}

void prepare_source(Op& op, const Operand& o, Arena& arena, bool vector) {
  if (vector && is_mask(o.type)) op.has_mask_in = true;
  Source& s = vector && is_mask(o.type) ? op.mask_source : op.sources[op.num_sources++];
  s.operand = &o;
  s.dwords = o.dwords == 0 ? 1 : o.dwords;
  s.reg = o.reg;
  s.value = o.value;
  s.modified = is_modified(o);
  switch (o.kind) {
    case OperandKind::vgpr:
      s.kind = Source::Kind::vgpr;
      break;
    case OperandKind::agpr:
      s.kind = Source::Kind::agpr;
      break;
    case OperandKind::sgpr:
      s.kind = Source::Kind::sgpr;
      break;
    case OperandKind::special:
      s.kind = Source::Kind::special;
      break;
    default:
      s.kind = Source::Kind::constant;
      if (vector && !is_mask(o.type)) {
        uint32_t* rows = arena.allocate<uint32_t>(static_cast<size_t>(s.dwords) * kWaveSize);
        lane_functions().splat(rows, s.value, s.dwords);
        s.splat = rows;
      }
      break;
  }
}

uint16_t row_of(const Operand& o) {
  if (o.kind == OperandKind::vgpr) return o.reg;
  if (o.kind == OperandKind::agpr) return static_cast<uint16_t>(kNumVgprs + o.reg);
  return Op::kNone;
}

void prepare_memory(Op& op, Arena& arena) {
  const isa::Instruction& inst = op.inst;
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const Operand& o = inst.operands[i];
    switch (o.slot) {
      case Slot::vdst:
        op.has_vdst = true;
        op.dst_reg = row_of(o);
        op.dst_rows = o.dwords;
        break;
      case Slot::vdata:
        op.data_row = row_of(o);
        if (o.is_dst) {
          op.has_vdst = true;
          op.dst_reg = row_of(o);
          op.dst_rows = o.dwords;
        }
        break;
      case Slot::data0:
        op.data_row = row_of(o);
        break;
      case Slot::data1:
        op.data1_row = row_of(o);
        break;
      case Slot::addr:
      case Slot::vaddr:
        op.addr_row = row_of(o);
        break;
      case Slot::saddr:
        if (o.kind == OperandKind::sgpr) op.scalar_base = o.reg;
        break;
      case Slot::srsrc:
        op.scalar_base = o.reg;
        break;
      case Slot::soffset: {
        Op scratch;
        prepare_source(scratch, o, arena, false);
        op.mask_source = scratch.sources[0];
        break;
      }
      default:
        break;
    }
  }
}

// Does the instruction select or negate halves through the VOP3P fields in a way that differs from "each half as is"?
bool packed_defaults(const isa::Instruction& i, unsigned sources) {
  const unsigned all = (1u << sources) - 1;
  return (i.op_sel & all) == 0 && (i.op_sel_hi & all) == all && (i.neg_lo & all) == 0 && (i.neg_hi & all) == 0;
}

}  // namespace

uint32_t read_scalar32(const Context& c, const Source& s) {
  switch (s.kind) {
    case Source::Kind::sgpr:
      return c.wave.sgpr[s.reg];
    case Source::Kind::special:
      return static_cast<uint32_t>(special_value(c, s.reg, false));
    default:
      return static_cast<uint32_t>(s.value);
  }
}

uint64_t read_scalar64(const Context& c, const Source& s) {
  switch (s.kind) {
    case Source::Kind::sgpr:
      return c.wave.sgpr64(s.reg);
    case Source::Kind::special:
      return special_value(c, s.reg, true);
    default:
      return s.value;
  }
}

void Registry::kernel(Opcode op, Kernel kernel, Env env, uint8_t flags) {
  entries_[static_cast<unsigned>(op)] = {.handler = execute_valu, .kernel = kernel, .env = env, .flags = flags};
}

Registry::Registry() {
  register_salu(*this);
  register_salu_bits(*this);
  register_control(*this);
  register_smem(*this);
  register_valu_int(*this);
  register_valu_int3(*this);
  register_valu_f32(*this);
  register_valu_f64(*this);
  register_valu_f16(*this);
  register_transcendental(*this);
  register_division(*this);
  register_conversions(*this);
  register_compares(*this);
  register_fp8(*this);
  register_packed(*this);
  register_dot(*this);
  register_cross_lane(*this);
  register_ds(*this);
  register_ds_atomics(*this);
  register_flat(*this);
  register_buffer(*this);
  register_buffer_format(*this);
  register_mimg(*this);
  register_mfma(*this);
}

const Registry& Registry::get() {
  static const Registry registry;
  return registry;
}

void prepare(Op& op, Arena& arena) {
  const isa::Instruction& inst = op.inst;
  const Registration& registration = Registry::get()[inst.opcode];
  op.size = inst.size;
  op.param = registration.param;
  if (registration.handler == nullptr) {
    op.handler = unsupported;
    return;
  }
  op.handler = registration.handler;
  op.kernel = registration.kernel;
  op.env = registration.env;

  switch (inst.format) {
    case isa::Format::ds:
    case isa::Format::flat:
    case isa::Format::mubuf:
    case isa::Format::mtbuf:
    case isa::Format::mimg:
      return prepare_memory(op, arena);
    default:
      break;
  }
  const bool vector = op.kernel != nullptr;
  const Operand* accumulator = nullptr;
  const Operand* vdst = nullptr;
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const Operand& o = inst.operands[i];
    if (o.is_dst) {
      if (o.slot == Slot::vdst && !is_mask(o.type) && o.kind != OperandKind::sgpr) {
        vdst = &o;
        if (o.is_src) accumulator = &o;
      } else {
        op.mask_reg = o.reg;
        op.writes_mask = true;
      }
      continue;
    }
    // Handlers of instructions with more than four sources look at `inst` themselves.
    if (op.num_sources < op.sources.size()) prepare_source(op, o, arena, vector);
  }
  if (accumulator != nullptr && vector) {
    prepare_source(op, *accumulator, arena, vector);
    op.sources[op.num_sources - 1].modified = false;
  }
  if (vdst != nullptr) {
    op.has_vdst = true;
    op.dst_reg = vdst->reg + (vdst->kind == OperandKind::agpr ? 256 : 0);
    op.old_reg = op.dst_reg;
    op.dst_rows = vdst->dwords == 0 ? 1 : vdst->dwords;
  }
  if (!vector) return;

  if ((registration.flags & kReadsVcc) != 0) {
    op.has_mask_in = true;
    op.mask_source.kind = Source::Kind::sgpr;
    op.mask_source.reg = sreg::kVccLo;
  }
  op.writes_exec = (registration.flags & kCmpx) != 0;
  bool plain = !inst.is_dpp && !inst.is_sdwa && inst.omod == 0;
  const bool packed = inst.format == isa::Format::vop3p;
  if (packed) {
    plain = plain && packed_defaults(inst, op.num_sources);
  } else {
    plain = plain && inst.op_sel == 0;
  }
  // Clamp of floating-point results is a store stage; integer kernels clamp themselves.
  if (inst.clamp && vdst != nullptr) {
    const Type t = vdst->type;
    if (t == Type::f16 || t == Type::f32 || t == Type::f64 || t == Type::v2f16 || t == Type::v2f32) plain = false;
  }
  for (unsigned i = 0; i < op.num_sources; ++i) plain = plain && !op.sources[i].modified;
  if ((registration.flags & kRawSources) != 0) plain = true;
  if ((registration.flags & (kMix | kToHi)) != 0) plain = false;
  op.param = registration.flags & (kResult16 | kMix | kToHi);
  if ((registration.flags & kPreservesHi) != 0 && isa::family_of(inst.target) >= isa::Family::gfx9) {
    plain = false;
    op.param |= kPreservesHi;
  }
  op.plain = plain;
  if (inst.is_dpp) {
    int8_t* lanes = arena.allocate<int8_t>(64);
    fill_dpp_lanes(inst.dpp.ctrl, lanes);
    op.dpp_lanes = lanes;
    uint64_t mask = 0;
    for (unsigned l = 0; l < 64; ++l)
      if ((inst.dpp.row_mask >> (l / 16) & 1) != 0 && (inst.dpp.bank_mask >> (l / 4 % 4) & 1) != 0) mask |= 1ull << l;
    op.dpp_write_mask = mask;
  }
}

}  // namespace wavejit::interp
