// Liveness of the registers that live in more than one block.
#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "backend-x86/regalloc/lives.h"

namespace wavejit::backend {
namespace {

// A set of blocks.
class BlockSet {
 public:
  explicit BlockSet(size_t blocks) : words_(blocks / 64 + 1), used_(words_.size() / 64 + 1) {}
  void add(uint32_t block) {
    words_[block / 64] |= uint64_t{1} << block % 64;
    used_[block / 4096] |= uint64_t{1} << block / 64 % 64;
    end_ = std::max(end_, block / 4096 + 1);
  }
  // Removes the highest block and returns it; kNoIndex if the set is empty.
  uint32_t take_highest() {
    for (; end_ > 0; --end_) {
      const uint32_t u = end_ - 1;
      if (used_[u] == 0) continue;
      const auto in_used = static_cast<uint32_t>(std::bit_width(used_[u]) - 1);
      uint64_t& word = words_[u * 64 + in_used];
      const auto in_word = static_cast<uint32_t>(std::bit_width(word) - 1);
      word ^= uint64_t{1} << in_word;
      if (word == 0) used_[u] ^= uint64_t{1} << in_used;
      return u * 4096 + in_used * 64 + in_word;
    }
    return kNoIndex;
  }
  // Removes all blocks and calls visit(block) for each, in ascending order.
  template <typename Visit>
  void take(Visit&& visit) {
    for (size_t u = 0; u < end_; ++u) {
      for (; used_[u] != 0; used_[u] &= used_[u] - 1) {
        const size_t w = u * 64 + static_cast<size_t>(std::countr_zero(used_[u]));
        for (; words_[w] != 0; words_[w] &= words_[w] - 1)
          visit(static_cast<uint32_t>(w * 64) + static_cast<uint32_t>(std::countr_zero(words_[w])));
      }
    }
    end_ = 0;
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<uint64_t> used_;  // a bit for each word that is not 0
  uint32_t end_ = 0;            // from there on, used_ is 0
};

// Facts of a block about up to 64 registers, a bit for each: which are alive at its beginning, and which its instructions
// name.
struct BlockWords {
  uint64_t live_in = 0, touched = 0;
};

}  // namespace

std::vector<Lives::Touch> Lives::exposed_touches() {
  for (const Touch& touch : touches_)
    if (touch.reads_first && blocks[touch.block].reachable) lives[touch.reg].exposed = true;
  std::vector<Touch> touches;
  for (const Touch& touch : touches_)
    if (lives[touch.reg].exposed && blocks[touch.block].reachable) touches.push_back(touch);
  // By register.
  std::vector<uint32_t> place(lives.size() + 1);
  for (const Touch& touch : touches) ++place[touch.reg + 1];
  for (uint32_t reg = 0; reg < lives.size(); ++reg) place[reg + 1] += place[reg];
  std::vector<Touch> sorted(touches.size());
  for (const Touch& touch : touches) sorted[place[touch.reg]++] = touch;
  return sorted;
}

void Lives::find_live_registers() {
  const std::vector<Touch> touches = exposed_touches();
  if (touches.empty()) return;

  // Predecessors, as lists one behind the other.
  std::vector<uint32_t> first_predecessor(blocks.size() + 1), predecessors;
  const auto each_edge = [&](auto&& visit) {
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      const FlowBlock& block = blocks[b];
      if (!block.reachable) continue;
      if (block.next != kNoIndex) visit(b, block.next);
      if (block.target != kNoIndex && block.target != block.next) visit(b, block.target);
    }
  };
  each_edge([&](uint32_t, uint32_t to) { ++first_predecessor[to + 1]; });
  for (size_t b = 0; b < blocks.size(); ++b) first_predecessor[b + 1] += first_predecessor[b];
  predecessors.resize(first_predecessor.back());
  std::vector<uint32_t> fill = first_predecessor;
  each_edge([&](uint32_t from, uint32_t to) { predecessors[fill[to]++] = from; });

  // 64 registers at a time, from the blocks that read them first backwards to those that write them. Registers that are
  // alive in the same blocks are visited together: long lives first, those of similar length by their beginnings.
  struct Range {
    uint32_t begin, end;  // in touches
    uint32_t length, first_block;
  };
  std::vector<Range> ranges;
  for (uint32_t begin = 0; begin < touches.size();) {
    uint32_t end = begin;
    while (end < touches.size() && touches[end].reg == touches[begin].reg) ++end;
    const uint32_t first = touches[begin].block;
    const auto length = static_cast<uint32_t>(std::bit_width(touches[end - 1].block - first));
    ranges.push_back({.begin = begin, .end = end, .length = length, .first_block = first});
    begin = end;
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tuple(b.length, a.first_block, a.begin) < std::tuple(a.length, b.first_block, b.begin);
  });
  std::vector<BlockWords> words(blocks.size());
  BlockSet visited(blocks.size());  // blocks that have facts about the current 64 registers
  BlockSet work(blocks.size());
  std::array<std::vector<Run>, 64> runs;
  const auto words_of = [&](uint32_t block) -> BlockWords& {
    BlockWords& w = words[block];
    if ((w.live_in | w.touched) == 0) visited.add(block);
    return w;
  };
  for (size_t first = 0; first < ranges.size(); first += 64) {
    const std::span<const Range> batch(ranges.data() + first, std::min<size_t>(64, ranges.size() - first));
    for (size_t r = 0; r < batch.size(); ++r) {
      for (uint32_t t = batch[r].begin; t < batch[r].end; ++t) {
        BlockWords& w = words_of(touches[t].block);
        w.touched |= uint64_t{1} << r;
        if (!touches[t].reads_first) continue;
        w.live_in |= uint64_t{1} << r;
        work.add(touches[t].block);
      }
    }
    for (uint32_t b = work.take_highest(); b != kNoIndex; b = work.take_highest()) {
      const uint64_t live = words[b].live_in;
      for (uint32_t p = first_predecessor[b]; p < first_predecessor[b + 1]; ++p) {
        const uint32_t from = predecessors[p];
        BlockWords& w = words_of(from);
        const uint64_t more = live & ~w.touched & ~w.live_in;
        w.live_in |= more;
        if (more != 0) work.add(from);
      }
    }
    const auto live_behind = [&](const FlowBlock& block) {
      return (block.next != kNoIndex ? words[block.next].live_in : 0) |
             (block.target != kNoIndex ? words[block.target].live_in : 0);
    };
    for (size_t r = 0; r < batch.size(); ++r)
      for (uint32_t t = batch[r].begin; t < batch[r].end; ++t)
        if ((live_behind(blocks[touches[t].block]) >> r & 1) != 0)
          uses[touches[t].last_use].flags |= RegisterUse::lives_on;
    // A run extends to the next block if the register is alive there and this block does not name it.
    uint64_t open = 0;
    uint32_t last = 0;
    const auto each = [](uint64_t bits, auto&& visit) {
      for (; bits != 0; bits &= bits - 1) visit(static_cast<size_t>(std::countr_zero(bits)));
    };
    const auto close = [&](uint64_t bits) { each(bits, [&](size_t r) { runs[r].back().last = last; }); };
    visited.take([&](uint32_t b) {
      const uint64_t live = words[b].live_in;
      const uint64_t on = b == last + 1 ? open & live : 0;
      close(open & ~on);
      each(live & ~on, [&](size_t r) { runs[r].push_back({.first = b, .last = b}); });
      last = b;
      close(live & words[b].touched);
      open = live & ~words[b].touched;
      words[b] = {};
    });
    close(open);
    for (size_t r = 0; r < batch.size(); ++r) {
      Lifetime& life = lives[touches[batch[r].begin].reg];
      life.first_run = static_cast<uint32_t>(runs_.size());
      runs_.insert(runs_.end(), runs[r].begin(), runs[r].end());
      life.last_run = static_cast<uint32_t>(runs_.size());
      life.near_run = {life.first_run, life.first_run};
      runs[r].clear();
    }
  }
}

bool Lives::lives_on_into(uint32_t block, const Lifetime& life) const {
  // The last run that begins at the block or before it is most often that of the previous question.
  const auto holds = [&](uint32_t run) { return runs_[run].first <= block && block <= runs_[run].last; };
  uint32_t& near = life.near_run[block > exit_block_ ? 1 : 0];
  const auto begins_behind = [&](uint32_t run) { return run == life.last_run || runs_[run].first > block; };
  for (uint32_t step = 0; step < 2 && near < life.last_run && runs_[near].first <= block; ++step) {
    if (begins_behind(near + 1)) return holds(near);
    ++near;
  }
  const auto begin = runs_.begin() + life.first_run, end = runs_.begin() + life.last_run;
  const auto behind = std::upper_bound(begin, end, block, [](uint32_t b, const Run& run) { return b < run.first; });
  if (behind == begin) return false;
  near = static_cast<uint32_t>(std::prev(behind) - runs_.begin());
  return holds(near);
}

}  // namespace wavejit::backend
