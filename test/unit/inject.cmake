hs_unit_test(cfi_test hs_unwind hs_base)
hs_unit_test(cfi_libdw_test hs_unwind hs_base PkgConfig::LIBDW)
hs_unit_test(unwind_rule_test hs_unwind hs_base)
hs_unit_test(unwind_full_test hs_unwind hs_base)
hs_unit_test(sampling_math_test hs_sampling_math hs_base m)

# Parts of the payload that keep state, compiled for the host, in a made-up region.
find_package(Threads REQUIRED)
function(hs_payload_test name)
  hs_unit_test(${name} hs_snapshot hs_attach hs_unwind hs_sampling_math Threads::Threads)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/test/unwind/payload_config.c)
  foreach(source ${ARGN})
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/inject/${source})
  endforeach()
endfunction()
hs_payload_test(live_table_test table/live_table.c table/record.c table/removal.c table/sample_table.c sampling/downsampling.c)
hs_payload_test(record_test table/record.c table/removal.c table/sample_table.c sampling/downsampling.c)
hs_payload_test(stack_table_test table/stack_table.c)
hs_payload_test(elf_memory_test walk/elf_memory.c)
hs_payload_test(loader_event_test hook/loader_event.c walk/elf_memory.c)
hs_payload_test(payload_modules_test walk/modules.c table/stack_table.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(thread_slot_test hook/thread_slot.c)
hs_payload_test(thread_slot_musl_test hook/thread_slot.c)
hs_payload_test(reentry_test walk/modules.c hook/reentry.c hook/thread_slot.c)
hs_payload_test(handler_below_test walk/modules.c hook/reentry.c hook/thread_slot.c)
hs_payload_test(left_calls_test walk/modules.c hook/reentry.c hook/thread_slot.c)
hs_payload_test(hooks_test hook/hooks.c hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(running_stress_test hook/hooks.c hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c hook/reentry.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(running_steps_test hook/hooks.c hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c sampling/downsampling.c hook/reentry.c hook/thread_slot.c walk/unwind.c)
set_tests_properties(unit.running_steps_test PROPERTIES TIMEOUT 1200) # a signal for each instruction
hs_payload_test(running_samples_test hook/hooks.c hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(running_wide_test hook/hooks.c hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(fast_path_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c hook/reentry.c hook/thread_slot.c
  walk/unwind.c)
hs_payload_test(foreign_stack_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(budget_test)
target_link_libraries(budget_test PRIVATE m)
hs_payload_test(budget_thread_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(downsampling_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
target_link_libraries(downsampling_test PRIVATE m)
hs_payload_test(sample_table_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c
  sampling/downsampling.c hook/reentry.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(wide_blocks_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c
  sampling/downsampling.c hook/reentry.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(estimates_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
set_tests_properties(unit.estimates_test PROPERTIES TIMEOUT 600)
hs_payload_test(short_threads_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
target_link_libraries(short_threads_test PRIVATE m)
hs_payload_test(sampling_credit_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
hs_payload_test(interrupted_test hook/block_events.c sampling/budget.c table/live_table.c walk/modules.c table/record.c table/removal.c table/sample_table.c sampling/sampling.c table/stack_table.c sampling/downsampling.c
  hook/reentry.c hook/thread_slot.c walk/unwind.c)
set_tests_properties(unit.interrupted_test PROPERTIES TIMEOUT 1200) # a signal for each instruction
