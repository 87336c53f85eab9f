# Every third-party library comes from a package that Debian 12 and 13 have; a missing one is named by its package.
function(wavejit_require package apt)
  find_package(${package} CONFIG QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "wavejit needs ${package}: apt-get install ${apt} (or run scripts/setup.sh)")
  endif()
endfunction()

# wavejit_require_static(NAME LIBRARY HEADER APT): the imported target wavejit::NAME, a static library and its header.
# The libraries and the command need no shared library but those of the compiler and of glibc, so that what is built
# on one release of Debian runs on later ones, where other libraries have other versions.
function(wavejit_require_static name library header apt)
  find_library(WAVEJIT_${library} ${library})
  find_path(WAVEJIT_${library}_INCLUDE ${header})
  if(NOT WAVEJIT_${library} OR NOT WAVEJIT_${library}_INCLUDE)
    message(FATAL_ERROR "wavejit needs ${library} and ${header}: apt-get install ${apt} (or run scripts/setup.sh)")
  endif()
  add_library(wavejit::${name} STATIC IMPORTED GLOBAL)
  set_target_properties(wavejit::${name} PROPERTIES IMPORTED_LOCATION "${WAVEJIT_${library}}"
                                                  INTERFACE_INCLUDE_DIRECTORIES "${WAVEJIT_${library}_INCLUDE}")
endfunction()

# wavejit_require_header(VARIABLE HEADER APT): the folder of a library that is used as headers only.
function(wavejit_require_header variable header apt)
  find_path(${variable} ${header})
  if(NOT ${variable})
    message(FATAL_ERROR "wavejit needs ${header}: apt-get install ${apt} (or run scripts/setup.sh)")
  endif()
endfunction()

find_package(Threads REQUIRED)
wavejit_require(asmjit libasmjit-dev)
wavejit_require(xbyak libxbyak-dev)
wavejit_require(tl-expected libexpected-dev)
wavejit_require(nlohmann_json nlohmann-json3-dev)
wavejit_require_static(yaml libyaml.a yaml.h libyaml-dev)
wavejit_require_static(zstd libzstd.a zstd.h libzstd-dev)
wavejit_require_static(zlib libz.a zlib.h zlib1g-dev)
wavejit_require_header(WAVEJIT_XXHASH_INCLUDE xxhash.h libxxhash-dev)
wavejit_require_header(WAVEJIT_FMT_INCLUDE fmt/format-inl.h libfmt-dev)  # compiled by include/internal/fmt.cpp
wavejit_require_header(WAVEJIT_DW_INCLUDE elfutils/libdw.h libdw-dev)    # loaded by frontend/codeobject/libdw.cpp
wavejit_require_header(WAVEJIT_HWY_INCLUDE hwy/highway.h libhwy-dev)     # chosen from by frontend/interp/host.h
wavejit_require_header(WAVEJIT_MSGPACK_INCLUDE msgpack.hpp libmsgpack-cxx-dev)  # its CMake package is named differently in each release
add_library(wavejit::msgpack INTERFACE IMPORTED GLOBAL)
set_target_properties(wavejit::msgpack PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${WAVEJIT_MSGPACK_INCLUDE}"
                                                INTERFACE_COMPILE_DEFINITIONS MSGPACK_DEFAULT_API_VERSION=3)
add_library(wavejit::highway INTERFACE IMPORTED GLOBAL)
set_target_properties(wavejit::highway PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${WAVEJIT_HWY_INCLUDE}")
if(WAVEJIT_BUILD_TOOLS OR WAVEJIT_BUILD_TESTS)
  wavejit_require(CLI11 libcli11-dev)
endif()
if(WAVEJIT_BUILD_TESTS)
  wavejit_require(GTest "libgtest-dev libgmock-dev")
  wavejit_require(yaml-cpp libyaml-cpp-dev)
  find_library(WAVEJIT_MPFR mpfr)  # the model of arithmetic instructions (tests/model)
  find_path(WAVEJIT_MPFR_INCLUDE mpfr.h)
  if(NOT WAVEJIT_MPFR OR NOT WAVEJIT_MPFR_INCLUDE)
    message(FATAL_ERROR "wavejit's tests need MPFR: apt-get install libmpfr-dev (or run scripts/setup.sh)")
  endif()
endif()
if(WAVEJIT_BUILD_PERF)
  wavejit_require(benchmark libbenchmark-dev)
endif()
