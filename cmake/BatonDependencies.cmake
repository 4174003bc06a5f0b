# Everything from outside the tree, found once.

find_package(MLIR 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(CLI11 REQUIRED CONFIG)
find_package(nlohmann_json 3.11 REQUIRED CONFIG)
find_package(GTest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Static, because they are linked into every executable that batonc writes:
# regular expressions, and Unicode's normal forms.
find_library(PCRE2_LIBRARY NAMES libpcre2-8.a REQUIRED)
find_path(PCRE2_INCLUDE_DIR NAMES pcre2.h REQUIRED)
add_library(PCRE2::PCRE2 STATIC IMPORTED)
set_target_properties(PCRE2::PCRE2 PROPERTIES
  IMPORTED_LOCATION "${PCRE2_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIR}")
find_library(UTF8PROC_LIBRARY NAMES libutf8proc.a REQUIRED)
find_path(UTF8PROC_INCLUDE_DIR NAMES utf8proc.h REQUIRED)
add_library(utf8proc::utf8proc STATIC IMPORTED)
set_target_properties(utf8proc::utf8proc PROPERTIES
  IMPORTED_LOCATION "${UTF8PROC_LIBRARY}"
  INTERFACE_COMPILE_DEFINITIONS UTF8PROC_STATIC
  INTERFACE_INCLUDE_DIRECTORIES "${UTF8PROC_INCLUDE_DIR}")

# An integer program's solver, for plans of placements: COIN-OR's, under the Eclipse
# Public License, through its C interface.
find_library(CBC_LIBRARY NAMES CbcSolver)
find_path(CBC_INCLUDE_DIR NAMES coin/Cbc_C_Interface.h)
if(NOT CBC_LIBRARY OR NOT CBC_INCLUDE_DIR)
  message(FATAL_ERROR "CBC is missing, which plans placements: install coinor-libcbc-dev, "
    "or run tools/install-dependencies")
endif()
add_library(Cbc::Cbc SHARED IMPORTED)
set_target_properties(Cbc::Cbc PROPERTIES
  IMPORTED_LOCATION "${CBC_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${CBC_INCLUDE_DIR}")

# clang 19 compiles the task library to bitcode and drives the linker.
find_program(BATON_CLANGXX NAMES clang++-19 REQUIRED)
find_program(BATON_LLVM_LINK NAMES llvm-link-19 REQUIRED)

# TableGen takes its search path from the directory's include path.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
