// Unsharp masking of colours: the pixel and its eight neighbours.
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void image_sharpen(read_only image2d_t in, write_only image2d_t out, float amount, int width, int height) {
  int x = get_global_id(0);
  int y = get_global_id(1);
  if (x >= width || y >= height) return;
  float4 sum = (float4)(0.0f);
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      sum += (float)((2 - abs(dx)) * (2 - abs(dy))) * read_imagef(in, nearest, (int2)(x + dx, y + dy));
  float4 here = read_imagef(in, nearest, (int2)(x, y));
  float4 sharp = here + amount * (here - sum * 0.0625f);
  write_imagef(out, (int2)(x, y), (float4)(sharp.xyz, here.w));
}
