# Declares WEFT_CUDA, one of AUTO (use nvcc if it is found), ON (require it) and OFF, and sets
# WEFT_WITH_CUDA and WEFT_WITH_NCCL to the result.
set(WEFT_CUDA AUTO CACHE STRING "Also compile the kernels for NVIDIA GPUs: AUTO, ON or OFF")
set_property(CACHE WEFT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(WEFT_WITH_CUDA OFF)
set(WEFT_WITH_NCCL OFF)
if(NOT WEFT_CUDA)
  return()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(WEFT_CUDA STREQUAL "AUTO")
    return()
  endif()
  message(FATAL_ERROR "WEFT_CUDA is ON but no nvcc was found. Install the CUDA toolkit (12.4 or newer), "
                      "put its bin folder on PATH or name nvcc in CUDACXX.")
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual) # and PTX for later GPUs
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared) # other libraries of the process share it
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(WEFT_WITH_CUDA ON)

weft_optional(NCCL NCCL libnccl-dev)
if(WEFT_WITH_NCCL AND NCCL_VERSION VERSION_LESS 2.18)
  message(FATAL_ERROR "NCCL ${NCCL_VERSION} in ${NCCL_INCLUDE_DIR} is older than 2.18. "
                      "Install a newer one, or configure with -D WEFT_NCCL=OFF.")
endif()
