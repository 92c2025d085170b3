hs_unit_test(cfi_test hs_inject_pure hs_base)
hs_unit_test(cfi_libdw_test hs_inject_pure hs_base PkgConfig::LIBDW)
hs_unit_test(unwind_rule_test hs_inject_pure hs_base)
hs_unit_test(unwind_full_test hs_inject_pure hs_base)
hs_unit_test(sampling_math_test hs_inject_pure hs_base m)

# Parts of the payload that keep state, compiled for the host, in a made-up region.
find_package(Threads REQUIRED)
function(hs_payload_test name)
  hs_unit_test(${name} hs_snapshot hs_attach Threads::Threads)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/test/unwind/payload_config.c)
  foreach(source ${ARGN})
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/inject/${source})
  endforeach()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/inject ${PROJECT_SOURCE_DIR}/inject/arch/x86_64)
endfunction()
hs_payload_test(live_table_test live_table.c record.c removal.c sample_table.c thinning.c)
target_link_libraries(live_table_test PRIVATE hs_inject_pure)
hs_payload_test(record_test record.c removal.c sample_table.c thinning.c)
target_link_libraries(record_test PRIVATE hs_inject_pure)
hs_payload_test(stack_table_test stack_table.c)
hs_payload_test(elf_memory_test elf_memory.c)
hs_payload_test(loader_event_test loader_event.c elf_memory.c)
hs_payload_test(payload_modules_test modules.c stack_table.c thread_slot.c unwind.c)
target_link_libraries(payload_modules_test PRIVATE hs_inject_pure)
hs_payload_test(thread_slot_test thread_slot.c)
hs_payload_test(thread_slot_musl_test thread_slot.c)
hs_payload_test(reentry_test modules.c reentry.c thread_slot.c)
target_link_libraries(reentry_test PRIVATE hs_inject_pure)
hs_payload_test(handler_below_test modules.c reentry.c thread_slot.c)
target_link_libraries(handler_below_test PRIVATE hs_inject_pure)
hs_payload_test(left_calls_test modules.c reentry.c thread_slot.c)
target_link_libraries(left_calls_test PRIVATE hs_inject_pure)
hs_payload_test(hooks_test hooks.c block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(hooks_test PRIVATE hs_inject_pure)
hs_payload_test(running_stress_test hooks.c block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c reentry.c thread_slot.c unwind.c)
target_link_libraries(running_stress_test PRIVATE hs_inject_pure)
hs_payload_test(running_steps_test hooks.c block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c thinning.c reentry.c thread_slot.c unwind.c)
target_link_libraries(running_steps_test PRIVATE hs_inject_pure)
set_tests_properties(unit.running_steps_test PROPERTIES TIMEOUT 1200) # a signal for each instruction
hs_payload_test(running_samples_test hooks.c block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(running_samples_test PRIVATE hs_inject_pure)
hs_payload_test(running_wide_test hooks.c block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(running_wide_test PRIVATE hs_inject_pure)
hs_payload_test(usual_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c reentry.c thread_slot.c
  unwind.c)
target_link_libraries(usual_test PRIVATE hs_inject_pure)
hs_payload_test(foreign_stack_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(foreign_stack_test PRIVATE hs_inject_pure)
hs_payload_test(budget_test)
target_link_libraries(budget_test PRIVATE hs_inject_pure m)
hs_payload_test(budget_thread_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(budget_thread_test PRIVATE hs_inject_pure)
hs_payload_test(thinning_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(thinning_test PRIVATE hs_inject_pure m)
hs_payload_test(sample_table_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c
  thinning.c reentry.c thread_slot.c unwind.c)
target_link_libraries(sample_table_test PRIVATE hs_inject_pure)
hs_payload_test(wide_blocks_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c
  thinning.c reentry.c thread_slot.c unwind.c)
target_link_libraries(wide_blocks_test PRIVATE hs_inject_pure)
hs_payload_test(estimates_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(estimates_test PRIVATE hs_inject_pure)
set_tests_properties(unit.estimates_test PROPERTIES TIMEOUT 600)
hs_payload_test(short_threads_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(short_threads_test PRIVATE hs_inject_pure m)
hs_payload_test(pass_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(pass_test PRIVATE hs_inject_pure)
hs_payload_test(interrupted_test block_events.c budget.c live_table.c modules.c record.c removal.c sample_table.c sampling.c stack_table.c thinning.c
  reentry.c thread_slot.c unwind.c)
target_link_libraries(interrupted_test PRIVATE hs_inject_pure)
set_tests_properties(unit.interrupted_test PROPERTIES TIMEOUT 1200) # a signal for each instruction
