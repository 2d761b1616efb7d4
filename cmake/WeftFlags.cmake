# Compiler flags of Weft itself; they do not propagate to users.

# Off by default and hardly faster: kernels are selected for the processor at run time (WeftLevels.cmake).
option(WEFT_NATIVE "Compile for the processor of this machine (-march=native)" OFF)
option(WEFT_WERROR "Treat warnings as errors" OFF)
set(WEFT_SANITIZE "" CACHE STRING "Sanitizers: empty, address,undefined or thread")
set_property(CACHE WEFT_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")

set(weft_cxx_flags -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor
                   -Wno-psabi # GCC's notes on the ABI of complex arguments
                   -Wno-unknown-pragmas # OpenMP pragmas without OpenMP
                   # Where a compiler contracts products and sums depends on the processor and on the
                   # surrounding code.
                   -ffp-contract=off)
if(WEFT_WERROR)
  list(APPEND weft_cxx_flags -Werror)
endif()
if(WEFT_NATIVE)
  list(APPEND weft_cxx_flags -march=native)
endif()
set(weft_link_flags)
if(WEFT_SANITIZE)
  # Undefined behaviour must fail the test, not only be printed.
  list(APPEND weft_cxx_flags -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all)
  list(APPEND weft_link_flags -fsanitize=${WEFT_SANITIZE})
endif()

function(weft_set_flags target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${weft_cxx_flags}>")
  target_link_options(${target} PRIVATE ${weft_link_flags})
endfunction()
