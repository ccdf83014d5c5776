# How this project's own code is compiled: warnings, sanitizers, ccache, and the room globs.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# A clone in another folder hits the cache: paths below the source folder are hashed relative to it.
if(ITERSCOPE_USE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ITERSCOPE_CCACHE ccache NO_CACHE)
  if(ITERSCOPE_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
        "${ITERSCOPE_CCACHE}")
  endif()
endif()

# Libraries that this machine lacks, unpacked by scripts/fetch_debian_packages.sh.
set(ITERSCOPE_DEBIAN_ROOT
    "${PROJECT_SOURCE_DIR}/build/debian"
    CACHE PATH "Where scripts/fetch_debian_packages.sh unpacked GoogleTest and google-benchmark")
if(EXISTS "${ITERSCOPE_DEBIAN_ROOT}/usr")
  list(APPEND CMAKE_PREFIX_PATH "${ITERSCOPE_DEBIAN_ROOT}/usr")
endif()

# Settings shared by every target of ours. Nothing here reaches a consumer.
function(iterscope_compile_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)
  target_compile_options(
    ${target} PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>)
  # GCC 12 sees overlapping copies inside std::string where there are none (its bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(ITERSCOPE_SANITIZER STREQUAL "address")
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  elseif(ITERSCOPE_SANITIZER STREQUAL "thread")
    set(flags -fsanitize=thread -fno-omit-frame-pointer)
  elseif(ITERSCOPE_SANITIZER)
    message(FATAL_ERROR "ITERSCOPE_SANITIZER=${ITERSCOPE_SANITIZER} is unknown; use address or thread.")
  endif()
  target_compile_options(${target} PRIVATE ${flags})
  target_link_options(${target} PUBLIC ${flags})
endfunction()

# iterscope_glob(OUT pattern...): the sources of a room.
function(iterscope_glob out)
  file(GLOB found CONFIGURE_DEPENDS ${ARGN})
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# iterscope_library(NAME pattern...): a static library of the sources that match, alias iterscope::NAME.
function(iterscope_library name)
  iterscope_glob(sources ${ARGN})
  set(target iterscope_${name})
  add_library(${target} STATIC ${sources})
  iterscope_compile_settings(${target})
  add_library(iterscope::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(
    ${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
endfunction()
