// Sobel edge strength of an RGBA8 image, on its luma; integer arithmetic throughout.
int luma(uchar4 c) { return (77 * c.x + 150 * c.y + 29 * c.z) >> 8; }

kernel void filter_u8(global const uchar4* restrict in, global uchar4* restrict out, int width, int height) {
  int x = get_global_id(0);
  int y = get_global_id(1);
  if (x >= width || y >= height) return;
  int p[3][3];
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx)
      p[dy][dx] = luma(in[clamp(y + dy - 1, 0, height - 1) * width + clamp(x + dx - 1, 0, width - 1)]);
  int gx = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
  int gy = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
  uchar edge = convert_uchar_sat((int)(abs(gx) + abs(gy)));
  uchar4 source = in[y * width + x];
  out[y * width + x] = (uchar4)(edge, add_sat(edge, source.y), source.z - min(edge, source.z), source.w);
}
