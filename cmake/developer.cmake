# Defaults for working on Rapt itself; a project that includes Rapt keeps its own.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # for clang-tidy

find_program(RAPT_CCACHE ccache)
if(RAPT_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RAPT_CCACHE})
endif()

if(RAPT_WARNINGS)
  # Initialisers often name only a struct's first fields, such as struct_size; the rest is 0.
  add_compile_options(-Wall -Wextra -Werror -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++-12 fires inside std::sort and its own intrinsics.
    add_compile_options(-Wno-array-bounds -Wno-maybe-uninitialized -Wno-uninitialized)
  else()
    add_compile_options(-Wno-deprecated-declarations) # clang fires inside libstdc++ 12's std::stable_sort
  endif()
endif()
if(RAPT_SANITIZE)
  add_compile_options(-fsanitize=${RAPT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RAPT_SANITIZE})
endif()
if(RAPT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
