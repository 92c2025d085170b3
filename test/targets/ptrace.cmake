# The programs of test/unharmed/: each prints "ready", works until its standard input ends, checks its own work, and says the
# verdict in its exit status.
foreach(name ptrace_compute ptrace_failing_exec ptrace_signals ptrace_sleepers ptrace_spawner ptrace_stacks ptrace_steps ptrace_transfers ptrace_waits)
  hs_target_program(${name})
endforeach()
hs_target_program(ptrace_exec)
target_link_libraries(ptrace_compute PRIVATE m)
# Its stack is full: the loader would need room on it to look up a function, kilobytes with a large XSAVE area.
target_link_options(ptrace_stacks PRIVATE LINKER:-z,now)
