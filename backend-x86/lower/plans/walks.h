// Walks: loads of lanes that each read their own memory sequentially (memory/walks.cpp).
#pragma once

#include <cstdint>
#include <map>

#include "ir/function.h"

namespace wavejit::backend {

struct Lowering;

struct Walks {
  // The block of each load, by the load's id, so that the order does not depend on host addresses.
  std::map<uint32_t, const ir::Block*> loads;
};

[[nodiscard]] Walks plan_walks(const Lowering& ctx);

// Returns true if the value is computed from data that walks load: then it has no regular pattern.
[[nodiscard]] bool is_found_on_a_walk(const Walks& walks, const ir::Inst* value, unsigned depth = 6);

}  // namespace wavejit::backend
