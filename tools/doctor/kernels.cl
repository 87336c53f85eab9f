// Kernels of the self-test of `wavejit doctor`, in groups of 256 work-items. scripts/make-fixtures.sh compiles them to kernels.co.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define GROUP __attribute__((reqd_work_group_size(256, 1, 1))) kernel void

static uint global_id(void) { return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); }

GROUP vector_add(global const float *a, global const float *b, global float *out) {
  const uint i = global_id();
  out[i] = a[i] + b[i];
}

// Reverses each group's elements by way of LDS.
GROUP reverse_groups(global const uint *in, global uint *out) {
  local uint tile[256];
  const uint lane = __builtin_amdgcn_workitem_id_x();
  tile[lane] = in[global_id()];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[global_id()] = tile[255 - lane];
}

// Counts values in 16 bins: in LDS, then in memory.
GROUP histogram(global const uint *in, global atomic_uint *bins) {
  local atomic_uint counts[16];
  const uint lane = __builtin_amdgcn_workitem_id_x();
  if (lane < 16) __opencl_atomic_store(&counts[lane], 0, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_WORK_GROUP);
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  __opencl_atomic_fetch_add(&counts[in[global_id()] % 16], 1, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_WORK_GROUP);
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  if (lane < 16)
    __opencl_atomic_fetch_add(&bins[lane], __opencl_atomic_load(&counts[lane], __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_WORK_GROUP),
                              __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}

// Products and quotients that round.
GROUP doubles(global const double *a, global const double *b, global double *out) {
  const uint i = global_id();
  out[i] = __builtin_fma(a[i], b[i], 1.0) / (a[i] + 3.0);
}

GROUP write_at(global uint *out, long index) { out[index] = 1; }
