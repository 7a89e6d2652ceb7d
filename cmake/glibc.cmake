# rapt_old_systems(TARGET): the library or program needs no glibc after 2.28 and no C++ run-time, whatever it is built with.
# Without effect where glibc is not the C library, on processors other than x86-64, and with sanitizers.

include(CheckCXXSymbolExists)
check_cxx_symbol_exists(__GLIBC__ features.h RAPT_GLIBC)
if(RAPT_GLIBC AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT RAPT_SANITIZE)
  set(rapt_old_systems ON)
  enable_language(ASM)
endif()

function(rapt_old_systems target)
  if(rapt_old_systems)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/glibc_2_28.S)
    # libdl and libpthread are where old glibc has the functions. Of the C++ run-time, what is not called is left out.
    target_link_options(${target} PRIVATE -static-libstdc++
      LINKER:--gc-sections,--push-state,--no-as-needed,-l:libdl.so.2,-l:libpthread.so.0,--pop-state)
  endif()
endfunction()
