// The register allocator by itself: random functions of more values than the host has registers, against what the same
// operations give when they are carried out one by one.
#include "backend-x86/regalloc/allocation.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <random>

#include "aligned_call.h"
#include "backend-x86/compiler.h"
#include "backend-x86/encode/code_memory.h"
#include "backend-x86/encode/encode.h"
#include "backend-x86/lir/builder.h"
#include "backend-x86/regalloc/checker.h"
#include "backend-x86/regalloc/copy_classes.h"
#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {
namespace {

using lir::Builder;
using x86::Gp;
using x86::Ymm;

class Errors : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override { ADD_FAILURE() << message; }
};

// Allocates the registers of a complete function, has the checker look at it, and places the code.
void place(lir::Function& function, std::optional<CodeBlock>& block) {
  AllocationChecker checker(function);
  ASSERT_EQ(allocate_registers(function), asmjit::kErrorOk);
  ASSERT_EQ(checker.check(), std::nullopt);
  asmjit::Environment environment(asmjit::Arch::kX64);
  environment.setPlatform(asmjit::Platform::kLinux);
  asmjit::CodeHolder code;
  ASSERT_EQ(code.init(environment), asmjit::kErrorOk);
  Errors errors;
  code.setErrorHandler(&errors);
  x86::Assembler assembler(&code);
  static_cast<void>(encode(function, assembler));
  auto placed = CodeBlock::create(code);
  ASSERT_TRUE(placed);
  block.emplace(std::move(*placed));
}

// Calls it with the stack pointer aligned.
uint64_t call(const CodeBlock& block, const void* first, uint64_t second) {
  return call_aligned(block.begin(), reinterpret_cast<uintptr_t>(first), second);
}

constexpr unsigned kNumbers = 24, kVectors = 44, kLanes = 8;

struct State {
  std::array<uint64_t, kNumbers> numbers;
  std::array<std::array<uint32_t, kLanes>, kVectors> vectors;
  bool operator==(const State&) const = default;
};

enum class Kind : uint8_t {
  add,          // a += b
  subtract,     // a = b - c
  multiply,     // a *= b
  wide,         // a, b = the halves of b * c: fixed registers in and out
  shift,        // a <<= b & 63: the count in a fixed register
  exchange,     // a, b = b, a
  call,         // a = mix(b)
  low,          // a's low byte = b's: a is changed in part
  vector_add,   // a = b + c
  vector_xor,   // a = b ^ c; another instruction for registers above 15
  vector_copy,  // a = b
  vector_put,   // all of a's lanes = number b
  merge,        // a = lanes of c where bits of number b are set (AVX-512: under a mask register)
  when,         // body if number a is odd
  loop,         // body b times
};

struct Statement {
  Kind kind;
  unsigned a = 0, b = 0, c = 0;
  std::vector<Statement> body{};
};
using Program = std::vector<Statement>;

uint64_t mix(const void* value) {
  return reinterpret_cast<uintptr_t>(value) * 0x9e3779b97f4a7c15u + 1;
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}
  Program make(unsigned length, unsigned depth) {
    Program program;
    for (unsigned i = 0; i < length; ++i) {
      const unsigned kind = below(depth == 0 ? 13 : 15);
      const bool vector = kind >= 8 && kind <= 12;
      const unsigned count = vector ? kVectors : kNumbers;
      Statement s{.kind = static_cast<Kind>(kind), .a = below(count), .b = below(count), .c = below(count)};
      if (s.kind == Kind::vector_put || s.kind == Kind::merge) s.b = below(kNumbers);
      if (s.kind == Kind::wide || s.kind == Kind::exchange) s.b = (s.a + 1 + below(kNumbers - 1)) % kNumbers;
      if (s.kind == Kind::loop) s.b = 1 + below(3);
      if (s.kind >= Kind::when) s.body = make(1 + below(12), depth - 1);
      program.push_back(std::move(s));
    }
    return program;
  }
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

 private:
  std::mt19937 random_;
};

void evaluate(const Program& program, State& state) {
  auto& n = state.numbers;
  auto& v = state.vectors;
  for (const Statement& s : program) {
    switch (s.kind) {
      case Kind::add:
        n[s.a] += n[s.b];
        break;
      case Kind::subtract:
        n[s.a] = n[s.b] - n[s.c];
        break;
      case Kind::multiply:
        n[s.a] *= n[s.b];
        break;
      case Kind::wide: {
        const unsigned __int128 product = static_cast<unsigned __int128>(n[s.b]) * n[s.c];
        n[s.a] = static_cast<uint64_t>(product >> 64);
        n[s.b] = static_cast<uint64_t>(product);
        break;
      }
      case Kind::shift:
        n[s.a] <<= n[s.b] & 63;
        break;
      case Kind::exchange:
        std::swap(n[s.a], n[s.b]);
        break;
      case Kind::call:
        n[s.a] = mix(reinterpret_cast<const void*>(n[s.b]));
        break;
      case Kind::low:
        n[s.a] = (n[s.a] & ~uint64_t{0xff}) | (n[s.b] & 0xff);
        break;
      case Kind::vector_add:
      case Kind::vector_xor:
      case Kind::vector_copy:
      case Kind::vector_put:
      case Kind::merge:
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          uint32_t& to = v[s.a][lane];
          if (s.kind == Kind::vector_add) to = v[s.b][lane] + v[s.c][lane];
          if (s.kind == Kind::vector_xor) to = v[s.b][lane] ^ v[s.c][lane];
          if (s.kind == Kind::vector_copy) to = v[s.b][lane];
          if (s.kind == Kind::vector_put) to = static_cast<uint32_t>(n[s.b]);
          if (s.kind == Kind::merge && (n[s.b] >> lane & 1) != 0) to = v[s.c][lane];
        }
        break;
      case Kind::when:
        if ((n[s.a] & 1) != 0) evaluate(s.body, state);
        break;
      case Kind::loop:
        for (unsigned i = 0; i < s.b; ++i) evaluate(s.body, state);
        break;
    }
  }
}

class Emission {
 public:
  Emission(lir::Function& function, bool avx512) : cc_(function), avx512_(avx512) {
    function.avx512 = avx512;
    function.stack_alignment = 64;
    state_ = cc_.new_gp64();
    second_ = cc_.new_gp32();
    function.arguments = {state_, second_};
    for (Gp& n : numbers_) n = cc_.new_gp64();
    for (Ymm& v : vectors_) v = cc_.new_ymm();
    for (unsigned i = 0; i < kNumbers; ++i) cc_.mov(numbers_[i], number(i));
    for (unsigned i = 0; i < kVectors; ++i) cc_.vmovdqu(vectors_[i], vector(i));
  }
  void finish() {
    for (unsigned i = 0; i < kNumbers; ++i) cc_.mov(number(i), numbers_[i]);
    for (unsigned i = 0; i < kVectors; ++i) cc_.vmovdqu(vector(i), vectors_[i]);
    cc_.ret(second_);
    cc_.finish();
  }
  void emit(const Program& program) {
    for (const Statement& s : program) emit(s);
  }

 private:
  x86::Mem number(unsigned i) const {
    return x86::qword_ptr(state_, static_cast<int32_t>(offsetof(State, numbers) + 8 * i));
  }
  x86::Mem vector(unsigned i) const {
    return x86::ymmword_ptr(state_, static_cast<int32_t>(offsetof(State, vectors) + 4 * kLanes * i));
  }
  void emit(const Statement& s) {
    switch (s.kind) {
      case Kind::add:
        cc_.add(numbers_[s.a], numbers_[s.b]);
        break;
      case Kind::subtract: {
        const Gp t = cc_.new_gp64();
        cc_.mov(t, numbers_[s.b]);
        cc_.sub(t, numbers_[s.c]);
        cc_.mov(numbers_[s.a], t);
        break;
      }
      case Kind::multiply:
        cc_.imul(numbers_[s.a], numbers_[s.b]);
        break;
      case Kind::wide: {
        const Gp low = cc_.new_gp64(), by = cc_.new_gp64();
        cc_.mov(low, numbers_[s.b]);
        cc_.mov(by, numbers_[s.c]);
        cc_.mul(numbers_[s.a], low, by);
        cc_.mov(numbers_[s.b], low);
        break;
      }
      case Kind::shift: {
        const Gp count = cc_.new_gp64();
        cc_.mov(count, numbers_[s.b]);
        cc_.shl(numbers_[s.a], count.r8());
        break;
      }
      case Kind::exchange: {
        const Gp t = cc_.new_gp64();
        cc_.mov(t, numbers_[s.a]);
        cc_.mov(numbers_[s.a], numbers_[s.b]);
        cc_.mov(numbers_[s.b], t);
        break;
      }
      case Kind::call:
        cc_.call(asmjit::imm(reinterpret_cast<uintptr_t>(&mix)), std::array{numbers_[s.b]}, &numbers_[s.a]);
        break;
      case Kind::low:
        cc_.mov(numbers_[s.a].r8(), numbers_[s.b].r8());
        break;
      case Kind::vector_add:
        cc_.vpaddd(vectors_[s.a], vectors_[s.b], vectors_[s.c]);
        break;
      case Kind::vector_xor:
        cc_.vpxor(vectors_[s.a], vectors_[s.b], vectors_[s.c]);
        break;
      case Kind::vector_copy:
        cc_.vmovdqa(vectors_[s.a], vectors_[s.b]);
        break;
      case Kind::vector_put: {
        const x86::Xmm t = cc_.new_xmm();
        cc_.vmovd(t, numbers_[s.b].r32());
        cc_.vpbroadcastd(vectors_[s.a], t);
        break;
      }
      case Kind::merge:
        emit_merge(s);
        break;
      case Kind::when: {
        const asmjit::Label end = cc_.new_label();
        cc_.test(numbers_[s.a].r32(), 1);
        cc_.jz(end);
        emit(s.body);
        cc_.bind(end);
        break;
      }
      case Kind::loop: {
        const Gp count = cc_.new_gp32();
        const asmjit::Label head = cc_.new_label();
        cc_.mov(count, s.b);
        cc_.bind(head);
        emit(s.body);
        cc_.sub(count, 1);
        cc_.jnz(head);
        break;
      }
    }
  }
  void emit_merge(const Statement& s) {
    if (avx512_) {
      const x86::KReg lanes = cc_.new_mask32();
      cc_.kmovd(lanes, numbers_[s.b].r32());
      cc_.k(lanes).vmovdqa32(vectors_[s.a], vectors_[s.c]);
      return;
    }
    // In the stack: a bit per lane, as a lane of ones.
    const x86::Mem row = cc_.new_variable(4 * kLanes, 32);
    const Gp bits = cc_.new_gp32();
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      cc_.mov(bits, numbers_[s.b].r32());
      cc_.shl(bits, 31 - lane);
      cc_.sar(bits, 31);
      x86::Mem at = row.cloneAdjusted(4 * lane);
      at.setSize(4);
      cc_.mov(at, bits);
    }
    const Ymm lanes = cc_.new_ymm();
    x86::Mem whole = row;
    whole.setSize(4 * kLanes);
    cc_.vmovdqu(lanes, whole);
    cc_.vpblendvb(vectors_[s.a], vectors_[s.a], vectors_[s.c], lanes);
  }

  Builder cc_;
  const bool avx512_;
  Gp state_, second_;
  std::array<Gp, kNumbers> numbers_;
  std::array<Ymm, kVectors> vectors_;
};

State random_state(Generator& generator) {
  State state;
  for (auto& n : state.numbers) n = (uint64_t{generator.below(~0u)} << 32) | generator.below(~0u);
  for (auto& v : state.vectors)
    for (auto& lane : v) lane = generator.below(~0u);
  return state;
}

class Allocation : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (!host_supports(GetParam())) GTEST_SKIP() << "the CPU has no " << to_string(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Tiers, Allocation, testing::Values(Tier::avx2, Tier::avx512),
                         [](const auto& info) { return info.param == Tier::avx2 ? "avx2" : "avx512"; });

TEST_P(Allocation, RandomFunctions) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Generator generator(seed);
    const Program program = generator.make(10 + generator.below(60), 3);
    lir::Function function;
    Emission emission(function, GetParam() == Tier::avx512);
    emission.emit(program);
    emission.finish();
    std::optional<CodeBlock> block;
    ASSERT_NO_FATAL_FAILURE(place(function, block));
    const State start = random_state(generator);
    State expected = start, actual = start;
    evaluate(program, expected);
    EXPECT_EQ(static_cast<uint32_t>(call(*block, &actual, seed)), seed);
    ASSERT_TRUE(actual == expected);
  }
}

// A move between lower halves clears the upper one: it is no copy that could be left out.
TEST_P(Allocation, MovesOfHalvesAreNoCopies) {
  lir::Function function;
  Builder cc(function);
  const Gp argument = cc.new_gp64(), low = cc.new_gp64();
  function.arguments = {argument};
  std::array<Gp, 14> others;  // all other registers, so that the result takes the argument's
  for (Gp& other : others) {
    other = cc.new_gp64();
    cc.mov(other, argument);
    cc.add(other, 1);
  }
  cc.mov(low.r32(), argument.r32());
  for (const Gp& other : others) cc.add(low, other);
  cc.ret(low);
  cc.finish();
  std::optional<CodeBlock> block;
  ASSERT_NO_FATAL_FAILURE(place(function, block));
  const auto run = reinterpret_cast<uint64_t (*)(uint64_t)>(reinterpret_cast<uintptr_t>(block->begin()));
  constexpr uint64_t kNumber = 0x1234567800000005;
  EXPECT_EQ(run(kNumber), 5 + others.size() * (kNumber + 1));
}

// Operations on lower halves clear the upper ones, also of registers that wait on the stack.
TEST_P(Allocation, OperationsOnHalvesOfSpilledRegisters) {
  lir::Function function;
  Builder cc(function);
  const Gp argument = cc.new_gp64(), sum = cc.new_gp64();
  function.arguments = {argument};
  std::array<Gp, 20> values;
  for (Gp& value : values) {
    value = cc.new_gp64();
    cc.mov(value, argument);
  }
  for (const Gp& value : values) cc.add(value.r32(), 1);
  cc.xor_(sum, sum);
  for (const Gp& value : values) cc.add(sum, value);
  cc.ret(sum);
  cc.finish();
  std::optional<CodeBlock> block;
  ASSERT_NO_FATAL_FAILURE(place(function, block));
  const auto run = reinterpret_cast<uint64_t (*)(uint64_t)>(reinterpret_cast<uintptr_t>(block->begin()));
  EXPECT_EQ(run(0x1234567800000005), 6 * values.size());
}

// With a register, bt counts bits modulo the operand's size, and vinsertps chooses one of four elements. In memory, both
// are something else.
TEST_P(Allocation, OperandsThatMeanSomethingElseInMemory) {
  lir::Function function;
  Builder cc(function);
  function.avx512 = GetParam() == Tier::avx512;
  const Gp memory = cc.new_gp64(), bit = cc.new_gp64(), sum = cc.new_gp64();
  function.arguments = {memory, bit};
  std::array<Gp, 20> values;
  std::array<x86::Xmm, 40> vectors;
  for (Gp& value : values) cc.mov(value = cc.new_gp64(), x86::qword_ptr(memory));
  for (x86::Xmm& vector : vectors) cc.vmovdqu(vector = cc.new_xmm(), x86::xmmword_ptr(memory));
  cc.xor_(sum, sum);
  for (const Gp& value : values) {
    cc.bt(value, bit);
    cc.adc(sum, 0);
  }
  for (const Gp& value : values) cc.mov(x86::qword_ptr(memory, 64), value);
  const x86::Xmm to = cc.new_xmm();
  cc.vpxor(to, to, to);
  for (const x86::Xmm& vector : vectors) {
    cc.vinsertps(to, to, vector, 0xc0);
    cc.vmovd(x86::dword_ptr(memory, 72), to);
  }
  cc.ret(sum);
  cc.finish();
  std::optional<CodeBlock> block;
  ASSERT_NO_FATAL_FAILURE(place(function, block));
  const auto run = reinterpret_cast<uint64_t (*)(void*, uint64_t)>(reinterpret_cast<uintptr_t>(block->begin()));
  std::array<uint32_t, 20> data{1u << 5, 0, 0, 77};
  EXPECT_EQ(run(data.data(), 64 * 3 + 5), values.size());
  EXPECT_EQ(data[18], 77u);
}

// What is alive where: at the beginning of blocks, across back edges, up to the last use and not further.
TEST(AllocationLives, Spans) {
  lir::Function function;
  Builder cc(function);
  const Gp argument = cc.new_gp32(), sum = cc.new_gp32(), inside = cc.new_gp32(), one = cc.new_gp32();
  function.arguments = {argument};
  const asmjit::Label head = cc.new_label(), dead = cc.new_label();
  cc.mov(one, 1);     // 2
  cc.xor_(sum, sum);  // 4: does not read it
  cc.bind(head);
  cc.mov(inside, argument);  // 6
  cc.add(sum, inside);       // 8
  cc.sub(argument, one);     // 10
  cc.jnz(head);              // 12
  cc.ret(sum);               // 14
  cc.bind(dead);
  cc.add(one, one);  // not reachable
  cc.jmp(dead);
  cc.finish();
  Lives lives(function, {0xffef, 0xffff, 0xfe});
  ASSERT_EQ(lives.run(), asmjit::kErrorOk);
  const auto span = [&](const Gp& reg) {
    const uint32_t life = lives.find_life(reg.id());
    EXPECT_EQ(lives.lives[life].earlier, kNoIndex);
    return std::pair(lives.lives[life].current.begin, lives.lives[life].current.end);
  };
  EXPECT_EQ(span(argument), std::pair(2u, 14u));
  EXPECT_EQ(span(one), std::pair(3u, 14u));
  EXPECT_EQ(span(sum), std::pair(5u, 15u));
  EXPECT_EQ(span(inside), std::pair(7u, 9u));
}

// Values that go round in a loop, each through copies at which the one before ends: all copies of a value have one home.
TEST(AllocationCopies, AreNoInstructionsInLoops) {
  constexpr unsigned kValues = 3;
  lir::Function function;
  Builder cc(function);
  const Gp count = cc.new_gp64(), seed = cc.new_gp64(), sum = cc.new_gp64();
  function.arguments = {count, seed};
  std::array<Gp, kValues> values;
  for (unsigned i = 0; i < kValues; ++i) cc.lea(values[i] = cc.new_gp64(), x86::ptr(seed, static_cast<int32_t>(i)));
  const asmjit::Label head = cc.new_label();
  cc.bind(head);
  std::array<Gp, kValues> ends;
  for (unsigned i = 0; i < kValues; ++i) {
    const Gp sum_of_two = cc.new_gp64(), factor = cc.new_gp64();
    cc.mov(sum_of_two, values[i]);
    cc.add(sum_of_two, seed);
    cc.mov(factor, sum_of_two);
    cc.imul(factor, count);
    cc.mov(ends[i] = cc.new_gp64(), factor);
  }
  for (unsigned i = 0; i < kValues; ++i) cc.mov(values[i], ends[i]);
  cc.sub(count, 1);
  cc.jnz(head);
  cc.mov(sum, values[0]);
  for (unsigned i = 1; i < kValues; ++i) cc.add(sum, values[i]);
  cc.ret(sum);
  cc.finish();
  std::optional<CodeBlock> block;
  ASSERT_NO_FATAL_FAILURE(place(function, block));
  bool inside = false;
  unsigned copies = 0;
  for (const lir::Node* node = function.begin(); node != nullptr; node = node->next) {
    if (node->is_label()) inside = true;
    if (node->id == x86::Inst::kIdJnz) inside = false;
    if (inside && node->id == x86::Inst::kIdMov && node->operands[1].isReg()) ++copies;
  }
  EXPECT_EQ(copies, 0u);
  uint64_t expected[kValues] = {5, 6, 7};
  for (uint64_t left = 4; left != 0; --left)
    for (uint64_t& value : expected) value = (value + 5) * left;
  const auto run = reinterpret_cast<uint64_t (*)(uint64_t, uint64_t)>(reinterpret_cast<uintptr_t>(block->begin()));
  EXPECT_EQ(run(4, 5), expected[0] + expected[1] + expected[2]);
}

// Moves between registers in a loop whose counter has three registers, which copies join, beside `terms` values that live on one way.
unsigned copies_in_loop(unsigned terms, unsigned readers) {
  lir::Function function;
  Builder cc(function);
  const Gp start = cc.new_gp64(), sum = cc.new_gp64(), counter = cc.new_gp64(), next = cc.new_gp64(),
           joined = cc.new_gp64(), bit = cc.new_gp64();
  function.arguments = {start};
  const asmjit::Label head = cc.new_label(), other = cc.new_label(), join = cc.new_label(), out = cc.new_label();
  cc.mov(counter, x86::qword_ptr(start));
  cc.xor_(sum, sum);
  cc.bind(head);
  cc.mov(bit, x86::qword_ptr(start, 8));
  cc.test(bit, counter);
  cc.jnz(other);
  cc.lea(joined, x86::ptr(counter, -1));
  cc.jmp(join);
  cc.bind(other);
  cc.lea(next, x86::ptr(counter, -2));
  std::vector<Gp> values(terms);
  for (unsigned i = 0; i < terms; ++i) cc.lea(values[i] = cc.new_gp64(), x86::ptr(bit, static_cast<int32_t>(i)));
  for (unsigned i = 0; i < readers; ++i)
    for (const Gp& value : values) cc.add(sum, value);
  cc.mov(joined, next);
  cc.bind(join);
  cc.test(joined, joined);
  cc.js(out);
  cc.mov(counter, joined);
  cc.jmp(head);
  cc.bind(out);
  cc.ret(sum);
  cc.finish();
  std::optional<CodeBlock> block;
  place(function, block);
  bool inside = false;
  unsigned copies = 0;
  for (const lir::Node* node = function.begin(); node != nullptr; node = node->next) {
    if (node->is_label()) inside = node->label_id() != out.id() && (inside || node->label_id() == head.id());
    if (inside && node->id == x86::Inst::kIdMov && node->operands[0].isReg() && node->operands[1].isReg()) ++copies;
  }
  return copies;
}

TEST(AllocationCopies, WaysOfALoopShareAHome) {
  for (unsigned terms = 1; terms < 9; ++terms)
    for (unsigned readers = 1; readers < 5; ++readers)
      EXPECT_EQ(copies_in_loop(terms, readers), 0u) << terms << " values, " << readers << " readers of each";
}

// Registers that are alive at the same time are in no class, however they are copied.
TEST(AllocationCopies, ClassesDoNotOverlap) {
  lir::Function function;
  Builder cc(function);
  const Gp argument = cc.new_gp64(), copy = cc.new_gp64(), other = cc.new_gp64(), last = cc.new_gp64();
  function.arguments = {argument};
  cc.mov(copy, argument);  // which lives on
  cc.add(argument, 1);
  cc.mov(other, copy);
  cc.add(other, argument);
  cc.mov(last, argument);
  cc.add(last, other);
  cc.ret(last);
  cc.finish();
  Lives lives(function, {0xffef, 0xffff, 0xfe});
  ASSERT_EQ(lives.run(), asmjit::kErrorOk);
  CopyClasses classes(lives);
  const auto number = [&](const Gp& reg) { return lives.find_life(reg.id()); };
  ASSERT_NE(classes.of(number(copy)), nullptr);
  EXPECT_EQ(classes.of(number(copy)), classes.of(number(other)));
  ASSERT_NE(classes.of(number(argument)), nullptr);
  EXPECT_EQ(classes.of(number(argument)), classes.of(number(last)));
  EXPECT_NE(classes.of(number(argument)), classes.of(number(copy)));
  std::vector<uint32_t> members;
  classes.for_each_member(*classes.of(number(copy)), [&](uint32_t reg) { members.push_back(reg); });
  EXPECT_EQ(members.size(), 2u);
}

TEST(AllocationLives, WhatItDoesNotKnowIsAnError) {
  lir::Function function;
  Builder cc(function);
  const Gp target = cc.new_gp64();
  function.arguments = {target};
  cc.jmp(target);  // anywhere
  cc.finish();
  EXPECT_NE(allocate_registers(function), asmjit::kErrorOk);
}

}  // namespace
}  // namespace wavejit::backend
