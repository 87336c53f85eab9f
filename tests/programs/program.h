// What generated programs are written in: OpenCL C or HIP C++ for the GPU, without libraries, and C or C++ for the host, where one fiber
// runs each work-item of a group and barriers pass control on to the next fiber.
//
// Kernels have the arguments
//   in     1,024 words, read only                        acc    8 words, only for atomics: acc[i] by operation i of ATOMIC32
//   g      8 words for each work-item                    acc64  8 words of 64 bits, likewise
//   out    8 words of 64 bits for each work-item         n, m   numbers, the same for all
#if defined(__OPENCL_C_VERSION__) || defined(__HIP__)
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;
typedef float f32;
typedef double f64;
#ifdef __HIP__
#pragma clang force_cuda_host_device begin
typedef _Float16 f16;
#define CONSTANT static __attribute__((constant)) const
#define CONSTEXPR static __attribute__((constant)) constexpr
#define LOCAL
#define GLOBAL
#define PRIVATE
#define SHARED __attribute__((shared))
#define FUNCTION(attributes) extern "C" __attribute__((global)) attributes
#define REQUIRED_SIZE(size) __attribute__((amdgpu_flat_work_group_size(size, size)))
#define ATOMIC(op, type, pointer, value, scope) \
  (void)__hip_atomic_fetch_##op((volatile type*)(pointer), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_##scope)
#define ATOMIC32(op, pointer, value) ATOMIC(op, u32, pointer, value, AGENT)
#define ATOMIC64(op, pointer, value) ATOMIC(op, u64, pointer, value, AGENT)
#define ATOMIC_LOCAL(op, pointer, value) ATOMIC(op, u32, pointer, value, WORKGROUP)
#define BITS(x, type) __builtin_bit_cast(type, x)
#else
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half f16;
#define CONSTANT __constant
#define LOCAL __local
#define GLOBAL __global
#define PRIVATE __private
#define SHARED __local  // an array of the group
#define FUNCTION(attributes) attributes __kernel
#define REQUIRED_SIZE(size) __attribute__((reqd_work_group_size(size, 1, 1)))
#define ATOMIC(op, type, pointer, value, scope) \
  (void)__opencl_atomic_fetch_##op((volatile type*)(pointer), value, __ATOMIC_RELAXED, scope)
#define ATOMIC32(op, pointer, value) ATOMIC(op, GLOBAL atomic_uint, pointer, value, __OPENCL_MEMORY_SCOPE_DEVICE)
#define ATOMIC64(op, pointer, value) ATOMIC(op, GLOBAL atomic_ulong, pointer, value, __OPENCL_MEMORY_SCOPE_DEVICE)
#define ATOMIC_LOCAL(op, pointer, value) ATOMIC(op, LOCAL atomic_uint, pointer, value, __OPENCL_MEMORY_SCOPE_WORK_GROUP)
#define BITS(x, type) __builtin_astype((x), type)
#endif
#define KERNEL(name, attributes) \
  FUNCTION(attributes)           \
  void name(GLOBAL const u32* in, GLOBAL u32* g, GLOBAL u64* out, GLOBAL u32* acc, GLOBAL u64* acc64, u32 n, u64 m)
#define PROGRAM_TABLE(...)
#define PROGRAM_GPU 1
#define LID __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define BARRIER()                                          \
  do {                                                     \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier();                          \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
  } while (0)
// All work-items of a work-group must call it.
#define WAVE_SHUFFLE(value, lane) ((u32)__builtin_amdgcn_ds_bpermute((int)((lane) << 2), (int)(value)))
#define WAVE_BALLOT(value) ((u64)__builtin_amdgcn_uicmp((value), 0u, 33))
#define WAVE_FIRST(value) ((u32)__builtin_amdgcn_readfirstlane((int)(value)))
#define WAVE_LANE(value, lane) ((u32)__builtin_amdgcn_readlane((int)(value), (int)(lane)))
#define WAVE_QUAD(value, control) ((u32)__builtin_amdgcn_update_dpp(0, (int)(value), control, 0xf, 0xf, 1))
#define F16_OP(a, op, b) ((a)op(b))
#define BITS32(x) BITS(x, u32)
#define BITS64(x) BITS(x, u64)
#define BITS16(x) BITS(x, u16)
#else
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
typedef uint8_t u8;
typedef int8_t i8;
typedef uint16_t u16;
typedef int16_t i16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
#define CONSTANT static const
#define CONSTEXPR static constexpr
#define LOCAL
#define GLOBAL
#define PRIVATE
#define SHARED static
#define KERNEL(name, attributes) static void name(const u32* in, u32* g, u64* out, u32* acc, u64* acc64, u32 n, u64 m)
#define LID (program_lid + 0)
#define GROUP (program_group + 0)
#define BARRIER() program_yield()

static u32 program_lid, program_group, program_size;

#ifndef PROGRAM_STACK_BYTES  // of a fiber
#define PROGRAM_STACK_BYTES (256 << 10)
#endif
enum { kLanes = 64, kMostItems = 256, kStackBytes = PROGRAM_STACK_BYTES };
static ucontext_t program_main, program_fibers[kMostItems];
static char program_done[kMostItems];
static char* program_stacks;
static u32 program_slots[kMostItems];

static void program_yield(void) {
  swapcontext(&program_fibers[program_lid], &program_main);
}

static u32 program_slot(u32 lane) {
  const u32 item = (program_lid & ~63u) | (lane & 63u);
  return item < program_size ? program_slots[item] : 0;
}
static u32 program_exchange(u32 value, u32 lane) {
  program_slots[program_lid] = value;
  program_yield();
  const u32 result = program_slot(lane);
  program_yield();
  return result;
}
static u64 program_ballot(u32 value) {
  program_slots[program_lid] = value;
  program_yield();
  u64 result = 0;
  for (u32 lane = 0; lane < kLanes; ++lane) result |= (u64)(program_slot(lane) != 0) << lane;
  program_yield();
  return result;
}
#define WAVE_SHUFFLE(value, lane) program_exchange(value, lane)
#define WAVE_BALLOT(value) program_ballot(value)
#define WAVE_FIRST(value) program_exchange(value, 0)
#define WAVE_LANE(value, lane) program_exchange(value, lane)
#define WAVE_QUAD(value, control) \
  program_exchange(value, (program_lid & 60u) | (((u32)(control) >> ((program_lid & 3u) * 2u)) & 3u))

#define ATOMIC_add(a, b) (a) += (b)
#define ATOMIC_or(a, b) (a) |= (b)
#define ATOMIC_and(a, b) (a) &= (b)
#define ATOMIC_xor(a, b) (a) ^= (b)
#define ATOMIC_max(a, b) (a) = (a) > (b) ? (a) : (b)
#define ATOMIC_min(a, b) (a) = (a) < (b) ? (a) : (b)
#define ATOMIC32(op, pointer, value) \
  do {                               \
    u32 value_ = (value);            \
    ATOMIC_##op(*(pointer), value_); \
  } while (0)
#define ATOMIC64(op, pointer, value) \
  do {                               \
    u64 value_ = (value);            \
    ATOMIC_##op(*(pointer), value_); \
  } while (0)
#define ATOMIC_LOCAL ATOMIC32
// Rounding a single-precision sum, difference or product of two halves again gives the right half.
#define F16_OP(a, op, b) ((f16)((f32)(a)op(f32)(b)))
static inline u32 BITS32(f32 x) {
  u32 r;
  memcpy(&r, &x, sizeof r);
  return r;
}
static inline u64 BITS64(f64 x) {
  u64 r;
  memcpy(&r, &x, sizeof r);
  return r;
}
static inline u16 BITS16(f16 x) {
  u16 r;
  memcpy(&r, &x, sizeof r);
  return r;
}

typedef struct {
  const char* name;
  void (*function)(const u32*, u32*, u64*, u32*, u64*, u32, u64);
  u32 size, groups;
} program_kernel;

typedef struct {
  const u32* in;
  u32* g;
  u64* out;
  u32* acc;
  u64* acc64;
  u32 n;
  u64 m;
} program_arguments;

static const program_kernel* program_current;
static const program_arguments* program_call;

static void program_fiber(void) {
  const program_arguments* a = program_call;
  program_current->function(a->in, a->g, a->out, a->acc, a->acc64, a->n, a->m);
  program_done[program_lid] = 1;
}

// Runs one kernel over its grid.
static void program_run(const program_kernel* kernel, const program_arguments* arguments) {
  if (!program_stacks) program_stacks = (char*)malloc((size_t)kMostItems * kStackBytes);
  program_current = kernel;
  program_call = arguments;
  program_size = kernel->size;
  for (program_group = 0; program_group < kernel->groups; ++program_group) {
    for (u32 i = 0; i < kernel->size; ++i) {
      getcontext(&program_fibers[i]);
      program_fibers[i].uc_stack.ss_sp = program_stacks + (size_t)i * kStackBytes;
      program_fibers[i].uc_stack.ss_size = kStackBytes;
      program_fibers[i].uc_link = &program_main;
      makecontext(&program_fibers[i], program_fiber, 0);
      program_done[i] = 0;
    }
    for (int more = 1; more;) {
      more = 0;
      for (program_lid = 0; program_lid < kernel->size; ++program_lid) {
        if (program_done[program_lid]) continue;
        swapcontext(&program_main, &program_fibers[program_lid]);
        more = 1;
      }
    }
  }
}

#ifdef __cplusplus
#define EXPORTED extern "C" __attribute__((visibility("default")))
#else
#define EXPORTED __attribute__((visibility("default")))
#endif
#define PROGRAM_TABLE(...)                                                     \
  static const program_kernel program_kernels_[] = {__VA_ARGS__};              \
  EXPORTED const program_kernel* program_kernels(u32* count) {                 \
    *count = sizeof program_kernels_ / sizeof program_kernels_[0];             \
    return program_kernels_;                                                   \
  }                                                                            \
  EXPORTED void program_run_kernel(u32 index, const program_arguments* call) { \
    program_run(&program_kernels_[index], call);                               \
  }
#endif

typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u64 u64x2 __attribute__((ext_vector_type(2)));
typedef u16 u16x4 __attribute__((ext_vector_type(4)));
typedef u8 u8x4 __attribute__((ext_vector_type(4)));
typedef f32 f32x4 __attribute__((ext_vector_type(4)));

#define NOINLINE __attribute__((noinline))

// LLVM up to 19 divides unsigned numbers that are sign-extended ones as if they had 24 bits; hence the second bit is 0
// where the first one is set.
static inline u32 unextended_u32(u32 x) {
  return x & ~((x >> 1) & 0x40000000u);
}
static inline u64 unextended_u64(u64 x) {
  return x & ~((x >> 1) & ((u64)1 << 62));
}

// An operand about which compilers know nothing. LLVM up to 15 does not end (SIFoldOperands) on 64-bit divisions in loops if the upper
// half of the dividend is a constant that is no inline one, as bit 40 below makes it.
#if PROGRAM_GPU && __clang_major__ < 16
#define HIDE(x) __asm__("" : "+v"(x))
#else
#define HIDE(x) (void)(x)
#endif

// Integer division of any operands. LLVM up to 15 divides some 64-bit numbers of 32 bits as if they had 24; hence bit 40.
#define DIVISION(type, name, least, bit, operand)   \
  static inline type div_##name(type a, type b) {   \
    if (b == 0 || (least)) return a;                \
    if (bit) HIDE(a);                               \
    return (type)(operand(a | (bit)) / operand(b)); \
  }                                                 \
  static inline type mod_##name(type a, type b) {   \
    if (b == 0 || (least)) return (type)0;          \
    if (bit) HIDE(a);                               \
    return (type)(operand(a | (bit)) % operand(b)); \
  }
DIVISION(u32, u32, 0, 0, unextended_u32)
DIVISION(u64, u64, 0, (u64)1 << 40, unextended_u64)
DIVISION(i32, i32, b == -1, 0, )
DIVISION(i64, i64, b == -1, (i64)1 << 40, )

static inline u32 clz_u32(u32 x) {
  return x ? (u32)__builtin_clz(x) : 32u;
}
static inline u32 ctz_u32(u32 x) {
  return x ? (u32)__builtin_ctz(x) : 32u;
}
static inline u32 rotl_u32(u32 x, u32 n) {
  return (x << (n & 31u)) | (x >> ((32u - n) & 31u));
}
static inline u64 rotl_u64(u64 x, u32 n) {
  return (x << (n & 63u)) | (x >> ((64u - n) & 63u));
}
// LLVM up to 15 multiplies signed numbers of 24 bits where the program has the same bits unsigned; hence bit 24.
static inline u32 mulhi_u32(u32 a, u32 b) {
  return (u32)(((u64)(a | 0x1000000u) * b) >> 32);
}

// Conversions of numbers that fit; 0 or the like otherwise.
static inline i32 i32_of_f32(f32 x) {
  return x > -2147483520.0f && x < 2147483520.0f ? (i32)x : 7;
}
static inline u32 u32_of_f32(f32 x) {
  return x >= 0.0f && x < 4294967040.0f ? (u32)x : 7u;
}
static inline i64 i64_of_f64(f64 x) {
  return x > -9223372036854774784.0 && x < 9223372036854774784.0 ? (i64)x : 7;
}
static inline u64 u64_of_f64(f64 x) {
  return x >= 0.0 && x < 18446744073709549568.0 ? (u64)x : 7u;
}
static inline i32 i32_of_f64(f64 x) {
  return x > -2147483648.0 && x < 2147483647.0 ? (i32)x : 7;
}

// The bits of a number; NaNs are all alike.
static inline u32 bits_f32(f32 x) {
  return x != x ? 0x7fc00000u : BITS32(x);
}
static inline u64 bits_f64(f64 x) {
  return x != x ? (u64)0x7ff80000 << 32 : BITS64(x);
}
static inline u32 bits_f16(f16 x) {
  return x != x ? 0x7e00u : BITS16(x);
}
// Sums and differences. As an operand of another instruction of the vector unit, 0 - x and 0 + -x are -x for clang 19
// (SelectVOP3Mods), whose zero has the other sign for x = 0; hence the result is first in a register. (That a is 0, or b a negation,
// shows as late as in its code generator.)
#if PROGRAM_GPU && __clang_major__ == 19
#define IN_REGISTER(x) __asm__("" : "+v"(x))
#else
#define IN_REGISTER(x) (void)(x)
#endif
#define SUMS(type, sum, difference)               \
  static inline type kept_##type(type a) {        \
    IN_REGISTER(a);                               \
    return a;                                     \
  }                                               \
  static inline type add_##type(type a, type b) { \
    return kept_##type(sum);                      \
  }                                               \
  static inline type sub_##type(type a, type b) { \
    return kept_##type(difference);               \
  }
SUMS(f16, F16_OP(a, +, b), F16_OP(a, -, b))
SUMS(f32, a + b, a - b)
SUMS(f64, a + b, a - b)
static inline f32x4 add_f32x4(f32x4 a, f32x4 b) {
  return (f32x4){add_f32(a.x, b.x), add_f32(a.y, b.y), add_f32(a.z, b.z), add_f32(a.w, b.w)};
}
static inline f32x4 sub_f32x4(f32x4 a, f32x4 b) {
  return (f32x4){sub_f32(a.x, b.x), sub_f32(a.y, b.y), sub_f32(a.z, b.z), sub_f32(a.w, b.w)};
}
static inline f16 mul_f16(f16 a, f16 b) {
  return F16_OP(a, *, b);
}
// Where a product of f32 becomes a half, clang 19 adds 0 to it (v_fma_mixlo_f16 a, b, 0), which makes a negative zero positive.
static inline f16 f16_of_f32(f32 x) {
  return add_f16((f16)x, (f16)0.0f);
}

#include "vectors.h"

static inline u64 mix(u64 h, u64 x) {
  h = (h ^ x) * (((u64)0x9e3779b9u << 32) | 0x7f4a7c15u);
  return h ^ (h >> 29);
}
