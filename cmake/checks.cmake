# Tests of the source tree and of build outputs, beside the tests in tests/.

add_test(NAME check.layers COMMAND ${PROJECT_SOURCE_DIR}/tools/check-layers)
add_test(NAME check.layers_self_test COMMAND ${PROJECT_SOURCE_DIR}/tools/check-layers --self-test)
add_test(NAME check.pages COMMAND ${PROJECT_SOURCE_DIR}/tools/check-pages)
add_test(NAME check.pages_self_test COMMAND ${PROJECT_SOURCE_DIR}/tools/check-pages --self-test)
add_test(NAME check.functions COMMAND ${PROJECT_SOURCE_DIR}/tools/check-functions
  aotriton cli common demo include kernels packer python sim src tests tools)
add_test(NAME check.functions_self_test COMMAND ${PROJECT_SOURCE_DIR}/tools/check-functions --self-test)
add_test(NAME check.chart COMMAND ${PROJECT_SOURCE_DIR}/tools/draw-bench --check)
add_test(NAME check.chart_self_test COMMAND ${PROJECT_SOURCE_DIR}/tools/draw-bench --self-test)
add_test(NAME check.gpu_chart COMMAND ${PROJECT_SOURCE_DIR}/tools/draw-gpu-bench --check)
add_test(NAME check.gpu_chart_self_test COMMAND ${PROJECT_SOURCE_DIR}/tools/draw-gpu-bench --self-test)
add_test(NAME check.old_systems_self_test COMMAND ${PROJECT_SOURCE_DIR}/tools/check-old-systems --self-test)
set_tests_properties(check.layers check.layers_self_test check.pages check.pages_self_test check.functions check.functions_self_test
  check.chart check.chart_self_test check.gpu_chart check.gpu_chart_self_test check.old_systems_self_test PROPERTIES LABELS check)

if(NOT CMAKE_CROSSCOMPILING AND NOT RAPT_SANITIZE)
  if(BUILD_SHARED_LIBS)
    add_test(NAME check.exports
      COMMAND ${PROJECT_SOURCE_DIR}/tools/check-exports ${CMAKE_NM} ${CMAKE_READELF} $<TARGET_FILE:rapt>)
  endif()
  if(BUILD_SHARED_LIBS AND rapt_old_systems)
    add_test(NAME check.old_systems
      COMMAND ${PROJECT_SOURCE_DIR}/tools/check-old-systems ${CMAKE_READELF} $<TARGET_FILE:rapt>)
  endif()
  if(RAPT_BUILD_CLI AND rapt_old_systems)
    add_test(NAME check.old_systems_command
      COMMAND ${PROJECT_SOURCE_DIR}/tools/check-old-systems ${CMAKE_READELF} $<TARGET_FILE:rapt_cli>)
  endif()
  add_test(NAME check.tiers
    COMMAND ${PROJECT_SOURCE_DIR}/tools/check-tiers ${CMAKE_NM}
      $<FILTER:$<TARGET_OBJECTS:rapt_objects>,INCLUDE,/cpu/tiers/>
    COMMAND_EXPAND_LISTS)
  add_test(NAME install
    COMMAND ${PROJECT_SOURCE_DIR}/tests/install/run.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER})
  add_test(NAME install.wheel_kernels COMMAND ${PROJECT_SOURCE_DIR}/tests/install/wheel_kernels.sh ${CMAKE_COMMAND})
  add_test(NAME install.missing
    COMMAND ${PROJECT_SOURCE_DIR}/tests/install/missing.sh ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} -G ${CMAKE_GENERATOR}
      -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER})
endif()
