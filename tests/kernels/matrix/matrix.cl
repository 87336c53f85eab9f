// C = A * B by matrix instructions, every wave 2 x 2 of their results. A and B are packed as GEMM libraries do it: panels
// of as many rows of A, columns of B, as a wave works on; in each, `TOGETHER` consecutive k of a row or column are one
// element of the array: [k / TOGETHER][row]. m and n are multiples of a panel's width, k of what an iteration adds.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef float f16x __attribute__((ext_vector_type(16)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef half h4 __attribute__((ext_vector_type(4)));

// SIZE: rows and columns of an instruction's result, of which a lane has ROWS elements (SUMS), the r-th in row ROW(r).
#define MATRIX_KERNEL(NAME, FACTOR, TOGETHER, ELEMENT, SUMS, SIZE, ROWS, ROW, MFMA, UNROLLED)                       \
  __attribute__((reqd_work_group_size(64, 1, 1))) kernel void NAME(global const FACTOR* restrict a,                \
                                                                   global const FACTOR* restrict b,                \
                                                                   global ELEMENT* restrict c, uint m, uint n,     \
                                                                   uint k) {                                       \
    const uint lane = get_local_id(0);                                                                             \
    const uint row = 2 * SIZE * get_group_id(1), column = 2 * SIZE * get_group_id(0);                              \
    global const FACTOR* pa = a + row * (k / TOGETHER) + lane % SIZE + lane / SIZE * 2 * SIZE;                     \
    global const FACTOR* pb = b + column * (k / TOGETHER) + lane % SIZE + lane / SIZE * 2 * SIZE;                  \
    SUMS c00 = 0, c01 = 0, c10 = 0, c11 = 0;                                                                       \
    for (uint i = 0; i < k; i += UNROLLED * (64 / SIZE) * TOGETHER) {                                              \
      _Pragma("unroll") for (uint j = 0; j < UNROLLED; ++j) {                                                      \
        const FACTOR a0 = pa[0], a1 = pa[SIZE], b0 = pb[0], b1 = pb[SIZE];                                         \
        c00 = MFMA(a0, b0, c00, 0, 0, 0);                                                                          \
        c01 = MFMA(a0, b1, c01, 0, 0, 0);                                                                          \
        c10 = MFMA(a1, b0, c10, 0, 0, 0);                                                                          \
        c11 = MFMA(a1, b1, c11, 0, 0, 0);                                                                          \
        pa += 128;                                                                                                 \
        pb += 128;                                                                                                 \
      }                                                                                                            \
    }                                                                                                              \
    _Pragma("unroll") for (uint r = 0; r < ROWS; ++r) {                                                            \
      global ELEMENT* p = c + (row + ROW(r)) * n + column + lane % SIZE;                                           \
      p[0] = c00[r];                                                                                               \
      p[SIZE] = c01[r];                                                                                            \
      p[SIZE * n] = c10[r];                                                                                        \
      p[SIZE * n + SIZE] = c11[r];                                                                                 \
    }                                                                                                              \
  }

// Groups of four rows: of 32 by halves of the wave, of 16 by its quarters. In f64 a register has rows four apart.
#define ROW_OF_32(r) (8 * ((r) / 4) + 4 * (lane / 32) + (r) % 4)
#define ROW_OF_16(r) (4 * (lane / 16) + (r))
#define ROW_OF_F64(r) (4 * (r) + lane / 16)

MATRIX_KERNEL(matrix_f32, float, 1, float, f16x, 32, 16, ROW_OF_32, __builtin_amdgcn_mfma_f32_32x32x2f32, 8)
MATRIX_KERNEL(matrix_f16, h4, 4, float, f16x, 32, 16, ROW_OF_32, __builtin_amdgcn_mfma_f32_32x32x8f16, 4)
MATRIX_KERNEL(matrix_i8, int, 4, int, i4, 16, 4, ROW_OF_16, __builtin_amdgcn_mfma_i32_16x16x16i8, 4)
#ifdef __gfx90a__
MATRIX_KERNEL(matrix_f64, double, 1, double, d4, 16, 4, ROW_OF_F64, __builtin_amdgcn_mfma_f64_16x16x4f64, 8)
#endif
