# What is compiled once for many sources: headers, and CLI11.

# As target_precompile_headers.
function(rapt_precompile target)
  target_precompile_headers(${target} ${ARGN})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # the header's time in it would make each build another one to the compiler cache
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
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

# Compiles these sources of a target as one: CLI11, which most of them include, takes longer to compile than the rest.
function(rapt_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP cli11)
endfunction()

# In the sanitizers' builds, which are by clang and rarely file by file, a target's small sources are compiled as a few:
# names in their unnamed namespaces must differ.
function(rapt_few_sources target)
  if(RAPT_SANITIZE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()
