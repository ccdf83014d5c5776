# cmake --install: headers, static libraries and the package that find_package(iterscope) reads. The component
# "python" (the extension module) is scikit-build-core's business; "--component cpp" installs all of this.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/iterscope")

# Without torch only the core's headers could be used: those of the folder itself.
set(torch_headers "")
if(NOT ITERSCOPE_WITH_TORCH)
  set(torch_headers REGEX "/include/iterscope/[a-z]+$" EXCLUDE)
endif()
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/iterscope"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT cpp
  FILES_MATCHING
  PATTERN "*.hpp" ${torch_headers})

function(iterscope_export component)
  install(TARGETS ${ARGN} EXPORT iterscope_${component}_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                                                                        COMPONENT cpp)
  install(
    EXPORT iterscope_${component}_targets
    NAMESPACE iterscope::
    DESTINATION "${package_dir}"
    COMPONENT cpp)
endfunction()

iterscope_export(core iterscope_core)
if(ITERSCOPE_WITH_TORCH)
  iterscope_export(torch iterscope_torch)
  iterscope_export(solvers iterscope_solvers iterscope_operators)
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/iterscope-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/iterscope-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/iterscope-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/iterscope-config.cmake" "${PROJECT_BINARY_DIR}/iterscope-config-version.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindIterscopeTorch.cmake"
  DESTINATION "${package_dir}"
  COMPONENT cpp)
