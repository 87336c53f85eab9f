// Rays against a bounding volume hierarchy of spheres: the nearest hit of each ray, with a private stack of nodes.
#pragma OPENCL FP_CONTRACT OFF

typedef struct {
  float low[3];
  uint first;  // of an inner node: the first of its two children; of a leaf: its first sphere
  float high[3];
  uint count;  // spheres of a leaf; 0 for an inner node
} Node;

typedef struct {
  float origin[3];
  float limit;
  float direction[3];  // of length 1
  float unused;
} Ray;

#define STACK 32
#define FAR_AWAY 1.0e30f

// Where the ray enters the box; FAR_AWAY if it does not, or not before `limit`.
float enter_box(global const Node* node, float3 origin, float3 inverse, float limit) {
  float x0 = (node->low[0] - origin.x) * inverse.x, x1 = (node->high[0] - origin.x) * inverse.x;
  float y0 = (node->low[1] - origin.y) * inverse.y, y1 = (node->high[1] - origin.y) * inverse.y;
  float z0 = (node->low[2] - origin.z) * inverse.z, z1 = (node->high[2] - origin.z) * inverse.z;
  float enter = fmax(fmax(fmin(x0, x1), fmin(y0, y1)), fmax(fmin(z0, z1), 0.0f));
  float leave = fmin(fmin(fmax(x0, x1), fmax(y0, y1)), fmin(fmax(z0, z1), limit));
  return enter <= leave ? enter : FAR_AWAY;
}

kernel void bvh_trace(global const Node* restrict nodes, global const float4* restrict spheres,
                      global const Ray* restrict rays, global int* restrict hit_id, global float* restrict hit_distance,
                      uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float3 origin = (float3)(rays[i].origin[0], rays[i].origin[1], rays[i].origin[2]);
  float3 direction = (float3)(rays[i].direction[0], rays[i].direction[1], rays[i].direction[2]);
  float3 inverse = (float3)(1.0f / direction.x, 1.0f / direction.y, 1.0f / direction.z);
  float best = rays[i].limit;
  int hit = -1;
  uint stack[STACK];
  uint depth = 0;
  uint index = 0;
  while (true) {
    global const Node* node = &nodes[index];
    if (node->count == 0) {
      uint near_child = node->first, far_child = node->first + 1;
      float near_enter = enter_box(&nodes[near_child], origin, inverse, best);
      float far_enter = enter_box(&nodes[far_child], origin, inverse, best);
      if (far_enter < near_enter) {
        float enter = near_enter;
        near_enter = far_enter;
        far_enter = enter;
        uint child = near_child;
        near_child = far_child;
        far_child = child;
      }
      if (near_enter < FAR_AWAY) {
        if (far_enter < FAR_AWAY) stack[depth++] = far_child;
        index = near_child;
        continue;
      }
    } else {
      for (uint s = node->first; s < node->first + node->count; ++s) {
        float4 sphere = spheres[s];
        float x = sphere.x - origin.x, y = sphere.y - origin.y, z = sphere.z - origin.z;
        float along = x * direction.x + y * direction.y + z * direction.z;
        float px = x - along * direction.x, py = y - along * direction.y, pz = z - along * direction.z;
        float disc = sphere.w * sphere.w - (px * px + py * py + pz * pz);
        if (disc <= 0.0f) continue;
        float half_chord = sqrt(disc);
        float t = along - half_chord;
        if (t < 0.0f) t = along + half_chord;
        if (t >= 0.0f && t < best) {
          best = t;
          hit = (int)s;
        }
      }
    }
    if (depth == 0) break;
    index = stack[--depth];
  }
  hit_id[i] = hit;
  hit_distance[i] = best;
}
