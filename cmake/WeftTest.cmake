# weft_add_test(<layer>/[<folder>/]<name> [SUITES <pattern>...] [RANKS <p>...] [MPI_RANKS <p>... | NONE]
#               [LABELS <label>...] [TIMEOUT <seconds>] [ENVIRONMENT <name=value>...] [UNCHECKED <p>...]
#               [DEVICE <p>...])
#
# Adds tests/<layer>/[<folder>/]<name>_test.cpp to the layer's binary, weft_<layer>_tests, and registers its
# suites with CTest. The names of its suites begin with the name of the file, HaloExchange for
# halo_exchange_test.cpp, or match SUITES.
#
# Without RANKS there is one entry, <test> = <layer>.[<folder>.]<name>. With RANKS there is one per world:
# <test>.threads<p> for each of RANKS and, with MPI, <test>.mpi<p> for each of MPI_RANKS (by default 1 2 4).
# Ranks compare their calls (WEFT_CHECK), except in <test>.unchecked<p> for each of UNCHECKED: the comparison
# synchronizes ranks. Messages are in host memory, except in <test>.device.threads<p> and .device.mpi<p> for
# each of DEVICE.
function(weft_add_test path)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SUITES;RANKS;MPI_RANKS;LABELS;ENVIRONMENT;UNCHECKED;DEVICE")
  if(NOT DEFINED arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT DEFINED arg_MPI_RANKS)
    set(arg_MPI_RANKS 1 2 4)
  endif()
  string(REPLACE "/" "." test ${path})
  string(REGEX MATCH "^[^/]+" layer ${path})
  cmake_path(GET path FILENAME name)

  set(binary weft_${layer}_tests)
  if(NOT TARGET ${binary})
    add_executable(${binary})
    weft_set_flags(${binary})
    target_link_libraries(${binary} PRIVATE weft_test_support)
    target_precompile_headers(${binary} REUSE_FROM weft_test_support)
  endif()
  target_sources(${binary} PRIVATE ${path}_test.cpp)

  if(NOT DEFINED arg_SUITES)
    weft_camel_case(${name} suite)
    set(arg_SUITES "${suite}*" "*/${suite}*") # the second: instances of parameterised suites
  endif()
  list(JOIN arg_SUITES ":" filter)
  set(command ${binary} --gtest_filter=${filter})

  if(NOT DEFINED arg_RANKS)
    weft_register_test(${test} LABELS unit COMMAND ${command} ENVIRONMENT OMP_NUM_THREADS=2)
    return()
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    weft_register_test(
      ${test}.threads${ranks} LABELS threads RANKS ${ranks} COMMAND ${command}
      ENVIRONMENT WEFT_TEST_COMM=thread WEFT_TEST_RANKS=${ranks} WEFT_CHECK=1)
  endforeach()
  foreach(ranks IN LISTS arg_UNCHECKED)
    weft_register_test(
      ${test}.unchecked${ranks} LABELS threads RANKS ${ranks} COMMAND ${command}
      ENVIRONMENT WEFT_TEST_COMM=thread WEFT_TEST_RANKS=${ranks})
  endforeach()
  foreach(ranks IN LISTS arg_DEVICE)
    weft_register_test(
      ${test}.device.threads${ranks} LABELS threads RANKS ${ranks} COMMAND ${command}
      ENVIRONMENT WEFT_TEST_COMM=thread WEFT_TEST_RANKS=${ranks} WEFT_TEST_MEMORY=device)
  endforeach()
  if(WEFT_WITH_MPI AND NOT arg_MPI_RANKS STREQUAL "NONE")
    foreach(ranks IN LISTS arg_MPI_RANKS)
      weft_register_mpi_test(${test}.mpi${ranks} ${ranks} ${binary} "${filter}" WEFT_CHECK=1)
    endforeach()
    foreach(ranks IN LISTS arg_DEVICE)
      weft_register_mpi_test(${test}.device.mpi${ranks} ${ranks} ${binary} "${filter}"
                             WEFT_TEST_MEMORY=device)
    endforeach()
  endif()
endfunction()

# weft_add_mpi_test(<layer> [MPI_RANKS <p>...] [TIMEOUT <seconds>])
#
# Registers all tests of a layer as one entry on MPI, <layer>.mpi<p>: starting MPI takes longer than most tests of
# operators.
function(weft_add_mpi_test layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "MPI_RANKS")
  if(NOT DEFINED arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT DEFINED arg_MPI_RANKS)
    set(arg_MPI_RANKS 1 2 4)
  endif()
  if(WEFT_WITH_MPI)
    foreach(ranks IN LISTS arg_MPI_RANKS)
      weft_register_mpi_test(${layer}.mpi${ranks} ${ranks} weft_${layer}_tests "*" WEFT_CHECK=1)
    endforeach()
  endif()
endfunction()

function(weft_register_mpi_test test ranks binary filter variable)
  weft_register_test(
    ${test} LABELS mpi RANKS ${ranks}
    COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${weft_mpiexec_flags}
            $<TARGET_FILE:${binary}> --gtest_filter=${filter}
    ENVIRONMENT WEFT_TEST_COMM=mpi ${variable} ${weft_mpi_environment})
endfunction()

# weft_add_test_program(<layer>/<name>) builds tests/<layer>/programs/<name>_program.cpp, which the layer's
# tests start: from WEFT_TEST_PROGRAM_DIR and, with MPI, by WEFT_TEST_MPIEXEC.
function(weft_add_test_program path)
  cmake_path(GET path PARENT_PATH layer)
  cmake_path(GET path FILENAME name)
  add_executable(${name}_program ${layer}/programs/${name}_program.cpp)
  weft_set_flags(${name}_program)
  target_link_libraries(${name}_program PRIVATE weft::weft)
  if(WEFT_WITH_OPENMP)
    target_link_libraries(${name}_program PRIVATE OpenMP::OpenMP_CXX)
  endif()
  weft_test_program(${layer} ${name}_program)
  target_compile_definitions(weft_${layer}_tests
                             PRIVATE WEFT_TEST_PROGRAM_DIR="${CMAKE_CURRENT_BINARY_DIR}")
endfunction()

# weft_test_program(<layer> <target>) builds a program before the layer's tests, which start it: with MPI, by
# WEFT_TEST_MPIEXEC.
function(weft_test_program layer target)
  set(binary weft_${layer}_tests)
  add_dependencies(${binary} ${target})
  if(WEFT_WITH_MPI)
    list(JOIN weft_mpiexec_flags " " flags)
    target_compile_definitions(${binary} PRIVATE "WEFT_TEST_MPIEXEC=\"${MPIEXEC_EXECUTABLE} ${flags}\"")
  endif()
endfunction()

# One CTest entry, with the LABELS, TIMEOUT and ENVIRONMENT of the caller.
function(weft_register_test test)
  cmake_parse_arguments(PARSE_ARGV 1 entry "" "RANKS" "LABELS;COMMAND;ENVIRONMENT")
  list(APPEND entry_LABELS ${arg_LABELS})
  set(timeout ${arg_TIMEOUT})
  if(WEFT_SANITIZE)
    math(EXPR timeout "5 * ${timeout}")
  endif()
  add_test(NAME ${test} COMMAND ${entry_COMMAND})
  set_tests_properties(
    ${test}
    PROPERTIES LABELS "${entry_LABELS}"
               TIMEOUT ${timeout}
               ENVIRONMENT "${entry_ENVIRONMENT};${arg_ENVIRONMENT}"
               FAIL_REGULAR_EXPRESSION "Running 0 tests") # a filter that matches nothing
  if(DEFINED entry_RANKS)
    # launch() divides the cores among the ranks; ignore the environment of the caller.
    set_tests_properties(${test} PROPERTIES PROCESSORS ${entry_RANKS}
                                            ENVIRONMENT_MODIFICATION OMP_NUM_THREADS=unset:)
  endif()
endfunction()

# halo_exchange -> HaloExchange
function(weft_camel_case snake_case result)
  string(REPLACE "_" ";" words ${snake_case})
  set(camel_case "")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 head)
    string(SUBSTRING ${word} 1 -1 tail)
    string(TOUPPER ${head} head)
    string(APPEND camel_case ${head}${tail})
  endforeach()
  set(${result} ${camel_case} PARENT_SCOPE)
endfunction()

# How tests start MPI: with more ranks than processors, and as root (in containers).
if(WEFT_WITH_MPI)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE weft_mpiexec_version
                  ERROR_QUIET)
  set(weft_mpiexec_flags)
  set(weft_mpiexec_recovery) # keeps the other ranks alive when one dies
  set(weft_mpi_environment)
  if(weft_mpiexec_version MATCHES "Open MPI|OpenRTE")
    set(weft_mpiexec_flags --oversubscribe --bind-to none)
    set(weft_mpiexec_recovery --enable-recovery)
    set(weft_mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
                             OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1)
  endif()
  if(WEFT_SANITIZE MATCHES address)
    # MPI libraries leak at exit, from unloaded modules that no suppression can name. The tests on threads find
    # leaks of Weft.
    list(APPEND weft_mpi_environment ASAN_OPTIONS=detect_leaks=0)
  endif()
endif()
