// Read-modify-write operations on the local data share. One host thread runs a work-group, so they need not be atomic.
#include <bit>
#include <cstring>

#include "frontend/interp/atomics.h"
#include "frontend/interp/memory.h"

namespace wavejit::interp {
namespace {

template <typename T>
T apply(const DataShare& share, AtomicOp kind, uint8_t* p, T data, T extra) {
  return share.shared ? atomic_apply<T>(kind, reinterpret_cast<T*>(p), data, extra)
                      : plain_apply<T>(kind, p, data, extra);
}

// param: AtomicOp. The compare-and-store forms have the compare value in data0 and the new value in data1.
template <typename T, bool returns>
Step ds_atomic(Context& c, const Op& op) {
  const DataShare share = data_share(c, op);
  const auto kind = static_cast<AtomicOp>(op.param);
  const bool packed = kind == AtomicOp::pk_add_f16 || kind == AtomicOp::pk_add_bf16;
  if (kind >= AtomicOp::fadd) c.use(share.shared || packed ? Env::rn : sizeof(T) == 8 ? Env::f64 : Env::f32);
  const bool compare = kind == AtomicOp::cmpswap || kind == AtomicOp::fcmpswap;
  const auto offset = static_cast<uint32_t>(op.inst.offset);
  const uint32_t* addresses = c.row(op.addr_row);
  const uint32_t* data0 = c.row(op.data_row);
  const uint32_t* data1 = op.data1_row != Op::kNone ? c.row(op.data1_row) : data0;
  const uint64_t exec = c.wave.exec();
  T old[kWaveSize];
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const uint32_t address = addresses[l] + offset;
    old[l] = 0;
    uint8_t* p = share.at(address, sizeof(T));
    if (p == nullptr) continue;
    T data = lane_value<T>(data0, l), extra = lane_value<T>(data1, l);
    if (compare) std::swap(data, extra);
    old[l] = apply(share, kind, p, data, extra);
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
  const DataShare share = data_share(c, op);
  const unsigned scale = sizeof(T) * op.param;
  const uint32_t offsets[2] = {(static_cast<uint32_t>(op.inst.offset) & 0xff) * scale,
                               (static_cast<uint32_t>(op.inst.offset) >> 8 & 0xff) * scale};
  const uint32_t* addresses = c.row(op.addr_row);
  const uint32_t* data[2] = {c.row(op.data_row), c.row(op.data1_row)};
  const uint64_t exec = c.wave.exec();
  T old[2][kWaveSize];
  // First all lanes' first exchange, then the second.
  for (unsigned i = 0; i < 2; ++i) {
    for (uint64_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      const uint32_t address = addresses[l] + offsets[i];
      old[i][l] = 0;
      uint8_t* p = share.at(address, sizeof(T));
      if (p == nullptr) continue;
      old[i][l] = apply<T>(share, AtomicOp::swap, p, lane_value<T>(data[i], l), T{});
    }
  }
  uint32_t* rows = c.row(op.dst_reg);
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    for (unsigned i = 0; i < 2; ++i) set_lane_value<T>(rows + i * (sizeof(T) / 4) * kWaveSize, l, old[i][l]);
  }
  return Step::next;
}

// Two dwords at an address that is a multiple of 8: each is written, less its highest bit, if that is set.
Step conditional_exchange(Context& c, const Op& op) {
  const DataShare share = data_share(c, op);
  const uint32_t* addresses = c.row(op.addr_row);
  const uint32_t* data = c.row(op.data_row);
  const uint64_t exec = c.wave.exec();
  uint32_t old[2][kWaveSize];
  for (unsigned i = 0; i < 2; ++i) {
    for (uint64_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      const uint32_t address = (addresses[l] + static_cast<uint32_t>(op.inst.offset)) & ~uint32_t{7};
      old[i][l] = 0;
      uint8_t* p = share.at(address, 8);
      if (p == nullptr) continue;
      const uint32_t value = data[i * kWaveSize + l];
      if (value >> 31 != 0) {
        old[i][l] = apply<uint32_t>(share, AtomicOp::swap, p + 4 * i, value & 0x7fffffff, 0);
      } else {
        std::memcpy(&old[i][l], p + 4 * i, 4);
      }
    }
  }
  uint32_t* rows = c.row(op.dst_reg);
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    for (unsigned i = 0; i < 2; ++i) rows[i * kWaveSize + l] = old[i][l];
  }
  return Step::next;
}

// DS[A] = DS[A] op DS[B]. Offset bit 15 set: A is 17 bits of the address and the rest, with its sign, the distance to B
// in dwords; else A is the address and the distance is the offset's lower 15 bits, bit 14 being their sign. All lanes
// read B before the first one writes A. param: AtomicOp.
template <typename T>
Step source2(Context& c, const Op& op) {
  const DataShare share = data_share(c, op);
  const auto kind = static_cast<AtomicOp>(op.param);
  if (kind >= AtomicOp::fadd) c.use(share.shared ? Env::rn : sizeof(T) == 8 ? Env::f64 : Env::f32);
  const uint32_t* addresses = c.row(op.addr_row);
  const auto offset = static_cast<uint32_t>(op.inst.offset);
  const uint64_t exec = c.wave.exec();
  constexpr uint32_t kAligned = ~uint32_t{sizeof(T) - 1};
  T operand[kWaveSize];
  uint32_t target[kWaveSize];
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    int32_t distance;
    if ((offset & 0x8000) != 0) {
      target[l] = addresses[l] & 0x1ffff & kAligned;
      distance = static_cast<int32_t>(addresses[l]) >> 17;
    } else {
      target[l] = addresses[l] & kAligned;
      distance = static_cast<int32_t>(offset << 17) >> 17;
    }
    const uint32_t from = (target[l] + static_cast<uint32_t>(distance) * 4) & kAligned;
    operand[l] = 0;
    if (const uint8_t* p = share.at(from, sizeof(T)); p != nullptr) std::memcpy(&operand[l], p, sizeof(T));
  }
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    if (uint8_t* p = share.at(target[l], sizeof(T)); p != nullptr) apply<T>(share, kind, p, operand[l], T{});
  }
  return Step::next;
}

#define WAVEJIT_SOURCE2(name, suffix, T, kind) \
  r.handler(Opcode::ds_##name##_src2_##suffix, source2<T>, static_cast<uint8_t>(AtomicOp::kind))

#define WAVEJIT_DS(name, suffix, T, kind)                                                             \
  r.handler(Opcode::ds_##name##_##suffix, ds_atomic<T, false>, static_cast<uint8_t>(AtomicOp::kind)); \
  r.handler(Opcode::ds_##name##_rtn_##suffix, ds_atomic<T, true>, static_cast<uint8_t>(AtomicOp::kind))

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
  WAVEJIT_DS(pk_add, f16, uint32_t, pk_add_f16);
  WAVEJIT_DS(pk_add, bf16, uint32_t, pk_add_bf16);
  r.handler(Opcode::ds_wrxchg_rtn_b32, ds_atomic<uint32_t, true>, static_cast<uint8_t>(AtomicOp::swap));
  r.handler(Opcode::ds_wrxchg_rtn_b64, ds_atomic<uint64_t, true>, static_cast<uint8_t>(AtomicOp::swap));
  r.handler(Opcode::ds_wrap_rtn_b32, ds_atomic<uint32_t, true>, static_cast<uint8_t>(AtomicOp::wrap));
  r.handler(Opcode::ds_wrxchg2_rtn_b32, exchange2<uint32_t>, 1);
  r.handler(Opcode::ds_wrxchg2st64_rtn_b32, exchange2<uint32_t>, 64);
  r.handler(Opcode::ds_wrxchg2_rtn_b64, exchange2<uint64_t>, 1);
  r.handler(Opcode::ds_wrxchg2st64_rtn_b64, exchange2<uint64_t>, 64);
  r.handler(Opcode::ds_condxchg32_rtn_b64, conditional_exchange);
  WAVEJIT_SOURCE2(add, u32, uint32_t, add);
  WAVEJIT_SOURCE2(sub, u32, uint32_t, sub);
  WAVEJIT_SOURCE2(rsub, u32, uint32_t, rsub);
  WAVEJIT_SOURCE2(inc, u32, uint32_t, inc);
  WAVEJIT_SOURCE2(dec, u32, uint32_t, dec);
  WAVEJIT_SOURCE2(min, i32, uint32_t, smin);
  WAVEJIT_SOURCE2(max, i32, uint32_t, smax);
  WAVEJIT_SOURCE2(min, u32, uint32_t, umin);
  WAVEJIT_SOURCE2(max, u32, uint32_t, umax);
  WAVEJIT_SOURCE2(and, b32, uint32_t, band);
  WAVEJIT_SOURCE2(or, b32, uint32_t, bor);
  WAVEJIT_SOURCE2(xor, b32, uint32_t, bxor);
  WAVEJIT_SOURCE2(write, b32, uint32_t, swap);
  WAVEJIT_SOURCE2(min, f32, uint32_t, fmin);
  WAVEJIT_SOURCE2(max, f32, uint32_t, fmax);
  WAVEJIT_SOURCE2(add, u64, uint64_t, add);
  WAVEJIT_SOURCE2(sub, u64, uint64_t, sub);
  WAVEJIT_SOURCE2(rsub, u64, uint64_t, rsub);
  WAVEJIT_SOURCE2(inc, u64, uint64_t, inc);
  WAVEJIT_SOURCE2(dec, u64, uint64_t, dec);
  WAVEJIT_SOURCE2(min, i64, uint64_t, smin);
  WAVEJIT_SOURCE2(max, i64, uint64_t, smax);
  WAVEJIT_SOURCE2(min, u64, uint64_t, umin);
  WAVEJIT_SOURCE2(max, u64, uint64_t, umax);
  WAVEJIT_SOURCE2(and, b64, uint64_t, band);
  WAVEJIT_SOURCE2(or, b64, uint64_t, bor);
  WAVEJIT_SOURCE2(xor, b64, uint64_t, bxor);
  WAVEJIT_SOURCE2(write, b64, uint64_t, swap);
  WAVEJIT_SOURCE2(min, f64, uint64_t, fmin);
  WAVEJIT_SOURCE2(max, f64, uint64_t, fmax);
  WAVEJIT_SOURCE2(add, f32, uint32_t, fadd);
}

}  // namespace wavejit::interp
