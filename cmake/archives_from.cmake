# Archives that another build has packed, in place of kernels compiled here: each is copied when it changes.
set(archives "")
foreach(arch IN LISTS RAPT_ARCHS)
  set(archive ${PROJECT_BINARY_DIR}/kernels/${arch}.rapt)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E copy ${RAPT_ARCHIVES_FROM}/${arch}.rapt ${archive}
    DEPENDS ${RAPT_ARCHIVES_FROM}/${arch}.rapt COMMENT "Copying ${arch}.rapt" VERBATIM)
  list(APPEND archives ${archive})
endforeach()
add_custom_target(archives ALL DEPENDS ${archives})
