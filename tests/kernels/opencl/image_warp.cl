// A picture turned and scaled, with a bilinear filter. The steps are in 1/256 of a pixel, as the hardware's weights are.
constant sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void image_warp(read_only image2d_t in, write_only image2d_t out, int4 steps, int2 start, int width, int height) {
  int x = get_global_id(0);
  int y = get_global_id(1);
  if (x >= width || y >= height) return;
  int u = start.x + steps.x * x + steps.y * y;
  int v = start.y + steps.z * x + steps.w * y;
  float2 at = (float2)((float)u, (float)v) * 0x1p-8f;
  write_imagef(out, (int2)(x, y), read_imagef(in, linear, at));
}
