#include "random_function.h"

#include <algorithm>
#include <map>
#include <random>

#include "ir/builder.h"
#include "ir/signature.h"

namespace wavejit::ir::test {
namespace {

class Generator {
 public:
  Generator(uint64_t seed, unsigned size)
      : random_(seed), function_(std::make_unique<Function>("random")), b_(*function_), budget_(size) {}

  std::unique_ptr<Function> run() {
    const unsigned entries = 1 + pick(2);
    for (unsigned entry = 0; entry < entries; ++entry) {
      new_entry();
      read_state();
      body(budget_, 0);
      write_state();
      b_.exit(chance(50) ? ExitReason::kEnd : ExitReason::kTrap, 0x42);
    }
    return std::move(function_);
  }

 private:
  using Pool = std::map<int, std::vector<Inst*>>;

  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  bool chance(unsigned percent) { return pick(100) < percent; }

  void add(Inst* inst) {
    if (!inst->type.is_tuple() && inst->type != kNone) pool_[static_cast<int>(inst->type.kind)].push_back(inst);
  }
  void emit(Op op, std::initializer_list<Inst*> operands, uint32_t attr = 0, uint64_t imm = 0) {
    add(b_.op(op, operands, attr, imm));
  }

  // Recent values are preferred: that is what makes chains.
  Inst* any(Type type) {
    std::vector<Inst*>& values = pool_[static_cast<int>(type.kind)];
    if (values.empty() || chance(12)) {
      Inst* constant = b_.constant(type, interesting());
      if (values.empty()) values.push_back(constant);
      return constant;
    }
    if (chance(60)) return values[values.size() - 1 - pick(static_cast<unsigned>(std::min<size_t>(values.size(), 6)))];
    return values[pick(static_cast<unsigned>(values.size()))];
  }
  uint64_t interesting() {
    static constexpr uint64_t kValues[] = {
        0,          1,          2,          3,           4,     8,      16,
        31,         32,         63,         64,          0xff,  0xffff, 7,
        0x7fffffff, 0x80000000, 0xffffffff, ~0ull << 32, ~0ull, 5,      0x8000000000000000};
    return chance(80) ? kValues[pick(std::size(kValues))] : random_();
  }
  Type integer() {
    static constexpr Type kTypes[] = {kI32, kI64, kV32, kV32, kV64};
    return kTypes[pick(5)];
  }

  void read_state() {
    for (unsigned i = 0; i < 4; ++i) add(b_.op_typed(Op::get_sgpr, kI32, {}, 0, i));
    for (unsigned i = 0; i < 4; ++i) add(b_.op_typed(Op::get_vgpr, kV32, {}, 0, i));
    add(b_.op_typed(Op::get_sgpr64, kI64, {}, 0, 10));
    add(b_.op_typed(Op::get_mask, kMask, {}, 0, 106));
    exec_ = b_.op_typed(Op::get_mask, kMask, {}, 0, 126);
    add(exec_);
    add(b_.op(Op::lane_id, {}));
  }
  void write_state() {
    for (unsigned i = 0; i < 3; ++i) b_.op_typed(Op::set_sgpr, kNone, {any(kI32)}, 0, i);
    for (unsigned i = 0; i < 2; ++i) b_.op_typed(Op::set_vgpr, kNone, {any(kV32)}, 0, i);
    b_.op_typed(Op::set_sgpr64, kNone, {any(kI64)}, 0, 10);
    b_.op_typed(Op::set_mask, kNone, {any(kMask)}, 0, 106);
    b_.op_typed(Op::set_scc, kNone, {any(kI1)});
    store();
  }

  uint64_t new_entry() {
    Block* block = function_->add_block();
    function_->entries.push_back({0x1000 + 4 * function_->entries.size(), block});
    b_.set_block(block);
    pool_.clear();
    return function_->entries.back().guest_pc;
  }

  // s_barrier: registers are saved, the unit is left, and entered again with only them; or the barrier is passed by.
  void barrier() {
    Block* here = b_.block();
    const Pool before = pool_;
    Inst* const exec_before = exec_;
    Inst* condition = any(kI1);
    std::vector<Inst*> rows;
    for (unsigned i = 0; i < 4; ++i) rows.push_back(any(kV32));
    Inst* scalar = any(kI32);
    const bool passable = chance(50);
    // An unchanged EXEC need not be saved; otherwise the code behind sees an older one, which is as good for a test.
    const bool save_exec = chance(60);
    Block* leave = passable ? function_->add_block() : here;
    b_.set_block(leave);
    for (unsigned i = 0; i < rows.size(); ++i) b_.op_typed(Op::set_vgpr, kNone, {rows[i]}, 0, 4 + i);
    b_.op_typed(Op::set_sgpr, kNone, {scalar}, 0, 4);
    if (save_exec) b_.op_typed(Op::set_mask, kNone, {exec_before}, 0, 126);
    Block* const saved = b_.block();
    const uint64_t pc = new_entry();
    Block* const resumed = b_.block();
    b_.set_block(saved);
    b_.exit(chance(80) ? ExitReason::kBarrier : ExitReason::kYield, pc);
    b_.set_block(resumed);
    std::vector<Inst*> read;
    for (unsigned i = 0; i < rows.size(); ++i) read.push_back(b_.op_typed(Op::get_vgpr, kV32, {}, 0, 4 + i));
    Inst* scalar_read = b_.op_typed(Op::get_sgpr, kI32, {}, 0, 4);
    Inst* exec_read = b_.op_typed(Op::get_mask, kMask, {}, 0, 126);
    if (!passable) {
      for (Inst* inst : read) {
        if (chance(70)) add(inst);
      }
      add(scalar_read);
      exec_ = exec_read;
      add(exec_);
      return;
    }
    Block* on = function_->add_block();
    b_.br(on);
    b_.set_block(here);
    b_.cond_br(condition, leave, on);
    b_.set_block(on);
    // Predecessors: the resumed block, then the block that passed by.
    for (unsigned i = 0; i < rows.size(); ++i) add(b_.op_typed(Op::phi, kV32, {read[i], rows[i]}));
    add(b_.op_typed(Op::phi, kI32, {scalar_read, scalar}));
    exec_ = b_.op_typed(Op::phi, kMask, {exec_read, exec_before});
    add(exec_);
  }

  void body(unsigned size, unsigned depth) {
    while (size > 0) {
      const unsigned roll = pick(100);
      if (roll < 4 && depth < 3 && size > 6) {
        branch(size / 2, depth);
        size -= size / 2;
      } else if (roll < 8 && depth < 2 && size > 6) {
        loop(size / 2, depth);
        size -= size / 2;
      } else if (roll < 12 && size > 6) {
        predicated(size / 2, depth);
        size -= size / 2;
      } else if (roll == 12 && depth == 0) {
        barrier();
        --size;
      } else {
        statement();
        --size;
      }
    }
  }

  // v = EXEC ? new : old, the lifter's form of every vector register write.
  void masked_write(Inst* value) { add(b_.select(exec_, value, any(value->type))); }

  void statement() {
    switch (pick(19)) {
      case 0:
      case 1:
      case 2: {
        static constexpr Op kBinary[] = {Op::add,  Op::sub,  Op::mul,  Op::and_, Op::or_,  Op::xor_,
                                         Op::andn, Op::shl,  Op::lshr, Op::ashr, Op::smin, Op::smax,
                                         Op::umin, Op::umax, Op::add,  Op::add,  Op::and_};
        const Type type = integer();
        Inst* value = b_.op(kBinary[pick(std::size(kBinary))], {any(type), any(type)});
        if (type.is_vector() && chance(50)) return masked_write(value);
        return add(value);
      }
      case 3: {
        static constexpr Op kUnary[] = {Op::not_, Op::sabs, Op::popcount, Op::ctz, Op::clz, Op::bitrev};
        return emit(kUnary[pick(std::size(kUnary))], {any(integer())});
      }
      case 4: {
        const Type type = chance(50) ? kMask : kI1;
        static constexpr Op kBits[] = {Op::and_, Op::or_, Op::xor_, Op::andn};
        if (chance(15)) return emit(Op::not_, {any(type)});
        return emit(kBits[pick(4)], {any(type), chance(40) && type == kMask ? exec_ : any(type)});
      }
      case 5: {
        const Type type = integer();
        Inst* value = b_.icmp(static_cast<ICmp>(pick(10)), any(type), any(type));
        return add(value->type == kMask && chance(70) ? b_.op(Op::and_, {exec_, value}) : value);
      }
      case 6: {
        const Type type = integer();
        return add(b_.select(any(type.is_vector() && chance(70) ? kMask : kI1), any(type), any(type)));
      }
      case 7:
        return wide_arithmetic();
      case 8: {
        const bool vector = chance(60);
        if (chance(40)) return emit(Op::pack64, {any(vector ? kV32 : kI32), any(vector ? kV32 : kI32)});
        Inst* wide = any(vector ? kV64 : kI64);
        if (chance(50)) return emit(chance(50) ? Op::lo32 : Op::hi32, {wide});
        return emit(Op::pack64, {b_.op(Op::lo32, {wide}), b_.op(Op::hi32, {wide})});
      }
      case 9:
        return emit(chance(50) ? Op::zext64 : Op::sext64, {any(chance(60) ? kV32 : kI32)});
      case 10: {
        static constexpr Op kOps[] = {Op::splat,    Op::splat64,  Op::splat_mask, Op::mask_to_i64, Op::i64_to_mask,
                                      Op::mask_any, Op::mask_all, Op::zext_i1,    Op::mbcnt};
        static constexpr Type kFrom[] = {kI32, kI64, kI1, kMask, kI64, kMask, kMask, kI1, kMask};
        const unsigned i = pick(std::size(kOps));
        return emit(kOps[i], {any(kFrom[i])});
      }
      case 11: {
        static constexpr Op kOps[] = {Op::bfe_u, Op::bfe_s, Op::bfi};
        const Type type = integer();
        return emit(kOps[pick(3)], {any(type), any(type), any(type)});
      }
      case 12: {
        const Type type = chance(60) ? kV32 : kI32;
        static constexpr Op kOps[] = {Op::mulhi_u, Op::mulhi_s, Op::mul_wide_u, Op::mul_wide_s};
        if (chance(60)) return emit(kOps[pick(4)], {any(type), any(type)});
        return emit(chance(50) ? Op::alignbit : Op::perm, {any(type), any(type), any(type)});
      }
      case 13:
        return cross_lane();
      case 14: {
        static constexpr Op kOps[] = {Op::fadd_f32, Op::fmul_f32, Op::pk_add, Op::pk_ashr, Op::pk_umin};
        if (chance(30)) return add(b_.op(Op::fcmp_f32, {any(kV32), any(kV32)}, pick(16) << fpenv::kFCmpShift | 0xc));
        if (chance(30)) return masked_write(b_.op(Op::fma_f64, {any(kV64), any(kV64), any(kV64)}));
        return masked_write(b_.op(kOps[pick(std::size(kOps))], {any(kV32), any(kV32)}));
      }
      case 15:
        return load();
      case 16:
        return store();
      case 17: {
        const Type type = chance(50) ? kMask : kI1;
        return add(b_.select(any(kI1), any(type), any(type)));
      }
      default: {
        Inst* v = any(kV32);
        return masked_write(b_.op(Op::add, {v, b_.v32(static_cast<uint32_t>(interesting()))}));
      }
    }
  }

  // Additions and subtractions of register pairs, as the ISA's carry instructions do them.
  void wide_arithmetic() {
    const bool vector = chance(60);
    const Type half = vector ? kV32 : kI32;
    Inst* none = b_.constant(vector ? kMask : kI1, 0);
    Inst* a0 = any(half);
    Inst* a1 = any(half);
    Inst* b0 = any(half);
    Inst* b1 = any(half);
    if (chance(60)) {
      Inst* wide = any(vector ? kV64 : kI64);
      a0 = b_.op(Op::lo32, {wide});
      a1 = b_.op(Op::hi32, {wide});
    }
    const bool subtract = chance(30);
    Inst* lo = b_.op(subtract ? Op::sub : Op::add, {a0, b0});
    Inst* carry = b_.op(subtract ? Op::subb_borrow : Op::addc_carry, {a0, b0, none});
    if (vector && chance(70)) carry = b_.op(Op::and_, {exec_, carry});
    Inst* hi = b_.op(subtract ? Op::subb : Op::addc, {a1, b1, carry});
    if (vector && chance(50)) {
      lo = b_.select(exec_, lo, a0);
      hi = b_.select(exec_, hi, a1);
    }
    add(lo);
    add(hi);
    add(carry);
    emit(Op::pack64, {lo, hi});
  }

  void cross_lane() {
    switch (pick(7)) {
      case 0:
        return emit(Op::readlane, {any(kV32), any(kI32)});
      case 1:
        return emit(Op::readfirstlane, {any(kV32), chance(60) ? exec_ : any(kMask)});
      case 2:
        return emit(Op::writelane, {any(kV32), any(kI32), any(kI32)});
      case 3:
        return emit(chance(50) ? Op::bpermute : Op::permute, {any(kV32), any(kV32), exec_}, 0, pick(3) * 4);
      case 4:
        return emit(Op::dpp, {any(kV32), chance(60) ? exec_ : any(kMask)}, pick(512));
      case 5:
        return emit(Op::dpp_valid, {any(kMask)}, pick(512));
      default:
        return emit(Op::swizzle, {any(kV32), exec_}, pick(65536));
    }
  }

  std::vector<Inst*> address(MemAttr& mem) {
    Inst* mask = chance(70) ? exec_ : any(kMask);
    mem.imm = chance(50) ? static_cast<int64_t>(pick(64)) * 4 - 64 : 0;
    switch (pick(5)) {
      case 0:
        mem.space = Space::lds;
        mem.form = AddressForm::lds_offset;
        return {mask, any(kV32)};
      case 1:
        mem.space = Space::scratch;
        mem.form = AddressForm::scratch_off;
        return {mask, any(kI64), chance(50) ? b_.v32(pick(64) * 4) : any(kV32)};
      case 2:
        mem.space = Space::global;
        mem.form = AddressForm::base_offset;
        return {mask, any(kI64), any(kV32)};
      default: {
        mem.space = chance(80) ? Space::global : Space::flat;
        mem.form = AddressForm::vector64;
        if (chance(50)) return {mask, any(kV64)};
        // A base pointer plus something per lane, as compilers index arrays.
        Inst* index = any(kV32);
        if (chance(40)) index = b_.op(Op::and_, {index, b_.v32(0xffff)});
        Inst* wide = b_.op(chance(60) ? Op::zext64 : Op::sext64, {index});
        if (chance(60)) wide = b_.op(Op::shl, {wide, b_.v64(pick(4))});
        if (chance(40)) wide = b_.op(Op::add, {wide, b_.v64(interesting())});
        return {mask, b_.op(Op::add, {b_.op(Op::splat64, {any(kI64)}), wide})};
      }
    }
  }
  void load() {
    MemAttr mem;
    const std::vector<Inst*> operands = address(mem);
    mem.count = static_cast<uint8_t>(1 + pick(3));
    mem.bytes = chance(70) ? 4 : static_cast<uint8_t>(1 + pick(2));
    mem.sign_extend = mem.bytes < 4 && chance(50);
    Inst* loaded = b_.load(Type{TypeKind::v32, mem.count}, mem, operands);
    if (mem.count == 1) return masked_write(loaded);
    for (unsigned i = 0; i < mem.count; ++i) masked_write(b_.extract(loaded, i));
  }
  void store() {
    MemAttr mem;
    std::vector<Inst*> operands = address(mem);
    mem.count = static_cast<uint8_t>(1 + pick(2));
    for (unsigned i = 0; i < mem.count; ++i) operands.push_back(any(kV32));
    if (chance(20)) {
      mem.count = 1;
      operands.resize(1 + address_operands(mem.form) + 1);
      mem.atomic_op = AtomicOp::add;
      Inst* old = b_.atomic(chance(50) ? kV32 : kNone, mem, operands);
      return add(old);
    }
    b_.store(mem, operands);
  }

  // s_and_saveexec ... s_or, without a branch; sometimes with an else part.
  void predicated(unsigned size, unsigned depth) {
    Inst* saved = exec_;
    Inst* condition = any(kMask);
    const bool through_numbers = chance(50);
    Inst* kept = saved;
    if (through_numbers) {
      Inst* number = b_.op(Op::mask_to_i64, {saved});
      Inst* lo = b_.op(Op::lo32, {number});
      Inst* hi = b_.op(Op::hi32, {number});
      kept = b_.op(Op::i64_to_mask, {b_.op(Op::pack64, {lo, hi})});
    }
    exec_ = b_.op(Op::and_, {saved, condition});
    add(exec_);
    body(size / 2, depth + 1);
    if (chance(50)) {
      exec_ = chance(50) ? b_.op(Op::andn, {saved, exec_}) : b_.op(Op::xor_, {kept, exec_});
      add(exec_);
      body(size / 2, depth + 1);
    }
    exec_ = b_.op(Op::or_, {exec_, kept});
    add(exec_);
  }

  // Merges some values of two ways into phis of the current block, whose operands are (a, b).
  void merge(const Pool& a, const Pool& b, Inst* exec_a, Inst* exec_b) {
    std::vector<std::pair<Inst*, Inst*>> pairs;
    for (const auto& [kind, values] : a) {
      const auto it = b.find(kind);
      if (it == b.end() || values.empty() || it->second.empty()) continue;
      for (unsigned i = 0; i < 1 + pick(3); ++i) {
        pairs.emplace_back(values[pick(static_cast<unsigned>(values.size()))],
                           it->second[pick(static_cast<unsigned>(it->second.size()))]);
      }
    }
    for (auto [x, y] : pairs) add(b_.op_typed(Op::phi, x->type, {x, y}));
    exec_ = b_.op_typed(Op::phi, kMask, {exec_a, exec_b});
    add(exec_);
  }

  void branch(unsigned size, unsigned depth) {
    Inst* saved = exec_;
    Inst* condition = any(kI1);
    if (chance(50)) {
      exec_ = b_.op(Op::and_, {exec_, any(kMask)});
      condition = b_.op(Op::mask_any, {exec_});
    }
    Inst* exec_in = exec_;
    Block* then_block = function_->add_block();
    Block* join = function_->add_block();
    const Pool before = pool_;
    const bool has_else = chance(50);
    Block* else_block = has_else ? function_->add_block() : join;
    b_.cond_br(condition, then_block, else_block);
    Pool other = before;
    Inst* exec_other = exec_in;
    if (has_else) {
      b_.set_block(else_block);
      body(size / 2, depth + 1);
      other = pool_;
      exec_other = exec_;
      b_.br(join);
      pool_ = before;
      exec_ = exec_in;
    }
    b_.set_block(then_block);
    body(size / 2, depth + 1);
    b_.br(join);
    const Pool taken = pool_;
    Inst* exec_taken = exec_;
    pool_ = before;
    b_.set_block(join);
    merge(other, taken, exec_other, exec_taken);
    if (chance(60)) exec_ = b_.op(Op::or_, {exec_, saved});
    add(exec_);
  }

  void loop(unsigned size, unsigned depth) {
    Block* header = function_->add_block();
    b_.br(header);
    std::vector<std::pair<Inst*, Type>> phis;
    std::vector<Inst*> initial;
    for (const Type type : {kV32, kV32, kV32, kI32, kI64, kMask, kV64}) {
      if (chance(60)) initial.push_back(any(type));
    }
    // Constants were appended after the branch; they belong in front of it.
    fix_terminator(header);
    b_.set_block(header);
    Inst* entry_exec = exec_;
    std::vector<Inst*> created;
    const auto phi = [&](Inst* first) {
      Inst* inst = function_->create(Op::phi, first->type, {first});
      function_->append(header, inst);
      created.push_back(inst);
      return inst;
    };
    Inst* count = phi(counter_start_);
    for (Inst* first : initial) add(phi(first));
    exec_ = phi(entry_exec);
    add(exec_);
    Inst* exec_phi = exec_;
    // Halves of a pair that go around the loop separately.
    body(size, depth + 1);
    const bool divergent = chance(50);
    Inst* next_count = b_.op(Op::add, {count, b_.i32(1)});
    Inst* again = b_.icmp(ICmp::ult, next_count, b_.i32(1 + pick(3)));
    if (divergent) {
      exec_ = b_.op(Op::andn, {exec_, any(kMask)});
      add(exec_);
      again = b_.op(Op::and_, {again, b_.op(Op::mask_any, {exec_})});
    }
    Block* after = function_->add_block();
    for (Inst* inst : created) {
      Inst* next = inst == count ? next_count : inst == exec_phi ? exec_ : any(inst->type);
      inst->operands.push_back(next);
      next->users.push_back(inst);
    }
    b_.cond_br(again, header, after);
    b_.set_block(after);
    if (chance(60)) exec_ = b_.op(Op::or_, {exec_, entry_exec});
    add(exec_);
  }

  void fix_terminator(Block* header) {
    Block* block = header->predecessors[0];
    const auto branch =
        std::find_if(block->insts.begin(), block->insts.end(), [](const Inst* i) { return i->op == Op::br; });
    Inst* inst = *branch;
    block->insts.erase(branch);
    b_.set_block(block);
    counter_start_ = b_.i32(0);
    block->insts.push_back(inst);
  }

  std::mt19937_64 random_;
  std::unique_ptr<Function> function_;
  Builder b_;
  unsigned budget_;
  Pool pool_;
  Inst* exec_ = nullptr;
  Inst* counter_start_ = nullptr;
};

}  // namespace

std::unique_ptr<Function> random_function(uint64_t seed, unsigned size) {
  return Generator(seed, size).run();
}

}  // namespace wavejit::ir::test
