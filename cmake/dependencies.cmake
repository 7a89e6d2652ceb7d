# Finds the libraries that this configuration needs, and names all that are missing at once.

set(missing "")
macro(rapt_needs found debian_package)
  if(NOT ${found})
    list(APPEND missing ${debian_package})
  endif()
endmacro()

find_package(Threads REQUIRED)
find_package(nlohmann_json QUIET CMAKE_FIND_ROOT_PATH_BOTH) # headers only, the same for every target
rapt_needs(nlohmann_json_FOUND nlohmann-json3-dev)
if(RAPT_BUILD_CLI OR RAPT_BUILD_SIM OR RAPT_FUZZ)
  find_package(fmt QUIET)
  rapt_needs(fmt_FOUND libfmt-dev)
endif()
if(RAPT_BUILD_CLI OR RAPT_BUILD_SIM OR rapt_build_packer)
  find_package(CLI11 QUIET)
  rapt_needs(CLI11_FOUND libcli11-dev)
endif()
if(RAPT_ZSTD OR rapt_build_packer)
  # Debian's static library is position independent; linked in, librapt.so needs no zstd where it runs.
  find_library(RAPT_ZSTD_LIBRARY NAMES libzstd.a zstd_static zstd)
  find_path(RAPT_ZSTD_INCLUDE zstd.h)
  rapt_needs(RAPT_ZSTD_LIBRARY libzstd-dev)
  rapt_needs(RAPT_ZSTD_INCLUDE libzstd-dev)
endif()
if(RAPT_BUILD_SIM OR RAPT_FUZZ)
  find_package(ZLIB QUIET)
  rapt_needs(ZLIB_FOUND zlib1g-dev)
  find_library(ZSTD_LIBRARY zstd)
  rapt_needs(ZSTD_LIBRARY libzstd-dev)
endif()
if(RAPT_BUILD_PYTHON)
  find_package(Python 3.11 QUIET
    COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS ${SKBUILD_SABI_COMPONENT})
  rapt_needs(Python_FOUND python3-dev)
endif()
if(RAPT_BUILD_TESTS)
  include(${CMAKE_CURRENT_LIST_DIR}/googletest.cmake)
  find_package(GTest QUIET)
  rapt_needs(GTest_FOUND libgtest-dev)
endif()

if(missing)
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing " " packages)
  message(FATAL_ERROR
    "Libraries that Rapt is built with are missing. They are Debian's and Ubuntu's packages\n"
    "  ${packages}\n"
    "and this line installs them:\n"
    "  sudo apt-get install ${packages}\n")
endif()
