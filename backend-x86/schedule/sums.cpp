#include "backend-x86/schedule/sums.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "internal/check.h"

namespace wavejit::backend::schedule {
namespace {

// The most registers of factors in a window. A factor that several groups of sums read is spilled. All of them should fit
// the first-level cache: 8 KiB of 32-byte registers, 16 KiB of 64-byte ones.
constexpr unsigned kMaxFedRegisters = 256;
// Registers that a group of sums leaves free: a transposition of four rows needs four inputs and four results.
constexpr unsigned kFactorRegisters = 8;
// If all sums fit and leave at least this many registers free, the segment keeps the guest's order.
constexpr unsigned kMinFree = 4;
// Terms for each sum, on average, from which it pays to load and store the sum once and the factors more often.
constexpr size_t kMinTerms = 3;

// The additions to one sum inside a window.
struct Chain {
  std::vector<uint32_t> terms;
  uint32_t place = 0;  // where the first term's factor appears first, for sorting
};

class SumOrder {
 public:
  SumOrder(std::span<const Node> nodes, unsigned registers)
      : nodes_(nodes),
        registers_(registers),
        capacity_(registers - std::min(registers / 2, kFactorRegisters)),
        is_term_(nodes.size()),
        shared_factor_(nodes.size()),
        follows_(nodes.size()),
        done_(nodes.size()),
        made_again_(nodes.size()) {
    find_terms();
    find_shared_factors();
  }

  std::vector<uint32_t> run() {
    const auto count = static_cast<uint32_t>(nodes_.size());
    for (uint32_t begin = 0; begin < count;) {
      const uint32_t end = window_end(begin);
      order_window(begin, end);
      begin = end;
    }
    WAVEJIT_CHECK(order_.size() >= nodes_.size(), "a schedule of {} nodes for {}", order_.size(), nodes_.size());
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

  // Finds values that terms are made of and that several instructions read. They are spilled if groups of sums share them.
  void find_shared_factors() {
    std::vector<unsigned> readers(nodes_.size());
    std::vector<bool> wanted = is_term_;
    for (size_t i = nodes_.size(); i-- > 0;) {
      for (const uint32_t b : nodes_[i].before) {
        ++readers[b];
        if (wanted[i]) wanted[b] = true;
      }
      shared_factor_[i] = wanted[i] && !is_term_[i] && !nodes_[i].again && readers[i] > 1;
    }
  }

  // Nodes [begin, end) can be ordered as: what terms are made of, terms, what is made of sums. So no term may depend on
  // another chain's sums, nor on what is made of sums in the same window, which a sum may begin with.
  uint32_t window_end(uint32_t begin) {
    unsigned fed = 0;
    for (uint32_t i = begin; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      const bool behind_sums = std::any_of(node.before.begin(), node.before.end(), [&](uint32_t b) {
        return b >= begin && (follows_[b] || (is_term_[b] && !(is_term_[i] && b == node.sum)));
      });
      if (is_term_[i]) {
        if (behind_sums) return i;
        continue;
      }
      follows_[i] = behind_sums;
      if (behind_sums) continue;
      if (shared_factor_[i]) fed += node.registers;
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
        chains.push_back({.terms = {}, .place = first_place.try_emplace(nodes_[i].factor, i).first->second});
      }
      chains[chain].terms.push_back(i);
      chain_of[i] = chain;
    }
    std::sort(chains.begin(), chains.end(), [](const Chain& a, const Chain& b) {
      return std::pair(a.place, a.terms[0]) < std::pair(b.place, b.terms[0]);
    });
    return chains;
  }

  void emit(uint32_t node) {
    done_[node] = true;
    order_.push_back(node);
  }

  // Emits what the node waits for, sums apart, then the node.
  void emit_with_needs(uint32_t node, uint32_t begin) {
    const auto is_due = [&](uint32_t n) { return !done_[n] || made_again_[n]; };
    std::vector<uint32_t> stack = {node};  // segments may be long: no recursion
    while (!stack.empty()) {
      const uint32_t top = stack.back();
      const size_t height = stack.size();
      const auto& before = nodes_[top].before;
      if (is_due(top))
        std::copy_if(before.rbegin(), before.rend(), std::back_inserter(stack),
                     [&](uint32_t b) { return b >= begin && !is_term_[b] && is_due(b); });
      if (stack.size() != height) continue;
      stack.pop_back();
      if (!is_due(top)) continue;
      made_again_[top] = false;
      emit(top);
    }
  }

  // The most registers that a group of sums takes: groups of about the same size, since few sums at once wait for each
  // other's results, and whole rows of sums with the same factor.
  unsigned group_size(std::span<const Chain> chains, unsigned needed) const {
    unsigned row = 0;  // registers of the first row
    for (size_t i = 0; i < chains.size() && chains[i].place == chains[0].place; ++i)
      row += nodes_[chains[i].terms[0]].registers;
    const unsigned widest = nodes_[chains[0].terms[0]].registers;
    const unsigned unit = row <= capacity_ ? row : widest;
    const unsigned groups = (needed + capacity_ - 1) / capacity_, share = (needed + groups - 1) / groups;
    return std::min((share + unit - 1) / unit * unit, capacity_ / unit * unit);
  }

  // Values of the window that are for its terms only, directly or not.
  std::vector<bool> for_terms(uint32_t begin, uint32_t end) const {
    std::vector<bool> wanted(end - begin), result(end - begin);
    for (uint32_t i = end; i-- > begin;) {
      result[i - begin] = wanted[i - begin] && !is_term_[i] && !follows_[i] && !nodes_[i].early;
      if (is_term_[i] || result[i - begin])
        for (const uint32_t b : nodes_[i].before)
          if (b >= begin) wanted[b - begin] = true;
    }
    return result;
  }

  void order_window(uint32_t begin, uint32_t end) {
    const std::vector<Chain> chains = chains_of(begin, end);
    unsigned needed = 0;
    size_t terms = 0;
    for (const Chain& chain : chains) {
      needed += nodes_[chain.terms[0]].registers;
      terms += chain.terms.size();
    }
    if (needed + kMinFree <= registers_ || terms < kMinTerms * chains.size()) {
      for (uint32_t i = begin; i < end; ++i) emit(i);
      return;
    }
    changed_ = true;
    // In front: what neither is for terms nor waits for something that is, such as a store over bytes that terms load.
    std::vector<bool> waits = for_terms(begin, end);
    for (uint32_t i = begin; i < end; ++i) {
      const auto& before = nodes_[i].before;
      if (is_term_[i] || follows_[i] || waits[i - begin]) continue;
      if (nodes_[i].early)
        emit_with_needs(i, begin);
      else if (std::any_of(before.begin(), before.end(), [&](uint32_t b) { return b >= begin && waits[b - begin]; }))
        waits[i - begin] = true;
      else
        emit_with_needs(i, begin);
    }
    const unsigned most = group_size(chains, needed);
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
      for (uint32_t i = begin; i < end; ++i) made_again_[i] = nodes_[i].again && done_[i];
      for (size_t step = 0; step < longest; ++step)
        for (const Chain& chain : group)
          if (step < chain.terms.size()) emit_with_needs(chain.terms[step], begin);
      emit_followers(begin, end);
      first = last;
    }
    for (uint32_t i = begin; i < end; ++i)
      if (!done_[i]) emit_with_needs(i, begin);
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
  const unsigned registers_;         // of the host
  const unsigned capacity_;          // those that sums may take
  std::vector<bool> is_term_;        // by node
  std::vector<bool> shared_factor_;  // by node
  std::vector<bool> follows_;        // by node: made of sums of its window, or to be emitted behind them
  std::vector<bool> done_;
  std::vector<bool> made_again_;  // to be emitted once more for the next term that reads it
  std::vector<uint32_t> order_;
  bool changed_ = false;
};

}  // namespace

std::vector<uint32_t> order_by_sums(std::span<const Node> nodes, unsigned registers) {
  return SumOrder(nodes, registers).run();
}

}  // namespace wavejit::backend::schedule
