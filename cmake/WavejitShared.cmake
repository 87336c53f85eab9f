# wavejit_link_shared(TARGET): what every shared library that holds the engine needs.
function(wavejit_link_shared target)
  # A static asmjit is linked as a copy without references to variables of other libraries, see runtime/translate/asmjit_stderr.cpp.
  # It comes first and as a whole, so nothing is taken from the original.
  get_target_property(asmjit_library asmjit::asmjit LOCATION)
  if(asmjit_library MATCHES "\\.a$")
    set(asmjit_copy "${PROJECT_BINARY_DIR}/libasmjit-shared.a")
    if(NOT TARGET wavejit_asmjit_copy)
      add_custom_command(OUTPUT "${asmjit_copy}" DEPENDS "${asmjit_library}" VERBATIM
                         COMMAND "${CMAKE_OBJCOPY}" --redefine-sym stderr=wavejit_asmjit_stderr "${asmjit_library}" "${asmjit_copy}")
      add_custom_target(wavejit_asmjit_copy DEPENDS "${asmjit_copy}")
    endif()
    add_dependencies(${target} wavejit_asmjit_copy)
    target_link_options(${target} PRIVATE -Wl,--whole-archive "${asmjit_copy}" -Wl,--no-whole-archive)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${asmjit_copy}")
  endif()
  # Libraries that are linked statically keep their symbols to themselves. A version script that ends with "local: *" does so,
  # too; this holds for targets without one.
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
  # Signal handlers of the library stay installed: it must not be unloaded. What translations on disk are told apart by.
  target_link_options(${target} PRIVATE -Wl,-z,nodelete -Wl,--build-id=sha1)
  if(NOT WAVEJIT_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
