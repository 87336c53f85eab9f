// Vectors of halves and of 16-bit integers, of which compilers make packed instructions. On the host, each element of a vector of halves
// is computed alone, and rounded after each operation. Part of program.h.
typedef f16 f16x2 __attribute__((ext_vector_type(2)));
typedef f16 f16x4 __attribute__((ext_vector_type(4)));
typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));

#define CONVERTED(x, type) __builtin_convertvector(x, type)

// Integers. Signed ones are added and multiplied as unsigned ones. LLVM up to 15 takes the upper half of some packed constants for 0.
#define SUMS_16(type, unsigned_type)                                                                                 \
  static inline type add_##type(type a, type b) {                                                                    \
    HIDE(b);                                                                                                         \
    return CONVERTED(CONVERTED(a, unsigned_type) + CONVERTED(b, unsigned_type), type);                               \
  }                                                                                                                  \
  static inline type sub_##type(type a, type b) {                                                                    \
    HIDE(b);                                                                                                         \
    return CONVERTED(CONVERTED(a, unsigned_type) - CONVERTED(b, unsigned_type), type);                               \
  }                                                                                                                  \
  static inline type mul_##type(type a, type b) {                                                                    \
    return CONVERTED(CONVERTED(a, unsigned_type) * CONVERTED(b, unsigned_type), type);                               \
  }                                                                                                                  \
  static inline type mad_##type(type a, type b, type c) {                                                            \
    HIDE(c);                                                                                                         \
    return add_##type(mul_##type(a, b), c);                                                                          \
  }                                                                                                                  \
  static inline type shl_##type(type a, type b) {                                                                    \
    return CONVERTED(CONVERTED(a, unsigned_type) << (CONVERTED(b, unsigned_type) & (unsigned_type)((u16)15)), type); \
  }
SUMS_16(u16x2, u16x2)
SUMS_16(i16x2, u16x2)
SUMS_16(u16x4, u16x4)
#define EXTREMES(type)                            \
  static inline type min_##type(type a, type b) { \
    return __builtin_elementwise_min(a, b);       \
  }                                               \
  static inline type max_##type(type a, type b) { \
    return __builtin_elementwise_max(a, b);       \
  }
EXTREMES(u8x4)
EXTREMES(u16x2)
EXTREMES(u16x4)
EXTREMES(u32x2)
EXTREMES(u32x4)
EXTREMES(u64x2)
EXTREMES(i16x2)
// Sums of products, which are v_dot2 and v_dot4 of some targets.
static inline u32 dot_u8x4(u8x4 a, u8x4 b, u32 c) {
  return c + (u32)a.x * b.x + (u32)a.y * b.y + (u32)a.z * b.z + (u32)a.w * b.w;
}
static inline u32 dot_u16x2(u16x2 a, u16x2 b, u32 c) {
  return c + (u32)a.x * b.x + (u32)a.y * b.y;
}
static inline u32 dot_i16x2(i16x2 a, i16x2 b, u32 c) {
  return c + (u32)((i32)a.x * b.x) + (u32)((i32)a.y * b.y);
}

// Halves: what processors have an instruction for, of one and of vectors. The lesser and the greater one of two are numbers if one is.
#if PROGRAM_GPU
#ifdef __HIP__
#define NAMED extern "C"
#else
#define NAMED
#endif
#define OPERATIONS(type, suffix)                                             \
  NAMED type fused_##type(type a, type b, type c) __asm("llvm.fma." suffix); \
  NAMED type lesser_##type(type a, type b) __asm("llvm.minnum." suffix);     \
  NAMED type greater_##type(type a, type b) __asm("llvm.maxnum." suffix);    \
  NAMED type abs_##type(type a) __asm("llvm.fabs." suffix);                  \
  static inline type neg_##type(type a) {                                    \
    return -a;                                                               \
  }
OPERATIONS(f16, "f16")
OPERATIONS(f16x2, "v2f16")
OPERATIONS(f16x4, "v4f16")
SUMS(f16x2, a + b, a - b)
SUMS(f16x4, a + b, a - b)
static inline f16x2 mul_f16x2(f16x2 a, f16x2 b) {
  return a * b;
}
static inline f16x4 mul_f16x4(f16x4 a, f16x4 b) {
  return a * b;
}
#define CONVERSION(to, from, element)         \
  static inline to to##_from_##from(from a) { \
    return CONVERTED(a, to);                  \
  }
#else
// The sum is exact in double precision, or so close to c that it is rounded like it; in single precision it is rounded to odd.
static inline f16 fused_f16(f16 a, f16 b, f16 c) {
  const f64 sum = (f64)(f32)a * (f64)(f32)b + (f64)(f32)c;
  f32 odd = (f32)sum;
  u32 bits = BITS32(odd);
  if (sum == sum && sum - sum == 0 && (f64)odd != sum) {
    if ((odd < 0 ? -(f64)odd : (f64)odd) > (sum < 0 ? -sum : sum)) --bits;
    bits |= 1u;
    memcpy(&odd, &bits, sizeof odd);
  }
  return (f16)odd;
}
static inline f16 lesser_f16(f16 a, f16 b) {
  return (f32)a != (f32)a || (f32)b < (f32)a ? b : a;
}
static inline f16 greater_f16(f16 a, f16 b) {
  return (f32)a != (f32)a || (f32)b > (f32)a ? b : a;
}
static inline f16 neg_f16(f16 a) {
  return (f16)(-(f32)a);
}
static inline f16 abs_f16(f16 a) {
  return (f16)__builtin_fabsf((f32)a);
}
#define EACH(name, parameters2, x2, y2, parameters4, x4, y4, z4, w4)            \
  static inline f16x2 name##_f16x2 parameters2 {                                \
    return (f16x2){name##_f16 x2, name##_f16 y2};                               \
  }                                                                             \
  static inline f16x4 name##_f16x4 parameters4 {                                \
    return (f16x4){name##_f16 x4, name##_f16 y4, name##_f16 z4, name##_f16 w4}; \
  }
#define EACH_1(name) EACH(name, (f16x2 a), (a.x), (a.y), (f16x4 a), (a.x), (a.y), (a.z), (a.w))
#define EACH_2(name)                                                                                             \
  EACH(name, (f16x2 a, f16x2 b), (a.x, b.x), (a.y, b.y), (f16x4 a, f16x4 b), (a.x, b.x), (a.y, b.y), (a.z, b.z), \
       (a.w, b.w))
#define EACH_3(name)                                                                                     \
  EACH(name, (f16x2 a, f16x2 b, f16x2 c), (a.x, b.x, c.x), (a.y, b.y, c.y), (f16x4 a, f16x4 b, f16x4 c), \
       (a.x, b.x, c.x), (a.y, b.y, c.y), (a.z, b.z, c.z), (a.w, b.w, c.w))
EACH_1(neg)
EACH_1(abs)
EACH_2(add)
EACH_2(sub)
EACH_2(mul)
EACH_2(lesser)
EACH_2(greater)
EACH_3(fused)
#define CONVERSION(to, from, element) CONVERSION_##to(to, from, element)
#define CONVERSION_2(to, from, element)       \
  static inline to to##_from_##from(from a) { \
    return (to){element(a.x), element(a.y)};  \
  }
#define CONVERSION_4(to, from, element)                                  \
  static inline to to##_from_##from(from a) {                            \
    return (to){element(a.x), element(a.y), element(a.z), element(a.w)}; \
  }
#define CONVERSION_f16x2 CONVERSION_2
#define CONVERSION_u16x2 CONVERSION_2
#define CONVERSION_i16x2 CONVERSION_2
#define CONVERSION_f16x4 CONVERSION_4
#define CONVERSION_u16x4 CONVERSION_4
#define CONVERSION_f32x4 CONVERSION_4
#endif

// Zeros of both signs are one for minimum and maximum: whose sign the result has is not known, and adding 0 makes it positive.
#define HALVES(type, splat)                                                                      \
  static inline type fma_##type(type a, type b, type c) {                                        \
    return fused_##type(a, b, c);                                                                \
  }                                                                                              \
  static inline type min_##type(type a, type b) {                                                \
    return add_##type(lesser_##type(a, b), splat(0.0f));                                         \
  }                                                                                              \
  static inline type max_##type(type a, type b) {                                                \
    return add_##type(greater_##type(a, b), splat(0.0f));                                        \
  }                                                                                              \
  /* Between two numbers; the first one for what is not a number. */                             \
  static inline type between_##type(type a, f32 least, f32 most) {                               \
    return add_##type(lesser_##type(greater_##type(a, splat(least)), splat(most)), splat(0.0f)); \
  }                                                                                              \
  static inline type clamp_##type(type a) {                                                      \
    return between_##type(a, 0.0f, 1.0f);                                                        \
  }
#define SPLAT_1(x) ((f16)(x))
#define SPLAT_2(x) ((f16x2)((f16)(x)))
#define SPLAT_4(x) ((f16x4)((f16)(x)))
HALVES(f16, SPLAT_1)
HALVES(f16x2, SPLAT_2)
HALVES(f16x4, SPLAT_4)
static inline f16x2 select_f16x2(f16x2 a, f16x2 b, f16x2 c, f16x2 d) {
  return (f16x2){a.x < b.x ? c.x : d.x, a.y < b.y ? c.y : d.y};
}
static inline f16x4 select_f16x4(f16x4 a, f16x4 b, f16x4 c, f16x4 d) {
  return (f16x4){a.x < b.x ? c.x : d.x, a.y < b.y ? c.y : d.y, a.z < b.z ? c.z : d.z, a.w < b.w ? c.w : d.w};
}
// Rounded to single precision, and then to half.
static inline f16 mixed_f16(f16 a, f16 b, f16 c) {
  return (f16)__builtin_fmaf((f32)a, (f32)b, (f32)c);
}

#define HALF_OF_INTEGER(x) ((f16)(f32)(x))
#define SIGNED_OF_HALF(x) ((i16)(f32)(x))
#define UNSIGNED_OF_HALF(x) ((u16)(f32)(x))
CONVERSION(f16x2, u16x2, HALF_OF_INTEGER)
CONVERSION(f16x2, i16x2, HALF_OF_INTEGER)
CONVERSION(f16x4, u16x4, HALF_OF_INTEGER)
CONVERSION(f16x4, u8x4, HALF_OF_INTEGER)
CONVERSION(f16x4, f32x4, (f16))
CONVERSION(f32x4, f16x4, (f32))
CONVERSION(u16x2, f16x2, UNSIGNED_OF_HALF)
CONVERSION(i16x2, f16x2, SIGNED_OF_HALF)
CONVERSION(u16x4, f16x4, UNSIGNED_OF_HALF)
// Of numbers that fit.
static inline f16x2 f16x2_of_u16x2(u16x2 a) {
  return f16x2_from_u16x2(min_u16x2(a, (u16x2)((u16)65000u)));
}
static inline f16x4 f16x4_of_u16x4(u16x4 a) {
  return f16x4_from_u16x4(min_u16x4(a, (u16x4)((u16)65000u)));
}
#define f16x2_of_i16x2 f16x2_from_i16x2
#define f16x4_of_u8x4 f16x4_from_u8x4
static inline f16x4 f16x4_of_f32x4(f32x4 a) {
  return add_f16x4(f16x4_from_f32x4(a), (f16x4){0.0f, 0.0f, 0.0f, 0.0f});  // as f16_of_f32
}
#define f32x4_of_f16x4 f32x4_from_f16x4
static inline u16x2 u16x2_of_f16x2(f16x2 a) {
  return u16x2_from_f16x2(between_f16x2(a, 0.0f, 65000.0f));
}
static inline i16x2 i16x2_of_f16x2(f16x2 a) {
  return i16x2_from_f16x2(between_f16x2(a, -32000.0f, 32000.0f));
}
static inline u16x4 u16x4_of_f16x4(f16x4 a) {
  return u16x4_from_f16x4(between_f16x4(a, 0.0f, 65000.0f));
}
