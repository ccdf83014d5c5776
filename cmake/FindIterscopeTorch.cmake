#[=======================================================================[
FindIterscopeTorch
------------------
PyTorch's headers and libraries out of an installed wheel. PyTorch's own find_package(Torch) is not
used: on a CUDA wheel it insists on a CUDA toolkit, which nothing here needs.

Input, first one given wins:
  ITERSCOPE_TORCH_ROOT   folder that holds torch's include/ and lib/ (".../site-packages/torch")
  Python_EXECUTABLE      interpreter that has torch installed (else the first python3 on the PATH)

Result:
  IterscopeTorch_FOUND, IterscopeTorch_VERSION ("2.14.1", no local part such as "+cu130"),
  IterscopeTorch_ROOT, IterscopeTorch_HAS_CUDA
Targets:
  IterscopeTorch::headers       include folders (as system headers) and the C++ ABI flag
  IterscopeTorch::c10, ::torch_cpu
  IterscopeTorch::torch         both; an executable also gets libtorch_cuda, where the wheel has it, although it
                                uses no symbol of it: without that a C++ program sees no GPU
  IterscopeTorch::c10_cuda, ::torch_cuda     where the wheel has them
  IterscopeTorch::torch_python  for extension modules
  IterscopeTorch::openmp        the OpenMP runtime that torch itself runs on; at::parallel_for is header
                                code and needs it (a second runtime would oversubscribe the cores)
#]=======================================================================]
include_guard(GLOBAL)
include(FindPackageHandleStandardArgs)

set(ITERSCOPE_TORCH_ROOT "" CACHE PATH "Folder of the installed torch package (holds include/ and lib/)")

set(_torch_why "")
if(ITERSCOPE_TORCH_ROOT)
  set(IterscopeTorch_ROOT "${ITERSCOPE_TORCH_ROOT}")
else()
  set(_torch_python "${Python_EXECUTABLE}")
  if(NOT _torch_python)
    find_program(ITERSCOPE_TORCH_PYTHON NAMES python3 python)
    mark_as_advanced(ITERSCOPE_TORCH_PYTHON)
    set(_torch_python "${ITERSCOPE_TORCH_PYTHON}")
  endif()
  if(_torch_python)
    # find_spec locates the package without importing it, which would take seconds.
    execute_process(
      COMMAND "${_torch_python}" -c
              "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
      OUTPUT_VARIABLE IterscopeTorch_ROOT
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT IterscopeTorch_ROOT)
    set(_torch_why
        "no torch found by the Python interpreter '${_torch_python}'. Install it there (pip install torch), or pass -DPython_EXECUTABLE=<python that has torch> or -DITERSCOPE_TORCH_ROOT=<.../site-packages/torch>.")
  endif()
endif()

if(IterscopeTorch_ROOT)
  file(TO_CMAKE_PATH "${IterscopeTorch_ROOT}" IterscopeTorch_ROOT)
  set(_torch_lib "${IterscopeTorch_ROOT}/lib")
  set(_torch_include "${IterscopeTorch_ROOT}/include")
  if(EXISTS "${IterscopeTorch_ROOT}/version.py")
    file(STRINGS "${IterscopeTorch_ROOT}/version.py" _torch_line REGEX "^__version__")
  elseif(EXISTS "${IterscopeTorch_ROOT}/build-version") # the libtorch archive has no version.py
    file(STRINGS "${IterscopeTorch_ROOT}/build-version" _torch_line LIMIT_COUNT 1)
  endif()
  if("${_torch_line}" MATCHES "([0-9]+\\.[0-9]+\\.[0-9]+)")
    set(IterscopeTorch_VERSION "${CMAKE_MATCH_1}")
  endif()
  if(NOT EXISTS "${_torch_lib}/libtorch_cpu.so" OR NOT EXISTS "${_torch_include}/ATen/ATen.h")
    set(_torch_why "'${IterscopeTorch_ROOT}' has no lib/libtorch_cpu.so or no include/ATen. Reinstall torch there.")
    set(IterscopeTorch_ROOT "")
  endif()
endif()

find_package_handle_standard_args(
  IterscopeTorch
  REQUIRED_VARS IterscopeTorch_ROOT IterscopeTorch_VERSION
  VERSION_VAR IterscopeTorch_VERSION HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "${_torch_why}")
if(NOT IterscopeTorch_FOUND)
  return()
endif()

# Wheels of the supported range use the C++11 ABI; a build from source may not.
file(STRINGS "${_torch_lib}/libc10.so" _torch_cxx11 REGEX "__cxx11" LIMIT_COUNT 1)
if(_torch_cxx11)
  set(IterscopeTorch_CXX11_ABI 1)
else()
  set(IterscopeTorch_CXX11_ABI 0)
endif()

add_library(IterscopeTorch::headers INTERFACE IMPORTED)
set_target_properties(
  IterscopeTorch::headers
  PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
             "${_torch_include};${_torch_include}/torch/csrc/api/include;${_torch_include}/kineto"
             INTERFACE_COMPILE_DEFINITIONS "_GLIBCXX_USE_CXX11_ABI=${IterscopeTorch_CXX11_ABI}")

foreach(_torch_name c10 torch_cpu c10_cuda torch_cuda torch_python)
  if(EXISTS "${_torch_lib}/lib${_torch_name}.so")
    add_library(IterscopeTorch::${_torch_name} SHARED IMPORTED)
    set_target_properties(
      IterscopeTorch::${_torch_name}
      PROPERTIES IMPORTED_LOCATION "${_torch_lib}/lib${_torch_name}.so"
                 INTERFACE_LINK_LIBRARIES IterscopeTorch::headers)
  endif()
endforeach()

add_library(IterscopeTorch::torch INTERFACE IMPORTED)
set_target_properties(IterscopeTorch::torch PROPERTIES INTERFACE_LINK_LIBRARIES
                                                       "IterscopeTorch::torch_cpu;IterscopeTorch::c10")
set(IterscopeTorch_HAS_CUDA OFF)
if(TARGET IterscopeTorch::torch_cuda)
  set(IterscopeTorch_HAS_CUDA ON)
  set_target_properties(
    IterscopeTorch::torch
    PROPERTIES
      INTERFACE_LINK_OPTIONS
      "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:LINKER:--push-state,--no-as-needed,${_torch_lib}/libtorch_cuda.so,--pop-state>"
  )
endif()

# The wheel brings its own libgomp; a torch built from source uses the compiler's.
file(GLOB _torch_gomp "${_torch_lib}/libgomp*.so*" "${IterscopeTorch_ROOT}/../torch.libs/libgomp*.so*")
if(_torch_gomp)
  list(GET _torch_gomp 0 _torch_gomp)
  add_library(IterscopeTorch::openmp SHARED IMPORTED)
  set_target_properties(IterscopeTorch::openmp PROPERTIES IMPORTED_LOCATION "${_torch_gomp}")
else()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  add_library(IterscopeTorch::openmp INTERFACE IMPORTED)
  set_target_properties(IterscopeTorch::openmp PROPERTIES INTERFACE_LINK_LIBRARIES OpenMP::OpenMP_CXX)
endif()
