# Macros, not functions: the variables that find_package sets must reach the caller.

# Finds a package, or fails with the Debian package to install.
macro(weft_require package debian_package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "Weft needs ${package}, which was not found. "
                        "On Debian or Ubuntu: apt-get install ${debian_package}")
  endif()
endmacro()

# Declares WEFT_<name>, one of AUTO (use the package if it is found), ON (require it) and OFF, and sets
# WEFT_WITH_<name> to the result.
macro(weft_optional name package debian_package)
  set(WEFT_${name} AUTO CACHE STRING "Use ${package}: AUTO, ON or OFF")
  set_property(CACHE WEFT_${name} PROPERTY STRINGS AUTO ON OFF)
  set(WEFT_WITH_${name} OFF)
  if(WEFT_${name} STREQUAL "AUTO")
    find_package(${package} QUIET ${ARGN})
    if(${package}_FOUND)
      set(WEFT_WITH_${name} ON)
    endif()
  elseif(WEFT_${name})
    weft_require(${package} ${debian_package} ${ARGN})
    set(WEFT_WITH_${name} ON)
  endif()
endmacro()
