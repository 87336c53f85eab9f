#include "runtime/launch/patience.h"

#include <fmt/format.h>
#include <sched.h>

#include <utility>

#include "runtime/launch/errors.h"

namespace wavejit::runtime {
namespace {

constexpr std::chrono::seconds kLack{10};      // without a change, and without memory for another work-group
constexpr unsigned kMomentsOfLack = 1024;      // between two looks at the clock
constexpr unsigned kMomentsBetweenCalls = 16;  // of LaunchRequest::waiting

}  // namespace

void Patience::note_lack(std::string why) {
  lack_ = changed_ = true;
  why_ = std::move(why);
}

void Patience::wait_a_moment() {
  sched_yield();
  if (++moments_ % kMomentsBetweenCalls != 0) return;
  runner_.restore_mxcsr();
  if (shared_.request.waiting) shared_.request.waiting();
  if (!lack_ || moments_ % kMomentsOfLack != 0) return;
  const Clock::time_point now = Clock::now();
  if (std::exchange(changed_, false)) unchanged_since_ = now;
  if (now - unchanged_since_ > kLack)
    shared_.fail({.code = ErrorCode::kOutOfMemory,
                  .message = fmt::format("Kernel '{}' cannot end: its work-groups wait for others, and the host has no "
                                         "memory for more of them at a time. {}",
                                         kernel_name(shared_), why_)});
}

}  // namespace wavejit::runtime
