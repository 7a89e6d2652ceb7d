# What kernels a wheel gets: cmake/wheel_kernels.cmake with made-up GPUs and compilers, which wheel_kernels.sh puts on PATH.
cmake_minimum_required(VERSION 3.25)
get_filename_component(PROJECT_SOURCE_DIR ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(PROJECT_BINARY_DIR ${WORK}/binary)
set(Python_EXECUTABLE "")
include(${PROJECT_SOURCE_DIR}/cmake/architectures.cmake)
include(${PROJECT_SOURCE_DIR}/cmake/wheel_kernels.cmake)
set(PROJECT_SOURCE_DIR ${WORK}/checkout) # where archives would be
rapt_wheel_kernels()
message("archs=${RAPT_ARCHS} build=${RAPT_BUILD_ARCHIVES} from=${RAPT_ARCHIVES_FROM}")
