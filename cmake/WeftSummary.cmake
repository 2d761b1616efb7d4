set(weft_linkage static)
if(BUILD_SHARED_LIBS)
  set(weft_linkage shared)
endif()

list(JOIN WEFT_LEVELS " " weft_level_names)
message(STATUS "weft ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, ${weft_linkage}")
foreach(line "OpenMP;${WEFT_WITH_OPENMP}" "MPI;${WEFT_WITH_MPI}" "BLAS;${WEFT_WITH_BLAS}"
             "FFTW;${WEFT_WITH_FFTW}" "PNG;${WEFT_WITH_PNG}" "CUDA;${WEFT_WITH_CUDA}" "NCCL;${WEFT_WITH_NCCL}"
             "native;${WEFT_NATIVE}" "levels;${weft_level_names}" "sanitize;${WEFT_SANITIZE}" "werror;${WEFT_WERROR}"
             "apps;${WEFT_BUILD_APPS}" "tests;${WEFT_BUILD_TESTS}" "bench;${WEFT_BUILD_BENCH}"
             "examples;${WEFT_BUILD_EXAMPLES}")
  list(POP_FRONT line what)
  string(LENGTH ${what} width)
  math(EXPR width "10 - ${width}")
  string(REPEAT " " ${width} padding)
  message(STATUS "  ${what}${padding}${line}")
endforeach()
if(WEFT_WITH_MPI)
  message(STATUS "  mpicxx    ${MPI_CXX_COMPILER}")
endif()
