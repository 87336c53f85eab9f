// Kernels that the tests of the HSA library dispatch.
kernel void add(global uint* out, uint value) {
  out[__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x()] += value;
}

// Kernels beside each other: one waits until another has raised the flag.
kernel void until(global atomic_uint* flag, global uint* out) {
  while (__opencl_atomic_fetch_or(flag, 0, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE) == 0) {
  }
  out[0] = 1;
}
kernel void raise(global atomic_uint* flag) {
  __opencl_atomic_fetch_or(flag, 1, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}

kernel void write_at(global uint* out, long index) { out[index] = 1; }

kernel void trap(global uint* out) {
  if (out[0] == 0) __builtin_trap();
}
