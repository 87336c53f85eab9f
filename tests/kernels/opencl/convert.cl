// Conversions between formats with explicit rounding and saturation.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void convert(global const float* restrict in, global int* restrict ints, global double* restrict doubles,
                    global half* restrict halves, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float v = in[i];
  global int* r = ints + i * 10;
  r[0] = convert_int_sat_rtz(v);
  r[1] = convert_int_sat_rte(v);
  r[2] = (int)convert_uint_sat_rtz(v);
  r[3] = convert_uchar_sat_rte(v);
  r[4] = convert_short_sat_rtz(v);
  r[5] = convert_char_sat_rtp(v);
  r[6] = convert_int_sat_rtz((double)v * 3.0);
  r[7] = as_int(convert_float_rte(r[0] ^ 0x5555));
  r[8] = as_int(convert_float_rte((uint)r[0] * 3u));
  r[9] = as_int((float)((double)v * 1.0000001));
  doubles[3 * i] = (double)v;
  doubles[3 * i + 1] = convert_double(r[0]) + convert_double((uint)r[2]);
  doubles[3 * i + 2] = rint((double)v * 0.5) + floor((double)v) + trunc((double)v) + ceil((double)v);
  vstore_half_rte(v, 2 * i, halves);
  vstore_half_rte(vload_half(2 * i, halves) * 0.5f, 2 * i + 1, halves);
}
