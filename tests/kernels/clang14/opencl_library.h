// The part of the OpenCL C library that the kernels of opencl/ use, in terms of clang's AMDGPU builtins.
//
// clang 14 cannot read the ROCm device libraries of Debian 12: they are LLVM 15 bitcode with opaque pointers. For that
// compiler this header is included before the kernel (-include) and nothing is linked. It has no exp, log, sin and the
// like, which are the device libraries' substance; kernels that need those are not compiled by clang 14.
//
// The functions are `static` without always_inline: at -O0 they become calls, as with the device libraries.
#ifndef WAVEJIT_TESTS_KERNELS_CLANG14_OPENCL_LIBRARY_H_
#define WAVEJIT_TESTS_KERNELS_CLANG14_OPENCL_LIBRARY_H_
#include <opencl-c-base.h>

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

#define WJ_FN static __attribute__((overloadable, unused))

// ---- work-items: AQL dispatch packet (HSA system specification) and hidden arguments (LLVM AMDGPU usage, code object
// V4)
#define WJ_PACKET ((const constant uchar*)__builtin_amdgcn_dispatch_ptr())

WJ_FN uint get_work_dim(void) {
  return *(const constant ushort*)(WJ_PACKET + 2) & 3;  // setup
}
WJ_FN size_t get_enqueued_local_size(uint dim) {
  return dim < 3 ? *(const constant ushort*)(WJ_PACKET + 4 + 2 * dim) : 1;
}
WJ_FN size_t get_global_size(uint dim) {
  return dim < 3 ? *(const constant uint*)(WJ_PACKET + 12 + 4 * dim) : 1;
}
WJ_FN size_t get_group_id(uint dim) {
  switch (dim) {
    case 0:
      return (uint)__builtin_amdgcn_workgroup_id_x();
    case 1:
      return (uint)__builtin_amdgcn_workgroup_id_y();
    case 2:
      return (uint)__builtin_amdgcn_workgroup_id_z();
    default:
      return 0;
  }
}
WJ_FN size_t get_local_id(uint dim) {
  switch (dim) {
    case 0:
      return (uint)__builtin_amdgcn_workitem_id_x();
    case 1:
      return (uint)__builtin_amdgcn_workitem_id_y();
    case 2:
      return (uint)__builtin_amdgcn_workitem_id_z();
    default:
      return 0;
  }
}
WJ_FN size_t get_global_offset(uint dim) {
  return dim < 3 ? ((const constant ulong*)__builtin_amdgcn_implicitarg_ptr())[dim] : 0;
}
WJ_FN size_t get_global_id(uint dim) {
  return get_group_id(dim) * get_enqueued_local_size(dim) + get_local_id(dim) + get_global_offset(dim);
}
// Smaller in the last work-group of a grid that work-groups do not divide.
WJ_FN size_t get_local_size(uint dim) {
  size_t size = get_enqueued_local_size(dim), left = get_global_size(dim) - get_group_id(dim) * size;
  return left < size ? left : size;
}
WJ_FN size_t get_num_groups(uint dim) {
  size_t size = get_enqueued_local_size(dim);
  return (get_global_size(dim) + size - 1) / size;
}

WJ_FN void barrier(cl_mem_fence_flags flags) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// ---- atomics: relaxed, for the device, as OpenCL 1.2 has them
#define WJ_ATOMIC_OP(name, builtin, space, type, argument_type)                                                       \
  WJ_FN type name(volatile space type* p, argument_type v) {                                                          \
    return __opencl_atomic_##builtin((volatile space atomic_##type*)p, v, memory_order_relaxed, memory_scope_device); \
  }
#define WJ_ATOMIC_STEP(name, builtin, space, type)                                                                    \
  WJ_FN type name(volatile space type* p) {                                                                           \
    return __opencl_atomic_##builtin((volatile space atomic_##type*)p, 1, memory_order_relaxed, memory_scope_device); \
  }
#define WJ_ATOMIC_COMPARE(name, space, type)                                                                  \
  WJ_FN type name(volatile space type* p, type expected, type desired) {                                      \
    __opencl_atomic_compare_exchange_strong((volatile space atomic_##type*)p, &expected, desired,             \
                                            memory_order_relaxed, memory_order_relaxed, memory_scope_device); \
    return expected;                                                                                          \
  }
#define WJ_ATOMICS(prefix, space, type)                    \
  WJ_ATOMIC_OP(prefix##_add, fetch_add, space, type, type) \
  WJ_ATOMIC_OP(prefix##_sub, fetch_sub, space, type, type) \
  WJ_ATOMIC_OP(prefix##_and, fetch_and, space, type, type) \
  WJ_ATOMIC_OP(prefix##_or, fetch_or, space, type, type)   \
  WJ_ATOMIC_OP(prefix##_xor, fetch_xor, space, type, type) \
  WJ_ATOMIC_OP(prefix##_min, fetch_min, space, type, type) \
  WJ_ATOMIC_OP(prefix##_max, fetch_max, space, type, type) \
  WJ_ATOMIC_OP(prefix##_xchg, exchange, space, type, type) \
  WJ_ATOMIC_STEP(prefix##_inc, fetch_add, space, type)     \
  WJ_ATOMIC_STEP(prefix##_dec, fetch_sub, space, type)     \
  WJ_ATOMIC_COMPARE(prefix##_cmpxchg, space, type)
WJ_ATOMICS(atomic, global, int)
WJ_ATOMICS(atomic, global, uint)
WJ_ATOMICS(atomic, local, int)
WJ_ATOMICS(atomic, local, uint)
WJ_ATOMICS(atom, global, long)
WJ_ATOMICS(atom, global, ulong)
WJ_ATOMICS(atom, local, long)
WJ_ATOMICS(atom, local, ulong)

// ---- integers
#define WJ_MIN_MAX_CLAMP(type)                    \
  WJ_FN type min(type a, type b) {                \
    return b < a ? b : a;                         \
  }                                               \
  WJ_FN type max(type a, type b) {                \
    return a < b ? b : a;                         \
  }                                               \
  WJ_FN type clamp(type v, type low, type high) { \
    return min(max(v, low), high);                \
  }
WJ_MIN_MAX_CLAMP(uchar)
WJ_MIN_MAX_CLAMP(int)
WJ_MIN_MAX_CLAMP(uint)
WJ_MIN_MAX_CLAMP(ulong)
WJ_FN uint abs(int v) {
  return v < 0 ? 0u - (uint)v : (uint)v;
}
WJ_FN uint rotate(uint v, uint by) {
  return __builtin_rotateleft32(v, by);
}
WJ_FN ulong rotate(ulong v, ulong by) {
  return __builtin_rotateleft64(v, by);
}
WJ_FN uint popcount(uint v) {
  return __builtin_popcount(v);
}
WJ_FN ulong popcount(ulong v) {
  return __builtin_popcountl(v);
}
WJ_FN ulong clz(ulong v) {
  return v != 0 ? __builtin_clzl(v) : 64;
}
WJ_FN uint mul_hi(uint a, uint b) {
  return (uint)(((ulong)a * b) >> 32);
}
WJ_FN ulong mul_hi(ulong a, ulong b) {
  ulong low = (ulong)(uint)a * (uint)b, middle = (a >> 32) * (uint)b, other = (ulong)(uint)a * (b >> 32);
  ulong carry = (low >> 32) + (uint)middle + (uint)other;
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32) + (carry >> 32);
}
WJ_FN long mul_hi(long a, long b) {
  return (long)(mul_hi((ulong)a, (ulong)b) - (a < 0 ? (ulong)b : 0) - (b < 0 ? (ulong)a : 0));
}
WJ_FN uchar add_sat(uchar a, uchar b) {
  return (uchar)min((uint)a + b, 255u);
}
WJ_FN ulong add_sat(ulong a, ulong b) {
  return a + b < a ? ~0ul : a + b;
}
WJ_FN ulong sub_sat(ulong a, ulong b) {
  return a < b ? 0ul : a - b;
}

// ---- floating point
WJ_FN float fabs(float v) {
  return __builtin_fabsf(v);
}
WJ_FN float sqrt(float v) {
  return __builtin_sqrtf(v);
}
WJ_FN float native_rsqrt(float v) {
  return __builtin_amdgcn_rsqf(v);
}
WJ_FN float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
WJ_FN float floor(float v) {
  return __builtin_floorf(v);
}
WJ_FN double floor(double v) {
  return __builtin_floor(v);
}
WJ_FN double ceil(double v) {
  return __builtin_ceil(v);
}
WJ_FN double trunc(double v) {
  return __builtin_trunc(v);
}
WJ_FN double rint(double v) {
  return __builtin_rint(v);
}
WJ_FN float fmin(float a, float b) {
  return __builtin_fminf(a, b);
}
WJ_FN float fmax(float a, float b) {
  return __builtin_fmaxf(a, b);
}
WJ_FN half2 fmin(half2 a, half2 b) {
  return __builtin_elementwise_min(a, b);
}
WJ_FN half2 fmax(half2 a, half2 b) {
  return __builtin_elementwise_max(a, b);
}
WJ_FN float3 sqrt(float3 v) {
  return (float3)(sqrt(v.x), sqrt(v.y), sqrt(v.z));
}
WJ_FN float clamp(float v, float low, float high) {
  return fmin(fmax(v, low), high);
}
WJ_FN float3 clamp(float3 v, float low, float high) {
  return (float3)(clamp(v.x, low, high), clamp(v.y, low, high), clamp(v.z, low, high));
}
WJ_FN float dot(float3 a, float3 b) {
  return fma(a.z, b.z, fma(a.y, b.y, a.x * b.x));
}
WJ_FN float3 normalize(float3 v) {
  return v * (1.0f / sqrt(dot(v, v)));
}

// ---- conversions: saturating ones take NaN to 0
#define WJ_SATURATE(type, from, low, high) \
  (v != v ? (type)0 : v >= (from)(high) ? (type)(high) : v <= (from)(low) ? (type)(low) : (type)v)
WJ_FN int convert_int_sat_rtz(float v) {
  return WJ_SATURATE(int, float, INT_MIN, INT_MAX);
}
WJ_FN int convert_int_sat_rtz(double v) {
  return WJ_SATURATE(int, double, INT_MIN, INT_MAX);
}
WJ_FN uint convert_uint_sat_rtz(float v) {
  return WJ_SATURATE(uint, float, 0, UINT_MAX);
}
WJ_FN short convert_short_sat_rtz(float v) {
  return WJ_SATURATE(short, float, SHRT_MIN, SHRT_MAX);
}
WJ_FN int convert_int_sat_rte(float v) {
  return convert_int_sat_rtz(__builtin_rintf(v));
}
WJ_FN uchar convert_uchar_sat_rte(float v) {
  v = __builtin_rintf(v);
  return WJ_SATURATE(uchar, float, 0, UCHAR_MAX);
}
WJ_FN char convert_char_sat_rtp(float v) {
  v = __builtin_ceilf(v);
  return WJ_SATURATE(char, float, SCHAR_MIN, SCHAR_MAX);
}
WJ_FN uchar convert_uchar_sat(int v) {
  return (uchar)clamp(v, 0, 255);
}
WJ_FN float convert_float_rte(int v) {
  return (float)v;
}
WJ_FN float convert_float_rte(uint v) {
  return (float)v;
}
WJ_FN double convert_double(int v) {
  return (double)v;
}
WJ_FN double convert_double(uint v) {
  return (double)v;
}
WJ_FN float vload_half(size_t i, const global half* p) {
  return (float)p[i];
}
WJ_FN void vstore_half_rte(float v, size_t i, global half* p) {
  p[i] = (half)v;
}

#endif  // WAVEJIT_TESTS_KERNELS_CLANG14_OPENCL_LIBRARY_H_
