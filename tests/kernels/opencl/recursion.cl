// Real recursion on the scratch stack, with a depth that differs from lane to lane.
__attribute__((noinline)) uint binomial(uint n, uint k) {
  if (k == 0 || k >= n) return 1;
  return binomial(n - 1, k - 1) + binomial(n - 1, k);
}

__attribute__((noinline)) uint ackermann(uint m, uint n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

// Mutual recursion with an array in every frame.
uint odd_depth(uint n, uint salt);
__attribute__((noinline)) uint even_depth(uint n, uint salt) {
  uint frame[4] = {n, salt, n ^ salt, n + salt};
  if (n == 0) return salt;
  return odd_depth(n - 1, frame[salt & 3] * 3 + 1) + frame[n & 3];
}
__attribute__((noinline)) uint odd_depth(uint n, uint salt) {
  if (n == 0) return salt ^ 0x55u;
  return even_depth(n - 1, salt + n) ^ (salt << 1);
}

kernel void recursion(global uint* restrict out, uint depth) {
  uint i = get_global_id(0);
  out[3 * i] = binomial(i % (depth + 1), (i / 3) % 5);
  out[3 * i + 1] = ackermann(i % 3, (i >> 2) % 4);
  out[3 * i + 2] = even_depth(i % (depth + 3), i * 2654435761u);
}
