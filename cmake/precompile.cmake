# Compiles once for many sources: headers with g++ (clang builds few targets here and does without), and CLI11.

# As target_precompile_headers.
function(rapt_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()

# rapt_precompiled(NAME LIBRARIES library... HEADERS header...): headers for every target that calls
# rapt_precompile(TARGET REUSE_FROM NAME).
function(rapt_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES;HEADERS")
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  rapt_precompile(${name} PRIVATE ${arg_HEADERS})
endfunction()

# Compiles these sources of a target as one. Most of them include CLI11, which takes longer to compile than the rest.
function(rapt_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP cli11)
endfunction()

# The sanitizers' builds, by clang and rarely of single files, compile a target's small sources as a few large ones.
# Names in their unnamed namespaces must differ.
function(rapt_few_sources target)
  if(RAPT_SANITIZE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()
