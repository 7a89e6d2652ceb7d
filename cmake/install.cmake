# `cmake --install` installs the library, its headers and find_package(rapt) for other projects.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rapt)

install(TARGETS rapt EXPORT rapt-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rapt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT rapt-targets NAMESPACE rapt:: DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rapt-config.cmake.in ${PROJECT_BINARY_DIR}/rapt-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rapt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rapt-config.cmake ${PROJECT_BINARY_DIR}/rapt-config-version.cmake
  DESTINATION ${package_dir})
