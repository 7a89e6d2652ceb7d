# Finds what the simulator is built with, beside GoogleTest for its tests.

find_package(Threads REQUIRED)
find_package(nlohmann_json QUIET)
rapt_needs(nlohmann_json_FOUND nlohmann-json3-dev)
find_package(fmt QUIET)
rapt_needs(fmt_FOUND libfmt-dev)
find_package(CLI11 QUIET)
rapt_needs(CLI11_FOUND libcli11-dev)
find_package(ZLIB QUIET)
rapt_needs(ZLIB_FOUND zlib1g-dev)
find_library(ZSTD_LIBRARY zstd)
rapt_needs(ZSTD_LIBRARY libzstd-dev)
