// Read-modify-write operations on memory: host atomics for global memory, plain ones for LDS and scratch.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace wavejit::interp {

enum class AtomicOp : uint8_t {
  swap,
  cmpswap,
  add,
  sub,
  rsub,
  smin,
  umin,
  smax,
  umax,
  band,
  bor,
  bxor,
  inc,
  dec,
  mskor,
  wrap,
  fadd,
  fmin,
  fmax,
  fcmpswap,
  pk_add_f16,
  pk_add_bf16,
};

// data < memory ? data : memory, where a NaN leaves memory alone and denormals are flushed if MXCSR says so.
inline float host_min(float data, float memory) {
  return _mm_cvtss_f32(_mm_min_ss(_mm_set_ss(data), _mm_set_ss(memory)));
}
inline float host_max(float data, float memory) {
  return _mm_cvtss_f32(_mm_max_ss(_mm_set_ss(data), _mm_set_ss(memory)));
}
inline double host_min(double data, double memory) {
  return _mm_cvtsd_f64(_mm_min_sd(_mm_set_sd(data), _mm_set_sd(memory)));
}
inline double host_max(double data, double memory) {
  return _mm_cvtsd_f64(_mm_max_sd(_mm_set_sd(data), _mm_set_sd(memory)));
}

// New memory value. T is uint32_t or uint64_t; for floating-point kinds its bits are a float or double.
uint32_t packed_add_f16(uint32_t a, uint32_t b);  // atomics.cpp
uint32_t packed_add_bf16(uint32_t a, uint32_t b);

template <typename T>
T atomic_result(AtomicOp op, T memory, T data, T extra) {
  using S = std::make_signed_t<T>;
  using F = std::conditional_t<sizeof(T) == 8, double, float>;
  const auto f = [](T v) { return std::bit_cast<F>(v); };
  switch (op) {
    case AtomicOp::swap:
      return data;
    case AtomicOp::cmpswap:
      return memory == extra ? data : memory;
    case AtomicOp::add:
      return memory + data;
    case AtomicOp::sub:
      return memory - data;
    case AtomicOp::rsub:
      return data - memory;
    case AtomicOp::smin:
      return static_cast<S>(data) < static_cast<S>(memory) ? data : memory;
    case AtomicOp::umin:
      return data < memory ? data : memory;
    case AtomicOp::smax:
      return static_cast<S>(data) > static_cast<S>(memory) ? data : memory;
    case AtomicOp::umax:
      return data > memory ? data : memory;
    case AtomicOp::band:
      return memory & data;
    case AtomicOp::bor:
      return memory | data;
    case AtomicOp::bxor:
      return memory ^ data;
    case AtomicOp::inc:
      return memory >= data ? 0 : memory + 1;
    case AtomicOp::dec:
      return memory == 0 || memory > data ? data : memory - 1;
    case AtomicOp::mskor:
      return (memory & ~data) | extra;
    case AtomicOp::wrap:
      return memory >= data ? memory - data : memory + extra;
    case AtomicOp::fadd:
      return std::bit_cast<T>(static_cast<F>(f(memory) + f(data)));
    case AtomicOp::fmin:
      return std::bit_cast<T>(host_min(f(data), f(memory)));
    case AtomicOp::fmax:
      return std::bit_cast<T>(host_max(f(data), f(memory)));
    case AtomicOp::fcmpswap:
      return f(memory) == f(extra) ? data : memory;
    case AtomicOp::pk_add_f16:
      return packed_add_f16(static_cast<uint32_t>(memory), static_cast<uint32_t>(data));
    case AtomicOp::pk_add_bf16:
      return packed_add_bf16(static_cast<uint32_t>(memory), static_cast<uint32_t>(data));
  }
  return memory;
}

// Applies `op` atomically (sequentially consistent) and returns the old value. `extra` is the compare value of cmpswap.
template <typename T>
T atomic_apply(AtomicOp op, T* address, T data, T extra) {
  switch (op) {
    case AtomicOp::swap:
      return __atomic_exchange_n(address, data, __ATOMIC_SEQ_CST);
    case AtomicOp::add:
      return __atomic_fetch_add(address, data, __ATOMIC_SEQ_CST);
    case AtomicOp::sub:
      return __atomic_fetch_sub(address, data, __ATOMIC_SEQ_CST);
    case AtomicOp::band:
      return __atomic_fetch_and(address, data, __ATOMIC_SEQ_CST);
    case AtomicOp::bor:
      return __atomic_fetch_or(address, data, __ATOMIC_SEQ_CST);
    case AtomicOp::bxor:
      return __atomic_fetch_xor(address, data, __ATOMIC_SEQ_CST);
    default:
      break;
  }
  T old = __atomic_load_n(address, __ATOMIC_SEQ_CST);
  while (true) {
    const T wanted = atomic_result(op, old, data, extra);
    if (__atomic_compare_exchange_n(address, &old, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
  }
}

// The same without atomicity, for memory only this thread touches.
template <typename T>
T plain_apply(AtomicOp op, void* address, T data, T extra) {
  T old;
  std::memcpy(&old, address, sizeof old);
  const T wanted = atomic_result(op, old, data, extra);
  std::memcpy(address, &wanted, sizeof wanted);
  return old;
}

}  // namespace wavejit::interp
