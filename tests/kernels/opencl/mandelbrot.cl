// Escape-time Mandelbrot picture, RGBA8. Contraction is off so that the iteration counts are the same everywhere.
#pragma OPENCL FP_CONTRACT OFF

kernel void mandelbrot(global uchar4* restrict image, uint width, uint height, float center_x, float center_y,
                       float scale, uint max_iterations) {
  uint x = get_global_id(0);
  uint y = get_global_id(1);
  if (x >= width || y >= height) return;
  float cx = center_x + ((float)x - 0.5f * (float)width) * scale;
  float cy = center_y + ((float)y - 0.5f * (float)height) * scale;
  float zx = 0.0f, zy = 0.0f;
  uint n = 0;
  while (n < max_iterations) {
    float xx = zx * zx, yy = zy * zy;
    if (xx + yy > 4.0f) break;
    zy = 2.0f * (zx * zy) + cy;
    zx = xx - yy + cx;
    ++n;
  }
  uchar4 colour = (uchar4)(0, 0, 0, 255);
  if (n < max_iterations) {
    uint t = (n * 11u) & 511u;
    uint ramp = t < 256u ? t : 511u - t;
    colour.x = (uchar)((ramp * ramp) >> 8);
    colour.y = (uchar)((ramp * 3u) >> 2);
    colour.z = (uchar)(255u - (ramp >> 1));
  }
  image[y * width + x] = colour;
}
