#include "runtime/translate/stored_unit.h"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

// Of the program or library that this is part of.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name
extern "C" __attribute__((weak, visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace wavejit::runtime {
namespace {

// Tables of these follow the head, then the code.
struct StoredHead {
  uint32_t entries = 0, slots = 0, fault_ranges = 0, code_bytes = 0, guest_ranges = 0;
  uint32_t host_instructions = 0;
  uint32_t flags = 0;  // the cache lines that the code changes are above the others
  uint32_t unused = 0;
  Hash128 guest_hash{};
};
constexpr uint32_t kReadsIds = 1, kRunsThrough = 2;
constexpr unsigned kChangedLinesShift = 8;

struct StoredEntry {
  uint64_t guest_pc = 0;
  uint64_t resumed_only = 0;
  uint64_t exec = 0;
};

struct StoredFaultRange {
  uint64_t guest_pc = 0;
  uint32_t begin = 0, end = 0;
  uint8_t first_lane = 0, lanes = 0, element_bytes = 0, lane_elements = 0, skipped_elements = 0;
  uint8_t flags = 0;
  uint8_t unused[2] = {};
};
constexpr uint8_t kContiguous = 1, kWrite = 2, kLaneInState = 4, kPairedOrder = 8, kMisaligned = 16;

// No padding: everything that is written is initialised. Each table keeps the next one aligned.
static_assert(sizeof(StoredHead) == 48 && sizeof(lift::CodeRange) == 16 && sizeof(StoredEntry) == 24 &&
              sizeof(StoredFaultRange) == 24);
static_assert(sizeof(backend::FunctionSlot) == 8 && std::is_trivially_copyable_v<backend::FunctionSlot>);

// What identity_of() has of the code.
constexpr size_t kHashedBytes = 4096;

class Writer {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::has_unique_object_representations_v<T>);
    bytes(&value, sizeof value);
  }
  void put(bool value) { put(static_cast<uint8_t>(value)); }
  void put(std::string_view text) {
    put(uint64_t{text.size()});
    bytes(text.data(), text.size());
  }
  void bytes(const void* data, size_t size) {
    const auto* begin = static_cast<const uint8_t*>(data);
    out_.insert(out_.end(), begin, begin + size);
  }
  std::vector<uint8_t> take() { return std::move(out_); }

 private:
  std::vector<uint8_t> out_;
};

void put_shape(Writer& w, const lift::DispatchShape& shape) {
  const auto& [workgroup, id_dimensions, packed_ids, last_wave, group_id_sgpr, dispatch_packet_sgpr, kernarg_sgpr,
               kernarg] = shape;
  for (const uint32_t size : workgroup) w.put(size);
  w.put(id_dimensions);
  w.put(packed_ids);
  w.put(last_wave);
  for (const int sgpr : group_id_sgpr) w.put(sgpr);
  w.put(dispatch_packet_sgpr);
  w.put(kernarg_sgpr);
  w.put(uint64_t{kernarg.size()});
  for (const auto& [offset, bytes, value] : kernarg) {
    w.put(offset);
    w.put(bytes);
    w.put(value);
  }
}

// Gives out pieces of what is left, as long as there is enough.
class Pieces {
 public:
  explicit Pieces(std::span<const uint8_t> bytes) : left_(bytes) {}
  template <typename T>
  [[nodiscard]] std::span<const T> take(uint64_t count) {
    if (count > left_.size() / sizeof(T)) {
      ok_ = false;
      return {};
    }
    const std::span<const uint8_t> bytes = left_.first(count * sizeof(T));
    left_ = left_.subspan(bytes.size());
    return {reinterpret_cast<const T*>(bytes.data()), count};
  }
  [[nodiscard]] bool all_taken() const { return ok_ && left_.empty(); }

 private:
  std::span<const uint8_t> left_;
  bool ok_ = true;
};

// In the notes of the program or library, which start where the linker says that its header is.
std::span<const uint8_t> find_build_id() {
  if (&__ehdr_start == nullptr) return {};
  const auto* image = reinterpret_cast<const uint8_t*>(&__ehdr_start);
  const std::span headers(reinterpret_cast<const ElfW(Phdr)*>(image + __ehdr_start.e_phoff), __ehdr_start.e_phnum);
  const auto first = std::find_if(headers.begin(), headers.end(),
                                  [](const ElfW(Phdr) & h) { return h.p_type == PT_LOAD && h.p_offset == 0; });
  if (first == headers.end()) return {};
  for (const ElfW(Phdr) & h : headers) {
    if (h.p_type != PT_NOTE) continue;
    const uint8_t* note = image + (h.p_vaddr - first->p_vaddr);
    const uint8_t* end = note + h.p_memsz;
    while (end - note >= static_cast<ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) header;
      std::memcpy(&header, note, sizeof header);
      const uint64_t name = (uint64_t{header.n_namesz} + 3) & ~3u, text = (uint64_t{header.n_descsz} + 3) & ~3u;
      if (sizeof header + name + text > static_cast<uint64_t>(end - note)) break;
      const uint8_t* description = note + sizeof header + name;
      if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(note + sizeof header, "GNU", 4) == 0)
        return {description, header.n_descsz};
      note = description + text;
    }
  }
  return {};
}

}  // namespace

std::span<const uint8_t> build_id() {
  static const std::span<const uint8_t> id = find_build_id();
  return id;
}

std::optional<GuestCode> guest_code(std::vector<lift::CodeRange> ranges, std::span<const uint8_t> code, uint64_t base) {
  std::vector<Hash128> hashes;
  for (const auto& [begin, end] : ranges) {
    if (begin < base || end < begin || end - base > code.size()) return std::nullopt;
    hashes.push_back(hash128(code.subspan(begin - base, end - begin)));
  }
  const Hash128 hash = hash128({reinterpret_cast<const uint8_t*>(hashes.data()), hashes.size() * sizeof(Hash128)});
  return GuestCode{.ranges = std::move(ranges), .hash = hash};
}

std::vector<uint8_t> identity_of(const lift::LiftOptions& options, backend::Tier tier,
                                 std::span<const std::string> disabled, bool poll_all_loops) {
  if (build_id().empty()) return {};
  // A field more does not compile: it belongs here. The name is for messages only. What a profile says is not part of it:
  // the next process, which has none, is to find this one's code.
  const auto& [target, ecc_off, name, entry_pc, code, code_base, mode, exec_full, exec_at_entries, is_kernel_entry,
               count_instructions, block_counter, lds_size, scratch_srd_sgpr, scratch_srd_at_entries,
               scratch_srd_behind_calls, shape, resident_rows, part, moved_pc, profile] = options;
  static_cast<void>(name);
  static_cast<void>(profile);
  if (block_counter) return {};           // the code holds addresses of counters
  if (part != lift::kAllCode) return {};  // nobody asks for it again
  Writer w;
  w.put(uint64_t{build_id().size()});
  w.bytes(build_id().data(), build_id().size());
  for (const uint32_t word : backend::host_identity()) w.put(word);
  w.put(tier);
  w.put(uint64_t{disabled.size()});
  for (const std::string& pass : disabled) w.put(std::string_view(pass));
  w.put(poll_all_loops);
  const std::span<const uint8_t> behind_entry = code.subspan(entry_pc - code_base);
  w.put(hash128(behind_entry.first(std::min(behind_entry.size(), kHashedBytes))));
  w.put(uint64_t{code.size()});
  w.put(code_base);
  w.put(target);
  w.put(ecc_off);
  w.put(entry_pc);
  w.put(mode);
  w.put(exec_full);
  w.put(exec_at_entries);
  w.put(is_kernel_entry);
  w.put(count_instructions);
  w.put(resident_rows);
  w.put(lds_size.has_value());
  w.put(lds_size.value_or(0));
  w.put(scratch_srd_sgpr);
  w.put(scratch_srd_at_entries);
  w.put(scratch_srd_behind_calls);
  w.put(moved_pc.value_or(0));
  w.put(shape.has_value());
  if (shape) put_shape(w, *shape);
  return w.take();
}

std::vector<uint8_t> pack(const StoredUnit& unit) {
  const auto& [code, slots, fault_ranges, host_instructions] = unit.image;
  Writer w;
  w.put(StoredHead{.entries = static_cast<uint32_t>(unit.entries.size()),
                   .slots = static_cast<uint32_t>(slots.size()),
                   .fault_ranges = static_cast<uint32_t>(fault_ranges.size()),
                   .code_bytes = static_cast<uint32_t>(code.size()),
                   .guest_ranges = static_cast<uint32_t>(unit.guest.ranges.size()),
                   .host_instructions = host_instructions,
                   .flags = (unit.reads_ids ? kReadsIds : 0) | (unit.runs_through ? kRunsThrough : 0) |
                            unit.changed_lines << kChangedLinesShift,
                   .guest_hash = unit.guest.hash});
  for (const lift::CodeRange& range : unit.guest.ranges) w.put(range);
  for (const ir::Entry& entry : unit.entries)
    w.put(StoredEntry{.guest_pc = entry.guest_pc, .resumed_only = entry.resumed_only, .exec = entry.exec});
  for (const backend::FaultRange& range : fault_ranges) {
    const auto& [begin, end, guest_pc, first_lane, lanes, element_bytes, lane_elements, skipped_elements, contiguous,
                 write, lane_in_state, misaligned, paired_order] = range;
    w.put(StoredFaultRange{
        .guest_pc = guest_pc,
        .begin = begin,
        .end = end,
        .first_lane = first_lane,
        .lanes = lanes,
        .element_bytes = element_bytes,
        .lane_elements = lane_elements,
        .skipped_elements = skipped_elements,
        .flags = static_cast<uint8_t>((contiguous ? kContiguous : 0) | (write ? kWrite : 0) |
                                      (lane_in_state ? kLaneInState : 0) | (misaligned ? kMisaligned : 0) |
                                      (paired_order ? kPairedOrder : 0))});
  }
  for (const backend::FunctionSlot& slot : slots) w.put(slot);
  // Where functions are is not the same in the next process, and the same translation gives the same bytes.
  std::vector<uint8_t> cleared(code.begin(), code.end());
  for (const backend::FunctionSlot& slot : slots) std::memset(&cleared[slot.offset], 0, sizeof(uint64_t));
  w.bytes(cleared.data(), cleared.size());
  return w.take();
}

std::optional<StoredUnit> unpack(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(StoredHead)) return std::nullopt;
  Pieces pieces(bytes);
  const StoredHead head = pieces.take<StoredHead>(1)[0];
  const auto guest_ranges = pieces.take<lift::CodeRange>(head.guest_ranges);
  const auto entries = pieces.take<StoredEntry>(head.entries);
  const auto ranges = pieces.take<StoredFaultRange>(head.fault_ranges);
  const auto slots = pieces.take<backend::FunctionSlot>(head.slots);
  const auto code = pieces.take<uint8_t>(head.code_bytes);
  if (!pieces.all_taken() || guest_ranges.empty() || entries.empty() || code.empty()) return std::nullopt;
  StoredUnit unit{.entries = {},
                  .reads_ids = (head.flags & kReadsIds) != 0,
                  .runs_through = (head.flags & kRunsThrough) != 0,
                  .changed_lines = head.flags >> kChangedLinesShift,
                  .guest = {.ranges = {guest_ranges.begin(), guest_ranges.end()}, .hash = head.guest_hash},
                  .image = {.code = code,
                            .slots = slots,
                            .fault_ranges = std::vector<backend::FaultRange>(ranges.size()),
                            .host_instructions = head.host_instructions}};
  for (const StoredEntry& entry : entries)
    unit.entries.push_back({.guest_pc = entry.guest_pc, .resumed_only = entry.resumed_only != 0, .exec = entry.exec});
  for (size_t i = 0; i < ranges.size(); ++i) {
    const StoredFaultRange& range = ranges[i];
    unit.image.fault_ranges[i] = {.begin = range.begin,
                                  .end = range.end,
                                  .guest_pc = range.guest_pc,
                                  .first_lane = range.first_lane,
                                  .lanes = range.lanes,
                                  .element_bytes = range.element_bytes,
                                  .lane_elements = range.lane_elements,
                                  .skipped_elements = range.skipped_elements,
                                  .contiguous = (range.flags & kContiguous) != 0,
                                  .write = (range.flags & kWrite) != 0,
                                  .lane_in_state = (range.flags & kLaneInState) != 0,
                                  .misaligned = (range.flags & kMisaligned) != 0,
                                  .paired_order = (range.flags & kPairedOrder) != 0};
  }
  return unit;
}

}  // namespace wavejit::runtime
