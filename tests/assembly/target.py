"""What differs between the processors that programs are generated for, as macros of the assembler."""

import dataclasses

TARGETS = ("gfx803", "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942")


@dataclasses.dataclass(frozen=True)
class Target:
    name: str

    @property
    def gfx8(self) -> bool:
        return self.name == "gfx803"

    @property
    def unified(self) -> bool:
        """AGPRs follow VGPRs in one file, and pairs of registers are even."""
        return self.name in ("gfx90a", "gfx942")

    @property
    def architected_scratch(self) -> bool:
        """No descriptor of the private segment, no flat_scratch to set up."""
        return self.name == "gfx942"

    @property
    def float_atomics(self) -> bool:
        return self.name in ("gfx908", "gfx90a", "gfx942")

    @property
    def double_atomics(self) -> bool:
        """Additions of doubles in the LDS, and atomic operations on doubles in memory."""
        return self.unified

    @property
    def images(self) -> bool:
        return self.name != "gfx942"

    @property
    def samples(self) -> bool:
        """Images are sampled with a level of detail, gathered and compared."""
        return self.images and not self.unified

    @property
    def multiply_accumulate(self) -> str:
        return "v_fmac_f32" if self.unified else "v_mac_f32"

    @property
    def matrices(self) -> bool:
        return self.float_atomics

    def macros(self) -> str:
        if self.gfx8:
            text = """
.macro addu d, a, b
  v_add_u32 \\d, vcc, \\a, \\b
.endm
.macro address d, lo, hi, off
  v_add_u32 v[\\d], vcc, \\lo, \\off
  v_mov_b32 v[\\d+1], \\hi
  v_addc_u32 v[\\d+1], vcc, 0, v[\\d+1], vcc
.endm
.macro own_address d, off
  v_add_u32 v[\\d], vcc, \\off, v34
  v_addc_u32 v[\\d+1], vcc, 0, v35, vcc
.endm
.macro gload size, d, p, off
  v_add_u32 v28, vcc, \\off, v[\\p]
  v_addc_u32 v29, vcc, 0, v[\\p+1], vcc
  flat_load_\\size \\d, v[28:29]
  s_waitcnt 0
.endm
.macro gstore size, p, d, off
  v_add_u32 v28, vcc, \\off, v[\\p]
  v_addc_u32 v29, vcc, 0, v[\\p+1], vcc
  flat_store_\\size v[28:29], \\d
.endm
.macro gatomic op, p, d
  flat_atomic_\\op v[\\p:\\p+1], \\d
.endm
.macro gatomic_rtn op, r, p, d
  flat_atomic_\\op \\r, v[\\p:\\p+1], \\d glc
  s_waitcnt 0
.endm
.macro load_coherent d, p
  flat_load_dword \\d, v[\\p:\\p+1] glc
  s_waitcnt 0
  buffer_wbinvl1_vol
.endm
.macro store_coherent p, d
  s_waitcnt 0
  flat_store_dword v[\\p:\\p+1], \\d
.endm
"""
        else:
            scope = "sc0 sc1" if self.name == "gfx942" else "glc"
            returns = "sc0" if self.name == "gfx942" else "glc"
            invalidate = "buffer_inv sc0 sc1" if self.name == "gfx942" else "buffer_wbinvl1_vol"
            text = f"""
.macro addu d, a, b
  v_add_u32 \\d, \\a, \\b
.endm
.macro address d, lo, hi, off
  v_add_co_u32 v[\\d], vcc, \\lo, \\off
  v_mov_b32 v[\\d+1], \\hi
  v_addc_co_u32 v[\\d+1], vcc, 0, v[\\d+1], vcc
.endm
.macro own_address d, off
  v_add_co_u32 v[\\d], vcc, \\off, v34
  v_addc_co_u32 v[\\d+1], vcc, 0, v35, vcc
.endm
.macro gload size, d, p, off
  global_load_\\size \\d, v[\\p:\\p+1], off offset:\\off
  s_waitcnt vmcnt(0)
.endm
.macro gstore size, p, d, off
  global_store_\\size v[\\p:\\p+1], \\d, off offset:\\off
.endm
.macro gatomic op, p, d
  global_atomic_\\op v[\\p:\\p+1], \\d, off
.endm
.macro gatomic_rtn op, r, p, d
  global_atomic_\\op \\r, v[\\p:\\p+1], \\d, off {returns}
  s_waitcnt vmcnt(0)
.endm
.macro load_coherent d, p
  global_load_dword \\d, v[\\p:\\p+1], off {scope}
  s_waitcnt vmcnt(0)
  {invalidate}
.endm
.macro store_coherent p, d
  s_waitcnt 0
  global_store_dword v[\\p:\\p+1], \\d, off {"sc0 sc1" if self.name == "gfx942" else ""}
.endm
"""
        return text
