hs_unit_test(cfi_test hs_inject_pure hs_base)
hs_unit_test(cfi_libdw_test hs_inject_pure hs_base PkgConfig::LIBDW)
hs_unit_test(unwind_rule_test hs_inject_pure hs_base)
hs_unit_test(unwind_full_test hs_inject_pure hs_base)
