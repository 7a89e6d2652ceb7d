# With RAPT_GTEST_SOURCE, GoogleTest is built from source and every find_package(GTest) is answered by that build.

if(RAPT_GTEST_SOURCE)
  set(INSTALL_GTEST OFF)
  set(BUILD_GMOCK ON)
  add_subdirectory(${RAPT_GTEST_SOURCE} ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  foreach(target IN ITEMS gtest gtest_main gmock gmock_main)
    target_compile_options(${target} PRIVATE -w) # our warnings are errors, but these sources are not ours
  endforeach()
  file(WRITE ${CMAKE_FIND_PACKAGE_REDIRECTS_DIR}/gtest-config.cmake "")
endif()
