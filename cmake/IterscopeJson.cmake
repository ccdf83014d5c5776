# nlohmann-json, headers only and private to iterscope::core: from an installed package, or from PyPI's
# nlohmann-json in the active Python. Sets ITERSCOPE_JSON_INCLUDE_DIR.
find_package(Python 3.10 QUIET COMPONENTS Interpreter)
find_package(nlohmann_json 3.11 CONFIG QUIET)
if(nlohmann_json_FOUND)
  get_target_property(ITERSCOPE_JSON_INCLUDE_DIR nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
else()
  if(Python_EXECUTABLE)
    execute_process(
      COMMAND
        "${Python_EXECUTABLE}" -c
        "import importlib.util as u; s = u.find_spec('nlohmann_json'); print(s.submodule_search_locations[0] + '/include' if s else '')"
      OUTPUT_VARIABLE python_json
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  find_path(ITERSCOPE_JSON_INCLUDE_DIR nlohmann/json.hpp HINTS "${python_json}" NO_CACHE)
  if(NOT ITERSCOPE_JSON_INCLUDE_DIR)
    message(FATAL_ERROR "nlohmann/json.hpp was not found (iterscope::core writes JSON); "
                        "pip install nlohmann-json, or install the package nlohmann-json3-dev.")
  endif()
endif()
