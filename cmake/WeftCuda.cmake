include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "WEFT_CUDA is ON but no nvcc was found. Install the CUDA toolkit (12.4 or newer), "
                      "put its bin folder on PATH or name nvcc in CUDACXX.")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared) # one runtime in a process, whoever else brings it
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
