# Compiles GPU kernels to code objects at build time, with Debian's hipcc, and with clang and lld as WavejitLlvm.cmake finds them.
#
#   wavejit_add_code_objects(OUTPUTS_VARIABLE
#     SOURCES file...              .cl, .s, .hip
#     TARGETS gfx906...            processors
#     LEVELS O0 O3                 optimisation levels
#     [OBJECT_VERSION 5]           code object version; 4, the compiler's default, without it
#     [COMPILER 19]                clang's and lld's version; without it WAVEJIT_LLVM, or 19 at -O0 where WAVEJIT_LLVM is 17. 14 reads
#                                  no device libraries: OpenCL sources get tests/kernels/clang14/opencl_library.h instead
#     [SUFFIX -v5])                appended to the processor in the output path
#
# Outputs are ${WAVEJIT_KERNEL_DIR}/<target><suffix>/<level>/<name>.co. HIP sources become one offload bundle with all targets,
# ${WAVEJIT_KERNEL_DIR}/hip<suffix>/<level>/<name>.co.
set(WAVEJIT_KERNEL_DIR "${PROJECT_BINARY_DIR}/kernels")

wavejit_find_kernel_tool(WAVEJIT_HIPCC hipcc hipcc)

# The device libraries for one processor, as compiler flags. The oclc_* files are the libraries' switches.
function(wavejit_device_lib_flags target object_version result)
  string(REPLACE gfx "" isa ${target})
  if(isa MATCHES "^94")
    set(isa 940)  # the libraries of Debian 12 have no others
  endif()
  # Processors before GFX9 flush single-precision denormals by default (no fast v_fma with denormals).
  if(isa MATCHES "^[678]")
    set(daz on)
  else()
    set(daz off)
  endif()
  if(object_version GREATER_EQUAL 5)
    set(abi 500)
  else()
    set(abi 400)
  endif()
  set(flags -nogpulib)
  foreach(lib opencl ocml ockl oclc_isa_version_${isa} oclc_wavefrontsize64_on oclc_daz_opt_${daz} oclc_finite_only_off
              oclc_unsafe_math_off oclc_correctly_rounded_sqrt_off oclc_abi_version_${abi})
    list(APPEND flags -Xclang -mlink-builtin-bitcode -Xclang "${WAVEJIT_DEVICE_LIBS}/${lib}.bc")
  endforeach()
  set(${result} ${flags} PARENT_SCOPE)
endfunction()

# clang and lld of the version that is asked for, or of the one that a level has without that.
function(wavejit_choose_kernel_compiler version level clang_variable lld_variable)
  # LLVM 17 at -O0 reloads spilled VGPRs where branches meet before it restores EXEC, so that lanes keep old values: in
  # __ockl_get_global_id, in 64-bit division, in fmod and pow (tests/kernels/miscompiled.h).
  if(NOT version AND level STREQUAL "O0" AND WAVEJIT_LLVM EQUAL 17)
    set(version 19)
  endif()
  if(NOT version)
    set(${clang_variable} "${WAVEJIT_CLANG}" PARENT_SCOPE)
    set(${lld_variable} "${WAVEJIT_LLD}" PARENT_SCOPE)
    return()
  endif()
  wavejit_find_kernel_compiler(${version})
  if(NOT WAVEJIT_CLANG_${version} OR NOT WAVEJIT_LLD_${version})
    message(FATAL_ERROR "wavejit's kernel tests need clang-${version} and lld-${version}: run scripts/setup.sh")
  endif()
  set(${clang_variable} "${WAVEJIT_CLANG_${version}}" PARENT_SCOPE)
  set(${lld_variable} "${WAVEJIT_LLD_${version}}" PARENT_SCOPE)
endfunction()

option(WAVEJIT_COMPILE_KERNELS "Compile the kernels of the tests; without them few tests can run" ON)

function(wavejit_add_code_objects outputs_variable)
  if(NOT WAVEJIT_COMPILE_KERNELS)
    set(${outputs_variable} PARENT_SCOPE)
    return()
  endif()
  cmake_parse_arguments(arg "" "OBJECT_VERSION;SUFFIX;COMPILER" "SOURCES;TARGETS;LEVELS" ${ARGN})
  set(version 4)
  set(hip_version_flags)
  if(arg_OBJECT_VERSION)
    set(version ${arg_OBJECT_VERSION})
    set(hip_version_flags -mcode-object-version=${version})
  endif()
  foreach(level IN LISTS arg_LEVELS)
    wavejit_choose_kernel_compiler("${arg_COMPILER}" ${level} clang_${level} lld_${level})
    set(version_flags_${level} ${hip_version_flags})
    if(NOT clang_${level} STREQUAL WAVEJIT_CLANG)
      set(version_flags_${level} -mcode-object-version=${version})  # the default differs
    endif()
  endforeach()
  set(outputs)
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(source "${source}" ABSOLUTE)
    get_filename_component(name "${source}" NAME_WE)
    get_filename_component(folder "${source}" DIRECTORY)
    get_filename_component(extension "${source}" LAST_EXT)
    foreach(level IN LISTS arg_LEVELS)
      if(extension STREQUAL ".hip")
        set(output "${WAVEJIT_KERNEL_DIR}/hip${arg_SUFFIX}/${level}/${name}.co")
        file(MAKE_DIRECTORY "${WAVEJIT_KERNEL_DIR}/hip${arg_SUFFIX}/${level}")
        list(JOIN arg_TARGETS "," archs)
        add_custom_command(
          OUTPUT "${output}"
          COMMAND "${WAVEJIT_HIPCC}" --genco --offload-arch=${archs} -${level} ${hip_version_flags} -o "${output}" "${source}"
          DEPENDS "${source}"
          COMMENT "Kernel hip/${level}/${name}"
          VERBATIM)
        list(APPEND outputs "${output}")
        continue()
      endif()
      foreach(target IN LISTS arg_TARGETS)
        set(directory "${WAVEJIT_KERNEL_DIR}/${target}${arg_SUFFIX}/${level}")
        set(output "${directory}/${name}.co")
        set(depends "${source}")
        file(MAKE_DIRECTORY "${directory}")
        if(extension STREQUAL ".s")
          file(GLOB includes CONFIGURE_DEPENDS "${folder}/*.inc")
          list(APPEND depends ${includes})
          set(flags -x assembler-with-cpp -nogpulib)
        else()
          set(flags -x cl -cl-std=CL2.0 -${level} -gline-tables-only)
          if(arg_COMPILER EQUAL 14)
            set(library "${PROJECT_SOURCE_DIR}/tests/kernels/clang14/opencl_library.h")
            list(APPEND flags -nogpulib -include "${library}")
            list(APPEND depends "${library}")
          else()
            wavejit_device_lib_flags(${target} ${version} libs)
            list(APPEND flags -Xclang -fdeclare-opencl-builtins -Xclang -finclude-default-header ${libs})
          endif()
        endif()
        add_custom_command(
          OUTPUT "${output}"
          COMMAND "${clang_${level}}" -target amdgcn-amd-amdhsa -mcpu=${target} ${flags} ${version_flags_${level}} -c
                  -o "${output}.o" "${source}"
          COMMAND "${lld_${level}}" -shared --no-undefined -o "${output}" "${output}.o"
          DEPENDS ${depends}
          BYPRODUCTS "${output}.o"
          COMMENT "Kernel ${target}${arg_SUFFIX}/${level}/${name}"
          VERBATIM)
        list(APPEND outputs "${output}")
      endforeach()
    endforeach()
  endforeach()
  set(${outputs_variable} ${outputs} PARENT_SCOPE)
endfunction()
