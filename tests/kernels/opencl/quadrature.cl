// Adaptive Simpson quadrature of height / (1 + sharpness * (x - centre)^2) + slope * x, one integral per work-item: the
// left half of an interval is next, the right one waits on a stack.
#define DEPTH 20

typedef struct {
  float start, width, f_start, f_middle, f_end, simpson;
} Interval;

float integrand(float4 p, float x) {
  float d = x - p.z;
  return p.x / (1.0f + p.y * (d * d)) + p.w * x;
}

kernel void quadrature(global const float4* restrict parameters, global const float2* restrict ranges,
                       global float* restrict integrals, global uint* restrict evaluations, float tolerance, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float4 p = parameters[i];
  float2 range = ranges[i];
  Interval stack[DEPTH], now;
  uint top = 0, evaluated = 3;
  now.start = range.x;
  now.width = range.y - range.x;
  now.f_start = integrand(p, range.x);
  now.f_middle = integrand(p, range.x + 0.5f * now.width);
  now.f_end = integrand(p, range.y);
  now.simpson = now.width * (1.0f / 6.0f) * (now.f_start + 4.0f * now.f_middle + now.f_end);
  float narrowest = now.width * 0x1p-19f, widest = now.width * 0x1p-3f;  // so that no resonance is overlooked
  float sum = 0.0f;
  while (true) {
    float half_width = 0.5f * now.width;
    float f_left = integrand(p, now.start + 0.5f * half_width);
    float f_right = integrand(p, now.start + 1.5f * half_width);
    float left = half_width * (1.0f / 6.0f) * (now.f_start + 4.0f * f_left + now.f_middle);
    float right = half_width * (1.0f / 6.0f) * (now.f_middle + 4.0f * f_right + now.f_end);
    float difference = left + right - now.simpson;
    evaluated += 2;
    bool good = now.width <= widest && fabs(difference) <= 15.0f * tolerance * now.width;
    if (good || now.width <= narrowest) {
      sum += left + right + difference * (1.0f / 15.0f);
      if (top == 0) break;
      now = stack[--top];
    } else {
      Interval later = {now.start + half_width, half_width, now.f_middle, f_right, now.f_end, right};
      stack[top++] = later;
      now.width = half_width;
      now.f_end = now.f_middle;
      now.f_middle = f_left;
      now.simpson = left;
    }
  }
  integrals[i] = sum;
  evaluations[i] = evaluated;
}
