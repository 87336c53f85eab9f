// Forward substitution with the sparse lower triangles of a block Jacobi preconditioner: one work-item solves one
// block, row by row. Blocks and rows differ in length; the CSR arrays have what is left of the diagonal.
kernel void sptrsv(global const uint* restrict block_start, global const uint* restrict row_start,
                   global const uint* restrict columns, global const float* restrict values,
                   global const float* restrict inverse_diagonal, global const float* restrict b,
                   global float* restrict x, uint blocks) {
  uint block = get_global_id(0);
  if (block >= blocks) return;
  uint last = block_start[block + 1];
  for (uint row = block_start[block]; row < last; ++row) {
    float sum = b[row];
    uint end = row_start[row + 1];
    for (uint i = row_start[row]; i < end; ++i) sum -= values[i] * x[columns[i]];
    x[row] = sum * inverse_diagonal[row];
  }
}
