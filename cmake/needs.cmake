# Libraries that a configuration needs: rapt_needs(FOUND PACKAGE) notes Debian's package of one that was not found, and
# rapt_refuse_missing() names all of these at once.

set(missing "")
macro(rapt_needs found debian_package)
  if(NOT ${found})
    list(APPEND missing ${debian_package})
  endif()
endmacro()

function(rapt_refuse_missing)
  if(NOT missing)
    return()
  endif()
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing " " packages)
  message(FATAL_ERROR
    "Libraries that Rapt is built with are missing. They are Debian's and Ubuntu's packages\n"
    "  ${packages}\n"
    "and this line installs them:\n"
    "  sudo apt-get install ${packages}\n")
endfunction()
