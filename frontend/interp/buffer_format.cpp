// MUBUF and MTBUF with conversion between memory formats and registers.
#include <bit>

#include "frontend/interp/buffer_address.h"
#include "internal/semantics/data_format.h"

namespace wavejit::interp {
namespace {

using format::Number;

// The format of MTBUF is in the instruction, that of MUBUF in the descriptor.
struct ElementFormat {
  ElementFormat(const Op& op, const BufferDescriptor& d) {
    const bool typed = op.inst.format == isa::Format::mtbuf;
    layout = format::layout_of(typed ? op.inst.dfmt : d.word3 >> 15 & 15);
    number = static_cast<Number>(typed ? op.inst.nfmt : d.word3 >> 12 & 7);
    selects = typed ? 4 | 5 << 3 | 6 << 6 | 7 << 9 : d.word3 & 0xfff;
  }
  format::Layout layout;
  Number number;
  uint32_t selects;  // DST_SEL
};

// Lanes that access memory, where elements are in range as a whole or not at all; their addresses are in c.addresses.
uint64_t element_addresses(Context& c, const BufferLanes& lanes, unsigned bytes, bool write) {
  const uint64_t exec = c.wave.exec();
  uint64_t valid = 0;
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    valid |= uint64_t{lanes.in_range(l, 0, bytes)} << l;
    c.addresses[l] = lanes.address(l, 0);
  }
  describe_access(c, valid, bytes, write);
  return valid;
}

// How components are in registers.
enum class Registers : uint8_t { dwords, halves /* two in each from GFX9 on */, high_half };

constexpr unsigned register_count(unsigned components, Registers registers, bool packed) {
  return registers == Registers::halves && packed ? (components + 1) / 2 : components;
}

// param: number of components.
template <Registers registers>
Step load(Context& c, const Op& op) {
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  c.use(Env::rn);
  const BufferLanes lanes(c, op);
  const ElementFormat element(op, lanes.descriptor());
  if (!format::is_valid(element.layout, element.number)) return c.exit(ExitReason::kUnsupported, op);
  const uint64_t valid = element_addresses(c, lanes, element.layout.bytes, false);
  const bool packed = !c.before_gfx9;
  const unsigned components = op.param, count = register_count(components, registers, packed);
  uint32_t* rows = op.inst.lds ? c.tmp[0] : c.row(op.data_row);
  for (uint64_t m = exec; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    uint32_t read[4] = {}, result[4] = {};  // out of range: zeros, of which DST_SEL may make ones
    if ((valid >> l & 1) != 0) {
      if (!is_host_address(c.addresses[l])) return memory_fault(c, op, c.addresses[l], l, false);
      format::read_element(reinterpret_cast<const void*>(c.addresses[l]), element.layout, element.number, read);
    }
    for (unsigned i = 0; i < components; ++i)
      result[i] = format::select(read, element.selects >> (3 * i) & 7, element.number);
    if constexpr (registers != Registers::dwords) {
      for (uint32_t& value : result) value = format::to_d16(value, element.number);
      if (registers == Registers::halves && packed)
        for (unsigned i = 0; i < 2; ++i) result[i] = result[2 * i] | result[2 * i + 1] << 16;
      // What is out of range is 0, and what the instruction does not load is not there.
      if (registers == Registers::halves && packed && components % 2 != 0) result[count - 1] &= 0xffff;
      if (registers == Registers::high_half) {
        const uint32_t low = c.d16_loads_clear ? 0 : c.row(op.data_row)[l] & 0xffff;
        result[0] = low | result[0] << 16;
      }
    }
    for (unsigned i = 0; i < count; ++i) c.out[i * kWaveSize + l] = result[i];
  }
  c.lanes.merge(rows, c.out, exec, count);
  if (op.inst.lds) {
    for (uint64_t m = exec; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      lds_transfer_write(c, op, l, rows[l]);
    }
  }
  return op.inst.tfe ? write_status(c, op, op.data_row + count) : Step::next;
}

template <Registers registers>
Step store(Context& c, const Op& op) {
  const uint64_t exec = c.wave.exec();
  if (exec == 0) return Step::next;
  c.use(Env::rn);
  const BufferLanes lanes(c, op);
  const ElementFormat element(op, lanes.descriptor());
  if (!format::is_valid(element.layout, element.number)) return c.exit(ExitReason::kUnsupported, op);
  const uint64_t valid = element_addresses(c, lanes, element.layout.bytes, true);
  const bool packed = !c.before_gfx9;
  const unsigned components = op.param;
  const uint32_t* rows = c.row(op.data_row);
  for (uint64_t m = valid; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    uint32_t values[4] = {};
    for (unsigned i = 0; i < components; ++i) {
      if constexpr (registers == Registers::dwords) {
        values[i] = rows[i * kWaveSize + l];
      } else if (registers == Registers::high_half) {
        values[i] = format::from_d16(rows[l] >> 16, element.number);
      } else {
        const uint32_t row = rows[(packed ? i / 2 : i) * kWaveSize + l];
        values[i] = format::from_d16((packed && i % 2 != 0 ? row >> 16 : row) & 0xffff, element.number);
      }
    }
    if (!is_host_address(c.addresses[l])) return memory_fault(c, op, c.addresses[l], l, true);
    uint32_t written[4];
    format::select_back(values, element.selects, written);
    format::write_element(reinterpret_cast<void*>(c.addresses[l]), element.layout, element.number, written, 4);
  }
  return Step::next;
}

}  // namespace

void register_buffer_format(Registry& r) {
#define WAVEJIT_FORMAT(prefix, components, n)                                           \
  r.handler(Opcode::prefix##_load_format_##components, load<Registers::dwords>, n);     \
  r.handler(Opcode::prefix##_store_format_##components, store<Registers::dwords>, n);   \
  r.handler(Opcode::prefix##_load_format_d16_##components, load<Registers::halves>, n); \
  r.handler(Opcode::prefix##_store_format_d16_##components, store<Registers::halves>, n)
  WAVEJIT_FORMAT(buffer, x, 1);
  WAVEJIT_FORMAT(buffer, xy, 2);
  WAVEJIT_FORMAT(buffer, xyz, 3);
  WAVEJIT_FORMAT(buffer, xyzw, 4);
  WAVEJIT_FORMAT(tbuffer, x, 1);
  WAVEJIT_FORMAT(tbuffer, xy, 2);
  WAVEJIT_FORMAT(tbuffer, xyz, 3);
  WAVEJIT_FORMAT(tbuffer, xyzw, 4);
#undef WAVEJIT_FORMAT
  r.handler(Opcode::buffer_load_format_d16_hi_x, load<Registers::high_half>, 1);
  r.handler(Opcode::buffer_store_format_d16_hi_x, store<Registers::high_half>, 1);
}

}  // namespace wavejit::interp
