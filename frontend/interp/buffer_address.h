// Buffer addressing of MUBUF and MTBUF (GCN3 and Vega ISA manuals, "Buffer Addressing" and "Range checking").
#pragma once

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

// The lanes' elements. Positions behind base + SGPR offset are 32-bit numbers.
class BufferLanes {
 public:
  BufferLanes(Context& c, const Op& op)
      : d_(read_buffer_descriptor(c, op)), inst_(op.inst), soffset_(read_scalar32(c, op.mask_source)) {
    if (inst_.addr64) {
      addresses_ = c.row(op.addr_row);
      return;
    }
    if (inst_.idxen) index_row_ = c.row(op.addr_row);
    if (inst_.offen) offset_row_ = c.row(op.addr_row + (inst_.idxen ? 1u : 0u));
    switch (isa::family_of(c.target)) {
      case isa::Family::gfx8:
        structured_ = d_.stride != 0 && d_.swizzle;
        break;
      default:
        structured_ = d_.stride != 0 && inst_.idxen;
    }
  }

  [[nodiscard]] const BufferDescriptor& descriptor() const { return d_; }
  // Elements of more than one dword do not follow each other.
  [[nodiscard]] bool scattered() const { return d_.swizzle && !inst_.addr64; }

  [[nodiscard]] uint64_t address(unsigned lane, uint32_t byte) const {
    const uint64_t start = d_.base + soffset_;
    if (addresses_ != nullptr) {
      const uint64_t own = uint64_t{addresses_[kWaveSize + lane]} << 32 | addresses_[lane];
      return start + own + static_cast<uint32_t>(inst_.offset) + byte;
    }
    return start + position(lane, byte);
  }

  // Whether an access is in range whose last part is `bytes` bytes at `byte` behind the instruction's offset.
  [[nodiscard]] bool in_range(unsigned lane, uint32_t byte, unsigned bytes) const {
    if (addresses_ != nullptr) return true;
    if (structured_) return index(lane) < d_.num_records;
    return uint64_t{position(lane, byte)} + soffset_ + bytes <= d_.num_records;
  }

 private:
  [[nodiscard]] uint32_t index(unsigned lane) const {
    return (index_row_ != nullptr ? index_row_[lane] : 0) + (d_.add_tid ? lane : 0);
  }
  [[nodiscard]] uint32_t position(unsigned lane, uint32_t byte) const {
    const uint32_t index = this->index(lane);
    const uint32_t offset =
        (offset_row_ != nullptr ? offset_row_[lane] : 0) + static_cast<uint32_t>(inst_.offset) + byte;
    if (!d_.swizzle) return d_.stride * index + offset;
    const uint32_t index_msb = index / d_.index_stride, index_lsb = index % d_.index_stride;
    const uint32_t offset_msb = offset / d_.element_size, offset_lsb = offset % d_.element_size;
    return (index_msb * d_.stride + offset_msb * d_.element_size) * d_.index_stride + index_lsb * d_.element_size +
           offset_lsb;
  }

  BufferDescriptor d_;
  const isa::Instruction& inst_;
  uint32_t soffset_;
  const uint32_t* index_row_ = nullptr;
  const uint32_t* offset_row_ = nullptr;
  const uint32_t* addresses_ = nullptr;  // 64-bit ones (GFX6, GFX7)
  bool structured_ = false;
};

// TFE and LWE ask for a further register with what went wrong, which nothing does.
inline Step write_status(Context& c, const Op& op, unsigned row) {
  if (row % kNumVgprs == 0) return c.exit(ExitReason::kUnsupported, op);  // behind the last register
  for (uint64_t m = c.wave.exec(); m != 0; m &= m - 1) c.row(row)[std::countr_zero(m)] = 0;
  return Step::next;
}

}  // namespace wavejit::interp
