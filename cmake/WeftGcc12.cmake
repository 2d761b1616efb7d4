# Adds the flags that keep GCC 12 from miscompiling constants, to the library and to its users: see
# weft/core/compiler.hpp. They are also needed without AVX-512, if the compiler tunes for a processor that has it.
function(weft_protect_from_gcc12 target)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  string(CONCAT is_gcc12 "$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,12>,"
                         "$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>")
  target_compile_options(${target} PUBLIC "$<${is_gcc12}:-mmove-max=128;-mstore-max=128>")
  target_compile_definitions(${target} PUBLIC "$<${is_gcc12}:WEFT_GCC12_COPIES_16_BYTES>")
endfunction()
