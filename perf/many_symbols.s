// A code object of 5,000 kernels and 5,000 variables, for hsa_bench.
.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
.altmacro

.macro kernel n
.text
.globl kernel_\n
.p2align 8
.type kernel_\n,@function
kernel_\n:
  s_endpgm
.size kernel_\n, .-kernel_\n
.rodata
.p2align 6
.amdhsa_kernel kernel_\n
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 1
.end_amdhsa_kernel
.data
.globl variable_\n
.type variable_\n,@object
.size variable_\n, 4
variable_\n:
  .long \n
.endm

.set i, 0
.rept 5000
  kernel %i
  .set i, i+1
.endr
