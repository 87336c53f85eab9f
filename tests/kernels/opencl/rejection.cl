// Points evenly in an ellipse, by rejection: draw from the square around it until one is inside. Each work-item has its
// generator (xorshift32) and its ellipse, and sums up the second moments of `wanted` points; the last result counts
// draws.
kernel void rejection(global const uint* restrict seeds, global const uint2* restrict shapes,
                      global int4* restrict moments, uint wanted, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint state = seeds[i];
  uint2 shape = shapes[i];
  int xx = 0, yy = 0, xy = 0, draws = 0;
  for (uint k = 0; k < wanted; ++k) {
    int x, y;
    do {
      state ^= state << 13;
      state ^= state >> 17;
      state ^= state << 5;
      x = (int)(state >> 20) - 2048;
      y = (int)((state >> 8) & 4095) - 2048;
      ++draws;
    } while ((uint)(x * x) * shape.x + (uint)(y * y) * shape.y > (1u << 22));
    xx += x * x;
    yy += y * y;
    xy += x * y;
  }
  moments[i] = (int4)(xx, yy, xy, draws);
}
