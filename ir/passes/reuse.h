// Values that are computed already.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/analysis/dominators.h"
#include "ir/function.h"

namespace wavejit::ir::passes {

// Lists of values of which one may be equal to a value that follows.
class EarlierValues {
 public:
  using List = uint32_t;  // 0: empty

  void add(List& list, Inst* inst) {
    values_.push_back({.value = inst, .before = list});
    list = static_cast<List>(values_.size());
  }
  // The last one for which matches(value) holds; null: none. Those that are not on the way are other branches' copies, so
  // that only the last few are looked at.
  template <typename Matches>
  [[nodiscard]] Inst* find(List list, const Matches& matches) const {
    constexpr unsigned kMost = 8;
    for (unsigned i = 0; i < kMost && list != 0; ++i, list = values_[list - 1].before)
      if (matches(*values_[list - 1].value)) return values_[list - 1].value;
    return nullptr;
  }

 private:
  struct Entry {
    Inst* value;
    List before;
  };
  std::vector<Entry> values_;
};

// Replaces `inst`, which is about to be looked at, by the last one of the list that is on every way to it and the
// `same`. If there is none, it joins the list itself, and false is returned. Blocks keep what was unlinked until
// they are rebuilt.
template <typename Same>
bool replace_by_earlier(Function& function, const Dominators& dominators, EarlierValues& values,
                        EarlierValues::List& list, Inst* inst, Rule rule, const Same& same) {
  Inst* const found = values.find(
      list, [&](const Inst& other) { return same(other) && dominators.dominates(other.parent, inst->parent); });
  if (found == nullptr) {
    values.add(list, inst);
    return false;
  }
  function.count(rule);
  function.replace_all_uses(inst, found);
  function.unlink(inst);
  return true;
}

}  // namespace wavejit::ir::passes
