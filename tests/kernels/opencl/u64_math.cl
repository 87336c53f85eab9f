// 64-bit integer arithmetic: products, high halves, quotients, remainders, shifts, counts, comparisons.
kernel void u64_math(global const ulong* restrict a, global const ulong* restrict b, global ulong* restrict out, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  ulong x = a[i], y = b[i];
  long sx = (long)x, sy = (long)y;
  global ulong* r = out + i * 14;
  uint shift = (uint)y & 63u;
  r[0] = x * y;
  r[1] = mul_hi(x, y);
  r[2] = (ulong)mul_hi(sx, sy);
  r[3] = y ? x / y : 0;
  r[4] = y ? x % y : 0;
  r[5] = (sy && sy != -1) ? (ulong)(sx / sy) : 0;
  r[6] = (sy && sy != -1) ? (ulong)(sx % sy) : 0;
  r[7] = x << shift;
  r[8] = x >> shift;
  r[9] = (ulong)(sx >> shift);
  r[10] = clz(x) + (popcount(y) << 8);
  r[11] = (ulong)(sx < sy) | ((ulong)(x < y) << 1) | ((ulong)(x == y) << 2);
  r[12] = rotate(x, (ulong)shift) + (x - y);
  r[13] = add_sat(x, y) ^ sub_sat(x, y);
}
