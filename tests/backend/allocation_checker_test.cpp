// The checker of register allocation: functions whose allocation it accepts, with one fault each put into the allocated code,
// which it must name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "backend-x86/regalloc/allocation.h"
#include "backend-x86/regalloc/checker.h"

namespace wavejit::backend {
namespace {

using asmjit::BaseNode;
using asmjit::FuncNode;
using asmjit::InstNode;
using testing::HasSubstr;
using x86::Gp;
namespace I = x86::Inst;

uint64_t callee(const void* value) {
  return reinterpret_cast<uintptr_t>(value) + 1;
}

// A function of one argument, allocated.
class Allocated {
 public:
  using Body = std::function<void(x86::Compiler& cc, const Gp& argument)>;

  explicit Allocated(const Body& body, bool avx512 = false) {
    asmjit::Environment environment(asmjit::Arch::kX64);
    environment.setPlatform(asmjit::Platform::kLinux);
    EXPECT_EQ(code_.init(environment), asmjit::kErrorOk);
    EXPECT_EQ(code_.attach(&cc), asmjit::kErrorOk);
    function = cc.addFunc(asmjit::FuncSignatureT<uint64_t, void*>());
    function->frame().setAvxEnabled();
    if (avx512) function->frame().setAvx512Enabled();
    const Gp argument = cc.newUInt64("argument");
    function->setArg(0, argument);
    body(cc, argument);
    cc.endFunc();
    checker_.emplace(cc, *function);
  }
  // Nothing, or the fault that the checker reports.
  std::string check() {
    EXPECT_EQ(asmjits_allocator ? cc.runPasses() : allocate_registers(cc, *function), asmjit::kErrorOk);
    return checker_->check().value_or("");
  }
  // The same of code into which `corrupt` has put a fault.
  std::string check_with(const std::function<void(Allocated&)>& corrupt) {
    EXPECT_EQ(check(), "");
    corrupt(*this);
    return checker_->check().value_or("");
  }

  // The first instruction for which `wanted` is true. The test fails if there is none.
  InstNode* find(const std::function<bool(const InstNode&)>& wanted) const {
    for (BaseNode* node = function->next(); node != function->endNode(); node = node->next())
      if (node->isInst() && wanted(*node->as<InstNode>())) return node->as<InstNode>();
    ADD_FAILURE() << "the code has no such instruction";
    std::abort();
  }
  // One that the allocator has inserted between prologue and epilogue.
  InstNode* find_inserted(asmjit::InstId id, const std::function<bool(const InstNode&)>& wanted) const {
    bool behind_prologue = false;
    return find([&](const InstNode& node) {
      behind_prologue |= RecordedProgram::number_of(node).has_value();
      return behind_prologue && node.id() == id && !RecordedProgram::number_of(node) && wanted(node);
    });
  }
  InstNode* store() const {
    return find_inserted(I::kIdMov, [](const InstNode& node) { return node.op(0).isMem(); });
  }
  InstNode* reload() const {
    return find_inserted(I::kIdMov, [](const InstNode& node) { return node.op(1).isMem(); });
  }

  x86::Compiler cc;
  FuncNode* function = nullptr;
  bool asmjits_allocator = false;

 private:
  asmjit::CodeHolder code_;
  std::optional<AllocationChecker> checker_;
};

// More values than there are registers, all of them read twice. The order lets none be an operand in memory every time.
void many_values(x86::Compiler& cc, const Gp& argument) {
  std::array<Gp, 20> values;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = cc.newUInt64();
    cc.mov(values[i], x86::qword_ptr(argument, static_cast<int32_t>(8 * i)));
  }
  const Gp sum = cc.newUInt64("sum");
  cc.xor_(sum, sum);
  for (const Gp& value : values) {
    cc.imul(value, value, 3);
    cc.add(sum, value);
  }
  for (const Gp& value : values) cc.mov(x86::qword_ptr(argument, 8), value);
  cc.ret(sum);
}

void remove(Allocated& code, InstNode* node) {
  code.cc.removeNode(node);
}

TEST(AllocationChecker, AcceptsWhatIsRight) {
  EXPECT_EQ(Allocated(many_values).check(), "");
}

TEST(AllocationChecker, AReloadThatIsMissing) {
  Allocated code(many_values);
  EXPECT_THAT(code.check_with([](Allocated& c) { remove(c, c.reload()); }),
              HasSubstr("which does not hold bytes 0xff of v"));
}

TEST(AllocationChecker, AStoreThatIsMissing) {
  Allocated code(many_values);
  EXPECT_THAT(code.check_with([](Allocated& c) { remove(c, c.store()); }), HasSubstr("is read from [stack"));
}

TEST(AllocationChecker, AReloadFromAnotherSlot) {
  Allocated code(many_values);
  EXPECT_THAT(code.check_with([](Allocated& c) { c.reload()->op(1).as<x86::Mem>().addOffsetLo32(8); }),
              HasSubstr("its value is [stack"));
}

TEST(AllocationChecker, AReloadOfAPart) {
  Allocated code(many_values);
  const std::string wrong = code.check_with([](Allocated& c) {
    InstNode* node = c.reload();
    node->setOp(0, x86::gpd(node->op(0).id()));
    node->op(1).as<x86::Mem>().setSize(4);
  });
  EXPECT_THAT(wrong, HasSubstr("(bytes 0xf)"));
}

TEST(AllocationChecker, ASlotThatOverlapsAnother) {
  Allocated code(many_values);
  EXPECT_NE(code.check_with([](Allocated& c) { c.store()->op(0).as<x86::Mem>().addOffsetLo32(4); }), "");
}

TEST(AllocationChecker, ASlotOutsideOfTheFrame) {
  Allocated code(many_values);
  EXPECT_THAT(code.check_with([](Allocated& c) { c.store()->op(0).as<x86::Mem>().addOffsetLo32(4096); }),
              HasSubstr("outside of the frame"));
}

TEST(AllocationChecker, AnOperandInAnotherRegister) {
  Allocated code(many_values);
  const std::string wrong = code.check_with([](Allocated& c) {
    InstNode* node = c.find([](const InstNode& n) { return n.id() == I::kIdAdd && n.op(1).isReg(); });
    node->op(1).as<Gp>().setId(node->op(0).id());
  });
  EXPECT_THAT(wrong, HasSubstr("before 'add sum, "));
  EXPECT_THAT(wrong, HasSubstr("operand 1 is read from"));
}

TEST(AllocationChecker, AnOperandInMemoryOfAnotherSize) {
  Allocated code(many_values);
  const std::string wrong = code.check_with([](Allocated& c) {
    c.find([](const InstNode& n) { return n.id() == I::kIdImul && RecordedProgram::number_of(n) && n.op(1).isMem(); })
        ->op(1)
        .as<x86::Mem>()
        .setSize(4);
  });
  EXPECT_THAT(wrong, HasSubstr("must not be 4 bytes in memory"));
}

// Two values that a loop exchanges: in one register each at its head.
void loop(x86::Compiler& cc, const Gp& argument) {
  const Gp a = cc.newUInt64("a"), b = cc.newUInt64("b"), t = cc.newUInt64("t"), count = cc.newUInt32("count");
  const asmjit::Label head = cc.newLabel();
  cc.mov(a, 1);
  cc.mov(b, x86::qword_ptr(argument));
  cc.mov(count, 5);
  cc.bind(head);
  cc.mov(t, a);
  cc.mov(a, b);
  cc.mov(b, t);
  cc.add(a, b);
  cc.sub(count, 1);
  cc.jnz(head);
  cc.add(a, argument);
  cc.ret(a);
}

TEST(AllocationChecker, AnotherRegisterWhereWaysMeet) {
  Allocated code(loop);
  // Behind the loop's last instruction but the jump, two of its registers are exchanged.
  const std::string wrong = code.check_with([](Allocated& c) {
    const InstNode* add = c.find([](const InstNode& n) { return n.id() == I::kIdAdd; });
    const Gp a = x86::gpq(add->op(0).id()), b = x86::gpq(add->op(1).id());
    c.cc.setCursor(c.find([](const InstNode& n) { return n.id() == I::kIdJnz; })->prev());
    c.cc.xchg(a, b);
  });
  EXPECT_THAT(wrong, HasSubstr("(a)"));
}

TEST(AllocationChecker, AMoveThatIsMissingBeforeTheHead) {
  Allocated code(loop);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    remove(c, c.find([](const InstNode& n) { return n.id() == I::kIdMov && n.op(1).isImm(); }));
  }),
              HasSubstr("has been removed"));
}

TEST(AllocationChecker, AJumpToAnotherLabel) {
  Allocated code(loop);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    c.find([](const InstNode& n) { return n.id() == I::kIdJnz; })->setOp(0, c.function->exitNode()->label());
  }),
              HasSubstr("it goes to another target"));
}

TEST(AllocationChecker, InstructionsInAnotherOrder) {
  Allocated code(loop);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    InstNode* add = c.find([](const InstNode& n) { return n.id() == I::kIdAdd; });
    BaseNode* behind = add->next();
    c.cc.removeNode(add);
    c.cc.addAfter(add, behind);
  }),
              HasSubstr("in the order that they had before"));
}

TEST(AllocationChecker, AnotherConstant) {
  Allocated code(loop);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    c.find([](const InstNode& n) { return n.id() == I::kIdMov && n.op(1).isImm(); })->setOp(1, asmjit::imm(2));
  }),
              HasSubstr("operand 1 is another than before"));
}

void with_call(x86::Compiler& cc, const Gp& argument) {
  const Gp kept = cc.newUInt64("kept"), result = cc.newUInt64("result");
  cc.mov(kept, x86::qword_ptr(argument));
  asmjit::InvokeNode* call = nullptr;
  cc.invoke(&call, asmjit::imm(reinterpret_cast<uintptr_t>(&callee)), asmjit::FuncSignatureT<uint64_t, const void*>());
  call->setArg(0, argument);
  call->setRet(0, result);
  cc.add(result, kept);
  cc.ret(result);
}

TEST(AllocationChecker, ARegisterThatACallDestroys) {
  Allocated code(with_call);
  const std::string wrong = code.check_with([](Allocated& c) {
    const InstNode* load =
        c.find([](const InstNode& n) { return n.id() == I::kIdMov && RecordedProgram::number_of(n); });
    InstNode* add = c.find([](const InstNode& n) { return n.id() == I::kIdAdd && RecordedProgram::number_of(n); });
    add->setOp(1, x86::gpq(load->op(0).id()));
  });
  EXPECT_THAT(wrong, HasSubstr("which does not hold bytes 0xff of v1 (kept); its value is [stack-8]"));
}

TEST(AllocationChecker, AnArgumentInAnotherRegister) {
  Allocated code(with_call);
  const std::string wrong = code.check_with([](Allocated& c) {
    c.cc.setCursor(c.find([](const InstNode& n) { return n.isInvoke(); })->prev());
    c.cc.xchg(x86::rdi, x86::rsi);
  });
  EXPECT_THAT(wrong, HasSubstr("argument 0 is read from rdi"));
}

TEST(AllocationChecker, ARegisterOfTheCallerThatIsNotRestored) {
  Allocated code(many_values);
  const std::string wrong = code.check_with([](Allocated& c) {
    InstNode* pop = c.find([](const InstNode& n) { return n.id() == I::kIdPop; });
    c.cc.setCursor(pop);
    c.cc.add(x86::rsp, 8);
    remove(c, pop);
  });
  EXPECT_THAT(wrong, HasSubstr("a register that the caller keeps is read from"));
}

TEST(AllocationChecker, AStackPointerThatIsNotRestored) {
  Allocated code(many_values);
  EXPECT_THAT(
      code.check_with([](Allocated& c) { remove(c, c.find([](const InstNode& n) { return n.id() == I::kIdPop; })); }),
      HasSubstr("the stack pointer is not what it has been"));
}

TEST(AllocationChecker, AResultInAnotherRegister) {
  Allocated code(loop);
  const std::string wrong = code.check_with([](Allocated& c) {
    c.cc.setCursor(c.function->exitNode());
    c.cc.xchg(x86::rax, x86::rcx);
  });
  EXPECT_THAT(wrong, HasSubstr("the result is read from rax"));
}

TEST(AllocationChecker, TheFixedRegisterOfAShift) {
  Allocated code([](x86::Compiler& cc, const Gp& argument) {
    const Gp value = cc.newUInt64("value"), count = cc.newUInt64("count");
    cc.mov(value, x86::qword_ptr(argument));
    cc.mov(count, x86::qword_ptr(argument, 8));
    cc.shl(value, count.r8());
    cc.ret(value);
  });
  const std::string wrong = code.check_with([](Allocated& c) {
    c.find([](const InstNode& n) { return n.id() == I::kIdShl; })->op(1).as<Gp>().setId(x86::Gp::kIdBx);
  });
  EXPECT_THAT(wrong, HasSubstr("operand 1 is not in the host register that it must be in"));
}

// A vector's copy of half of its bytes clears the others.
TEST(AllocationChecker, AVectorThatIsMovedInPart) {
  Allocated code([](x86::Compiler& cc, const Gp& argument) {
    std::array<x86::Ymm, 20> values;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = cc.newYmm();
      cc.vmovdqu(values[i], x86::ymmword_ptr(argument, static_cast<int32_t>(32 * i)));
    }
    for (const x86::Ymm& value : values) cc.vpaddd(value, value, value);
    for (size_t i = 0; i < values.size(); ++i)
      cc.vmovdqu(x86::ymmword_ptr(argument, static_cast<int32_t>(32 * i)), values[i]);
    cc.ret(argument);
  });
  const std::string wrong = code.check_with([](Allocated& c) {
    InstNode* store = c.find_inserted(I::kIdVmovdqa, [](const InstNode& n) { return n.op(0).isMem(); });
    store->setOp(1, x86::xmm(store->op(1).id()));
    store->op(0).as<x86::Mem>().setSize(16);
  });
  EXPECT_THAT(wrong, HasSubstr("bytes 0xffffffff of v"));
  EXPECT_THAT(wrong, HasSubstr("(bytes 0xffff)"));
}

// Under a mask, a lane keeps what the register of the result had before.
TEST(AllocationChecker, TheRegisterThatMergingKeeps) {
  Allocated code(
      [](x86::Compiler& cc, const Gp& argument) {
        const x86::Zmm to = cc.newZmm("to"), from = cc.newZmm("from");
        const x86::KReg mask = cc.newKw("mask");
        cc.vmovdqu32(to, x86::zmmword_ptr(argument));
        cc.vmovdqu32(from, x86::zmmword_ptr(argument, 64));
        cc.kmovw(mask, x86::word_ptr(argument, 128));
        cc.k(mask).vpaddd(to, from, from);
        cc.vmovdqu32(x86::zmmword_ptr(argument), to);
        cc.ret(argument);
      },
      true);
  const std::string wrong = code.check_with([](Allocated& c) {
    bool behind = false;
    InstNode* add = c.find([](const InstNode& n) { return n.id() == I::kIdVpaddd; });
    add->op(0).as<x86::Zmm>().setId(9);
    c.find([&](const InstNode& n) { return std::exchange(behind, behind || &n == add); })
        ->op(1)
        .as<x86::Zmm>()
        .setId(9);
  });
  EXPECT_THAT(wrong, HasSubstr("operand 0 is read from zmm9, which does not hold"));
}

TEST(AllocationChecker, VariablesOnTheStackKeepTheirPlaces) {
  const auto body = [](x86::Compiler& cc, const Gp& argument) {
    x86::Mem variable = cc.newStack(64, 16);
    variable.setSize(8);
    std::array<Gp, 20> values;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = cc.newUInt64();
      cc.mov(values[i], x86::qword_ptr(argument, static_cast<int32_t>(8 * i)));
    }
    cc.mov(variable, argument);
    for (const Gp& value : values) cc.add(value, variable);
    for (const Gp& value : values) cc.mov(x86::qword_ptr(argument), value);
    cc.ret(argument);
  };
  const auto move = [](Allocated& c, int32_t by, bool all) {
    for (BaseNode* node = c.function->next(); node != c.function->endNode(); node = node->next()) {
      const auto number = RecordedProgram::number_of(*node);
      if (!node->isInst() || !number) continue;
      auto& inst = *node->as<InstNode>();
      const bool is_variable =
          inst.id() == I::kIdMov && inst.op(0).isMem() && inst.op(0).as<x86::Mem>().baseId() == x86::Gp::kIdSp;
      if (is_variable) inst.op(0).as<x86::Mem>().addOffsetLo32(by);
      if (all && inst.id() == I::kIdAdd && inst.op(1).isMem()) inst.op(1).as<x86::Mem>().addOffsetLo32(by);
    }
  };
  EXPECT_THAT(Allocated(body).check_with([&](Allocated& c) { move(c, 8, false); }),
              HasSubstr("on the stack has moved"));
  EXPECT_THAT(Allocated(body).check_with([&](Allocated& c) { move(c, 16, true); }),
              HasSubstr("on the stack shares its place"));
}

// Of a register that only one of two ways writes, the other way's value does not matter.
TEST(AllocationChecker, RegistersThatAreUndefinedOnOneWay) {
  const auto body = [](x86::Compiler& cc, const Gp& argument) {
    const Gp value = cc.newUInt64("value");
    const asmjit::Label skip = cc.newLabel();
    cc.test(argument, argument);
    cc.jz(skip);
    cc.mov(value, x86::qword_ptr(argument));
    cc.bind(skip);
    cc.add(value, argument);
    cc.ret(value);
  };
  const std::string wrong = Allocated(body).check_with([](Allocated& c) {
    InstNode* load = c.find([](const InstNode& n) { return n.id() == I::kIdMov && RecordedProgram::number_of(n); });
    load->op(0).as<Gp>().setId(x86::Gp::kIdR11);
  });
  EXPECT_THAT(wrong, HasSubstr("of v1 (value); its value is r11"));
}

// The loop is interpreted twice: `other` gets the register of `before`, which nothing reads any more.
TEST(AllocationChecker, ReadsOfAnUndefinedRegisterInALoop) {
  const auto body = [](x86::Compiler& cc, const Gp& argument) {
    const Gp value = cc.newUInt64("value"), sum = cc.newUInt64("sum");
    const Gp before = cc.newUInt64("before"), other = cc.newUInt64("other");
    const asmjit::Label loop = cc.newLabel();
    cc.mov(before, x86::qword_ptr(argument, 8));
    cc.mov(sum, argument);
    cc.test(argument, argument);
    cc.jz(loop);
    cc.mov(value, x86::qword_ptr(argument));
    cc.add(value, before);
    cc.bind(loop);
    cc.add(sum, value);
    cc.mov(other, x86::qword_ptr(argument, 16));
    cc.add(other, other);
    cc.cmp(sum, other);
    cc.jne(loop);
    cc.ret(sum);
  };
  EXPECT_THAT(Allocated(body).check_with([](Allocated& c) { remove(c, c.store()); }),
              HasSubstr("is read from [stack-8], which does not hold bytes 0xff of v1 (value)"));
}

// asmjit's allocator removes the code behind the first return and leaves the label, which the way to the exit then passes.
TEST(AllocationChecker, ALabelOfRemovedCodeBeforeTheExit) {
  Allocated code([](x86::Compiler& cc, const Gp& argument) {
    const Gp value = cc.newUInt64("value");
    cc.mov(value, x86::qword_ptr(argument));
    cc.ret(value);
    cc.bind(cc.newLabel());
    cc.mov(x86::qword_ptr(argument), argument);
    cc.ret(argument);
  });
  code.asmjits_allocator = true;
  const std::string wrong = code.check_with([](Allocated& c) {
    InstNode* load = c.find([](const InstNode& n) { return n.id() == I::kIdMov && RecordedProgram::number_of(n); });
    load->op(0).as<Gp>().setId(x86::Gp::kIdR11);
  });
  EXPECT_THAT(wrong, HasSubstr("the result is read from rax"));
}

TEST(AllocationChecker, WhatItDoesNotUnderstandIsAFault) {
  Allocated inserted(loop);
  EXPECT_THAT(inserted.check_with([](Allocated& c) {
    c.cc.setCursor(c.find([](const InstNode& n) { return n.id() == I::kIdJnz; })->prev());
    c.cc.bswap(x86::r9);
  }),
              HasSubstr("'bswap r9': it is not understood"));
  Allocated named([](x86::Compiler& cc, const Gp& argument) {
    cc.mov(x86::r9, argument);
    cc.ret(argument);
  });
  EXPECT_THAT(named.check(), HasSubstr("is not understood: a host register by name"));
}

}  // namespace
}  // namespace wavejit::backend
