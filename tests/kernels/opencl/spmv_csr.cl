// y = A * x for a sparse matrix in CSR form, one row per work-item: rows of differing length diverge.
kernel void spmv_csr(global const uint* restrict row_start, global const uint* restrict columns,
                     global const float* restrict values, global const float* restrict x, global float* restrict y,
                     uint rows) {
  uint row = get_global_id(0);
  if (row >= rows) return;
  float sum = 0.0f;
  uint end = row_start[row + 1];
  for (uint i = row_start[row]; i < end; ++i) sum += values[i] * x[columns[i]];
  y[row] = sum;
}
