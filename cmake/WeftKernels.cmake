# The standard by hand: CMake 3.25 does not know how to ask nvcc 13 for it.
set(weft_nvcc_flags -std=c++20 --expt-relaxed-constexpr --extended-lambda)

# weft_add_cpu_kernels(<x>.cpp...)
#
# Compiles files with loops that matter for the CPU, once per level.
function(weft_add_cpu_kernels)
  # Loops vectorise only if errno and floating-point traps are nobody's business.
  set_source_files_properties(
    ${ARGN} PROPERTIES COMPILE_OPTIONS "-fopenmp-simd;-fno-math-errno;-fno-trapping-math")
  if(NOT WEFT_LEVELS)
    target_sources(weft PRIVATE ${ARGN})
  endif()
  foreach(level IN LISTS WEFT_LEVELS)
    target_sources(weft_kernels_${level} PRIVATE ${ARGN})
  endforeach()
endfunction()

# weft_add_kernels(<x>_kernels.cpp...)
#
# Compiles kernel files once per device: by the C++ compiler for the CPU and, with CUDA, by
# nvcc for the GPU, through a generated .cu that includes the .cpp. (Not once for both: host code
# that nvcc makes of a __host__ __device__ lambda is several times slower.)
function(weft_add_kernels)
  weft_add_cpu_kernels(${ARGN})

  if(WEFT_WITH_CUDA)
    foreach(kernels IN LISTS ARGN)
      cmake_path(REPLACE_EXTENSION kernels cu OUTPUT_VARIABLE cuda_name)
      set(cuda_file ${CMAKE_CURRENT_BINARY_DIR}/cuda/${cuda_name})
      file(CONFIGURE OUTPUT ${cuda_file} CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${kernels}\"\n")
      target_sources(weft PRIVATE ${cuda_file})
      set_source_files_properties(${cuda_file} PROPERTIES COMPILE_OPTIONS "${weft_nvcc_flags}")
    endforeach()
  endif()
endfunction()
