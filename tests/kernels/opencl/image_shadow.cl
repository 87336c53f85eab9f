// How far a landscape of heights is in the shadow: marches towards the light, through filtered heights. The steps are in 1/256
// of a pixel.
constant sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void image_shadow(read_only image2d_t heights, global float* light, int2 towards, float rise, int steps, int width,
                         int height) {
  int x = get_global_id(0);
  int y = get_global_id(1);
  if (x >= width || y >= height) return;
  float2 at = (float2)(x + 0.5f, y + 0.5f);
  float2 step = convert_float2(towards) * 0x1p-8f;
  float ray = read_imagef(heights, linear, at).x;
  float covered = 0.0f;
  for (int i = 0; i < steps; ++i) {
    at += step;
    ray += rise;
    covered = max(covered, read_imagef(heights, linear, at).x - ray);
  }
  light[y * width + x] = 1.0f / (1.0f + covered);
}
