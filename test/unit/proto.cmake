hs_unit_test(output_file_test hs_proto)
hs_unit_test(output_refused_test hs_proto)
hs_unit_test(output_flags_test hs_proto)
hs_unit_test(output_place_test hs_proto)
hs_unit_test(pprof_decoder_test hs_proto)
hs_unit_test(pprof_encoder_test hs_proto)
hs_unit_test(pprof_read_back_test hs_proto)
hs_unit_test(profile_file_test hs_proto)

# By the bytes of the file and, when HEAPSNAP_PPROF names it in the environment, by the real pprof.
if(HEAPSNAP_PYTHON)
  add_test(NAME unit.pprof_encoder_check
    COMMAND ${HEAPSNAP_PYTHON} ${PROJECT_SOURCE_DIR}/test/e2e/pprof_encoder_check.py $<TARGET_FILE:pprof_encoder_test>)
  set_tests_properties(unit.pprof_encoder_check PROPERTIES TIMEOUT 120 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endif()

add_library(hs_made_named STATIC made_named.c)
target_include_directories(hs_made_named PRIVATE ${PROJECT_SOURCE_DIR} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(hs_made_named PRIVATE hs_warnings PUBLIC hs_heap_profile)
if(NOT TARGET hs_views)
  target_sources(hs_made_named PRIVATE named_stack_stand_in.c)
endif()
hs_unit_test(page_test hs_proto_page hs_made_named)
