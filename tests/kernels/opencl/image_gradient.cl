// Morphological gradient of bytes: the largest minus the smallest of a 5 x 5 neighbourhood, in each channel.
kernel void image_gradient(read_only image2d_t in, write_only image2d_t out, int width, int height) {
  int x = get_global_id(0);
  int y = get_global_id(1);
  if (x >= width || y >= height) return;
  uint4 least = (uint4)(255), most = (uint4)(0);
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      uint4 pixel = read_imageui(in, (int2)(clamp(x + dx, 0, width - 1), clamp(y + dy, 0, height - 1)));
      least = min(least, pixel);
      most = max(most, pixel);
    }
  write_imageui(out, (int2)(x, y), most - least);
}
