# tilepragma for CMake:
#
#   execute_process(COMMAND tilepragma --cmake OUTPUT_VARIABLE TILEPRAGMA_CMAKE OUTPUT_STRIP_TRAILING_WHITESPACE)
#   include(${TILEPRAGMA_CMAKE})
#   add_executable(prog main.c heat.c)
#   tilepragma_translate(prog)                 # every C source of the target, or tilepragma_translate(prog SOURCES heat.c)
#
# TILEPRAGMA_FLAGS are options for the translator, such as --target=opencl,threads.

find_program(TILEPRAGMA_EXECUTABLE tilepragma)
if(NOT TILEPRAGMA_EXECUTABLE)
  message(FATAL_ERROR "tilepragma is not on the PATH; pip install tilepragma, or set TILEPRAGMA_EXECUTABLE")
endif()

# Options for compiling and linking, for the compiler of this project.
foreach(kind CFLAGS LIBS)
  string(TOLOWER "--${kind}" option)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env "TILEK_CC=${CMAKE_C_COMPILER}" ${TILEPRAGMA_EXECUTABLE} ${option}
                  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "tilepragma ${option} failed")
  endif()
  separate_arguments(TILEPRAGMA_${kind} UNIX_COMMAND "${answer}")
endforeach()

function(tilepragma_translate target)
  cmake_parse_arguments(PARSE_ARGV 1 ARGUMENT "" "" "SOURCES")
  get_target_property(all_sources ${target} SOURCES)
  if(NOT ARGUMENT_SOURCES)
    set(ARGUMENT_SOURCES ${all_sources})
    list(FILTER ARGUMENT_SOURCES INCLUDE REGEX "\\.c$")
  endif()
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  set(folders "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  set(kept ${all_sources})
  foreach(source IN LISTS ARGUMENT_SOURCES)
    get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    get_filename_component(folder "${path}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "${target}_${source}" name)
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}.tk.c")
    set(standard "")
    get_target_property(number ${target} C_STANDARD)
    if(number)
      get_target_property(extensions ${target} C_EXTENSIONS)
      if(extensions OR extensions STREQUAL "extensions-NOTFOUND")
        set(standard "-std=gnu${number}")
      else()
        set(standard "-std=c${number}")
      endif()
    endif()
    # Before 3.20 only Ninja reads depfiles of custom commands; elsewhere headers with kernels must be named by hand.
    set(depfile "")
    if(CMAKE_GENERATOR MATCHES "Ninja" OR NOT CMAKE_VERSION VERSION_LESS 3.20)
      set(depfile DEPFILE "${output}.d")
    endif()
    add_custom_command(
      OUTPUT "${output}"
      COMMAND ${CMAKE_COMMAND} -E env "TILEK_CC=${CMAKE_C_COMPILER}" ${TILEPRAGMA_EXECUTABLE} translate "${path}" -o "${output}"
              "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>" "$<$<BOOL:${folders}>:-I$<JOIN:${folders},;-I>>"
              ${standard} ${TILEPRAGMA_FLAGS} -MF "${output}.d" -MT "${output}"
      DEPENDS "${path}"
      ${depfile}
      COMMENT "Translating ${source}"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(REMOVE_ITEM kept "${source}")
    list(APPEND kept "${output}")
    set_property(SOURCE "${output}" APPEND PROPERTY COMPILE_OPTIONS ${TILEPRAGMA_CFLAGS} -iquote "${folder}")
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${kept})
  target_link_libraries(${target} PRIVATE ${TILEPRAGMA_LIBS})
endfunction()
