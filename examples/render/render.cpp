// Renders a picture with a ray tracer that was compiled for an AMD GPU, on every engine, and shows their speed side by
// side.
//
//   wavejit-render raytracer-gfx906.co picture.png [width height]
#include <png.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "wavejit/wavejit.hpp"

namespace {

struct Sphere {
  float centre[3], radius;
  float colour[3], mirror;
};

constexpr std::array<Sphere, 8> kScene{{
    {{-2.1f, 1.0f, 1.2f}, 1.0f, {0.90f, 0.25f, 0.20f}, 0.25f},
    {{0.0f, 1.3f, 2.2f}, 1.3f, {0.95f, 0.95f, 0.95f}, 0.75f},
    {{2.3f, 0.9f, 1.0f}, 0.9f, {0.20f, 0.45f, 0.90f}, 0.30f},
    {{-0.9f, 0.45f, -0.6f}, 0.45f, {0.95f, 0.75f, 0.15f}, 0.15f},
    {{0.8f, 0.35f, -1.0f}, 0.35f, {0.25f, 0.80f, 0.40f}, 0.20f},
    {{-3.8f, 0.7f, 3.4f}, 0.7f, {0.70f, 0.30f, 0.80f}, 0.30f},
    {{3.9f, 1.1f, 4.0f}, 1.1f, {0.90f, 0.50f, 0.20f}, 0.30f},
    {{1.9f, 0.25f, -1.7f}, 0.25f, {0.90f, 0.90f, 0.95f}, 0.60f},
}};

bool write_png(const char* path, const std::vector<uint8_t>& rgba, uint32_t width, uint32_t height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = PNG_FORMAT_RGBA;
  return png_image_write_to_file(&image, path, 0, rgba.data(), 0, nullptr) != 0;
}

struct Engine {
  const char* name;
  wavejit_engine engine;
  wavejit_isa isa;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 5) {
    std::fprintf(stderr, "usage: %s CODE_OBJECT PICTURE.png [WIDTH HEIGHT]\n", argv[0]);
    return 2;
  }
  const auto width = static_cast<uint32_t>(argc == 5 ? std::strtoul(argv[3], nullptr, 10) : 768);
  const auto height = static_cast<uint32_t>(argc == 5 ? std::strtoul(argv[4], nullptr, 10) : 512);
  if (width == 0 || height == 0 || width > 16384 || height > 16384) {
    std::fprintf(stderr, "%s: picture sizes are 1 to 16384\n", argv[0]);
    return 2;
  }

  const wavejit::Module module = wavejit::Module::load_file(argv[1]);
  wavejit::Kernel kernel = module.kernel("raytracer");
  wavejit::Buffer<Sphere> spheres(std::vector<Sphere>(kScene.begin(), kScene.end()));
  wavejit::Buffer<uint8_t> image(size_t{width} * height * 4);
  const std::array<float, 4> light{-4.0f, 7.0f, -6.0f, 1.0f};
  kernel.set_args(spheres, image, width, height, light);

  std::printf("code object  %s (version %u)\n", module.target().c_str(), module.object_version());
  std::printf("this CPU     %s, best tier %s\n", wavejit_host_cpu(), wavejit_isa_string(wavejit_isa_best()));
  std::printf("kernel       raytracer, %u x %u work-items, one thread\n\n", width, height);
  std::printf("%-18s %12s %14s %10s\n", "engine", "ms", "Mpixels/s", "speed-up");

  std::vector<uint8_t> reference;
  double interpreter_ms = 0;
  bool equal = true;
  for (const Engine& engine : {Engine{"interpreter", WAVEJIT_ENGINE_INTERP, WAVEJIT_ISA_AUTO},
                               Engine{"JIT, AVX2", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX2},
                               Engine{"JIT, AVX-512", WAVEJIT_ENGINE_JIT, WAVEJIT_ISA_AVX512}}) {
    if (engine.isa != WAVEJIT_ISA_AUTO && !wavejit_isa_supported(engine.isa)) {
      std::printf("%-18s %12s\n", engine.name, "not on this CPU");
      continue;
    }
    wavejit::LaunchOptions options;
    options.global[0] = (width + 7) / 8 * 8;
    options.global[1] = (height + 7) / 8 * 8;
    options.local[0] = options.local[1] = 8;
    options.engine = engine.engine;
    options.isa = engine.isa;
    options.threads = 1;
    std::vector<double> times;
    const int repeats = engine.engine == WAVEJIT_ENGINE_INTERP ? 3 : 9;
    for (int i = 0; i <= repeats; ++i) {  // the first launch translates
      std::memset(image.data(), 0, image.bytes());
      const wavejit::LaunchStats stats = kernel.launch(options);
      if (i > 0) times.push_back(static_cast<double>(stats.wall_ns) * 1e-6);
    }
    std::sort(times.begin(), times.end());
    const double ms = times[times.size() / 2];
    if (interpreter_ms == 0) interpreter_ms = ms;
    std::printf("%-18s %12.2f %14.1f %9.1fx\n", engine.name, ms, 1e-3 * width * height / ms, interpreter_ms / ms);
    if (reference.empty()) reference = image.to_vector();
    equal = equal && reference == image.to_vector();
  }
  std::printf("\npictures of all engines are %s\n", equal ? "identical, bit for bit" : "DIFFERENT");
  if (!write_png(argv[2], reference, width, height)) {
    std::fprintf(stderr, "%s: cannot write %s\n", argv[0], argv[2]);
    return 1;
  }
  std::printf("written to %s\n", argv[2]);
  return equal ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "wavejit-render: %s\n", error.what());
  return 1;
}
