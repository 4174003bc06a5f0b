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

# Reading headers is half of what compiling takes, so those of MLIR that most files
# include are read once for all libraries.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")
# baton_mlir_headers(NAME OPTION...): a target to reuse them from, compiled with options.
function(baton_mlir_headers name)
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  # Without the time, a compiler cache finds the same file.
  target_compile_options(${name} PRIVATE ${BATON_WARNINGS} "SHELL:-Xclang -fno-pch-timestamp" ${ARGN})
  target_precompile_headers(${name} PRIVATE
    <mlir/Bytecode/BytecodeOpInterface.h> <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h>
    <mlir/IR/SymbolTable.h> <mlir/Interfaces/InferTypeOpInterface.h>
    <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>
    <llvm/ADT/MapVector.h> <llvm/ADT/SetVector.h> <llvm/ADT/StringMap.h>
    <llvm/ADT/TypeSwitch.h> <llvm/Support/FormatVariadic.h>)
endfunction()
baton_mlir_headers(BatonMlirHeaders)

# baton_precompile_runtime(TARGET): the same for the runtime, whose variants are
# compiled with options of their own.
function(baton_precompile_runtime target)
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${target} PRIVATE
    <nlohmann/json.hpp> <algorithm> <array> <atomic> <chrono> <cstdint> <filesystem>
    <functional> <map> <memory> <optional> <span> <sstream> <string> <vector>)
endfunction()

# baton_runtime_library(NAME SOURCES... ): plain C++20, no LLVM.
function(baton_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${BATON_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# baton_compiler_library(NAME SOURCES... DEPENDS... LINK...): may use MLIR.
function(baton_compiler_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE ${BATON_WARNINGS} "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${name} REUSE_FROM BatonMlirHeaders)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# baton_unit_test(NAME [MLIR] SOURCES... LINK...): one GoogleTest executable, one ctest
# entry per test case. With MLIR its sources include headers of it.
include(GoogleTest)
function(baton_unit_test name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_include_directories(${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_options(${name} PRIVATE ${BATON_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  if(ARG_MLIR)
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(${name} REUSE_FROM BatonMlirTestHeaders)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
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
