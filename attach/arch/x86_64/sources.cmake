set(arch_sources branch_scan.c code_step.c extended_state.c gadget_code.c instruction.c island_code.c parking.c raise_code.c register_writes.c relocate.c sigframe.c syscall.c thread_pointer_code.c value_state.c value_step.c wrapper_code.c)
# The decoder of instructions.
set(arch_libraries hs_foreign_zydis)
set(arch_include_directories ${ZYDIS_INCLUDE_DIR})
