// Translation ahead of need, on one thread of the process, while the interpreter already runs the kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "internal/error.h"
#include "runtime/translate/module.h"
#include "runtime/translate/translation_cache.h"

namespace wavejit::runtime {

// Readable from any thread. Members after `done` are immutable once it is set.
struct BackgroundTranslation {
  std::atomic<bool> done{false};
  // Valid once `done` is set.
  std::optional<Error> error;  // of the first query that failed; those after it were not tried
  TranslationCounters counters;
};

// Translates for `queries` through the module's cache, in their order, and keeps the module alive meanwhile. Launches
// with equal queries at the same time share the answer. At the process's exit the query in progress is broken off
// (internal/stop_scope.h), for which the exit waits: code that it needs would otherwise be torn down. The others are
// dropped.
struct BackgroundJob {
  std::shared_ptr<const BackgroundTranslation> translation;
  bool is_new = false;  // not another launch's
};
[[nodiscard]] BackgroundJob translate_in_background(std::shared_ptr<Module> module,
                                                    std::vector<TranslationCache::Query> queries);

}  // namespace wavejit::runtime
