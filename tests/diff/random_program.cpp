#include "tests/diff/random_program.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <string_view>

#include "frontend/isa/decoder.h"
#include "frontend/isa/info.h"
#include "internal/check.h"
#include "tests/diff/random_memory.h"
#include "tests/diff/random_sequence.h"

namespace wavejit::test {
namespace {

using Kind = ProgramNode::Kind;

constexpr uint32_t kVcc = 106, kExec = 126, kZero = 128, kOne = 129, kVgpr0 = 256;
constexpr uint32_t kControlSgprs = 60, kControlSgprsPerLevel = 8, kMaxDepth = 3;
constexpr uint32_t kMemorySgpr = kAddressSgpr;
constexpr uint32_t kOffsets = kProgramVgpr, kPairs = kProgramVgpr + 4, kScratchVgpr = kProgramVgpr + 10;

// The opcode number of a row.
uint32_t number(std::string_view name, isa::Target target) {
  static const auto& rows = *new std::map<std::string_view, isa::Opcode>([] {
    std::map<std::string_view, isa::Opcode> map;
    for (unsigned i = 0; i < isa::kNumOpcodes; ++i)
      map.emplace(isa::info(static_cast<isa::Opcode>(i)).name, static_cast<isa::Opcode>(i));
    return map;
  }());
  const auto it = rows.find(name);
  WAVEJIT_CHECK(it != rows.end(), "no instruction {}", name);
  const int n = isa::info(it->second).number[static_cast<unsigned>(isa::family_of(target))];
  WAVEJIT_CHECK(n >= 0, "{} does not exist on {}", name, isa::to_string(target));
  return static_cast<uint32_t>(n);
}

class Assembler {
 public:
  explicit Assembler(isa::Target target) : target_(target) {}

  void sop1(std::string_view name, uint32_t dst, uint32_t src) {
    add(0xbe800000u | dst << 16 | number(name, target_) << 8 | src);
  }
  void sop2(std::string_view name, uint32_t dst, uint32_t a, uint32_t b) {
    add(0x80000000u | number(name, target_) << 23 | dst << 16 | b << 8 | a);
  }
  void sopc(std::string_view name, uint32_t a, uint32_t b) {
    add(0xbf000000u | number(name, target_) << 16 | b << 8 | a);
  }
  void vop1(std::string_view name, uint32_t dst, uint32_t src) {
    add(0x7e000000u | dst << 17 | number(name, target_) << 9 | src);
  }
  void vop2(std::string_view name, uint32_t dst, uint32_t a, uint32_t b) {
    add(number(name, target_) << 25 | dst << 17 | b << 9 | a);
  }
  // With a 32-bit constant as the first source.
  void vop2_literal(std::string_view name, uint32_t dst, uint32_t literal, uint32_t b) {
    vop2(name, dst, 255, b);
    add(literal);
  }
  void vopc(std::string_view name, uint32_t a, uint32_t b) {
    add(0x7c000000u | number(name, target_) << 17 | b << 9 | a);
  }
  void mbcnt(uint32_t dst) {
    add(vop3("v_mbcnt_lo_u32_b32") | dst);
    add(kZero << 9 | 193);
    add(vop3("v_mbcnt_hi_u32_b32") | dst);
    add((kVgpr0 + dst) << 9 | 193);
  }
  void ds(std::string_view name, uint32_t dst, uint32_t address, uint32_t data, uint32_t offset) {
    add(0xd8000000u | number(name, target_) << (before_gfx8() ? 18 : 17) | offset);
    add(dst << 24 | data << 8 | address);
  }
  void flat(std::string_view name, uint32_t dst, uint32_t address, uint32_t data, bool glc = false) {
    add(0xdc000000u | number(name, target_) << 18 | uint32_t{glc} << 16);
    add(dst << 24 | data << 8 | address);
  }
  // s_cbranch or s_branch over everything up to place(); returns what place() needs.
  [[nodiscard]] size_t branch(uint32_t opcode) {
    add(0xbf800000u | opcode << 16);
    return words_.size();
  }
  void place(size_t branch) { words_[branch - 1] |= static_cast<uint32_t>(words_.size() - branch) & 0xffff; }
  [[nodiscard]] size_t here() const { return words_.size(); }
  void branch_back(uint32_t opcode, size_t to) {
    add(0xbf800000u | opcode << 16);
    words_.back() |= static_cast<uint32_t>(to - words_.size()) & 0xffff;
  }
  void add(uint32_t word) { words_.push_back(word); }
  void add(const std::vector<uint32_t>& words) { words_.insert(words_.end(), words.begin(), words.end()); }
  [[nodiscard]] std::vector<uint32_t> take() { return std::move(words_); }

 private:
  [[nodiscard]] bool before_gfx8() const { return isa::family_of(target_) < isa::Family::gfx8; }
  // First word of a VOP2 instruction of GFX6 and GFX7 that later generations have as VOP3 only.
  [[nodiscard]] uint32_t vop3(std::string_view name) const {
    const uint32_t n = number(name, target_);
    return 0xd0000000u | (before_gfx8() ? (0x100 + n) << 17 : (n & 0x3ff) << 16);
  }

  isa::Target target_;
  std::vector<uint32_t> words_;
};

constexpr uint32_t kScc0 = 4, kScc1 = 5, kVccz = 6, kExecz = 8, kExecnz = 9;

void emit(Assembler& out, const ProgramNode& node, uint32_t depth);

void emit(Assembler& out, const std::vector<ProgramNode>& nodes, uint32_t depth) {
  for (const ProgramNode& node : nodes) emit(out, node, depth);
}

void emit(Assembler& out, const ProgramNode& node, uint32_t depth) {
  const uint32_t saved = kControlSgprs + depth * kControlSgprsPerLevel, saved2 = saved + 2, counter = saved + 4;
  const auto restore = [&] {
    if (node.restore_by_or)
      out.sop2("s_or_b64", kExec, kExec, saved);
    else
      out.sop1("s_mov_b64", kExec, saved);
  };
  const auto count_down = [&](size_t top) {
    out.sop2("s_sub_u32", counter, counter, kOne);
    out.sopc("s_cmp_lg_u32", counter, kZero);
    out.branch_back(kScc1, top);
  };
  switch (node.kind) {
    case Kind::words:
      out.add(node.words);
      break;
    case Kind::if_exec: {
      out.add(node.words);
      out.sop1("s_and_saveexec_b64", saved, node.condition);
      const size_t over = node.skip ? out.branch(kExecz) : 0;
      emit(out, node.body, depth + 1);
      if (node.skip) out.place(over);
      restore();
      break;
    }
    case Kind::if_else: {
      out.add(node.words);
      out.sop1("s_and_saveexec_b64", saved, kVcc);
      out.sop2("s_xor_b64", saved, kExec, saved);
      size_t over = node.skip ? out.branch(kExecz) : 0;
      emit(out, node.body, depth + 1);
      if (node.skip) out.place(over);
      out.sop1("s_or_saveexec_b64", saved, saved);
      out.sop2("s_xor_b64", kExec, kExec, saved);
      over = node.skip ? out.branch(kExecz) : 0;
      emit(out, node.other, depth + 1);
      if (node.skip) out.place(over);
      out.sop2("s_or_b64", kExec, kExec, saved);
      break;
    }
    case Kind::if_scalar: {
      out.add(node.words);
      const size_t over = out.branch(node.condition);
      emit(out, node.body, depth + 1);
      out.place(over);
      break;
    }
    case Kind::loop_count: {
      out.sop1("s_mov_b32", counter, kZero + node.trips);
      const size_t top = out.here();
      emit(out, node.body, depth + 1);
      count_down(top);
      break;
    }
    case Kind::loop_exec: {
      out.sop1("s_mov_b64", saved, kExec);
      out.sop1("s_mov_b32", counter, kZero + node.trips);
      const size_t top = out.here();
      emit(out, node.body, depth + 1);
      out.add(node.words);
      out.sop2("s_and_b64", kExec, kExec, kVcc);
      const size_t end = out.branch(kExecz);
      count_down(top);
      out.place(end);
      restore();
      break;
    }
    case Kind::loop_vccz: {
      out.sop1("s_mov_b32", counter, kZero + node.trips);
      const size_t top = out.here();
      emit(out, node.body, depth + 1);
      out.add(node.words);
      const size_t end = out.branch(kVccz);
      count_down(top);
      out.place(end);
      break;
    }
    case Kind::waterfall: {
      out.sop1("s_mov_b64", saved, kExec);
      out.sop1("s_mov_b32", counter, kZero + node.trips);
      const size_t top = out.here();
      out.vop1("v_readfirstlane_b32", saved + 5, kVgpr0 + node.condition);
      out.vopc("v_cmp_eq_u32", saved + 5, node.condition);
      out.sop1("s_and_saveexec_b64", saved2, kVcc);
      emit(out, node.body, depth + 1);
      out.sop2("s_xor_b64", kExec, saved2, kExec);
      const size_t end = out.branch(kExecz);
      count_down(top);
      out.place(end);
      restore();
      break;
    }
  }
}

// Whether the instruction leaves the registers of control flow and of addresses alone.
bool is_harmless(const std::vector<uint32_t>& words, isa::Target target) {
  isa::Instruction inst;
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4);
  if (isa::decode(target, bytes, 0, inst) != isa::DecodeStatus::ok) return false;
  for (unsigned i = 0; i < inst.num_operands; ++i) {
    const isa::Operand& operand = inst.operands[i];
    const unsigned end = operand.reg + operand.dwords;
    if (!operand.is_dst) continue;
    if (operand.kind == isa::OperandKind::sgpr && end > kControlSgprs && operand.reg < kMemorySgpr + 2) return false;
    if (operand.kind == isa::OperandKind::vgpr && end > kAddressVgpr) return false;
  }
  return true;
}

class Generator {
 public:
  Generator(isa::Target target, const std::vector<Candidate>& pool, Rng& rng) : target_(target), rng_(rng) {
    program_.mode = random_mode(rng) | random_recording(rng, true);
    program_.floats = chance(4);
    cross_ = chance(3);
    lds_ = chance(2);
    memory_ = !chance(3);
    masks_ = chance(2);
    modes_ = chance(3);
    choose(pool);
  }

  Program run() {
    if (!chance(3)) program_.nodes.push_back(known_addresses());
    const unsigned count = 2 + pick(4);
    for (unsigned i = 0; i < count; ++i) program_.nodes.push_back(node(0));
    return std::move(program_);
  }

 private:
  unsigned pick(unsigned n) { return static_cast<unsigned>(rng_() % n); }
  bool chance(unsigned one_in) { return pick(one_in) == 0; }
  uint32_t vgpr() { return pick(16); }

  void choose(const std::vector<Candidate>& pool) {
    const auto take = [&](unsigned count, auto&& wanted) {
      for (unsigned tries = 0; tries < 2000 && count != 0; ++tries) {
        const Candidate& c = pool[rng_() % pool.size()];
        if (!wanted(isa::info(c.opcode), c)) continue;
        chosen_.push_back(c);
        --count;
      }
    };
    const auto has = [](const isa::OpcodeInfo& info, std::string_view part) {
      return info.name.find(part) != std::string_view::npos;
    };
    const auto is_float = [&](const isa::OpcodeInfo& info) {
      return has(info, "_f16") || has(info, "_f32") || has(info, "_f64");
    };
    const auto scalar = [](const isa::OpcodeInfo& info) { return info.name.starts_with("s_"); };
    const auto vector = [&](const isa::OpcodeInfo& info, const Candidate& c) {
      return info.name.starts_with("v_") && info.format != isa::Format::mai && !info.is_cross_lane &&
             (c.form != Form::dpp || cross_);
    };
    if (program_.floats) {
      // What reads a NaN's bits as a number, or as that of two halves, would show its payload.
      take(14, [&](const isa::OpcodeInfo& info, const Candidate& c) {
        return vector(info, c) && c.form != Form::sdwa && has(info, "_f32") && !has(info, "_f16") &&
               !has(info, "_f64") && !has(info, "cvt") && !has(info, "class") && !has(info, "ldexp") &&
               !has(info, "cube") && !has(info, "pk") && !has(info, "_mix") && !has(info, "legacy");
      });
      return;
    }
    take(14, [&](const isa::OpcodeInfo& info, const Candidate& c) { return vector(info, c) && !is_float(info); });
    take(masks_ ? 8 : 3, [&](const isa::OpcodeInfo& info, const Candidate&) {
      return scalar(info) && info.format != isa::Format::sopp &&
             (masks_ || has(info, "_i32") || has(info, "_u32") || has(info, "_b32"));
    });
    if (cross_)
      take(3, [&](const isa::OpcodeInfo& info, const Candidate&) {
        return info.is_cross_lane && info.format != isa::Format::mai && !is_float(info);
      });
    if (lds_)
      take(3, [&](const isa::OpcodeInfo& info, const Candidate& c) {
        return info.format == isa::Format::ds && !info.is_cross_lane && !is_float(info) && !needs_addresses(c.opcode);
      });
    if (memory_)
      take(6, [&](const isa::OpcodeInfo& info, const Candidate& c) {
        return needs_addresses(c.opcode) && !scalar(info) && !is_float(info) && !has(info, "atomic_f") &&
               !(info.format == isa::Format::mimg &&
                 (info.is_atomic || info.name == "image_sample"));  // those images are in registers of control flow
      });
  }

  std::vector<uint32_t> instruction() {
    for (unsigned tries = 0; tries < 20; ++tries) {
      NanTaint taint;  // nothing chosen makes NaNs, or all of it does
      const Step step = random_step(chosen_[rng_() % chosen_.size()], chosen_, target_, taint, rng_);
      const bool harmless = std::all_of(step.instructions.begin(), step.instructions.end(),
                                        [&](const Words& words) { return is_harmless(words, target_); });
      if (!step.instructions.empty() && harmless) return flatten(step);
    }
    Assembler out(target_);
    out.vop1("v_mov_b32", vgpr(), kVgpr0 + vgpr());
    return out.take();
  }

  // MODE, VGPR indexing or skipped vector instructions.
  std::vector<uint32_t> mode_change() {
    static constexpr isa::Opcode kOpcodes[] = {isa::Opcode::s_setreg_imm32_b32, isa::Opcode::s_setreg_imm32_b32,
                                               isa::Opcode::s_setreg_b32, isa::Opcode::s_setvskip,
                                               isa::Opcode::s_set_gpr_idx_on};
    const unsigned kinds = isa::family_of(target_) >= isa::Family::gfx8 && !program_.floats ? 5 : 4;
    for (unsigned tries = 0; tries < 20; ++tries) {
      NanTaint taint;
      const Step step = random_step({kOpcodes[pick(kinds)], Form::base}, chosen_, target_, taint, rng_);
      if (!step.instructions.empty() && std::all_of(step.instructions.begin(), step.instructions.end(),
                                                    [&](const Words& words) { return is_harmless(words, target_); }))
        return flatten(step);
    }
    return instruction();
  }

  // The compares and logic that compilers emit, more often than the pool has them.
  std::vector<uint32_t> common(uint32_t depth) {
    static constexpr std::string_view kNames[] = {"v_and_b32",     "v_or_b32",  "v_xor_b32", "v_lshlrev_b32",
                                                  "v_lshrrev_b32", "v_max_u32", "v_min_i32"};
    static constexpr std::string_view kFloats[] = {"v_add_f32", "v_mul_f32", "v_sub_f32", "v_max_f32", "v_min_f32"};
    Assembler out(target_);
    const uint32_t source = depth != 0 && !program_.floats && chance(3)
                                ? kControlSgprs + (pick(depth))*kControlSgprsPerLevel + 4  // a loop's counter, perhaps
                                : kVgpr0 + vgpr();
    if (program_.floats)
      out.vop2(kFloats[rng_() % std::size(kFloats)], vgpr(), source, vgpr());
    else if (chance(5))
      out.vop2("v_cndmask_b32", vgpr(), source, vgpr());
    else if (chance(5))
      out.vop1("v_mov_b32", vgpr(), source);
    else
      out.vop2(kNames[rng_() % std::size(kNames)], vgpr(), source, vgpr());
    return out.take();
  }

  std::vector<uint32_t> compare() {
    static constexpr std::string_view kNames[] = {"v_cmp_lt_u32", "v_cmp_gt_i32", "v_cmp_ne_u32", "v_cmp_le_u32"};
    Assembler out(target_);
    if (program_.floats) {
      out.vopc(chance(2) ? "v_cmp_lt_f32" : "v_cmp_nge_f32", kVgpr0 + vgpr(), vgpr());
    } else {
      const uint32_t source = chance(3) ? kZero + pick(65) : kVgpr0 + vgpr();
      out.vopc(kNames[rng_() % std::size(kNames)], source, chance(4) ? kOffsets + pick(4) : vgpr());
    }
    return out.take();
  }

  // The first offset and address again, this time from the lane's number.
  ProgramNode known_addresses() {
    Assembler out(target_);
    out.mbcnt(kOffsets);
    out.vop2("v_lshlrev_b32", kOffsets, kZero + 2, kOffsets);
    out.vop1("v_mov_b32", kPairs + 1, kMemorySgpr + 1);
    out.vop2("v_add_co_u32", kPairs, kMemorySgpr, kOffsets);
    out.vop2("v_addc_co_u32", kPairs + 1, kZero, kPairs + 1);
    ProgramNode n;
    n.words = out.take();
    return n;
  }

  // Moves an address on, as loops do. Few of them, so that the memory is large enough.
  std::vector<uint32_t> bump() {
    Assembler out(target_);
    ++bumps_;
    if (chance(2)) {
      out.vop2("v_add_co_u32", kOffsets + pick(4), kZero + 4 * (1 + pick(4)), kOffsets + pick(2));
    } else {
      const uint32_t address = kPairs + 2 * pick(3);
      out.vop2("v_add_co_u32", address, kZero + 4 * (1 + pick(4)), address);
      out.vop2("v_addc_co_u32", address + 1, kZero, address + 1);
    }
    return out.take();
  }

  std::vector<uint32_t> scalar_compare() {
    static constexpr std::string_view kNames[] = {"s_cmp_lt_u32", "s_cmp_lg_u32", "s_cmp_gt_i32", "s_cmp_eq_u32"};
    Assembler out(target_);
    if (!chance(3)) out.sopc(kNames[rng_() % std::size(kNames)], pick(20), chance(2) ? pick(20) : kZero + pick(65));
    return out.take();
  }

  std::vector<uint32_t> access() {
    Assembler out(target_);
    if (lds_ && (!memory_ || chance(2))) {
      const uint32_t address = kOffsets + pick(4), offset = pick(16) * 4 * pick(16);
      switch (program_.floats ? pick(2) : pick(5)) {
        case 0:
          out.ds("ds_read_b32", vgpr(), address, 0, offset);
          break;
        case 1:
          out.ds("ds_write_b32", 0, address, vgpr(), offset);
          break;
        case 2:
          out.ds("ds_add_rtn_u32", vgpr(), address, vgpr(), offset);
          break;
        case 3:
          out.ds("ds_write_b8", 0, address, vgpr(), offset);
          break;
        default:
          out.ds("ds_read_b64", vgpr() & 14, address, 0, offset);
          break;
      }
      return out.take();
    }
    if (!memory_ || isa::family_of(target_) == isa::Family::gfx6) return instruction();  // GFX6 has no flat_load
    uint32_t address = kPairs + 2 * pick(3);
    if (chance(2)) {
      // Base plus an offset from the lane's number, or from data.
      if (chance(2)) {
        out.mbcnt(kScratchVgpr);
        out.vop2("v_lshlrev_b32", kScratchVgpr, kZero + 2 + pick(3), kScratchVgpr);
        if (chance(3)) out.vop2_literal("v_xor_b32", kScratchVgpr, 4u << pick(8), kScratchVgpr);
      } else if (!program_.floats) {
        out.vop2_literal("v_and_b32", kScratchVgpr, 0xffc, vgpr());
      } else {
        out.vop1("v_mov_b32", kScratchVgpr, kVgpr0 + kOffsets + pick(4));
      }
      out.vop1("v_mov_b32", kScratchVgpr + 1, kMemorySgpr + 1);
      out.vop2("v_add_co_u32", kScratchVgpr, kMemorySgpr, kScratchVgpr);
      out.vop2("v_addc_co_u32", kScratchVgpr + 1, kZero, kScratchVgpr + 1);
      address = kScratchVgpr;
    }
    switch (program_.floats ? pick(2) : pick(6)) {
      case 0:
        out.flat("flat_load_dword", vgpr(), address, 0);
        break;
      case 1:
        out.flat("flat_store_dword", 0, address, vgpr());
        break;
      case 2:
        out.flat("flat_load_ubyte", vgpr(), address, 0);
        break;
      case 3:
        out.flat("flat_store_byte", 0, address, vgpr());
        break;
      case 4:
        out.flat("flat_load_dwordx2", vgpr() & 14, address, 0);
        break;
      default:
        out.flat("flat_atomic_add", vgpr(), address, vgpr(), chance(2));
        break;
    }
    return out.take();
  }

  std::vector<ProgramNode> body(uint32_t depth) {
    std::vector<ProgramNode> nodes;
    const unsigned count = 1 + pick(5);
    for (unsigned i = 0; i < count; ++i) nodes.push_back(node(depth));
    return nodes;
  }

  ProgramNode node(uint32_t depth) {
    ProgramNode n;
    if (depth >= kMaxDepth || !chance(depth == 0 ? 2 : 5)) {
      if (depth != 0 && bumps_ < 3 && chance(6)) {
        n.words = bump();
        return n;
      }
      if (modes_ && chance(6)) {
        n.words = mode_change();
        return n;
      }
      if (chance(40)) {
        Assembler out(target_);
        out.sop1("s_mov_b64", kExec, 193);
        n.words = out.take();
        return n;
      }
      switch (pick(6)) {
        case 0:
        case 1:
          n.words = (memory_ || lds_) ? access() : instruction();
          break;
        case 2:
        case 3:
          n.words = common(depth);
          break;
        default:
          n.words = instruction();
          break;
      }
      return n;
    }
    n.skip = !chance(4);
    n.restore_by_or = chance(2);
    n.trips = 1 + pick(5);
    switch (pick(10)) {
      case 0:
      case 1:
      case 2:
        n.kind = Kind::if_exec;
        if (chance(4))
          n.condition = pick(10) * 2;
        else
          n.words = compare();
        break;
      case 3:
        n.kind = Kind::if_else;
        n.words = compare();
        n.other = body(depth + 1);
        break;
      case 4: {
        n.kind = Kind::if_scalar;
        n.condition = kScc0 + pick(kExecnz - kScc0 + 1);
        n.words = n.condition <= kScc1 ? scalar_compare() : n.condition < kExecz ? compare() : std::vector<uint32_t>{};
        break;
      }
      case 5:
      case 6:
        n.kind = Kind::loop_count;
        break;
      case 7:
        n.kind = Kind::loop_exec;
        n.words = compare();
        break;
      case 8:
        n.kind = Kind::loop_vccz;
        n.words = compare();
        break;
      default:
        n.kind = program_.floats ? Kind::loop_count : Kind::waterfall;
        n.condition = vgpr();
        break;
    }
    n.body = body(depth + 1);
    return n;
  }

  const isa::Target target_;
  Rng& rng_;
  Program program_;
  bool cross_ = false, lds_ = false, memory_ = false, masks_ = false, modes_ = false;
  unsigned bumps_ = 0;
  std::vector<Candidate> chosen_;
};

// Calls use(copy) for every variant of `nodes` with one change.
void each_smaller(const std::vector<ProgramNode>& nodes,
                  const std::function<void(const std::vector<ProgramNode>&)>& use) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto position = static_cast<std::ptrdiff_t>(i);
    std::vector<ProgramNode> copy = nodes;
    copy.erase(copy.begin() + position);
    use(copy);
    const ProgramNode& node = nodes[i];
    if (node.kind == Kind::words) continue;
    copy.insert(copy.begin() + position, node.body.begin(), node.body.end());
    use(copy);
    if (node.trips > 1) {
      copy = nodes;
      copy[i].trips = node.trips - 1;
      use(copy);
    }
    each_smaller(node.body, [&](const std::vector<ProgramNode>& body) {
      std::vector<ProgramNode> with = nodes;
      with[i].body = body;
      use(with);
    });
    each_smaller(node.other, [&](const std::vector<ProgramNode>& other) {
      std::vector<ProgramNode> with = nodes;
      with[i].other = other;
      use(with);
    });
  }
}

}  // namespace

Program random_program(isa::Target target, const std::vector<Candidate>& pool, Rng& rng) {
  return Generator(target, pool, rng).run();
}

std::vector<uint32_t> encode(const Program& program, isa::Target target) {
  Assembler out(target);
  emit(out, program.nodes, 0);
  return out.take();
}

std::vector<Program> shrunk(const Program& program) {
  std::vector<Program> result;
  each_smaller(program.nodes, [&](const std::vector<ProgramNode>& nodes) {
    result.push_back({.nodes = nodes, .mode = program.mode, .floats = program.floats});
  });
  return result;
}

}  // namespace wavejit::test
