# `cmake --install` installs the library, its headers, find_package(rapt) and rapt.pc for other projects.

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

set(rapt_pc_libraries "")
if(NOT BUILD_SHARED_LIBS) # librapt.so has zstd inside, and says itself what else it needs
  set(rapt_pc_libraries " -lstdc++ -pthread")
  foreach(library IN LISTS CMAKE_DL_LIBS)
    string(APPEND rapt_pc_libraries " -l${library}")
  endforeach()
  if(RAPT_ZSTD)
    string(PREPEND rapt_pc_libraries " -lzstd")
  endif()
endif()
file(RELATIVE_PATH rapt_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" rapt_pc_to_prefix ${rapt_pc_to_prefix})
configure_file(${CMAKE_CURRENT_LIST_DIR}/rapt.pc.in ${PROJECT_BINARY_DIR}/rapt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rapt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
