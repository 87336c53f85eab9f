// What translating costs: CPU time per GCN instruction, kernel by kernel and stage by stage.
//
//   translation_bench [--isa avx512|avx2] [--runs N] [--kernels] [--hash] [--disable NAME,...] FILE...
//   translation_bench --generated [--isa ...] [--runs N]
//
// The second form translates generated kernels of about 1,000, 5,000 and 20,000 instructions of three kinds and prints
// how the cost per instruction grows. --kernels adds a line per kernel, --hash one with a hash of the emitted code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "runtime/api/inspect.h"
#include "runtime/translate/module.h"
#include "test_kernels.h"

namespace {

using namespace wavejit;
using runtime::TranslationProfile;

struct Sum {
  std::vector<TranslationProfile::Stage> stages;
  uint64_t ns = 0, gcn = 0, host = 0, bytes = 0;
  void add(const TranslationProfile& p) {
    for (const auto& stage : p.stages) {
      auto it = std::find_if(stages.begin(), stages.end(), [&](const auto& s) { return s.name == stage.name; });
      if (it == stages.end()) it = stages.insert(it, {.name = stage.name, .ns = 0});
      it->ns += stage.ns;
    }
    ns += p.total_ns;
    gcn += p.gcn_instructions;
    host += p.host_instructions;
    bytes += p.host_bytes;
  }
  void print(const std::string& title) const {
    const auto per = [&](uint64_t value) {
      return static_cast<double>(value) / static_cast<double>(std::max<uint64_t>(gcn, 1));
    };
    fmt::print("{:<28} {:>8} {:>9.2f} {:>9.1f} {:>10} {:>12}\n", title, gcn, per(ns) * 1e-3, per(host), host, bytes);
  }
  void print_stages() const {
    for (const auto& stage : stages)
      fmt::print("  {:<26} {:>18.2f} us/GCN {:>6.1f} %\n", stage.name,
                 static_cast<double>(stage.ns) * 1e-3 / static_cast<double>(std::max<uint64_t>(gcn, 1)),
                 100.0 * static_cast<double>(stage.ns) / static_cast<double>(std::max<uint64_t>(ns, 1)));
  }
};

// The fastest of some runs: the machine does other things too.
TranslationProfile best_of(const runtime::Module& module, const codeobject::Kernel& kernel, backend::Tier tier,
                           const runtime::DumpOptions& options, unsigned runs, bool with_hash) {
  std::optional<TranslationProfile> best;
  for (unsigned i = 0; i < std::max(runs, 1u); ++i) {
    auto profile = runtime::profile_translation(module, kernel, tier, options, with_hash && i == 0);
    if (!profile) {
      fmt::print(stderr, "{}: {}\n", kernel.name, profile.error().message);
      return {};
    }
    const uint64_t hash = best ? best->code_hash : profile->code_hash;
    if (!best || profile->total_ns < best->total_ns) best = std::move(*profile);
    best->code_hash = hash;
  }
  return *best;
}

std::string straight(unsigned n) {
  std::string body;
  for (unsigned i = 0; i < n; ++i) {
    const unsigned d = i % 40, a = (i * 7 + 3) % 48, b = (i * 13 + 5) % 48;
    switch (i % 5) {
      case 0:
        body += fmt::format("  v_mac_f32_e32 v{}, v{}, v{}\n", d, a, b);
        break;
      case 1:
        body += fmt::format("  v_add_u32_e32 v{}, v{}, v{}\n", d, a, b);
        break;
      case 2:
        body += fmt::format("  v_xor_b32_e32 v{}, v{}, v{}\n", d, a, b);
        break;
      case 3:
        body +=
            fmt::format("  v_cmp_gt_f32_e32 vcc, v{}, v{}\n  v_cndmask_b32_e32 v{}, v{}, v{}, vcc\n", a, b, d, a, b);
        break;
      default:
        body += fmt::format("  v_mul_f32_e32 v{}, v{}, v{}\n", d, a, b);
        break;
    }
  }
  for (unsigned i = 0; i < 40; ++i) body += fmt::format("  flat_store_dword v[40:41], v{} offset:{}\n", i, 4 * i);
  return body;
}

// The piece, of eight instructions or so, again and again: with three registers that vary, and its number.
std::string repeated(unsigned n, const char* piece) {
  std::string body;
  for (unsigned i = 0; i * 8 < n; ++i)
    body += fmt::format(fmt::runtime(piece), i % 24, (i * 7 + 3) % 30, (i * 13 + 5) % 30, i);
  return body;
}

// Divergent ifs, one behind the other.
std::string blocks(unsigned n) {
  return repeated(
      n,
      "  v_cmp_gt_f32_e32 vcc, v{1}, v{2}\n  s_and_saveexec_b64 s[20:21], vcc\n  s_cbranch_execz L{3}\n"
      "  v_mac_f32_e32 v{0}, v{1}, v{2}\n  v_mul_f32_e32 v{1}, v{0}, v{2}\n  flat_store_dword v[40:41], v{0}\n"
      "L{3}:\n  s_or_b64 exec, exec, s[20:21]\n  v_add_u32_e32 v{2}, v{0}, v{1}\n");
}

std::string loops(unsigned n) {
  return repeated(
      n,
      "  s_movk_i32 s20, 0x10\nL{3}:\n  v_mac_f32_e32 v{0}, v{1}, v{2}\n  v_mul_f32_e32 v{1}, v{0}, v{2}\n"
      "  v_xor_b32_e32 v{2}, v{0}, v{1}\n  s_sub_u32 s20, s20, 1\n  s_cmp_lg_u32 s20, 0\n  s_cbranch_scc1 L{3}\n"
      "  flat_store_dword v[40:41], v{0}\n");
}

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> isas{"avx512", "avx2"};
  std::vector<unsigned> sizes{1000, 5000, 20000};
  unsigned runs = 3;
  bool kernels = false, hash = false, generated = false;
  runtime::DumpOptions translation;
};

void translate_all(const runtime::Module& module, backend::Tier tier, const Options& options, Sum& sum) {
  for (size_t i = 0; i < module.object().kernel_names().size(); ++i) {
    const auto decoded = module.object().kernel(i);
    if (!decoded) {
      fmt::print(stderr, "{}\n", decoded.error().message);
      continue;
    }
    const codeobject::Kernel& kernel = **decoded;
    const TranslationProfile profile = best_of(module, kernel, tier, options.translation, options.runs, options.hash);
    sum.add(profile);
    if (options.kernels) {
      Sum one;
      one.add(profile);
      one.print(std::string(kernel.name));
    }
    if (options.hash) fmt::print("hash {} {} {:016x}\n", kernel.name, backend::to_string(tier), profile.code_hash);
  }
}

int run(const Options& options) {
  for (const std::string& isa : options.isas) {
    const backend::Tier tier = isa == "avx2" ? backend::Tier::avx2 : backend::Tier::avx512;
    if (!backend::host_supports(tier)) continue;
    fmt::print("{:<28} {:>8} {:>9} {:>9} {:>10} {:>12}\n", isa, "GCN", "us/GCN", "x86/GCN", "x86", "bytes");
    if (options.generated) {
      struct Kind {
        const char* name;
        std::string (*make)(unsigned);
      };
      for (const auto& [name, make] : {Kind{"straight", straight}, Kind{"blocks", blocks}, Kind{"loops", loops}}) {
        for (const unsigned size : options.sizes) {
          const std::vector<uint8_t> image = test::assemble("gfx906", {{.name = "k", .body = make(size)}});
          auto module = runtime::Module::load(image);
          if (!module) {
            fmt::print(stderr, "{}\n", module.error().message);
            return 1;
          }
          Sum sum;
          translate_all(**module, tier, options, sum);
          sum.print(fmt::format("{} {}", name, size));
          if (size == options.sizes.back()) sum.print_stages();
        }
      }
      continue;
    }
    Sum sum;
    for (const std::string& file : options.files) {
      std::ifstream in(file, std::ios::binary);
      const std::vector<uint8_t> image{std::istreambuf_iterator<char>(in), {}};
      auto module = runtime::Module::load(image);
      if (!module) {
        fmt::print(stderr, "{}: {}\n", file, module.error().message);
        return 1;
      }
      translate_all(**module, tier, options, sum);
    }
    sum.print("total");
    sum.print_stages();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"CPU time of translation, by stage"};
  Options options;
  app.add_option("files", options.files, "Code objects");
  app.add_option("--isa", options.isas, "Tiers: avx512, avx2")->delimiter(',')->allow_extra_args(false);
  app.add_option("--sizes", options.sizes, "Of the generated kernels")->delimiter(',')->allow_extra_args(false);
  app.add_option("--runs", options.runs, "Translations of each kernel; the fastest counts");
  app.add_flag("--kernels", options.kernels, "A line per kernel");
  app.add_flag("--hash", options.hash, "A hash of the code per kernel");
  app.add_flag("--generated", options.generated, "Generated kernels of growing size instead of files");
  app.add_option("--disable", options.translation.disabled_passes, "Optimisations to leave out")->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
