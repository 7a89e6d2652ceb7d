# rapt_old_systems(TARGET): makes the library or program run with glibc 2.28 and without a C++ run-time, whatever builds
# it. Has no effect without glibc, on processors other than x86-64, and with sanitizers.

include(CheckCXXSymbolExists)
check_cxx_symbol_exists(__GLIBC__ features.h RAPT_GLIBC)
if(RAPT_GLIBC AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT RAPT_SANITIZE)
  set(rapt_old_systems ON)
  enable_language(ASM)
endif()

function(rapt_old_systems target)
  if(rapt_old_systems)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/glibc_2_28.S)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/glibc_2_28_start.S)
    endif()
    # Old glibc has some functions in libdl and libpthread. The linker leaves out the C++ run-time's unused functions.
    target_link_options(${target} PRIVATE -static-libstdc++
      LINKER:--gc-sections,--push-state,--no-as-needed,-l:libdl.so.2,-l:libpthread.so.0,--pop-state)
  endif()
endfunction()
