// The loaded form of a code object: its segments in one reservation of host memory, relocated and protected.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frontend/codeobject/code_object.h"
#include "frontend/codeobject/elf_file.h"
#include "frontend/codeobject/object_bytes.h"

namespace wavejit::codeobject {

class LoadedImage {
 public:
  struct Segment {
    uint64_t vaddr = 0, size = 0;    // memory size
    bool declared_writable = false;  // PF_W
    bool executable = false;         // PF_X
  };

  LoadedImage() = default;
  LoadedImage(LoadedImage&& other) noexcept;
  LoadedImage& operator=(LoadedImage&& other) noexcept;
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;
  ~LoadedImage();

  // Maps or copies the PT_LOAD segments of `elf`, the file that `bytes` hold, keeping their distances. The whole
  // image is writable until protect(). Stores of the guest change the image and never the file.
  [[nodiscard]] static Expected<LoadedImage> map(const ElfFile& elf, const ObjectBytes& bytes);
  // Applies the relocations of the dynamic section.
  [[nodiscard]] Expected<void> relocate(const ElfFile& elf, const SymbolResolver& resolver);
  // Makes code read-only; the host never executes it. All other data stays writable, as on a device: constants and
  // PT_GNU_RELRO are declarations for the compiler, and HIP's copies to __constant__ variables are kernels that store
  // to them.
  [[nodiscard]] Expected<void> protect();

  // All that is reserved, if other processes that load the same file get the same code at the same addresses, but for
  // those where something else is there; else nothing.
  struct Addresses {
    uint64_t begin = 0, end = 0;
  };
  [[nodiscard]] Addresses lasting_addresses() const;

  [[nodiscard]] uint64_t bias() const { return bias_; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  // The segment that holds [vaddr, vaddr + size) wholly; null when there is none.
  [[nodiscard]] const Segment* segment_of(uint64_t vaddr, uint64_t size) const;
  // Returns true if [vaddr, vaddr + size) is loaded and the guest can write to it after protect().
  [[nodiscard]] bool is_writable(uint64_t vaddr, uint64_t size) const;
  // The bytes of [vaddr, vaddr + size); they must lie in one segment.
  [[nodiscard]] std::span<uint8_t> at(uint64_t vaddr, uint64_t size) const;

 private:
  void release();
  [[nodiscard]] uint8_t* host(uint64_t vaddr) const;

  uint8_t* base_ = nullptr;  // start of the reservation, including the guard page
  uint64_t low_ = 0;         // ELF address of the first page after the guard page
  uint64_t reserved_ = 0;
  uint64_t bias_ = 0;
  bool own_place_ = false;
  std::vector<Segment> segments_;  // ascending
};

}  // namespace wavejit::codeobject
