# linked.c and its like in other languages, linked in every way that programs are.
function(hs_linked name)
  add_executable(${name} linked.c)
  hs_target_options(${name})
endfunction()

hs_linked(linked_no_pie)
set_target_properties(linked_no_pie PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(linked_no_pie PRIVATE -fno-pie)
target_link_options(linked_no_pie PRIVATE -no-pie)
hs_linked(linked_static)
target_compile_options(linked_static PRIVATE -fno-pie)
target_link_options(linked_static PRIVATE -static -no-pie)
hs_linked(linked_static_pie)
target_compile_options(linked_static_pie PRIVATE -fPIE)
target_link_options(linked_static_pie PRIVATE -static-pie)
hs_linked(linked_dynsym) # stripped: all names that are left stand in .dynsym
target_compile_definitions(linked_dynsym PRIVATE EXPORTED)
target_link_options(linked_dynsym PRIVATE -rdynamic -s)
hs_linked(linked_static_stripped)
target_compile_options(linked_static_stripped PRIVATE -fno-pie)
target_link_options(linked_static_stripped PRIVATE -static -no-pie -s)

# Wrappers of allocations, as compilers make them and as they are linked.
foreach(level 0 2)
  foreach(kind "" static_)
    set(name wrappers_${kind}o${level})
    add_executable(${name} wrappers.c)
    hs_target_options(${name})
    target_compile_options(${name} PRIVATE -O${level})
    if(kind)
      target_compile_options(${name} PRIVATE -fno-pie)
      target_link_options(${name} PRIVATE -static -no-pie)
    endif()
  endforeach()
endforeach()

# hs_made(name source command...): a program that a compiler of its own makes, in one command; its output is the last argument.
function(hs_made name source)
  add_custom_command(OUTPUT ${name} COMMAND ${ARGN} ${CMAKE_CURRENT_BINARY_DIR}/${name}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${CMAKE_CURRENT_SOURCE_DIR}/commands.h WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} VERBATIM)
  add_custom_target(make_${name} ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${name})
endfunction()

find_program(HEAPSNAP_MUSL_GCC musl-gcc)
if(HEAPSNAP_MUSL_GCC)
  set(flags -Wall -Wextra -O2 -g -fomit-frame-pointer -D_GNU_SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/linked.c)
  hs_made(linked_musl linked.c ${HEAPSNAP_MUSL_GCC} ${flags} -o)
  hs_made(linked_musl_static linked.c ${HEAPSNAP_MUSL_GCC} -static ${flags} -o)
  hs_made(linked_musl_stripped linked.c ${HEAPSNAP_MUSL_GCC} -static -s ${flags} -o)
  set(flags -Wall -Wextra -O2 -g -fomit-frame-pointer -D_GNU_SOURCE)
  hs_made(ptrace_stacks_musl ptrace_stacks.c ${HEAPSNAP_MUSL_GCC} -static -pthread ${flags} ${CMAKE_CURRENT_SOURCE_DIR}/ptrace_stacks.c -o)
  hs_made(dlopen_musl dlopen_loop.c ${HEAPSNAP_MUSL_GCC} ${flags} ${CMAKE_CURRENT_SOURCE_DIR}/dlopen_loop.c -o)
  hs_made(many_lives_musl many_lives.c ${HEAPSNAP_MUSL_GCC} ${flags} ${CMAKE_CURRENT_SOURCE_DIR}/many_lives.c -o)
  hs_made(libmusl_plugin.so plugin.c ${HEAPSNAP_MUSL_GCC} -shared -fPIC -Wl,--eh-frame-hdr -DALLOCATE=loop_plugin_allocate ${flags}
    ${CMAKE_CURRENT_SOURCE_DIR}/plugin.c -o)
  # As gcc does it on systems whose own library is musl; musl-gcc knows no -static-pie.
  set(musl /usr/lib/x86_64-linux-musl)
  if(EXISTS ${musl}/rcrt1.o)
    hs_made(linked_musl_static_pie linked.c ${CMAKE_C_COMPILER} -nostdinc -isystem /usr/include/x86_64-linux-musl -fPIE -static-pie
      -nostdlib -nostartfiles -U_FORTIFY_SOURCE -fno-stack-protector -Wl,--eh-frame-hdr
      ${musl}/rcrt1.o ${musl}/crti.o ${flags} ${CMAKE_CURRENT_SOURCE_DIR}/linked.c ${musl}/libc.a ${musl}/crtn.o -o)
  endif()
else()
  hs_left_out("programs of musl, for lack of musl-gcc")
endif()

# Debian's own, not one that a user has installed: its version is known.
find_program(HEAPSNAP_RUSTC rustc PATHS /usr/bin NO_DEFAULT_PATH)
if(HEAPSNAP_RUSTC)
  set(flags --edition 2018 -C opt-level=2 -C debuginfo=1 -C codegen-units=1 ${CMAKE_CURRENT_SOURCE_DIR}/linked.rs)
  hs_made(linked_rust linked.rs ${HEAPSNAP_RUSTC} ${flags} -o)
  hs_made(planted_leaks_rust planted_leaks.rs ${HEAPSNAP_RUSTC} --edition 2018 -C opt-level=2 -C debuginfo=1 ${CMAKE_CURRENT_SOURCE_DIR}/planted_leaks.rs -o)
  hs_made(linked_rust_v0 linked.rs ${HEAPSNAP_RUSTC} -C symbol-mangling-version=v0 ${flags} -o)
  if(HEAPSNAP_JEMALLOC_ARCHIVE) # families.cmake has looked for it
    # The names that the crate's own build has: its public functions begin with _rjem_.
    add_custom_command(OUTPUT librjem.a
      COMMAND ${CMAKE_COMMAND} -E copy ${HEAPSNAP_JEMALLOC_ARCHIVE} librjem.a
      COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${CMAKE_CURRENT_SOURCE_DIR}/rjem_names librjem.a
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/rjem_names VERBATIM)
    add_custom_target(make_librjem ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/librjem.a)
    hs_made(linked_rust_jemalloc linked.rs ${HEAPSNAP_RUSTC} --cfg jemalloc -L ${CMAKE_CURRENT_BINARY_DIR}
      -C link-args=-Wl,--push-state,-Bstatic,-lrjem,--pop-state,-lstdc++,-lm,-lc ${flags} -o)
    add_dependencies(make_linked_rust_jemalloc make_librjem)
  endif()
else()
  hs_left_out("Rust programs, for lack of /usr/bin/rustc")
endif()

find_program(HEAPSNAP_GO go)
if(HEAPSNAP_GO)
  set(go ${CMAKE_COMMAND} -E env GOFLAGS=-mod=mod GO111MODULE=off GOTOOLCHAIN=local GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go_cache
    CC=${CMAKE_C_COMPILER})
  hs_made(linked_go linked.go ${go} CGO_ENABLED=0 ${HEAPSNAP_GO} build -o linked_go ${CMAKE_CURRENT_SOURCE_DIR}/linked.go COMMAND true)
  hs_made(linked_cgo linked_cgo.go ${go} CGO_ENABLED=1 ${HEAPSNAP_GO} build -o linked_cgo ${CMAKE_CURRENT_SOURCE_DIR}/linked_cgo.go
    COMMAND true)
else()
  hs_left_out("the refusal of Go programs, for lack of go")
endif()
