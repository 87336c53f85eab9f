// Finds addresses that are a uniform base plus an extended and shifted 32-bit index of unknown shape. Accesses work on
// the index: 32-bit compares find consecutive lanes, and gathers take the index directly. The vector of 64-bit
// addresses is made only where lanes are served one by one.
#pragma once

#include <optional>
#include <vector>

#include "backend-x86/lower/plans/lane_addresses.h"
#include "backend-x86/lower/plans/phi_classes.h"

namespace wavejit::backend {

// base + (extended index << shift) + disp
struct IndexedAddress {
  const ir::Inst* base = nullptr;   // i64
  const ir::Inst* index = nullptr;  // v32
  bool is_signed = false;           // sign-extended index; true if zero-extension gives the same
  unsigned shift = 0;               // at most 3
  int64_t disp = 0;
};

class IndexedAddresses {
 public:
  // lanes: lanes of a chunk. wanted: if false, no address is treated like this.
  IndexedAddresses(const ir::Function& function, const ir::LaneShapes& shapes, const LaneAddresses& scalars,
                   const PhiClasses& classes, unsigned lanes, bool wanted = true);

  // The indexed form of a load's or store's address; null if it has another form.
  [[nodiscard]] const IndexedAddress* of(const ir::Inst& access) const {
    const auto& form = forms_[access.id];
    return form ? &*form : nullptr;
  }
  // Returns true if only addresses of such accesses use the value. The value then need not be computed.
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
