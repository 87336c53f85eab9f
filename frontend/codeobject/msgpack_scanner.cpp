#include "frontend/codeobject/msgpack_scanner.h"

namespace wavejit::codeobject {
namespace {

constexpr std::string_view kCutShort = "MsgPack document is cut short";
constexpr std::string_view kMalformed = "malformed MsgPack";

// Lead bytes 0xc0 to 0xdf: a length of 0, 1, 2 or 4 bytes follows, then `fixed` bytes and, but for lists and maps, as
// many as the length says.
struct Lead {
  MsgpackScanner::Kind kind = MsgpackScanner::Kind::other;
  uint8_t length_bytes = 0, fixed = 0;
};
constexpr uint8_t kUnused = 0xff;  // Lead::length_bytes of the byte that MsgPack does not use
constexpr auto kLeads = [] {
  using Kind = MsgpackScanner::Kind;
  return std::array<Lead, 32>{{
      {Kind::null, 0, 0},   {Kind::other, kUnused, 0}, {Kind::other, 0, 0}, {Kind::other, 0, 0},  // nil, -, false, true
      {Kind::other, 1, 0},  {Kind::other, 2, 0},       {Kind::other, 4, 0}, {Kind::other, 1, 1},  // bin 8-32, ext 8
      {Kind::other, 2, 1},  {Kind::other, 4, 1},       {Kind::other, 0, 4}, {Kind::other, 0, 8},  // ext 16, 32, float
      {Kind::other, 0, 1},  {Kind::other, 0, 2},       {Kind::other, 0, 4}, {Kind::other, 0, 8},  // uint 8-64
      {Kind::other, 0, 1},  {Kind::other, 0, 2},       {Kind::other, 0, 4}, {Kind::other, 0, 8},  // int 8-64
      {Kind::other, 0, 2},  {Kind::other, 0, 3},       {Kind::other, 0, 5}, {Kind::other, 0, 9},  // fixext 1-8
      {Kind::other, 0, 17}, {Kind::text, 1, 0},        {Kind::text, 2, 0},  {Kind::text, 4, 0},   // fixext 16, str 8-32
      {Kind::list, 2, 0},   {Kind::list, 4, 0},        {Kind::map, 2, 0},   {Kind::map, 4, 0},    // array, map 16, 32
  }};
}();

}  // namespace

bool MsgpackScanner::read_length(unsigned bytes, uint64_t& length) {
  if (bytes_.size() - at_ < bytes) return fail(kCutShort);
  length = 0;
  for (unsigned i = 0; i < bytes; ++i) length = length << 8 | bytes_.data()[at_++];
  return true;
}

bool MsgpackScanner::read(Item& item) {
  if (at_ >= bytes_.size()) return fail(kCutShort);
  const uint8_t lead = bytes_.data()[at_++];
  uint64_t length = 0, fixed = 0;
  item.kind = Kind::other;
  if (lead < 0x80 || lead >= 0xe0) return true;
  if (lead >= 0xa0 && lead < 0xc0) {
    item.kind = Kind::text;
    length = lead & 31u;
  } else if (lead < 0xa0) {
    item.kind = lead < 0x90 ? Kind::map : Kind::list;
    length = lead & 15u;
  } else {
    const Lead& row = kLeads[lead - 0xc0];
    if (row.length_bytes == kUnused) return fail(kMalformed);
    item.kind = row.kind;
    fixed = row.fixed;
    if (!read_length(row.length_bytes, length)) return false;
  }
  if (item.kind == Kind::list || item.kind == Kind::map) {
    item.count = length;
    return true;
  }
  if (length + fixed > bytes_.size() - at_) return fail(kCutShort);
  item.text = {reinterpret_cast<const char*>(bytes_.data()) + at_, length};
  at_ += length + fixed;
  return true;
}

bool MsgpackScanner::skip_contents(const Item& item, unsigned depth) {
  static_assert(kMaxDepth == 16);
  std::array<uint64_t, kMaxDepth> left{};  // items of each list or map that is open
  unsigned open = 0;
  for (Item next = item;;) {
    if (next.kind == Kind::list || next.kind == Kind::map) {
      if (depth + open >= kMaxDepth) return fail("more than 16 levels of nesting");
      left[open++] = next.kind == Kind::map ? next.count * 2 : next.count;
    }
    while (open != 0 && left[open - 1] == 0) --open;
    if (open == 0) return true;
    --left[open - 1];
    if (!read(next)) return false;
  }
}

}  // namespace wavejit::codeobject
