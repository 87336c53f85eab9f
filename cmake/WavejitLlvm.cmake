# The clang and lld that compile and assemble GPU code for tests and benchmarks.
#
#   WAVEJIT_LLVM         the version that Debian's hipcc and ROCm device libraries belong to: 15 (Debian 12) or 17 (Debian 13)
#   WAVEJIT_CLANG        clang of that version
#   WAVEJIT_LLD          ld.lld of that version
#   WAVEJIT_DEVICE_LIBS  the folder of the ROCm device libraries, LLVM bitcode of that version
#   WAVEJIT_CLANG_19     clang 19: the versions above know too little of GFX940
#   WAVEJIT_LLD_19       ld.lld 19

function(wavejit_find_kernel_tool variable name apt)
  find_program(${variable} NAMES ${name})
  if(NOT ${variable})
    message(FATAL_ERROR "wavejit's tests need ${name}: apt-get install ${apt} (or run scripts/setup.sh)")
  endif()
endfunction()

# Sets WAVEJIT_CLANG_<version> and WAVEJIT_LLD_<version>; false where the release does not have them.
function(wavejit_find_kernel_compiler version)
  find_program(WAVEJIT_CLANG_${version} NAMES clang-${version})
  find_program(WAVEJIT_LLD_${version} NAMES ld.lld-${version})
endfunction()

# One row a version: where its device libraries are.
set(wavejit_device_libs_15 /usr/lib/x86_64-linux-gnu/amdgcn/bitcode)
set(wavejit_device_libs_17 /usr/lib/llvm-17/lib/clang/17/amdgcn/bitcode)

set(WAVEJIT_LLVM)
foreach(version 15 17)
  wavejit_find_kernel_compiler(${version})
  if(WAVEJIT_CLANG_${version} AND WAVEJIT_LLD_${version} AND EXISTS "${wavejit_device_libs_${version}}/ockl.bc")
    set(WAVEJIT_LLVM ${version})
    break()
  endif()
endforeach()
if(NOT WAVEJIT_LLVM)
  message(FATAL_ERROR "wavejit's tests need clang, lld and the ROCm device libraries of one LLVM version: run scripts/setup.sh, or "
                      "apt-get install clang-15 lld-15 rocm-device-libs (Debian 12), clang-17 lld-17 rocm-device-libs-17 (Debian 13)")
endif()
set(WAVEJIT_CLANG "${WAVEJIT_CLANG_${WAVEJIT_LLVM}}")
set(WAVEJIT_LLD "${WAVEJIT_LLD_${WAVEJIT_LLVM}}")
set(WAVEJIT_DEVICE_LIBS "${wavejit_device_libs_${WAVEJIT_LLVM}}")
wavejit_find_kernel_tool(WAVEJIT_CLANG_19 clang-19 clang-19)
wavejit_find_kernel_tool(WAVEJIT_LLD_19 ld.lld-19 lld-19)
message(STATUS "wavejit: GPU code is compiled by clang ${WAVEJIT_LLVM}, for GFX940 by clang 19")
