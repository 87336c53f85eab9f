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

#include "backend-x86/lir/builder.h"
#include "backend-x86/regalloc/allocation.h"
#include "backend-x86/regalloc/checker.h"

namespace wavejit::backend {
namespace {

using lir::Builder;
using lir::Node;
using testing::HasSubstr;
using x86::Gp;
namespace I = x86::Inst;

uint64_t callee(const void* value) {
  return reinterpret_cast<uintptr_t>(value) + 1;
}

// A function of one argument, allocated.
class Allocated {
 public:
  using Body = std::function<void(Builder& cc, const Gp& argument)>;

  explicit Allocated(const Body& body, bool avx512 = false) {
    function.avx512 = avx512;
    function.stack_alignment = 64;
    const Gp argument = cc.new_gp64("argument");
    function.arguments = {argument};
    body(cc, argument);
    cc.finish();
    checker_.emplace(function);
  }
  // Nothing, or the fault that the checker reports.
  std::string check() {
    EXPECT_EQ(allocate_registers(function), asmjit::kErrorOk);
    return checker_->check().value_or("");
  }
  // The same of code into which `corrupt` has put a fault.
  std::string check_with(const std::function<void(Allocated&)>& corrupt) {
    EXPECT_EQ(check(), "");
    corrupt(*this);
    return checker_->check().value_or("");
  }

  // The first instruction for which `wanted` is true. The test fails if there is none.
  Node* find(const std::function<bool(const Node&)>& wanted) const {
    for (Node* node = function.begin(); node != nullptr; node = node->next)
      if (node->is_code() && wanted(*node)) return node;
    ADD_FAILURE() << "the code has no such instruction";
    std::abort();
  }
  // One that the allocator has inserted between prologue and epilogue.
  Node* find_inserted(asmjit::InstId id, const std::function<bool(const Node&)>& wanted) const {
    bool behind_prologue = false;
    return find([&](const Node& node) {
      behind_prologue |= RecordedProgram::number_of(node).has_value();
      return behind_prologue && node.id == id && !RecordedProgram::number_of(node) && wanted(node);
    });
  }
  Node* store() const {
    return find_inserted(I::kIdMov, [](const Node& node) { return node.operands[0].isMem(); });
  }
  Node* reload() const {
    return find_inserted(I::kIdMov, [](const Node& node) { return node.operands[1].isMem(); });
  }

  lir::Function function;
  Builder cc{function};

 private:
  std::optional<AllocationChecker> checker_;
};

// More values than there are registers, all of them read twice. The order lets none be an operand in memory every time.
void many_values(Builder& cc, const Gp& argument) {
  std::array<Gp, 20> values;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = cc.new_gp64();
    cc.mov(values[i], x86::qword_ptr(argument, static_cast<int32_t>(8 * i)));
  }
  const Gp sum = cc.new_gp64("sum");
  cc.xor_(sum, sum);
  for (const Gp& value : values) {
    cc.imul(value, value, 3);
    cc.add(sum, value);
  }
  for (const Gp& value : values) cc.mov(x86::qword_ptr(argument, 8), value);
  cc.ret(sum);
}

void remove(Allocated& code, Node* node) {
  code.function.remove(node);
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
  EXPECT_THAT(code.check_with([](Allocated& c) { c.reload()->operands[1].as<x86::Mem>().addOffsetLo32(8); }),
              HasSubstr("its value is [stack"));
}

TEST(AllocationChecker, AReloadOfAPart) {
  Allocated code(many_values);
  const std::string wrong = code.check_with([](Allocated& c) {
    Node* node = c.reload();
    node->operands[0] = x86::gpd(node->operands[0].id());
    node->operands[1].as<x86::Mem>().setSize(4);
  });
  EXPECT_THAT(wrong, HasSubstr("(bytes 0xf)"));
}

TEST(AllocationChecker, ASlotThatOverlapsAnother) {
  Allocated code(many_values);
  EXPECT_NE(code.check_with([](Allocated& c) { c.store()->operands[0].as<x86::Mem>().addOffsetLo32(4); }), "");
}

TEST(AllocationChecker, ASlotOutsideOfTheFrame) {
  Allocated code(many_values);
  EXPECT_THAT(code.check_with([](Allocated& c) { c.store()->operands[0].as<x86::Mem>().addOffsetLo32(4096); }),
              HasSubstr("outside of the frame"));
}

TEST(AllocationChecker, AnOperandInAnotherRegister) {
  Allocated code(many_values);
  const std::string wrong = code.check_with([](Allocated& c) {
    Node* node = c.find([](const Node& n) { return n.id == I::kIdAdd && n.operands[1].isReg(); });
    node->operands[1].as<Gp>().setId(node->operands[0].id());
  });
  EXPECT_THAT(wrong, HasSubstr("before 'add v21, "));
  EXPECT_THAT(wrong, HasSubstr("operand 1 is read from"));
}

TEST(AllocationChecker, AnOperandInMemoryOfAnotherSize) {
  Allocated code(many_values);
  const std::string wrong = code.check_with([](Allocated& c) {
    c.find([](const Node& n) { return n.id == I::kIdImul && RecordedProgram::number_of(n) && n.operands[1].isMem(); })
        ->operands[1]
        .as<x86::Mem>()
        .setSize(4);
  });
  EXPECT_THAT(wrong, HasSubstr("must not be 4 bytes in memory"));
}

// Two values that a loop exchanges: in one register each at its head.
void loop(Builder& cc, const Gp& argument) {
  const Gp a = cc.new_gp64("a"), b = cc.new_gp64("b"), t = cc.new_gp64("t"), count = cc.new_gp32("count");
  const asmjit::Label head = cc.new_label();
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
    const Node* add = c.find([](const Node& n) { return n.id == I::kIdAdd; });
    const Gp a = x86::gpq(add->operands[0].id()), b = x86::gpq(add->operands[1].id());
    c.cc.set_cursor(c.find([](const Node& n) { return n.id == I::kIdJnz; })->prev);
    c.cc.xchg(a, b);
  });
  EXPECT_THAT(wrong, HasSubstr("(a)"));
}

TEST(AllocationChecker, AMoveThatIsMissingBeforeTheHead) {
  Allocated code(loop);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    remove(c, c.find([](const Node& n) { return n.id == I::kIdMov && n.operands[1].isImm(); }));
  }),
              HasSubstr("has been removed"));
}

TEST(AllocationChecker, AJumpToAnotherLabel) {
  Allocated code(loop);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    c.find([](const Node& n) { return n.id == I::kIdJnz; })->operands[0] = c.function.exit->operands[0];
  }),
              HasSubstr("it goes to another target"));
}

TEST(AllocationChecker, InstructionsInAnotherOrder) {
  Allocated code(loop);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    Node* add = c.find([](const Node& n) { return n.id == I::kIdAdd; });
    Node* moved = c.function.insert(add->next, Node::Kind::instruction);
    Node copy = *add;
    copy.prev = moved->prev;
    copy.next = moved->next;
    *moved = copy;
    remove(c, add);
  }),
              HasSubstr("in the order that they had before"));
}

TEST(AllocationChecker, AnotherConstant) {
  Allocated code(loop);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    c.find([](const Node& n) { return n.id == I::kIdMov && n.operands[1].isImm(); })->operands[1] = asmjit::imm(2);
  }),
              HasSubstr("operand 1 is another than before"));
}

void with_call(Builder& cc, const Gp& argument) {
  const Gp kept = cc.new_gp64("kept"), result = cc.new_gp64("result");
  cc.mov(kept, x86::qword_ptr(argument));
  cc.call(asmjit::imm(reinterpret_cast<uintptr_t>(&callee)), std::array{argument}, &result);
  cc.add(result, kept);
  cc.ret(result);
}

TEST(AllocationChecker, ARegisterThatACallDestroys) {
  Allocated code(with_call);
  const std::string wrong = code.check_with([](Allocated& c) {
    const Node* load = c.find([](const Node& n) { return n.id == I::kIdMov && RecordedProgram::number_of(n); });
    Node* add = c.find([](const Node& n) { return n.id == I::kIdAdd && RecordedProgram::number_of(n); });
    add->operands[1] = x86::gpq(load->operands[0].id());
  });
  EXPECT_THAT(wrong, HasSubstr("which does not hold bytes 0xff of v1 (kept); its value is [stack-"));
}

TEST(AllocationChecker, AnArgumentInAnotherRegister) {
  Allocated code(with_call);
  const std::string wrong = code.check_with([](Allocated& c) {
    c.cc.set_cursor(c.find([](const Node& n) { return n.is_call(); })->prev);
    c.cc.xchg(x86::rdi, x86::rsi);
  });
  EXPECT_THAT(wrong, HasSubstr("argument 0 is read from rdi"));
}

TEST(AllocationChecker, ACallWithAStackPointerThatIsNotAligned) {
  Allocated code(with_call);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    for (Node* node = c.function.begin(); node != nullptr; node = node->next)
      if (node->is_instruction() && node->operands[0] == x86::rsp)
        node->operands[1].as<asmjit::Imm>().setValue(node->operands[1].as<asmjit::Imm>().value() + 8);
  }),
              HasSubstr("the stack pointer is not aligned for a call"));
}

TEST(AllocationChecker, ARegisterOfTheCallerThatIsNotRestored) {
  Allocated code(many_values);
  const std::string wrong = code.check_with([](Allocated& c) {
    Node* pop = c.find([](const Node& n) { return n.id == I::kIdPop; });
    c.cc.set_cursor(pop);
    c.cc.add(x86::rsp, 8);
    remove(c, pop);
  });
  EXPECT_THAT(wrong, HasSubstr("a register that the caller keeps is read from"));
}

TEST(AllocationChecker, AStackPointerThatIsNotRestored) {
  Allocated code(many_values);
  EXPECT_THAT(code.check_with([](Allocated& c) { remove(c, c.find([](const Node& n) { return n.id == I::kIdPop; })); }),
              HasSubstr("the stack pointer is not what it has been"));
}

TEST(AllocationChecker, AResultInAnotherRegister) {
  Allocated code(loop);
  const std::string wrong = code.check_with([](Allocated& c) {
    c.cc.set_cursor(c.function.exit);
    c.cc.xchg(x86::rax, x86::rcx);
  });
  EXPECT_THAT(wrong, HasSubstr("the result is read from rax"));
}

TEST(AllocationChecker, TheFixedRegisterOfAShift) {
  Allocated code([](Builder& cc, const Gp& argument) {
    const Gp value = cc.new_gp64("value"), count = cc.new_gp64("count");
    cc.mov(value, x86::qword_ptr(argument));
    cc.mov(count, x86::qword_ptr(argument, 8));
    cc.shl(value, count.r8());
    cc.ret(value);
  });
  const std::string wrong = code.check_with([](Allocated& c) {
    c.find([](const Node& n) { return n.id == I::kIdShl; })->operands[1].as<Gp>().setId(x86::Gp::kIdBx);
  });
  EXPECT_THAT(wrong, HasSubstr("operand 1 is not in the host register that it must be in"));
}

void many_vectors(Builder& cc, const Gp& argument) {
  std::array<x86::Ymm, 20> values;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = cc.new_ymm();
    cc.vmovdqu(values[i], x86::ymmword_ptr(argument, static_cast<int32_t>(32 * i)));
  }
  for (const x86::Ymm& value : values) cc.vpaddd(value, value, value);
  for (size_t i = 0; i < values.size(); ++i)
    cc.vmovdqu(x86::ymmword_ptr(argument, static_cast<int32_t>(32 * i)), values[i]);
  cc.ret(argument);
}

// A vector's copy of half of its bytes clears the others.
TEST(AllocationChecker, AVectorThatIsMovedInPart) {
  Allocated code(many_vectors);
  const std::string wrong = code.check_with([](Allocated& c) {
    Node* store = c.find_inserted(I::kIdVmovdqa, [](const Node& n) { return n.operands[0].isMem(); });
    store->operands[1] = x86::xmm(store->operands[1].id());
    store->operands[0].as<x86::Mem>().setSize(16);
  });
  EXPECT_THAT(wrong, HasSubstr("bytes 0xffffffff of v"));
  EXPECT_THAT(wrong, HasSubstr("(bytes 0xffff)"));
}

// All vectors of the frame are 16 bytes further up.
TEST(AllocationChecker, AVectorInASlotThatIsNotAligned) {
  Allocated code(many_vectors);
  EXPECT_THAT(code.check_with([](Allocated& c) {
    for (Node* node = c.function.begin(); node != nullptr; node = node->next)
      for (asmjit::Operand& op : node->ops())
        if (op.isMem() && op.as<x86::Mem>().baseId() == x86::Gp::kIdSp) op.as<x86::Mem>().addOffsetLo32(16);
  }),
              HasSubstr("its stack slot is not aligned"));
}

// Under a mask, a lane keeps what the register of the result had before.
TEST(AllocationChecker, TheRegisterThatMergingKeeps) {
  Allocated code(
      [](Builder& cc, const Gp& argument) {
        const x86::Zmm to = cc.new_zmm(), from = cc.new_zmm();
        const x86::KReg mask = cc.new_mask16();
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
    Node* add = c.find([](const Node& n) { return n.id == I::kIdVpaddd; });
    add->operands[0].as<x86::Zmm>().setId(9);
    c.find([&](const Node& n) { return std::exchange(behind, behind || &n == add); })
        ->operands[1]
        .as<x86::Zmm>()
        .setId(9);
  });
  EXPECT_THAT(wrong, HasSubstr("operand 0 is read from zmm9, which does not hold"));
}

TEST(AllocationChecker, VariablesOnTheStackKeepTheirPlaces) {
  const auto body = [](Builder& cc, const Gp& argument) {
    x86::Mem variable = cc.new_variable(64, 16);
    variable.setSize(8);
    std::array<Gp, 20> values;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = cc.new_gp64();
      cc.mov(values[i], x86::qword_ptr(argument, static_cast<int32_t>(8 * i)));
    }
    cc.mov(variable, argument);
    for (const Gp& value : values) cc.add(value, variable);
    for (const Gp& value : values) cc.mov(x86::qword_ptr(argument), value);
    cc.ret(argument);
  };
  const auto move = [](Allocated& c, int32_t by, bool all) {
    for (Node* node = c.function.begin(); node != nullptr; node = node->next) {
      if (!node->is_instruction() || !RecordedProgram::number_of(*node)) continue;
      Node& inst = *node;
      const bool is_variable = inst.id == I::kIdMov && inst.operands[0].isMem() &&
                               inst.operands[0].as<x86::Mem>().baseId() == x86::Gp::kIdSp;
      if (is_variable) inst.operands[0].as<x86::Mem>().addOffsetLo32(by);
      if (all && inst.id == I::kIdAdd && inst.operands[1].isMem()) inst.operands[1].as<x86::Mem>().addOffsetLo32(by);
    }
  };
  EXPECT_THAT(Allocated(body).check_with([&](Allocated& c) { move(c, 8, false); }),
              HasSubstr("on the stack has moved"));
  EXPECT_THAT(Allocated(body).check_with([&](Allocated& c) { move(c, 16, true); }),
              HasSubstr("on the stack shares its place"));
}

TEST(AllocationChecker, VariablesOnTheStackAreAligned) {
  const auto body = [](Builder& cc, const Gp& argument) {
    x86::Mem variable = cc.new_variable(64, 16);
    variable.setSize(8);
    cc.mov(variable, argument);
    cc.ret(argument);
  };
  EXPECT_THAT(Allocated(body).check_with([](Allocated& c) {
    // 8 bytes more before the frame and behind it.
    const auto is_frame = [](asmjit::InstId id) {
      return [id](const Node& n) { return n.id == id && n.operands[0] == x86::rsp; };
    };
    c.find(is_frame(I::kIdSub))->operands[1] = asmjit::imm(80);
    c.find(is_frame(I::kIdAdd))->operands[1] = asmjit::imm(80);
  }),
              HasSubstr("the variable v1 on the stack is not aligned"));
}

// Of a register that only one of two ways writes, the other way's value does not matter.
TEST(AllocationChecker, RegistersThatAreUndefinedOnOneWay) {
  const auto body = [](Builder& cc, const Gp& argument) {
    const Gp value = cc.new_gp64("value");
    const asmjit::Label skip = cc.new_label();
    cc.test(argument, argument);
    cc.jz(skip);
    cc.mov(value, x86::qword_ptr(argument));
    cc.bind(skip);
    cc.add(value, argument);
    cc.ret(value);
  };
  const std::string wrong = Allocated(body).check_with([](Allocated& c) {
    Node* load = c.find([](const Node& n) { return n.id == I::kIdMov && RecordedProgram::number_of(n); });
    load->operands[0].as<Gp>().setId(x86::Gp::kIdR11);
  });
  EXPECT_THAT(wrong, HasSubstr("of v1 (value); its value is r11"));
}

// The loop is interpreted twice: `other` gets the register of `before`, which nothing reads any more.
TEST(AllocationChecker, ReadsOfAnUndefinedRegisterInALoop) {
  const auto body = [](Builder& cc, const Gp& argument) {
    const Gp value = cc.new_gp64("value"), sum = cc.new_gp64("sum");
    const Gp before = cc.new_gp64("before"), other = cc.new_gp64("other");
    const asmjit::Label loop = cc.new_label();
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

// The allocator removes the code behind the first return and leaves the label, which the way to the exit then passes.
TEST(AllocationChecker, ALabelOfRemovedCodeBeforeTheExit) {
  Allocated code([](Builder& cc, const Gp& argument) {
    const Gp value = cc.new_gp64("value");
    cc.mov(value, x86::qword_ptr(argument));
    cc.ret(value);
    cc.bind(cc.new_label());
    cc.mov(x86::qword_ptr(argument), argument);
    cc.ret(argument);
  });
  const std::string wrong = code.check_with([](Allocated& c) {
    Node* load = c.find([](const Node& n) { return n.id == I::kIdMov && RecordedProgram::number_of(n); });
    load->operands[0].as<Gp>().setId(x86::Gp::kIdR11);
  });
  EXPECT_THAT(wrong, HasSubstr("the result is read from rax"));
}

TEST(AllocationChecker, WhatItDoesNotUnderstandIsAFault) {
  Allocated inserted(loop);
  EXPECT_THAT(inserted.check_with([](Allocated& c) {
    c.cc.set_cursor(c.find([](const Node& n) { return n.id == I::kIdJnz; })->prev);
    c.cc.bswap(x86::r9);
  }),
              HasSubstr("'bswap r9': it is not understood"));
  Allocated named([](Builder& cc, const Gp& argument) {
    cc.mov(x86::r9, argument);
    cc.ret(argument);
  });
  EXPECT_THAT(named.check(), HasSubstr("is not understood: a host register by name"));
}

}  // namespace
}  // namespace wavejit::backend
