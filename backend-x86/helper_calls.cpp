// Calls of out-of-line helpers, with in-line fast paths where the usual operands need no helper.
#include <chrono>

#include "backend-x86/emitter.h"
#include "backend-x86/helpers.h"

namespace wavejit::backend {

using ir::ICmp;
using x86::CondCode;

namespace {
uint64_t steady_clock_100mhz() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) / 10;
}
}  // namespace

// Spills the operands to rows, calls, and loads the result.
void Emitter::call_helper(const Inst& inst) {
  const HelperFn function = find_helper(inst);
  if (function == nullptr) return fail(inst);
  const unsigned row = tile_ * 8;
  const Mem args = scratch_row(helper_args_, sizeof(HelperArgs));
  const Mem rows = scratch_row(helper_rows_, 4 * row);
  const auto field = [&](size_t offset, uint32_t size) {
    Mem m = args.cloneAdjusted(static_cast<int64_t>(offset));
    m.setSize(size);
    return m;
  };
  Gp t = cc_.newUInt64();
  unsigned used = 0;
  for (const Inst* operand : inst.operands) {
    if (operand->type == ir::kMask) {
      cc_.mov(field(offsetof(HelperArgs, mask), 8), mask_to_number(operand));
      continue;
    }
    const Mem slot = rows.cloneAdjusted(used * row);
    for (unsigned c = 0; c < chunks_; ++c) {
      if (operand->type == ir::kV64) {
        isa_->store_row64(slot.cloneAdjusted(c * isa_->bytes() * 2), v64(operand, c));
      } else {
        isa_->store(slot.cloneAdjusted(c * isa_->bytes()), v32(operand, c), nullptr);
      }
    }
    cc_.lea(t, slot);
    cc_.mov(field(offsetof(HelperArgs, in) + used * sizeof(void*), 8), t);
    ++used;
  }
  const Mem out = rows.cloneAdjusted(3 * row);
  cc_.lea(t, out);
  cc_.mov(field(offsetof(HelperArgs, out), 8), t);
  cc_.mov(field(offsetof(HelperArgs, attr), 4), inst.attr);
  const Gp pointer = address_of(args);
  const Gp returned = cc_.newUInt64();
  asmjit::InvokeNode* call = nullptr;
  cc_.invoke(&call, asmjit::imm(reinterpret_cast<uintptr_t>(function)),
             asmjit::FuncSignatureT<uint64_t, const void*>());
  if (call == nullptr) return;  // reported by the error handler
  call->setArg(0, pointer);
  call->setRet(0, returned);
  if (inst.type == ir::kMask) return number_to_mask(returned, inst);
  for (unsigned c = 0; c < chunks_; ++c) {
    if (inst.type == ir::kV64) {
      isa_->load_row64(dst64(inst, c), out.cloneAdjusted(c * isa_->bytes() * 2));
    } else {
      isa_->load(dst(inst, c), out.cloneAdjusted(c * isa_->bytes()), nullptr);
    }
  }
}

// All lanes of f32 values have exponents in the middle of the range, for which no scaling happens anywhere.
CondCode Emitter::test_ordinary32(std::initializer_list<const Inst*> values) {
  std::vector<MaskReg> odd;
  for (unsigned c = 0; c < chunks_; ++c) {
    for (const Inst* value : values) {
      // 2^-40 <= |x| < 2^40
      const Vec magnitude = isa_->and_(v32(value, c), isa_->c32(0x7fffffff));
      const Vec distance = isa_->make(I::kIdVpsubd, magnitude, isa_->c32((127 - 40) << 23));
      odd.push_back(cmp(ICmp::uge, distance, isa_->c32(80 << 23)));
      if (odd.size() == 2) odd = {either(odd[0], odd[1])};
    }
  }
  return isa_->test_any(odd);
}

bool Emitter::emit_out_of_line(const Inst& inst) {
  if (inst.op == Op::fence) return cc_.mfence(), true;
  if (inst.op == Op::clock) {
    if (inst.attr == 0) {
      Gp low = cc_.newUInt64(), high = cc_.newUInt64();
      cc_.rdtsc(high, low);
      cc_.shl(high, 32);
      cc_.or_(low, high);
      cc_.mov(dst_gp(inst), low);
      return true;
    }
    const Gp now = cc_.newUInt64();
    asmjit::InvokeNode* call = nullptr;
    cc_.invoke(&call, asmjit::imm(reinterpret_cast<uintptr_t>(&steady_clock_100mhz)),
               asmjit::FuncSignatureT<uint64_t>());
    if (call != nullptr) call->setRet(0, now);
    cc_.mov(dst_gp(inst), now);
    return true;
  }
  if (find_helper(inst) == nullptr) return false;

  const auto with_fast_path = [&](CondCode needs_helper, auto&& fast) {
    const Label slow = cc_.newLabel(), join = cc_.newLabel();
    cc_.j(needs_helper, slow);
    fast();
    cc_.bind(join);
    cold([&] {
      cc_.bind(slow);
      call_helper(inst);
      cc_.jmp(join);
    });
    return true;
  };
  const auto operand = [&](unsigned i) { return inst.operands[i]; };
  // A result that shares a register with an operand would be overwritten before the helper reads it: never, the fast
  // path is last.
  switch (inst.op) {
    case Op::div_scale_f32:
      return with_fast_path(test_ordinary32({operand(1), operand(2)}), [&] {
        for (unsigned c = 0; c < chunks_; ++c) isa_->mov(dst(inst, c), v32(operand(0), c));
      });
    case Op::div_scale_vcc_f32:
      return with_fast_path(test_ordinary32({operand(1), operand(2)}), [&] {
        for (unsigned c = 0; c < chunks_; ++c) isa_->set_mask_const(dst_mask(inst, c), 0);
      });
    case Op::div_fmas_f32: {
      if (operand(3)->is_const() && operand(3)->imm != 0) break;
      const auto fast = [&] {
        for (unsigned c = 0; c < chunks_; ++c) {
          const Vec r = fma32(v32(operand(0), c), v32(operand(1), c), v32(operand(2), c));
          isa_->mov(dst(inst, c), r);
        }
      };
      if (operand(3)->is_const()) return fast(), true;
      std::vector<MaskReg> scaled;
      for (unsigned c = 0; c < chunks_; ++c) scaled.push_back(mask(operand(3), c));
      return with_fast_path(isa_->test_any(scaled), fast);
    }
    case Op::div_fixup_f32:
      return with_fast_path(test_ordinary32({operand(1), operand(2)}), [&] {
        for (unsigned c = 0; c < chunks_; ++c) {
          const Vec sign = isa_->and_(isa_->xor_(v32(operand(1), c), v32(operand(2), c)), isa_->c32(0x80000000));
          const Vec magnitude = isa_->and_(v32(operand(0), c), isa_->c32(0x7fffffff));
          cc_.emit(isa_->f.or_, dst(inst, c), magnitude, sign);
        }
      });
    default:
      break;
  }
  call_helper(inst);
  return true;
}

}  // namespace wavejit::backend
