hs_unit_test(error_test hs_base)
hs_unit_test(byte_cursor_test hs_base)
hs_unit_test(proc_maps_test hs_base)
hs_unit_test(io_test hs_base)
