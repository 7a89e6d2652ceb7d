# rapt_device_compiler(VARIABLE COMPILER ARCH...): VARIABLE becomes the command that compiles device code, VARIABLE_NAME
# the compiler's own name. Fails with a reason if it cannot compile for an architecture.

# Kernels run over their keys again if V has Inf or NaN. clang would move constants and addresses out of that rare loop,
# into registers that the loop over keys needs.
set(RAPT_DEVICE_FLAGS -x hip --offload-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -fuse-cuid=none -O3 -std=c++20
  -mllvm -disable-machine-licm)

# PyPI's ziglang wheel contains a clang too. It needs its own linker under the name that clang looks for.
function(rapt_ziglang_compiler variable)
  find_program(RAPT_DEVICE_PYTHON NAMES python3)
  if(RAPT_DEVICE_PYTHON)
    execute_process(COMMAND ${RAPT_DEVICE_PYTHON} -m ziglang version OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE result)
  endif()
  if(NOT RAPT_DEVICE_PYTHON OR NOT result EQUAL 0)
    set(${variable} "" PARENT_SCOPE)
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/ziglang)
  file(CONFIGURE OUTPUT ${folder}/clang CONTENT "#!/bin/sh\nPATH=${folder}:$PATH exec ${RAPT_DEVICE_PYTHON} -m ziglang clang \"$@\"\n" @ONLY)
  file(CONFIGURE OUTPUT ${folder}/lld CONTENT "#!/bin/sh\nshift 2 # -flavor gnu\nexec ${RAPT_DEVICE_PYTHON} -m ziglang ld.lld \"$@\"\n" @ONLY)
  file(CHMOD ${folder}/clang ${folder}/lld PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(${variable} ${folder}/clang PARENT_SCOPE)
endfunction()

function(rapt_default_device_compiler variable)
  find_program(RAPT_CLANG NAMES clang-22 clang-23 clang-21 clang-20 clang amdclang HINTS /opt/rocm/llvm/bin)
  if(RAPT_CLANG)
    set(${variable} ${RAPT_CLANG} PARENT_SCOPE)
    return()
  endif()
  rapt_ziglang_compiler(found)
  if(NOT found)
    message(FATAL_ERROR "No compiler for GPU kernels: install clang-22 and lld-22 (tools/install-deps kernels) or the "
      "ziglang wheel (pip install ziglang==0.17.0), or set RAPT_DEVICE_COMPILER to a clang of version 19 or newer")
  endif()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

function(rapt_device_compiler variable compiler)
  find_program(path NAMES ${compiler} NO_CACHE)
  if(NOT path)
    message(FATAL_ERROR "RAPT_DEVICE_COMPILER is ${compiler}, which is not a program on PATH")
  endif()
  execute_process(COMMAND ${path} --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR NOT text MATCHES "^([^\n]*clang version ([0-9]+)[^\n]*)")
    message(FATAL_ERROR "RAPT_DEVICE_COMPILER is ${path}, which is not a clang")
  endif()
  set(name ${CMAKE_MATCH_1})
  set(version ${CMAKE_MATCH_2})
  set(probe ${PROJECT_BINARY_DIR}/kernels/probe)
  file(CONFIGURE OUTPUT ${probe}.hip CONTENT "extern \"C\" __attribute__((global)) void probe(int* p) { *p = 1; }\n")
  set(command ${path})
  foreach(arch IN LISTS ARGN)
    set(least ${rapt_oldest_clang_${arch}})
    if(version LESS least)
      message(FATAL_ERROR "RAPT_DEVICE_COMPILER is ${path} (${name}); ${arch} needs clang ${least} or newer: take a "
        "newer one, or leave ${arch} out of RAPT_ARCHS")
    endif()
    set(try ${RAPT_DEVICE_FLAGS} --offload-arch=${arch} -c ${probe}.hip -o ${probe}.co)
    execute_process(COMMAND ${command} ${try} ERROR_VARIABLE error RESULT_VARIABLE result)
    if(NOT result EQUAL 0) # Debian has no lld of that name on PATH
      find_program(lld NAMES lld NO_CACHE
        HINTS /usr/lib/llvm-${version}/bin /usr/lib/llvm-22/bin /usr/lib/llvm-21/bin /usr/lib/llvm-20/bin /usr/lib/llvm-19/bin)
      if(lld)
        cmake_path(GET lld PARENT_PATH folder)
        set(command ${path} -B${folder})
        execute_process(COMMAND ${command} ${try} ERROR_VARIABLE error RESULT_VARIABLE result)
      endif()
    endif()
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "RAPT_DEVICE_COMPILER is ${path} (${name}), which cannot build a kernel for ${arch}:\n${error}")
    endif()
  endforeach()
  set(${variable} ${command} PARENT_SCOPE)
  set(${variable}_NAME ${name} PARENT_SCOPE)
endfunction()

# Every warning of nvcc and of ptxas is an error, including spills. Kernels use only the headers that nvcc includes.
set(RAPT_NVCC_FLAGS -cubin -std=c++20 -O3 -Werror=all-warnings
  -Xptxas=--warning-as-error,--warn-on-spills,--warn-on-local-memory-usage)

# rapt_nvcc(VARIABLE): as rapt_device_compiler, for NVIDIA's architectures.
function(rapt_nvcc variable)
  if(RAPT_NVCC)
    find_program(path NAMES ${RAPT_NVCC} NO_CACHE)
  else()
    find_program(path NAMES nvcc NO_CACHE HINTS ${PROJECT_SOURCE_DIR}/build/nvcc/nvidia/cu13/bin NO_DEFAULT_PATH)
    find_program(path NAMES nvcc NO_CACHE)
  endif()
  if(NOT path)
    message(FATAL_ERROR "No compiler for NVIDIA's kernels: run tools/install-nvcc, or set RAPT_NVCC to an nvcc of "
      "CUDA 13")
  endif()
  execute_process(COMMAND ${path} --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR NOT text MATCHES "V((1[3-9])\\.[0-9.]+)")
    message(FATAL_ERROR "RAPT_NVCC is ${path}, which is not an nvcc of CUDA 13 or newer:\n${text}")
  endif()
  set(${variable} ${path} PARENT_SCOPE)
  set(${variable}_NAME "NVIDIA nvcc ${CMAKE_MATCH_1}" PARENT_SCOPE)
  # The order of some of ptxas's instructions for sm_120 depends on its memory addresses (13.5). Without random
  # addresses a command gives the same bytes each time, and in any folder if the output's path is relative
  # (archives.cmake).
  execute_process(COMMAND setarch -R true OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE result)
  if(result EQUAL 0)
    set(${variable}_PREFIX setarch -R PARENT_SCOPE)
  else()
    message(STATUS "setarch -R does not run here: kernels of sm_120 differ from build to build")
  endif()
endfunction()
