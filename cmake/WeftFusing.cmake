# weft_fuses(<result> <flags>...)
#
# Sets <result> to whether the compiler contracts products and sums despite -ffp-contract=off, as some versions of GCC
# do with complex numbers. Also true if it does not know the flags.
function(weft_fuses result)
  set(folder ${PROJECT_BINARY_DIR}/CMakeFiles/fusing)
  file(
    WRITE ${folder}/product.cpp
    "struct Complex { float re, im; };
void multiply(long n, const Complex* x, Complex* y) {
  for (long i = 0; i < n; ++i) {
    const Complex a = x[i], b = y[i];
    y[i] = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
}
")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -O3 -ffp-contract=off ${ARGN} -S -o - product.cpp WORKING_DIRECTORY ${folder}
    OUTPUT_VARIABLE assembly ERROR_QUIET)
  set(${result} TRUE PARENT_SCOPE)
  if(assembly MATCHES "mul" AND NOT assembly MATCHES "vfn?m(add|sub)")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
