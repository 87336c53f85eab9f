#include "runtime/translate/kept_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <type_traits>

#include "internal/hash.h"
#include "runtime/kernel/symbols.h"

namespace wavejit::runtime {
namespace {

constexpr uint64_t kVersion = 1;
constexpr size_t kHashedBytes = 4096;             // of the code from the root on, in the identity
constexpr uint64_t kMostExecuted = 1 << 20;       // of an instruction; older counts are halved beyond it
constexpr uint64_t kMostAccessesOfExecution = 4;  // with their groups; more are none of the interpreter's counts
constexpr uint64_t kGroupsOfAccess = kWaveSize / 4;

struct Identity {
  std::array<char, 8> kind{'p', 'r', 'o', 'f', 'i', 'l', 'e', 's'};
  uint64_t version = kVersion, target = 0, root = 0, code_bytes = 0;
  Hash128 hash{};
};
struct Head {
  uint64_t ranges = 0, samples = 0;
  Hash128 guest_hash{};
};
struct Sample {
  uint64_t offset = 0;
  uint64_t executed = 0, lanes = 0, groups = 0, same = 0, consecutive = 0;
  uint64_t taken = 0, accesses = 0, strided = 0;
  int64_t stride = 0;
};
static_assert(std::has_unique_object_representations_v<Identity> && std::has_unique_object_representations_v<Head> &&
              std::has_unique_object_representations_v<Sample> &&
              std::has_unique_object_representations_v<lift::CodeRange>);

Identity identity_of(const ProfiledCode& of) {
  const std::span<const uint8_t> behind = of.code.subspan(of.root - of.base);
  return {.target = static_cast<uint64_t>(of.target),
          .root = of.root - of.base,
          .code_bytes = of.code.size(),
          .hash = hash128(behind.first(std::min(behind.size(), kHashedBytes)))};
}

std::span<const uint8_t> bytes_of(const Identity& identity) {
  return {reinterpret_cast<const uint8_t*>(&identity), sizeof identity};
}

bool is_in(const std::vector<lift::CodeRange>& ranges, uint64_t pc) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const lift::CodeRange& range) { return range.contains(pc); });
}

// Old counts lose weight, so that what a program does now outweighs them in the end.
Sample sample_of(uint64_t offset, const InstructionSample& at) {
  unsigned halved = 0;
  while (at.lanes.executed >> halved > kMostExecuted) ++halved;
  return {.offset = offset,
          .executed = at.lanes.executed >> halved,
          .lanes = at.lanes.lanes >> halved,
          .groups = at.lanes.groups >> halved,
          .same = at.lanes.same >> halved,
          .consecutive = at.lanes.consecutive >> halved,
          .taken = at.taken >> halved,
          .accesses = at.accesses >> halved,
          .strided = at.strided >> halved,
          .stride = at.stride};
}

// Counts that the interpreter could have made. Halved ones may be off by one.
bool is_plausible(const Sample& s) {
  if (s.executed == 0 || s.executed > kMostExecuted) return false;
  const uint64_t most = (s.executed + 1) * kMostAccessesOfExecution;
  return s.lanes <= (s.executed + 1) * kWaveSize && s.groups <= most * kGroupsOfAccess && s.same <= s.groups &&
         s.consecutive <= s.groups - s.same && s.taken <= s.executed && s.accesses <= most && s.strided <= s.accesses;
}

template <typename T>
void put(std::vector<uint8_t>& out, const T& value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

template <typename T>
std::optional<std::vector<T>> take(std::span<const uint8_t>& bytes, uint64_t count) {
  if (count > bytes.size() / sizeof(T)) return std::nullopt;
  std::vector<T> values(count);
  if (count != 0) std::memcpy(values.data(), bytes.data(), count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
  return values;
}

}  // namespace

std::vector<uint8_t> pack_profile(const ProfiledCode& of, const std::vector<lift::CodeRange>& ranges,
                                  const SampledCode& samples) {
  const std::optional<GuestCode> guest = guest_code(ranges, of.code, of.base);
  if (!guest) return {};
  std::map<uint64_t, Sample> inside;
  for (const auto& [pc, at] : samples)
    if (at.lanes.executed != 0 && is_in(ranges, pc)) inside.emplace(pc, sample_of(pc - of.base, at));
  std::vector<uint8_t> out;
  put(out, Head{.ranges = ranges.size(), .samples = inside.size(), .guest_hash = guest->hash});
  for (const lift::CodeRange& range : ranges)
    put(out, lift::CodeRange{.begin = range.begin - of.base, .end = range.end - of.base});
  for (const auto& [pc, sample] : inside) put(out, sample);
  return out;
}

std::optional<SampledCode> unpack_profile(const ProfiledCode& of, std::span<const uint8_t> bytes) {
  const auto head = take<Head>(bytes, 1);
  if (!head) return std::nullopt;
  auto ranges = take<lift::CodeRange>(bytes, head->front().ranges);
  if (!ranges || ranges->empty()) return std::nullopt;
  const auto samples = take<Sample>(bytes, head->front().samples);
  if (!samples || !bytes.empty()) return std::nullopt;
  for (lift::CodeRange& range : *ranges) {
    if (range.begin > range.end || range.end > of.code.size()) return std::nullopt;
    range = {.begin = range.begin + of.base, .end = range.end + of.base};
  }
  const std::optional<GuestCode> guest = guest_code(*ranges, of.code, of.base);
  if (!guest || guest->hash != head->front().guest_hash) return std::nullopt;
  SampledCode code;
  uint64_t last = 0;
  for (const Sample& sample : *samples) {
    const uint64_t pc = of.base + sample.offset;
    const bool is_next = sample.offset % 4 == 0 && (code.empty() || sample.offset > last);
    const bool is_inside = sample.offset < of.code.size() && is_in(*ranges, pc);
    if (!is_next || !is_inside || !is_plausible(sample)) return std::nullopt;
    last = sample.offset;
    code[pc] = {.lanes = {.executed = sample.executed,
                          .lanes = sample.lanes,
                          .groups = sample.groups,
                          .same = sample.same,
                          .consecutive = sample.consecutive},
                .taken = sample.taken,
                .accesses = sample.accesses,
                .strided = sample.strided,
                .stride = sample.stride};
  }
  return code;
}

void keep_profile(DiskCache& disk, const ProfiledCode& of, const std::vector<lift::CodeRange>& ranges,
                  const SampledCode& samples) {
  if (std::any_of(samples.begin(), samples.end(), [&](const auto& at) { return is_in(ranges, at.first); }))
    disk.store(bytes_of(identity_of(of)), pack_profile(of, ranges, samples), DiskCache::Kind::profile);
}

std::optional<SampledCode> load_profile(DiskCache& disk, const ProfiledCode& of) {
  const std::optional<DiskCache::Loaded> loaded = disk.load(bytes_of(identity_of(of)), DiskCache::Kind::profile);
  return loaded ? unpack_profile(of, loaded->contents) : std::nullopt;
}

Expected<SampledCode> kept_profile_of(const Module& module, const codeobject::Kernel& kernel) {
  const auto none = [&](const char* why) {
    return tl::unexpected<Error>(Error{
        .code = ErrorCode::kNotFound,
        .message = fmt::format("There is no profile of kernel '{}'{}. A process that interprets the kernel and then "
                               "translates it keeps one: run it with the engine 'auto', with the disk cache on.",
                               kernel.name, why),
        .kernel = kernel.name});
  };
  const std::shared_ptr<DiskCache> disk = DiskCache::of_process();
  if (!disk) return none(": the disk cache is off, or has no directory");
  const uint64_t entry = kernel.descriptor.entry;
  const std::span<const uint8_t> code = code_region(module.object(), entry);
  if (code.empty()) return none("");
  std::optional<SampledCode> kept = load_profile(
      *disk, {.target = module.target(), .root = entry, .code = code, .base = reinterpret_cast<uint64_t>(code.data())});
  if (!kept) return none("");
  return *std::move(kept);
}

}  // namespace wavejit::runtime
