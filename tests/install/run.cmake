# Installs a build of weft into a scratch folder and uses it from there as a stranger would.
foreach(variable build source scratch generator compiler flags)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "run.cmake: say -D ${variable}=...")
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${scratch})
run(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/prefix)
run(${CMAKE_COMMAND} -S ${source} -B ${scratch}/build -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
    -D CMAKE_CXX_FLAGS=${flags} -D CMAKE_PREFIX_PATH=${scratch}/prefix)
run(${CMAKE_COMMAND} --build ${scratch}/build)

execute_process(COMMAND ${scratch}/build/uses_weft --ranks 2 OUTPUT_VARIABLE output
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT output MATCHES "sum 1\n")
  message(FATAL_ERROR "expected \"sum 1\", got \"${output}\"")
endif()
