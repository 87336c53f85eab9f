// LLVM assembly syntax.
#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "frontend/isa/decode_state.h"
#include "frontend/isa/decoder.h"
#include "frontend/isa/print_state.h"
#include "internal/check.h"

namespace wavejit::isa {
namespace {

class Printer {
 public:
  explicit Printer(const Instruction& inst) : inst_(inst), row_(row_of(inst.opcode)) {}

  std::string run() {
    mnemonic();
    switch (inst_.format) {
      case Format::exp:
        exp();
        break;
      case Format::vop3p:
        vop3p();
        break;
      default:
        operands();
        break;
    }
    modifiers();
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void flag_word(bool set, std::string_view word) {
    if (!set) return;
    out_ += ' ';
    out_ += word;
  }
  [[nodiscard]] bool before_gfx8() const { return family_of(inst_.target) < Family::gfx8; }
  [[nodiscard]] bool gfx940() const { return family_of(inst_.target) == Family::gfx940; }
  [[nodiscard]] bool before_gfx9() const { return family_of(inst_.target) < Family::gfx9; }

  void mnemonic() {
    const Family family = family_of(inst_.target);
    out_ += printed_name(inst_.opcode, family);
    switch (row_.format) {
      case Format::vop1:
      case Format::vop2:
      case Format::vopc:
      case Format::vintrp:
        break;
      default:
        return;
    }
    const bool vop3_only = row_.number[static_cast<size_t>(family)] >= kVop3Only;
    if (row_.has(flag::no_suffix) || vop3_only) return;
    if (row_.format == Format::vintrp && before_gfx8()) return;  // no VOP3 form to be told from
    if (inst_.is_sdwa) {
      if (inst_.format != Format::vopc || !before_gfx9()) out_ += "_sdwa";
    } else if (inst_.is_dpp) {
      out_ += "_dpp";
    } else {
      out_ += inst_.is_e64 ? "_e64" : "_e32";
    }
  }

  void separate() {
    out_ += first_ ? " " : ", ";
    first_ = false;
  }

  void operands() {
    const bool interp = inst_.format == Format::vintrp || prints_attr();
    for (unsigned i = 0; i < inst_.num_operands; ++i) {
      const Operand& op = inst_.operands[i];
      if (inst_.opcode == Opcode::s_endpgm && op.value == 0) return;
      if (is_smem_offset(op)) continue;
      separate();
      if (op.kind == OperandKind::immediate)
        immediate(op);
      else if (op.slot == Slot::literal)
        append("{:#x}", inst_.words[1]);
      else
        print_operand(out_, inst_, op);
      if (interp && op.slot == Slot::src0) {
        separate();
        append("attr{}.{}", inst_.attr, "xyzw"[inst_.attr_chan]);
      }
    }
  }

  [[nodiscard]] bool prints_attr() const {
    for (const OperandSpec& spec : row_.specs())
      if (spec.is_attr) return true;
    return false;
  }

  [[nodiscard]] bool is_smem_offset(const Operand& op) const {
    return inst_.format == Format::smem && op.slot == Slot::soffset;
  }

  void immediate(const Operand& op) {
    const auto imm = static_cast<uint32_t>(op.value);
    if (op.slot == Slot::target) return append("{}", inst_.words[0] & 0xffff);
    switch (inst_.opcode) {
      case Opcode::s_waitcnt:
        return print_waitcnt(out_, inst_, imm);
      case Opcode::s_getreg_b32:
      case Opcode::s_setreg_b32:
      case Opcode::s_setreg_imm32_b32:
        return print_hwreg(out_, inst_, imm);
      case Opcode::s_sendmsg:
      case Opcode::s_sendmsghalt:
        return print_sendmsg(out_, inst_, imm);
      case Opcode::s_set_gpr_idx_on:
      case Opcode::s_set_gpr_idx_mode:
        return print_gpr_idx(out_, imm);
      case Opcode::v_interp_mov_f32: {
        static constexpr std::string_view kParameters[] = {"p10", "p20", "p0"};
        out_ += kParameters[imm % 3];
        return;
      }
      default:
        break;
    }
    const bool small = imm <= 64 || inst_.opcode == Opcode::s_endpgm;
    if (inst_.format == Format::sopk || !small)
      append("{:#x}", imm);
    else
      append("{}", imm);
  }

  void list(std::string_view name, unsigned bits_value, unsigned count) {
    append(" {}:[", name);
    for (unsigned i = 0; i < count; ++i) append("{}{}", i == 0 ? "" : ",", bits_value >> i & 1);
    out_ += ']';
  }

  [[nodiscard]] unsigned sources() const {
    unsigned count = 0;
    for (unsigned i = 0; i < inst_.num_operands; ++i)
      count += inst_.operands[i].slot == Slot::src0 || inst_.operands[i].slot == Slot::src1 ||
               inst_.operands[i].slot == Slot::src2;
    return count;
  }

  void vop3p() {
    operands();
    const unsigned count = sources(), all = (1u << count) - 1;
    const bool mix = row_.has(flag::mix);
    if (inst_.op_sel != 0) list("op_sel", inst_.op_sel, count);
    if ((inst_.op_sel_hi & all) != (mix ? 0 : all)) list("op_sel_hi", inst_.op_sel_hi, count);
    if (!mix && inst_.neg_lo != 0) list("neg_lo", inst_.neg_lo, count);
    if (!mix && inst_.neg_hi != 0) list("neg_hi", inst_.neg_hi, count);
  }

  void modifiers() {
    switch (inst_.format) {
      case Format::smem:
        return smem_modifiers();
      case Format::vop1:
      case Format::vop2:
      case Format::vopc:
        if (inst_.is_sdwa) return sdwa_modifiers();
        if (inst_.is_dpp) return dpp_modifiers();
        return;
      case Format::vop3:
      case Format::vop3b:
      case Format::vop3p:
      case Format::vintrp:
        return vop3_modifiers();
      case Format::mai:
        if (inst_.cbsz != 0) append(" cbsz:{}", inst_.cbsz);
        if (inst_.abid != 0) append(" abid:{}", inst_.abid);
        if (inst_.blgp == 0) return;
        if (gfx940() && inst_.get(Slot::src0).type == Type::f64)
          list("neg", inst_.blgp, 3);
        else
          append(" blgp:{}", inst_.blgp);
        return;
      case Format::ds:
        return ds_modifiers();
      case Format::flat:
        if (inst_.offset != 0) append(" offset:{}", inst_.offset);
        cache_policy();
        flag_word(inst_.lds && !gfx940(), "lds");
        return;
      case Format::mtbuf:
        print_buffer_format(out_, inst_);
        [[fallthrough]];
      case Format::mubuf:
        return buffer_modifiers();
      case Format::mimg:
        return image_modifiers();
      default:
        return;
    }
  }

  void cache_policy() {
    flag_word(inst_.glc, gfx940() ? "sc0" : "glc");
    flag_word(inst_.slc, gfx940() ? "nt" : "slc");
    flag_word(inst_.scc, gfx940() ? "sc1" : "scc");
  }

  void clamp_and_omod() {
    static constexpr std::string_view kOmod[] = {"", "mul:2", "mul:4", "div:2"};
    flag_word(inst_.clamp, "clamp");
    flag_word(inst_.omod != 0, kOmod[inst_.omod]);
  }

  void vop3_modifiers() {
    if (prints_attr())
      flag_word(inst_.op_sel != 0, "high");
    else if (row_.has(flag::stochastic) && inst_.op_sel != 0)
      list("op_sel", inst_.op_sel, 4);
    else if (row_.has(flag::op_sel) && inst_.op_sel != 0)
      list("op_sel", (inst_.op_sel & 7 & ((1u << sources()) - 1)) | unsigned{inst_.op_sel} >> 3 << sources(),
           sources() + 1);
    clamp_and_omod();
  }

  void sdwa_modifiers() {
    static constexpr std::string_view kSelects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                    "WORD_0", "WORD_1", "DWORD"};
    static constexpr std::string_view kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    if (inst_.num_operands == 0) return;
    clamp_and_omod();
    if (inst_.format != Format::vopc && !row_.has(flag::fp8))
      append(" dst_sel:{} dst_unused:{}", kSelects[static_cast<size_t>(inst_.sdwa_dst_sel)],
             kUnused[static_cast<size_t>(inst_.sdwa_dst_unused)]);
    if (const Operand* op = inst_.find(Slot::src0)) append(" src0_sel:{}", kSelects[static_cast<size_t>(op->sdwa_sel)]);
    if (const Operand* op = inst_.find(Slot::src1)) append(" src1_sel:{}", kSelects[static_cast<size_t>(op->sdwa_sel)]);
  }

  void dpp_modifiers() {
    print_dpp_ctrl(out_, inst_.dpp.ctrl);
    append(" row_mask:{:#x} bank_mask:{:#x}", inst_.dpp.row_mask, inst_.dpp.bank_mask);
    flag_word(inst_.dpp.bound_ctrl, "bound_ctrl:1");
  }

  void smem_modifiers() {
    const Operand* soffset = inst_.find(Slot::soffset);
    if (soffset != nullptr) {
      separate();
      print_operand(out_, inst_, *soffset);
    }
    const bool has_immediate = bit(inst_.words[0], 17);
    if (before_gfx8()) {
      if (soffset != nullptr || inst_.find(Slot::sbase) == nullptr) return;
      separate();
      return append("{:#x}", inst_.offset / 4);  // in dwords
    }
    if (inst_.find(Slot::sbase) != nullptr && has_immediate) {
      if (soffset == nullptr)
        separate();
      else
        out_ += " offset:";
      append("{}{:#x}", inst_.offset < 0 ? "-" : "", inst_.offset < 0 ? -inst_.offset : inst_.offset);
    }
    flag_word(inst_.glc, "glc");
  }

  void ds_modifiers() {
    const auto offset = static_cast<uint32_t>(inst_.offset);
    if (inst_.opcode == Opcode::ds_swizzle_b32) {
      print_swizzle(out_, offset);
    } else if (row_.has(flag::offset2)) {
      if ((offset & 0xff) != 0) append(" offset0:{}", offset & 0xff);
      if (offset >> 8 != 0) append(" offset1:{}", offset >> 8);
    } else if (offset != 0) {
      append(" offset:{}", offset);
    }
    flag_word(inst_.gds, "gds");
  }

  void buffer_modifiers() {
    flag_word(inst_.idxen, "idxen");
    flag_word(inst_.offen, "offen");
    flag_word(inst_.addr64, "addr64");
    if (inst_.offset != 0) append(" offset:{}", inst_.offset);
    const bool lds_store = inst_.opcode == Opcode::buffer_store_lds_dword;
    flag_word(inst_.lds && lds_store, "lds");
    cache_policy();
    flag_word(inst_.tfe, "tfe");
    flag_word(inst_.lds && !lds_store, "lds");
  }

  void image_modifiers() {
    if (inst_.dmask != 0) append(" dmask:{:#x}", inst_.dmask);
    flag_word(inst_.unorm, "unorm");
    cache_policy();
    flag_word(inst_.r128, "r128");
    flag_word(inst_.a16, "a16");
    flag_word(inst_.tfe, "tfe");
    flag_word(inst_.lwe, "lwe");
    flag_word(inst_.da, "da");
    flag_word(inst_.d16, "d16");
  }

  void exp() {
    const unsigned target = inst_.exp_target;
    if (target <= 7)
      append(" mrt{}", target);
    else if (target == 8)
      out_ += " mrtz";
    else if (target == 9)
      out_ += " null";
    else if (target >= 12 && target <= 15)
      append(" pos{}", target - 12);
    else if (target >= 32)
      append(" param{}", target - 32);
    else
      append(" invalid_target_{}", target);
    for (unsigned i = 0; i < 4; ++i) {
      out_ += i == 0 ? " " : ", ";
      // Compressed exports have two 32-bit sources of two halves each.
      if (bit(inst_.exp_enable, i))
        print_plain_operand(out_, inst_, inst_.operands[inst_.exp_compr ? i / 2 : i]);
      else
        out_ += "off";
    }
    flag_word(inst_.exp_done, "done");
    flag_word(inst_.exp_compr, "compr");
    flag_word(inst_.exp_vm, "vm");
  }

  const Instruction& inst_;
  const Row& row_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string disassemble(const Instruction& instruction) {
  WAVEJIT_CHECK(instruction.opcode < Opcode::kCount, "disassemble() needs a decoded instruction");
  return Printer(instruction).run();
}

}  // namespace wavejit::isa
