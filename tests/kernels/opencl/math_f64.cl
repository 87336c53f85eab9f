// The double-precision math library.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void math_f64(global const double* restrict in, global const double* restrict in2, global double* restrict out,
                     uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  double x = in[i], y = in2[i];
  double ax = fabs(x) + 1.0e-3;
  global double* r = out + i * 8;
  r[0] = exp(x * 0.25);
  r[1] = log(ax);
  r[2] = sqrt(ax);
  r[3] = x / y;
  r[4] = fma(x, y, ax);
  r[5] = sin(x);
  r[6] = fmin(x, y) + fmax(x, y) * 0.5;
  r[7] = ldexp(x, (int)(y)) + rint(y * 4.0);
}
