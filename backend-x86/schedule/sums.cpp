#include "backend-x86/schedule/sums.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "internal/check.h"

namespace wavejit::backend::schedule {
namespace {

// Values that the terms of a window are made of. They are stored and read again by each group of sums, so they should
// stay in the first-level cache: at most 8 KiB of 32-byte registers, 16 KiB of 64-byte ones.
constexpr unsigned kMaxFedRegisters = 256;
// Terms for each sum, on average, from which it pays to load and store the sum once and the factors more often.
constexpr size_t kMinTerms = 3;

// The additions to one sum inside a window.
struct Chain {
  std::vector<uint32_t> terms;
  uint32_t start = kNoNode;  // the node that makes the sum's first value, emitted with the chain if only that reads it
  uint32_t place = 0;        // where the first term's factor appears first, for sorting
};

class SumOrder {
 public:
  SumOrder(std::span<const Node> nodes, unsigned registers)
      : nodes_(nodes),
        registers_(registers),
        capacity_(registers * 3 / 4),
        is_term_(nodes.size()),
        follows_(nodes.size()),
        done_(nodes.size()) {
    find_terms();
  }

  std::vector<uint32_t> run() {
    const auto count = static_cast<uint32_t>(nodes_.size());
    for (uint32_t begin = 0; begin < count;) {
      const uint32_t end = window_end(begin);
      order_window(begin, end);
      begin = end;
    }
    WAVEJIT_CHECK(order_.size() == nodes_.size(), "a schedule of {} nodes for {}", order_.size(), nodes_.size());
    return changed_ ? std::move(order_) : std::vector<uint32_t>();
  }

 private:
  // Additions to sums that get at least two terms in the segment.
  void find_terms() {
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const uint32_t sum = nodes_[i].sum;
      if (nodes_[i].adds && sum != kNoNode && nodes_[sum].adds) is_term_[i] = is_term_[sum] = true;
    }
  }

  // Nodes [begin, end) can be ordered as: what terms are made of, terms, what is made of sums. So no term may depend on
  // another chain's sums, nor on what is made of sums in the same window.
  uint32_t window_end(uint32_t begin) {
    unsigned fed = 0;
    for (uint32_t i = begin; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      const bool behind_sums = std::any_of(node.before.begin(), node.before.end(), [&](uint32_t b) {
        return b >= begin && (is_term_[b] || follows_[b]) && !(is_term_[i] && b == node.sum);
      });
      if (is_term_[i]) {
        if (behind_sums) return i;
        continue;
      }
      follows_[i] = behind_sums;
      if (behind_sums) continue;
      fed += node.registers;
      if (fed > kMaxFedRegisters && i > begin) return i;
    }
    return static_cast<uint32_t>(nodes_.size());
  }

  std::vector<Chain> chains_of(uint32_t begin, uint32_t end) {
    std::vector<Chain> chains;
    std::unordered_map<uint32_t, size_t> chain_of;       // by term
    std::unordered_map<uint32_t, uint32_t> first_place;  // by factor
    for (uint32_t i = begin; i < end; ++i) {
      if (!is_term_[i]) continue;
      const uint32_t sum = nodes_[i].sum;
      size_t chain = chains.size();
      if (const auto it = chain_of.find(sum); it != chain_of.end()) {
        chain = it->second;
      } else {
        const bool inside = sum != kNoNode && sum >= begin && !is_term_[sum];
        chains.push_back({.terms = {},
                          .start = inside ? sum : kNoNode,
                          .place = first_place.try_emplace(nodes_[i].factor, i).first->second});
      }
      chains[chain].terms.push_back(i);
      chain_of[i] = chain;
    }
    // A start that other instructions have to come after is emitted at its own place.
    std::vector<bool> alone(end - begin, true);
    for (uint32_t i = begin; i < end; ++i) {
      if (is_term_[i] || follows_[i]) continue;
      for (const uint32_t b : nodes_[i].before)
        if (b >= begin) alone[b - begin] = false;
    }
    for (Chain& chain : chains)
      if (chain.start != kNoNode && (!alone[chain.start - begin] || follows_[chain.start])) chain.start = kNoNode;
    std::sort(chains.begin(), chains.end(), [](const Chain& a, const Chain& b) {
      return std::pair(a.place, a.terms[0]) < std::pair(b.place, b.terms[0]);
    });
    return chains;
  }

  void emit(uint32_t node) {
    if (done_[node]) return;
    done_[node] = true;
    order_.push_back(node);
  }

  void order_window(uint32_t begin, uint32_t end) {
    const std::vector<Chain> chains = chains_of(begin, end);
    unsigned needed = 0;
    unsigned widest = 1;
    size_t terms = 0;
    for (const Chain& chain : chains) {
      widest = std::max(widest, nodes_[chain.terms[0]].registers);
      needed += nodes_[chain.terms[0]].registers;
      terms += chain.terms.size();
    }
    if (needed <= registers_ || terms < kMinTerms * chains.size()) {
      for (uint32_t i = begin; i < end; ++i) emit(i);
      return;
    }
    changed_ = true;
    std::vector<bool> waits(end - begin);  // for its chain
    for (const Chain& chain : chains)
      if (chain.start != kNoNode) waits[chain.start - begin] = true;
    for (uint32_t i = begin; i < end; ++i)
      if (!is_term_[i] && !follows_[i] && !waits[i - begin]) emit(i);
    // Groups of about the same size: few sums at once wait for each other's results.
    const unsigned groups = (needed + capacity_ - 1) / capacity_, share = (needed + groups - 1) / groups;
    const unsigned most = std::min((share + widest - 1) / widest * widest, capacity_);
    for (size_t first = 0; first < chains.size();) {
      size_t last = first;
      unsigned used = 0;
      size_t longest = 0;
      do {
        used += nodes_[chains[last].terms[0]].registers;
        longest = std::max(longest, chains[last].terms.size());
        ++last;
      } while (last < chains.size() && used + nodes_[chains[last].terms[0]].registers <= most);
      const std::span<const Chain> group(chains.data() + first, last - first);
      for (const Chain& chain : group)
        if (chain.start != kNoNode) emit(chain.start);
      for (size_t step = 0; step < longest; ++step)
        for (const Chain& chain : group)
          if (step < chain.terms.size()) emit(chain.terms[step]);
      emit_followers(begin, end);
      first = last;
    }
  }

  // What is made of finished sums, so that these need no register any more.
  void emit_followers(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      if (done_[i] || !follows_[i]) continue;
      const auto& before = nodes_[i].before;
      if (std::all_of(before.begin(), before.end(), [&](uint32_t b) { return done_[b]; })) emit(i);
    }
  }

  const std::span<const Node> nodes_;
  const unsigned registers_;   // of the host
  const unsigned capacity_;    // those that sums may take
  std::vector<bool> is_term_;  // by node
  std::vector<bool> follows_;  // by node: made of sums of its window, or to be emitted behind them
  std::vector<bool> done_;
  std::vector<uint32_t> order_;
  bool changed_ = false;
};

}  // namespace

std::vector<uint32_t> order_by_sums(std::span<const Node> nodes, unsigned registers) {
  return SumOrder(nodes, registers).run();
}

}  // namespace wavejit::backend::schedule
