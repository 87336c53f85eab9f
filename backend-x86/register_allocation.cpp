#include "backend-x86/register_allocation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>
#include <vector>

namespace wavejit::backend {
namespace {

namespace x86 = asmjit::x86;
using asmjit::BaseNode;
using asmjit::FuncNode;
using asmjit::InstNode;
using asmjit::InvokeNode;
using asmjit::NodeType;
using asmjit::Operand;
using asmjit::Operand_;

constexpr uint32_t kNone = UINT32_MAX;

// Functions with fewer virtual registers are left alone: sharing makes loops worse that are short of host registers.
constexpr size_t kMany = 16384;

// Calls visit(id) with a reference to the id of each virtual register the operand speaks of.
template <typename Visit>
void visit_operand(Operand_& operand, Visit&& visit) {
  if (operand.isVirtReg()) {
    visit(operand._baseId);
  } else if (operand.isMem()) {
    const auto& mem = operand.as<asmjit::BaseMem>();
    if (mem.hasBaseReg() && Operand::isVirtId(mem.baseId())) visit(operand._baseId);
    if (mem.hasIndexReg() && Operand::isVirtId(mem.indexId())) visit(operand._data[Operand::kDataMemIndexId]);
  }
}

template <typename Visit>
void visit_registers(BaseNode& node, Visit&& visit) {
  if (!node.isInst()) return;
  auto& inst = *node.as<InstNode>();
  for (uint32_t i = 0; i < inst.opCount(); ++i) visit_operand(inst.op(i), visit);
  if (inst.hasExtraReg() && Operand::isVirtId(inst.extraReg().id())) visit(inst.extraReg()._id);
  if (node.type() != NodeType::kInvoke) return;
  auto& call = *node.as<InvokeNode>();
  for (uint32_t part = 0; part < asmjit::Globals::kMaxValuePack; ++part) {
    visit_operand(call._rets[part], visit);
    for (uint32_t i = 0; i < call.argCount(); ++i) visit_operand(call.arg(i, part), visit);
  }
}

// Whether the instruction, the first that knows the register, does not depend on what it holds.
bool defines(const InstNode& inst, uint32_t id) {
  if (inst.type() == NodeType::kInvoke) {
    const auto& call = static_cast<const InvokeNode&>(inst);
    bool read = false;
    const auto compare = [&](uint32_t& other) { read |= other == id; };
    for (uint32_t i = 0; i < call.opCount(); ++i) visit_operand(const_cast<Operand&>(call.op(i)), compare);
    for (uint32_t part = 0; part < asmjit::Globals::kMaxValuePack; ++part)
      for (uint32_t i = 0; i < call.argCount(); ++i) visit_operand(const_cast<InvokeNode&>(call).arg(i, part), compare);
    return !read;
  }
  const auto is_it = [&](uint32_t i) { return inst.op(i).isReg() && inst.op(i).id() == id; };
  // Zeros and ones out of whatever was there.
  const x86::Inst::Id kind = static_cast<x86::Inst::Id>(inst.realId());
  if (inst.opCount() == 3 && is_it(0) && is_it(1) && is_it(2))
    return kind == x86::Inst::kIdVpxor || kind == x86::Inst::kIdVpxord || kind == x86::Inst::kIdVpcmpeqd ||
           kind == x86::Inst::kIdKxnorw;
  unsigned seen = 0;
  visit_registers(const_cast<InstNode&>(inst), [&](uint32_t& other) { seen += other == id; });
  if (seen != 1) return false;
  asmjit::InstRWInfo info;
  if (asmjit::InstAPI::queryRWInfo(asmjit::Arch::kX64, inst.baseInst(), inst.operands(), inst.opCount(), &info))
    return false;
  for (uint32_t i = 0; i < inst.opCount(); ++i)
    if (is_it(i)) return info.operand(i).isWriteOnly();
  return false;
}

// The smallest or largest element of any range.
template <typename Better>
class RangeBest {
 public:
  void build(std::vector<uint32_t> values) {
    const size_t size = values.size();
    levels_.assign(1, std::move(values));
    for (size_t step = 1; 2 * step <= size; step *= 2) {
      const std::vector<uint32_t>& below = levels_.back();
      std::vector<uint32_t> level(size - 2 * step + 1);
      for (size_t i = 0; i < level.size(); ++i) level[i] = better(below[i], below[i + step]);
      levels_.push_back(std::move(level));
    }
  }
  // Of [begin, end), which is not empty.
  [[nodiscard]] uint32_t best(size_t begin, size_t end) const {
    const auto level = static_cast<size_t>(std::bit_width(end - begin)) - 1;
    return better(levels_[level][begin], levels_[level][end - (size_t{1} << level)]);
  }

 private:
  static uint32_t better(uint32_t a, uint32_t b) { return Better{}(a, b) ? a : b; }
  std::vector<std::vector<uint32_t>> levels_;  // level l, element i: of 2^l elements from i on
};

// The function's code in an order in which what the cold section has for a place comes where control leaves for it, so
// that lives are short.
class Order {
 public:
  explicit Order(FuncNode& function) {
    split(function);
    arrange();
    enter();
    find_loops();
  }

  // The nodes, in order. A node's position is its index.
  [[nodiscard]] const std::vector<BaseNode*>& nodes() const { return nodes_; }

  [[nodiscard]] bool is_cold(uint32_t position) const { return place_of(position) == Place::Where::cold; }

  // Whether there are loops, other than in the cold section, that begin in (first, last].
  [[nodiscard]] bool has_loop(uint32_t first, uint32_t last) const {
    const auto head = std::upper_bound(loop_heads_.begin(), loop_heads_.end(), first);
    return head != loop_heads_.end() && *head <= last;
  }

  // The last position of the smallest stretch of code around [first, last] that control enters through `first` only;
  // kNone when there is none.
  [[nodiscard]] uint32_t closed_end(uint32_t first, uint32_t last) const {
    const auto behind = [&](uint32_t position) {
      return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin());
    };
    const size_t begin = behind(first);
    for (;;) {
      const size_t end = behind(last);
      if (begin == end) return last;
      if (first_source_.best(begin, end) < first) return kNone;
      const uint32_t from = last_source_.best(begin, end);
      if (from <= last) return last;
      last = from;
    }
  }

 private:
  struct Place {
    enum class Where : uint8_t { straight, loop, cold };
    uint32_t position;
    Where where;
  };
  [[nodiscard]] Place::Where place_of(uint32_t position) const {
    const auto next = std::upper_bound(places_.begin(), places_.end(), position,
                                       [](uint32_t p, const Place& place) { return p < place.position; });
    return next == places_.begin() ? Place::Where::straight : std::prev(next)->where;
  }
  struct Block {
    std::vector<BaseNode*> nodes;
    std::vector<uint32_t> targets;  // labels
    bool cold = false;
    bool falls_through = true;
    bool placed = false;
    uint32_t first = 0, last = 0;  // positions
  };

  void split(FuncNode& function) {
    bool cold = false;
    bool open = false;
    for (BaseNode* node = function.next(); node != nullptr && node != function.endNode(); node = node->next()) {
      if (!node->isLabel() && !node->isInst()) continue;  // comments of listings
      if (node == function.exitNode()) cold = true;
      if (!open || node->isLabel()) {
        if (!(open && blocks_.back().nodes.back()->isLabel())) {
          blocks_.emplace_back();
          blocks_.back().cold = cold;
        }
        open = true;
      }
      Block& block = blocks_.back();
      block.nodes.push_back(node);
      if (node->isLabel()) {
        block_of_[node->as<asmjit::LabelNode>()->labelId()] = static_cast<uint32_t>(blocks_.size() - 1);
        continue;
      }
      auto& inst = *node->as<InstNode>();
      for (uint32_t i = 0; i < inst.opCount(); ++i)
        if (inst.op(i).isLabel()) block.targets.push_back(inst.op(i).id());
      if (inst.realId() == x86::Inst::kIdJmp || node->type() == NodeType::kFuncRet) block.falls_through = false;
      open = block.targets.empty() && block.falls_through;
    }
  }

  void arrange() {
    std::vector<uint32_t> work;
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      work.assign(1, b);
      while (!work.empty()) {
        const uint32_t index = work.back();
        work.pop_back();
        Block& block = blocks_[index];
        if (block.placed) continue;
        block.placed = true;
        block.first = static_cast<uint32_t>(nodes_.size());
        nodes_.insert(nodes_.end(), block.nodes.begin(), block.nodes.end());
        block.last = static_cast<uint32_t>(nodes_.size()) - 1;
        if (block.cold && block.falls_through && index + 1 < blocks_.size()) work.push_back(index + 1);
        for (const uint32_t label : block.targets)
          if (const auto it = block_of_.find(label); it != block_of_.end() && blocks_[it->second].cold)
            work.push_back(it->second);
      }
    }
  }

  void enter() {
    struct Start {
      uint32_t position, first_source = kNone, last_source = 0;
    };
    std::vector<Start> starts(blocks_.size());
    for (uint32_t b = 0; b < blocks_.size(); ++b) starts[b].position = blocks_[b].first;
    const auto source = [&](uint32_t block, uint32_t position) {
      starts[block].first_source = std::min(starts[block].first_source, position);
      starts[block].last_source = std::max(starts[block].last_source, position);
    };
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b].falls_through && b + 1 < blocks_.size()) source(b + 1, blocks_[b].last);
      for (const uint32_t label : blocks_[b].targets)
        if (const auto it = block_of_.find(label); it != block_of_.end()) source(it->second, blocks_[b].last);
    }
    // What nothing leads to does not matter.
    std::erase_if(starts, [](const Start& s) { return s.first_source == kNone; });
    std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.position < b.position; });
    std::vector<uint32_t> first_source, last_source;
    for (const Start& start : starts) {
      starts_.push_back(start.position);
      first_source.push_back(start.first_source);
      last_source.push_back(start.last_source);
    }
    first_source_.build(std::move(first_source));
    last_source_.build(std::move(last_source));
  }

  void find_loops() {
    // The last jump back to a block makes it the head of a loop that extends to there.
    std::vector<uint32_t> ends(blocks_.size(), 0);
    for (const Block& block : blocks_) {
      if (block.cold) continue;
      for (const uint32_t label : block.targets)
        if (const auto it = block_of_.find(label); it != block_of_.end() && blocks_[it->second].first <= block.last)
          ends[it->second] = std::max(ends[it->second], block.last);
    }
    std::vector<uint32_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return blocks_[a].first < blocks_[b].first; });
    uint32_t end = 0;  // of the loops seen so far
    for (const uint32_t b : order) {
      const Block& block = blocks_[b];
      if (ends[b] != 0) loop_heads_.push_back(block.first);
      end = std::max(end, ends[b]);
      places_.push_back({.position = block.first,
                         .where = block.cold           ? Place::Where::cold
                                  : block.first <= end ? Place::Where::loop
                                                       : Place::Where::straight});
    }
  }

  std::vector<Block> blocks_;                        // in the order of the code
  std::unordered_map<uint32_t, uint32_t> block_of_;  // label id -> block
  std::vector<BaseNode*> nodes_;
  std::vector<uint32_t> starts_;      // positions of blocks, ascending
  std::vector<uint32_t> loop_heads_;  // positions, ascending
  std::vector<Place> places_;         // of blocks, ascending
  // For starts_: the first and the last position from which control comes.
  RangeBest<std::less<>> first_source_;
  RangeBest<std::greater<>> last_source_;
};

struct Life {
  uint32_t first = kNone, last = 0;
  bool fixed = false;       // keeps its own register
  uint32_t shared = kNone;  // index of the register used instead
  uint32_t member = kNone;  // which Member that is
};

// Registers that lives use one after the other, and until where the last of them does.
struct Member {
  uint32_t index, busy_until;
};
// The kind of a life: signature, size and type of the register, length (as a power of two) and whether it is in the
// cold section.
using Kind = std::array<uint32_t, 5>;

}  // namespace

void share_virtual_registers(x86::Compiler& compiler, FuncNode& function) {
  if (compiler.virtRegs().size() < kMany) return;
  const Order order(function);
  std::vector<Life> lives(compiler.virtRegs().size());
  const auto life_of = [&](uint32_t id) -> Life& { return lives[Operand::virtIdToIndex(id)]; };
  for (uint32_t position = 0; position < order.nodes().size(); ++position) {
    visit_registers(*order.nodes()[position], [&](uint32_t& id) {
      Life& life = life_of(id);
      if (life.first == kNone) life.first = position;
      life.last = position;
    });
  }
  for (uint32_t i = 0; i < lives.size(); ++i) lives[i].fixed = compiler.virtRegByIndex(i)->isStack();
  for (uint32_t i = 0; i < function.argCount(); ++i)
    for (uint32_t part = 0; part < asmjit::Globals::kMaxValuePack; ++part)
      if (const uint32_t id = function.argPack(i)[part].id(); Operand::isVirtId(id)) life_of(id).fixed = true;

  std::vector<Member> members;
  std::map<Kind, std::vector<uint32_t>> pools;
  const auto assign = [&](uint32_t index, uint32_t position) {
    Life& life = lives[index];
    life.shared = index;
    const uint32_t end = life.fixed ? kNone : order.closed_end(life.first, life.last);
    InstNode& inst = *order.nodes()[position]->as<InstNode>();
    if (end == kNone || !defines(inst, Operand::indexToVirtId(index))) return;
    const auto own = [&] {
      life.member = static_cast<uint32_t>(members.size());
      members.push_back({.index = index, .busy_until = end});
    };
    // The allocator gives a register a home among the host's registers that nothing else occupies meanwhile, the ones
    // that are used most for the length of their lives first. So short lives are not tied to long ones, nor those in
    // the cold section to others, and what is alive all through a loop has a register of its own.
    if (order.has_loop(life.first, end)) return own();
    const asmjit::VirtReg& reg = *compiler.virtRegByIndex(index);
    const Kind kind{reg.signature().bits(), reg.virtSize(), static_cast<uint32_t>(reg.typeId()),
                    static_cast<uint32_t>(std::bit_width(end - life.first)), order.is_cold(position) ? 1u : 0u};
    std::vector<uint32_t>& pool = pools[kind];
    const auto free =
        std::find_if(pool.rbegin(), pool.rend(), [&](uint32_t m) { return members[m].busy_until < position; });
    if (free == pool.rend()) {
      own();
      pool.push_back(life.member);
      return;
    }
    life.member = *free;
    life.shared = members[life.member].index;
    members[life.member].busy_until = end;
  };
  for (uint32_t position = 0; position < order.nodes().size(); ++position) {
    visit_registers(*order.nodes()[position], [&](uint32_t& id) {
      const uint32_t index = Operand::virtIdToIndex(id);
      if (lives[index].shared == kNone) assign(index, position);
    });
  }
  // Only now, so that assign() has seen the instructions as they were.
  for (BaseNode* node : order.nodes())
    visit_registers(*node, [&](uint32_t& id) { id = Operand::indexToVirtId(life_of(id).shared); });
}

}  // namespace wavejit::backend

// Parts of asmjit's register allocator that need other code here. Both functions are inline in asmjit's private headers
// and thus weak symbols of its library, which these definitions take precedence over. Their names carry the version of
// asmjit's binary interface: with another one they are just not used.
namespace {

// asmjit's RALiveSpan<LiveRegData> and RALiveSpans: positions [begin, end) in which a register is alive, ascending.
struct Span {
  uint32_t begin, end;
  uint32_t reg;
};
struct Spans {
  asmjit::ZoneVector<Span> list;
};
static_assert(sizeof(Span) == 12 && sizeof(Spans) == 16);

constexpr uint32_t kOverlap = UINT32_MAX;  // what the allocator expects instead of an error code

}  // namespace

// Debian compiles asmjit with its internal assertions. This one, called several times for each instruction, walks all
// registers of the function and takes four fifths of the time of a large compilation; here it holds without looking.
extern "C" bool wavejit_asmjit_ra_verify(const void*) __asm__("_ZN6asmjit8_abi_1_912RAAssignment6verifyEv");
extern "C" bool wavejit_asmjit_ra_verify(const void*) {
  return true;
}

// result = x and y together, y's spans for register *reg, if they do not overlap. asmjit merges span by span until it
// finds an overlap, for every register of the function with all that a host register holds already. Here spans of y
// are looked up in x, and what lies between them is copied in one piece.
extern "C" uint32_t
wavejit_asmjit_union_of_spans(Spans* result, asmjit::ZoneAllocator* allocator, const Spans& x, const Spans& y, const uint32_t* reg) __asm__(
    "_ZN6asmjit8_abi_1_911RALiveSpansINS0_10RALiveSpanINS0_11LiveRegDataEEEE21nonOverlappingUnionOfEPNS0_"
    "13ZoneAllocatorERKS5_S9_RKS3_");
extern "C" uint32_t wavejit_asmjit_union_of_spans(Spans* result, asmjit::ZoneAllocator* allocator, const Spans& x,
                                                  const Spans& y, const uint32_t* reg) {
  const Span *const x_begin = x.list.data(), *const x_end = x_begin + x.list.size();
  // The first span of x, from `from` on, that ends behind the beginning of `span`. Steps grow, so that neither many
  // nor few spans of y are slow.
  const auto behind = [&](const Span* from, const Span& span) {
    size_t step = 1;
    while (step < static_cast<size_t>(x_end - from) && from[step].end <= span.begin) from += step, step *= 2;
    const Span* to = from + std::min<size_t>(step + 1, static_cast<size_t>(x_end - from));
    return std::lower_bound(from, to, span.begin, [](const Span& s, uint32_t begin) { return s.end <= begin; });
  };
  const Span* from = x_begin;
  for (const Span& span : y.list) {
    from = behind(from, span);
    if (from == x_end) break;
    if (from->begin < span.end) return kOverlap;
  }
  if (const asmjit::Error error = result->list.reserve(allocator, x.list.size() + y.list.size())) return error;
  Span* to = result->list.data();
  const auto copy = [&](const Span* begin, const Span* end) {
    if (begin != end) std::memcpy(to, begin, static_cast<size_t>(end - begin) * sizeof(Span));
    to += end - begin;
  };
  from = x_begin;
  for (const Span& span : y.list) {
    const Span* next = from == x_end ? x_end : behind(from, span);
    copy(from, next);
    from = next;
    *to++ = {.begin = span.begin, .end = span.end, .reg = *reg};
  }
  copy(from, x_end);
  result->list._size = x.list.size() + y.list.size();
  return asmjit::kErrorOk;
}
