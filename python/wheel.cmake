# A wheel is an installation whose prefix is the package's folder: lib, include, bin.

set_target_properties(rapt_python PROPERTIES INSTALL_RPATH $ORIGIN/lib)
install(TARGETS rapt_python DESTINATION .)

set_property(TARGET rapt PROPERTY VERSION) # a wheel has no links: one file
set_property(TARGET rapt PROPERTY SOVERSION)

if(RAPT_ARCHIVES_FROM AND NOT RAPT_BUILD_ARCHIVES)
  file(GLOB archives CONFIGURE_DEPENDS ${RAPT_ARCHIVES_FROM}/*.rapt)
  if(NOT archives)
    message(FATAL_ERROR "RAPT_ARCHIVES_FROM is ${RAPT_ARCHIVES_FROM}, which has no archive of kernels (*.rapt)")
  endif()
  list(LENGTH archives count)
  message(STATUS "kernel archives for the wheel: ${count} from ${RAPT_ARCHIVES_FROM}")
  install(FILES ${archives} DESTINATION ${CMAKE_INSTALL_LIBDIR}/rapt)
  install(FILES ${RAPT_ARCHIVES_FROM}/libaotriton_v2.so DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
endif()
