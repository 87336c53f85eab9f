// DS, FLAT/GLOBAL/SCRATCH, MUBUF, MTBUF, MIMG and EXP. From gfx90a on one bit makes the data operands accumulation
// registers and another is the system-coherence bit SCC (MI200 ISA, "Microcode formats"). gfx940 calls GLC, SLC and SCC
// SC0, NT and SC1 (MI300 ISA).
#include <bit>

#include "frontend/isa/decode_state.h"

namespace wavejit::isa {
namespace {

bool is_data(Slot slot) {
  return slot == Slot::vdst || slot == Slot::vdata || slot == Slot::data0 || slot == Slot::data1;
}

OperandSpec with_acc(OperandSpec spec, bool acc) {
  if (acc && is_data(spec.slot)) spec.reg_class = RegClass::accumulator;
  return spec;
}

// f32, packed f16 and f64 atomic adds were added with their own restrictions: no SCC bit, and no result before gfx90a.
bool is_float_atomic(const Decoding& d) {
  if (!d.row->has(flag::atomic) || d.before_gfx8()) return false;
  for (const OperandSpec& spec : d.row->specs())
    if (spec.slot == Slot::vdata) return spec.type == Type::f32 || spec.type == Type::f64 || spec.type == Type::v2f16;
  return false;
}

unsigned components_to_dwords(const Decoding& d, const OperandSpec& spec) {
  return d.before_gfx9() ? spec.d16_components : (spec.d16_components + 1u) / 2;
}

}  // namespace

bool decode_ds(Decoding& d) {
  const uint32_t w0 = d.word(0);
  const unsigned gds_bit = d.before_gfx8() ? 17 : 16;
  if (!d.begin(Space::ds, w0 >> (gds_bit + 1) & 0xff, Format::ds)) return false;
  if (!d.need(2)) return true;
  const uint32_t w1 = d.word(1);
  Instruction& out = d.out;
  const bool acc = d.gfx90a_on() && bit(w0, 25);
  uint32_t used = 0;
  for (const OperandSpec& spec : d.row->specs()) {
    // GWS instructions have their only operand, a data register, in the address field.
    const bool first = spec.slot == Slot::addr || (spec.slot == Slot::data0 && d.row->has(flag::gds_only));
    const unsigned shift = first ? 0 : spec.slot == Slot::data0 ? 8 : spec.slot == Slot::data1 ? 16 : 24;
    used |= 0xffu << shift;
    d.vector(with_acc(spec, acc), w1 >> shift & 0xff);
  }
  d.reject_if((w1 & ~used) != 0);
  out.offset = static_cast<int32_t>(w0 & 0xffff);
  out.gds = bit(w0, gds_bit);
  d.reject_if(d.row->has(flag::gds_only) && !out.gds);
  d.reject_if(d.row->has(flag::no_gds) && out.gds);
  d.reject_if(out.opcode == Opcode::ds_nop && (out.gds || out.offset != 0));
  if (d.gfx940() && !d.row->has(flag::gds_only)) out.gds = false;  // there is no GDS, and LLVM ignores the bit
  if (d.before_gfx8()) {
    d.reject_if(bit(w0, 16));
    return true;
  }
  d.reject_if(bit(w0, 25) && d.row->num_operands == 0);
  d.reject_if(bit(w0, 25) && !d.row->has(flag::gds_only) && d.row->num_operands == 1 &&
              d.row->operands[0].slot == Slot::addr);
  return true;
}

bool decode_flat(Decoding& d) {
  const uint32_t w0 = d.word(0);
  if (d.before_gfx8() && bits(w0, 15, 0) != 0) return false;  // no offset, no segments
  const unsigned segment = bits(w0, 15, 14);
  if (segment == 3) return false;
  constexpr Space kSpaces[] = {Space::flat, Space::scratch, Space::global};
  if (!d.begin(kSpaces[segment], bits(w0, 24, 18), Format::flat)) return false;
  if (!d.need(2)) return true;
  const uint32_t w1 = d.word(1);
  Instruction& out = d.out;
  const Row& row = *d.row;
  const bool acc = d.gfx90a_on() && bit(w1, 23);
  out.glc = bit(w0, 16);
  out.slc = bit(w0, 17);
  out.scc = d.gfx90a_on() && bit(w0, 25);
  // gfx940 has opcodes of their own for loads to LDS, and scratch accesses say with that bit whether they use VADDR.
  const bool scratch_vaddr = d.gfx940() && segment == 1 && bit(w0, 13);
  out.lds = d.gfx940() ? row.num_operands == 0 : bit(w0, 13);
  d.reject_if(d.gfx940() && segment != 1 && bit(w0, 13));
  d.reject_if(d.before_gfx8() && bit(w1, 23));  // tfe
  d.reject_if(out.lds && (!row.has(flag::lds_load) || bit(w1, 23)));
  if (is_float_atomic(d)) {
    d.reject_if(bit(w0, 25) && !d.gfx940());
    d.reject_if(out.glc && !d.gfx90a_on());
  }
  out.offset = segment == 0 ? static_cast<int32_t>(bits(w0, 12, 0)) : sign_extend(bits(w0, 12, 0), 13);

  const unsigned saddr = bits(w1, 22, 16);
  const bool saddr_off = saddr == 0x7f;
  const auto vaddr = [&](unsigned dwords) {
    d.vector({.slot = Slot::vaddr,
              .type = dwords == 2 ? Type::b64 : Type::b32,
              .dwords = static_cast<uint8_t>(dwords),
              .src = true},
             bits(w1, 7, 0));
  };
  bool address_done = false;
  const auto address = [&] {
    if (address_done) return;
    address_done = true;
    if (segment == 0) {
      d.reject_if(saddr != 0);
      vaddr(2);
    } else if (segment == 2) {
      vaddr(saddr_off ? 2 : 1);
    } else if (d.gfx940() ? scratch_vaddr : saddr_off) {
      vaddr(1);
    } else {
      d.off(Slot::vaddr);
    }
  };
  for (const OperandSpec& spec : row.specs()) {
    if (spec.slot == Slot::vdst) {
      if (out.lds || (row.has(flag::atomic) && !out.glc)) continue;
      d.vector(with_acc(spec, acc), bits(w1, 31, 24));
    } else {
      address();
      d.vector(with_acc(spec, acc), bits(w1, 15, 8));
    }
  }
  address();
  if (segment == 0) return true;
  if (saddr_off)
    d.off(Slot::saddr);
  else
    d.scalar({.slot = Slot::saddr,
              .type = segment == 2 ? Type::b64 : Type::b32,
              .dwords = static_cast<uint8_t>(segment == 2 ? 2 : 1),
              .src = true},
             saddr);
  return true;
}

namespace {

// vaddr of MUBUF and MTBUF: one VGPR for offen or idxen, two for both and for the 64-bit address of addr64 (GFX6 and
// GFX7), none otherwise.
void buffer_address(Decoding& d, uint32_t w0, uint32_t w1) {
  d.out.offen = bit(w0, 12);
  d.out.idxen = bit(w0, 13);
  d.out.addr64 = d.before_gfx8() && bit(w0, 15);
  d.reject_if(d.out.addr64 && (d.out.offen || d.out.idxen));
  const unsigned dwords = d.out.addr64 ? 2 : d.out.offen + d.out.idxen;
  if (dwords == 0) return d.off(Slot::vaddr);
  d.vector({.slot = Slot::vaddr,
            .type = dwords == 2 ? Type::b64 : Type::b32,
            .dwords = static_cast<uint8_t>(dwords),
            .src = true},
           bits(w1, 7, 0));
}

void buffer_resource(Decoding& d, const OperandSpec& spec, uint32_t w1) {
  d.scalar(spec, bits(w1, 20, 16) * 4);
  d.source({.slot = Slot::soffset, .type = Type::u32, .dwords = 1, .src = true}, bits(w1, 31, 24));
}

}  // namespace

bool decode_mubuf(Decoding& d) {
  const uint32_t w0 = d.word(0);
  if (!d.begin(Space::mubuf, bits(w0, 24, 18), Format::mubuf)) return false;
  if (!d.need(2)) return true;
  const uint32_t w1 = d.word(1);
  Instruction& out = d.out;
  const Row& row = *d.row;
  if (row.num_operands == 0) {  // cache control
    if (out.opcode == Opcode::buffer_inv || (out.opcode == Opcode::buffer_wbl2 && d.gfx940())) {
      out.glc = bit(w0, 14);
      out.scc = bit(w0, 15);
      d.reject_if(bit(w0, 16) || bits(w0, 13, 12) != 0 || bit(w1, 23));
      return true;
    }
    const bool write_back = out.opcode == Opcode::buffer_wbl2;
    d.reject_if(bit(w0, 16) || bits(w0, 13, 12) != 0 || (!write_back && bits(w0, 15, 14) != 0));
    d.reject_if((write_back || out.opcode == Opcode::buffer_invl2 || d.gfx940()) && bit(w1, 23));
    return true;
  }
  const bool lds_store = out.opcode == Opcode::buffer_store_lds_dword;
  const bool atomic = row.has(flag::atomic);
  out.offset = static_cast<int32_t>(bits(w0, 11, 0));
  out.glc = bit(w0, 14);
  out.slc = d.before_gfx8() ? bit(w1, 22) : bit(w0, 17);
  out.lds = bit(w0, 16);
  out.scc = d.gfx90a_on() && bit(w0, 15);
  out.tfe = !d.gfx90a_on() && !atomic && !out.lds && bit(w1, 23);
  d.reject_if(d.gfx940() && out.lds && bit(w1, 23));
  d.reject_if(lds_store ? !out.lds : out.lds && !row.has(flag::lds_load));
  if (is_float_atomic(d)) {
    d.reject_if(out.scc && !d.gfx940());
    d.reject_if(out.glc && !d.gfx90a_on());
  }
  const bool acc = d.gfx90a_on() && bit(w1, 23);
  for (OperandSpec spec : row.specs()) {
    if (spec.slot == Slot::vdata) {
      if (out.lds) continue;
      if (spec.d16_components != 0) spec.dwords = static_cast<uint8_t>(components_to_dwords(d, spec));
      if (atomic) spec.dst = out.glc;
      d.vector(with_acc(spec, acc), bits(w1, 15, 8));
    } else {
      if (!lds_store) buffer_address(d, w0, w1);
      buffer_resource(d, spec, w1);
    }
  }
  if (lds_store) d.reject_if(bits(w0, 13, 12) != 0);
  return true;
}

bool decode_mtbuf(Decoding& d) {
  const uint32_t w0 = d.word(0);
  if (!d.begin(Space::mtbuf, d.before_gfx8() ? bits(w0, 18, 16) : bits(w0, 18, 15), Format::mtbuf)) return false;
  if (!d.need(2)) return true;
  const uint32_t w1 = d.word(1);
  Instruction& out = d.out;
  out.offset = static_cast<int32_t>(bits(w0, 11, 0));
  out.glc = bit(w0, 14);
  out.dfmt = static_cast<uint8_t>(bits(w0, 22, 19));
  out.nfmt = static_cast<uint8_t>(bits(w0, 25, 23));
  out.slc = bit(w1, 22);
  out.tfe = !d.gfx90a_on() && bit(w1, 23);
  out.scc = d.gfx90a_on() && bit(w1, 21);
  const bool acc = d.gfx90a_on() && bit(w1, 23);
  for (OperandSpec spec : d.row->specs()) {
    if (spec.slot == Slot::vdata) {
      if (spec.d16_components != 0) spec.dwords = static_cast<uint8_t>(components_to_dwords(d, spec));
      d.vector(with_acc(spec, acc), bits(w1, 15, 8));
    } else {
      buffer_address(d, w0, w1);
      buffer_resource(d, spec, w1);
    }
  }
  return true;
}

// The number of data registers follows from dmask (gather4: always four), d16 packing and tfe. Coordinates: the fewest
// registers the instruction can need; the dimension is in the resource, not in the instruction.
bool decode_mimg(Decoding& d) {
  const uint32_t w0 = d.word(0);
  if (!d.begin(Space::mimg, bits(w0, 24, 18), Format::mimg)) return false;
  d.reject_if(bit(w0, 0));
  if (!d.need(2)) return true;
  const uint32_t w1 = d.word(1);
  Instruction& out = d.out;
  const Row& row = *d.row;
  out.dmask = static_cast<uint8_t>(bits(w0, 11, 8));
  out.unorm = bit(w0, 12);
  out.glc = bit(w0, 13);
  out.da = bit(w0, 14);
  (d.before_gfx9() ? out.r128 : out.a16) = bit(w0, 15);
  out.tfe = !d.gfx90a_on() && bit(w0, 16);
  out.lwe = bit(w0, 17);
  out.slc = bit(w0, 25);
  out.scc = d.gfx90a_on() && bit(w0, 7);
  out.d16 = bit(w1, 31);
  const bool acc = d.gfx90a_on() && bit(w0, 16);
  bool sampler = false;
  for (OperandSpec spec : row.specs()) {
    switch (spec.slot) {
      case Slot::vdata: {
        unsigned count = static_cast<unsigned>(std::popcount(out.dmask));
        const bool gather4 = row.name.starts_with("image_gather4");
        if (gather4) count = 4;
        if (count == 0) count = 1;
        if (out.d16 && !d.before_gfx9()) count = (count + 1) / 2;
        count += out.tfe;
        if (gather4 && count == 3) count = 4;  // there is no gather4 of three registers
        if (row.has(flag::atomic)) {
          // Only the sizes that an atomic can have; other masks mean the smallest.
          const bool compare =
              out.opcode == Opcode::image_atomic_cmpswap || out.opcode == Opcode::image_atomic_fcmpswap;
          if (compare ? count != 4 : count != 2) count = compare ? 2 : 1;
          spec.dst = out.glc;
        }
        d.reject_if(gather4 && bits(w1, 15, 8) + 4 > 256);
        spec.dwords = static_cast<uint8_t>(count);
        d.vector(with_acc(spec, acc), bits(w1, 15, 8));
        break;
      }
      case Slot::vaddr:
        d.vector(spec, bits(w1, 7, 0));
        break;
      case Slot::srsrc:
        d.scalar(spec, bits(w1, 20, 16) * 4);
        break;
      default:
        sampler = true;
        d.scalar(spec, bits(w1, 25, 21) * 4);
        break;
    }
  }
  d.reject_if(out.d16 && (!row.has(flag::d16_legal) || d.before_gfx8()));
  d.reject_if(!sampler && bits(w1, 25, 21) != 0);
  return true;
}

bool decode_exp(Decoding& d) {
  const uint32_t w0 = d.word(0);
  if (!d.begin(Space::exp, 0, Format::exp)) return false;
  if (!d.need(2)) return true;
  const uint32_t w1 = d.word(1);
  Instruction& out = d.out;
  out.exp_enable = static_cast<uint8_t>(bits(w0, 3, 0));
  out.exp_target = static_cast<uint8_t>(bits(w0, 9, 4));
  d.reject_if((out.exp_target > 9 && out.exp_target < 12) || (out.exp_target > 15 && out.exp_target < 32));
  out.exp_compr = bit(w0, 10);
  out.exp_done = bit(w0, 11);
  out.exp_vm = bit(w0, 12);
  unsigned shift = 0;
  for (const OperandSpec& spec : d.row->specs()) {
    d.vector(spec, w1 >> shift & 0xff);
    shift += 8;
  }
  return true;
}

}  // namespace wavejit::isa
