// MUBUF and MTBUF with format conversion (GCN3 and Vega ISA manuals, "Buffer Addressing", "Buffer Resource
// Descriptor").
#include "backend-x86/calls.h"
#include "backend-x86/calls_internal.h"
#include "internal/data_format.h"

namespace wavejit::backend {
namespace {

using format::Layout;
using format::Number;

// One instruction's descriptor and formats, and where lanes' elements are.
class Buffer {
 public:
  explicit Buffer(const CallArgs& args) : args_(args), shape_(ir::CallShape::unpack(args.shape)) {
    const uint32_t* s = args.scalars;
    base_ = (uint64_t{s[1] & 0xffff} << 32 | s[0]) + s[4];
    soffset_ = s[4];
    stride_ = s[1] >> 16 & 0x3fff;
    swizzled_ = (s[1] & 1u << 31) != 0;
    records_ = s[2];
    add_tid_ = (s[3] & 1u << 23) != 0;
    index_bits_ = 3 + (s[3] >> 21 & 3);
    element_bits_ = shape_.element_size ? 1 + (s[3] >> 19 & 3) : 2;
    if (add_tid_ && shape_.wide_stride) stride_ |= (s[3] >> 15 & 15) << 14;
    structured_ = stride_ != 0 && (shape_.structured_by_swizzle ? swizzled_ : shape_.idxen != 0);
    typed_ = shape_.data_format != 0;
    layout_ = format::layout_of(typed_ ? shape_.data_format : s[3] >> 15 & 15);
    number_ = static_cast<Number>(typed_ ? shape_.number_format : s[3] >> 12 & 7);
    rows_ = shape_.addr64 ? 2 : shape_.idxen + shape_.offen;
  }

  [[nodiscard]] bool supported() const { return format::is_valid(layout_, number_); }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] Number number() const { return number_; }
  [[nodiscard]] const ir::CallShape& shape() const { return shape_; }
  [[nodiscard]] unsigned address_rows() const { return rows_; }
  // Which component register `i` of a load is: DST_SEL of the descriptor, unless the instruction has the format.
  [[nodiscard]] unsigned select(unsigned i) const { return typed_ ? 4 + i : args_.scalars[3] >> (3 * i) & 7; }

  // Null where the element is out of range.
  [[nodiscard]] uint64_t address(unsigned lane) const {
    if (shape_.addr64) return base_ + shape_.offset + (uint64_t{args_.in[1][lane]} << 32 | args_.in[0][lane]);
    uint32_t index = shape_.idxen ? args_.in[0][lane] : 0;
    if (add_tid_) index += lane;
    const uint32_t offset = shape_.offset + (shape_.offen ? args_.in[shape_.idxen][lane] : 0);
    uint32_t at = index * stride_ + offset;
    if (swizzled_) {
      const uint32_t block = (index >> index_bits_) * stride_ + (offset >> element_bits_ << element_bits_);
      const uint32_t in_block = (index & ((1u << index_bits_) - 1)) << element_bits_;
      at = (block << index_bits_) + in_block + (offset & ((1u << element_bits_) - 1));
    }
    const bool inside = structured_ ? index < records_ : uint64_t{at} + soffset_ + layout_.bytes <= uint64_t{records_};
    return inside ? base_ + at : 0;
  }

 private:
  const CallArgs& args_;
  ir::CallShape shape_;
  uint64_t base_;
  uint32_t soffset_, stride_, records_, index_bits_, element_bits_;
  bool swizzled_, add_tid_, structured_, typed_;
  Layout layout_;
  Number number_;
  unsigned rows_;
};

}  // namespace

uint64_t buffer_load_format(CallArgs* args) {
  const Buffer buffer(*args);
  if (!buffer.supported()) return 0;
  clear_results(args);
  const uint64_t lanes =
      stage_addresses(args, buffer.layout().bytes, false, [&](unsigned l) { return buffer.address(l); });
  const ir::CallShape& shape = buffer.shape();
  for_each_lane(lanes, [&](unsigned l) {
    uint32_t components[4], value[4];
    format::read_element(reinterpret_cast<const void*>(args->addresses[l]), buffer.layout(), buffer.number(),
                         components);
    for (unsigned i = 0; i < shape.count; ++i) value[i] = format::select(components, buffer.select(i), buffer.number());
    put_components(args, l, value, shape.count, buffer.number(), shape.d16, shape.packed);
  });
  return 1;
}

uint64_t buffer_store_format(CallArgs* args) {
  const Buffer buffer(*args);
  if (!buffer.supported()) return 0;
  const uint64_t lanes =
      stage_addresses(args, buffer.layout().bytes, true, [&](unsigned l) { return buffer.address(l); });
  const ir::CallShape& shape = buffer.shape();
  for_each_lane(lanes, [&](unsigned l) {
    uint32_t value[4];
    get_components(args, l, buffer.address_rows(), value, shape.count, buffer.number(), shape.d16, shape.packed);
    format::write_element(reinterpret_cast<void*>(args->addresses[l]), buffer.layout(), buffer.number(), value,
                          shape.count);
  });
  return 1;
}

}  // namespace wavejit::backend
