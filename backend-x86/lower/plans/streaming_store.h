// The store of a kernel that may bypass the caches (memory/streaming_stores.cpp).
#pragma once

#include "ir/function.h"

namespace wavejit::backend {

struct Lowering;

[[nodiscard]] const ir::Inst* plan_streaming_store(const Lowering& ctx);  // null: none

}  // namespace wavejit::backend
