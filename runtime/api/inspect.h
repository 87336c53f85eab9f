// Looking at kernels without running them: disassembly, IR, host code, coverage. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend-x86/compiler.h"
#include "frontend/codeobject/code_object.h"
#include "frontend/isa/instruction.h"
#include "internal/error.h"
#include "ir/profile.h"
#include "runtime/translate/module.h"

namespace wavejit::runtime {

// Text for an instruction's line in a listing.
struct Annotation {
  std::string above;   // lines of their own
  std::string before;  // as long for all instructions
  std::string behind;
};
// One line per instruction: ELF address, encoding, text; labels at branch targets. `annotate` may be empty; it is called in
// the order of addresses. `reached`: loaded addresses of further instructions; those of the kernel's code segment are
// listed with what follows them.
[[nodiscard]] Expected<std::string> dump_gcn(const Module& module, const codeobject::Kernel& kernel,
                                             const std::function<Annotation(const isa::Instruction&)>& annotate = {},
                                             std::span<const uint64_t> reached = {});
// What is dumped is the code for waves that start with EXEC all ones; with a work-group size, for complete work-groups
// of that size (static LDS only, hidden arguments as launches usually have them).
struct DumpOptions {
  std::array<uint32_t, 3> workgroup{};              // all 0: for any
  std::vector<std::string> disabled_passes;         // and other optimisations: of check_switches()
  uint64_t moved_at = 0;                            // TranslationCache::Query::moved_at, if not 0
  std::shared_ptr<const ir::Profile> profile = {};  // what the code is made with; null: nothing is known
};
// `stage`: "before:<pass>", "after:<pass>" (of each run of that pass), or empty for the result of the pipeline.
[[nodiscard]] Expected<std::string> dump_ir(const Module& module, const codeobject::Kernel& kernel,
                                            std::string_view stage, const DumpOptions& options);
// Which rules of ir/passes/rules.def fired how often, and for each pass how many of its runs changed something.
[[nodiscard]] Expected<std::string> dump_pass_stats(const Module& module, const codeobject::Kernel& kernel,
                                                    const DumpOptions& options);
// The loops of which lane-loops makes a copy for one lane after the other, by the address of their first instruction.
[[nodiscard]] Expected<std::set<uint64_t>> copied_loops(const Module& module, const codeobject::Kernel& kernel,
                                                        const DumpOptions& options);
// The first instructions of the kernel's basic blocks, in order.
[[nodiscard]] std::set<uint64_t> block_starts(const Module& module, const codeobject::Kernel& kernel);

// What the backend emits before register allocation (backend-x86/lir/text.h), annotated with IR.
[[nodiscard]] Expected<std::string> dump_lir(const Module& module, const codeobject::Kernel& kernel, backend::Tier tier,
                                             const DumpOptions& options);
[[nodiscard]] Expected<std::string> dump_x86(const Module& module, const codeobject::Kernel& kernel, backend::Tier tier,
                                             const DumpOptions& options);

struct CoverageIssue {
  std::string stage, what, detail;  // see wavejit_coverage_issue
  uint64_t pc = 0;
  uint64_t count = 0;
};

struct Coverage {
  uint64_t instructions = 0, illegal = 0, interp_unsupported = 0, lift_unsupported = 0;
  bool compiled = false;
  std::vector<CoverageIssue> issues;
  uint64_t translate_ns = 0, host_instructions = 0, host_bytes = 0;
};

[[nodiscard]] Coverage coverage(const Module& module, const codeobject::Kernel& kernel, backend::Tier tier);

// Where the time of one translation goes, in CPU time of the calling thread.
struct TranslationProfile {
  struct Stage {
    std::string name;  // "lift", "pass <name>" (all runs of the pass together), "emit", "allocate", "assemble", "place"
    uint64_t ns = 0;
  };
  std::vector<Stage> stages;  // in order of their first run
  uint64_t total_ns = 0;
  uint64_t gcn_instructions = 0, host_instructions = 0, host_bytes = 0;
  uint64_t code_hash = 0;  // of the listing: equal for equal code wherever it is placed
};
// `with_hash` takes a second, slower translation. Errors: those of lift() and compile().
[[nodiscard]] Expected<TranslationProfile> profile_translation(const Module& module, const codeobject::Kernel& kernel,
                                                               backend::Tier tier, const DumpOptions& options,
                                                               bool with_hash);

}  // namespace wavejit::runtime
