# weft_target_kernels(<target> <x>_kernels.cpp...)
#
# Adds kernel files to a target that uses Weft: compiled for the CPU and, if Weft was built with CUDA and the project
# has enabled that language, a second time by nvcc for the GPU. See docs/kernels.md.
function(weft_target_kernels target)
  set(flags -fopenmp-simd -fno-math-errno -fno-trapping-math) # GCC and Clang then vectorise the loops
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${flags}")
  target_sources(${target} PRIVATE ${ARGN})
  if(weft_WITH_OPENMP)
    find_package(OpenMP REQUIRED COMPONENTS CXX)
    target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX)
  endif()

  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT weft_WITH_CUDA OR NOT "CUDA" IN_LIST languages)
    return()
  endif()
  foreach(kernels IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH kernels BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE source)
    cmake_path(GET kernels STEM name)
    # Files in several folders may have the same name.
    string(SHA1 hash "${source}")
    string(SUBSTRING "${hash}" 0 8 hash)
    set(cuda_file ${CMAKE_CURRENT_BINARY_DIR}/${target}_cuda/${name}_${hash}.cu)
    file(CONFIGURE OUTPUT ${cuda_file} CONTENT "#include \"${source}\"\n")
    target_sources(${target} PRIVATE ${cuda_file})
  endforeach()
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE WEFT_WITH_CUDA) # dispatch() may call the GPU's kernels
endfunction()
