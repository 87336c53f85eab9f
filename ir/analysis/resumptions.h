// Matches exits at barriers and yields with the entries at which waves resume.
//
// An exit writes vector registers to the wave state, and only the entry where the wave resumes reads them. The uses at
// that entry therefore decide which lanes of them are needed.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

// The guest PC at which a wave resumes in this function after the block has exited at a barrier or yield. Empty if the
// block does not end with such an exit, or if it writes MODE: a function is specialised on MODE, so the wave resumes in
// another translation, which may read registers that this one does not.
[[nodiscard]] std::optional<uint64_t> resumption_pc(const Block& leaving);

// For each block that leaves the function: the entries that it can be reached from, as indices of Function::entries.
[[nodiscard]] std::unordered_map<const Block*, std::vector<size_t>> origins_of_exits(const Function& function);

class Resumptions {
 public:
  using Rows = std::bitset<kNumVgprs + kNumAgprs>;

  explicit Resumptions(const Function& function);

  // Rows that come in through an entry, are not written before `exit`, and so stay in the state for the entry at which
  // the wave resumes.
  struct HandedOn {
    const Block* exit;
    size_t resumes_at;
    Rows rows;
  };
  struct Site {  // an entry
    Block* block = nullptr;
    std::vector<Inst*> reads;  // get_vgpr
    Rows read_outside;         // rows that stay in the state for code outside of this function
    std::vector<HandedOn> handed_on;
  };

  // Index of the entry at which a wave resumes after the block's exit, if known.
  [[nodiscard]] std::optional<size_t> resumed_by(const Block* block) const;
  // In the order of Function::entries. Empty if the analysis does not understand a use of registers.
  [[nodiscard]] const std::vector<Site>& sites() const { return sites_; }

 private:
  static constexpr size_t kElsewhere = ~size_t{0};
  static constexpr size_t kNowhere = kElsewhere - 1;
  struct Exit {
    size_t resumes_at = kElsewhere;
    Rows written;
  };

  bool collect(const Block* block, bool is_entry, const std::vector<Entry>& entries,
               const std::unordered_map<uint64_t, size_t>& entry_at);
  void find_leaving(Site& site) const;

  std::unordered_map<const Block*, Exit> exits_;
  std::vector<Site> sites_;
};

}  // namespace wavejit::ir
