// MIMG: calls (ir/calls.def).
#include <bit>

#include "frontend/lift/handlers.h"
#include "frontend/lift/memory.h"
#include "ir/call_shape.h"

namespace wavejit::lift {
namespace {

namespace flag = ir::image_flag;
using ir::Call;

ir::CallShape shape_of(Context& c, uint8_t flags) {
  const Instruction& inst = *c.inst;
  ir::CallShape shape;
  shape.count = inst.dmask == 0 ? 1 : inst.dmask;
  shape.image = flags;
  shape.d16 = inst.d16;
  shape.packed = c.gfx9_plus();
  shape.array = inst.da;
  shape.unnormalized = inst.unorm;
  shape.a16 = inst.a16;
  shape.gfx9_image = c.gfx9_plus();
  return shape;
}

// Mask, image descriptor (half of it zeros with R128), sampler.
std::vector<Inst*> descriptors(Context& c) {
  std::vector<Inst*> operands{c.exec()};
  const unsigned srd = c.operand(Slot::srsrc).reg;
  for (unsigned i = 0; i < 8; ++i) operands.push_back(i >= 4 && c.inst->r128 ? c.b.i32(0) : c.ssa.read32(srd + i));
  if (const Operand* sampler = c.inst->find(Slot::ssamp))
    for (unsigned i = 0; i < 4; ++i) operands.push_back(c.ssa.read32(sampler->reg + i));
  return operands;
}

// How many registers the address can have is in the descriptor: as many as any image has, which is a position in a 3D
// image or an array and what `flags` adds.
unsigned most_registers(uint8_t flags) {
  const auto more = static_cast<unsigned>(std::popcount(static_cast<unsigned>(flags & ~flag::kLodZero)));
  return 3 + more + ((flags & flag::kDerivatives) != 0 ? 5 : 0);
}
void add_address(Context& c, std::vector<Inst*>& operands, unsigned most) {
  const unsigned first = first_row(c.operand(Slot::vaddr));
  for (unsigned i = 0; i < most && first + i < kNumVgprs; ++i) operands.push_back(c.ssa.read_row(first + i));
}

unsigned register_count(const ir::CallShape& shape, unsigned components) {
  return shape.d16 && shape.packed ? (components + 1) / 2 : components;
}

void write_results(Context& c, Call call, const ir::CallShape& shape, std::vector<Inst*> operands, unsigned count) {
  const ir::Type type{ir::TypeKind::v32, static_cast<uint8_t>(count)};
  Inst* loaded = c.b.op_typed(Op::call, type, std::move(operands), static_cast<uint32_t>(call), shape.pack());
  const Operand& dst = c.operand(Slot::vdata);
  Inst* mask = c.exec();
  for (unsigned i = 0; i < count; ++i) c.set_row(dst, i, count == 1 ? loaded : c.b.extract(loaded, i), mask);
  if (c.inst->tfe) c.set_row(dst, count, c.v(0), mask);
}

template <uint8_t kFlags, bool kRaw = false, bool kSigned = false>
void image_load(Context& c) {
  ir::CallShape shape = shape_of(c, kFlags);
  shape.wide = kRaw;
  shape.offen = kSigned;
  std::vector<Inst*> operands = descriptors(c);
  add_address(c, operands, most_registers(kFlags));
  write_results(c, Call::image_load, shape, std::move(operands),
                register_count(shape, static_cast<unsigned>(std::popcount(shape.count))));
}

template <uint8_t kFlags, bool kRaw = false>
void image_store(Context& c) {
  ir::CallShape shape = shape_of(c, kFlags);
  shape.wide = kRaw;
  std::vector<Inst*> operands = descriptors(c);
  const unsigned rows = register_count(shape, static_cast<unsigned>(std::popcount(shape.count)));
  for (unsigned i = 0; i < rows; ++i) operands.push_back(c.row(c.operand(Slot::vdata), i));
  add_address(c, operands, most_registers(kFlags));
  c.b.op_typed(Op::call, ir::kNone, std::move(operands), static_cast<uint32_t>(Call::image_store), shape.pack());
}

template <ir::AtomicOp kOp, ir::AtomicOp kWideOp = kOp>
void image_atomic(Context& c) {
  const Operand& data = c.operand(Slot::vdata);
  constexpr bool kCompares = ir::has_two_operands(kOp);
  ir::CallShape shape = shape_of(c, 0);
  shape.wide = data.dwords == (kCompares ? 4 : 2);
  shape.atomic = static_cast<uint8_t>(shape.wide ? kWideOp : kOp);
  const unsigned dwords = shape.wide ? 2 : 1;
  std::vector<Inst*> operands = descriptors(c);
  for (unsigned i = 0; i < dwords * (kCompares ? 2 : 1); ++i) operands.push_back(c.row(data, i));
  add_address(c, operands, most_registers(0));
  const bool returns = c.inst->glc;
  const ir::Type type = returns ? ir::Type{ir::TypeKind::v32, static_cast<uint8_t>(dwords)} : ir::kNone;
  Inst* old =
      c.b.op_typed(Op::call, type, std::move(operands), static_cast<uint32_t>(Call::image_atomic), shape.pack());
  if (!returns) return;
  Inst* mask = c.exec();
  for (unsigned i = 0; i < dwords; ++i) c.set_row(data, i, dwords == 1 ? old : c.b.extract(old, i), mask);
}

void resource_info(Context& c) {
  const ir::CallShape shape = shape_of(c, 0);
  std::vector<Inst*> operands = descriptors(c);
  add_address(c, operands, 1);
  write_results(c, Call::image_resinfo, shape, std::move(operands),
                register_count(shape, static_cast<unsigned>(std::popcount(shape.count))));
}

template <uint8_t kFlags, Call kCall>
void sample(Context& c) {
  const ir::CallShape shape = shape_of(c, kFlags);
  std::vector<Inst*> operands = descriptors(c);
  add_address(c, operands, most_registers(kFlags));
  const unsigned components = kCall == Call::image_gather ? 4 : static_cast<unsigned>(std::popcount(shape.count));
  write_results(c, kCall, shape, std::move(operands), register_count(shape, components));
}

}  // namespace

void add_mimg(HandlerTable& t) {
  t.add(Opcode::image_load, image_load<0>);
  t.add(Opcode::image_load_mip, image_load<flag::kMip>);
  t.add(Opcode::image_load_pck, image_load<0, true>);
  t.add(Opcode::image_load_pck_sgn, image_load<0, true, true>);
  t.add(Opcode::image_load_mip_pck, image_load<flag::kMip, true>);
  t.add(Opcode::image_load_mip_pck_sgn, image_load<flag::kMip, true, true>);
  t.add(Opcode::image_store, image_store<0>);
  t.add(Opcode::image_store_mip, image_store<flag::kMip>);
  t.add(Opcode::image_store_pck, image_store<0, true>);
  t.add(Opcode::image_store_mip_pck, image_store<flag::kMip, true>);
  t.add(Opcode::image_get_resinfo, resource_info);
  t.add(Opcode::image_atomic_swap, image_atomic<ir::AtomicOp::swap>);
  t.add(Opcode::image_atomic_cmpswap, image_atomic<ir::AtomicOp::cmpswap>);
  t.add(Opcode::image_atomic_add, image_atomic<ir::AtomicOp::add>);
  t.add(Opcode::image_atomic_sub, image_atomic<ir::AtomicOp::sub>);
  t.add(Opcode::image_atomic_smin, image_atomic<ir::AtomicOp::smin>);
  t.add(Opcode::image_atomic_umin, image_atomic<ir::AtomicOp::umin>);
  t.add(Opcode::image_atomic_smax, image_atomic<ir::AtomicOp::smax>);
  t.add(Opcode::image_atomic_umax, image_atomic<ir::AtomicOp::umax>);
  t.add(Opcode::image_atomic_and, image_atomic<ir::AtomicOp::and_>);
  t.add(Opcode::image_atomic_or, image_atomic<ir::AtomicOp::or_>);
  t.add(Opcode::image_atomic_xor, image_atomic<ir::AtomicOp::xor_>);
  t.add(Opcode::image_atomic_inc, image_atomic<ir::AtomicOp::inc>);
  t.add(Opcode::image_atomic_dec, image_atomic<ir::AtomicOp::dec>);
  // GFX6 and GFX7.
  t.add(Opcode::image_atomic_rsub, image_atomic<ir::AtomicOp::rsub>);
  t.add(Opcode::image_atomic_fcmpswap, image_atomic<ir::AtomicOp::fcmpswap_f32, ir::AtomicOp::fcmpswap_f64>);
  t.add(Opcode::image_atomic_fmin, image_atomic<ir::AtomicOp::fmin_f32, ir::AtomicOp::fmin_f64>);
  t.add(Opcode::image_atomic_fmax, image_atomic<ir::AtomicOp::fmax_f32, ir::AtomicOp::fmax_f64>);
  t.add(Opcode::image_sample, sample<0, Call::image_sample>);
#define WAVEJIT_SAMPLE(name, flags)                                                            \
  t.add(Opcode::image_sample_##name, sample<flags, Call::image_sample>);                       \
  t.add(Opcode::image_sample_c_##name, sample<(flags) | flag::kCompare, Call::image_sample>);  \
  t.add(Opcode::image_sample_##name##_o, sample<(flags) | flag::kOffset, Call::image_sample>); \
  t.add(Opcode::image_sample_c_##name##_o, sample<(flags) | flag::kCompare | flag::kOffset, Call::image_sample>);
  WAVEJIT_SAMPLE(l, flag::kLod)
  WAVEJIT_SAMPLE(lz, flag::kLodZero)
  WAVEJIT_SAMPLE(d, flag::kDerivatives)
  WAVEJIT_SAMPLE(cd, flag::kDerivatives)
#undef WAVEJIT_SAMPLE
#define WAVEJIT_GATHER(name, flags)                                                             \
  t.add(Opcode::image_gather4_##name, sample<flags, Call::image_gather>);                       \
  t.add(Opcode::image_gather4_c_##name, sample<(flags) | flag::kCompare, Call::image_gather>);  \
  t.add(Opcode::image_gather4_##name##_o, sample<(flags) | flag::kOffset, Call::image_gather>); \
  t.add(Opcode::image_gather4_c_##name##_o, sample<(flags) | flag::kCompare | flag::kOffset, Call::image_gather>);
  WAVEJIT_GATHER(l, flag::kLod)
  WAVEJIT_GATHER(lz, flag::kLodZero)
#undef WAVEJIT_GATHER
}

}  // namespace wavejit::lift
