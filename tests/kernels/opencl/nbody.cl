// One leap-frog step of the all-pairs gravitational n-body problem; positions staged through local memory.
// pos.w is the mass. n is a multiple of the work-group size.
#define GROUP 64

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void nbody(global const float4* restrict pos,
                                                                     global const float4* restrict vel,
                                                                     global float4* restrict new_pos,
                                                                     global float4* restrict new_vel, uint n, float dt,
                                                                     float softening2) {
  local float4 tile[GROUP];
  uint i = get_global_id(0);
  uint l = get_local_id(0);
  float4 p = pos[i];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (uint base = 0; base < n; base += GROUP) {
    tile[l] = pos[base + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = 0; j < GROUP; ++j) {
      float4 q = tile[j];
      float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
      float r2 = dx * dx + dy * dy + dz * dz + softening2;
      float inv = native_rsqrt(r2);
      float s = q.w * inv * inv * inv;
      ax += s * dx;
      ay += s * dy;
      az += s * dz;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float4 v = vel[i];
  v.x += ax * dt;
  v.y += ay * dt;
  v.z += az * dt;
  new_vel[i] = v;
  new_pos[i] = (float4)(p.x + v.x * dt, p.y + v.y * dt, p.z + v.z * dt, p.w);
}
