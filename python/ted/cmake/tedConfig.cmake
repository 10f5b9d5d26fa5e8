# find_package(ted) gives functions of Python programs to programs in C and C++:
#   ted_add_library(NAME SOURCE kernels.py FUNCTIONS f g [SHARED])
# is a library with the header NAME.h. `ted-translate --cmake-dir` is what ted_DIR is.
find_program(TED_TRANSLATE ted-translate HINTS ENV VIRTUAL_ENV PATH_SUFFIXES bin Scripts)
if(NOT TED_TRANSLATE)
  message(FATAL_ERROR "ted: ted-translate must be on the path, got none; set TED_TRANSLATE")
endif()
find_package(Threads REQUIRED)

function(ted_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 given "SHARED" "SOURCE" "FUNCTIONS")
  if(NOT given_SOURCE OR NOT given_FUNCTIONS)
    message(FATAL_ERROR "ted_add_library: ${name} needs SOURCE and FUNCTIONS")
  endif()
  get_filename_component(source "${given_SOURCE}" ABSOLUTE)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.ted")
  if(given_SHARED)
    set(kind shared)
    set(made "${folder}/lib${name}.so")
    set(needs)
  else()
    set(kind static)
    set(made "${folder}/lib${name}.a")
    set(needs "${folder}/libted_runtime.a" Threads::Threads m)
  endif()
  add_custom_command(
    OUTPUT "${made}" "${folder}/${name}.h"
    COMMAND "${CMAKE_COMMAND}" -E env "CC=${CMAKE_C_COMPILER}" "AR=${CMAKE_AR}"
            "${TED_TRANSLATE}" "${source}" --to ${kind} --name ${name} -o "${folder}"
            --entry ${given_FUNCTIONS}
    DEPENDS "${source}"
    COMMENT "ted: ${name}"
    VERBATIM)
  add_custom_target(${name}.ted DEPENDS "${made}" "${folder}/${name}.h")
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}.ted)
  target_include_directories(${name} INTERFACE "${folder}")
  target_link_libraries(${name} INTERFACE "${made}" ${needs})
endfunction()
