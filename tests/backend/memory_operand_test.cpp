// The decoder of memory operands against asmjit's encoder, and the addresses it finds in the context of a real fault.
#include "backend-x86/encode/memory_operand.h"

#include <asmjit/x86.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>

#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "backend-x86/compiler.h"

namespace wavejit::backend {
namespace {

namespace x86 = asmjit::x86;
namespace I = asmjit::x86::Inst;

// The bytes of what `body` assembles, with a few behind for decoders that look ahead.
std::vector<uint8_t> assemble(const std::function<void(x86::Assembler&)>& body) {
  asmjit::CodeHolder holder;
  holder.init(asmjit::Environment::host());
  x86::Assembler assembler(&holder);
  assembler.addEncodingOptions(asmjit::EncodingOptions::kNone);
  body(assembler);
  const asmjit::CodeBuffer& buffer = holder.sectionById(0)->buffer();
  std::vector<uint8_t> bytes(buffer.begin(), buffer.end());
  bytes.resize(bytes.size() + 16, 0x90);
  return bytes;
}

struct Shape {
  const char* name;
  asmjit::InstId id;
  asmjit::Operand first;  // the register in front of the operand
  bool memory_first = false;
  asmjit::Operand last = {};  // behind both
  bool masked = false;
};

const x86::Zmm zmm20 = x86::zmm20;

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"mov load", I::kIdMov, x86::eax},
      {"mov load 64", I::kIdMov, x86::r9},
      {"mov store", I::kIdMov, x86::r10d, true},
      {"mov store byte", I::kIdMov, x86::r10b, true},
      {"mov store word", I::kIdMov, x86::r10w, true},
      {"movzx", I::kIdMovzx, x86::ecx},
      {"movsx", I::kIdMovsx, x86::r15d},
      {"add", I::kIdAdd, x86::edx, true},
      {"xchg", I::kIdXchg, x86::r8, true},
      {"lock xadd", I::kIdXadd, x86::r8d, true},
      {"lock cmpxchg", I::kIdCmpxchg, x86::edi, true},
      {"crc32", I::kIdCrc32, x86::eax},
      {"vmovdqu ymm", I::kIdVmovdqu, x86::ymm3},
      {"vmovdqu ymm9", I::kIdVmovdqu, x86::ymm9},
      {"vmovups store", I::kIdVmovups, x86::ymm14, true},
      {"vmovntps", I::kIdVmovntps, x86::ymm14, true},
      {"vmovntps zmm", I::kIdVmovntps, zmm20, true},
      {"vmovss", I::kIdVmovss, x86::xmm1},
      {"vmovq store", I::kIdVmovq, x86::xmm1, true},
      {"vbroadcastss ymm", I::kIdVbroadcastss, x86::ymm12},
      {"vpmovzxbd ymm", I::kIdVpmovzxbd, x86::ymm2},
      {"vextracti128", I::kIdVextracti128, x86::ymm2, true, asmjit::imm(1)},
      {"vmovdqu32 zmm", I::kIdVmovdqu32, zmm20},
      {"vmovdqu32 masked", I::kIdVmovdqu32, zmm20, false, {}, true},
      {"vmovdqu32 store", I::kIdVmovdqu32, zmm20, true, {}, true},
      {"vmovdqu64", I::kIdVmovdqu64, x86::ymm21},
      {"vmovdqu8", I::kIdVmovdqu8, zmm20},
      {"vmovups", I::kIdVmovups, x86::zmm1},
      {"vmovss evex", I::kIdVmovss, x86::xmm25},
      {"vmovsd evex", I::kIdVmovsd, x86::xmm25},
      {"vmovd evex", I::kIdVmovd, x86::xmm30},
      {"vmovd store evex", I::kIdVmovd, x86::xmm30, true},
      {"vmovq evex", I::kIdVmovq, x86::xmm30},
      {"vmovq store evex", I::kIdVmovq, x86::xmm30, true},
      {"vmovddup 128", I::kIdVmovddup, x86::xmm30},
      {"vmovddup 512", I::kIdVmovddup, x86::zmm30},
      {"vmovshdup", I::kIdVmovshdup, x86::zmm30},
      {"vmovsldup", I::kIdVmovsldup, x86::zmm30},
      {"vmovhps store", I::kIdVmovhps, x86::xmm30, true},
      {"vmovlps store", I::kIdVmovlps, x86::xmm30, true},
      {"vpbroadcastd", I::kIdVpbroadcastd, zmm20, false, {}, true},
      {"vpbroadcastq", I::kIdVpbroadcastq, zmm20},
      {"vpbroadcastb", I::kIdVpbroadcastb, zmm20},
      {"vpbroadcastw", I::kIdVpbroadcastw, zmm20},
      {"vbroadcastss", I::kIdVbroadcastss, zmm20},
      {"vbroadcastsd", I::kIdVbroadcastsd, zmm20},
      {"vbroadcasti32x2", I::kIdVbroadcasti32x2, zmm20},
      {"vbroadcasti32x4", I::kIdVbroadcasti32x4, zmm20},
      {"vbroadcasti64x4", I::kIdVbroadcasti64x4, zmm20},
      {"vpmovzxbw", I::kIdVpmovzxbw, zmm20},
      {"vpmovzxbd", I::kIdVpmovzxbd, zmm20, false, {}, true},
      {"vpmovzxbq", I::kIdVpmovzxbq, zmm20},
      {"vpmovsxwd", I::kIdVpmovsxwd, zmm20, false, {}, true},
      {"vpmovsxwq", I::kIdVpmovsxwq, zmm20},
      {"vpmovsxdq", I::kIdVpmovsxdq, zmm20},
      {"vpmovdb", I::kIdVpmovdb, zmm20, true, {}, true},
      {"vpmovdw", I::kIdVpmovdw, zmm20, true, {}, true},
      {"vpmovqb", I::kIdVpmovqb, zmm20, true},
      {"vpmovqw", I::kIdVpmovqw, zmm20, true},
      {"vpmovqd", I::kIdVpmovqd, zmm20, true},
      {"vpmovwb", I::kIdVpmovwb, zmm20, true},
      {"vpmovsdb", I::kIdVpmovsdb, zmm20, true},
      {"vpmovusqd", I::kIdVpmovusqd, zmm20, true},
      {"vpcompressd", I::kIdVpcompressd, zmm20, true, {}, true},
      {"vpexpandq", I::kIdVpexpandq, zmm20, false, {}, true},
      {"vextracti32x4", I::kIdVextracti32x4, zmm20, true, asmjit::imm(1)},
      {"vextracti64x4", I::kIdVextracti64x4, zmm20, true, asmjit::imm(1)},
      {"vcvtph2ps", I::kIdVcvtph2ps, zmm20},
      {"vcvtps2ph", I::kIdVcvtps2ph, zmm20, true, asmjit::imm(0)},
      {"vcvtps2pd", I::kIdVcvtps2pd, zmm20},
      {"vcvtdq2ps", I::kIdVcvtdq2ps, zmm20},
      {"vcvtdq2pd", I::kIdVcvtdq2pd, zmm20},
      {"vcvtudq2pd", I::kIdVcvtudq2pd, zmm20},
      {"vcvtudq2ps", I::kIdVcvtudq2ps, zmm20},
      {"vcvttps2udq", I::kIdVcvttps2udq, zmm20},
      {"vcvttps2uqq", I::kIdVcvttps2uqq, zmm20},
      {"vpextrd evex", I::kIdVpextrd, x86::xmm20, true, asmjit::imm(1)},
      {"vpextrq evex", I::kIdVpextrq, x86::xmm20, true, asmjit::imm(1)},
      {"vpextrw evex", I::kIdVpextrw, x86::xmm20, true, asmjit::imm(1)},
      {"vpextrb evex", I::kIdVpextrb, x86::xmm20, true, asmjit::imm(1)},
      {"vextractps evex", I::kIdVextractps, x86::xmm20, true, asmjit::imm(1)},
      {"vpabsd", I::kIdVpabsd, zmm20},
      {"vprord", I::kIdVprord, zmm20, false, asmjit::imm(3)},
      {"vpshufd", I::kIdVpshufd, zmm20, false, asmjit::imm(3)},
      {"vsqrtps", I::kIdVsqrtps, zmm20},
      {"vucomiss evex", I::kIdVucomiss, x86::xmm20},
      {"vucomisd evex", I::kIdVucomisd, x86::xmm20},
  };
  return all;
}

// Two sources: the operand behind the first of them.
const std::vector<Shape>& ternary_shapes() {
  static const std::vector<Shape> all = {
      {"vpaddd", I::kIdVpaddd, zmm20},
      {"vpaddq ymm", I::kIdVpaddq, x86::ymm20},
      {"vfmadd231ps", I::kIdVfmadd231ps, zmm20, false, {}, true},
      {"vfmadd231ss", I::kIdVfmadd231ss, x86::xmm20},
      {"vfnmsub213sd", I::kIdVfnmsub213sd, x86::xmm20},
      {"vaddss", I::kIdVaddss, x86::xmm20},
      {"vmulsd", I::kIdVmulsd, x86::xmm20},
      {"vpslld by memory", I::kIdVpslld, zmm20},
      {"vpermt2d", I::kIdVpermt2d, zmm20},
      {"vpminud", I::kIdVpminud, zmm20},
      {"vpaddd vex", I::kIdVpaddd, x86::ymm2},
      {"vpmaskmovd", I::kIdVpmaskmovd, x86::ymm5},
      {"vmovlps", I::kIdVmovlps, x86::xmm20},
      {"vmovhps", I::kIdVmovhps, x86::xmm20},
  };
  return all;
}

const std::vector<int32_t> kDisplacements = {0,    1,   2,   4,     8,     16,   32,    60,    64,         120,  127,
                                             128,  -1,  -2,  -4,    -64,   -128, -8192, -8256, 8128,       8192, 254,
                                             1016, 508, 504, 0x100, 0x200, 12,   -512,  -1024, 0x12345678, 2032};

void check(const char* name, const x86::Mem& memory, const std::vector<uint8_t>& code) {
  const auto m = decode_memory_operand(code.data());
  ASSERT_TRUE(m) << name;
  EXPECT_EQ(m->has_base, memory.hasBase()) << name;
  if (memory.hasBase()) {
    EXPECT_EQ(m->base, memory.baseId()) << name;
  }
  EXPECT_EQ(m->has_index, memory.hasIndex()) << name;
  if (memory.hasIndex()) {
    EXPECT_EQ(m->index, memory.indexId()) << name;
    EXPECT_EQ(m->scale, memory.shift()) << name;
  }
  EXPECT_EQ(m->displacement, memory.offset()) << name << " " << memory.offset();
}

template <typename F>
void for_each_memory(const F& body) {
  for (const x86::Gp& base : {x86::rax, x86::rbx, x86::rsp, x86::rbp, x86::r9, x86::r12, x86::r13, x86::r15}) {
    for (const int32_t displacement : kDisplacements) {
      body(x86::ptr(base, displacement));
      for (const x86::Gp& index : {x86::rcx, x86::rbp, x86::r12, x86::r13})
        body(x86::ptr(base, index, displacement & 3, displacement));
    }
  }
  body(x86::ptr(uint64_t{0x1000}, x86::rdx, 2));
}

void check_shape(const Shape& shape, bool ternary) {
  for_each_memory([&](const x86::Mem& memory) {
    bool ok = true;
    const std::vector<uint8_t> code = assemble([&](x86::Assembler& a) {
      if (shape.masked) a.k(x86::k3);
      if (std::strncmp(shape.name, "lock ", 5) == 0) a.lock();
      x86::Mem sized = memory;
      if (shape.id == I::kIdMovzx || shape.id == I::kIdMovsx) sized.setSize(1);
      if (shape.id == I::kIdCrc32) sized.setSize(4);
      asmjit::Error error = asmjit::kErrorOk;
      if (ternary)
        error = a.emit(shape.id, shape.first, shape.first, sized);
      else if (shape.memory_first)
        error = shape.last.isNone() ? a.emit(shape.id, sized, shape.first)
                                    : a.emit(shape.id, sized, shape.first, shape.last);
      else
        error = shape.last.isNone() ? a.emit(shape.id, shape.first, sized)
                                    : a.emit(shape.id, shape.first, sized, shape.last);
      ok = error == asmjit::kErrorOk;
    });
    ASSERT_TRUE(ok) << shape.name << " does not assemble";
    check(shape.name, memory, code);
  });
}

TEST(MemoryOperand, OfWhatAsmjitEncodes) {
  for (const Shape& shape : shapes()) check_shape(shape, false);
  for (const Shape& shape : ternary_shapes()) check_shape(shape, true);
}

TEST(MemoryOperand, OfGathersAndScatters) {
  struct Case {
    asmjit::InstId id;
    x86::Vec data, index;
    bool scatter;
    unsigned elements, bytes;
  };
  const std::vector<Case> cases = {
      {I::kIdVpgatherdd, x86::zmm1, x86::zmm4, false, 16, 4},  {I::kIdVpgatherdd, x86::zmm20, x86::zmm30, false, 16, 4},
      {I::kIdVpgatherqd, x86::ymm20, x86::zmm12, false, 8, 4}, {I::kIdVgatherdps, x86::zmm20, x86::zmm12, false, 16, 4},
      {I::kIdVgatherdpd, x86::zmm20, x86::ymm28, false, 8, 8}, {I::kIdVpgatherqq, x86::zmm20, x86::zmm17, false, 8, 8},
      {I::kIdVpscatterdd, x86::zmm20, x86::zmm4, true, 16, 4}, {I::kIdVpscatterqd, x86::ymm20, x86::zmm31, true, 8, 4},
      {I::kIdVpscatterdq, x86::zmm3, x86::ymm31, true, 8, 8},
  };
  for (const Case& c : cases) {
    for (const int32_t displacement : kDisplacements) {
      for (const x86::Gp& base : {x86::rax, x86::rbp, x86::r13, x86::r12}) {
        const x86::Mem memory = x86::ptr(base, c.index, displacement & 3, displacement);
        const std::vector<uint8_t> code = assemble([&](x86::Assembler& a) {
          a.k(x86::k2);
          ASSERT_EQ(c.scatter ? a.emit(c.id, memory, c.data) : a.emit(c.id, c.data, memory), asmjit::kErrorOk);
        });
        check("gather", memory, code);
        const auto m = decode_memory_operand(code.data());
        EXPECT_TRUE(m->vector_index);
        EXPECT_EQ(m->mask, 2);
        EXPECT_EQ(m->elements(), c.elements);
        EXPECT_EQ(m->masked_bytes(), c.bytes);
      }
    }
  }
  for (const auto& [index, number] : {std::pair{x86::ymm4, 4u}, {x86::ymm5, 5u}, {x86::ymm13, 13u}}) {
    const x86::Mem memory = x86::ptr(uint64_t{0x40}, index, 0);
    const std::vector<uint8_t> code =
        assemble([&, at = memory](x86::Assembler& a) { a.emit(I::kIdVpgatherqd, x86::xmm1, at, x86::xmm9); });
    const auto m = decode_memory_operand(code.data());
    ASSERT_TRUE(m);
    EXPECT_TRUE(m->vector_index && !m->has_base);
    EXPECT_EQ(m->index, number);
    EXPECT_EQ(m->vvvv, 9);
    EXPECT_EQ(m->displacement, 0x40);
    EXPECT_EQ(m->elements(), 4u);
  }
}

TEST(MemoryOperand, NoneWhereThereIsNone) {
  const std::vector<std::function<void(x86::Assembler&)>> bodies = {
      [](x86::Assembler& a) { a.mov(x86::eax, x86::ecx); },
      [](x86::Assembler& a) { a.vpaddd(x86::zmm20, x86::zmm1, x86::zmm2); },
      [](x86::Assembler& a) { a.vpaddd(x86::ymm1, x86::ymm1, x86::ymm2); },
      [](x86::Assembler& a) { a.ret(); },
      [](x86::Assembler& a) { a.push(x86::rax); },
      [](x86::Assembler& a) { a.mov(x86::rax, 5); },
      [](x86::Assembler& a) { a.vzeroupper(); },
      [](x86::Assembler& a) { a.mov(x86::eax, x86::ptr(x86::rip, 64)); },
      [](x86::Assembler& a) { a.vmovups(x86::zmm1, x86::ptr(x86::rip, 64)); },
  };
  for (const auto& body : bodies) {
    const std::vector<uint8_t> code = assemble(body);
    // `vzeroupper` and the like have VEX but no ModRM: what follows is padding of the form 11.
    EXPECT_FALSE(code[0] == 0xc5 && code[2] == 0x77 ? std::nullopt : decode_memory_operand(code.data()));
  }
}

// --- machine state ---

sigjmp_buf g_landing;
std::function<void(const ucontext_t&)>* g_look;

void on_fault(int, siginfo_t*, void* context) {
  (*g_look)(*static_cast<ucontext_t*>(context));
  siglongjmp(g_landing, 1);
}

// Runs what `body` assembles, which faults, and gives `look` its context.
void fault(const std::function<void(x86::Assembler&)>& body, std::function<void(const ucontext_t&)> look) {
  asmjit::JitRuntime runtime;
  asmjit::CodeHolder holder;
  holder.init(runtime.environment());
  x86::Assembler a(&holder);
  body(a);
  a.ret();
  void (*function)() = nullptr;
  ASSERT_EQ(runtime.add(&function, &holder), asmjit::kErrorOk);
  struct sigaction action{}, previous{}, previous_bus{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &previous);
  sigaction(SIGBUS, &action, &previous_bus);
  g_look = &look;
  volatile bool faulted = true;  // set between sigsetjmp and the jump
  if (sigsetjmp(g_landing, 1) == 0) {
    function();
    faulted = false;
  }
  sigaction(SIGSEGV, &previous, nullptr);
  sigaction(SIGBUS, &previous_bus, nullptr);
  EXPECT_TRUE(faulted);
}

MemoryOperand operand_at(const ucontext_t& context) {
  const auto m = decode_memory_operand(reinterpret_cast<const uint8_t*>(context.uc_mcontext.gregs[REG_RIP]));
  EXPECT_TRUE(m);
  return m.value_or(MemoryOperand{});
}

constexpr uint64_t kOutside = 0x0123'4567'0000'0000;

TEST(MachineState, GeneralRegisters) {
  fault(
      [](x86::Assembler& a) {
        a.mov(x86::rcx, kOutside);
        a.mov(x86::r10, 0x1000);
        a.mov(x86::eax, x86::ptr(x86::rcx, x86::r10, 3, -20));
      },
      [](const ucontext_t& context) {
        const MachineState machine(context);
        EXPECT_EQ(machine.address(operand_at(context), 0), kOutside + 0x8000 - 20);
      });
}

TEST(MachineState, VectorsAndMasksOfAvx512) {
  if (!host_supports(Tier::avx512)) GTEST_SKIP() << "the CPU has no AVX-512";
  alignas(64) static std::array<uint32_t, 16> index;
  for (unsigned i = 0; i < 16; ++i) index[i] = i % 3 == 0 ? 0x80000000u + i : 77 * i;
  for (unsigned number = 0; number < 32; ++number) {
    SCOPED_TRACE(number);
    fault(
        [&](x86::Assembler& a) {
          a.mov(x86::rcx, reinterpret_cast<uint64_t>(index.data()));
          a.vmovdqu32(x86::zmm(number), x86::ptr(x86::rcx));
          a.mov(x86::rcx, kOutside);
          a.mov(x86::edx, 0xfff0);
          a.kmovw(x86::k5, x86::edx);
          a.k(x86::k5).vpgatherdd(x86::zmm(number ^ 1), x86::ptr(x86::rcx, x86::zmm(number), 2, 256));
        },
        [&](const ucontext_t& context) {
          const MachineState machine(context);
          const MemoryOperand m = operand_at(context);
          ASSERT_EQ(m.elements(), 16u);
          for (unsigned i = 0; i < 16; ++i) {
            const auto offset = static_cast<uint64_t>(int64_t{static_cast<int32_t>(index[i])});
            EXPECT_EQ(machine.address(m, i), kOutside + (offset << 2) + 256) << i;
          }
          EXPECT_EQ(machine.pending(m), 0xfff0u);
        });
    fault(
        [&](x86::Assembler& a) {
          a.mov(x86::rcx, reinterpret_cast<uint64_t>(index.data()));
          a.vmovdqu32(x86::zmm(number), x86::ptr(x86::rcx));
          a.mov(x86::rcx, kOutside);
          a.mov(x86::edx, 0xa0);
          a.kmovw(x86::k1, x86::edx);
          a.k(x86::k1).vpscatterqd(x86::ptr(x86::rcx, x86::zmm(number), 0, -4), x86::ymm(number ^ 1));
        },
        [&](const ucontext_t& context) {
          const MachineState machine(context);
          const MemoryOperand m = operand_at(context);
          ASSERT_EQ(m.elements(), 8u);
          for (unsigned i = 0; i < 8; ++i) {
            const uint64_t offset = index[2 * i] | uint64_t{index[2 * i + 1]} << 32;
            EXPECT_EQ(machine.address(m, i), kOutside + offset - 4) << i;
          }
          EXPECT_EQ(machine.pending(m), 0xa0u);
        });
  }
}

TEST(MachineState, VectorsAndMasksOfAvx2) {
  if (!host_supports(Tier::avx2)) GTEST_SKIP() << "the CPU has no AVX2";
  alignas(32) static std::array<uint32_t, 8> index, mask;
  for (unsigned i = 0; i < 8; ++i) {
    index[i] = i % 3 == 0 ? 0x80000000u + i : 77 * i;
    mask[i] = i >= 2 && i != 5 ? 0xffffffffu : 0x7fffffffu;
  }
  for (unsigned number = 0; number < 14; ++number) {
    SCOPED_TRACE(number);
    const auto load = [&](x86::Assembler& a) {
      a.mov(x86::rcx, reinterpret_cast<uint64_t>(index.data()));
      a.vmovdqu(x86::ymm(number), x86::ptr(x86::rcx));
      a.mov(x86::rcx, reinterpret_cast<uint64_t>(mask.data()));
      a.vmovdqu(x86::ymm(number + 1), x86::ptr(x86::rcx));
      a.mov(x86::rcx, kOutside);
    };
    fault(
        [&](x86::Assembler& a) {
          load(a);
          a.vpgatherdd(x86::ymm(number + 2), x86::ptr(x86::rcx, x86::ymm(number), 0, 4), x86::ymm(number + 1));
        },
        [&](const ucontext_t& context) {
          const MachineState machine(context);
          const MemoryOperand m = operand_at(context);
          ASSERT_EQ(m.elements(), 8u);
          for (unsigned i = 0; i < 8; ++i) {
            const auto offset = static_cast<uint64_t>(int64_t{static_cast<int32_t>(index[i])});
            EXPECT_EQ(machine.address(m, i), kOutside + offset + 4) << i;
          }
          EXPECT_EQ(machine.pending(m), 0xdcu);
        });
    fault(
        [&](x86::Assembler& a) {
          load(a);
          a.vpmaskmovd(x86::ptr(x86::rcx, -32), x86::ymm(number + 1), x86::ymm(number + 2));
        },
        [&](const ucontext_t& context) {
          const MachineState machine(context);
          const MemoryOperand m = operand_at(context);
          EXPECT_EQ(machine.address(m, 0), kOutside - 32);
          EXPECT_EQ(machine.pending(m), 0xdcu);
        });
  }
}

}  // namespace
}  // namespace wavejit::backend
