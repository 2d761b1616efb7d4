# Finds OpenBLAS and defines OpenBLAS::OpenBLAS and OpenBLAS_VERSION. Searches OpenBLAS_ROOT,
# and the folders below, in which distributions install several builds side by side.
set(OpenBLAS_folders openblas openblas-pthread openblas-openmp openblas-serial)
find_path(OpenBLAS_INCLUDE_DIR openblas_config.h PATH_SUFFIXES ${OpenBLAS_folders})
find_library(OpenBLAS_LIBRARY openblas PATH_SUFFIXES ${OpenBLAS_folders})
mark_as_advanced(OpenBLAS_INCLUDE_DIR OpenBLAS_LIBRARY)

if(OpenBLAS_INCLUDE_DIR)
  file(STRINGS ${OpenBLAS_INCLUDE_DIR}/openblas_config.h line REGEX "OPENBLAS_VERSION")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" OpenBLAS_VERSION "${line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OpenBLAS REQUIRED_VARS OpenBLAS_LIBRARY OpenBLAS_INCLUDE_DIR VERSION_VAR OpenBLAS_VERSION)

if(OpenBLAS_FOUND AND NOT TARGET OpenBLAS::OpenBLAS)
  add_library(OpenBLAS::OpenBLAS UNKNOWN IMPORTED)
  set_target_properties(
    OpenBLAS::OpenBLAS PROPERTIES IMPORTED_LOCATION ${OpenBLAS_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES
                                                                        ${OpenBLAS_INCLUDE_DIR})
endif()
