# Finds FFTW 3 in both precisions and defines FFTW::FFTW and, if it is found with OpenMP threads, FFTW::OMP.
# Searches FFTW_ROOT.
find_path(FFTW_INCLUDE_DIR fftw3.h)
find_library(FFTW_DOUBLE_LIBRARY fftw3)
find_library(FFTW_FLOAT_LIBRARY fftw3f)
find_library(FFTW_DOUBLE_OMP_LIBRARY fftw3_omp)
find_library(FFTW_FLOAT_OMP_LIBRARY fftw3f_omp)
mark_as_advanced(FFTW_INCLUDE_DIR FFTW_DOUBLE_LIBRARY FFTW_FLOAT_LIBRARY FFTW_DOUBLE_OMP_LIBRARY
                 FFTW_FLOAT_OMP_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FFTW REQUIRED_VARS FFTW_DOUBLE_LIBRARY FFTW_FLOAT_LIBRARY
                                                     FFTW_INCLUDE_DIR)

if(FFTW_FOUND AND NOT TARGET FFTW::FFTW)
  add_library(FFTW::FFTW INTERFACE IMPORTED)
  target_include_directories(FFTW::FFTW INTERFACE ${FFTW_INCLUDE_DIR})
  target_link_libraries(FFTW::FFTW INTERFACE ${FFTW_DOUBLE_LIBRARY} ${FFTW_FLOAT_LIBRARY})
  if(FFTW_DOUBLE_OMP_LIBRARY AND FFTW_FLOAT_OMP_LIBRARY)
    add_library(FFTW::OMP INTERFACE IMPORTED)
    target_link_libraries(FFTW::OMP INTERFACE ${FFTW_DOUBLE_OMP_LIBRARY} ${FFTW_FLOAT_OMP_LIBRARY}
                                              FFTW::FFTW)
  endif()
endif()
