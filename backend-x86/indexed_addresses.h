// Addresses that are a uniform base plus an extended and shifted 32-bit index of unknown shape. Such an access works on
// the index: neighbours are found by 32-bit compares, gathers take the index as it is, and the vector of 64-bit
// addresses is only made where lanes are served one by one.
#pragma once

#include <optional>
#include <vector>

#include "backend-x86/lane_addresses.h"
#include "backend-x86/phi_classes.h"

namespace wavejit::backend {

// base + (extended index << shift) + disp
struct IndexedAddress {
  const ir::Inst* base = nullptr;   // i64
  const ir::Inst* index = nullptr;  // v32
  bool is_signed = false;           // how the index is extended; true where both ways are the same
  unsigned shift = 0;               // at most 3
  int64_t disp = 0;
};

class IndexedAddresses {
 public:
  // lanes: those of a chunk. wanted: otherwise there are none.
  IndexedAddresses(const ir::Function& function, const ir::LaneShapes& shapes, const LaneAddresses& scalars,
                   const PhiClasses& classes, unsigned lanes, bool wanted = true);

  // How a load or store is addressed; null where that is by another form.
  [[nodiscard]] const IndexedAddress* of(const ir::Inst& access) const {
    const auto& form = forms_[access.id];
    return form ? &*form : nullptr;
  }
  // Nothing but the addresses of such accesses is computed from the value: it need not be.
  [[nodiscard]] bool is_absorbed(const ir::Inst* inst) const { return absorbed_[inst->id]; }

 private:
  struct Match {
    IndexedAddress form;
    std::vector<const ir::Inst*> chain;  // the values between the index and the access
  };
  [[nodiscard]] std::optional<Match> match(const ir::Inst& access) const;
  [[nodiscard]] bool is_stable(const ir::Inst* inst) const;

  const ir::LaneShapes& shapes_;
  const LaneAddresses& scalars_;
  const PhiClasses& classes_;
  const unsigned lanes_;
  std::vector<std::optional<IndexedAddress>> forms_;  // by instruction id
  std::vector<bool> absorbed_;
};

}  // namespace wavejit::backend
