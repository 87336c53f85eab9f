// What programs of Csmith need besides program.h, on the GPU and on the host. Csmith's own arithmetic that is defined for all operands
// (safe_math.h of its package) is used as it is.
//
// csmith.py makes a structure Lane of a program: its globals are the members, its functions member functions. Each work-item has a Lane, in
// one of the memories below.
#define PROGRAM_STACK_BYTES (1 << 20)
#include "program.h"
// Its own line: program.h begins a region of functions for both sides, and these headers have to lie in it.
#include <float.h>
#include <limits.h>
#include <stdint.h>

#define memcpy __builtin_memcpy
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define STATIC static inline
#define FUNC_NAME(x) safe_##x
#define UNDEFINED(value) (value)
#define LOG_INDEX
#define LOG_EXEC
#include <csmith/safe_math.h>
#define INT_BIT (sizeof(int) * CHAR_BIT)
#define _CSMITH_BITFIELD(x) (((x) > INT_BIT) ? ((x) % INT_BIT) : (x))

inline void* operator new(__SIZE_TYPE__, void* place) noexcept {
  return place;
}

// What a Lane has besides the program's own members.
struct Hashed {
  u64 hashed = 1;
  u32 levels = 0;  // how often functions may call themselves once more
  u32 callee = 0;  // which of two copies of a function is called
  u64 bits = 0;    // the work-item's own bits, for constants

  // A constant that depends on the work-item.
  template <typename T>
  T vary(T constant, u32 place) {
    return (T)(constant ^ (T)((bits >> place) & 3u));
  }

  // In the place of Csmith's checksum, whose table of 256 words would have to be computed by each work-item.
  void transparent_crc(u64 value) { hashed = mix(hashed, value); }
  void transparent_crc_bytes(const volatile f32* value) { hashed = mix(hashed, bits_f32(*value)); }
  void transparent_crc_bytes(const volatile f64* value) { hashed = mix(hashed, bits_f64(*value)); }
};

// Where the work-item's Lane is. The group's memory holds those of a group if 64 KiB have room for all of them; else they are in global memory.
#define PLACE_PRIVATE(size) \
  Lane place_;              \
  Lane* const lane = &place_;
#define PLACE_GLOBAL(size) Lane* const lane = new (csmith_lanes + item * sizeof(Lane)) Lane;
#define PLACE_SHARED(size) \
  SHARED_LANES(size)       \
  Lane* const lane = new (lane_of_group_) Lane;
// Every third work-item has it in each of the three, so that one flat instruction accesses all.
#define PLACE_MIXED(size)                                      \
  SHARED_LANES(size)                                           \
  __attribute__((aligned(16))) char place_[sizeof(Lane)];      \
  char* const global_ = csmith_lanes + item * sizeof(Lane);    \
  char* const place_or_global_ = item % 3u ? place_ : global_; \
  Lane* const lane = new (item % 3u == 1u ? lane_of_group_ : place_or_global_) Lane;
#define SHARED_LANES(size)                                                              \
  enum : u32 { kFits = sizeof(Lane) * (size) <= 65536u };                               \
  SHARED __attribute__((aligned(16))) char shared_[kFits ? sizeof(Lane) * (size) : 16]; \
  char* const lane_of_group_ = kFits ? shared_ + LID * sizeof(Lane) : csmith_lanes + item * sizeof(Lane);

#if PROGRAM_GPU
#define CSMITH_LANES(items) __attribute__((device, aligned(16))) static char csmith_lanes[(items) * sizeof(Lane)]
#else
#define CSMITH_LANES(items) alignas(16) static char csmith_lanes[(items) * sizeof(Lane)]
#endif

// With PROGRAM_CHECKED, the host's text is a program by itself, without fibers, for sanitizers.
#if !PROGRAM_GPU && defined(PROGRAM_CHECKED)
#define CSMITH_CHECKED(kernel, size, groups)                           \
  int main() {                                                         \
    static u64 out[(size) * (groups) * 8];                             \
    for (program_group = 0; program_group < (groups); ++program_group) \
      for (program_lid = 0; program_lid < (size); ++program_lid)       \
        kernel(nullptr, nullptr, out, nullptr, nullptr, 0, 0);         \
    return 0;                                                          \
  }
#else
#define CSMITH_CHECKED(kernel, size, groups)
#endif
