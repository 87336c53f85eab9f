#include "frontend/codeobject/offload_bundle.h"

#include <algorithm>

#include "frontend/codeobject/compression.h"
#include "frontend/codeobject/elf_file.h"
#include "frontend/codeobject/processors.h"

namespace wavejit::codeobject {
namespace {

constexpr uint64_t kMaxEntriesPerBundle = 1024;  // one per target
constexpr uint64_t kMaxIdLength = 1024;
constexpr size_t kMaxSkippedNotes = 64;

void note_skipped(BundleContents& out, std::string note) {
  if (out.skipped.size() < kMaxSkippedNotes && std::ranges::find(out.skipped, note) == out.skipped.end()) {
    out.skipped.push_back(std::move(note));
  }
}

// The target id in "hip-amdgcn-amd-amdhsa--gfx906:xnack-"; empty for entries that are not for an AMD GPU. Bundlers
// wrote one or two dashes before the processor, newer ones put "unknown" between them.
std::string_view target_in_entry_id(std::string_view id) {
  constexpr std::string_view kTriple = "-amdgcn-amd-amdhsa-";
  const size_t triple = id.find(kTriple);
  if (triple == std::string_view::npos) return {};
  std::string_view rest = id.substr(triple + kTriple.size());
  if (rest.starts_with("unknown-")) rest.remove_prefix(8);
  if (rest.starts_with('-')) rest.remove_prefix(1);
  return rest;
}

// Reads one plain bundle at the start of `bytes` and returns its size. Header: magic, u64 entry count, then per entry
// u64 offset, u64 size, u64 id length, id.
Expected<uint64_t> read_plain(ByteView bytes, uint64_t offset, BundleContents& out) {
  uint64_t at = kBundleMagic.size();
  const auto count = bytes.get<uint64_t>(at);
  if (!count) return bad("The offload bundle at offset {:#x} is cut short before its entry count.", offset);
  if (*count > kMaxEntriesPerBundle) {
    return bad("The offload bundle at offset {:#x} claims {} entries; the limit is {}.", offset, *count,
               kMaxEntriesPerBundle);
  }
  at += sizeof(uint64_t);
  uint64_t end = at;
  const uint32_t index = out.bundle_count;
  for (uint64_t i = 0; i < *count; ++i) {
    const auto entry_offset = bytes.get<uint64_t>(at);
    const auto entry_size = bytes.get<uint64_t>(at + 8);
    const auto id_length = bytes.get<uint64_t>(at + 16);
    if (!entry_offset || !entry_size || !id_length) {
      return bad("Entry {} of the offload bundle at offset {:#x} is cut short.", i, offset);
    }
    const auto id_bytes = *id_length <= kMaxIdLength ? bytes.slice(at + 24, *id_length) : std::nullopt;
    if (!id_bytes) {
      return bad("Entry {} of the offload bundle at offset {:#x} has an id of {} bytes, which does not fit.", i, offset,
                 *id_length);
    }
    at += 24 + *id_length;
    end = std::max(end, at);
    const std::string_view id(reinterpret_cast<const char*>(id_bytes->data()), id_bytes->size());
    const auto image = bytes.slice(*entry_offset, *entry_size);
    if (!image) {
      return bad(
          "Entry {} (\"{}\") of the offload bundle at offset {:#x} has {} bytes at {:#x}, beyond the end of the file.",
          i, printable(id), offset, *entry_size, *entry_offset);
    }
    end = std::max(end, *entry_offset + *entry_size);
    const std::string_view target_text = target_in_entry_id(id);
    if (target_text.empty()) {
      if (*entry_size != 0) note_skipped(out, fmt::format("{} (not an AMD GPU)", printable(id)));
      continue;
    }
    if (!ElfFile::is_elf(*image)) {
      const char* what = *entry_size == 0                   ? "empty"
                         : image->starts_with("BC\xC0\xDE") ? "LLVM bitcode"
                                                            : "not an ELF file";
      note_skipped(out, fmt::format("{} ({})", printable(id), what));
      continue;
    }
    auto target = parse_target_id_any_processor(target_text);
    if (!target) {
      return bad("Entry {} of the offload bundle at offset {:#x}: {}", i, offset, target.error().message);
    }
    out.entries.push_back(
        {.target = *std::move(target), .triple = std::string(id), .bundle_index = index, .bytes = image->span()});
  }
  ++out.bundle_count;
  return end;
}

// Reads one compressed bundle at the start of `bytes` and returns its size. Header: magic, u16 version, u16 method,
// then V1: u32 uncompressed size; V2: u32 file size, u32 uncompressed size; V3: the same as u64; then a u64 hash of the
// contents. The manual does not say which hash (LLVM 19: half of MD5) and LLVM's own reader does not check it either.
Expected<uint64_t> read_compressed(ByteView bytes, uint64_t offset, uint64_t max_decompressed, BundleContents& out) {
  const auto version = bytes.get<uint16_t>(4);
  const auto method = bytes.get<uint16_t>(6);
  if (!version || !method) return bad("The compressed offload bundle at offset {:#x} is cut short.", offset);
  if (*version < 1 || *version > 3) {
    return bad("The compressed offload bundle at offset {:#x} has version {}; versions 1 to 3 are known.", offset,
               *version);
  }
  if (*method > 1) {
    return bad("The compressed offload bundle at offset {:#x} uses method {}; 0 (zlib) and 1 (zstd) are known.", offset,
               *method);
  }
  const auto wide = *version == 3;
  const auto size_at = [&](uint64_t at) -> std::optional<uint64_t> {
    if (wide) return bytes.get<uint64_t>(at);
    return bytes.get<uint32_t>(at);
  };
  uint64_t at = 8;
  std::optional<uint64_t> file_size;
  if (*version >= 2) {
    file_size = size_at(at);
    if (!file_size) return bad("The compressed offload bundle at offset {:#x} is cut short.", offset);
    at += wide ? 8 : 4;
  }
  const auto plain_size = size_at(at);
  const uint64_t header_size = at + (wide ? 8 : 4) + 8;
  if (!plain_size || !bytes.contains(0, header_size)) {
    return bad("The compressed offload bundle at offset {:#x} is cut short.", offset);
  }
  if (file_size && (*file_size < header_size || *file_size > bytes.size())) {
    return bad("The compressed offload bundle at offset {:#x} claims {} bytes; {} are there.", offset, *file_size,
               bytes.size());
  }
  const uint64_t stored = (file_size ? *file_size : bytes.size()) - header_size;
  const ByteView data = *bytes.slice(header_size, stored);
  // decompress() bounds one bundle; a file of many small ones is bounded here.
  if (*plain_size > max_decompressed || out.decompressed_size > max_decompressed - *plain_size) {
    return bad(
        "The compressed offload bundle at offset {:#x} would make {} bytes; {} in all are plausible for this file.",
        offset, *plain_size, max_decompressed);
  }
  out.decompressed_size += *plain_size;
  uint64_t consumed = 0;
  auto plain = decompress(*method == 0 ? Compression::zlib : Compression::zstd, data, *plain_size, consumed);
  if (!plain) {
    return bad("The compressed offload bundle at offset {:#x}: {}", offset, plain.error().message);
  }
  const ByteView contents((*plain)->bytes());
  if (!contents.starts_with(kBundleMagic)) {
    return bad("The compressed offload bundle at offset {:#x} does not contain an offload bundle.", offset);
  }
  out.owned.push_back(*std::move(plain));
  // Offsets in messages are then those of the decompressed bundle.
  if (auto size = read_plain(contents, 0, out); !size) {
    return bad("In the compressed offload bundle at offset {:#x}: {}", offset, size.error().message);
  }
  return file_size ? *file_size : header_size + consumed;
}

}  // namespace

bool starts_with_bundle(ByteView bytes) {
  return bytes.starts_with(kBundleMagic) || bytes.starts_with(kCompressedBundleMagic);
}

Expected<void> read_bundles(ByteView bytes, uint64_t offset, BundleContents& out) {
  const uint64_t max_decompressed = max_plausible_size(bytes.size());
  uint64_t at = 0;
  while (at < bytes.size()) {
    // Linkers align each bundle, usually to a page, and fill with zeros.
    const uint8_t* begin = bytes.data() + at;
    const uint8_t* end = bytes.data() + bytes.size();
    begin = std::find_if(begin, end, [](uint8_t byte) { return byte != 0; });
    if (begin == end) break;
    at = static_cast<uint64_t>(begin - bytes.data());
    const ByteView rest = *bytes.slice(at, bytes.size() - at);
    Expected<uint64_t> size = 0;
    if (rest.starts_with(kBundleMagic)) {
      size = read_plain(rest, offset + at, out);
    } else if (rest.starts_with(kCompressedBundleMagic)) {
      size = read_compressed(rest, offset + at, max_decompressed, out);
    } else {
      return bad("Expected an offload bundle at offset {:#x}, found other data.", offset + at);
    }
    if (!size) return forward_error(std::move(size));
    at += *size;
  }
  return {};
}

}  // namespace wavejit::codeobject
