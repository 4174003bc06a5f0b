# How this project declares libraries, so that every folder says it the same way.

set(BATON_WARNINGS -Wall -Wextra -Wno-unused-parameter)
if(BATON_WERROR)
  list(APPEND BATON_WARNINGS -Werror)
endif()
if(BATON_SANITIZE)
  add_compile_options(-fsanitize=${BATON_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BATON_SANITIZE})
endif()

# LLVM's packages put its libraries where the loader does not look by itself.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# Reading headers and their templates is most of what compiling takes, so those that
# most files include are read once: MLIR's for the dialects, and with the dialects for
# what is built on these.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")
# baton_precompiled_headers(NAME HEADERS... OPTIONS...): a target to reuse headers from.
function(baton_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS" ${ARGN})
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  # Without the time, a compiler cache finds the same file.
  target_compile_options(${name} PRIVATE ${BATON_WARNINGS} "SHELL:-Xclang -fno-pch-timestamp"
                         ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()
set(BATON_MLIR_HEADERS
  <mlir/Bytecode/BytecodeOpInterface.h> <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h>
  <mlir/IR/SymbolTable.h> <mlir/Interfaces/InferTypeOpInterface.h>
  <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>
  <llvm/ADT/MapVector.h> <llvm/ADT/SetVector.h> <llvm/ADT/StringMap.h>
  <llvm/ADT/TypeSwitch.h> <llvm/Support/FormatVariadic.h>)
set(BATON_DIALECT_HEADERS ${BATON_MLIR_HEADERS}
  <dialects/Dist/Dist.h> <dialects/Event/Event.h> <dialects/Model/Model.h>
  <dialects/Update/Update.h>)
# Of the runtime, which is compiled three times.
set(BATON_RUNTIME_HEADERS
  <nlohmann/json.hpp> <algorithm> <array> <atomic> <charconv> <chrono> <cmath>
  <condition_variable> <cstdint> <cstdio> <cstring> <deque> <filesystem> <fstream>
  <functional> <map> <memory> <mutex> <optional> <set> <span> <sstream> <stdexcept>
  <string> <string_view> <thread> <tuple> <unordered_map> <unordered_set> <utility>
  <vector>)
baton_precompiled_headers(BatonRuntimeHeaders HEADERS ${BATON_RUNTIME_HEADERS})
baton_precompiled_headers(BatonMlirHeaders HEADERS ${BATON_MLIR_HEADERS})
baton_precompiled_headers(BatonDialectHeaders HEADERS ${BATON_DIALECT_HEADERS})

# baton_unite(TARGET COUNT): its sources are compiled COUNT at a time, so that headers
# that are mostly templates are read, and what they make is compiled, once for these.
# With BATON_UNITY=OFF each is compiled by itself, as tools that look at single files
# want it.
option(BATON_UNITY "Compile several sources of a library at a time" ON)
function(baton_unite target count)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${BATON_UNITY} UNITY_BUILD_BATCH_SIZE ${count})
endfunction()

# baton_runtime_library(NAME SOURCES... SELECTED... LINK...): plain C++20, no LLVM. Of
# SELECTED, a program links those files only whose functions it names, since they refer
# to what other programs have: they are compiled one by one.
function(baton_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;SELECTED;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_SELECTED})
  baton_unite(${name} 10)
  set_source_files_properties(${ARG_SELECTED} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${name} PROPERTIES BATON_SELECTED "${ARG_SELECTED}")
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${BATON_WARNINGS} "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${name} REUSE_FROM BatonRuntimeHeaders)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# baton_compiler_library(NAME [HEADERS TARGET] SOURCES... ALONE... DEPENDS... LINK...):
# may use MLIR. HEADERS are the precompiled ones, else those with all dialects. ALONE are
# sources that mean other names by the same words (Type, Value) than the rest: they are
# compiled one by one.
function(baton_compiler_library name)
  cmake_parse_arguments(ARG "" "HEADERS" "SOURCES;ALONE;DEPENDS;LINK" ${ARGN})
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS BatonDialectHeaders)
  endif()
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_ALONE})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE ${BATON_WARNINGS} "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${name} REUSE_FROM ${ARG_HEADERS})
  # Few, so that who changes one line of a pass waits for few.
  baton_unite(${name} 4)
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# baton_dialect_library(NAME ...): a dialect; the same with headers of MLIR only.
function(baton_dialect_library name)
  baton_compiler_library(${name} HEADERS BatonMlirHeaders ${ARGN})
endfunction()

# baton_unit_test(NAME [MLIR] SOURCES... LINK... LONG...): one GoogleTest executable. With
# MLIR its sources include headers of it. ctest runs it as unit.NAME; its cases are entries
# of their own with ctest -C every. LONG are patterns of cases that only these run.
include(GoogleTest)
# baton_discover_cases(TARGET [LONG...] OPTION...): the entry unit.TARGET, in which all cases
# but the long ones run in one process, and with ctest -C every also an entry for each of
# them, as gtest_discover_tests makes it with these options.
function(baton_discover_cases target)
  cmake_parse_arguments(ARG "" "TEST_PREFIX" "LONG" ${ARGN})
  set(filter)
  if(ARG_LONG)
    list(JOIN ARG_LONG ":" patterns)
    set(filter --gtest_filter=-${patterns})
  endif()
  add_test(NAME unit.${target} COMMAND ${target} --gtest_brief=1 ${filter})
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 TEST_PREFIX "${ARG_TEST_PREFIX}")
  # It has no option for that: the last file that it has ctest read is read on condition.
  get_property(files DIRECTORY PROPERTY TEST_INCLUDE_FILES)
  list(POP_BACK files cases)
  set(conditional ${CMAKE_CURRENT_BINARY_DIR}/${target}_every.cmake)
  file(CONFIGURE OUTPUT ${conditional} @ONLY CONTENT
"if(CTEST_CONFIGURATION_TYPE STREQUAL \"every\")
  include([==[@cases@]==])
endif()
")
  set_property(DIRECTORY PROPERTY TEST_INCLUDE_FILES ${files} ${conditional})
endfunction()
function(baton_unit_test name)
  cmake_parse_arguments(ARG "MLIR" "TEST_PREFIX" "SOURCES;LINK;LONG" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE ${BATON_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  if(ARG_MLIR)
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(${name} REUSE_FROM BatonMlirTestHeaders)
  else()
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(${name} REUSE_FROM BatonTestHeaders)
  endif()
  baton_discover_cases(${name} TEST_PREFIX ${ARG_TEST_PREFIX} LONG ${ARG_LONG})
endfunction()

# baton_embed_text(INPUT OUTPUT): a file as a string literal to #include, made
# again when the file changes.
function(baton_embed_text input output)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake)
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/${input}
            -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${output} -P ${script}
    DEPENDS ${input} ${script}
    VERBATIM)
endfunction()
