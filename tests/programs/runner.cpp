// Runs the kernels of generated programs on wavejit's engines and compares all they write with what the host's compiler made of the
// same text.
//   wavejit_programs [--seed S] [--first K] [--timeout SECONDS] [--engine NAME]... HOST.so OBJECT.co...
// One line for each difference: "DIFFERENCE object kernel engine word got expected", or "FAILURE object kernel engine message"; at the
// end "RAN kernels differences". Exit code 1 if there were any. `S` chooses switches for one more run of
// translated code, and with the kernel's number, counted from K, its arguments.
#include <dlfcn.h>
#include <unistd.h>
#include <wavejit/wavejit.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

// As in program.h.
struct HostKernel {
  const char* name;
  void (*function)();
  uint32_t size, groups;
};

struct HostArguments {
  const uint32_t* in;
  uint32_t* g;
  uint64_t* out;
  uint32_t* acc;
  uint64_t* acc64;
  uint32_t n;
  uint64_t m;
};

constexpr size_t kInputs = 1024, kSlots = 8, kCells = 8;

struct Memory {
  std::vector<uint32_t> in, g, acc;
  std::vector<uint64_t> out, acc64;
  uint32_t n = 0;
  uint64_t m = 0;

  Memory(size_t items, uint64_t seed)
      : in(kInputs), g(items * kSlots), acc(kCells), out(items * kSlots), acc64(kCells) {
    std::mt19937_64 random(seed);
    for (uint32_t& word : in) word = static_cast<uint32_t>(random() >> (random() % 64));
    for (uint32_t& word : g) word = static_cast<uint32_t>(random());
    for (uint32_t& word : acc) word = static_cast<uint32_t>(random());
    for (uint64_t& word : acc64) word = random();
    n = static_cast<uint32_t>(random() >> (random() % 64));
    m = random();
  }

  // All that kernels write, as 32-bit words: out, g, acc, acc64.
  std::vector<uint32_t> written() const {
    std::vector<uint32_t> words;
    const auto add = [&words](const void* data, size_t bytes) {
      const size_t at = words.size();
      words.resize(at + bytes / 4);
      std::memcpy(words.data() + at, data, bytes);
    };
    add(out.data(), out.size() * 8);
    add(g.data(), g.size() * 4);
    add(acc.data(), acc.size() * 4);
    add(acc64.data(), acc64.size() * 8);
    return words;
  }
};

struct Engine {
  std::string name;
  wavejit_engine engine;
  wavejit_isa isa;
  std::string disabled;
  uint64_t schedule = 0;
};

constexpr const char* kSampled = "auto";

std::vector<Engine> engines(uint64_t seed) {
  std::vector<Engine> all{{"interpreter", WAVEJIT_ENGINE_INTERP, WAVEJIT_ISA_AUTO, ""}};
  std::mt19937_64 random(seed);
  std::string disabled;
  for (size_t i = 0; const char* name = wavejit_optimisation_name(i); ++i) {
    if (random() % 3 == 0) disabled += (disabled.empty() ? "" : ",") + std::string(name);
  }
  for (const wavejit_isa isa : {WAVEJIT_ISA_AVX2, WAVEJIT_ISA_AVX512}) {
    if (wavejit_isa_supported(isa) == 0) continue;
    all.push_back({wavejit_isa_string(isa), WAVEJIT_ENGINE_JIT, isa, ""});
  }
  if (all.size() > 1) {
    Engine other = all[1 + random() % (all.size() - 1)];
    other.name += "-switches";
    other.disabled = disabled;
    all.push_back(other);
    // Waves go on in translated code from drawn places on.
    all.push_back({"auto-schedule", WAVEJIT_ENGINE_AUTO, WAVEJIT_ISA_AUTO, "", random() | 1});
    // In half of the runs, the translations that follow choose by what waves do in this one.
    if (random() % 2 != 0) all.insert(all.begin() + 1, {kSampled, WAVEJIT_ENGINE_AUTO, WAVEJIT_ISA_AUTO, ""});
  }
  return all;
}

// Empty, or why the launch failed.
std::string launch(wavejit_kernel* kernel, Memory& memory, const HostKernel& shape, const Engine& engine,
                   uint32_t threads, double timeout) {
  const void* pointers[] = {memory.in.data(), memory.g.data(), memory.out.data(), memory.acc.data(),
                            memory.acc64.data()};
  for (uint32_t i = 0; i < 5; ++i)
    if (wavejit_kernel_set_arg_pointer(kernel, i, pointers[i]) != WAVEJIT_OK)
      return wavejit_error_message(wavejit_last_error());
  if (wavejit_kernel_set_arg(kernel, 5, &memory.n, sizeof memory.n) != WAVEJIT_OK ||
      wavejit_kernel_set_arg(kernel, 6, &memory.m, sizeof memory.m) != WAVEJIT_OK)
    return wavejit_error_message(wavejit_last_error());
  wavejit_launch_options options = wavejit_launch_options_default();
  options.global[0] = shape.size * shape.groups;
  options.local[0] = shape.size;
  options.engine = engine.engine;
  options.isa = engine.isa;
  options.threads = threads;
  options.schedule = engine.schedule;
  options.timeout_ns = static_cast<uint64_t>(timeout * 1e9);
  options.disabled_passes = engine.disabled.empty() ? nullptr : engine.disabled.c_str();
  wavejit_launch_stats stats = wavejit_launch_stats_default();
  const bool ended = wavejit_launch(kernel, &options, &stats) == WAVEJIT_OK;
  std::printf("  %.2f s, translation %.2f s of %u units\n", static_cast<double>(stats.wall_ns) * 1e-9,
              static_cast<double>(stats.translate_ns) * 1e-9, stats.translations);
  return ended ? "" : wavejit_error_message(wavejit_last_error());
}

template <typename Function>
Function symbol(void* library, const char* name) {
  void* address = dlsym(library, name);
  if (address == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  return reinterpret_cast<Function>(address);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1, first = 0;
  double timeout = 20;
  std::vector<std::string> files, only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--first" && i + 1 < argc) {
      first = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--timeout" && i + 1 < argc) {
      timeout = std::strtod(argv[++i], nullptr);
    } else if (argument == "--engine" && i + 1 < argc) {
      only.emplace_back(argv[++i]);
    } else {
      files.push_back(argument);
    }
  }
  if (files.size() < 2) {
    std::fprintf(
        stderr,
        "usage: wavejit_programs [--seed S] [--first K] [--timeout SECONDS] [--engine NAME]... HOST.so OBJECT.co...\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  wavejit_cache_options cache = wavejit_cache_options_default();
  cache.mode = WAVEJIT_CACHE_OFF;
  wavejit_cache_configure(&cache);
  void* library = dlopen(files[0].c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  uint32_t count = 0;
  const HostKernel* kernels = symbol<const HostKernel* (*)(uint32_t*)>(library, "program_kernels")(&count);
  const auto run = symbol<void (*)(uint32_t, const HostArguments*)>(library, "program_run_kernel");
  std::vector<Engine> list = engines(seed);
  if (!only.empty())
    std::erase_if(list, [&only](const Engine& e) {
      return e.name != kSampled && std::find(only.begin(), only.end(), e.name) == only.end();
    });
  size_t ran = 0, bad = 0;
  std::vector<wavejit_module*> modules;
  for (size_t f = 1; f < files.size(); ++f) {
    wavejit_module* module = nullptr;
    if (wavejit_module_load_file(files[f].c_str(), nullptr, &module) != WAVEJIT_OK) {
      std::printf("FAILURE %s - - %s\n", files[f].c_str(), wavejit_error_message(wavejit_last_error()));
      return 1;
    }
    modules.push_back(module);
  }
  for (uint32_t k = 0; k < count; ++k) {
    const HostKernel& shape = kernels[k];
    const size_t items = size_t{shape.size} * shape.groups;
    Memory host(items, seed + first + k);
    const HostArguments arguments{host.in.data(),    host.g.data(), host.out.data(), host.acc.data(),
                                  host.acc64.data(), host.n,        host.m};
    std::printf("AT host %s\n", shape.name);
    alarm(20);  // a program that does not end is the generator's fault
    run(k, &arguments);
    alarm(0);
    const std::vector<uint32_t> expected = host.written();
    for (size_t f = 1; f < files.size(); ++f) {
      wavejit_kernel* kernel = nullptr;
      if (wavejit_kernel_create(modules[f - 1], shape.name, &kernel) != WAVEJIT_OK) {
        std::printf("FAILURE %s %s - %s\n", files[f].c_str(), shape.name, wavejit_error_message(wavejit_last_error()));
        ++bad;
        continue;
      }
      for (const Engine& engine : list) {
        Memory memory(items, seed + first + k);
        std::printf("AT %s %s %s\n", files[f].c_str(), shape.name, engine.name.c_str());
        const std::string error = launch(kernel, memory, shape, engine, 1 + (seed + first + k) % 2, timeout);
        const std::vector<uint32_t> got = memory.written();
        const auto [at, wanted] = std::mismatch(got.begin(), got.end(), expected.begin());
        if (!error.empty()) {
          ++bad;
          std::printf("FAILURE %s %s %s %s%s%s\n", files[f].c_str(), shape.name, engine.name.c_str(), error.c_str(),
                      engine.disabled.empty() ? "" : " without ", engine.disabled.c_str());
        } else if (at != got.end()) {
          ++bad;
          std::printf("DIFFERENCE %s %s %s word %td of %zu is %08x, not %08x%s%s\n", files[f].c_str(), shape.name,
                      engine.name.c_str(), at - got.begin(), got.size(), *at, *wanted,
                      engine.disabled.empty() ? "" : " without ", engine.disabled.c_str());
        }
      }
      wavejit_kernel_destroy(kernel);
      ++ran;
    }
  }
  std::printf("RAN %zu %zu\n", ran, bad);
  return bad == 0 ? 0 : 1;
}
