// Pictures: generated ones and filters.
#include <algorithm>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

struct Vec {
  float x, y, z;
};
Vec operator+(Vec a, Vec b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
Vec operator-(Vec a, Vec b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
Vec operator*(Vec a, float s) {
  return {a.x * s, a.y * s, a.z * s};
}
float dot(Vec a, Vec b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
float length(Vec a) {
  return std::sqrt(dot(a, a));
}

struct Sphere {
  float x, y, z, radius;
  float red, green, blue, mirror;
};

const std::vector<Sphere>& scene() {
  static const std::vector<Sphere> kScene = {
      {0.0f, 1.0f, 0.0f, 1.0f, 0.9f, 0.9f, 0.95f, 0.6f},    {-2.1f, 0.7f, 0.6f, 0.7f, 0.9f, 0.25f, 0.2f, 0.2f},
      {2.0f, 0.6f, -0.4f, 0.6f, 0.2f, 0.45f, 0.9f, 0.25f},  {-0.9f, 0.35f, -1.6f, 0.35f, 0.95f, 0.8f, 0.2f, 0.15f},
      {0.9f, 0.3f, -1.8f, 0.3f, 0.25f, 0.8f, 0.35f, 0.15f}, {3.2f, 1.2f, 2.5f, 1.2f, 0.8f, 0.5f, 0.9f, 0.35f},
      {-3.6f, 1.4f, 3.0f, 1.4f, 0.9f, 0.6f, 0.3f, 0.3f},    {0.0f, 0.2f, -2.4f, 0.2f, 0.9f, 0.4f, 0.6f, 0.1f}};
  return kScene;
}

float nearest(Vec origin, Vec direction, int* hit) {
  float best = 1.0e20f;
  *hit = -1;
  for (int i = 0; i < 8; ++i) {
    const Sphere& s = scene()[i];
    Vec oc = origin - Vec{s.x, s.y, s.z};
    float b = dot(oc, direction), disc = b * b - (dot(oc, oc) - s.radius * s.radius);
    if (disc <= 0) continue;
    float t = -b - std::sqrt(disc);
    if (t > 1.0e-3f && t < best) {
      best = t;
      *hit = i;
    }
  }
  return best;
}

Vec trace(Vec origin, Vec direction, const float* light) {
  Vec colour{0, 0, 0};
  float weight = 1;
  for (int bounce = 0; bounce < 4; ++bounce) {
    int hit;
    float t = nearest(origin, direction, &hit);
    float floor_t = direction.y < -1.0e-4f ? -origin.y / direction.y : 1.0e20f;
    if (hit < 0 && floor_t >= 60.0f) {
      float up = 0.5f * (direction.y + 1.0f);
      colour = colour + (Vec{1, 1, 1} * (1.0f - up) + Vec{0.35f, 0.55f, 0.95f} * up) * weight;
      break;
    }
    Vec point, normal, surface;
    float mirror;
    if (floor_t < t) {
      point = origin + direction * floor_t;
      normal = {0, 1, 0};
      int cell = static_cast<int>(std::floor(point.x)) + static_cast<int>(std::floor(point.z));
      surface = (cell & 1) != 0 ? Vec{0.9f, 0.9f, 0.85f} : Vec{0.15f, 0.15f, 0.2f};
      mirror = 0.15f;
    } else {
      const Sphere& s = scene()[hit];
      point = origin + direction * t;
      normal = (point - Vec{s.x, s.y, s.z}) * (1.0f / s.radius);
      surface = {s.red, s.green, s.blue};
      mirror = s.mirror;
    }
    Vec to_light = Vec{light[0], light[1], light[2]} - point;
    float distance = length(to_light);
    to_light = to_light * (1.0f / distance);
    float diffuse = std::max(dot(normal, to_light), 0.0f);
    int blocker;
    float shadow_t = nearest(point + normal * 1.0e-3f, to_light, &blocker);
    if (blocker >= 0 && shadow_t < distance) diffuse = 0;
    Vec reflected = direction - normal * (2.0f * dot(direction, normal));
    float glint = std::pow(std::max(dot(reflected, to_light), 0.0f), 16.0f);
    Vec shade = surface * (0.12f + 0.88f * light[3] * diffuse);
    if (diffuse > 0) shade = shade + Vec{0.6f, 0.6f, 0.6f} * glint;
    colour = colour + shade * (weight * (1.0f - mirror));
    weight *= mirror;
    if (weight < 0.02f) break;
    origin = point + normal * 1.0e-3f;
    direction = reflected;
  }
  return colour;
}

size_t clamped(int value, uint32_t size) {
  return static_cast<size_t>(std::clamp(value, 0, static_cast<int>(size) - 1));
}

}  // namespace

KernelCase make_mandelbrot(Size size) {
  const uint32_t width = size == Size::kTest ? 41 : 512, height = size == Size::kTest ? 30 : 384;
  const uint32_t limit = size == Size::kTest ? 50 : 256;
  const float center_x = -0.7f, center_y = 0.05f, scale = 2.8f / static_cast<float>(width);
  KernelCase c{.name = "mandelbrot", .object = "mandelbrot"};
  c.buffers = {filled_buffer("image", size_t{width} * height * 4, uint8_t{7})};
  c.launches = {{.kernel = "mandelbrot",
                 .global = {round_up(width, 16), round_up(height, 16), 1},
                 .local = {16, 16, 1},
                 .args = {buffer_arg(0), scalar_arg(width), scalar_arg(height), scalar_arg(center_x),
                          scalar_arg(center_y), scalar_arg(scale), scalar_arg(limit)}}};
  auto render = [=](double* iterations) {
    std::vector<uint8_t> image;
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        float cx = center_x + (static_cast<float>(x) - 0.5f * static_cast<float>(width)) * scale;
        float cy = center_y + (static_cast<float>(y) - 0.5f * static_cast<float>(height)) * scale;
        float zx = 0, zy = 0;
        uint32_t n = 0;
        for (; n < limit && zx * zx + zy * zy <= 4.0f; ++n) {
          float next = zx * zx - zy * zy + cx;
          zy = 2.0f * (zx * zy) + cy;
          zx = next;
        }
        *iterations += n;
        uint32_t t = (n * 11u) & 511u, ramp = t < 256u ? t : 511u - t;
        bool outside = n < limit;
        image.push_back(outside ? static_cast<uint8_t>((ramp * ramp) >> 8) : 0);
        image.push_back(outside ? static_cast<uint8_t>((ramp * 3) >> 2) : 0);
        image.push_back(outside ? static_cast<uint8_t>(255 - (ramp >> 1)) : 0);
        image.push_back(255);
      }
    }
    return image;
  };
  c.check = [render](std::span<const Buffer> buffers, std::string* why) {
    double iterations = 0;
    return equal(buffers[0], render(&iterations), why);
  };
  c.unit = "Giterations";
  double iterations = 0;
  render(&iterations);
  c.work = 1e-9 * iterations;
  return c;
}

KernelCase make_raytracer(Size size) {
  const uint32_t width = size == Size::kTest ? 40 : 384, height = size == Size::kTest ? 24 : 256;
  const std::array<float, 4> light = {-4.0f, 7.0f, -6.0f, 1.0f};
  KernelCase c{.name = "raytracer", .object = "raytracer"};
  c.buffers = {make_buffer("spheres", scene()), filled_buffer("image", size_t{width} * height * 4, uint8_t{7})};
  c.launches = {{.kernel = "raytracer",
                 .global = {round_up(width, 8), round_up(height, 8), 1},
                 .local = {8, 8, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(width), scalar_arg(height), scalar_arg(light)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    auto got = buffers[1].as<uint8_t>();
    size_t bad = 0, first = 0;
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        float w = static_cast<float>(width), h = static_cast<float>(height);
        Vec direction{((static_cast<float>(x) + 0.5f) / w * 2.0f - 1.0f) * (w / h),
                      1.0f - (static_cast<float>(y) + 0.5f) / h * 2.0f, 1.8f};
        Vec colour = trace({0.0f, 1.2f, -5.0f}, direction * (1.0f / length(direction)), light.data());
        float channels[4] = {colour.x, colour.y, colour.z, 1.0f};
        bool off = false;
        for (int k = 0; k < 4; ++k) {
          int want = static_cast<int>(std::clamp(std::sqrt(channels[k]), 0.0f, 1.0f) * 255.0f + 0.5f);
          off |= std::abs(static_cast<int>(got[(size_t{y} * width + x) * 4 + k]) - want) > 1;
        }
        if (off && bad++ == 0) first = size_t{y} * width + x;
      }
    }
    // A ray that grazes an edge may take the other side after a last-place difference.
    size_t allowed = 2 + size_t{width} * height / 400;
    if (bad > allowed)
      return fail(why, fmt::format("{} of {} pixels are off by more than 1 (allowed {}), the first is ({}, {})", bad,
                                   width * height, allowed, first % width, first / width));
    return true;
  };
  c.unit = "Mpixels";
  c.work = 1e-6 * width * height;
  return c;
}

KernelCase make_convolution3x3(Size size) {
  const uint32_t width = size == Size::kTest ? 45 : 1024, height = size == Size::kTest ? 21 : 1024;
  KernelCase c{.name = "convolution3x3", .object = "convolution3x3"};
  c.buffers = {make_buffer("in", random_floats(size_t{width} * height, 0, 1, 30)),
               filled_buffer("out", size_t{width} * height, -1.0f),
               make_buffer("weights", std::vector<float>{0.1f, -0.2f, 0.3f, 0.4f, 1.5f, -0.6f, 0.7f, 0.8f, -0.9f})};
  c.launches = {{.kernel = "convolution3x3",
                 .global = {round_up(width, 32), round_up(height, 4), 1},
                 .local = {32, 4, 1},
                 .args = {buffer_arg(0), buffer_arg(1), buffer_arg(2), scalar_arg(width), scalar_arg(height)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    std::vector<double> want(size_t{width} * height);
    for (int y = 0; y < static_cast<int>(height); ++y)
      for (int x = 0; x < static_cast<int>(width); ++x)
        for (int k = 0; k < 9; ++k)
          want[static_cast<size_t>(y) * width + static_cast<size_t>(x)] +=
              static_cast<double>(buffers[2].as<float>()[k]) *
              static_cast<double>(
                  buffers[0].as<float>()[clamped(y + k / 3 - 1, height) * width + clamped(x + k % 3 - 1, width)]);
    return close<float>(buffers[1], want, [](size_t) { return 2e-6; }, why);
  };
  c.unit = "Mpixels";
  c.work = 1e-6 * width * height;
  return c;
}

KernelCase make_filter_u8(Size size) {
  const uint32_t width = size == Size::kTest ? 39 : 768, height = size == Size::kTest ? 18 : 512;
  KernelCase c{.name = "filter_u8", .object = "filter_u8"};
  c.buffers = {make_buffer("in", random_integers<uint8_t>(size_t{width} * height * 4, 31)),
               filled_buffer("out", size_t{width} * height * 4, uint8_t{1})};
  c.launches = {{.kernel = "filter_u8",
                 .global = {round_up(width, 16), round_up(height, 8), 1},
                 .local = {16, 8, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(width), scalar_arg(height)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    auto in = buffers[0].as<uint8_t>();
    std::vector<uint8_t> want;
    for (int y = 0; y < static_cast<int>(height); ++y) {
      for (int x = 0; x < static_cast<int>(width); ++x) {
        auto luma = [&](int dx, int dy) {
          const uint8_t* p = &in[(clamped(y + dy, height) * width + clamped(x + dx, width)) * 4];
          return (77 * p[0] + 150 * p[1] + 29 * p[2]) >> 8;
        };
        int gx = luma(1, -1) + 2 * luma(1, 0) + luma(1, 1) - luma(-1, -1) - 2 * luma(-1, 0) - luma(-1, 1);
        int gy = luma(-1, 1) + 2 * luma(0, 1) + luma(1, 1) - luma(-1, -1) - 2 * luma(0, -1) - luma(1, -1);
        int edge = std::min(std::abs(gx) + std::abs(gy), 255);
        const uint8_t* p = &in[(static_cast<size_t>(y) * width + static_cast<size_t>(x)) * 4];
        want.push_back(static_cast<uint8_t>(edge));
        want.push_back(static_cast<uint8_t>(std::min(edge + p[1], 255)));
        want.push_back(static_cast<uint8_t>(p[2] - std::min<int>(edge, p[2])));
        want.push_back(p[3]);
      }
    }
    return equal(buffers[1], want, why);
  };
  c.unit = "Mpixels";
  c.work = 1e-6 * width * height;
  return c;
}

KernelCase make_filter_f16(Size size) {
  const uint32_t width = size == Size::kTest ? 70 : 1024, height = size == Size::kTest ? 11 : 768;
  const float amount = 1.25f;
  std::vector<uint16_t> image;
  for (float v : random_floats(size_t{width} * height, 0, 1, 32)) image.push_back(float_to_half(v));
  KernelCase c{.name = "filter_f16", .object = "filter_f16"};
  c.opencl_exclusion = "half arithmetic (cl_khr_fp16)";
  c.buffers = {make_buffer("in", image), filled_buffer("out", image.size(), uint16_t{0x1234})};
  c.launches = {{.kernel = "filter_f16",
                 .global = {round_up(width / 2, 32), round_up(height, 4), 1},
                 .local = {32, 4, 1},
                 .args = {buffer_arg(0), buffer_arg(1), scalar_arg(width), scalar_arg(height),
                          scalar_arg(float_to_half(amount))}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    // Every half operation is the float one rounded: float has more than twice the bits, so this is exact.
    auto round = [](float v) { return half_to_float(float_to_half(v)); };
    auto in = buffers[0].as<uint16_t>();
    std::vector<uint16_t> want(in.size(), 0x1234);
    for (uint32_t y = 1; y + 1 < height; ++y) {
      for (uint32_t x = 2; x + 2 < width; ++x) {
        auto at = [&](int dx, int dy) {
          return half_to_float(in[(y + static_cast<uint32_t>(dy)) * width + x + static_cast<uint32_t>(dx)]);
        };
        float mean = round(round(round(at(-1, 0) + at(1, 0)) + round(at(0, -1) + at(0, 1))) * 0.25f);
        float sharp = round(at(0, 0) + round(round(at(0, 0) - mean) * amount));
        want[size_t{y} * width + x] = float_to_half(std::min(std::max(sharp, 0.0f), 1.0f));
      }
    }
    return equal(buffers[1], want, why);
  };
  c.unit = "Mpixels";
  c.work = 1e-6 * width * height;
  return c;
}

}  // namespace wavejit::kernels
