hs_unit_test(find_process_test hs_lib)
hs_unit_test(lib_dump_test hs_lib ZLIB::ZLIB)
hs_unit_test(lib_results_test hs_lib)
hs_unit_test(malloc_heap_test hs_lib)
