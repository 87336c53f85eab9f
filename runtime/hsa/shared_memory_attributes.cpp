#include "runtime/hsa/shared_memory_attributes.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "internal/pages.h"
#include "runtime/hsa/agent.h"
#include "runtime/hsa/memory.h"
#include "runtime/hsa/status.h"

namespace wavejit::hsa {
namespace {

// Defaults are the driver's (kfd_svm.c, svm_range_set_default_attributes), but for the access: all memory is accessible.
struct Attributes {
  uint64_t flag = HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED;
  bool read_only = false, hive_local = false, read_mostly = false;
  uint64_t granularity = 9;                // log2 of pages
  uint64_t preferred = 0, prefetched = 0;  // agents' handles; 0: none
  std::map<uint64_t, uint64_t> access;     // by agent, where it is not HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE
};

uint64_t access_of(const Attributes& attributes, uint64_t agent) {
  const auto it = attributes.access.find(agent);
  return it == attributes.access.end() ? uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE} : it->second;
}

bool is_agent(uint64_t handle) {
  return agent_of({handle}) != nullptr;
}

class Ranges {
 public:
  static Ranges& get() {
    static auto* const ranges = new Ranges;  // HIP's own destructors may still call
    return *ranges;
  }

  std::mutex mutex;

  // Parts of the map that end at `begin` and `end`, with what is said of them; gaps get defaults.
  template <typename Change>
  void change(uint64_t begin, uint64_t end, Change&& apply) {
    cut(begin);
    cut(end);
    uint64_t at = begin;
    for (auto it = parts_.lower_bound(begin); it != parts_.end() && it->first < end; ++it) {
      if (it->first > at) it = parts_.emplace_hint(it, at, Part{it->first, {}});
      at = it->second.end;
    }
    if (at < end) parts_.emplace(at, Part{end, {}});
    for (auto it = parts_.lower_bound(begin); it != parts_.end() && it->first < end; ++it) apply(it->second.attributes);
  }

  // Calls `see` with what is said of each part, and of gaps.
  template <typename See>
  void visit(uint64_t begin, uint64_t end, See&& see) const {
    static const Attributes kDefaults;
    uint64_t at = begin;
    auto it = parts_.upper_bound(begin);
    if (it != parts_.begin() && std::prev(it)->second.end > begin) --it;
    for (; it != parts_.end() && it->first < end; ++it) {
      if (it->first > at) see(kDefaults);
      see(it->second.attributes);
      at = it->second.end;
    }
    if (at < end) see(kDefaults);
  }

  void erase(uint64_t begin, uint64_t end) {
    if (parts_.empty()) return;
    cut(begin);
    cut(end);
    parts_.erase(parts_.lower_bound(begin), parts_.lower_bound(end));
  }

 private:
  struct Part {
    uint64_t end;
    Attributes attributes;
  };

  // A part that reaches over `at` becomes two.
  void cut(uint64_t at) {
    auto it = parts_.lower_bound(at);
    if (it == parts_.begin()) return;
    Part& part = std::prev(it)->second;
    if (part.end <= at) return;
    parts_.emplace_hint(it, at, part);
    part.end = at;
  }

  std::map<uint64_t, Part> parts_;  // by their beginnings
};

struct Pages {
  uint64_t begin, end;
};
Pages pages_of(const void* memory, size_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(memory) / kPage * kPage;
  const uint64_t end =
      reinterpret_cast<uint64_t>(memory) + std::min<uint64_t>(bytes, ~reinterpret_cast<uint64_t>(memory));
  return {begin, std::max(end / kPage * kPage + (end % kPage != 0 ? kPage : 0), begin)};
}

hsa_status_t check(const hsa_amd_svm_attribute_pair_t& pair) {
  switch (pair.attribute) {
    case HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG:
    case HSA_AMD_SVM_ATTRIB_READ_ONLY:
    case HSA_AMD_SVM_ATTRIB_HIVE_LOCAL:
    case HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY:
    case HSA_AMD_SVM_ATTRIB_READ_MOSTLY:
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION:
      return pair.value == 0 || is_agent(pair.value) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
    case HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE:
    case HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE:
    case HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS:
      return is_agent(pair.value) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_AGENT;
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

void apply(Attributes& to, const hsa_amd_svm_attribute_pair_t& pair) {
  switch (pair.attribute) {
    case HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG:
      to.flag = pair.value;
      break;
    case HSA_AMD_SVM_ATTRIB_READ_ONLY:
      to.read_only = pair.value != 0;
      break;
    case HSA_AMD_SVM_ATTRIB_HIVE_LOCAL:
      to.hive_local = pair.value != 0;
      break;
    case HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY:
      to.granularity = pair.value;
      break;
    case HSA_AMD_SVM_ATTRIB_READ_MOSTLY:
      to.read_mostly = pair.value != 0;
      break;
    case HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION:
      to.preferred = pair.value;
      break;
    default:
      to.access[pair.value] = pair.attribute;
  }
}

// What holds for all pages: flags of all, locations that all have, the smallest granularity.
hsa_status_t query(const Pages& pages, hsa_amd_svm_attribute_pair_t& pair) {
  std::optional<uint64_t> answer;
  const auto take = [&](uint64_t value, auto&& merge) { answer = answer ? merge(*answer, value) : value; };
  const auto both = [](uint64_t a, uint64_t b) { return a & b; };
  const auto least = [](uint64_t a, uint64_t b) { return std::min(a, b); };
  const auto common = [](uint64_t a, uint64_t b) { return a == b ? a : 0; };
  const auto visit = [&](auto&& member, auto&& merge) {
    Ranges::get().visit(pages.begin, pages.end, [&](const Attributes& a) { take(member(a), merge); });
    pair.value = answer.value_or(member(Attributes{}));
  };
  switch (pair.attribute) {
    case HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG:
      visit([](const Attributes& a) { return a.flag; }, least);
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_SVM_ATTRIB_READ_ONLY:
      visit([](const Attributes& a) { return uint64_t{a.read_only}; }, both);
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_SVM_ATTRIB_HIVE_LOCAL:
      visit([](const Attributes& a) { return uint64_t{a.hive_local}; }, both);
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY:
      visit([](const Attributes& a) { return a.granularity; }, least);
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_SVM_ATTRIB_READ_MOSTLY:
      visit([](const Attributes& a) { return uint64_t{a.read_mostly}; }, both);
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION:
      visit([](const Attributes& a) { return a.preferred; }, common);
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION:
      visit([](const Attributes& a) { return a.prefetched; }, common);
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_SVM_ATTRIB_ACCESS_QUERY: {
      const uint64_t agent = pair.value;
      if (!is_agent(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
      visit([&](const Attributes& a) { return access_of(a, agent); }, common);
      // Of ranges that differ the weaker right is true: the agent reaches them.
      pair.attribute = pair.value != 0 ? pair.value : uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE};
      pair.value = agent;
      return HSA_STATUS_SUCCESS;
    }
    default:
      return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}

}  // namespace

void forget_attributes(const void* memory, size_t bytes) {
  const Pages pages = pages_of(memory, bytes);
  Ranges& ranges = Ranges::get();
  const std::lock_guard lock(ranges.mutex);
  ranges.erase(pages.begin, pages.end);
}

}  // namespace wavejit::hsa

using namespace wavejit::hsa;

// The driver keeps attributes of the process's own memory, not of what it allocates for pools (svm_range_is_valid and
// svm_range_check_vm in kfd_svm.c).
WAVEJIT_HSA_API hsa_status_t hsa_amd_svm_attributes_set(void* memory, size_t bytes, hsa_amd_svm_attribute_pair_t* list,
                                                        size_t count) {
  return entry([&] {
    if (count != 0 && !list) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const std::span pairs(list, count);
    for (const auto& pair : pairs)
      if (const hsa_status_t status = check(pair); status != HSA_STATUS_SUCCESS) return status;
    const Pages pages = pages_of(memory, bytes);
    if (holds_pool_memory(pages.begin, pages.end)) return HSA_STATUS_ERROR;
    Ranges& ranges = Ranges::get();
    const std::lock_guard lock(ranges.mutex);
    ranges.change(pages.begin, pages.end, [&](auto& attributes) {
      for (const auto& pair : pairs) apply(attributes, pair);
    });
    return HSA_STATUS_SUCCESS;
  });
}

WAVEJIT_HSA_API hsa_status_t hsa_amd_svm_attributes_get(void* memory, size_t bytes, hsa_amd_svm_attribute_pair_t* list,
                                                        size_t count) {
  return entry([&] {
    if (count != 0 && !list) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const Pages pages = pages_of(memory, bytes);
    if (holds_pool_memory(pages.begin, pages.end)) return HSA_STATUS_ERROR;
    const std::lock_guard lock(Ranges::get().mutex);
    for (auto& pair : std::span(list, count))
      if (const hsa_status_t status = query(pages, pair); status != HSA_STATUS_SUCCESS) return status;
    return HSA_STATUS_SUCCESS;
  });
}

// Nothing moves; the copy of nothing keeps the order of signals.
WAVEJIT_HSA_API hsa_status_t hsa_amd_svm_prefetch_async(void* memory, size_t bytes, hsa_agent_t agent, uint32_t count,
                                                        const hsa_signal_t* dependencies, hsa_signal_t completion) {
  const hsa_status_t status = entry([&] {
    if (!agent_of(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    const Pages pages = pages_of(memory, bytes);
    Ranges& ranges = Ranges::get();
    const std::lock_guard lock(ranges.mutex);
    ranges.change(pages.begin, pages.end, [&](auto& attributes) { attributes.prefetched = agent.handle; });
    return HSA_STATUS_SUCCESS;
  });
  if (status != HSA_STATUS_SUCCESS) return status;
  static uint8_t nothing;
  return hsa_amd_memory_async_copy(&nothing, agent, &nothing, agent, 0, count, dependencies, completion);
}
