# SPDX-License-Identifier: Apache-2.0
"""Sees each check of payload_checks.py fail: the real payload's objects are linked with one bad thing more, or with one thing changed,
and exactly the checks named beside it must find it. Linked without any bad thing, all hold."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import payload_checks
from elf_image import Elf

HERE = os.path.dirname(os.path.abspath(__file__))
ENTRY_SOURCE = os.path.join(HERE, "../../inject/arch/x86_64/entry.S")
COMPILE = ["-O2", "-ffreestanding", "-fPIE", "-fvisibility=hidden", "-mgeneral-regs-only", "-fcf-protection=none", "-I" + os.path.join(HERE, "..", "..")]
LINK = ["-nostdlib", "-Wl,-T," + os.path.join(HERE, "bad_image.lds"), "-Wl,--no-dynamic-linker,-z,norelro,-z,noexecstack,-z,notext",
        "-Wl,--no-warn-rwx-segments,--build-id=none"]


def function(*lines):
    """An assembly source with one function."""
    return ".text\n.globl bad\n.hidden bad\n.type bad, @function\nbad:\n" + "\n".join(lines) + "\nret\n.size bad, . - bad\n"


# What is wrong, the checks that find it, the source that is linked in addition, and its language.
ADDED = [
    ("a global variable", {"writable_data"}, "c", "int counter = 1;"),
    ("a global variable of zeros", {"writable_data"}, "c", "int counter;"),
    ("a table of pointers", {"absolute_relocations", "dynamic_relocations", "writable_data"}, "c",
     "void *memset(void *, int, unsigned long); extern char payload_header[];\nconst void *const table[] = { &memset, payload_header };"),
    ("a pointer among constants", {"absolute_relocations", "dynamic_relocations"}, "S", ".section .rodata\n.quad memset"),
    ("a thread-local variable", {"thread_local_storage"}, "c", "__thread int depth;"),
    ("the use of a thread-local variable", {"thread_local_storage", "segment_access", "absolute_relocations"}, "c",
     "__thread int depth; int bad(void) { return ++depth; }"),
    ("a stack protector", {"segment_access"}, "S", function("mov %fs:0x28, %rax")),
    ("an access through %gs", {"segment_access"}, "S", function("mov %gs:0, %rax")),
    ("a read of the thread pointer that is not listed", {"thread_pointer_reads"}, "S", function("mov %fs:0, %rax")),
    ("a place that is listed and reads something else", {"thread_pointer_reads"}, "S",
     function("1: xor %eax, %eax", ".pushsection .thread_pointer_reads, \"a\"", ".long 1b - .", ".popsection")),
    ("a new thread pointer", {"segment_access"}, "S", function("wrfsbase %rax")),
    ("a reference to an undefined symbol", {"undefined_symbols"}, "S", function(".weak missing", "mov missing@GOTPCREL(%rip), %rax")),
    # The linker resolves it to the address 0: the header.
    ("a call of an undefined function", {"undefined_symbols", "control_flow"}, "S",
     function(".weak missing", ".hidden missing", "call missing")),
    ("a call out of the image", {"control_flow"}, "S", function(".byte 0xe8", ".long 0x100000")),
    ("a jump into the middle of an instruction", {"control_flow"}, "S", function("jmp . + 4", "movabs $0x1122334455667788, %rax")),
    ("a call through memory", {"control_flow"}, "S", function("call *(%rdi)")),
    ("a jump table", {"control_flow"}, "S", function("jmp *%rax")),
    ("code without a name", {"control_flow"}, "S", ".text\nret"),
    ("bytes that are no code", {"system_calls"}, "S", function(".byte 0x06")),
    ("a reference out of the image", {"references"}, "S", function("lea _DYNAMIC(%rip), %rax", ".hidden _DYNAMIC")),
    ("64 KiB of constants", {"size"}, "S", ".section .rodata\n.zero 65536"),
    ("a vector register", {"vector_registers"}, "S", function("movups (%rdi), %xmm0")),
    ("a wide vector register", {"vector_registers"}, "S", function("vmovups (%rdi), %ymm0")),
    ("a floating-point instruction", {"vector_registers"}, "S", function("fld1")),
    ("an extended state that is saved", {"vector_registers"}, "S", function("xsave (%rdi)")),
    ("one more system call", {"system_calls"}, "S", function("mov $39, %eax", "syscall")),
    ("a system call the old way", {"system_calls"}, "S", function("int $0x80")),
    ("a breakpoint", {"system_calls"}, "S", function("int3")),
    ("a trap of the compiler", {"system_calls"}, "c", "void bad(void) { __builtin_trap(); }"),
    ("a section to write and run", {"writable_and_executable"}, "S", '.section .both, "awx", @progbits\n.globl both\nboth: .long 0'),
    ("code beside the image", {"control_flow"}, "S", '.section .beside, "ax", @progbits\n.globl beside\nbeside: ret'),
    ("an initialiser", {"initialisers"}, "S", '.section .init_array, "aw", @init_array\n.quad 0'),
    ("a constructor", {"initialisers", "absolute_relocations", "dynamic_relocations"}, "c",
     "__attribute__((constructor)) void bad(void) { __asm__ volatile(\"nop\"); }"),
]

# Linked for a fixed address, where the linker resolves in silence what it would complain of above. All for absolute_relocations.
FIXED = [
    ("a pointer of 64 bits", ".section .rodata\n.quad memset"),
    ("a pointer of 32 bits", ".section .rodata\n.long memset"),
    ("an address in an instruction", function("mov $memset, %eax")),
    ("an address that is not in the image", ".globl outside\n.section .rodata\n.quad outside"),
]

# What is wrong, the checks that find it, and what becomes what in the assembly of the entries.
CHANGED = [
    ("another magic", {"header"}, ".quad 0x44414f4c59415053", ".quad 0x44414f4c59415054"),
    ("another ABI version", {"header"}, ".long HS_ABI_VERSION ", ".long HS_ABI_VERSION + 1 "),
    ("another size", {"header"}, ".long payload_image_end - payload_header", ".long payload_image_end - payload_header - 4096"),
    ("two entries in the wrong order", {"header"}, ".long entry_calloc - payload_header\n\t.long entry_realloc - payload_header",
     ".long entry_realloc - payload_header\n\t.long entry_calloc - payload_header"),
    ("an entry outside the image", {"header"}, ".long entry_memalign - payload_header", ".long 0x100000"),
    ("an entry too many", {"header"}, "payload_header\n\t.zero 4\n", "payload_header\n\t.long 256\n"),
    ("another place of a gadget", {"header"}, ".long gadget_sigreturn - payload_header", ".long gadget_syscall - payload_header"),
    ("another gadget", {"system_calls"}, "\tsyscall\n\tret", "\tsyscall\n\tnop\n\tret"),
    ("a longer header", {"header", "inline_fast_paths"}, ".zero 14 * 8", ".zero 15 * 8"),
    ("a config that is filled in", {"header"}, ".quad 0                            // region", ".quad 1 // region"),
    ("the state in another place", {"entry_code"}, "// region\nconfig_state:", "// region\n.set config_state, . + 8"),
    ("another place of the trampoline", {"entry_code"}, "#define ISLAND_TRAMPOLINE 128", "#define ISLAND_TRAMPOLINE 136"),
    ("another place of the filter", {"entry_code", "inline_fast_paths"}, "#define STATE_BLOOM 4096", "#define STATE_BLOOM 4160"),
    ("another place of the passes", {"entry_code", "inline_fast_paths"}, "#define STATE_CREDITS 12288", "#define STATE_CREDITS 16384"),
    ("another place of the countdown", {"entry_code", "inline_fast_paths"}, "#define CREDIT_COUNTDOWN 8", "#define CREDIT_COUNTDOWN 16"),
    ("passes of another size", {"entry_code", "inline_fast_paths"}, "#define CREDIT_SHIFT 16", "#define CREDIT_SHIFT 15"),
    ("another number of passes", {"entry_code", "inline_fast_paths"}, "#define CREDIT_MASK 0xffc0", "#define CREDIT_MASK 0x7fc0"),
    ("another hash of thread pointers and addresses", {"entry_code", "inline_fast_paths"}, "#define HASH_FACTOR 0x9e3779b1", "#define HASH_FACTOR 0x1e3779b1"),
    ("another hash of addresses", {"entry_code", "inline_fast_paths"}, "#define BLOOM_SHIFT 19", "#define BLOOM_SHIFT 20"),
    ("another mark for the state pages", {"inline_fast_paths"}, "#define FAST_PATH_STATE 0x5ea7e5ea7e5ea7e5", "#define FAST_PATH_STATE 0x5ea7e5ea7e5ea7e6"),
    ("more trust", {"entry_code", "inline_fast_paths"}, "#define TRUST_CALLS 16", "#define TRUST_CALLS 15"),
    ("an inline fast path that ends too early", {"inline_fast_paths"}, "island_head malloc, 17", "island_head malloc, 16"),
    ("an inline fast path of another kind", {"inline_fast_paths"}, ".long island_malloc - payload_header // island_head, by enum hook_kind\n\t.long island_calloc",
     ".long island_calloc - payload_header // island_head, by enum hook_kind\n\t.long island_malloc"),
    ("an inline fast path for a kind that has none", {"inline_fast_paths"}, "\t.zero 2 * 4\n\t.long island_free", "\t.long 304, 0\n\t.long island_free"),
    ("another beginning", {"inline_fast_paths"}, ".byte begin_free - island_free", ".byte begin_free - island_free + 6"),
    ("a countdown that passes at 0", {"inline_fast_paths"}, "jle undo_", "jl undo_"),
    ("registers pushed in another order", {"entry_code"}, "\tsave %rbx\n\tsave %r12", "\tsave %r12\n\tsave %rbx"),
    ("a result that is not given back where a function returns", {"entry_code"}, "mov FRAME_RAX(%rsp), %rax\n", ""),
    ("a register that a caller may rely on", {"entry_code"}, "\tmov FRAME_CHANGED + 24(%rsp), %r8\n", ""),
    ("the caller's r11 forgotten", {"entry_code"}, "\tmov FRAME_R11(%rsp), %r11\n\tadd", "\tadd"),
    ("another place for the caller's r10", {"entry_code"}, "#define FRAME_R10 136", "#define FRAME_R10 144"),
    ("a fast path that is over when it has not begun", {"entry_code"}, "#define HOOK_NOT_BEGUN 2", "#define HOOK_NOT_BEGUN 3"),
    ("a fast path whose frame lies elsewhere", {"entry_code"}, "lea FAST_SAVED - 40(%rsp), %r8", "lea FAST_SAVED - 32(%rsp), %r8"),
    ("a hook that says elsewhere that it runs", {"entry_code"}, "FAST_SAVED + 8 - 96(%rsp)", "FAST_SAVED + 8 - 88(%rsp)"),
]


def run(*command):
    """What linkers warn of is the very thing that is tried here, so it is shown only when the command fails."""
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{command[-1]} cannot be made:\n{result.stdout}{result.stderr}")

# What is wrong, the check that finds it, and what the program header that speaks of the stack becomes: type and flags.
PT_GNU_STACK = 0x6474e551
STACK_HEADERS = [
    ("a dynamic loader", {"interpreter"}, 3, 4),
    ("a TLS segment", {"thread_local_storage"}, 7, 4),
    ("a stack to run", {"writable_and_executable"}, PT_GNU_STACK, 7),
]


class Builder:
    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.directory = directory
        self.entry_object = next(path for path in arguments.objects if os.path.basename(path).startswith("entry.S"))

    def compile(self, language, source, name="bad"):
        path = os.path.join(self.directory, f"{name}.{language}")
        with open(path, "w", encoding="ascii") as file:
            file.write(source + "\n")
            if language == "S":
                file.write('.section .note.GNU-stack, "", @progbits\n')
        run(self.arguments.compiler, *COMPILE, "-c", path, "-o", path + ".o")
        return path + ".o"

    def link(self, objects, form="-static-pie"):
        linked, flat = os.path.join(self.directory, "bad.elf"), os.path.join(self.directory, "bad.bin")
        run(self.arguments.compiler, form, *LINK, "-Wl,--defsym=outside=0x1234", *objects, "-o", linked)
        run(self.arguments.objcopy, "-O", "binary", "-j", ".image", linked, flat)
        return payload_checks.Payload(linked, objects, flat, self.arguments.header_layout, self.arguments.objdump)

    def with_stack_header(self, kind, flags):
        payload = self.link(self.arguments.objects)
        segments = payload.linked.segments
        index = next(i for i, segment in enumerate(segments) if segment.type == PT_GNU_STACK)
        segments[index] = segments[index]._replace(type=kind, flags=flags)
        return payload

    def with_more(self, language, source, form="-static-pie"):
        return self.link(self.arguments.objects + [self.compile(language, source)], form)

    def with_change(self, old, new):
        with open(ENTRY_SOURCE, encoding="utf-8") as file:
            text = file.read()
        if old not in text:
            raise SystemExit(f"inject/arch/x86_64/entry.S does not contain {old!r} any more: correct this test")
        others = [path for path in self.arguments.objects if path != self.entry_object]
        return self.link([self.compile("S", text.replace(old, new, 1), "entry")] + others)


class Judge:
    def __init__(self):
        self.seen, self.wrong = set(), 0

    def expect(self, what, failed, wanted):
        self.seen |= set(wanted)
        right = set(failed) == set(wanted)
        self.wrong += not right
        print(f"{'ok   ' if right else 'WRONG'} {what}: {', '.join(sorted(failed)) or 'nothing'}")
        if not right:
            print(f"      wanted: {', '.join(sorted(wanted)) or 'nothing'}")
            for name, bad in failed.items():
                for text in bad[:5]:
                    print(f"      {name}: {text}")


def damage(path, directory, offset):
    copy = os.path.join(directory, "damaged")
    shutil.copyfile(path, copy)
    with open(copy, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))
    return copy


def check_copies(arguments, builder, judge):
    """payload.bin, and the image inside the program, with one bit changed."""
    payload = builder.link(arguments.objects)
    payload.flat = payload.flat[:-1] + b"\1"
    judge.expect("another payload.bin", payload_checks.run_checks(payload), {"flat_file"})

    program = Elf(arguments.program)
    image = program.symbol("payload_image")
    section = program.sections[image.section]
    with open(arguments.flat, "rb") as file:
        flat = file.read()
    for what, offset, wanted in (("the program", 0, set()), ("a program with another image", 100, {"embedded_image"})):
        path = damage(arguments.program, builder.directory, section.offset + image.value - section.address + offset) if offset else \
            arguments.program
        bad = payload_checks.embedded_image(path, flat)
        judge.expect(what, {"embedded_image": bad} if bad else {}, wanted)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--compiler", "--objcopy", "--program", "linked", "flat", "header_layout", "objdump"):
        parser.add_argument(name)
    parser.add_argument("objects", nargs="+")
    arguments = parser.parse_args()
    judge = Judge()
    with tempfile.TemporaryDirectory(prefix="heapsnap-artifact-") as directory:
        builder = Builder(arguments, directory)
        judge.expect("nothing bad", payload_checks.run_checks(builder.link(arguments.objects)), set())
        for what, wanted, language, source in ADDED:
            judge.expect(what, payload_checks.run_checks(builder.with_more(language, source)), wanted)
        for what, source in FIXED:
            judge.expect(what, payload_checks.run_checks(builder.with_more("S", source, "-static")), {"absolute_relocations"})
        for what, wanted, old, new in CHANGED:
            judge.expect(what, payload_checks.run_checks(builder.with_change(old, new)), wanted)
        for what, wanted, kind, flags in STACK_HEADERS:
            judge.expect(what, payload_checks.run_checks(builder.with_stack_header(kind, flags)), wanted)
        check_copies(arguments, builder, judge)
    unseen = {check.__name__ for check in payload_checks.CHECKS} - judge.seen
    if unseen:
        print(f"never seen to fail: {', '.join(sorted(unseen))}")
    return 1 if judge.wrong or unseen else 0


sys.exit(main())
