// Text form of LIR: what print() gives is parsed to an equal function, whatever its nodes hold.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "backend-x86/lir/builder.h"
#include "backend-x86/lir/text.h"

namespace wavejit::backend::lir {
namespace {

using asmjit::InstOptions;
using asmjit::Label;
using asmjit::Operand;
using asmjit::OperandSignature;
using asmjit::RegType;
using testing::HasSubstr;
using x86::Mem;
namespace I = x86::Inst;

void expect_equal(const Function& a, const Node& x, const Function& b, const Node& y) {
  SCOPED_TRACE(print(a, x));
  EXPECT_EQ(x.kind, y.kind);
  EXPECT_EQ(x.id, y.id);
  EXPECT_EQ(x.options, y.options);
  EXPECT_EQ(x.mask.signature().bits(), y.mask.signature().bits());
  EXPECT_EQ(x.mask.id(), y.mask.id());
  ASSERT_EQ(x.operand_count, y.operand_count);
  for (uint32_t i = 0; i < x.operand_count; ++i) EXPECT_TRUE(x.operands[i] == y.operands[i]) << "operand " << i;
  EXPECT_EQ(&x == a.exit, &y == b.exit);
  if (x.kind == Node::Kind::comment) {
    EXPECT_EQ(a.comments[x.mark], b.comments[y.mark]);
  } else {
    EXPECT_EQ(x.mark, y.mark);
  }
}

void expect_equal(const Function& a, const Function& b) {
  EXPECT_EQ(a.avx512, b.avx512);
  EXPECT_EQ(a.stack_alignment, b.stack_alignment);
  ASSERT_EQ(a.registers.size(), b.registers.size());
  for (size_t i = 0; i < a.registers.size(); ++i) {
    const VirtualRegister &x = a.registers[i], &y = b.registers[i];
    EXPECT_EQ(x.signature.bits(), y.signature.bits());
    EXPECT_EQ(x.type, y.type);
    EXPECT_EQ(x.bytes, y.bytes);
    EXPECT_EQ(x.alignment, y.alignment);
    EXPECT_EQ(x.group, y.group);
    EXPECT_EQ(x.is_variable, y.is_variable);
    EXPECT_STREQ(x.name, y.name);
  }
  EXPECT_EQ(a.arguments, b.arguments);
  const Node *x = a.begin(), *y = b.begin();
  for (; x != nullptr && y != nullptr; x = x->next, y = y->next) expect_equal(a, *x, b, *y);
  EXPECT_TRUE(x == nullptr && y == nullptr) << "one function is longer";
}

void expect_round_trip(const Function& function) {
  const std::string text = print(function);
  Function parsed;
  const auto done = parse(text, parsed);
  ASSERT_TRUE(done) << done.error().message << '\n' << text;
  EXPECT_EQ(print(parsed), text);
  expect_equal(function, parsed);
}

// Registers of all kinds, and nodes.
struct Sample {
  Function function;
  Builder cc{function};
  const x86::Gp g = cc.new_gp64("base"), h = cc.new_gp64(), d = cc.new_gp32(), b = cc.new_gp8("a \"quoted\"\\name");
  const x86::Xmm x = cc.new_xmm();
  const x86::Ymm y = cc.new_ymm();
  const x86::Zmm z = cc.new_zmm(), w = cc.new_zmm();
  const x86::KReg k = cc.new_mask16();
  const Mem variable = cc.new_variable(256, 64);
  const x86::KReg q = cc.new_mask32();
  const Label label = cc.new_label();
  Builder& under(const x86::KReg& mask) {
    cc.setExtraReg(mask);
    return cc;
  }
};

Mem with_home(Mem mem) {
  mem.setRegHome();
  return mem;
}

Mem with_segment(Mem mem, uint32_t segment) {
  mem.setSegment(segment);
  return mem;
}

TEST(LirText, EveryFormHasItsTextAndComesBack) {
  struct Case {
    std::string text;
    std::function<void(Sample&)> emit;
  };
  using S = Sample;
  const Case cases[] = {
      // registers and their views
      {"mov v0, v1", [](S& s) { s.cc.mov(s.g, s.h); }},
      {"mov v0.r32, v2", [](S& s) { s.cc.mov(s.g.r32(), s.d); }},
      {"mov v0.r16, v2.r16", [](S& s) { s.cc.mov(s.g.r16(), s.d.r16()); }},
      {"mov v3, v2.r8", [](S& s) { s.cc.mov(s.b, s.d.r8()); }},
      {"mov v0.r8h, v2.r8h", [](S& s) { s.cc.mov(s.g.r8Hi(), s.d.r8Hi()); }},
      {"mov v2.r64, v0", [](S& s) { s.cc.mov(s.d.r64(), s.g); }},
      {"vpaddd v6.xmm, v5.xmm, v4", [](S& s) { s.cc.vpaddd(s.z.xmm(), s.y.xmm(), s.x); }},
      {"vpaddd v6.ymm, v5, v4.ymm", [](S& s) { s.cc.vpaddd(s.z.ymm(), s.y, s.x.ymm()); }},
      {"vpaddd v6, v7, v5.zmm", [](S& s) { s.cc.vpaddd(s.z, s.w, s.y.zmm()); }},
      {"kandd v10, v8, v8", [](S& s) { s.cc.emit(I::kIdKandd, s.q, s.k, s.k); }},
      // host registers
      {"mov rax, r15", [](S& s) { s.cc.mov(x86::rax, x86::r15); }},
      {"mov r10d, esp", [](S& s) { s.cc.mov(x86::r10d, x86::esp); }},
      {"mov ah, sil", [](S& s) { s.cc.mov(x86::ah, x86::sil); }},
      {"vpaddd zmm31, zmm0, zmm16", [](S& s) { s.cc.vpaddd(x86::zmm31, x86::zmm0, x86::zmm16); }},
      {"vpaddd ymm3, ymm0, xmm1", [](S& s) { s.cc.emit(I::kIdVpaddd, x86::ymm3, x86::ymm0, x86::xmm1); }},
      {"kmovw k7, eax", [](S& s) { s.cc.kmovw(x86::k7, x86::eax); }},
      // immediates
      {"mov v0, 7", [](S& s) { s.cc.mov(s.g, 7); }},
      {"mov v0, -1", [](S& s) { s.cc.mov(s.g, -1); }},
      {"mov v0, 65535", [](S& s) { s.cc.mov(s.g, 65535); }},
      {"mov v0, 0x10000", [](S& s) { s.cc.mov(s.g, 65536); }},
      {"mov v0, 0xffffffffffff0000", [](S& s) { s.cc.mov(s.g, -65536); }},
      {"mov v0, 0x8000000000000000", [](S& s) { s.cc.mov(s.g, uint64_t{1} << 63); }},
      {"mov v0, 0x123456789abcdef0", [](S& s) { s.cc.mov(s.g, 0x123456789abcdef0u); }},
      {"mov v0, double 0x3ff0000000000000", [](S& s) { s.cc.emit(I::kIdMov, s.g, asmjit::Imm(1.0)); }},
      // memory
      {"mov v0, [v1]", [](S& s) { s.cc.mov(s.g, x86::ptr(s.h)); }},
      {"mov v0, [v1 + 8]:8", [](S& s) { s.cc.mov(s.g, x86::ptr(s.h, 8, 8)); }},
      {"mov v0, [v1 - 8]", [](S& s) { s.cc.mov(s.g, x86::ptr(s.h, -8)); }},
      {"mov v0, [v1 - 0x80000000]", [](S& s) { s.cc.mov(s.g, x86::ptr(s.h, INT32_MIN)); }},
      {"mov v0, [v1 + 0x7fffffff]", [](S& s) { s.cc.mov(s.g, x86::ptr(s.h, INT32_MAX)); }},
      {"mov v0, [v1 + v0*1]", [](S& s) { s.cc.mov(s.g, x86::ptr(s.h, s.g)); }},
      {"vaddps v6, v7, [v0 + v1*8 + 16]:64", [](S& s) { s.cc.vaddps(s.z, s.w, x86::ptr(s.g, s.h, 3, 16, 64)); }},
      {"mov v0, [v2.r64 + v2.r64*4 - 1]", [](S& s) { s.cc.mov(s.g, x86::ptr(s.d.r64(), s.d.r64(), 2, -1)); }},
      {"mov v0, [v0.r32]", [](S& s) { s.cc.mov(s.g, x86::ptr(s.g.r32())); }},
      {"mov rax, [rsp + r9*2 + 8]:8", [](S& s) { s.cc.mov(x86::rax, x86::ptr(x86::rsp, x86::r9, 1, 8, 8)); }},
      {"mov rax, [rip + 8]", [](S& s) { s.cc.mov(x86::rax, x86::ptr(x86::rip, 8)); }},
      {"mov v0, [0x123456789abcdef0]:8", [](S& s) { s.cc.mov(s.g, x86::ptr(0x123456789abcdef0u, 8)); }},
      {"mov v0, [abs 0x1000]", [](S& s) { s.cc.mov(s.g, x86::ptr_abs(0x1000)); }},
      {"mov v0, [rel 0xffffffffffffffff]", [](S& s) { s.cc.mov(s.g, x86::ptr_rel(~uint64_t{0})); }},
      {"mov v0, [v1*4 + 0x0]", [](S& s) { s.cc.mov(s.g, x86::ptr(uint64_t{0}, s.h, 2)); }},
      {"mov v0, [v1*8 + 0x100000000]", [](S& s) { s.cc.mov(s.g, x86::ptr(uint64_t{1} << 32, s.h, 3)); }},
      {"mov v0, fs:[0x28]", [](S& s) { s.cc.mov(s.g, with_segment(x86::ptr(uint64_t{0x28}), x86::SReg::kIdFs)); }},
      {"mov v0, gs:[v1]:8", [](S& s) { s.cc.mov(s.g, with_segment(x86::ptr(s.h, 0, 8), x86::SReg::kIdGs)); }},
      {"vaddps v6, v7, [L1]:4{1to16}", [](S& s) { s.cc.vaddps(s.z, s.w, Mem(s.label, 0, 4)._1to16()); }},
      {"vaddpd v4, v4, [v0]:8{1to2}", [](S& s) { s.cc.vaddpd(s.x, s.x, x86::ptr(s.g, 0, 8)._1to2()); }},
      {"vaddps v6, v7, [L1 + v0*4 + 64]", [](S& s) { s.cc.vaddps(s.z, s.w, x86::ptr(s.label, s.g, 2, 64)); }},
      {"vpgatherdd v6{v8}, [v0 + v7*4]:4", [](S& s) { s.under(s.k).vpgatherdd(s.z, x86::ptr(s.g, s.w, 2, 0, 4)); }},
      {"vpgatherdd v5, [v0 + v6.ymm*1], v4.ymm",
       [](S& s) { s.cc.vpgatherdd(s.y, x86::ptr(s.g, s.z.ymm()), s.x.ymm()); }},
      // variables and the places of registers
      {"mov [v9 + 4]:4, 7", [](S& s) { s.cc.mov(s.variable.cloneAdjusted(4).cloneResized(4), 7); }},
      {"lea v0, [v9]", [](S& s) { s.cc.lea(s.g, s.variable); }},
      {"lea v0, [v9 + v1*8 - 4]",
       [](S& s) {
         Mem mem = s.variable.cloneAdjusted(-4);
         mem.setIndex(s.h, 3);
         s.cc.lea(s.g, mem);
       }},
      {"lea v0, [v9.r64]", [](S& s) { s.cc.lea(s.g, x86::ptr(x86::Gp(s.g, s.variable.baseId()))); }},
      {"mov v0, [home v1]:8", [](S& s) { s.cc.mov(s.g, with_home(x86::ptr(s.h, 0, 8))); }},
      {"mov v2, [home v2.r32]", [](S& s) { s.cc.mov(s.d, with_home(x86::ptr(s.d))); }},
      {"mov rax, [home rsp + 16]", [](S& s) { s.cc.mov(x86::rax, with_home(x86::ptr(x86::rsp, 16))); }},
      // options, masks, rounding, marks
      {"vaddps v6{v8}, v6, v7", [](S& s) { s.under(s.k).vaddps(s.z, s.z, s.w); }},
      {"vaddps v6{v8}{z}, v6, v7", [](S& s) { s.under(s.k).z().vaddps(s.z, s.z, s.w); }},
      {"vaddps v6{z}, v6, v7", [](S& s) { s.cc.z().vaddps(s.z, s.z, s.w); }},
      {"vaddps zmm1{k1}, zmm2, zmm3", [](S& s) { s.under(x86::k1).vaddps(x86::zmm1, x86::zmm2, x86::zmm3); }},
      {"vmovups [v0]:64{v8}, v6", [](S& s) { s.under(s.k).vmovups(x86::ptr(s.g, 0, 64), s.z); }},
      {"vpcmpd v8{v10}{z}, v6, v7, 1", [](S& s) { s.under(s.q).z().vpcmpd(s.k, s.z, s.w, 1); }},
      {"vaddps v6, v6, v7, {rn-sae}", [](S& s) { s.cc.rn_sae().vaddps(s.z, s.z, s.w); }},
      {"vaddps v6, v6, v7, {rd-sae}", [](S& s) { s.cc.rd_sae().vaddps(s.z, s.z, s.w); }},
      {"vaddps v6, v6, v7, {ru-sae}", [](S& s) { s.cc.ru_sae().vaddps(s.z, s.z, s.w); }},
      {"vaddps v6{v8}{z}, v6, v7, {rz-sae}", [](S& s) { s.under(s.k).z().rz_sae().vaddps(s.z, s.z, s.w); }},
      {"vmaxps v6, v6, v7, {sae}", [](S& s) { s.cc.sae().vmaxps(s.z, s.z, s.w); }},
      {"lock xadd [v0]:4, v2", [](S& s) { s.cc.lock().xadd(x86::ptr(s.g, 0, 4), s.d); }},
      {"short jnz L1", [](S& s) { s.cc.short_().jnz(s.label); }},
      {"evex vmovdqa v4, v4",
       [](S& s) {
         s.cc.addInstOptions(InstOptions::kX86_Evex);
         s.cc.vmovdqa(s.x, s.x);
       }},
      {"cdq !options 0x80000001",
       [](S& s) {
         s.cc.addInstOptions(InstOptions::kReserved | InstOptions::kX86_InvalidRex);
         s.cc.emit(I::kIdCdq);
       }},
      {"vzeroupper", [](S& s) { s.cc.vzeroupper(); }},
      {"vzeroupper {v8}{z} {sae}", [](S& s) { s.under(s.k).z().sae().vzeroupper(); }},
      {"mov v0, [v1]:8 !mark 3",
       [](S& s) {
         s.cc.set_mark(3);
         s.cc.mov(s.g, x86::ptr(s.h, 0, 8));
       }},
      {"jmp L1", [](S& s) { s.cc.jmp(s.label); }},
      {"call v0", [](S& s) { s.cc.emit(I::kIdCall, s.g); }},
      {"shld v0, none, 3", [](S& s) { s.cc.emit(I::kIdShld, s.g, Operand(), asmjit::Imm(3)); }},
      // other nodes
      {"call [L1]:8 ()", [](S& s) { s.cc.call(Mem(s.label, 0, 8), {}, nullptr); }},
      {"call 0x123456789a (v0, v1) -> v2",
       [](S& s) {
         const x86::Gp arguments[] = {s.g, s.h};
         s.cc.call(asmjit::Imm(0x123456789a), arguments, &s.d);
       }},
      {"call [L1]:8 (v0) -> v1 !mark 9",
       [](S& s) {
         s.cc.call(Mem(s.label, 0, 8), {&s.g, 1}, &s.h);
         s.cc.cursor()->mark = 9;
       }},
      {"result v0", [](S& s) { s.cc.ret(s.g); }},
      {"result v0.r32", [](S& s) { s.cc.ret(s.g.r32()); }},
      {"L1:", [](S& s) { s.cc.bind(s.label); }},
      {"exit L2:", [](S& s) { s.cc.finish(); }},
      {"; v1 = add \\\"x\\\"\\x0a\\\\  ", [](S& s) { s.cc.comment("v1 = add \"x\"\n\\  "); }},
      {"; ", [](S& s) { s.cc.comment(""); }},
      {";  two ", [](S& s) { s.cc.comment(" two "); }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    Sample s;
    one.emit(s);
    EXPECT_EQ(print(s.function, *s.function.last()), one.text);
    expect_round_trip(s.function);
  }
}

TEST(LirText, DeclarationsComeBack) {
  Sample s;
  s.function.avx512 = true;
  s.function.stack_alignment = 64;
  s.function.arguments = {s.g, s.d};
  for (int i = 0; i < 20; ++i) static_cast<void>(s.cc.new_ymm());
  s.cc.ret(s.g);
  s.cc.finish();
  s.cc.comment("cold");
  EXPECT_EQ(print(s.function),
            "function avx512 stack 64\n"
            "registers v0:r64 \"base\" v1:r64 v2:r32 v3:r8 \"a \\\"quoted\\\"\\\\name\" v4:xmm v5:ymm v6:zmm v7:zmm\n"
            "registers v8:mask16\n"
            "variable v9 256 align 64\n"
            "registers v10:mask32 v11:ymm v12:ymm v13:ymm v14:ymm v15:ymm v16:ymm v17:ymm\n"
            "registers v18:ymm v19:ymm v20:ymm v21:ymm v22:ymm v23:ymm v24:ymm v25:ymm\n"
            "registers v26:ymm v27:ymm v28:ymm v29:ymm v30:ymm\n"
            "arguments v0 v2\n"
            "L0:\n"
            "  result v0\n"
            "exit L2:\n"
            "  ; cold\n");
  expect_round_trip(s.function);
}

TEST(LirText, TheFirstLabelMayBeLeftOut) {
  Function with, without;
  ASSERT_TRUE(parse("; a comment\nfunction\nregisters v0:r64\n\nL0:\nresult v0\nexit L1:", with));
  ASSERT_TRUE(parse("function stack 16\n  ; a comment\nregisters v0:r64\n  result v0\nexit L1:\n", without));
  expect_equal(with, without);
}

// Functions of nodes that nobody would emit: each part of them is any that the node can hold.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  void fill(Sample& s) {
    s.function.avx512 = below(2) != 0;
    s.function.stack_alignment = 16u << below(3);
    for (unsigned i = 0; i < 40; ++i) add(s);
    if (below(2) != 0) s.cc.finish();
    for (unsigned i = 0; i < 5; ++i) add(s);
  }

 private:
  struct View {
    RegType type;
    uint32_t hosts;
  };
  static constexpr View kViews[] = {{RegType::kX86_GpbLo, 16}, {RegType::kX86_GpbHi, 4}, {RegType::kX86_Gpw, 16},
                                    {RegType::kX86_Gpd, 16},   {RegType::kX86_Gpq, 16},  {RegType::kX86_Xmm, 32},
                                    {RegType::kX86_Ymm, 32},   {RegType::kX86_Zmm, 32},  {RegType::kX86_KReg, 8},
                                    {RegType::kX86_Rip, 1}};

  uint32_t bits() { return static_cast<uint32_t>(random_()); }
  unsigned below(unsigned limit) { return bits() % limit; }
  // Small, or of any size.
  int32_t offset() { return static_cast<int32_t>(below(2) != 0 ? below(200) - 100 : bits() >> below(32)); }

  x86::Reg reg(const Sample& s) {
    const View& view = kViews[below(std::size(kViews))];
    const uint32_t id = below(2) != 0
                            ? below(view.hosts)
                            : Operand::indexToVirtId(below(static_cast<unsigned>(s.function.registers.size())));
    return x86::Reg::fromTypeAndId(view.type, id);
  }

  Operand memory(Sample& s) {
    using Signature = OperandSignature;
    Signature signature = Signature::fromOpType(asmjit::OperandType::kMem) | Signature::fromSize(below(256));
    if (below(4) == 0) signature |= Signature::fromBits(Signature::kMemRegHomeFlag);
    signature |= Signature::fromValue<Mem::kSignatureMemAddrTypeMask>(below(3));
    signature |= Signature::fromValue<Mem::kSignatureMemSegmentMask>(below(4) == 0 ? below(7) : 0);
    signature |= Signature::fromValue<Mem::kSignatureMemBroadcastMask>(below(7));
    uint32_t base = bits(), index = 0;
    switch (below(3)) {
      case 0:
        break;  // the upper half of an address
      case 1:
        base = below(s.function.label_count());
        signature |= Signature::fromMemBaseType(RegType::kLabelTag);
        break;
      default: {
        const x86::Reg from = reg(s);
        base = from.id();
        signature |= Signature::fromMemBaseType(from.type());
      }
    }
    if (below(2) != 0) {
      const x86::Reg from = reg(s);
      index = from.id();
      signature |= Signature::fromMemIndexType(from.type());
      signature |= Signature::fromValue<Mem::kSignatureMemShiftValueMask>(below(4));
    }
    return Mem(signature, base, index, offset());
  }

  Operand operand(Sample& s) {
    switch (below(6)) {
      case 0:
        return asmjit::Imm(static_cast<int64_t>(uint64_t{bits()} << 32 | bits()) >> below(64));
      case 1:
        return Label(below(s.function.label_count()));
      case 2:
        if (below(8) == 0) return {};
        return reg(s);
      case 3:
        return reg(s);
      default:
        return memory(s);
    }
  }

  void add(Sample& s) {
    switch (below(12)) {
      case 0:
        return s.cc.bind(s.cc.new_label());
      case 1: {
        std::string text;
        for (unsigned i = below(12); i != 0; --i) text += static_cast<char>(1 + below(126));
        return s.cc.comment(text);
      }
      case 2:
        return s.cc.ret(reg(s).as<x86::Gp>());
      case 3: {
        const x86::Gp registers[] = {reg(s).as<x86::Gp>(), reg(s).as<x86::Gp>(), reg(s).as<x86::Gp>()};
        s.cc.call(operand(s), {registers, below(3)}, below(2) != 0 ? &registers[2] : nullptr);
        s.cc.cursor()->mark = below(2) * bits();
        return;
      }
      default:
        break;
    }
    s.cc.emit(1 + below(I::_kIdCount - 1));
    Node& node = *s.cc.cursor();
    node.operand_count = static_cast<uint8_t>(below(Node::kMaxOperands + 1));
    for (Operand& op : node.ops()) op = operand(s);
    if (below(2) != 0) node.mask.init(reg(s));
    node.options = static_cast<InstOptions>(bits() & bits() & (below(2) != 0 ? ~0u : 0));
    node.mark = below(2) * bits();
  }

  std::mt19937 random_;
};

TEST(LirText, RandomNodesComeBack) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Sample s;
    Generator(seed).fill(s);
    expect_round_trip(s.function);
    if (HasFailure()) return;
  }
}

// Names of all instructions come back, and none of them is a word that means something else.
TEST(LirText, EveryInstructionComesBack) {
  Sample s;
  for (asmjit::InstId id = 1; id < I::_kIdCount; ++id) s.cc.emit(id, s.g);
  expect_round_trip(s.function);
}

TEST(LirText, ErrorsNameTheLineAndTheFault) {
  struct Case {
    const char *line, *message;
  };
  const Case cases[] = {
      {"function stack", "a power of two after stack"},
      {"function stack 24", "a power of two after stack"},
      {"function avx2", "unexpected text at the end of the line"},
      {"registers", "v3 is the next register, not ''"},
      {"registers v0:r64", "v3 is the next register, not 'v0'"},
      {"registers v4:r64", "v3 is the next register, not 'v4'"},
      {"registers v3", "a register's kind after a colon"},
      {"registers v3:r16", "'r16' is no kind of register"},
      {"registers v3:r64 \"name", "v4 is the next register"},
      {"variable v0 16 align 16", "v3 is the next register"},
      {"variable v3 16", "a variable has bytes"},
      {"variable v3 align 16", "a variable has bytes"},
      {"variable v3 16 align 24", "a variable has bytes"},
      {"arguments v9", "v9 is not declared"},
      {"arguments", "an operand is missing"},
      {"exit L1", "a colon after the label"},
      {"exit 1:", "'1' is no label"},
      {"exit L5:", "a second exit"},
      {"Lx:", "'Lx' is no label"},
      {"L99999999:", "'L99999999' is no label"},
      {"result", "an operand is missing"},
      {"movv v0, v1", "'movv' is no instruction"},
      {"lock", "'' is no instruction"},
      {"mov v0,", "an operand is missing"},
      {"mov v0 v1", "unexpected text at the end of the line"},
      {"mov v0, v9", "v9 is not declared"},
      {"mov v0, x9", "'x9' is no operand"},
      {"mov v0, zmm32", "'zmm32' is no operand"},
      {"mov v0, v1.r128", "'r128' is no view of a register"},
      {"mov v0, v2", "v2 is a variable"},
      {"mov v0, L", "'L' is no label"},
      {"mov v0, double", "a number after double"},
      {"mov v0, 0x10000000000000000", "'0x10000000000000000' is no operand"},
      {"mov v0, v0, v0, v0, v0", "too many operands"},
      {"mov v0{k1, v1", "a brace is not closed"},
      {"mov v0{k9}, v1", "'k9' is no operand"},
      {"mov v0, v1 !mark", "a number after !mark"},
      {"mov v0, v1 !mark 0x100000000", "a number after !mark"},
      {"mov v0, v1 !where 3", "unknown attribute '!where'"},
      {"mov v0, [v1", "a bracket is not closed"},
      {"mov v0, []", "a register, a label or a number in the address"},
      {"mov v0, [v1 +]", "a register, a label or a number in the address"},
      {"mov v0, [v1 + v0]", "two bases; an index has a scale"},
      {"mov v0, [v1 + L2]", "two bases"},
      {"mov v0, [v1*2 + v0*2]", "two indices"},
      {"mov v0, [v1*3]", "a scale is 1, 2, 4 or 8"},
      {"mov v0, [v1*16]", "a scale is 1, 2, 4 or 8"},
      {"mov v0, [v1 + v2*1]", "v2 is a variable"},
      {"mov v0, [v1 - v0]", "a number after the minus"},
      {"mov v0, [v1 + 4 + 4]", "two displacements"},
      {"mov v0, [v1 + 0x80000000]", "the displacement has more than 32 bits"},
      {"mov v0, [v1]:0", "a size from 1 to 255"},
      {"mov v0, [v1]:256", "a size from 1 to 255"},
      {"mov v0, [v1]{1to3}", "a broadcast is {1to2} to {1to64}"},
      {"mov v0, [v1]{1to128}", "a broadcast is {1to2} to {1to64}"},
      {"mov v0, xs:[v1]", "'xs' is no segment"},
      {"mov v0, fs:v1", "a bracket after the segment"},
      {"call v0 (v0, v0, v0)", "too many arguments"},
      {"call v0 (v0", "a comma or a parenthesis after the argument"},
      {"call v0 () ->", "an operand is missing"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.line);
    Function function;
    const auto done = parse(
        fmt::format("function\nregisters v0:r64 v1:r64\nvariable v2 64 align 16\nexit L3:\n{}\n; behind\n", one.line),
        function);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(done.error().message, HasSubstr("LIR text, line 5: "));
    EXPECT_THAT(done.error().message, HasSubstr(one.message));
  }
}

}  // namespace
}  // namespace wavejit::backend::lir
