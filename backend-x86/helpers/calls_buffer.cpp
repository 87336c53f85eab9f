// MUBUF and MTBUF with format conversion (GCN3 and Vega ISA manuals, "Buffer Addressing", "Buffer Resource
// Descriptor").
#include "backend-x86/helpers/calls.h"
#include "backend-x86/helpers/calls_internal.h"
#include "internal/semantics/data_format.h"

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
    stride_ = s[1] >> 16 & 0x3fff;
    add_tid_ = (s[3] & 1u << 23) != 0;
    indexed_ = shape_.idxen != 0 || add_tid_;
    swizzled_ = (s[1] & 1u << 31) != 0 && (indexed_ || shape_.rules != ir::BufferRules::gfx9);
    records_ = s[2];
    bytes_left_ = int64_t{s[2]} - int64_t{s[4]};
    index_bits_ = 3 + (s[3] >> 21 & 3);
    element_bits_ = shape_.rules != ir::BufferRules::gfx9 ? 1 + (s[3] >> 19 & 3) : 2;
    if (add_tid_ && shape_.rules != ir::BufferRules::gfx6) stride_ |= (s[3] >> 15 & 15) << 14;
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
  // Which components registers have: DST_SEL of the descriptor, unless the instruction has the format.
  [[nodiscard]] uint32_t selects() const { return typed_ ? 4 | 5 << 3 | 6 << 6 | 7 << 9 : args_.scalars[3] & 0xfff; }

  // Null where the element is out of range, which it is as a whole.
  [[nodiscard]] uint64_t address(unsigned lane) const {
    if (shape_.addr64) return base_ + shape_.offset + (uint64_t{args_.in[1][lane]} << 32 | args_.in[0][lane]);
    const uint32_t first = shape_.idxen ? args_.in[0][lane] : 0;
    const uint32_t index = first + (add_tid_ ? lane : 0);
    const uint32_t own = shape_.offen ? args_.in[shape_.idxen][lane] : 0;
    const uint32_t offset = own + shape_.offset;
    uint32_t at = index * stride_ + offset;
    if (swizzled_) {
      const uint32_t block = (index >> index_bits_) * stride_ + (offset >> element_bits_ << element_bits_);
      const uint32_t in_block = (index & ((1u << index_bits_) - 1)) << element_bits_;
      at = (block << index_bits_) + in_block + (offset & ((1u << element_bits_) - 1));
    }
    const bool carries = offset < own;  // the sum of the offsets has 33 bits
    return in_range(first, index, offset, carries, at) ? base_ + at : 0;
  }

 private:
  // docs/isa-decisions.md, "Buffers". `first` is the index register, `index` that and the lane, `at` the position.
  [[nodiscard]] bool in_range(uint32_t first, uint32_t index, uint32_t offset, bool carries, uint32_t at) const {
    const int64_t last = bytes_left_ - layout_.bytes;
    if (shape_.rules == ir::BufferRules::gfx9) {
      if (add_tid_ && !shape_.idxen) return true;
      return shape_.idxen && stride_ != 0 ? first < records_ : int64_t{offset} <= last;
    }
    if (carries) return false;
    if (stride_ != 0 && (swizzled_ || shape_.rules == ir::BufferRules::gfx6)) {
      const bool by_offset = indexed_ || shape_.rules == ir::BufferRules::gfx8;
      return index < records_ && (offset < stride_ || !by_offset);
    }
    const bool wrapped = !swizzled_ && uint64_t{index} * stride_ + offset != at;
    return !wrapped && int64_t{at} <= last;
  }

  const CallArgs& args_;
  ir::CallShape shape_;
  uint64_t base_;
  int64_t bytes_left_;  // of num_records from the SGPR offset on
  uint32_t stride_, records_, index_bits_, element_bits_;
  bool swizzled_, add_tid_, indexed_, typed_;
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
  for_each_lane(args->mask, [&](unsigned l) {
    uint32_t components[4] = {}, value[4];  // out of range: zeros, of which DST_SEL may make ones
    if ((lanes >> l & 1) != 0)
      format::read_element(reinterpret_cast<const void*>(args->addresses[l]), buffer.layout(), buffer.number(),
                           components);
    for (unsigned i = 0; i < shape.count; ++i)
      value[i] = format::select(components, buffer.selects() >> (3 * i) & 7, buffer.number());
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
    uint32_t value[4] = {}, components[4];
    get_components(args, l, buffer.address_rows(), value, shape.count, buffer.number(), shape.d16, shape.packed);
    format::select_back(value, buffer.selects(), components);
    format::write_element(reinterpret_cast<void*>(args->addresses[l]), buffer.layout(), buffer.number(), components, 4);
  });
  return 1;
}

}  // namespace wavejit::backend
