# The standard is set here, since CMake 3.25 does not know the option of nvcc 13.
set(weft_nvcc_flags -std=c++20 --expt-relaxed-constexpr --extended-lambda)

# Loops vectorise only without errno and floating-point traps.
set(weft_kernel_flags -fopenmp-simd -fno-math-errno -fno-trapping-math)
# Some versions of GCC contract complex products regardless of -ffp-contract.
set(weft_unfused_flags)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(weft_unfused_flags -mno-fma)
  weft_fuses(fuses -march=native -mno-fma)
  if(WEFT_NATIVE AND fuses)
    list(APPEND weft_unfused_flags -mno-avx512f)
  endif()
endif()

# weft_add_cpu_kernels([FUSED] <x>.cpp...)
#
# Compiles performance-critical files for the CPU, once per level. FUSED files use fused multiply-add explicitly
# (src/kernel/multiply_add.hpp).
function(weft_add_cpu_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 arg "FUSED" "" "")
  set(files ${arg_UNPARSED_ARGUMENTS})
  set(flags ${weft_kernel_flags})
  if(NOT arg_FUSED)
    list(APPEND flags ${weft_unfused_flags})
  endif()
  set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${flags}")
  if(NOT WEFT_LEVELS)
    target_sources(weft PRIVATE ${files})
  endif()
  foreach(level IN LISTS WEFT_LEVELS)
    target_sources(weft_kernels_${level} PRIVATE ${files})
  endforeach()
endfunction()

# weft_add_kernels([FUSED] [FUSED_ON_GPU] <x>_kernels.cpp...)
#
# Compiles kernel files once per device: by the C++ compiler for the CPU and, with CUDA, by
# nvcc for the GPU, through a generated .cu that includes the .cpp. (Not once for both: nvcc's host code
# for a __host__ __device__ lambda is several times slower.)
#
# FUSED_ON_GPU lets nvcc contract products and sums: without it the Laplacian of device_bench takes 3 % longer.
function(weft_add_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 arg "FUSED;FUSED_ON_GPU" "" "")
  set(files ${arg_UNPARSED_ARGUMENTS})
  if(arg_FUSED)
    weft_add_cpu_kernels(FUSED ${files})
  else()
    weft_add_cpu_kernels(${files})
  endif()

  if(WEFT_WITH_CUDA)
    set(flags ${weft_nvcc_flags})
    if(NOT arg_FUSED_ON_GPU)
      list(APPEND flags -fmad=false)
    endif()
    foreach(kernels IN LISTS files)
      cmake_path(REPLACE_EXTENSION kernels cu OUTPUT_VARIABLE cuda_name)
      set(cuda_file ${CMAKE_CURRENT_BINARY_DIR}/cuda/${cuda_name})
      file(CONFIGURE OUTPUT ${cuda_file} CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${kernels}\"\n")
      target_sources(weft PRIVATE ${cuda_file})
      set_source_files_properties(${cuda_file} PROPERTIES COMPILE_OPTIONS "${flags}")
    endforeach()
  endif()
endfunction()
