// Buffer addressing of MUBUF and MTBUF (GCN3 and Vega ISA manuals, "Buffer Addressing" and "Range checking").
#pragma once

#include <bit>

#include "frontend/interp/memory.h"

namespace wavejit::interp {

struct BufferDescriptor {
  uint64_t base = 0;
  uint32_t stride = 0;
  uint32_t num_records = 0;
  uint32_t index_stride = 8;
  uint32_t element_size = 4;
  uint32_t word3 = 0;
  bool swizzle = false;
  bool add_tid = false;
};

inline BufferDescriptor read_buffer_descriptor(const Context& c, const Op& op) {
  const isa::Family family = isa::family_of(c.target);
  const uint32_t* v = &c.wave.sgpr[op.scalar_base];
  BufferDescriptor d;
  d.base = static_cast<uint64_t>(v[1] & 0xffff) << 32 | v[0];
  d.stride = v[1] >> 16 & 0x3fff;
  d.swizzle = v[1] >> 31 != 0;
  d.num_records = v[2];
  d.word3 = v[3];
  d.index_stride = 8u << (v[3] >> 21 & 3);
  d.add_tid = (v[3] >> 23 & 1) != 0;
  // Up to GFX8 the element size is in the descriptor; GFX9 fixes it at four bytes.
  if (family <= isa::Family::gfx8) d.element_size = 2u << (v[3] >> 19 & 3);
  // From GFX8 on the data format holds stride bits 17:14 when lanes are added to the index.
  if (d.add_tid && family >= isa::Family::gfx8) d.stride |= (v[3] >> 15 & 15) << 14;
  return d;
}

// Where the lanes' data is, and whether it is in range (docs/isa-decisions.md, "Buffers").
class BufferLanes {
 public:
  BufferLanes(Context& c, const Op& op)
      : d_(read_buffer_descriptor(c, op)),
        inst_(op.inst),
        family_(isa::family_of(c.target)),
        soffset_(read_scalar32(c, op.mask_source)) {
    if (inst_.addr64) {
      addresses_ = c.row(op.addr_row);
      return;
    }
    if (inst_.idxen) index_row_ = c.row(op.addr_row);
    if (inst_.offen) offset_row_ = c.row(op.addr_row + (inst_.idxen ? 1u : 0u));
    // GFX9 swizzles nothing without an index.
    if (gfx9() && !indexed()) d_.swizzle = false;
  }

  [[nodiscard]] const BufferDescriptor& descriptor() const { return d_; }
  // True if the dwords of an access may lie apart from each other.
  [[nodiscard]] bool scattered() const { return d_.swizzle && !inst_.addr64; }

  // True if the `bytes` bytes from `byte` on lie in two elements of a swizzled buffer, and so apart from each other.
  [[nodiscard]] bool is_split(unsigned lane, uint32_t byte, unsigned bytes) const {
    if (!scattered()) return false;
    return ((static_cast<uint32_t>(offset(lane)) + byte) & (d_.element_size - 1)) + bytes > d_.element_size;
  }

  // Address of the byte that is `byte` bytes behind the lane's first one.
  [[nodiscard]] uint64_t address(unsigned lane, uint32_t byte) const {
    const uint64_t start = d_.base + soffset_;
    if (addresses_ != nullptr) {
      const uint64_t own = uint64_t{addresses_[kWaveSize + lane]} << 32 | addresses_[lane];
      return start + own + static_cast<uint32_t>(inst_.offset) + byte;
    }
    return start + position(lane, byte);
  }

  // Returns true if the `bytes` bytes from `byte` on, which are checked together, are in range.
  [[nodiscard]] bool in_range(unsigned lane, uint32_t byte, unsigned bytes) const {
    if (addresses_ != nullptr) return true;
    return gfx9() ? in_range_gfx9(lane, byte, bytes) : in_range_gfx6(lane, byte, bytes);
  }

 private:
  [[nodiscard]] bool gfx9() const { return family_ >= isa::Family::gfx9; }
  [[nodiscard]] bool indexed() const { return index_row_ != nullptr || d_.add_tid; }
  [[nodiscard]] uint32_t own_index(unsigned lane) const { return index_row_ != nullptr ? index_row_[lane] : 0; }
  [[nodiscard]] uint32_t index(unsigned lane) const { return own_index(lane) + (d_.add_tid ? lane : 0); }
  // VGPR offset plus immediate, with all 33 bits of the sum.
  [[nodiscard]] uint64_t offset(unsigned lane) const {
    return uint64_t{offset_row_ != nullptr ? offset_row_[lane] : 0} + static_cast<uint32_t>(inst_.offset);
  }

  // Returns true if `bytes` bytes at `at` bytes behind base plus SGPR offset end inside num_records bytes.
  [[nodiscard]] bool fits(uint64_t at, unsigned bytes) const { return at + soffset_ + bytes <= d_.num_records; }

  [[nodiscard]] bool in_range_gfx9(unsigned lane, uint32_t byte, unsigned bytes) const {
    if (d_.add_tid && !inst_.idxen) return true;
    if (inst_.idxen && d_.stride != 0) return own_index(lane) < d_.num_records;
    return fits(uint64_t{static_cast<uint32_t>(offset(lane))} + byte, bytes);
  }

  [[nodiscard]] bool in_range_gfx6(unsigned lane, uint32_t byte, unsigned bytes) const {
    const uint64_t offset = this->offset(lane) + byte;
    if (offset > UINT32_MAX) return false;
    const bool gfx8 = family_ == isa::Family::gfx8;
    if (d_.stride != 0 && (d_.swizzle || !gfx8)) {
      const bool offset_counts = gfx8 || indexed();
      return index(lane) < d_.num_records && (!offset_counts || offset < d_.stride);
    }
    const uint64_t linear = uint64_t{index(lane)} * d_.stride + offset;
    return fits(d_.swizzle ? position(lane, byte) : linear, bytes);
  }

  // Bytes from base plus SGPR offset, modulo 2^32.
  [[nodiscard]] uint32_t position(unsigned lane, uint32_t byte) const {
    const uint32_t index = this->index(lane);
    const uint32_t offset = static_cast<uint32_t>(this->offset(lane)) + byte;
    if (!d_.swizzle) return d_.stride * index + offset;
    const uint32_t index_msb = index / d_.index_stride, index_lsb = index % d_.index_stride;
    const uint32_t offset_msb = offset / d_.element_size, offset_lsb = offset % d_.element_size;
    return (index_msb * d_.stride + offset_msb * d_.element_size) * d_.index_stride + index_lsb * d_.element_size +
           offset_lsb;
  }

  BufferDescriptor d_;
  const isa::Instruction& inst_;
  isa::Family family_;
  uint32_t soffset_;
  const uint32_t* index_row_ = nullptr;
  const uint32_t* offset_row_ = nullptr;
  const uint32_t* addresses_ = nullptr;  // 64-bit ones (GFX6, GFX7)
};

// TFE and LWE ask for a further register with what went wrong, which nothing does.
inline Step write_status(Context& c, const Op& op, unsigned row) {
  if (row % kNumVgprs == 0) return c.exit(ExitReason::kUnsupported, op);  // behind the last register
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) c.row(row)[std::countr_zero(m)] = 0;
  return Step::next;
}

}  // namespace wavejit::interp
