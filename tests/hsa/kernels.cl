// Kernels that the tests of the HSA library dispatch.
kernel void add(global uint* out, uint value) {
  out[__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x()] += value;
}

kernel void until(global volatile uint* flag, global uint* out) {
  while (*flag == 0) {
  }
  out[0] = 1;
}

kernel void write_at(global uint* out, long index) { out[index] = 1; }

kernel void trap(global uint* out) {
  if (out[0] == 0) __builtin_trap();
}
