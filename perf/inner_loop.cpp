#include "inner_loop.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace wavejit::perf {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<uint64_t> hex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// The number behind `key`.
std::optional<uint64_t> hex_behind(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  return at == std::string_view::npos ? std::nullopt : hex(line.substr(at + key.size()));
}

// First and last position of a loop: what its backward branch goes to, and the branch.
struct Loop {
  uint64_t first, last;
  [[nodiscard]] bool contains(uint64_t position) const { return position >= first && position <= last; }
  [[nodiscard]] bool contains(const Loop& other) const {
    return first <= other.first && last >= other.last && (first != other.first || last != other.last);
  }
};

// One loop a header, up to the last branch back to it.
std::vector<Loop> loops_of(const std::map<uint64_t, uint64_t>& last_branch) {
  std::vector<Loop> loops;
  for (const auto& [first, last] : last_branch) loops.push_back({first, last});
  return loops;
}

struct Guest {
  std::vector<uint64_t> addresses;
  std::vector<Loop> loops;
};

Guest read_gcn(std::string_view text) {
  Guest guest;
  std::map<std::string_view, uint64_t> labels;  // of what was read so far
  std::vector<std::string_view> pending;
  std::map<uint64_t, uint64_t> last_branch;
  for (const std::string_view line : lines_of(text)) {
    if (line.starts_with('L') && line.ends_with(':')) {
      pending.push_back(line.substr(0, line.size() - 1));
      continue;
    }
    const auto address = line.starts_with("  ") ? hex(line.substr(2)) : std::nullopt;
    if (!address) continue;
    guest.addresses.push_back(*address);
    for (const std::string_view label : pending) labels[label] = *address;
    pending.clear();
    const size_t target = line.find("; -> ");
    if (target == std::string_view::npos) continue;
    const auto known = labels.find(line.substr(target + 5));
    if (known != labels.end()) last_branch[known->second] = *address;
  }
  guest.loops = loops_of(last_branch);
  return guest;
}

struct HostInstruction {
  uint64_t pc;       // of the guest instruction it belongs to
  unsigned comment;  // number of the IR instruction
};
struct Host {
  std::optional<uint64_t> entry;  // guest address of the kernel
  std::vector<HostInstruction> instructions;
  std::vector<Loop> loops;  // positions in `instructions`
};

Host read_x86(std::string_view text) {
  Host host;
  std::map<std::string_view, uint64_t> labels;
  std::map<uint64_t, uint64_t> last_branch;
  uint64_t pc = 0;
  unsigned comment = 0;
  for (const std::string_view line : lines_of(text)) {
    if (line.starts_with(';')) {
      if (const auto entry = hex_behind(line, "code at 0x")) host.entry = entry;
      continue;
    }
    if (line.empty() || line.starts_with('.')) continue;
    if (line.starts_with('L') && line.ends_with(':')) {
      labels[line.substr(0, line.size() - 1)] = host.instructions.size();
      continue;
    }
    // "00004a  %31:mask = ... @0x7f2c": an IR instruction; behind "cold:" comes what is rarely executed.
    if (line.size() > 8 && line.substr(6, 2) == "  " && hex(line.substr(0, 6))) {
      if (line.substr(8).starts_with("cold:")) break;
      pc = hex_behind(line, "@0x").value_or(pc);
      ++comment;
      continue;
    }
    host.instructions.push_back({pc, comment});
    if (!line.starts_with('j')) continue;
    const auto known = labels.find(line.substr(line.find(' ') + 1));
    if (known == labels.end()) continue;
    // Loops within an IR instruction are over lanes.
    const uint64_t here = host.instructions.size() - 1;
    if (known->second < here && host.instructions[known->second].comment == comment) continue;
    last_branch[known->second] = here;
  }
  host.loops = loops_of(last_branch);
  return host;
}

}  // namespace

InnerLoop inner_loop(std::string_view gcn, std::string_view x86) {
  const Guest guest = read_gcn(gcn);
  const Host host = read_x86(x86);
  const InnerLoop whole{guest.addresses.size(), host.instructions.size()};
  if (guest.addresses.empty() || !host.entry) return whole;
  const uint64_t bias = *host.entry - guest.addresses.front();
  // The smallest loop around an address, by number.
  const auto loop_of = [&](uint64_t address) -> std::optional<size_t> {
    std::optional<size_t> best;
    for (size_t i = 0; i < guest.loops.size(); ++i)
      if (guest.loops[i].contains(address) && (!best || guest.loops[*best].contains(guest.loops[i]))) best = i;
    return best;
  };
  // What is in each loop, but in no smaller one.
  std::vector<InnerLoop> counts(guest.loops.size());
  for (const uint64_t address : guest.addresses)
    if (const auto loop = loop_of(address)) ++counts[*loop].guest;
  for (uint64_t i = 0; i < host.instructions.size(); ++i) {
    if (std::none_of(host.loops.begin(), host.loops.end(), [&](const Loop& loop) { return loop.contains(i); }))
      continue;
    if (const auto loop = loop_of(host.instructions[i].pc - bias)) ++counts[*loop].host;
  }
  // Loops that the host has as one are one: a way back from the middle of a loop looks like a loop of its own.
  std::vector<size_t> merged(guest.loops.size());
  std::iota(merged.begin(), merged.end(), size_t{0});
  for (const Loop& loop : host.loops) {
    if (std::any_of(host.loops.begin(), host.loops.end(), [&](const Loop& other) { return loop.contains(other); }))
      continue;
    std::map<size_t, uint64_t> shares;
    for (uint64_t i = loop.first; i <= loop.last; ++i)
      if (const auto of = loop_of(host.instructions[i].pc - bias)) ++shares[*of];
    std::optional<size_t> first;
    for (const auto& [part, share] : shares) {
      if (8 * share < loop.last - loop.first) continue;
      if (!first) first = merged[part];
      const size_t from = merged[part];
      std::replace(merged.begin(), merged.end(), from, *first);
    }
  }
  // The one where most instructions are executed if all loops take eight iterations.
  uint64_t most = 0;
  InnerLoop result = whole;
  for (size_t i = 0; i < counts.size(); ++i) {
    InnerLoop sum;
    uint64_t times = UINT64_MAX;
    for (size_t part = 0; part < counts.size(); ++part) {
      if (merged[part] != i) continue;
      sum.guest += counts[part].guest;
      sum.host += counts[part].host;
      uint64_t depth = 1;
      for (const Loop& other : guest.loops)
        if (other.contains(guest.loops[part])) depth *= 8;
      times = std::min(times, depth);
    }
    if (sum.host == 0 || sum.guest * times <= most) continue;
    most = sum.guest * times;
    result = sum;
  }
  return result;
}

uint64_t code_bytes(std::string_view x86) {
  const size_t end = x86.find(" bytes");
  if (end == std::string_view::npos) return 0;
  const size_t begin = x86.rfind(' ', end - 1) + 1;
  uint64_t value = 0;
  std::from_chars(x86.data() + begin, x86.data() + end, value);
  return value;
}

}  // namespace wavejit::perf
