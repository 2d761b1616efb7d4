include(CMakePackageConfigHelpers)

set(weft_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS weft EXPORT weftTargets)
install(DIRECTORY include/weft TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp"
        PATTERN "*.cuh")
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${weft_cmake_dir})

configure_package_config_file(cmake/weftConfig.cmake.in weftConfig.cmake
                              INSTALL_DESTINATION ${weft_cmake_dir})
write_basic_package_version_file(weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake cmake/FindFFTW.cmake
              cmake/FindNCCL.cmake cmake/FindOpenBLAS.cmake cmake/WeftTargetKernels.cmake
        DESTINATION ${weft_cmake_dir})
