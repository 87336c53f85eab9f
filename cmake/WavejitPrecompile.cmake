# Precompiled headers: half of the time that most files take is what they include of other projects' headers.
option(WAVEJIT_PRECOMPILE "Precompile the headers of other projects that most files include" ON)

# wavejit_precompile(TARGET HEADER): compiles TARGET's files with HEADER, a file of includes, precompiled. Files include what
# they use all the same. A build with WAVEJIT_PRECOMPILE off shows when one does not; scripts/lint.sh, of the sources that it
# looks at.
function(wavejit_precompile target header)
  if(WAVEJIT_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE "${header}")
  endif()
endfunction()

# wavejit_precompile_tests(DIRECTORY): the programs and libraries of DIRECTORY that are compiled with the project's options share
# what is precompiled for wavejit_test_precompiled, but for those with flags or a precompiled header of their own.
function(wavejit_precompile_tests directory)
  if(NOT WAVEJIT_PRECOMPILE)
    return()
  endif()
  get_directory_property(targets DIRECTORY "${directory}" BUILDSYSTEM_TARGETS)
  get_directory_property(common DIRECTORY "${directory}" COMPILE_OPTIONS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    get_target_property(options ${target} COMPILE_OPTIONS)
    list(REMOVE_ITEM options ${common})
    get_target_property(own ${target} PRECOMPILE_HEADERS)
    if(type MATCHES "^(EXECUTABLE|STATIC_LIBRARY)$" AND libraries MATCHES "wavejit_compile_options" AND NOT options MATCHES "-[mfO]"
       AND NOT own)
      target_precompile_headers(${target} REUSE_FROM wavejit_test_precompiled)
      target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:wavejit_fmt,INTERFACE_COMPILE_DEFINITIONS>)
      target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
    endif()
  endforeach()
endfunction()
