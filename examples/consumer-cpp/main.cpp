// Lists the kernels of a code object and, if "vector_add" is among them, runs it on every engine:
// out[i] = a[i ^ 1] + b[i] + weights[n & 3], with weights = {0.5, 1.5, 2.5, 3.5}, in work-groups of 64.
#include <cstdint>
#include <cstdio>
#include <wavejit/wavejit.hpp>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CODE_OBJECT\n", argv[0]);
    return 2;
  }
  try {
    const wavejit::Module module = wavejit::Module::load_file(argv[1]);
    std::printf("wavejit %s, code object for %s\n", wavejit_version_string(), module.target().c_str());
    for (const std::string& name : module.kernel_names()) std::printf("  %s\n", name.c_str());

    constexpr std::int32_t kItems = 256;
    wavejit::Kernel kernel = module.kernel("vector_add");
    wavejit::Buffer<float> a(kItems), b(kItems), out(kItems);
    for (int i = 0; i < kItems; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = 2.0f * static_cast<float>(i);
    }
    kernel.set_args(a, b, out, kItems);
    for (const wavejit_engine engine : {WAVEJIT_ENGINE_INTERP, WAVEJIT_ENGINE_JIT}) {
      for (float& value : out) value = 0;
      wavejit::LaunchOptions options;
      options.global[0] = kItems;
      options.engine = engine;
      const wavejit::LaunchStats stats = kernel.launch(options);
      for (int i = 0; i < kItems; ++i) {
        if (out[i] == a[i ^ 1] + b[i] + 0.5f) continue;
        std::fprintf(stderr, "out[%d] is %g\n", i, static_cast<double>(out[i]));
        return 1;
      }
      std::printf("vector_add: %d items right, %s\n", kItems, wavejit_engine_string(stats.engine));
    }
    return 0;
  } catch (const wavejit::Exception& e) {
    std::fprintf(stderr, "%s: %s\n", wavejit_status_string(e.status()), e.what());
    return 1;
  }
}
