#include "frontend/codeobject/containers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "frontend/codeobject/elf_file.h"
#include "frontend/codeobject/identity.h"
#include "frontend/codeobject/offload_bundle.h"
#include "frontend/codeobject/processors.h"

namespace wavejit::codeobject {
namespace {

constexpr std::string_view kFatBinarySection = ".hip_fatbin";
constexpr unsigned kMaxFatBinarySections = 64;  // one after a normal link; headers could name the same bytes many times

// The bytes of a container: a mapped file, or a copy.
class Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (mapping_ != nullptr) munmap(mapping_, mapped_size_);
  }

  Expected<void> map(const std::string& path) {
    const auto io_error = [&](std::string_view what, int error) {
      return make_error(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                        fmt::format("Cannot {} \"{}\": {}.", what, path, std::strerror(error)));
    };
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return io_error("open", errno);
    struct stat info{};
    if (fstat(fd, &info) != 0) {
      const int error = errno;
      close(fd);
      return io_error("inspect", error);
    }
    if (!S_ISREG(info.st_mode)) {
      close(fd);
      return make_error(ErrorCode::kIo, fmt::format("\"{}\" is not a regular file.", path));
    }
    if (info.st_size == 0) {
      close(fd);
      return bad("\"{}\" is empty.", path);
    }
    mapped_size_ = static_cast<uint64_t>(info.st_size);
    void* mapping = mmap(nullptr, mapped_size_, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    close(fd);
    if (mapping == MAP_FAILED) return io_error("map", error);
    mapping_ = mapping;
    return {};
  }
  void copy(std::span<const uint8_t> bytes) { copy_.assign(bytes.begin(), bytes.end()); }

  [[nodiscard]] ByteView bytes() const {
    if (mapping_ != nullptr) return std::span(static_cast<const uint8_t*>(mapping_), mapped_size_);
    return std::span<const uint8_t>(copy_);
  }

 private:
  void* mapping_ = nullptr;
  uint64_t mapped_size_ = 0;
  std::vector<uint8_t> copy_;
};

// How well `code` fits `device`, among compatible ones: stated settings before "any", the very processor before a
// generic one.
int match_quality(const TargetId& code, const TargetId& device) {
  const auto stated = [](FeatureSetting s) { return s == FeatureSetting::on || s == FeatureSetting::off; };
  int quality = 0;
  if (code.processor == device.processor) quality += 4;
  if (stated(code.xnack) && code.xnack == device.xnack) ++quality;
  if (stated(code.sramecc) && code.sramecc == device.sramecc) ++quality;
  return quality;
}

class ParsedContainer final : public Container {
 public:
  Storage& storage() { return storage_; }

  // Finds the entries in the storage.
  Expected<void> read() {
    const ByteView bytes = storage_.bytes();
    if (starts_with_bundle(bytes)) {
      kind_ = bytes.starts_with(kBundleMagic) ? "offload bundle" : "compressed offload bundle";
      if (auto done = read_bundles(bytes, 0, contents_); !done) return done;
      return check_not_empty();
    }
    if (ElfFile::is_elf(bytes)) return read_elf(bytes);
    if (bytes.starts_with("!<arch>\n")) {
      return make_error(ErrorCode::kUnsupported, "This is an archive; extract its members, or link them, first.");
    }
    if (bytes.starts_with("BC\xC0\xDE")) {
      return make_error(ErrorCode::kUnsupported,
                        "This is LLVM bitcode, not machine code; compile and link it for a target first.");
    }
    return bad(
        "Not a code object: the file is neither an ELF file nor an offload bundle (it starts with \"{}\").",
        printable(std::string_view(reinterpret_cast<const char*>(bytes.data()), std::min<uint64_t>(bytes.size(), 8))));
  }

  std::string_view kind() const override { return kind_; }
  std::span<const ContainerEntry> entries() const override { return contents_.entries; }

  Expected<std::vector<const ContainerEntry*>> select(const TargetId& device) const override {
    std::vector<const ContainerEntry*> found;
    for (const ContainerEntry& entry : contents_.entries) {
      if (compatible(entry.target, device)) found.push_back(&entry);
    }
    std::ranges::stable_sort(found, std::greater<>{},
                             [&](const ContainerEntry* entry) { return match_quality(entry->target, device); });
    if (!found.empty()) return found;
    std::vector<std::string> targets;
    for (const ContainerEntry& entry : contents_.entries) {
      std::string text = entry.target.to_string();
      if (std::ranges::find(targets, text) == targets.end()) targets.push_back(std::move(text));
    }
    std::string message = fmt::format("No code object for {}; the {} has ", device.to_string(), kind_);
    for (size_t i = 0; i < targets.size(); ++i) message += fmt::format("{}{}", i == 0 ? "" : ", ", targets[i]);
    for (const std::string& note : contents_.skipped) message += fmt::format("; not usable: {}", note);
    return make_error(ErrorCode::kTargetMismatch, message + ".");
  }

 private:
  Expected<void> check_not_empty() {
    if (!contents_.entries.empty()) return {};
    std::string message = fmt::format("The {} has no AMDGPU code objects", kind_);
    for (const std::string& note : contents_.skipped) message += fmt::format("; not usable: {}", note);
    return bad("{}.", message);
  }

  Expected<void> read_elf(ByteView bytes) {
    auto elf = ElfFile::parse(bytes);
    if (!elf) return forward_error(std::move(elf));
    if (elf->header().e_machine == kMachineAmdgpu) {
      kind_ = "ELF code object";
      // The object knows its target; reading it here also rejects what could never be loaded.
      auto notes = elf->notes();
      if (!notes) return forward_error(std::move(notes));
      auto identity = identify_code_object(*elf, *notes);
      if (!identity) return forward_error(std::move(identity));
      contents_.entries.push_back({.target = identity->target,
                                   .triple = "amdgcn-amd-amdhsa--" + identity->target.to_string(),
                                   .bundle_index = 0,
                                   .bytes = bytes.span()});
      return {};
    }
    kind_ = "HIP fat binary";
    unsigned fat_sections = 0;
    bool has_offload_package = false;
    // Name lookups touch only the header and name tables, so a huge library is not read from disk.
    for (const Elf64_Shdr& section : elf->sections()) {
      if (section.sh_type != SHT_PROGBITS) continue;
      auto name = elf->section_name(section);
      if (!name) return forward_error(std::move(name));
      if (*name == ".llvm.offloading") has_offload_package = true;
      if (*name != kFatBinarySection) continue;
      if (++fat_sections > kMaxFatBinarySections) {
        return bad("The host ELF file has more than {} {} sections.", kMaxFatBinarySections, kFatBinarySection);
      }
      auto contents = elf->section_bytes(section);
      if (!contents) return forward_error(std::move(contents));
      if (auto done = read_bundles(*contents, section.sh_offset, contents_); !done) return done;
    }
    if (fat_sections == 0) {
      return bad("The host ELF file has no {} section, so it carries no GPU code{}.", kFatBinarySection,
                 has_offload_package
                     ? " that wavejit reads (it has .llvm.offloading, the form of the LLVM offload packager)"
                     : "");
    }
    return check_not_empty();
  }

  Storage storage_;
  BundleContents contents_;
  std::string kind_;
};

}  // namespace

Expected<std::shared_ptr<const Container>> Container::open(const std::string& path) {
  auto container = std::make_shared<ParsedContainer>();
  if (auto done = container->storage().map(path); !done) return forward_error(std::move(done));
  if (auto done = container->read(); !done) {
    Error error = std::move(done).error();
    error.message = fmt::format("{}: {}", path, error.message);
    return tl::make_unexpected(std::move(error));
  }
  return std::shared_ptr<const Container>(std::move(container));
}

Expected<std::shared_ptr<const Container>> Container::parse(std::span<const uint8_t> bytes) {
  auto container = std::make_shared<ParsedContainer>();
  container->storage().copy(bytes);
  if (auto done = container->read(); !done) return forward_error(std::move(done));
  return std::shared_ptr<const Container>(std::move(container));
}

}  // namespace wavejit::codeobject
