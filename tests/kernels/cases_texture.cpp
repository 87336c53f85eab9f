// Kernels with images.
#include <algorithm>

#include "case_util.h"
#include "cases.h"

namespace wavejit::kernels {
namespace {

Buffer image_of(Buffer buffer, ImageFormat format, uint32_t width, uint32_t height) {
  buffer.image = {.format = format, .width = width, .height = height};
  return buffer;
}

// A pixel of an image with `channels` of them, clamped to the edges.
template <typename T>
const T* pixel_at(std::span<const T> pixels, uint32_t channels, uint32_t width, uint32_t height, int x, int y) {
  const auto column = static_cast<size_t>(std::clamp(x, 0, static_cast<int>(width) - 1));
  const auto row = static_cast<size_t>(std::clamp(y, 0, static_cast<int>(height) - 1));
  return &pixels[(row * width + column) * channels];
}

// Bilinear, at a position in 1/256 of a pixel.
template <typename T>
double filtered(std::span<const T> pixels, uint32_t channels, uint32_t channel, uint32_t width, uint32_t height, int u,
                int v) {
  const int x = (u - 128) >> 8, y = (v - 128) >> 8;
  const double right = ((u - 128) & 255) / 256.0, down = ((v - 128) & 255) / 256.0;
  const auto at = [&](int dx, int dy) {
    return static_cast<double>(pixel_at(pixels, channels, width, height, x + dx, y + dy)[channel]);
  };
  return (at(0, 0) * (1 - right) + at(1, 0) * right) * (1 - down) + (at(0, 1) * (1 - right) + at(1, 1) * right) * down;
}

std::array<uint32_t, 3> tiles(uint32_t width, uint32_t height) {
  return {round_up(width, 16), round_up(height, 8), 1};
}

}  // namespace

KernelCase make_image_warp(Size size) {
  const uint32_t width = size == Size::kTest ? 37 : 640, height = size == Size::kTest ? 19 : 480;
  const std::array<int, 4> steps = {231, -94, 94, 231};  // a turn by 22 degrees
  const std::array<int, 2> start = {static_cast<int>(height) * 24, -static_cast<int>(width) * 16};
  KernelCase c{.name = "image_warp", .object = "image_warp"};
  const size_t bytes = size_t{width} * height * 4;
  c.buffers = {
      image_of(make_buffer("in", random_integers<uint8_t>(bytes, 61)), ImageFormat::kRgbaUnorm8, width, height),
      image_of(filled_buffer("out", bytes, uint8_t{9}), ImageFormat::kRgbaUnorm8, width, height)};
  c.launches = {{.kernel = "image_warp",
                 .global = tiles(width, height),
                 .local = {16, 8, 1},
                 .args = {image_arg(0), image_arg(1), scalar_arg(steps), scalar_arg(start), scalar_arg(width),
                          scalar_arg(height)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    const auto in = buffers[0].as<uint8_t>();
    std::vector<double> want;
    for (int y = 0; y < static_cast<int>(height); ++y)
      for (int x = 0; x < static_cast<int>(width); ++x)
        for (uint32_t channel = 0; channel < 4; ++channel)
          want.push_back(filtered(in, 4, channel, width, height, start[0] + steps[0] * x + steps[1] * y,
                                  start[1] + steps[2] * x + steps[3] * y));
    // To the nearest byte, and a little more, as floats are.
    return close<uint8_t>(buffers[1], want, [](size_t) { return 0.501; }, why);
  };
  c.unit = "Mpixels";
  c.work = 1e-6 * width * height;
  return c;
}

KernelCase make_image_sharpen(Size size) {
  const uint32_t width = size == Size::kTest ? 33 : 512, height = size == Size::kTest ? 17 : 384;
  const float amount = 0.75f;
  const size_t floats = size_t{width} * height * 4;
  KernelCase c{.name = "image_sharpen", .object = "image_sharpen"};
  c.buffers = {image_of(make_buffer("in", random_floats(floats, 0, 1, 62)), ImageFormat::kRgbaF32, width, height),
               image_of(filled_buffer("out", floats, -1.0f), ImageFormat::kRgbaF32, width, height)};
  c.launches = {{.kernel = "image_sharpen",
                 .global = tiles(width, height),
                 .local = {16, 8, 1},
                 .args = {image_arg(0), image_arg(1), scalar_arg(amount), scalar_arg(width), scalar_arg(height)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    const auto in = buffers[0].as<float>();
    std::vector<double> want;
    for (int y = 0; y < static_cast<int>(height); ++y)
      for (int x = 0; x < static_cast<int>(width); ++x)
        for (uint32_t channel = 0; channel < 4; ++channel) {
          const auto at = [&](int dx, int dy) {
            return static_cast<double>(pixel_at(in, 4, width, height, x + dx, y + dy)[channel]);
          };
          double sum = 0;
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) sum += (2 - std::abs(dx)) * (2 - std::abs(dy)) * at(dx, dy);
          want.push_back(channel == 3 ? at(0, 0) : at(0, 0) + static_cast<double>(amount) * (at(0, 0) - sum / 16));
        }
    return close<float>(buffers[1], want, [](size_t) { return 2e-6; }, why);
  };
  c.unit = "Mpixels";
  c.work = 1e-6 * width * height;
  return c;
}

KernelCase make_image_shadow(Size size) {
  const uint32_t width = size == Size::kTest ? 35 : 512, height = size == Size::kTest ? 21 : 384;
  const int steps = size == Size::kTest ? 5 : 16;
  const std::array<int, 2> towards = {301, -187};
  const float rise = 0.0625f;
  KernelCase c{.name = "image_shadow", .object = "image_shadow"};
  const size_t pixels = size_t{width} * height;
  c.buffers = {image_of(make_buffer("heights", random_floats(pixels, 0, 1, 63)), ImageFormat::kRF32, width, height),
               filled_buffer("light", pixels, -1.0f)};
  c.launches = {{.kernel = "image_shadow",
                 .global = tiles(width, height),
                 .local = {16, 8, 1},
                 .args = {image_arg(0), buffer_arg(1), scalar_arg(towards), scalar_arg(rise), scalar_arg(steps),
                          scalar_arg(width), scalar_arg(height)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    const auto heights = buffers[0].as<float>();
    std::vector<double> want;
    for (int y = 0; y < static_cast<int>(height); ++y)
      for (int x = 0; x < static_cast<int>(width); ++x) {
        int u = 256 * x + 128, v = 256 * y + 128;
        double ray = filtered(heights, 1, 0, width, height, u, v), covered = 0;
        for (int i = 0; i < steps; ++i) {
          u += towards[0];
          v += towards[1];
          ray += static_cast<double>(rise);
          covered = std::max(covered, filtered(heights, 1, 0, width, height, u, v) - ray);
        }
        want.push_back(1 / (1 + covered));
      }
    return close<float>(buffers[1], want, [](size_t) { return 2e-6; }, why);
  };
  c.unit = "Msamples";
  c.work = 1e-6 * width * height * (steps + 1);
  return c;
}

KernelCase make_image_gradient(Size size) {
  const uint32_t width = size == Size::kTest ? 27 : 512, height = size == Size::kTest ? 15 : 384;
  KernelCase c{.name = "image_gradient", .object = "image_gradient"};
  const size_t bytes = size_t{width} * height * 4;
  c.buffers = {image_of(make_buffer("in", random_integers<uint8_t>(bytes, 64)), ImageFormat::kRgbaUint8, width, height),
               image_of(filled_buffer("out", bytes, uint8_t{3}), ImageFormat::kRgbaUint8, width, height)};
  c.launches = {{.kernel = "image_gradient",
                 .global = tiles(width, height),
                 .local = {16, 8, 1},
                 .args = {image_arg(0), image_arg(1), scalar_arg(width), scalar_arg(height)}}};
  c.check = [=](std::span<const Buffer> buffers, std::string* why) {
    const auto in = buffers[0].as<uint8_t>();
    std::vector<uint8_t> want;
    for (int y = 0; y < static_cast<int>(height); ++y)
      for (int x = 0; x < static_cast<int>(width); ++x)
        for (uint32_t channel = 0; channel < 4; ++channel) {
          uint8_t least = 255, most = 0;
          for (int dy = -2; dy <= 2; ++dy)
            for (int dx = -2; dx <= 2; ++dx) {
              const uint8_t value = pixel_at(in, 4, width, height, x + dx, y + dy)[channel];
              least = std::min(least, value);
              most = std::max(most, value);
            }
          want.push_back(static_cast<uint8_t>(most - least));
        }
    return equal(buffers[1], want, why);
  };
  c.unit = "Mpixels";
  c.work = 1e-6 * width * height;
  return c;
}

}  // namespace wavejit::kernels
