# Sets WEFT_LEVELS to the x86-64 levels (v2, v3 and v4) that kernels are compiled for, and declares an object library
# weft_kernels_<level> for each, which is linked into weft. The level is selected at run time: see
# weft/core/cpu_level.hpp. WEFT_LEVELS is empty if there is one version of the kernels only: on other processors, with
# WEFT_NATIVE, and with sanitizers, whose symbols must not be renamed.
include(WeftFusing)

# On Zen 3, kernels in the cache are 1 % faster with this than with generic tuning, and as fast as with -mtune=znver3.
set(weft_flags_v3 -mtune=haswell)
# 512-bit registers are not faster in memory-bound loops, and slow down some processors.
set(weft_flags_v4 -mprefer-vector-width=256)

function(weft_find_levels result)
  set(${result} PARENT_SCOPE)
  if(WEFT_NATIVE OR WEFT_SANITIZE OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64"
     OR NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  if(NOT CMAKE_NM OR NOT CMAKE_READELF OR NOT CMAKE_OBJCOPY)
    message(STATUS "No nm, readelf or objcopy (of binutils): kernels are compiled for the baseline only")
    return()
  endif()
  set(levels v2 v3 v4)
  # No v4 with compilers that miscompile it: GCC 12 (see WeftGcc12.cmake), and those that contract products and sums,
  # which no option prevents with AVX-512.
  weft_fuses(fuses -march=x86-64-v4 ${weft_flags_v4})
  if(fuses OR (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13))
    list(REMOVE_ITEM levels v4)
  endif()
  set(${result} ${levels} PARENT_SCOPE)
endfunction()
weft_find_levels(WEFT_LEVELS)

# Adds the object libraries to the target weft.
function(weft_add_levels)
  foreach(level IN LISTS WEFT_LEVELS)
    string(REPLACE v CpuV tag ${level})
    string(LENGTH ${tag} length)
    set(library weft_kernels_${level})
    add_library(${library} OBJECT)
    weft_set_flags(${library})
    foreach(what INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
      set_property(TARGET ${library} APPEND PROPERTY ${what} $<TARGET_PROPERTY:weft,${what}>)
    endforeach()
    target_compile_definitions(${library} PRIVATE WEFT_CPU_TAG=${tag})
    target_compile_options(${library} PRIVATE -march=x86-64-${level} ${weft_flags_${level}} -fno-lto
                                              $<$<CXX_COMPILER_ID:Clang>:-fno-addrsig>)
    set(launcher ${PROJECT_SOURCE_DIR}/cmake/compile-for-level ${CMAKE_NM} ${CMAKE_READELF} ${CMAKE_OBJCOPY} ${level}
                 ${length}${tag} ${CMAKE_CXX_COMPILER_LAUNCHER})
    set_target_properties(${library} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}"
                                                INTERPROCEDURAL_OPTIMIZATION OFF)
    if(BUILD_SHARED_LIBS)
      set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    target_sources(weft PRIVATE $<TARGET_OBJECTS:${library}>)
  endforeach()
  if(WEFT_LEVELS)
    list(GET WEFT_LEVELS -1 highest)
    string(SUBSTRING ${highest} 1 -1 number)
    target_compile_definitions(weft PRIVATE WEFT_CPU_LEVELS=${number})
  endif()
endfunction()
