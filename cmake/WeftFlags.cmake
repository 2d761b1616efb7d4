# What we compile ourselves with. None of it reaches a target of a user.

# Off by default, and hardly faster: kernels for newer processors are chosen when a program runs (WeftLevels.cmake).
option(WEFT_NATIVE "Use every instruction of this machine's processor, and none that it lacks" OFF)
option(WEFT_WERROR "Treat warnings as errors" OFF)
set(WEFT_SANITIZE "" CACHE STRING "Sanitizers: empty, address,undefined or thread")
set_property(CACHE WEFT_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")

set(weft_cxx_flags -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor
                   -Wno-psabi # GCC's notes on how complex arguments were once passed
                   -Wno-unknown-pragmas # those of OpenMP, where it is off
                   # A product and a sum are two roundings, unless fma is written: where a compiler fuses them
                   # depends on the processor, and on what else it does with a number.
                   -ffp-contract=off)
if(WEFT_WERROR)
  list(APPEND weft_cxx_flags -Werror)
endif()
if(WEFT_NATIVE)
  list(APPEND weft_cxx_flags -march=native)
endif()
set(weft_link_flags)
if(WEFT_SANITIZE)
  # An undefined operation must fail its test, not just be printed.
  list(APPEND weft_cxx_flags -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all)
  list(APPEND weft_link_flags -fsanitize=${WEFT_SANITIZE})
endif()

function(weft_set_flags target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${weft_cxx_flags}>")
  target_link_options(${target} PRIVATE ${weft_link_flags})
endfunction()
