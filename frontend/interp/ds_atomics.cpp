// Read-modify-write operations on the local data share. One host thread runs a work-group, so they need not be atomic.
#include <bit>

#include "frontend/interp/atomics.h"
#include "frontend/interp/memory.h"

namespace wavejit::interp {
namespace {

// param: AtomicOp. The compare-and-store forms have the compare value in data0 and the new value in data1.
template <typename T, bool returns>
Step atomic(Context& c, const Op& op) {
  if (op.inst.gds) return c.exit(ExitReason::kUnsupported, op);
  const auto kind = static_cast<AtomicOp>(op.param);
  if (kind >= AtomicOp::fadd) c.use(sizeof(T) == 8 ? Env::f64 : Env::f32);
  const bool compare = kind == AtomicOp::cmpswap || kind == AtomicOp::fcmpswap;
  const uint64_t offset = static_cast<uint32_t>(op.inst.offset);
  const uint32_t* addresses = c.row(op.addr_row);
  const uint32_t* data0 = c.row(op.data_row);
  const uint32_t* data1 = op.data1_row != Op::kNone ? c.row(op.data1_row) : data0;
  const uint64_t exec = c.wave.exec();
  T old[kWaveSize];
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const uint64_t address = addresses[l] + offset;
    old[l] = 0;
    if (address + sizeof(T) > c.wave.lds_size) continue;
    T data = lane_value<T>(data0, l), extra = lane_value<T>(data1, l);
    if (compare) std::swap(data, extra);
    old[l] = plain_apply(kind, reinterpret_cast<void*>(c.wave.lds_base + address), data, extra);
  }
  if constexpr (returns) {
    uint32_t* rows = c.row(op.dst_reg);
    for (uint64_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      set_lane_value<T>(rows, l, old[l]);
    }
  }
  return Step::next;
}

// Two exchanges at offset0 and offset1; param: 1, or 64 for the st64 form.
template <typename T>
Step exchange2(Context& c, const Op& op) {
  if (op.inst.gds) return c.exit(ExitReason::kUnsupported, op);
  const unsigned scale = sizeof(T) * op.param;
  const uint64_t offsets[2] = {(static_cast<uint32_t>(op.inst.offset) & 0xff) * scale,
                               (static_cast<uint32_t>(op.inst.offset) >> 8 & 0xff) * scale};
  const uint32_t* addresses = c.row(op.addr_row);
  const uint32_t* data[2] = {c.row(op.data_row), c.row(op.data1_row)};
  const uint64_t exec = c.wave.exec();
  T old[2][kWaveSize];
  // First all lanes' first exchange, then the second.
  for (unsigned i = 0; i < 2; ++i) {
    for (uint64_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      const uint64_t address = addresses[l] + offsets[i];
      old[i][l] = 0;
      if (address + sizeof(T) > c.wave.lds_size) continue;
      old[i][l] = plain_apply<T>(AtomicOp::swap, reinterpret_cast<void*>(c.wave.lds_base + address),
                                 lane_value<T>(data[i], l), T{});
    }
  }
  uint32_t* rows = c.row(op.dst_reg);
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    for (unsigned i = 0; i < 2; ++i) set_lane_value<T>(rows + i * (sizeof(T) / 4) * kWaveSize, l, old[i][l]);
  }
  return Step::next;
}

#define WAVEJIT_DS(name, suffix, T, kind)                                                          \
  r.handler(Opcode::ds_##name##_##suffix, atomic<T, false>, static_cast<uint8_t>(AtomicOp::kind)); \
  r.handler(Opcode::ds_##name##_rtn_##suffix, atomic<T, true>, static_cast<uint8_t>(AtomicOp::kind))

}  // namespace

void register_ds_atomics(Registry& r) {
  WAVEJIT_DS(add, u32, uint32_t, add);
  WAVEJIT_DS(sub, u32, uint32_t, sub);
  WAVEJIT_DS(rsub, u32, uint32_t, rsub);
  WAVEJIT_DS(inc, u32, uint32_t, inc);
  WAVEJIT_DS(dec, u32, uint32_t, dec);
  WAVEJIT_DS(min, i32, uint32_t, smin);
  WAVEJIT_DS(max, i32, uint32_t, smax);
  WAVEJIT_DS(min, u32, uint32_t, umin);
  WAVEJIT_DS(max, u32, uint32_t, umax);
  WAVEJIT_DS(and, b32, uint32_t, band);
  WAVEJIT_DS(or, b32, uint32_t, bor);
  WAVEJIT_DS(xor, b32, uint32_t, bxor);
  WAVEJIT_DS(mskor, b32, uint32_t, mskor);
  WAVEJIT_DS(cmpst, b32, uint32_t, cmpswap);
  WAVEJIT_DS(cmpst, f32, uint32_t, fcmpswap);
  WAVEJIT_DS(min, f32, uint32_t, fmin);
  WAVEJIT_DS(max, f32, uint32_t, fmax);
  WAVEJIT_DS(add, f32, uint32_t, fadd);
  WAVEJIT_DS(add, u64, uint64_t, add);
  WAVEJIT_DS(sub, u64, uint64_t, sub);
  WAVEJIT_DS(rsub, u64, uint64_t, rsub);
  WAVEJIT_DS(inc, u64, uint64_t, inc);
  WAVEJIT_DS(dec, u64, uint64_t, dec);
  WAVEJIT_DS(min, i64, uint64_t, smin);
  WAVEJIT_DS(max, i64, uint64_t, smax);
  WAVEJIT_DS(min, u64, uint64_t, umin);
  WAVEJIT_DS(max, u64, uint64_t, umax);
  WAVEJIT_DS(and, b64, uint64_t, band);
  WAVEJIT_DS(or, b64, uint64_t, bor);
  WAVEJIT_DS(xor, b64, uint64_t, bxor);
  WAVEJIT_DS(mskor, b64, uint64_t, mskor);
  WAVEJIT_DS(cmpst, b64, uint64_t, cmpswap);
  WAVEJIT_DS(cmpst, f64, uint64_t, fcmpswap);
  WAVEJIT_DS(min, f64, uint64_t, fmin);
  WAVEJIT_DS(max, f64, uint64_t, fmax);
  WAVEJIT_DS(add, f64, uint64_t, fadd);
  r.handler(Opcode::ds_wrxchg_rtn_b32, atomic<uint32_t, true>, static_cast<uint8_t>(AtomicOp::swap));
  r.handler(Opcode::ds_wrxchg_rtn_b64, atomic<uint64_t, true>, static_cast<uint8_t>(AtomicOp::swap));
  r.handler(Opcode::ds_wrap_rtn_b32, atomic<uint32_t, true>, static_cast<uint8_t>(AtomicOp::wrap));
  r.handler(Opcode::ds_wrxchg2_rtn_b32, exchange2<uint32_t>, 1);
  r.handler(Opcode::ds_wrxchg2st64_rtn_b32, exchange2<uint32_t>, 64);
  r.handler(Opcode::ds_wrxchg2_rtn_b64, exchange2<uint64_t>, 1);
  r.handler(Opcode::ds_wrxchg2st64_rtn_b64, exchange2<uint64_t>, 64);
}

}  // namespace wavejit::interp
