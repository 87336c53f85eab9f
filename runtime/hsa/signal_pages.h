// The pages that signals lie on. A handle is an address that the program may have made up, as packets may hold anything: it
// is looked for here before memory is read.
#pragma once

#include <cstdint>

#include "internal/pages.h"

namespace wavejit::hsa {

inline constexpr uint64_t kSignalPage = kPage;

// From now on the page at `address`, a multiple of kSignalPage, may hold signals, and it stays mapped. Once is enough.
void add_signal_page(uint64_t address);
// Whether `address` lies on one of them. Takes no lock; in any thread, also in a child process of a fork().
[[nodiscard]] bool is_on_signal_page(uint64_t address);

}  // namespace wavejit::hsa
