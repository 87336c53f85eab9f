// Runs kernels in assembly (campaign.py) on all engines, in several orders of their waves, and compares all they write with what the
// interpreter writes alone.
//   wavejit_assembly [--seed S] [--timeout SECONDS] [--kernel NAME] [--without SWITCHES] OBJECT.co LIST
// LIST has a line for each kernel: its name, the work-items of a work-group and the work-groups in each dimension, the words of its
// output, how many work-items the last work-group lacks, and the rows of its images. The program prints one line for each difference:
// "DIFFERENCE kernel engine word got expected", or "FAILURE kernel engine message"; at the end "RAN kernels launches differences".
// Exit code 1 if there were any. `S` chooses arguments, orders and switches; those of --without are off in all code.
#include <wavejit/wavejit.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

// As in program.py.
constexpr size_t kOwnBytes = 64, kCells = 16, kDoubles = 3, kTokens = 4;
// As in images.py: where rows of floats and of half floats begin and end.
constexpr size_t kFloats = 72, kHalves = 136, kOwnRows = 200;

struct alignas(256) Row {
  std::array<uint32_t, 64> words;
};

struct Shape {
  std::string name;
  std::array<uint32_t, 3> local{}, groups{};
  uint32_t missing = 0;
  size_t words = 0, image_rows = 0;

  [[nodiscard]] size_t items() const {
    size_t product = 1;
    for (size_t i = 0; i < local.size(); ++i) product *= size_t{local[i]} * groups[i];
    return product;
  }
};

struct Memory {
  std::vector<uint32_t> data, out, cells, tokens;
  std::vector<Row> images;
  uint32_t n = 0;

  Memory(const Shape& shape, uint64_t seed)
      : data(shape.items() * kOwnBytes / 4),
        out(shape.words),
        cells(kCells + 2 * kDoubles),
        tokens(kTokens),
        images(shape.image_rows) {
    std::mt19937_64 random(seed);
    for (uint32_t& word : data) word = static_cast<uint32_t>(random() >> (random() % 64));
    for (uint32_t& word : out) word = static_cast<uint32_t>(random());
    for (size_t i = 0; i < kCells / 2; ++i) cells[i] = static_cast<uint32_t>(random());  // the others are floats
    n = static_cast<uint32_t>(random() >> (random() % 64));
    // Neither infinities nor NaNs, which have all bits of the exponent, among floats and half floats.
    for (size_t row = 0; row < images.size(); ++row)
      for (uint32_t& word : images[row].words) {
        word = static_cast<uint32_t>(random());
        if (row >= kFloats && row < kHalves) word = (word & 0x83ffffff) | 0x3c000000;
        if (row >= kHalves && row < kOwnRows) word &= ~0x40004000U;
      }
  }
  [[nodiscard]] std::vector<uint32_t> written() const {
    std::vector<uint32_t> all = out;
    for (const auto* part : {&data, &cells, &tokens}) all.insert(all.end(), part->begin(), part->end());
    for (const Row& row : images) all.insert(all.end(), row.words.begin(), row.words.end());
    return all;
  }
};

struct Run {
  std::string name;
  wavejit_engine engine = WAVEJIT_ENGINE_INTERP;
  wavejit_isa isa = WAVEJIT_ISA_AUTO;
  uint32_t threads = 1;
  uint64_t schedule = 0;
  std::string disabled;
};

std::string last_message() {
  return wavejit_error_message(wavejit_last_error());
}

// The first is what the others are compared with.
std::vector<Run> runs(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Run> all{{.name = "interpreter"},
                       {.name = "interpreter-schedule", .threads = 2, .schedule = random() | 1}};
  // Waves begin in the interpreter, and move to translated code when it is there; in a drawn order, from drawn places on.
  if (random() % 2 == 0) all.push_back({.name = "auto", .engine = WAVEJIT_ENGINE_AUTO, .threads = 2});
  std::string disabled;
  const uint64_t one_in = 2 + random() % 4;
  for (size_t i = 0; const char* name = wavejit_optimisation_name(i); ++i) {
    // Without polls waves that spin never end.
    if (random() % one_in == 0 && std::strcmp(name, "polls") != 0)
      disabled += (disabled.empty() ? "" : ",") + std::string(name);
  }
  for (const wavejit_isa isa : {WAVEJIT_ISA_AVX2, WAVEJIT_ISA_AVX512}) {
    if (wavejit_isa_supported(isa) == 0) continue;
    const Run run{.name = wavejit_isa_string(isa), .engine = WAVEJIT_ENGINE_JIT, .isa = isa};
    all.push_back(run);
    all.push_back(run);
    all.back().name = "auto-schedule";
    all.back().engine = WAVEJIT_ENGINE_AUTO;
    all.back().schedule = random() | 1;
    all.push_back(run);
    all.back().name += "-schedule";
    all.back().threads = 1 + random() % 2;
    all.back().schedule = random() | 1;
    if (disabled.empty() || random() % 2 == 0) continue;
    all.push_back(run);
    all.back().name += "-switches";
    all.back().schedule = random() % 2 == 0 ? 0 : random() | 1;
    all.back().disabled = disabled;
  }
  return all;
}

// Empty, or why the launch failed.
std::string launch(wavejit_kernel* kernel, Memory& memory, const Shape& shape, const Run& run, double timeout) {
  const void* pointers[] = {memory.data.data(), memory.out.data(), memory.cells.data(), memory.tokens.data()};
  for (uint32_t i = 0; i < 4; ++i)
    if (wavejit_kernel_set_arg_pointer(kernel, i, pointers[i]) != WAVEJIT_OK) return last_message();
  if (wavejit_kernel_set_arg(kernel, 4, &memory.n, sizeof memory.n) != WAVEJIT_OK) return last_message();
  if (wavejit_kernel_set_arg_pointer(kernel, 5, memory.images.data()) != WAVEJIT_OK) return last_message();
  wavejit_launch_options options = wavejit_launch_options_default();
  for (size_t i = 0; i < shape.local.size(); ++i) {
    options.global[i] = shape.local[i] * shape.groups[i];
    options.local[i] = shape.local[i];
  }
  options.global[0] -= shape.missing;
  options.engine = run.engine;
  options.isa = run.isa;
  options.threads = run.threads;
  options.schedule = run.schedule;
  options.timeout_ns = static_cast<uint64_t>(timeout * 1e9);
  options.disabled_passes = run.disabled.empty() ? nullptr : run.disabled.c_str();
  return wavejit_launch(kernel, &options, nullptr) == WAVEJIT_OK ? "" : last_message();
}

// Of one kernel: prints its differences and returns how many runs had some.
size_t compare(wavejit_kernel* kernel, const Shape& shape, const std::vector<Run>& all, uint64_t seed, double timeout) {
  size_t bad = 0;
  std::vector<uint32_t> expected;
  for (const Run& run : all) {
    Memory memory(shape, seed);
    std::printf("AT %s %s schedule %llu threads %u without %s\n", shape.name.c_str(), run.name.c_str(),
                static_cast<unsigned long long>(run.schedule), run.threads, run.disabled.c_str());
    if (const std::string why = launch(kernel, memory, shape, run, timeout); !why.empty()) {
      std::printf("FAILURE %s %s %s\n", shape.name.c_str(), run.name.c_str(), why.c_str());
      if (expected.empty()) return 1;
      ++bad;
      continue;
    }
    const std::vector<uint32_t> got = memory.written();
    if (expected.empty()) expected = got;
    const auto [a, b] = std::mismatch(got.begin(), got.end(), expected.begin());
    if (a == got.end()) continue;
    ++bad;
    std::printf("DIFFERENCE %s %s word %zu got %#x expected %#x\n", shape.name.c_str(), run.name.c_str(),
                static_cast<size_t>(a - got.begin()), *a, *b);
  }
  return bad;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1;
  double timeout = 240;
  std::string only, without;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--timeout" && i + 1 < argc) {
      timeout = std::strtod(argv[++i], nullptr);
    } else if (argument == "--kernel" && i + 1 < argc) {
      only = argv[++i];
    } else if (argument == "--without" && i + 1 < argc) {
      without = argv[++i];
    } else {
      files.push_back(argument);
    }
  }
  if (files.size() != 2) {
    std::fprintf(
        stderr,
        "usage: wavejit_assembly [--seed S] [--timeout SECONDS] [--kernel NAME] [--without SWITCHES] OBJECT.co LIST\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  wavejit_cache_options cache = wavejit_cache_options_default();
  cache.mode = WAVEJIT_CACHE_OFF;
  wavejit_cache_configure(&cache);
  wavejit_module* module = nullptr;
  if (wavejit_module_load_file(files[0].c_str(), nullptr, &module) != WAVEJIT_OK) {
    std::printf("FAILURE - - %s\n", last_message().c_str());
    return 1;
  }
  std::ifstream list(files[1]);
  size_t ran = 0, launches = 0, bad = 0;
  for (Shape shape; list >> shape.name >> shape.local[0] >> shape.local[1] >> shape.local[2] >> shape.groups[0] >>
                    shape.groups[1] >> shape.groups[2] >> shape.words >> shape.missing >> shape.image_rows;) {
    if (!only.empty() && shape.name != only) continue;
    wavejit_kernel* kernel = nullptr;
    if (wavejit_kernel_create(module, shape.name.c_str(), &kernel) != WAVEJIT_OK) {
      std::printf("FAILURE %s - %s\n", shape.name.c_str(), last_message().c_str());
      ++bad;
      continue;
    }
    const uint64_t kernel_seed = seed * 1'000'003 + std::hash<std::string>()(shape.name);
    std::vector<Run> all = runs(kernel_seed);
    for (Run& run : all)
      if (!without.empty()) run.disabled += (run.disabled.empty() ? "" : ",") + without;
    bad += compare(kernel, shape, all, kernel_seed, timeout);
    launches += all.size();
    ++ran;
    wavejit_kernel_destroy(kernel);
  }
  wavejit_module_destroy(module);
  std::printf("RAN %zu %zu %zu\n", ran, launches, bad);
  return bad == 0 && ran != 0 ? 0 : 1;
}
