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

// Several threads may look at it. What `done` is followed by does not change any more.
struct BackgroundTranslation {
  std::atomic<bool> done{false};
  // From here on of use once it is done.
  std::optional<Error> error;  // of the first query that failed; those after it were not tried
  TranslationCounters counters;
};

// Has `queries` answered by the module's cache, in their order. Launches that ask for the same at the same time share
// the answer. The module is kept until then. At the process's exit the query that is being answered is waited for (code
// that it needs would otherwise be torn down under it), the others are dropped.
[[nodiscard]] std::shared_ptr<const BackgroundTranslation> translate_in_background(
    std::shared_ptr<Module> module, std::vector<TranslationCache::Query> queries);

}  // namespace wavejit::runtime
