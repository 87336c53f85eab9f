// How many host instructions stand for the guest's where a kernel spends its time, from the listings of its code.
#pragma once

#include <cstdint>
#include <string_view>

namespace wavejit::perf {

struct InnerLoop {
  uint64_t guest = 0, host = 0;  // instructions, counted as they stand in the code; for one iteration of a whole wave
};

// gcn and x86: WAVEJIT_DUMP_GCN and WAVEJIT_DUMP_X86 of one kernel. Of the guest's loops, without what is in loops
// inside them, that with the most instructions, those of a loop in a loop counted eightfold; the whole kernel if there
// is none. The host's are those that stand for it, in a loop of the host and on its usual way.
[[nodiscard]] InnerLoop inner_loop(std::string_view gcn, std::string_view x86);

// Bytes of code, as the listing says.
[[nodiscard]] uint64_t code_bytes(std::string_view x86);

}  // namespace wavejit::perf
