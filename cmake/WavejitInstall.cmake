# libwavejit, as installed: one shared library that exports the C API only, headers, the CMake package and wavejit.pc.
# Component "library" holds all of it; the command is installed by tools/.
include(CMakePackageConfigHelpers)

# The target is not called wavejit because the command's file is: both are in the build folder.
add_library(wavejit_shared SHARED $<TARGET_OBJECTS:wavejit_runtime>)
add_library(wavejit::wavejit ALIAS wavejit_shared)
target_link_libraries(wavejit_shared PRIVATE wavejit_codeobject wavejit_isa wavejit_interp wavejit_lift wavejit_ir wavejit_backend
                                      Threads::Threads)
wavejit_link_shared(wavejit_shared)
target_include_directories(wavejit_shared INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
set_target_properties(wavejit_shared PROPERTIES OUTPUT_NAME wavejit EXPORT_NAME wavejit VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX)
target_link_options(wavejit_shared PRIVATE "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/wavejit.map")
set_property(TARGET wavejit_shared APPEND PROPERTY LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/wavejit.map")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/wavejit")
install(TARGETS wavejit_shared EXPORT wavejit-targets COMPONENT library LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
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
