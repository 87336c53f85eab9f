// STREAM triad on float4 with a grid-stride loop.
kernel void triad(global float4* restrict a, global const float4* restrict b, global const float4* restrict c, float s,
                  uint n4) {
  for (uint i = get_global_id(0); i < n4; i += get_global_size(0)) a[i] = b[i] + s * c[i];
}
