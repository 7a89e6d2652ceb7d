# rapt_gpus_at_hand(VARIABLE): the architectures of this machine's GPUs, as in kernels/architectures.hpp, asked without
# their run-time libraries. In place of a sibling it has the architecture whose kernels the sibling runs.
# VARIABLE_OTHERS names GPUs that Rapt has no kernels for.

if(NOT RAPT_KFD_NODES)
  set(RAPT_KFD_NODES /sys/class/kfd/kfd/topology/nodes) # where Linux describes AMD's GPUs
endif()

function(rapt_gpus_at_hand variable)
  set(found "")
  file(GLOB nodes ${RAPT_KFD_NODES}/*/properties)
  foreach(node IN LISTS nodes)
    file(READ ${node} text)
    if(text MATCHES "gfx_target_version ([1-9][0-9]*)") # 90402 is gfx942, 90010 gfx90a; processors have 0
      math(EXPR major "${CMAKE_MATCH_1} / 10000")
      math(EXPR minor "${CMAKE_MATCH_1} / 100 % 100")
      math(EXPR step "${CMAKE_MATCH_1} % 100" OUTPUT_FORMAT HEXADECIMAL)
      string(REPLACE "0x" "" step ${step})
      list(APPEND found gfx${major}${minor}${step})
    endif()
  endforeach()
  find_program(smi NAMES nvidia-smi NO_CACHE)
  if(smi)
    execute_process(COMMAND ${smi} --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE lines ERROR_QUIET)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${lines}")
    foreach(capability IN LISTS capabilities)
      string(REGEX REPLACE "\\..*" "0" capability ${capability}) # the code of X.0 runs on every X.Y
      list(APPEND found sm_${capability})
    endforeach()
  endif()
  rapt_use_code_of(found)
  set(others ${found})
  list(REMOVE_ITEM others ${rapt_architectures})
  list(REMOVE_ITEM found "" ${others})
  set(${variable} ${found} PARENT_SCOPE)
  set(${variable}_OTHERS ${others} PARENT_SCOPE)
endfunction()
