# How sources are compiled: headers and CLI11 once for many, small sources together, what computes in tests optimised.

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
  rapt_group(${target} cli11 ${ARGN})
endfunction()

# As rapt_together, for several groups of a target: rapt_group(TARGET GROUP source...).
function(rapt_group target group)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${group})
endfunction()

# rapt_by_folder(TARGET SOURCES source... EXCEPT source...): compiles the sources of each folder as one, for most small
# sources take longer to open than to compile. Names in the unnamed namespaces of a folder must differ; EXCEPT has
# sources whose names do not, relative to the current folder.
function(rapt_by_folder target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;EXCEPT")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    if(NOT source IN_LIST arg_EXCEPT)
      cmake_path(GET source PARENT_PATH folder)
      string(MAKE_C_IDENTIFIER "${folder}" group)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()

# In the builds that are mostly made whole, a target's small sources are compiled as a few: names in their unnamed
# namespaces must differ. The dev preset compiles file by file.
function(rapt_few_sources target)
  if(RAPT_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL Release)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# What computes much in tests: optimised under the sanitizers too, which costs no more to compile, and without the fuzz
# targets' branches.
function(rapt_hot target)
  if(RAPT_SANITIZE)
    target_compile_options(${target} PRIVATE -O2 $<$<BOOL:${RAPT_FUZZ}>:-fno-sanitize=fuzzer-no-link>)
  endif()
endfunction()
