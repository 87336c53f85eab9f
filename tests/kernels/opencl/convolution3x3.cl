// 3x3 convolution of a float image, edges clamped; weights in the constant address space.
kernel void convolution3x3(global const float* restrict in, global float* restrict out, constant float* weights,
                           int width, int height) {
  int x = get_global_id(0);
  int y = get_global_id(1);
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  for (int dy = -1; dy <= 1; ++dy) {
    int yy = clamp(y + dy, 0, height - 1);
    for (int dx = -1; dx <= 1; ++dx) {
      int xx = clamp(x + dx, 0, width - 1);
      sum += weights[(dy + 1) * 3 + dx + 1] * in[yy * width + xx];
    }
  }
  out[y * width + x] = sum;
}
