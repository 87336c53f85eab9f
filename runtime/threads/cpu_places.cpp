#include "runtime/threads/cpu_places.h"

#include <algorithm>
#include <bitset>
#include <optional>

namespace wavejit::runtime {
namespace {

using CpuSet = std::bitset<CPU_SETSIZE>;

bool is_cpu(int cpu) {
  return cpu >= 0 && cpu < CPU_SETSIZE;
}

// The first of `allowed`, from the one behind `start` on, that is not in `taken`.
std::optional<int> next_free(const cpu_set_t& allowed, const CpuSet& taken, int start) {
  for (int i = 1; i <= CPU_SETSIZE; ++i) {
    const int cpu = (start + i) % CPU_SETSIZE;
    if (CPU_ISSET(cpu, &allowed) && !taken[static_cast<size_t>(cpu)]) return cpu;
  }
  return std::nullopt;
}

}  // namespace

void CpuPlaces::Member::waits() {
  cpu_ = sched_getcpu();
  busy_ = false;
}

void CpuPlaces::Member::works() {
  if (placed_) pthread_setaffinity_np(thread_, sizeof allowed_, &allowed_);
  placed_ = false;
  cpu_ = sched_getcpu();
  busy_ = true;
}

void CpuPlaces::spread(int used) {
  CpuSet taken;
  if (is_cpu(used)) taken.set(static_cast<size_t>(used));
  for (const Member& member : members_)
    if (member.busy_ && is_cpu(member.cpu_)) taken.set(static_cast<size_t>(member.cpu_));
  for (Member& member : members_) {
    if (member.busy_) continue;
    if (is_cpu(member.cpu_) && !taken[static_cast<size_t>(member.cpu_)]) {
      taken.set(static_cast<size_t>(member.cpu_));
      continue;
    }
    if (!member.placed_ && pthread_getaffinity_np(member.thread_, sizeof member.allowed_, &member.allowed_) != 0)
      return;
    const std::optional<int> free = next_free(member.allowed_, taken, std::max(used, 0));
    if (!free) return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(*free, &only);
    if (pthread_setaffinity_np(member.thread_, sizeof only, &only) != 0) return;
    member.placed_ = true;
    member.cpu_ = *free;
    taken.set(static_cast<size_t>(*free));
  }
}

}  // namespace wavejit::runtime
