# A wheel is an installation whose prefix is the package's folder: lib, include, bin.

set_target_properties(rapt_python PROPERTIES INSTALL_RPATH $ORIGIN/lib)
install(TARGETS rapt_python DESTINATION .)

set_property(TARGET rapt PROPERTY VERSION) # a wheel has no links: one file
set_property(TARGET rapt PROPERTY SOVERSION)

if(NOT RAPT_BUILD_ARCHIVES)
  set(folder ${RAPT_ARCHIVES_FROM})
  if(NOT folder)
    set(folder ${PROJECT_SOURCE_DIR}/build/release/kernels) # of `make archives`
  endif()
  file(GLOB archives CONFIGURE_DEPENDS ${folder}/*.rapt)
  if(RAPT_ARCHIVES_FROM AND NOT archives)
    message(FATAL_ERROR "RAPT_ARCHIVES_FROM is ${folder}, which has no archive of kernels (*.rapt)")
  endif()
  list(LENGTH archives count)
  message(STATUS "kernel archives for the wheel: ${count} from ${folder}")
  if(archives)
    install(FILES ${archives} DESTINATION ${CMAKE_INSTALL_LIBDIR}/rapt)
  endif()
  install(FILES ${folder}/libaotriton_v2.so DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
endif()
