// Integer expressions of lane numbers.
#include <random>

#include "ir/builder.h"
#include "random_function.h"

namespace wavejit::ir::test {
namespace {

class Generator {
 public:
  Generator(Function& function, uint64_t seed) : function_(function), random_(seed) {}

  void run() {
    Block* start = function_.add_block(0x100);
    function_.entries.push_back({0x100, start});
    Block* loop = function_.add_block(0x200);
    Block* end = function_.add_block(0x300);
    Builder b(function_, start);
    narrow_.push_back(b.op(Op::lane_id, {}));
    for (unsigned i = 0; i < 3; ++i) narrow_.push_back(b.op(Op::splat, {scalar(b)}));
    for (unsigned i = 0; i < 12; ++i) step(b);
    // Counters and addresses that move on.
    Inst* zero = b.constant(kI32, 0);
    Inst* first = narrow_[random_() % narrow_.size()];
    Inst* by = b.constant(kV32, uint64_t{1} << random_() % 9);
    b.br(loop);
    b.set_block(loop);
    Inst* turn = b.op_typed(Op::phi, kI32, {});
    Inst* moving = b.op_typed(Op::phi, kV32, {});
    narrow_.push_back(moving);
    narrow_.push_back(b.op(Op::splat, {turn}));
    for (unsigned i = 0; i < 8; ++i) step(b);
    Inst* next = b.op(Op::add, {turn, b.constant(kI32, 1)});
    Inst* moved = b.op(Op::add, {moving, random_() % 4 != 0 ? by : narrow_[random_() % narrow_.size()]});
    Inst* again = b.op(Op::icmp, {next, b.constant(kI32, 3)}, static_cast<uint32_t>(ICmp::ult));
    b.cond_br(again, loop, end);
    for (Inst* operand : {zero, next}) add_operand(turn, operand);  // predecessors: start, loop
    for (Inst* operand : {first, moved}) add_operand(moving, operand);
    b.set_block(end);
    uint64_t row = 0;
    for (Inst* value : narrow_) {
      b.op(Op::set_vgpr, {value}, 0, row);
      row += 2;
    }
    for (Inst* value : wide_) {
      b.op(Op::set_vgpr, {b.op(Op::lo32, {value})}, 0, row);
      b.op(Op::set_vgpr, {b.op(Op::hi32, {value})}, 0, row + 1);
      row += 2;
    }
    b.exit(ExitReason::kBarrier, 0x400);
  }

 private:
  static void add_operand(Inst* phi, Inst* operand) {
    phi->operands.push_back(operand);
    operand->users.push_back(phi);
  }
  uint64_t choice(uint64_t n) { return random_() % n; }

  Inst* scalar(Builder& b) {
    Inst* value = b.op_typed(Op::get_sgpr, kI32, {}, 0, 4 + choice(8));
    switch (choice(3)) {
      case 0:
        return b.op(Op::shl, {value, b.constant(kI32, choice(9))});
      case 1:
        return b.op(Op::and_, {value, b.constant(kI32, number())});
      default:
        return value;
    }
  }
  uint64_t number() {
    switch (choice(5)) {
      case 0:
        return choice(80);
      case 1:
        return (uint64_t{1} << choice(32)) - 1;
      case 2:
        return ~((uint64_t{1} << choice(7)) - 1) & 0xffffffff;
      case 3:
        return uint64_t{1} << choice(32);
      default:
        return random_() & 0xffffffff;
    }
  }
  Inst* narrow() { return narrow_[choice(3) == 0 ? 0 : choice(narrow_.size())]; }
  Inst* wide(Builder& b) { return wide_.empty() ? b.constant(kV64, random_()) : wide_[choice(wide_.size())]; }

  void step(Builder& b) {
    static constexpr Op kBinary[] = {Op::add,  Op::add,  Op::add,  Op::sub,  Op::mul,  Op::and_, Op::or_,
                                     Op::xor_, Op::andn, Op::umin, Op::umax, Op::smin, Op::smax, Op::mulhi_u};
    static constexpr Op kShift[] = {Op::shl, Op::shl, Op::lshr, Op::lshr, Op::ashr};
    static constexpr Op kMask[] = {Op::and_, Op::and_, Op::andn, Op::or_, Op::xor_, Op::add, Op::mul, Op::sub};
    switch (choice(10)) {
      case 0:
      case 1:
        narrow_.push_back(b.op(kBinary[choice(std::size(kBinary))], {narrow(), narrow()}));
        break;
      case 2:
        narrow_.push_back(b.op(kShift[choice(std::size(kShift))], {narrow(), b.constant(kV32, choice(12))}));
        break;
      case 3:
        narrow_.push_back(b.op(kMask[choice(std::size(kMask))], {narrow(), b.constant(kV32, number())}));
        break;
      case 4: {
        Inst* condition = b.op(Op::icmp, {narrow(), narrow()}, static_cast<uint32_t>(choice(10)));
        narrow_.push_back(b.op(Op::select, {condition, narrow(), narrow()}));
        break;
      }
      case 5:
        narrow_.push_back(b.op(Op::bfe_u, {narrow(), b.constant(kV32, choice(8)), b.constant(kV32, choice(12))}));
        break;
      case 6:
        wide_.push_back(b.op(choice(2) == 0 ? Op::zext64 : Op::sext64, {narrow()}));
        break;
      case 7:
        switch (choice(4)) {
          case 0:
            wide_.push_back(b.op(Op::pack64, {narrow(), narrow()}));
            break;
          case 1:
            wide_.push_back(
                b.op(choice(2) == 0 ? Op::mul_wide_u : Op::mul_wide_s, {narrow(), b.constant(kV32, number())}));
            break;
          default:
            wide_.push_back(b.op(Op::mul_wide_u, {narrow(), narrow()}));
            break;
        }
        break;
      case 8:
        wide_.push_back(b.op(choice(4) == 0 ? Op::sub : Op::add, {wide(b), wide(b)}));
        break;
      default:
        if (choice(2) == 0) {
          wide_.push_back(b.op(kShift[choice(std::size(kShift))], {wide(b), b.constant(kV64, choice(5))}));
        } else {
          narrow_.push_back(b.op(choice(3) == 0 ? Op::hi32 : Op::lo32, {wide(b)}));
        }
        break;
    }
  }

  Function& function_;
  std::mt19937_64 random_;
  std::vector<Inst*> narrow_, wide_;
};

}  // namespace

std::unique_ptr<Function> random_lane_expressions(uint64_t seed) {
  auto function = std::make_unique<Function>("lanes");
  Generator(*function, seed).run();
  return function;
}

}  // namespace wavejit::ir::test
