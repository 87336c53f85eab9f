// What a wave does for lanes that would not go where it goes.
//
// At a branch on "some lane is in this mask" the wave takes the way of the lanes in the mask, if there are any, with the others:
// for these it is as if they had skipped the way if it accesses no memory for them and leaves the values that they have behind
// it as they were. This is proven by evaluating the way for such a lane: masks become "none" or "all", and values "the same
// as" others.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis/loops.h"
#include "ir/function.h"

namespace wavejit::ir {

// The mask that a branch asks for lanes, and the number of the successor that is taken if there is one.
struct LaneBranch {
  Inst* mask = nullptr;
  unsigned some = 0;
};
[[nodiscard]] std::optional<LaneBranch> lane_branch(const Block& block);

// What a value is in lanes that skip a way, on that way.
struct LaneFact {
  enum class Kind : uint8_t { unknown, none, all, same };
  Kind kind = Kind::unknown;
  const Inst* of = nullptr;  // same: as this value at the beginning of the way
  bool operator==(const LaneFact&) const = default;
};

// The way that is taken if some lane is in the mask, up to where the other way begins. If it comes back to the branch, it is a
// loop that lanes leave one by one, and "the way" is one more iteration.
class SkippedWay {
 public:
  // `branch` is in the loop. `always` is a mask that contains the lanes that skip; null: none is known. `last` allows uses
  // behind the loop of values that its last iteration leaves: scalars, and phis that settle(). `staying` is the mask of the lanes
  // that go on to the next iteration; null: lanes leave together.
  SkippedWay(const Block* branch, const LaneBranch& lanes, const Loop& loop, const Inst* always, bool last,
             const Inst* staying = nullptr);

  // If not, `why` says what stands against it. The functions below are for ways that change nothing.
  [[nodiscard]] bool changes_nothing(std::string_view& why);

  // Masks among the phis of the loop's header of which none has a lane that skips.
  [[nodiscard]] const std::vector<const Inst*>& empty_masks() const { return empty_; }
  // Whether what `value` is behind the way is what it was before.
  [[nodiscard]] bool is_kept(const Inst* value, unsigned depth = 4);
  // The phi of the header which has the value in iterations that change nothing; null: none.
  [[nodiscard]] const Inst* carried_by(const Inst* value);
  // Of a phi of the header: its value from the branch's iteration; null if there are several.
  [[nodiscard]] const Inst* next(const Inst* phi) const;
  // Whether a phi of the header is, from the second iteration that a lane skips on, what the first one would begin with.
  [[nodiscard]] bool settles(const Inst* phi);

 private:
  static constexpr unsigned kMaxDepth = 6;
  static constexpr unsigned kMaxCases = 48;  // that a proof looks at

  [[nodiscard]] bool is_proven(std::string_view& why);
  [[nodiscard]] bool is_proven_by_cases(std::string_view& why) const;
  using Assumptions = std::vector<std::pair<const Inst*, LaneFact>>;
  [[nodiscard]] bool is_proven_in_each(const Assumptions& assumptions, unsigned& left, std::string_view& why) const;
  [[nodiscard]] const Inst* undecided(const Inst* mask, unsigned depth) const;
  void assume_carried();
  void assume(const Inst* mask, const LaneFact& fact, unsigned depth);
  void assume_operands(const Inst* mask, const LaneFact& fact, unsigned depth);
  bool conclude();
  [[nodiscard]] bool stays(const Inst* phi);
  [[nodiscard]] bool collect(std::string_view& why);
  void assume_phis();
  void check_phi(const Inst* phi);
  [[nodiscard]] bool leaves_as_it_was(const Inst& inst);
  void find_differences();
  [[nodiscard]] bool differences_stay_unseen();
  [[nodiscard]] bool is_repeated(const Block* block) const;
  [[nodiscard]] bool depends_on(const Inst& user, const Inst* value);
  [[nodiscard]] std::unordered_set<const Block*> blocks_before() const;
  void collect_rest();
  [[nodiscard]] bool has_no_lane(const Inst* mask, std::unordered_set<const Inst*>& phis, bool& refuted,
                                 unsigned depth) const;
  [[nodiscard]] bool has_no_lane(const Inst* mask) const;
  LaneFact of(const Inst* value);
  LaneFact in_front(const Inst* value, unsigned depth) const;
  LaneFact phi(const Inst& inst);
  LaneFact merged_behind(const Inst& phi);
  bool is_never_taken(const Block& from, const Block& to);
  [[nodiscard]] std::unordered_set<const Block*> blocks_behind() const;
  LaneFact evaluate(const Inst& inst);
  template <typename Operand>
  static LaneFact combined(const Inst& inst, const Operand& operand);

  const Block* branch_;
  Inst* mask_;
  const unsigned some_;
  const Block* first_;
  const Block* other_;
  const Loop& loop_;
  const Inst* const always_;
  const bool last_;
  const Inst* const staying_;
  std::unordered_set<const Block*> way_;
  std::unordered_set<const Block*> rest_;    // behind the way: what is reached by it and by the other way alone
  std::unordered_set<const Block*> behind_;  // blocks_behind(), when somebody has asked
  std::vector<const Inst*> different_;       // phis where the ways meet that are not what they would be without the way
  const Inst* open_ = nullptr;  // mask of a later branch that decides whether a difference is seen: the next case split
  bool contradicts_ = false;    // the facts in given_ exclude each other: no such lane exists
  bool skips_ = true;           // false: of lanes that may be in the mask
  bool again_ = false;          // the way comes back to the branch
  bool refuted_ = false;
  std::vector<const Inst*> loop_phis_, empty_;
  std::unordered_set<const Inst*> unknown_, not_empty_;
  std::unordered_map<const Inst*, LaneFact> given_, facts_;
};

}  // namespace wavejit::ir
