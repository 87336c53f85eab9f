# libwavejit, as installed: one shared library that exports the C API only, headers, the CMake package and wavejit.pc.
# Component "library" holds all of it; the command is installed by tools/.
include(CMakePackageConfigHelpers)

add_library(wavejit SHARED $<TARGET_OBJECTS:wavejit_runtime>)
add_library(wavejit::wavejit ALIAS wavejit)
target_link_libraries(wavejit PRIVATE wavejit_codeobject wavejit_isa wavejit_interp wavejit_lift wavejit_ir wavejit_backend
                                      Threads::Threads)
target_include_directories(wavejit INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
set_target_properties(wavejit PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX)
# Signal handlers of the library stay installed: it must not be unloaded.
target_link_options(wavejit PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,nodelete)
if(NOT WAVEJIT_SANITIZE)
  target_link_options(wavejit PRIVATE -Wl,-z,defs)
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/wavejit")
install(TARGETS wavejit EXPORT wavejit-targets COMPONENT library LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES include/wavejit/wavejit.h include/wavejit/wavejit.hpp COMPONENT library
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/wavejit")
install(EXPORT wavejit-targets NAMESPACE wavejit:: COMPONENT library DESTINATION "${package_dir}")

file(WRITE "${PROJECT_BINARY_DIR}/package/wavejit-config.cmake"
     "include(\"\${CMAKE_CURRENT_LIST_DIR}/wavejit-targets.cmake\")\n")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/wavejit-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/wavejit-config.cmake" "${PROJECT_BINARY_DIR}/package/wavejit-config-version.cmake"
        COMPONENT library DESTINATION "${package_dir}")

# Relocatable: the prefix is found from where the file lies.
file(RELATIVE_PATH pc_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
file(WRITE "${PROJECT_BINARY_DIR}/package/wavejit.pc"
     "prefix=\${pcfiledir}/${pc_prefix}\n"
     "libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}\n"
     "includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\n\n"
     "Name: wavejit\n"
     "Description: ${PROJECT_DESCRIPTION}\n"
     "Version: ${PROJECT_VERSION}\n"
     "Libs: -L\${libdir} -lwavejit\n"
     "Cflags: -I\${includedir}\n")
install(FILES "${PROJECT_BINARY_DIR}/package/wavejit.pc" COMPONENT library DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
