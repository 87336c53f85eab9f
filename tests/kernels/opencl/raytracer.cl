// A small Whitted ray tracer: eight spheres over a chequered floor, one light, hard shadows, up to four reflections.
// Writes RGBA8, row 0 at the top.
typedef struct {
  float4 sphere;  // centre and radius
  float4 colour;  // rgb and reflectivity
} Sphere;

#define SPHERES 8
#define FAR_AWAY 1.0e20f

// Distance to the nearest sphere along the ray; its index goes to *hit (-1: none).
float nearest_sphere(constant Sphere* spheres, float3 origin, float3 direction, int* hit) {
  float best = FAR_AWAY;
  *hit = -1;
  for (int i = 0; i < SPHERES; ++i) {
    float3 oc = origin - spheres[i].sphere.xyz;
    float b = dot(oc, direction);
    float c = dot(oc, oc) - spheres[i].sphere.w * spheres[i].sphere.w;
    float disc = b * b - c;
    if (disc > 0.0f) {
      float t = -b - sqrt(disc);
      if (t > 1.0e-3f && t < best) {
        best = t;
        *hit = i;
      }
    }
  }
  return best;
}

kernel void raytracer(constant Sphere* spheres, global uchar4* restrict image, uint width, uint height, float4 light) {
  uint px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height) return;
  float aspect = (float)width / (float)height;
  float3 origin = (float3)(0.0f, 1.2f, -5.0f);
  float3 direction = normalize((float3)(((px + 0.5f) / width * 2.0f - 1.0f) * aspect,
                                        1.0f - (py + 0.5f) / height * 2.0f, 1.8f));
  float3 colour = (float3)(0.0f);
  float weight = 1.0f;
  for (int bounce = 0; bounce < 4; ++bounce) {
    int hit;
    float t = nearest_sphere(spheres, origin, direction, &hit);
    float floor_t = direction.y < -1.0e-4f ? -origin.y / direction.y : FAR_AWAY;
    if (hit < 0 && floor_t >= 60.0f) {
      float up = 0.5f * (direction.y + 1.0f);
      colour += weight * ((1.0f - up) * (float3)(1.0f, 1.0f, 1.0f) + up * (float3)(0.35f, 0.55f, 0.95f));
      break;
    }
    float3 point, normal, surface;
    float mirror;
    if (floor_t < t) {
      point = origin + floor_t * direction;
      normal = (float3)(0.0f, 1.0f, 0.0f);
      int cell = (int)floor(point.x) + (int)floor(point.z);
      surface = (cell & 1) ? (float3)(0.9f, 0.9f, 0.85f) : (float3)(0.15f, 0.15f, 0.2f);
      mirror = 0.15f;
    } else {
      point = origin + t * direction;
      normal = (point - spheres[hit].sphere.xyz) / spheres[hit].sphere.w;
      surface = spheres[hit].colour.xyz;
      mirror = spheres[hit].colour.w;
    }
    float3 to_light = light.xyz - point;
    float distance = sqrt(dot(to_light, to_light));
    to_light /= distance;
    float diffuse = fmax(dot(normal, to_light), 0.0f);
    int blocker;
    float shadow_t = nearest_sphere(spheres, point + 1.0e-3f * normal, to_light, &blocker);
    if (blocker >= 0 && shadow_t < distance) diffuse = 0.0f;
    float3 reflected = direction - 2.0f * dot(direction, normal) * normal;
    float glint = fmax(dot(reflected, to_light), 0.0f);
    glint = glint * glint * glint * glint;
    glint = glint * glint * glint * glint;
    float3 shade = surface * (0.12f + 0.88f * light.w * diffuse);
    if (diffuse > 0.0f) shade += (float3)(0.6f * glint);
    colour += weight * (1.0f - mirror) * shade;
    weight *= mirror;
    if (weight < 0.02f) break;
    origin = point + 1.0e-3f * normal;
    direction = reflected;
  }
  colour = clamp(sqrt(colour), 0.0f, 1.0f) * 255.0f;
  image[py * width + px] = (uchar4)((uchar)(colour.x + 0.5f), (uchar)(colour.y + 0.5f), (uchar)(colour.z + 0.5f), 255);
}
