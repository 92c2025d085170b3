# cli/ is a program, not a library: its files are compiled into the tests.
hs_unit_test(json_test hs_base)
target_sources(json_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/json.c)
hs_unit_test(options_test hs_attach)
target_sources(options_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/options.c)

find_program(HEAPSNAP_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(HEAPSNAP_PYTHON)
  add_test(NAME unit.json_check COMMAND ${HEAPSNAP_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/json_check.py $<TARGET_FILE:json_test>)
  set_tests_properties(unit.json_check PROPERTIES TIMEOUT 120 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endif()
