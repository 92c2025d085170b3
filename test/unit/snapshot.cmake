hs_unit_test(sandbox_test hs_snapshot)
hs_unit_test(symbol_answer_test hs_snapshot)
hs_unit_test(allocator_names_test hs_snapshot hs_views)
hs_unit_test(debuginfod_test hs_snapshot)
hs_unit_test(dwarf_test hs_snapshot)
hs_unit_test(perf_map_test hs_snapshot)
hs_unit_test(range_index_test hs_snapshot)
hs_unit_test(symbol_cache_test hs_snapshot)
hs_unit_test(symbol_table_test hs_snapshot)
hs_unit_test(unnamed_code_test hs_snapshot)
hs_unit_test(wrapper_code_test hs_snapshot hs_attach)

# The symbolizer is tested on a library of known names and lines, in four states.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER AND CMAKE_OBJCOPY)
  enable_language(CXX)
  add_library(symbolize_fixture SHARED ${CMAKE_CURRENT_LIST_DIR}/symbolize_fixture.cpp)
  add_library(symbolize_no_id SHARED ${CMAKE_CURRENT_LIST_DIR}/symbolize_fixture.cpp)
  foreach(fixture symbolize_fixture symbolize_no_id)
    target_compile_options(${fixture} PRIVATE -g -O2 -std=c++17)
    set_target_properties(${fixture} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/symbolize)
  endforeach()
  target_link_options(symbolize_fixture PRIVATE -Wl,--build-id=sha1)
  target_link_options(symbolize_no_id PRIVATE -Wl,--build-id=none)
  # "linked" has its debug file beside it, named by .gnu_debuglink; "stripped" has none at all.
  add_custom_command(TARGET symbolize_fixture POST_BUILD
    COMMAND ${CMAKE_OBJCOPY} --only-keep-debug libsymbolize_fixture.so libsymbolize_linked.debug
    COMMAND ${CMAKE_OBJCOPY} --strip-all --add-gnu-debuglink=libsymbolize_linked.debug
      libsymbolize_fixture.so libsymbolize_linked.so
    COMMAND ${CMAKE_OBJCOPY} --strip-all libsymbolize_fixture.so libsymbolize_stripped.so
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/symbolize
    VERBATIM
  )
  # What compilers and linkers make of debug information.
  foreach(kind dwarf2 dwarf4 dwarf5 dwarf64 split types)
    add_library(symbolize_${kind} SHARED ${CMAKE_CURRENT_LIST_DIR}/symbolize_fixture.cpp)
    target_compile_options(symbolize_${kind} PRIVATE -g -O2 -std=c++17)
    set_target_properties(symbolize_${kind} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/symbolize)
    target_link_options(symbolize_${kind} PRIVATE -Wl,--build-id=sha1)
  endforeach()
  target_compile_options(symbolize_dwarf2 PRIVATE -gdwarf-2)
  target_compile_options(symbolize_dwarf4 PRIVATE -gdwarf-4)
  target_compile_options(symbolize_dwarf64 PRIVATE -gdwarf-5 -gdwarf64)
  target_compile_options(symbolize_types PRIVATE -gdwarf-5 -fdebug-types-section)
  target_compile_options(symbolize_dwarf5 PRIVATE -gdwarf-5)
  target_compile_options(symbolize_split PRIVATE -gdwarf-5 -gsplit-dwarf)
  add_custom_command(TARGET symbolize_fixture POST_BUILD
    COMMAND ${CMAKE_OBJCOPY} --compress-debug-sections=zlib libsymbolize_fixture.so libsymbolize_compressed.so
    COMMAND ${CMAKE_OBJCOPY} --compress-debug-sections=zlib-gnu libsymbolize_fixture.so libsymbolize_zdebug.so
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/symbolize
    VERBATIM
  )
  # "mini" has its local symbols in .gnu_debugdata, as Fedora's files do; without xz it is the stripped one.
  find_program(XZ xz)
  if(XZ)
    add_custom_command(TARGET symbolize_fixture POST_BUILD
      COMMAND ${CMAKE_OBJCOPY} --strip-debug libsymbolize_fixture.so libsymbolize_mini.symbols
      COMMAND ${XZ} -kf libsymbolize_mini.symbols
      COMMAND ${CMAKE_OBJCOPY} --strip-all --add-section=.gnu_debugdata=libsymbolize_mini.symbols.xz
        libsymbolize_fixture.so libsymbolize_mini.so
      WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/symbolize
      VERBATIM
    )
  endif()
  hs_unit_test(symbolize_test hs_snapshot ${CMAKE_DL_LIBS})
  target_compile_definitions(symbolize_test PRIVATE
    FIXTURE_DIRECTORY="${CMAKE_CURRENT_BINARY_DIR}/symbolize" $<$<BOOL:${XZ}>:HAS_MINI>)
  add_dependencies(symbolize_test symbolize_fixture symbolize_no_id symbolize_dwarf4 symbolize_dwarf5 symbolize_split)
  hs_unit_test(dwarf_libdw_test hs_snapshot PkgConfig::LIBDW)
  target_compile_definitions(dwarf_libdw_test PRIVATE FIXTURE_DIRECTORY="${CMAKE_CURRENT_BINARY_DIR}/symbolize")
  add_dependencies(dwarf_libdw_test symbolize_fixture symbolize_dwarf2 symbolize_dwarf4 symbolize_dwarf5 symbolize_dwarf64
    symbolize_split symbolize_types)
endif()
hs_unit_test(table_check_test hs_snapshot)
hs_unit_test(size_age_test hs_heap_profile)
hs_unit_test(birth_line_test hs_snapshot)
hs_unit_test(record_filter_test hs_snapshot)
hs_unit_test(aggregate_labels_test hs_snapshot)
hs_unit_test(hook_labels_test hs_snapshot)
hs_unit_test(thread_names_test hs_snapshot)
hs_unit_test(aggregate_test hs_snapshot hs_sampling_math)
hs_unit_test(profile_build_test hs_snapshot)
hs_unit_test(ledger_test hs_snapshot)
hs_unit_test(word_index_test hs_snapshot)
hs_unit_test(table_copy_test hs_snapshot)
hs_unit_test(region_layout_test hs_snapshot ZLIB::ZLIB)
target_compile_definitions(region_layout_test PRIVATE REGIONS="${CMAKE_CURRENT_LIST_DIR}/regions")
hs_unit_test(running_cut_test hs_snapshot hs_attach)
hs_unit_test(process_memory_test hs_snapshot)
