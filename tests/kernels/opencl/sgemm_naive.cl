// C = alpha * A * B + beta * C, row-major, one work-item per element of C.
kernel void sgemm_naive(uint m, uint n, uint k, float alpha, global const float* restrict a,
                        global const float* restrict b, float beta, global float* restrict c) {
  uint col = get_global_id(0);
  uint row = get_global_id(1);
  if (row >= m || col >= n) return;
  float sum = 0.0f;
  for (uint i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = alpha * sum + beta * c[row * n + col];
}
