// The single-precision math library.
#pragma OPENCL FP_CONTRACT OFF
kernel void math_f32(global const float* restrict in, global const float* restrict in2, global float* restrict out,
                     uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float x = in[i], y = in2[i];
  float ax = fabs(x) + 1.0e-3f;
  global float* r = out + i * 16;
  r[0] = sin(x);
  r[1] = cos(x);
  r[2] = exp(x * 0.25f);
  r[3] = log(ax);
  r[4] = pow(ax, y * 0.125f);
  r[5] = sqrt(ax);
  r[6] = rsqrt(ax);
  r[7] = atan2(x, y);
  r[8] = fmod(x, ax * 0.37f + fabs(y));
  r[9] = x / y;
  int e;
  r[10] = frexp(x, &e);
  r[11] = ldexp(y, e - 3);
  r[12] = fma(x, y, ax);
  r[13] = tanh(x * 0.1f);
  r[14] = cbrt(x);
  r[15] = hypot(x, y);
}
