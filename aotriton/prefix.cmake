# A folder laid out as AOTriton installs itself, which PyTorch's own build takes by AOTRITON_INSTALLED_PREFIX:
# `cmake --install BUILD --component aotriton --prefix FOLDER`. Nothing else installs it, because its headers would hide
# AOTriton's.

set(RAPT_AOTRITON_API 0.13 CACHE STRING "The release of AOTriton whose interface include/aotriton has: 0.11 to 0.14")
if(NOT RAPT_AOTRITON_API MATCHES "^0\\.(11|12|13|14)$")
  message(FATAL_ERROR "RAPT_AOTRITON_API is ${RAPT_AOTRITON_API}, must be 0.11, 0.12, 0.13 or 0.14")
endif()
set(RAPT_AOTRITON_MINOR ${CMAKE_MATCH_1})
set(headers ${PROJECT_SOURCE_DIR}/include/aotriton)
configure_file(${headers}/config.h.in ${CMAKE_CURRENT_BINARY_DIR}/config.h @ONLY)

# PyTorch's wheels contain lib/*.so* and everything in lib/aotriton.images.
set(archives ${amd_archs})
list(TRANSFORM archives REPLACE "(.+)" "${PROJECT_BINARY_DIR}/kernels/\\1.rapt")
set(alone COMPONENT aotriton EXCLUDE_FROM_ALL)
install(TARGETS aotriton_v2 LIBRARY DESTINATION lib ${alone})
install(FILES ${archives} DESTINATION lib/aotriton.images/rapt ${alone})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/config.h ${headers}/dtypes.h ${headers}/flash.h ${headers}/runtime.h ${headers}/util.h
  DESTINATION include/aotriton ${alone})
install(FILES ${headers}/v2/flash.h DESTINATION include/aotriton/v2 ${alone})
