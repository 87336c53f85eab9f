#include "runtime/hsa/report.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "runtime/api/c_api_internal.h"
#include "runtime/hsa/output_file.h"
#include "runtime/hsa/status.h"
#include "runtime/kernel/symbols.h"
#include "tools/report.h"

namespace wavejit::hsa {
namespace {

struct Accumulated {
  std::mutex mutex;
  Report executed;
  LaunchStats engine;                       // which one it was, all through a process the same
  std::map<std::string, uint64_t> kernels;  // dispatches
  bool changed = false;
};

Accumulated& accumulated() {
  static auto* const instance = new Accumulated;
  return *instance;
}

const std::string& file_name() {
  static const std::string& name = *new std::string(output_file_name("WAVEJIT_REPORT"));
  return name;
}

}  // namespace

bool reports() {
  return !file_name().empty();
}

void add_to_report(const runtime::LaunchRequest& request, const runtime::OpcodeCounts& executed, bool failed) {
  {
    Accumulated& all = accumulated();
    const std::lock_guard lock(all.mutex);
    static const int at_exit = std::atexit(write_report);
    (void)at_exit;
    all.engine.engine = request.engine == runtime::Engine::interpreter ? WAVEJIT_ENGINE_INTERP : WAVEJIT_ENGINE_JIT;
    all.engine.isa = request.tier == backend::Tier::avx512 ? WAVEJIT_ISA_AVX512 : WAVEJIT_ISA_AVX2;
    ++all.kernels[runtime::demangled(request.kernel->name)];
    for (size_t i = 0; i < executed.size(); ++i) all.executed.handle()->counts[i] += executed[i];
    all.changed = true;
  }
  if (failed) write_report();
}

void write_report() {
  if (is_forked_quietly()) return;
  Accumulated& all = accumulated();
  const std::lock_guard lock(all.mutex);
  if (!all.changed) return;
  all.changed = false;
  nlohmann::ordered_json json;
  uint64_t dispatches = 0;
  for (const auto& [name, count] : all.kernels) dispatches += count;
  json["dispatches"] = dispatches;
  json["kernels"] = all.kernels;
  json["engine"] = all.engine.engine == WAVEJIT_ENGINE_INTERP ? "interp"
                   : all.engine.isa == WAVEJIT_ISA_AVX512     ? "avx512"
                                                              : "avx2";
  json["report"] = tools::report_json(all.executed, all.engine);
  write_output_file(file_name(), json.dump(2) + "\n", "the report");
}

}  // namespace wavejit::hsa
