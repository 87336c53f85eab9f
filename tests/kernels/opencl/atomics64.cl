// 64-bit atomics, on global memory and on local memory, with and without use of the old value.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

// cells: 0 add, 1 sub, 2 min, 3 max, 4 and, 5 or, 6 xor, 7 inc, 8 compare-and-swap counter, 9 signed min, 10 signed max
kernel __attribute__((reqd_work_group_size(128, 1, 1))) void atomics64(global const ulong* restrict in,
                                                                       global ulong* cells,
                                                                       global ulong* restrict tickets) {
  local ulong shared_sum;
  local ulong shared_max;
  uint i = get_global_id(0);
  uint l = get_local_id(0);
  if (l == 0) {
    shared_sum = 0;
    shared_max = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  ulong v = in[i];
  atom_add(&shared_sum, v);
  atom_max(&shared_max, v);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    atom_add(&cells[0], shared_sum);
    atom_max(&cells[3], shared_max);
  }
  atom_sub(&cells[1], v);
  atom_min(&cells[2], v);
  atom_and(&cells[4], v | 0xff000000ff00ul);
  atom_or(&cells[5], v & 0x1000000010000001ul);
  atom_xor(&cells[6], v);
  tickets[i] = atom_inc(&cells[7]);
  if ((i & 7) == 3) {
    ulong seen = cells[8];
    ulong old;
    do {
      old = seen;
      seen = atom_cmpxchg(&cells[8], old, old + (v >> 32));
    } while (seen != old);
  }
  atom_min((global long*)&cells[9], (long)v);
  atom_max((global long*)&cells[10], (long)v);
}
