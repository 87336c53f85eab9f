#include "backend-x86/regalloc/copy_classes.h"

#include <algorithm>
#include <functional>

namespace wavejit::backend {
namespace {

// A bound for the time that joining takes. Larger classes hardly ever find one register that is free for all members.
constexpr size_t kMaxSpans = 64, kMaxMembers = 32;

}  // namespace

CopyClasses::CopyClasses(const Lives& lives)
    : class_of_(lives.lives.size(), kNoIndex), next_(lives.lives.size()), weights_(lives.lives.size()) {
  std::vector<RegisterCopy> copies = lives.copies;
  std::ranges::stable_sort(copies, std::greater<>(), &RegisterCopy::weight);
  for (const RegisterCopy& copy : copies) {
    const uint32_t to = class_with(lives, copy.to), from = class_with(lives, copy.from);
    if (to == kNoIndex || from == kNoIndex) continue;
    if (to != from) {
      if (!may_join(classes_[to], classes_[from])) continue;
      if (classes_[to].members < classes_[from].members) {
        join(from, to);
      } else {
        join(to, from);
      }
    }
    weights_[copy.to] += copy.weight;
    weights_[copy.from] += copy.weight;
  }
}

// The number of the register's class; none if it has too many spans.
uint32_t CopyClasses::class_with(const Lives& lives, uint32_t reg) {
  if (class_of_[reg] != kNoIndex) return class_of_[reg];
  const size_t before = spans_.size();
  lives.for_each_span(lives.lives[reg], [&](const LiveSpan& span) {
    if (span.begin < span.end) spans_.push_back(span);
    return spans_.size() <= before + kMaxSpans;
  });
  const size_t count = spans_.size() - before;
  if (count > kMaxSpans) {
    spans_.resize(before);
    return kNoIndex;
  }
  std::reverse(spans_.begin() + static_cast<ptrdiff_t>(before), spans_.end());
  next_[reg] = reg;
  class_of_[reg] = static_cast<uint32_t>(classes_.size());
  classes_.push_back(
      {.first = reg, .members = 1, .first_span = static_cast<uint32_t>(before), .spans = static_cast<uint32_t>(count)});
  return class_of_[reg];
}

bool CopyClasses::may_join(const Class& a, const Class& b) const {
  if (a.members + b.members > kMaxMembers || a.spans + b.spans > kMaxSpans) return false;
  for (uint32_t i = 0, k = 0; i < a.spans && k < b.spans;) {
    const LiveSpan &x = spans_[a.first_span + i], &y = spans_[b.first_span + k];
    if (x.end <= y.begin) {
      ++i;
    } else if (y.end <= x.begin) {
      ++k;
    } else {
      return false;
    }
  }
  return true;
}

void CopyClasses::join(uint32_t into, uint32_t other) {
  Class &a = classes_[into], &b = classes_[other];
  for_each_member(b, [&](uint32_t reg) { class_of_[reg] = into; });
  std::swap(next_[a.first], next_[b.first]);  // two rings become one
  a.members += b.members;
  const auto first = static_cast<uint32_t>(spans_.size());
  spans_.resize(first + a.spans + b.spans);
  const auto at = [&](uint32_t place) { return spans_.begin() + static_cast<ptrdiff_t>(place); };
  std::merge(at(a.first_span), at(a.first_span + a.spans), at(b.first_span), at(b.first_span + b.spans), at(first),
             [](const LiveSpan& x, const LiveSpan& y) { return x.begin < y.begin; });
  a.first_span = first;
  a.spans += b.spans;
}

}  // namespace wavejit::backend
