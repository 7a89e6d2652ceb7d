# Headers that g++ parses once for many sources. clang, which builds few targets here, does without.

# As target_precompile_headers.
function(rapt_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} ${ARGN})
    target_compile_options(${target} PRIVATE -Wno-stringop-overflow) # g++ 12 then fires inside std::string's +
  endif()
endfunction()

# rapt_precompiled(NAME LIBRARIES library... HEADERS header...): for each target with rapt_precompile(TARGET REUSE_FROM NAME).
function(rapt_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES;HEADERS")
  file(CONFIGURE OUTPUT ${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  rapt_precompile(${name} PRIVATE ${arg_HEADERS})
endfunction()
