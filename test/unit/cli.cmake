# cli/ is a program, not a library: its files are compiled into the tests.
foreach(name options_test view_words_test)
  hs_unit_test(${name} hs_lib)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/help.c
    ${PROJECT_SOURCE_DIR}/cli/block_words.c ${PROJECT_SOURCE_DIR}/cli/option_errors.c ${PROJECT_SOURCE_DIR}/cli/option_table.c ${PROJECT_SOURCE_DIR}/cli/option_values.c
    ${PROJECT_SOURCE_DIR}/cli/options.c ${PROJECT_SOURCE_DIR}/cli/process_words.c ${PROJECT_SOURCE_DIR}/cli/similar_word.c ${PROJECT_SOURCE_DIR}/cli/view_words.c
    ${PROJECT_SOURCE_DIR}/cli/view_words_parse.c ${PROJECT_SOURCE_DIR}/cli/watch_words.c ${PROJECT_SOURCE_DIR}/cli/run_words.c ${PROJECT_SOURCE_DIR}/cli/symbol_words.c)
endforeach()
hs_unit_test(console_test hs_views hs_base)
target_sources(console_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/console.c)
hs_unit_test(attach_print_test hs_lib)
target_sources(attach_print_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/each_process.c ${PROJECT_SOURCE_DIR}/cli/aftermath.c ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/unseen_text.c)
hs_unit_test(detach_print_test hs_lib)
target_sources(detach_print_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/each_process.c ${PROJECT_SOURCE_DIR}/cli/aftermath.c ${PROJECT_SOURCE_DIR}/cli/console.c)
hs_unit_test(status_print_test hs_lib)
target_sources(status_print_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/memory_text.c ${PROJECT_SOURCE_DIR}/cli/each_process.c ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/sampling_text.c
  ${PROJECT_SOURCE_DIR}/cli/unseen_text.c)
hs_unit_test(dump_print_test hs_lib)
target_sources(dump_print_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/block_selection.c ${PROJECT_SOURCE_DIR}/cli/memory_text.c ${PROJECT_SOURCE_DIR}/cli/each_process.c ${PROJECT_SOURCE_DIR}/cli/aftermath.c ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/headline.c
  ${PROJECT_SOURCE_DIR}/cli/option_table.c ${PROJECT_SOURCE_DIR}/cli/site_json.c ${PROJECT_SOURCE_DIR}/cli/site_rows.c ${PROJECT_SOURCE_DIR}/cli/table.c
  ${PROJECT_SOURCE_DIR}/cli/tree_rows.c ${PROJECT_SOURCE_DIR}/cli/value_cells.c ${PROJECT_SOURCE_DIR}/cli/view_json.c
  ${PROJECT_SOURCE_DIR}/cli/view_text.c ${PROJECT_SOURCE_DIR}/cli/view_words.c)
hs_unit_test(headline_test hs_lib)
target_sources(headline_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/memory_text.c ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/option_table.c)
hs_unit_test(site_rows_test hs_lib)
target_sources(site_rows_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/table.c ${PROJECT_SOURCE_DIR}/cli/value_cells.c)
hs_unit_test(terminal_keys_test hs_base)
target_sources(terminal_keys_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/terminal_keys.c)
hs_unit_test(terminal_codes_test hs_base hs_foreign_terminfo)
target_sources(terminal_codes_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/terminal_codes.c)
hs_unit_test(top_model_test hs_lib)
target_sources(top_model_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/terminal_keys.c ${PROJECT_SOURCE_DIR}/cli/top_model.c)
hs_unit_test(top_screen_test hs_lib)
target_sources(top_screen_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/screen.c ${PROJECT_SOURCE_DIR}/cli/table.c
  ${PROJECT_SOURCE_DIR}/cli/top_model.c ${PROJECT_SOURCE_DIR}/cli/top_screen.c)
hs_unit_test(top_rows_test hs_lib)
target_sources(top_rows_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/site_rows.c ${PROJECT_SOURCE_DIR}/cli/table.c
  ${PROJECT_SOURCE_DIR}/cli/top_rows.c ${PROJECT_SOURCE_DIR}/cli/value_cells.c)
hs_unit_test(table_test hs_lib)
target_sources(table_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/console.c)
hs_unit_test(tree_rows_test hs_lib)
target_sources(tree_rows_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/table.c ${PROJECT_SOURCE_DIR}/cli/value_cells.c)
hs_unit_test(why_print_test hs_lib util m)
target_sources(why_print_test PRIVATE ${PROJECT_SOURCE_DIR}/cli/aftermath.c ${PROJECT_SOURCE_DIR}/cli/console.c ${PROJECT_SOURCE_DIR}/cli/detach.c ${PROJECT_SOURCE_DIR}/cli/each_process.c
  ${PROJECT_SOURCE_DIR}/cli/headline.c ${PROJECT_SOURCE_DIR}/cli/memory_text.c ${PROJECT_SOURCE_DIR}/cli/option_table.c ${PROJECT_SOURCE_DIR}/cli/site_rows.c ${PROJECT_SOURCE_DIR}/cli/table.c
  ${PROJECT_SOURCE_DIR}/cli/value_cells.c ${PROJECT_SOURCE_DIR}/cli/why_json.c)
