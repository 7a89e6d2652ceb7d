# Rules for compiling kernels and packing them. Each kernel has one rule with its row's flags, so that an edited row or
# source rebuilds only its own kernels.

# The manifest's reader is C++. CMake builds it while configuring, to learn the rules.
function(rapt_rows variable manifest arch)
  set(program ${PROJECT_BINARY_DIR}/kernels/rows)
  set(folder ${PROJECT_SOURCE_DIR}/packer)
  set(sources ${folder}/rows.cpp ${folder}/manifest.cpp ${folder}/manifest.hpp
    ${PROJECT_SOURCE_DIR}/kernels/architectures.hpp ${PROJECT_SOURCE_DIR}/kernels/operations.hpp ${PROJECT_SOURCE_DIR}/kernels/abi.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifest} ${sources})
  set(stale FALSE)
  foreach(source IN LISTS sources)
    if(${source} IS_NEWER_THAN ${program})
      set(stale TRUE)
    endif()
  endforeach()
  if(stale)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    try_compile(built SOURCES ${sources} NO_CACHE CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}
      COPY_FILE ${program} CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON OUTPUT_VARIABLE output)
    if(NOT built)
      message(FATAL_ERROR "cannot build packer/rows.cpp:\n${output}")
    endif()
  endif()
  execute_process(COMMAND ${program} ${manifest} ${arch}
    OUTPUT_VARIABLE lines ERROR_VARIABLE errors RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${errors}")
  endif()
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  set(${variable} ${lines} PARENT_SCOPE)
endfunction()

# NVIDIA's kernels: one call of nvcc, which the compiler cache does not know well. The output's path is relative: ptxas's
# code depends on its length (device_compiler.cmake).
function(rapt_nvidia_kernel object source arch flags)
  string(REPLACE "sm_" "compute_" virtual ${arch})
  cmake_path(GET object STEM LAST_ONLY name)
  cmake_path(RELATIVE_PATH object BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} OUTPUT_VARIABLE relative)
  add_custom_command(OUTPUT ${object}
    COMMAND ${${arg_COMPILER}_PREFIX} ${${arg_COMPILER}} ${RAPT_NVCC_FLAGS} -gencode=arch=${virtual},code=${arch} ${flags} -I${PROJECT_SOURCE_DIR}
      -MD -MF ${object}.d -MT ${object} -o ${relative} ${source}
    DEPENDS ${source} ${${arg_COMPILER}} DEPFILE ${object}.d WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    COMMENT "Compiling ${arch} ${name}" VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# Those of kernels/hopper: with instructions that no later architecture has (sm_90a). What nvcc prints goes beside the
# object, for the gate.
function(rapt_hopper_kernel object source flags)
  cmake_path(GET object STEM LAST_ONLY name)
  cmake_path(RELATIVE_PATH object BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} OUTPUT_VARIABLE relative)
  cmake_path(REPLACE_EXTENSION object LAST_ONLY .log OUTPUT_VARIABLE log)
  add_custom_command(OUTPUT ${object} ${log}
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/logged ${log} ${${arg_COMPILER}_PREFIX} ${${arg_COMPILER}} ${RAPT_NVCC_FLAGS}
      -gencode=arch=compute_90a,code=sm_90a ${flags} -I${PROJECT_SOURCE_DIR} -MD -MF ${object}.d -MT ${object} -o ${relative} ${source}
    DEPENDS ${source} ${${arg_COMPILER}} ${PROJECT_SOURCE_DIR}/cmake/logged DEPFILE ${object}.d
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} COMMENT "Compiling sm_90a ${name}" VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# AMD's kernels. A separate run of the preprocessor lists the includes, because a hit in the compiler cache does not
# list them.
function(rapt_amd_kernel object source arch flags)
  if(arch MATCHES "^gfx9(06|08|0a)$") # also for ROCm releases before 5.7, which do not load version 5
    list(APPEND flags -mcode-object-version=4)
  endif()
  set(compile ${${arg_COMPILER}} ${RAPT_DEVICE_FLAGS} --offload-arch=${arch} ${flags} -I${PROJECT_SOURCE_DIR}
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. ${source})
  set(list_includes -Xclang -dependency-file -Xclang ${object}.d -Xclang -MT -Xclang ${object})
  if(RAPT_CCACHE AND NOT arg_NO_CACHE)
    set(commands COMMAND ${compile} -E -o /dev/null ${list_includes} COMMAND ${RAPT_CCACHE} ${compile} -c -o ${object})
  else()
    set(commands COMMAND ${compile} -c -o ${object} ${list_includes})
  endif()
  cmake_path(GET object STEM LAST_ONLY name)
  list(GET ${arg_COMPILER} 0 compiler)
  add_custom_command(OUTPUT ${object} ${commands} DEPENDS ${source} ${compiler} DEPFILE ${object}.d
    COMMENT "Compiling ${arch} ${name}" VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# One architecture's kernels of kernels/triton. One process compiles them, so any edit compiles all of them. A file beside
# each object has the facts that only the compiler knows.
function(rapt_triton_kernels folder arch kernels)
  set(objects "")
  set(facts "")
  foreach(kernel IN LISTS kernels)
    string(REGEX REPLACE ":.*" "" name ${kernel})
    list(APPEND objects ${folder}/${name}.co)
    list(APPEND facts ${folder}/${name}.json)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/triton/*.py)
  add_custom_command(OUTPUT ${objects} ${facts}
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${RAPT_TRITON_FOLDER} PYTHONDONTWRITEBYTECODE=1
      ${RAPT_PYTHON} ${PROJECT_SOURCE_DIR}/kernels/triton/compile.py --arch ${arch} -o ${folder} ${kernels}
    DEPENDS ${sources} ${RAPT_TRITON_FOLDER}/installed
    COMMENT "Compiling Triton's kernels of ${arch}" VERBATIM)
endfunction()

# The source of an operation, in the first of the folders that has it.
function(rapt_kernel_source variable file folders)
  foreach(folder IN LISTS folders)
    if(EXISTS ${folder}/${file})
      set(${variable} ${folder}/${file} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${file} is in none of the folders ${folders}")
endfunction()

# rapt_kernels(VARIABLE ARCH ARCH MANIFEST FILE SOURCES FOLDER... OUTPUT FOLDER COMPILER NAME [FILTER REGEX] [NO_CACHE])
# Rules for each row that MANIFEST has for ARCH; VARIABLE becomes the code objects, OUTPUT/ARCH/NAME.co. The first of the
# folders SOURCES that has a row's operation has its source. COMPILER is the variable that rapt_device_compiler or
# rapt_nvcc set.
function(rapt_kernels variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_CACHE" "ARCH;MANIFEST;OUTPUT;FILTER;COMPILER" "SOURCES")
  set(folder ${arg_OUTPUT}/${arg_ARCH})
  file(MAKE_DIRECTORY ${folder})
  rapt_rows(rows ${arg_MANIFEST} ${arg_ARCH})
  set(objects "")
  set(by_triton "")
  foreach(row IN LISTS rows)
    string(REPLACE " " ";" row "${row}")
    list(POP_FRONT row name maker operation)
    if(maker STREQUAL triton AND NOT RAPT_TRITON)
      continue()
    endif()
    if(NOT arg_FILTER OR name MATCHES "${arg_FILTER}")
      if(maker STREQUAL triton)
        list(JOIN row "," settings)
        list(APPEND by_triton ${name}:${operation}:${settings})
      elseif(maker STREQUAL hopper)
        rapt_kernel_source(source ${operation}.cu "${arg_SOURCES}")
        rapt_hopper_kernel(${folder}/${name}.co ${source} "${row}")
      elseif(rapt_vendor_${arg_ARCH} STREQUAL nvidia)
        rapt_kernel_source(source ${operation}.cu "${arg_SOURCES}")
        rapt_nvidia_kernel(${folder}/${name}.co ${source} ${arg_ARCH} "${row}")
      else()
        rapt_kernel_source(source ${operation}.hip "${arg_SOURCES}")
        rapt_amd_kernel(${folder}/${name}.co ${source} ${arg_ARCH} "${row}")
      endif()
      list(APPEND objects ${folder}/${name}.co)
    endif()
  endforeach()
  if(by_triton)
    rapt_triton_kernels(${folder} ${arg_ARCH} "${by_triton}")
  endif()
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()

# rapt_archive(TARGET [TUNING FILE] and the arguments of rapt_kernels)
# A target that packs the kernels into OUTPUT/ARCH.rapt. TARGET_FILE becomes that path, or "" where there is no kernel.
function(rapt_archive target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TUNING;ARCH;MANIFEST;OUTPUT;COMPILER" "")
  set(${target}_FILE "" PARENT_SCOPE)
  rapt_kernels(objects ${ARGN})
  if(NOT objects)
    return()
  endif()
  set(tuning "")
  set(tuning_file "")
  if(arg_TUNING AND EXISTS ${arg_TUNING})
    set(tuning_file ${arg_TUNING})
    set(tuning --tuning ${arg_TUNING})
  endif()
  set(archive ${arg_OUTPUT}/${arg_ARCH}.rapt)
  add_custom_command(OUTPUT ${archive}
    COMMAND rapt_archive_tool --manifest ${arg_MANIFEST} --arch ${arg_ARCH} --compiler ${${arg_COMPILER}_NAME} ${tuning}
      --output ${archive} ${objects}
    DEPENDS rapt_archive_tool ${objects} ${arg_MANIFEST} ${tuning_file}
    COMMENT "Packing ${arg_ARCH}.rapt" VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(${target} DEPENDS ${archive})
  set(${target}_FILE ${archive} PARENT_SCOPE)
endfunction()
