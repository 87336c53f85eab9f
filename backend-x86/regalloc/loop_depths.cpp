// Wei, Mao, Zou, Chen: A New Algorithm for Identifying Loops in Decompilation (SAS 2007). One depth-first search tags each block with
// the head of its innermost loop.
#include "backend-x86/regalloc/loop_depths.h"

#include <array>
#include <utility>

namespace wavejit::backend {
namespace {

class LoopHeads {
 public:
  explicit LoopHeads(std::span<const FlowBlock> blocks) : blocks_(blocks), nodes_(blocks.size()) {}

  std::vector<uint32_t> run() {
    if (!blocks_.empty()) search();
    std::vector<uint32_t> depths(blocks_.size());
    for (uint32_t b = 0; b < depths.size(); ++b) {
      depths[b] = nodes_[b].is_head ? 1 : 0;
      for (uint32_t head = nodes_[b].head; head != kNoIndex; head = nodes_[head].head) ++depths[b];
    }
    return depths;
  }

 private:
  struct Node {
    uint32_t head = kNoIndex;  // of the innermost loop that it is in and not the head of
    uint32_t on_path = 0;      // its place on the way from the entry, from 1 on; 0 if it is not on it
    bool visited = false, is_head = false;
    uint8_t followed = 0;  // edges
  };

  void search() {
    std::vector<uint32_t> path;
    const auto enter = [&](uint32_t block) {
      path.push_back(block);
      nodes_[block].visited = true;
      nodes_[block].on_path = static_cast<uint32_t>(path.size());
    };
    enter(0);
    while (!path.empty()) {
      const uint32_t block = path.back();
      Node& node = nodes_[block];
      const std::array<uint32_t, 2> edges{blocks_[block].next, blocks_[block].target};
      if (node.followed < edges.size()) {
        const uint32_t to = edges[node.followed++];
        if (to == kNoIndex) continue;
        if (nodes_[to].visited) {
          meet(block, to);
        } else {
          enter(to);
        }
        continue;
      }
      node.on_path = 0;
      path.pop_back();
      if (!path.empty()) put_into(path.back(), node.head);
    }
  }

  // An edge to a block that the search has been at.
  void meet(uint32_t block, uint32_t to) {
    if (nodes_[to].on_path != 0) {
      nodes_[to].is_head = true;
      put_into(block, to);
      return;
    }
    // Past the heads of loops that the way is not in: the edge enters these elsewhere.
    uint32_t head = nodes_[to].head;
    while (head != kNoIndex && nodes_[head].on_path == 0) head = nodes_[head].head;
    put_into(block, head);
  }

  // The block is in the loop of `head`, too: the heads of its loops are in the order of the path.
  void put_into(uint32_t block, uint32_t head) {
    if (block == head || head == kNoIndex) return;
    while (nodes_[block].head != kNoIndex) {
      const uint32_t known = nodes_[block].head;
      if (known == head) return;
      if (nodes_[known].on_path < nodes_[head].on_path) std::swap(nodes_[block].head, head);
      block = nodes_[block].head;
    }
    nodes_[block].head = head;
  }

  const std::span<const FlowBlock> blocks_;
  std::vector<Node> nodes_;
};

}  // namespace

std::vector<uint32_t> loop_depths(std::span<const FlowBlock> blocks) {
  return LoopHeads(blocks).run();
}

}  // namespace wavejit::backend
