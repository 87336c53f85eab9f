// Kernels that the tests of the HSA library dispatch.
kernel void add(global uint* out, uint value) {
  out[__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x()] += value;
}

// Compiled for groups of 64 work-items.
__attribute__((amdgpu_flat_work_group_size(1, 64))) kernel void small_groups(global uint* out) {
  out[__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x()] = 7;
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

kernel void read_clock(global ulong* out) { out[0] = __builtin_amdgcn_s_memrealtime(); }

kernel void write_at(global uint* out, long index) { out[index] = 1; }

kernel void add_at_byte(global uchar* out, long byte) {
  __opencl_atomic_fetch_add((global atomic_uint*)(out + byte), 1, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}

kernel void trap(global uint* out) {
  if (out[0] == 0) __builtin_trap();
}

// Takes one from a signal (amd_signal_t), as ROCm's device libraries do: its event id goes to its mailbox, and to the
// host.
kernel void notify(global ulong* signal) {
  if (__builtin_amdgcn_workitem_id_x() != 0) return;
  __opencl_atomic_fetch_sub((global atomic_ulong*)&signal[1], 1, __ATOMIC_RELEASE, __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
  const uint event_id = (uint)signal[3];
  if (signal[2] == 0) return;
  __opencl_atomic_store((global atomic_ulong*)signal[2], event_id, __ATOMIC_RELEASE, __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
  __builtin_amdgcn_s_sendmsg(1, __builtin_amdgcn_readfirstlane(event_id) & 0xff);
}

// In a read-only segment.
constant uint table[64] = {1, 2, 3};

kernel void read_table(global uint* out) {
  const uint i = __builtin_amdgcn_workitem_id_x();
  out[i] = table[i];
}
