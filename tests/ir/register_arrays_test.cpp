// Random code with arrays in registers, whose elements are read and written by comparing an index with each number: in the frame
// they hold the same. Some reads are of elements as they were before a write, some writes leave elements out, some elements are
// used by themselves or exchanged, so that some arrays must be refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "ir/builder.h"
#include "ir/interpret.h"
#include "ir/pass.h"
#include "ir/text.h"

namespace wavejit::ir {
namespace {

class ArrayMaker {
 public:
  explicit ArrayMaker(uint64_t seed) : random_(seed) {}

  std::unique_ptr<Function> make() {
    function_ = std::make_unique<Function>("f");
    builder_ = std::make_unique<Builder>(*function_, function_->add_block());
    function_->entries.push_back({.guest_pc = 0x100, .block = builder_->block()});
    odd_ = chance(40);
    for (unsigned i = 0; i < kScalars; ++i)
      now_.scalars.push_back(builder_->op_typed(Op::get_sgpr, kI32, {}, 0, 2 + i));
    for (auto* array : {&now_.first, &now_.second})
      for (unsigned i = 0, count = 5 + below(8); i < count; ++i)
        array->push_back(chance(40) ? builder_->i32(below(100))
                                    : builder_->op_typed(Op::get_sgpr, kI32, {}, 0, 20 + i));
    loop(0);
    for (unsigned i = 0; i < kScalars; ++i) builder_->op_typed(Op::set_sgpr, kNone, {now_.scalars[i]}, 0, 2 + i);
    for (unsigned i = 0; i < now_.first.size(); ++i)
      if (chance(20)) builder_->op_typed(Op::set_sgpr, kNone, {now_.first[i]}, 0, 20 + i);
    builder_->exit(ExitReason::kYield, 0x200);
    return std::move(function_);
  }

 private:
  static constexpr unsigned kScalars = 4;
  using Array = std::vector<Inst*>;
  struct Values {
    Array scalars, first, second;
  };

  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  bool chance(unsigned percent) { return below(100) < percent; }
  Inst*& any(Array& list) { return list[below(static_cast<unsigned>(list.size()))]; }
  Array& array() { return chance(50) ? now_.first : now_.second; }

  Inst* index() {
    if (odd_ && chance(2)) return any(array());
    Inst* value = any(now_.scalars);
    return chance(70) ? builder_->op(Op::and_, {value, builder_->i32(chance(50) ? 3 : 7)}) : value;
  }
  Inst* choose(Inst* index, unsigned key, Inst* equal, Inst* otherwise) {
    if (chance(20)) return builder_->select(builder_->icmp(ICmp::ne, index, builder_->i32(key)), otherwise, equal);
    return builder_->select(builder_->icmp(ICmp::eq, index, builder_->i32(key)), equal, otherwise);
  }

  void read(const Array& from) {
    Inst* number = index();
    const auto size = static_cast<unsigned>(from.size());
    const unsigned other = chance(80) ? 0 : below(size);
    // The case that is left is mostly the element that no link names, sometimes what some element was.
    const bool older = odd_ && chance(5) && !old_.empty() && old_.size() == size;
    Inst* value = older ? old_[other] : from[other];
    for (unsigned k = 0; k < size; ++k) {
      if ((k == other && !older) || chance(odd_ ? 2 : 1)) continue;
      value = choose(number, k, from[k], value);
      if (odd_ && below(200) == 0) statement();
      if (odd_ && below(200) == 0) any(now_.scalars) = value;
    }
    any(now_.scalars) = value;
  }
  void write(Array& to) {
    Inst* number = index();
    Inst* value = chance(80) ? builder_->op(Op::add, {any(now_.scalars), builder_->i32(below(50))})
                  : chance(odd_ ? 30 : 0) && !old_.empty() ? any(old_)
                                                           : any(to);
    for (unsigned k = 0; k < to.size(); ++k) {
      if (chance(odd_ ? 2 : 1)) continue;
      to[k] = choose(number, k, value, to[k]);
    }
  }

  void statement() {
    switch (below(10)) {
      case 0:
      case 1:
      case 2:
        return read(chance(odd_ ? 3 : 1) && !old_.empty() ? old_ : array());
      case 3:
      case 4:
      case 5:
        if (chance(30)) old_ = now_.first;
        return write(array());
      case 6:
        if (chance(30)) {
          if (odd_ && chance(20) && !old_.empty()) {
            const unsigned k = below(static_cast<unsigned>(old_.size()));
            now_.first[k] = old_[k];
            return;
          }
          Inst*& element = any(array());
          element = chance(50) ? any(now_.scalars) : odd_ && chance(10) ? any(array()) : builder_->i32(below(9));
        }
        return;
      case 7:
        if (!chance(30)) return;
        any(now_.scalars) =
            builder_->op(Op::xor_, {any(now_.scalars), odd_ && chance(20) && !old_.empty() ? any(old_) : any(array())});
        return;
      default: {
        static constexpr Op kOps[] = {Op::add, Op::sub, Op::xor_, Op::mul};
        Inst*& scalar = any(now_.scalars);
        scalar = builder_->op(kOps[below(std::size(kOps))],
                              {scalar, chance(50) ? builder_->i32(below(9)) : any(now_.scalars)});
        return;
      }
    }
  }

  void statements(unsigned depth) {
    for (unsigned i = 0, count = 2 + below(6); i < count; ++i) {
      const unsigned kind = depth < 3 ? below(10) : 9;
      if (kind == 0) {
        branch(depth);
      } else if (kind == 1 && depth < 2) {
        loop(depth + 1);
      } else {
        statement();
      }
    }
  }

  static std::vector<Array*> all(Values& values) { return {&values.scalars, &values.first, &values.second}; }

  void branch(unsigned depth) {
    Block* then = function_->add_block();
    Block* other = chance(50) ? function_->add_block() : nullptr;
    Block* join = function_->add_block();
    Inst* bit = builder_->op(Op::and_, {any(now_.scalars), builder_->i32(1)});
    builder_->cond_br(builder_->icmp(ICmp::ne, bit, builder_->i32(0)), then, other != nullptr ? other : join);
    const Array old = old_;
    const Values before = now_;
    builder_->set_block(then);
    statements(depth + 1);
    builder_->br(join);
    Values one = now_;
    now_ = before;
    old_ = old;
    if (other != nullptr) {
      builder_->set_block(other);
      statements(depth + 1);
      builder_->br(join);
    }
    old_ = old;
    const bool then_first = other != nullptr;
    builder_->set_block(join);
    const std::vector<Array*> mine = all(now_), theirs = all(one);
    for (size_t i = 0; i < mine.size(); ++i) {
      for (size_t k = 0; k < mine[i]->size(); ++k) {
        Inst* a = (*mine[i])[k];
        Inst* b = (*theirs[i])[k];
        if (then_first) std::swap(a, b);
        if (a != b) (*mine[i])[k] = builder_->op_typed(Op::phi, kI32, {a, b});
      }
    }
  }

  void loop(unsigned depth) {
    Block* header = function_->add_block();
    Block* behind = function_->add_block();
    Inst* none = builder_->i32(0);
    builder_->br(header);
    builder_->set_block(header);
    std::vector<Inst*> phis;
    for (Array* array : all(now_))
      for (Inst*& value : *array) phis.push_back(value = builder_->op_typed(Op::phi, kI32, {value}));
    old_.clear();
    Inst* round = builder_->op_typed(Op::phi, kI32, {none});
    statements(depth);
    Inst* next = builder_->op(Op::add, {round, builder_->i32(1)});
    builder_->cond_br(builder_->icmp(ICmp::ult, next, builder_->i32(2 + below(3))), header, behind);
    const auto close = [](Inst* phi, Inst* value) {
      phi->operands.push_back(value);
      value->users.push_back(phi);
    };
    size_t i = 0;
    for (Array* array : all(now_))
      for (Inst* value : *array) close(phis[i++], value);
    close(round, next);
    builder_->set_block(behind);
    old_.clear();
  }

  std::mt19937_64 random_;
  bool odd_ = false;
  std::unique_ptr<Function> function_;
  std::unique_ptr<Builder> builder_;
  Values now_;
  Array old_;  // elements of the first array as they were
};

std::vector<std::string> events_of(const Function& function, uint64_t seed) {
  const auto result = interpret(function, 0, seed, uint64_t{1} << 24);
  if (!result) return {"error: " + result.error().message};
  return result->events;
}

TEST(RegisterArrays, HoldTheSameInTheFrame) {
  const char* text = std::getenv("WAVEJIT_REGISTER_ARRAY_SEEDS");
  const uint64_t count = text != nullptr ? std::strtoull(text, nullptr, 0) : 1500;
  const auto passes = pipeline();
  const auto pass = std::ranges::find(passes, "register-arrays", &Pass::name);
  ASSERT_NE(pass, passes.end());
  size_t moved = 0, refused = 0;
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const auto function = ArrayMaker(seed).make();
    ASSERT_EQ(verify(*function), "") << "seed " << seed;
    constexpr uint64_t kRuns = 3;
    std::vector<std::vector<std::string>> expected;
    for (uint64_t run = 0; run < kRuns; ++run) expected.push_back(events_of(*function, seed + run));
    ASSERT_FALSE(expected[0][0].starts_with("error")) << "seed " << seed << ": " << expected[0][0];
    const std::string before = print(*function);
    if (!pass->run(*function, {}).changed) {
      ++refused;
      continue;
    }
    ++moved;
    ASSERT_EQ(verify(*function), "") << "seed " << seed << "\n" << before;
    for (uint64_t run = 0; run < kRuns; ++run)
      ASSERT_EQ(events_of(*function, seed + run), expected[run]) << "seed " << seed << "\n"
                                                                 << before << print(*function);
  }
  EXPECT_GT(moved, count / 6);
  EXPECT_GT(refused, count / 20);
}

}  // namespace
}  // namespace wavejit::ir
