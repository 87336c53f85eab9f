#include "frontend/codeobject/image.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "internal/check.h"
#include "internal/hash.h"
#include "internal/pages.h"

namespace wavejit::codeobject {
namespace {

// Larger than any GPU's code and globals are; .bss pages cost nothing until they are touched.
constexpr uint64_t kMaxImageSize = uint64_t{16} << 30;
constexpr size_t kMaxSegments = 64;  // linkers make about 4

// Where code objects go unless something else is there: away from where Linux puts anything by itself, and from the
// shadow of sanitizers.
constexpr uint64_t kFirstPlace = uint64_t{0x2000} << 32;
constexpr uint64_t kPlaceSize = uint64_t{4} << 30;
constexpr uint64_t kPlaces = 8192;

// Neighbouring places to try, which the same object gets when it is loaded several times. ThreadSanitizer allows memory
// in a few ranges only.
#if defined(__SANITIZE_THREAD__)
constexpr unsigned kTries = 0;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr unsigned kTries = 0;
#else
constexpr unsigned kTries = 4;
#endif
#else
constexpr unsigned kTries = 4;
#endif

struct Reservation {
  void* base = MAP_FAILED;
  bool own_place = false;
};

// Follows from what the file holds: from all of it, or, so that a large file is not read for this alone, from its size
// and samples. Files that have the same samples want the same place, and one of them gets the next.
uint64_t first_place(ByteView file) {
  constexpr uint64_t kSamples = 64, kSampleSize = 4096;
  if (file.size() <= kSamples * kSampleSize) return hash128(file.span())[0];
  std::vector<uint64_t> parts{file.size()};
  const uint64_t distance = (file.size() - kSampleSize) / (kSamples - 1);
  for (uint64_t i = 0; i < kSamples; ++i) parts.push_back(hash128(file.span().subspan(i * distance, kSampleSize))[0]);
  return hash128({reinterpret_cast<const uint8_t*>(parts.data()), parts.size() * sizeof(uint64_t)})[0];
}

// Inaccessible memory. Translated code knows the addresses of the guest's code, so a code object is loaded to the same
// place in every process that can have it there: then translations that one process has kept suit the next.
Reservation reserve(uint64_t size, ByteView file) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (size <= kPlaceSize && kTries > 0) {
    const uint64_t first = first_place(file);
    for (unsigned i = 0; i < kTries; ++i) {
      auto* wanted = reinterpret_cast<void*>(kFirstPlace + (first + i) % kPlaces * kPlaceSize);
      void* base = mmap(wanted, size, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
      if (base == wanted) return {base, true};
      if (base != MAP_FAILED) munmap(base, size);  // Linux before 4.17 takes the address for a hint
    }
  }
  return {mmap(nullptr, size, PROT_NONE, kFlags, -1, 0), false};
}

// Returns true if the segments, which ascend, can be mapped from the file: no two share a page.
bool can_map(std::span<const Elf64_Phdr* const> loads, const ObjectBytes& bytes) {
  uint64_t free = 0;
  for (const Elf64_Phdr* load : loads) {
    if (page_floor(load->p_vaddr) < free) return false;
    if (load->p_filesz != 0 && !bytes.can_map(load->p_offset, load->p_vaddr)) return false;
    free = page_ceil(load->p_vaddr + load->p_memsz);
  }
  return true;
}

}  // namespace

LoadedImage::LoadedImage(LoadedImage&& other) noexcept {
  *this = std::move(other);
}

LoadedImage& LoadedImage::operator=(LoadedImage&& other) noexcept {
  if (this != &other) {
    release();
    base_ = std::exchange(other.base_, nullptr);
    reserved_ = std::exchange(other.reserved_, 0);
    own_place_ = std::exchange(other.own_place_, false);
    low_ = std::exchange(other.low_, 0);
    bias_ = std::exchange(other.bias_, 0);
    segments_ = std::move(other.segments_);
  }
  return *this;
}

LoadedImage::~LoadedImage() {
  release();
}

void LoadedImage::release() {
  if (base_ != nullptr) munmap(base_, reserved_);
  base_ = nullptr;
}

LoadedImage::Addresses LoadedImage::lasting_addresses() const {
  // What the guest can overwrite does not follow from the file.
  const bool fixed =
      std::ranges::none_of(segments_, [](const Segment& s) { return s.executable && s.declared_writable; });
  if (!own_place_ || !fixed) return {};
  const auto begin = reinterpret_cast<uint64_t>(base_);
  return {begin, begin + reserved_};
}

uint8_t* LoadedImage::host(uint64_t vaddr) const {
  return base_ + kPage + (vaddr - low_);
}

Expected<LoadedImage> LoadedImage::map(const ElfFile& elf, const ObjectBytes& bytes) {
  std::vector<const Elf64_Phdr*> loads;
  WorkBudget file_budget(2 * elf.bytes().size());  // segments have disjoint bytes, but for shared page ends
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    if (segment.p_filesz > segment.p_memsz) {
      return bad("The segment at offset {:#x} has {} bytes in the file but {} in memory.", segment.p_offset,
                 segment.p_filesz, segment.p_memsz);
    }
    if (!elf.bytes().contains(segment.p_offset, segment.p_filesz)) {
      return bad("The segment of {} bytes at offset {:#x} ends beyond the {} bytes of the file.", segment.p_filesz,
                 segment.p_offset, elf.bytes().size());
    }
    if (!file_budget.spend(segment.p_filesz)) return bad("The loadable segments overlap in the file.");
    if (segment.p_vaddr > kMaxImageSize || segment.p_memsz > kMaxImageSize) {
      return bad("The segment at offset {:#x} (address {:#x}, {} bytes) is larger than the {} GiB wavejit loads.",
                 segment.p_offset, segment.p_vaddr, segment.p_memsz, kMaxImageSize >> 30);
    }
    loads.push_back(&segment);
  }
  if (loads.empty()) return bad("The code object has no loadable segment.");
  if (loads.size() > kMaxSegments)
    return bad("The code object has {} loadable segments; at most {} are supported.", loads.size(), kMaxSegments);
  std::ranges::sort(loads, {}, &Elf64_Phdr::p_vaddr);
  for (size_t i = 1; i < loads.size(); ++i) {
    if (loads[i]->p_vaddr < loads[i - 1]->p_vaddr + loads[i - 1]->p_memsz) {
      return bad("The segments at offsets {:#x} and {:#x} overlap in memory.", loads[i - 1]->p_offset,
                 loads[i]->p_offset);
    }
  }

  const uint64_t low = page_floor(loads.front()->p_vaddr);
  const uint64_t high = page_ceil(loads.back()->p_vaddr + loads.back()->p_memsz);
  // An inaccessible page on either side turns stray guest accesses into faults.
  LoadedImage image;
  const uint64_t reserved = high - low + 2 * kPage;
  const auto [base, own_place] = reserve(reserved, elf.bytes());
  if (base == MAP_FAILED) {
    return make_error(ErrorCode::kOutOfMemory,
                      fmt::format("Cannot reserve {} bytes for a code object: {}.", reserved, std::strerror(errno)));
  }
  image.base_ = static_cast<uint8_t*>(base);
  image.reserved_ = reserved;
  image.own_place_ = own_place;
  image.low_ = low;
  image.bias_ = reinterpret_cast<uint64_t>(base) + kPage - low;
  const bool from_file = can_map(loads, bytes);
  for (const Elf64_Phdr* load : loads) {
    const uint64_t begin = page_floor(load->p_vaddr), end = page_ceil(load->p_vaddr + load->p_memsz);
    if (mprotect(image.host(begin), end - begin, PROT_READ | PROT_WRITE) != 0) {
      return make_error(ErrorCode::kOutOfMemory, fmt::format("Cannot make {} bytes for a code object accessible: {}.",
                                                             end - begin, std::strerror(errno)));
    }
    const uint64_t in_file = load->p_vaddr + load->p_filesz;
    if (load->p_filesz != 0 && from_file) {
      if (!bytes.map_at(image.host(begin), load->p_offset - (load->p_vaddr - begin), in_file - begin)) {
        return make_error(ErrorCode::kOutOfMemory, fmt::format("Cannot map {} bytes of a code object: {}.",
                                                               in_file - begin, std::strerror(errno)));
      }
      // The rest of the last page holds what follows in the file.
      if (load->p_memsz != load->p_filesz) std::memset(image.host(in_file), 0, page_ceil(in_file) - in_file);
    } else if (load->p_filesz != 0) {
      std::memcpy(image.host(load->p_vaddr), elf.bytes().data() + load->p_offset, load->p_filesz);
    }
    image.segments_.push_back({.vaddr = load->p_vaddr,
                               .size = load->p_memsz,
                               .declared_writable = (load->p_flags & PF_W) != 0,
                               .executable = (load->p_flags & PF_X) != 0});
  }
  return image;
}

Expected<void> LoadedImage::protect() {
  const auto set = [&](const Segment& segment, int protection) -> Expected<void> {
    const uint64_t begin = page_floor(segment.vaddr), end = page_ceil(segment.vaddr + segment.size);
    if (mprotect(host(begin), end - begin, protection) != 0) {
      return make_error(ErrorCode::kOutOfMemory, fmt::format("Cannot protect {} bytes of a code object: {}.",
                                                             end - begin, std::strerror(errno)));
    }
    return {};
  };
  // Data is writable since map(). A page that holds code and constants is read-only, a page that holds code and data
  // that the file declares as writable is not.
  for (const Segment& segment : segments_)
    if (segment.executable)
      if (auto done = set(segment, PROT_READ); !done) return done;
  for (const Segment& segment : segments_)
    if (segment.declared_writable)
      if (auto done = set(segment, PROT_READ | PROT_WRITE); !done) return done;
  return {};
}

const LoadedImage::Segment* LoadedImage::segment_of(uint64_t vaddr, uint64_t size) const {
  for (const Segment& segment : segments_) {
    if (vaddr < segment.vaddr) break;
    const uint64_t offset = vaddr - segment.vaddr;
    if (offset <= segment.size && size <= segment.size - offset) return &segment;
  }
  return nullptr;
}

bool LoadedImage::is_writable(uint64_t vaddr, uint64_t size) const {
  const Segment* segment = segment_of(vaddr, size);
  if (segment == nullptr) return false;
  return segment->declared_writable || std::ranges::none_of(segments_, [&](const Segment& s) {
           const uint64_t begin = page_floor(s.vaddr), end = page_ceil(s.vaddr + s.size);
           return s.executable && !s.declared_writable && begin < vaddr + size && vaddr < end;
         });
}

std::span<uint8_t> LoadedImage::at(uint64_t vaddr, uint64_t size) const {
  WAVEJIT_CHECK(segment_of(vaddr, size) != nullptr);
  return {host(vaddr), size};
}

}  // namespace wavejit::codeobject
