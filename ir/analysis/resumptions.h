// Registers across barriers and yields.
//
// Where the unit is left and entered again behind the instruction, a vector register that is written to the wave state
// on the way out is only read on the way in. So what happens to it there says which lanes of it matter.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace wavejit::ir {

// The guest PC at which a wave that the block lets go at a barrier or yield comes back to this function. Nothing if the block
// ends in another way, or writes MODE: a function is for one MODE, and the wave goes on in another translation, which may
// read registers that this one does not.
[[nodiscard]] std::optional<uint64_t> resumption_pc(const Block& leaving);

class Resumptions {
 public:
  using Rows = std::bitset<kNumVgprs + kNumAgprs>;

  explicit Resumptions(const Function& function);

  // Rows that come in through an entry, are not written, and stay in the state for another entry.
  struct HandedOn {
    const Block* exit;
    size_t resumes_at;
    Rows rows;
  };
  struct Site {  // an entry
    Block* block = nullptr;
    std::vector<Inst*> reads;  // get_vgpr
    Rows read_outside;         // rows that stay in the state for code elsewhere
    std::vector<HandedOn> handed_on;
  };

  // Index of the entry where the block's exit resumes, if that is known.
  [[nodiscard]] std::optional<size_t> resumed_by(const Block* block) const;
  // As Function::entries; empty when the function uses registers in a way that is not understood.
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
