// Bytes of the LDS that instructions may access.
#pragma once

#include <cstdint>

#include "backend-x86/lower/lowering.h"

namespace wavejit::backend {

// Bytes that any lane may access: [begin, end). Accesses without a known bound, flat ones included, cover all.
struct LdsAccess {
  int64_t begin = 0, end = INT64_MAX;
  bool stores = false;
  [[nodiscard]] bool conflicts(const LdsAccess& other) const {
    return (stores || other.stores) && begin < other.end && other.begin < end;
  }
};
[[nodiscard]] bool accesses_lds(const Inst& inst);
[[nodiscard]] LdsAccess lds_access(const Lowering& ctx, const Inst& inst);

}  // namespace wavejit::backend
