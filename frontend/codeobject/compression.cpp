#include "frontend/codeobject/compression.h"

#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace wavejit::codeobject {
namespace {

constexpr int kMaxWindowLog = 27;  // 128 MiB, zstd's own default limit

Expected<uint64_t> inflate_zlib(ByteView data, std::span<uint8_t> out, uint64_t& consumed) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return make_error(ErrorCode::kOutOfMemory, "zlib cannot be initialised.");
  uint64_t in_at = 0, out_at = 0;
  int status = Z_OK;
  constexpr uint64_t kChunk = std::numeric_limits<uInt>::max();  // zlib counts in 32 bits
  while (status == Z_OK) {
    const auto in_chunk = static_cast<uInt>(std::min<uint64_t>(data.size() - in_at, kChunk));
    const auto out_chunk = static_cast<uInt>(std::min<uint64_t>(out.size() - out_at, kChunk));
    stream.next_in = const_cast<Bytef*>(data.data() + in_at);  // zlib does not write through it
    stream.avail_in = in_chunk;
    stream.next_out = out.data() + out_at;
    stream.avail_out = out_chunk;
    status = inflate(&stream, Z_NO_FLUSH);
    in_at += in_chunk - stream.avail_in;
    out_at += out_chunk - stream.avail_out;
  }
  const std::string reason = stream.msg == nullptr ? "" : stream.msg;
  inflateEnd(&stream);
  consumed = in_at;
  if (status == Z_BUF_ERROR) {
    return bad("the zlib stream {} ({} bytes came out of byte {} of {}).",
               out_at == out.size() ? "is longer than stated" : "is cut short", out_at, in_at, data.size());
  }
  if (status != Z_STREAM_END)
    return bad("the zlib stream is damaged at byte {}: {}.", in_at, reason.empty() ? "data error" : reason);
  return out_at;
}

Expected<uint64_t> inflate_zstd(ByteView data, std::span<uint8_t> out, uint64_t& consumed) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  if (!stream) return make_error(ErrorCode::kOutOfMemory, "zstd cannot be initialised.");
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  ZSTD_inBuffer in{.src = data.data(), .size = data.size(), .pos = 0};
  ZSTD_outBuffer to{.dst = out.data(), .size = out.size(), .pos = 0};
  for (;;) {
    const size_t in_before = in.pos, out_before = to.pos;
    const size_t left = ZSTD_decompressStream(stream.get(), &to, &in);
    consumed = in.pos;
    if (ZSTD_isError(left) != 0) {
      return bad("the zstd stream is damaged near byte {}: {}.", in.pos, ZSTD_getErrorName(left));
    }
    if (left == 0) return to.pos;
    if (in.pos == in_before && to.pos == out_before) {
      return bad("the zstd stream {} ({} bytes came out of {}).",
                 to.pos == to.size ? "is longer than stated" : "is cut short", to.pos, data.size());
    }
  }
}

}  // namespace

DecompressedBundle::~DecompressedBundle() {
  munmap(base_, size_);
}

Expected<std::unique_ptr<DecompressedBundle>> decompress(Compression method, ByteView data, uint64_t plain_size,
                                                         uint64_t& consumed) {
  if (plain_size == 0 || plain_size > max_plausible_size(data.size())) {
    return bad("an uncompressed size of {} bytes is not plausible for {} compressed bytes.", plain_size, data.size());
  }
  void* base = mmap(nullptr, plain_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return make_error(ErrorCode::kOutOfMemory,
                      fmt::format("cannot reserve {} bytes to decompress into: {}.", plain_size, std::strerror(errno)));
  }
  auto out = std::make_unique<DecompressedBundle>(static_cast<uint8_t*>(base), plain_size);
  auto produced = method == Compression::zlib ? inflate_zlib(data, out->bytes(), consumed)
                                              : inflate_zstd(data, out->bytes(), consumed);
  if (!produced) return forward_error(std::move(produced));
  if (*produced != plain_size) return bad("{} bytes came out instead of the stated {}.", *produced, plain_size);
  return out;
}

}  // namespace wavejit::codeobject
