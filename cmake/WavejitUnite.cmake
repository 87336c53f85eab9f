# Several sources of a library as one: whoever builds all of it once needs half of the time. Whoever changes files again and
# again leaves it off. Names of one library's sources must differ for it, those in anonymous namespaces included.
option(WAVEJIT_UNITE "Compile several sources of a library at a time" OFF)

# wavejit_unite(TARGET): does so with TARGET's sources, but for those with SKIP_UNITY_BUILD_INCLUSION.
function(wavejit_unite target)
  if(WAVEJIT_UNITE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # Classes in headers have members of types that only their own source knows: no other includes it.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# wavejit_unite_tests(DIRECTORY): the same for its programs and libraries of several sources.
function(wavejit_unite_tests directory)
  get_directory_property(targets DIRECTORY "${directory}" BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    list(LENGTH sources count)
    if(type MATCHES "^(EXECUTABLE|STATIC_LIBRARY)$" AND count GREATER 1)
      wavejit_unite(${target})
    endif()
  endforeach()
endfunction()
