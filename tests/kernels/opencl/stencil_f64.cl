// One Jacobi step of the 7-point heat equation in double precision; the boundary is copied.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void stencil_f64(global const double* restrict in, global double* restrict out, uint nx, uint ny, uint nz,
                        double c0, double c1) {
  uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x >= nx || y >= ny || z >= nz) return;
  uint i = (z * ny + y) * nx + x;
  if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) {
    out[i] = in[i];
    return;
  }
  double sum = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny];
  out[i] = c0 * in[i] + c1 * sum;
}
