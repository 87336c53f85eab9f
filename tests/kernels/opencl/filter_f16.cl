// Unsharp masking of a half-precision image in half arithmetic, two pixels per work-item (packed on GFX9).
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

kernel void filter_f16(global const half* restrict in, global half* restrict out, uint width, uint height,
                       half amount) {
  uint x = get_global_id(0) * 2;
  uint y = get_global_id(1);
  if (x == 0 || y == 0 || x + 2 >= width || y + 1 >= height) return;
  global const half* p = in + y * width + x;
  half2 centre = (half2)(p[0], p[1]);
  half2 left = (half2)(p[-1], p[0]);
  half2 right = (half2)(p[1], p[2]);
  half2 up = (half2)(p[-(int)width], p[1 - (int)width]);
  half2 down = (half2)(p[width], p[width + 1]);
  half2 mean = ((left + right) + (up + down)) * (half2)0.25h;
  half2 sharp = centre + (centre - mean) * (half2)amount;
  sharp = fmin(fmax(sharp, (half2)0.0h), (half2)1.0h);
  out[y * width + x] = sharp.x;
  out[y * width + x + 1] = sharp.y;
}
