# SPDX-License-Identifier: Apache-2.0
# Longer than 500 lines: one check after the other, of the same image.
"""What must be true of the payload after it is linked. Each check is a function of a Payload that returns what is wrong with it, as a
list of texts; CHECKS names them all. bad_images.py shows each of them fail."""

import re
import struct
import subprocess

from elf_image import (Elf, PF_W, PF_X, PT_INTERP, PT_TLS, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS, SHF_WRITE, SHN_UNDEF, SHT_FINI_ARRAY,
                       SHT_INIT_ARRAY, SHT_NOBITS, SHT_PREINIT_ARRAY, SHT_REL, SHT_RELA, SHT_RELR, STT_FILE, STT_SECTION, STT_TLS)

SIZE_LIMIT = 65536
IMAGE, LINKER_TABLES = ".image", ".linker_tables"

# psABI x86-64, table "Relocation Types". The *GOTPCRELX are references that the linker has made direct: a call or load through
# the table would be an indirect one in the linked code, and the table itself a section.
PC_RELATIVE = {2: "PC32", 4: "PLT32", 24: "PC64", 41: "GOTPCRELX", 42: "REX_GOTPCRELX"}
# Tags of the dynamic section that announce relocations (System V ABI, chapter 5).
DYNAMIC_RELOCATIONS = {2: "PLTRELSZ", 7: "RELA", 17: "REL", 22: "TEXTREL", 23: "JMPREL", 36: "RELR"}
DYNAMIC_INITIALISERS = {12: "INIT", 13: "FINI", 25: "INIT_ARRAY", 26: "FINI_ARRAY", 32: "PREINIT_ARRAY"}


class Instruction:
    def __init__(self, address, text):
        self.address = address
        code, _, comment = text.partition("#")
        words = code.split(None, 1)
        while len(words) == 2 and words[0] in PREFIXES:
            words = words[1].split(None, 1)
        self.mnemonic = words[0]
        self.operands = words[1].strip() if len(words) == 2 else ""
        self.text = " ".join(code.split())
        target = re.match(r"\s*([0-9a-f]+)", comment)
        self.data_address = int(target.group(1), 16) if target and "(%rip)" in self.operands else None

    def __str__(self):
        return f"{self.address:#x}: {self.text}"


PREFIXES = {"addr32", "data16", "lock", "rep", "repz", "repnz", "bnd", "notrack", "cs", "ds", "es", "ss"}


class Payload:
    """The linked image, the object files that it was linked from, payload.bin, and what the headers say (header_layout.c)."""

    def __init__(self, linked, objects, flat, header_layout, objdump):
        self.linked = Elf(linked)
        self.objects = [Elf(path) for path in objects]
        with open(flat, "rb") as file:
            self.flat = file.read()
        self.layout = {}
        for line in subprocess.run([header_layout], check=True, capture_output=True, text=True).stdout.splitlines():
            name, value = line.split()
            self.layout[name] = int(value)
        section = self.linked.section(IMAGE)
        self.image = self.linked.content(section) if section else b""
        self.unplaced_code = []
        self.code_ranges = self._find_code()
        self.all_instructions = self._disassemble(objdump)
        self.instructions = [i for i in self.all_instructions if self.is_code(i.address)]

    def _find_code(self):
        """Where each object's code lies in the image: placed by any symbol of it whose name is unique. Code that has only functions of headers, which
        other objects have as well, lies where all of these are, and no other object's."""
        names = [symbol.name for symbol in self.linked.symbols]
        linked = {symbol.name: symbol for symbol in self.linked.symbols if names.count(symbol.name) == 1}
        ranges, shared = [], []
        for file in self.objects:
            for section in file.sections:
                if not section.flags & SHF_EXECINSTR or section.size == 0 or section.name == ".head":
                    continue
                known = [symbol for symbol in file.symbols if symbol.section == section.index and symbol.name in linked and
                         symbol.type not in (STT_SECTION, STT_FILE)]
                if known and self.linked.sections[linked[known[0].name].section].name != IMAGE:
                    if not section.flags & SHF_WRITE:  # which is worse, and has a check of its own
                        self.unplaced_code.append(f"{file.path}: {section.name} is not in the image")
                elif known:
                    start = linked[known[0].name].value - known[0].value
                    ranges.append((start, start + section.size))
                else:
                    shared.append((file, section))
        for file, section in shared:
            starts = [{other.value - symbol.value for other in self.linked.symbols if other.name == symbol.name} for symbol in file.symbols
                      if symbol.section == section.index and symbol.type not in (STT_SECTION, STT_FILE)]
            starts = {start for start in (set.intersection(*starts) if starts else set()) if not any(low <= start < high for low, high in ranges)}
            if len(starts) == 1:
                start = starts.pop()
                ranges.append((start, start + section.size))
            else:
                self.unplaced_code.append(f"{file.path}: {section.name} has no symbol of its own")
        return sorted(ranges)

    def is_code(self, address):
        return any(start <= address < end for start, end in self.code_ranges)

    def _disassemble(self, objdump):
        listing = subprocess.run([objdump, "-d", "-w", "-z", "--no-show-raw-insn", "-j", IMAGE, self.linked.path], check=True,
                                 capture_output=True, text=True).stdout
        instructions = []
        for line in listing.splitlines():
            match = re.match(r"\s*([0-9a-f]+):\t(.+)", line)
            if match:
                instructions.append(Instruction(int(match.group(1), 16), match.group(2)))
        return instructions

    def function(self, name):
        """The instructions of one function."""
        symbol = self.linked.symbol(name)
        if not symbol:
            return []
        return [i for i in self.instructions if symbol.value <= i.address < symbol.value + symbol.size]

    def function_at(self, address):
        for symbol in self.linked.symbols:
            if symbol.section != SHN_UNDEF and symbol.value <= address < symbol.value + symbol.size:
                return symbol.name
        return "?"

    def field(self, name, form="<I", index=0):
        offset = self.layout[f"payload_header.{name}"] + index * struct.calcsize(form)
        return struct.unpack_from(form, self.image, offset)[0] if len(self.image) >= offset + struct.calcsize(form) else 0

    def kinds(self):
        return {name[5:]: number for name, number in self.layout.items() if name.startswith("kind.")}


def undefined_symbols(payload):
    """Of the objects too: a weak one is resolved to nothing in silence."""
    names = {symbol.name for file in [payload.linked] + payload.objects for symbol in file.symbols
             if symbol.section == SHN_UNDEF and symbol.name and symbol.name != "_GLOBAL_OFFSET_TABLE_"}
    defined = {symbol.name for symbol in payload.linked.symbols if symbol.section != SHN_UNDEF}
    return [f"{name} is undefined" for name in sorted(names - defined)]


def thread_local_storage(payload):
    bad = ["there is a TLS segment" for segment in payload.linked.segments if segment.type == PT_TLS]
    bad += [f"section {section.name} is TLS" for section in payload.linked.sections if section.flags & SHF_TLS]
    return bad + [f"symbol {symbol.name} is TLS" for symbol in payload.linked.symbols if symbol.type == STT_TLS]


def interpreter(payload):
    return ["a dynamic loader is asked for" for segment in payload.linked.segments if segment.type == PT_INTERP]


def writable_and_executable(payload):
    bad = [f"segment {i} is writable and executable" for i, segment in enumerate(payload.linked.segments)
           if segment.flags & PF_W and segment.flags & PF_X]
    return bad + [f"section {section.name} is writable and executable" for section in payload.linked.sections
                  if section.flags & SHF_WRITE and section.flags & SHF_EXECINSTR]


def writable_data(payload):
    """But for what the linker makes for a loader that never comes; it is not in payload.bin, and `references` sees to it that the image
    does not use it."""
    others = (SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY)
    return [f"section {section.name} has {section.size} writable bytes" for section in payload.linked.sections
            if section.flags & SHF_WRITE and section.flags & SHF_ALLOC and not section.flags & (SHF_TLS | SHF_EXECINSTR)
            and section.size and section.name != LINKER_TABLES and section.type not in others]


def initialisers(payload):
    bad = []
    for file in [payload.linked] + payload.objects:
        bad += [f"{file.path}: section {section.name}" for section in file.sections if section.size and (
            section.type in (SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY) or re.match(r"\.(ctors|dtors|init|fini)\b", section.name))]
    return bad + [f"dynamic entry {DYNAMIC_INITIALISERS[tag]}" for tag, _ in payload.linked.dynamic_entries()
                  if tag in DYNAMIC_INITIALISERS]


def dynamic_relocations(payload):
    bad = [f"section {section.name} holds relocations" for section in payload.linked.sections
           if section.type in (SHT_RELA, SHT_REL, SHT_RELR) and section.size]
    return bad + [f"dynamic entry {DYNAMIC_RELOCATIONS[tag]}" for tag, value in payload.linked.dynamic_entries()
                  if tag in DYNAMIC_RELOCATIONS and (value or tag == 22)]


def absolute_relocations(payload):
    """The link resolves an absolute reference in silence when it takes the image for one with a fixed address."""
    return [f"{file.path}: {section.name}+{relocation.offset:#x}: relocation type {relocation.type} to {relocation.symbol.name}"
            for file in payload.objects for section, relocation in file.relocations()
            if section.flags & SHF_ALLOC and section.name != ".eh_frame" and relocation.type not in PC_RELATIVE]


def size(payload):
    bad = []
    if not 0 < len(payload.image) <= SIZE_LIMIT:
        bad.append(f"the image has {len(payload.image)} bytes; the limit is {SIZE_LIMIT}")
    if len(payload.image) % payload.layout["HS_PAGE_SIZE"]:
        bad.append("the image ends within a page")
    return bad


def flat_file(payload):
    return [] if payload.flat == payload.image else ["payload.bin is not the content of the section .image"]


def header(payload):
    layout, bad = payload.layout, []

    def compare(name, found, wanted):
        if found != wanted:
            bad.append(f"{name} is {found:#x}, not {wanted:#x}")

    def address_of(name):
        symbol = payload.linked.symbol(name)
        return symbol.value if symbol else -1

    symbol = payload.linked.symbol("payload_header")
    compare("the header's address", symbol.value if symbol else -1, 0)
    compare("the header's size", symbol.size if symbol else 0, layout["sizeof.payload_header"])
    compare("magic", payload.field("magic", "<Q"), layout["HS_PAYLOAD_MAGIC"])
    compare("abi_version", payload.field("abi_version"), layout["HS_ABI_VERSION"])
    compare("image_size", payload.field("image_size"), len(payload.image))
    kinds = payload.kinds()
    for kind, number in kinds.items():
        compare(f"entry[{kind}]", payload.field("entry", index=number), address_of(f"entry_{kind}"))
        if not payload.is_code(payload.field("entry", index=number)):
            bad.append(f"entry[{kind}] does not point at code")
    entry_end = layout["payload_header.syscall_gadget"]
    unused = payload.image[layout["payload_header.entry"] + 4 * len(kinds):entry_end]
    if any(unused):
        bad.append("an unused entry is not 0")
    for gadget in ("syscall", "sigreturn"):
        compare(f"{gadget}_gadget", payload.field(f"{gadget}_gadget"), address_of(f"gadget_{gadget}"))
    if any(payload.image[layout["payload_header.config"]:layout["payload_header.island_head"]]):
        bad.append("config is not empty")
    return bad


# Instructions that hand control to the kernel, by design or by a fault.
KERNEL_ENTRY = re.compile(r"(syscall|sysenter|sysret|sysexit|int|int1|int3|into|icebp|ud0|ud1|ud2|ud2[ab]|hlt|\(bad\))$")


def system_calls(payload):
    gadgets = {name: payload.linked.symbol(name).value for name in ("gadget_syscall", "gadget_sigreturn") if payload.linked.symbol(name)}
    allowed = {gadgets.get("gadget_syscall", -1), gadgets.get("gadget_sigreturn", -1) + 5}
    bad = [f"{i} in {payload.function_at(i.address)}" for i in payload.instructions
           if KERNEL_ENTRY.match(i.mnemonic) and not (i.mnemonic == "syscall" and i.address in allowed)]
    for name, code in (("gadget_syscall", b"\x0f\x05\xc3"), ("gadget_sigreturn", b"\xb8\x0f\0\0\0\x0f\x05")):
        if payload.image[gadgets.get(name, 0):][:len(code)] != code:
            bad.append(f"{name} is not the code that attach/ptrace/remote_call.h describes")
    return bad


VECTOR_OPERAND = re.compile(r"%(xmm|ymm|zmm|mm|st|k|tmm|bnd|cr|dr)\(?[0-9]*")
VECTOR_MNEMONIC = re.compile(r"(f|v|emms|ldmxcsr|stmxcsr|xsave|xrstor|wrpkru)")


def vector_registers(payload):
    return [f"{i} in {payload.function_at(i.address)}" for i in payload.instructions
            if VECTOR_OPERAND.search(i.operands) or VECTOR_MNEMONIC.match(i.mnemonic)]


def segment_access(payload):
    """Only the thread pointer is read through %fs."""
    return [f"{i} in {payload.function_at(i.address)}" for i in payload.instructions
            if (re.search(r"%[fg]s\b", i.text) and not re.match(r"mov %fs:0x0,%r\w+$", i.text)) or
            re.match(r"(rd|wr)[fg]sbase|swapgs|[fg]s$", i.mnemonic)]


def thread_pointer_reads(payload):
    """The list in the header names each place that reads the thread pointer, where the tool puts another instruction, and nothing else. The inline fast paths,
    which only run in islands, are not in it."""
    first, end = payload.field("thread_pointer_reads"), payload.field("thread_pointer_reads_end")
    listed = {at + struct.unpack_from("<i", payload.image, at)[0] for at in range(first, end, 4)}
    found = {i.address for i in payload.instructions if "%fs:0x0" in i.text and not payload.function_at(i.address).startswith("island_")}
    bad = [f"{place:#x} is in the list and does not read the thread pointer" for place in sorted(listed - found)]
    bad += [f"{place:#x} in {payload.function_at(place)} reads the thread pointer and is not in the list" for place in sorted(found - listed)]
    bad += [f"{place:#x} is not coded as the tool expects it" for place in sorted(listed & found)
            if not re.match(rb"\x64[\x48\x4c]\x8b[\x04\x0c\x14\x1c\x24\x2c\x34\x3c]\x25\0\0\0\0", payload.image[place:place + 9])]
    return bad or ([] if found else ["no place reads the thread pointer"])


# Besides the bodies of hooks: the generic kinds' call of the original, and those who ask for the size of a block.
CALLERS_OF_THE_TARGET = ("arch_call", "unknown_free", "reallocation_begin", "usable_size")


def control_flow(payload):
    """Direct calls and jumps stay within the code of the image. Indirect ones leave it by design: for the original function, from a hook,
    or to its trampoline."""
    known = {i.address for i in payload.instructions}
    companion = payload.layout["hook_island.companion"]
    outside = re.compile(rf"\*({companion:#x}\()?%r\w+\)?$")
    bad = list(payload.unplaced_code)
    bad += [f"{start:#x} begins code that cannot be decoded" for start, _ in payload.code_ranges if start not in known]
    for i in payload.instructions:
        if not re.match(r"(call|j\w+|loop\w*)$", i.mnemonic):
            continue
        where = payload.function_at(i.address)
        if not i.operands.startswith("*"):
            if int(i.operands.split()[0], 16) not in known:
                bad.append(f"{i} in {where} leads out of the code")
        elif not ((i.mnemonic == "jmp" and i.operands in ("*%r11", "*-0x80(%rsp)") and where.startswith("entry_")) or
                  (i.mnemonic == "call" and i.operands == "*(%rsp)" and where == "arch_call") or
                  (i.mnemonic in ("call", "jmp") and outside.match(i.operands) and
                   (where.startswith("hook_") or where.split(".")[0] in CALLERS_OF_THE_TARGET))):
            bad.append(f"{i} in {where} leads to an unknown place")
    return bad


def references(payload):
    """What the code reads by its own address lies in the image."""
    return [f"{i} in {payload.function_at(i.address)}" for i in payload.instructions
            if i.data_address is not None and not 0 <= i.data_address < len(payload.image)]


GENERAL_KINDS = ("allocate", "release", "reallocate", "resize", "watched", "exit_point")
ARGUMENT_REGISTERS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")


CHANGED_REGISTERS = ("rcx", "rsi", "rdi", "r8", "r9", "r10", "r11")


def stack_slot(offset):
    return f"{offset:#x}(%rsp)" if offset else "(%rsp)"


def call_frame(payload, name, code):
    """The entry of a generic kind fills struct call_frame, which begins at its stack pointer and ends with what it pushed; whoever goes on to the trampoline has all
    registers back, and whoever returns has them as the original left them."""
    layout = payload.layout
    places = {register: layout["call_frame.arguments"] + 8 * i for i, register in enumerate(ARGUMENT_REGISTERS)}
    places.update(rax=layout["call_frame.before"], r10=layout["call_frame.r10"], r11=layout["call_frame.r11"])
    moves = [i.operands for i in code if i.mnemonic == "mov"]
    bad = []
    if layout["call_frame.entry"] + 8 * 7 != layout["sizeof.call_frame"]:
        bad.append("struct call_frame does not end with struct entry_frame")
    if f"$0x{layout['call_frame.entry']:x},%rsp" not in [i.operands for i in code if i.mnemonic == "sub"]:
        bad.append(f"{name} makes no room for struct call_frame")
    for register, place in places.items():
        source = "r10" if register == "r11" else register  # by way of r10
        if f"%{source},{stack_slot(place)}" not in moves:
            bad.append(f"{name} does not save {register} at {stack_slot(place)}")
        if f"{stack_slot(place)},%{register}" not in moves:
            bad.append(f"{name} does not give {register} back from {stack_slot(place)}")
    if f"%r11,{stack_slot(layout['call_frame.island'])}" not in moves:
        bad.append(f"{name} does not say which island it is for")
    if name in ("entry_allocate", "entry_reallocate", "entry_resize"):
        for i, register in enumerate(CHANGED_REGISTERS):
            slot = stack_slot(layout["call_frame.changed"] + 8 * i)
            if f"{slot},%{register}" not in moves:
                bad.append(f"{name} does not hand {register} on from {slot}")
    return bad


def passes(payload, name, code):
    """What lets a call of a generic kind pass repeats numbers of the headers, as the inline fast paths do."""
    layout = payload.layout
    shift = 32 - (layout["HS_SAMPLING_CREDITS"].bit_length() - 1) - (layout["sizeof.sampling_credit"].bit_length() - 1)
    wanted = {
        "entry_allocate": [("cmpw", f"$0x1,{layout['hook_island.layout']:#x}(%r11)"), ("mov", f"{layout['hook_island.hook_index']:#x}(%r11),%eax"),
                           ("cmpb", f"${layout['HS_TRUST_CALLS']:#x},{layout['payload_state.hook_trust']:#x}(%r10,%rax,1)"),
                           ("imul", f"${layout['HS_HASH_FACTOR']:#x},%r11d,%eax"), ("shr", f"${shift:#x},%eax"),
                           ("and", f"${(layout['HS_SAMPLING_CREDITS'] - 1) * layout['sizeof.sampling_credit']:#x},%eax"),
                           ("cmp", f"%r11,{layout['payload_state.credits']:#x}(%r10,%rax,1)"),
                           ("sub", f"%rdi,{layout['payload_state.credits'] + layout['sampling_credit.countdown']:#x}(%r10,%rax,1)")],
        "entry_release": [("cmpq", f"$0x10000,{layout['hook_island.layout']:#x}(%r11)"), ("imul", f"${layout['HS_HASH_FACTOR']:#x},%edi,%eax"),
                          ("shr", f"${layout['HS_BLOOM_SHIFT']:#x},%eax"), ("cmpb", f"$0x0,{layout['payload_state.bloom']:#x}(%r10,%rax,1)")],
    }.get(name, [])
    there = [(i.mnemonic, i.operands) for i in code]
    return [f"{name} lacks {mnemonic} {operands}" for mnemonic, operands in wanted if (mnemonic, operands) not in there]


def entry_code(payload):
    """The numbers that the assembly of the entries repeats from C."""
    bad = []
    frame = sorted((offset, name[12:]) for name, offset in payload.layout.items() if name.startswith("entry_frame."))
    pushed = [f"%{'rbp' if name == 'fp' else name}" for _, name in reversed(frame[:-1])]
    state = payload.layout["payload_header.config"] + payload.layout["payload_config.state"]
    trampoline = f"{payload.layout['HS_ISLAND_TRAMPOLINE_OFFSET']:#x}(%r11),%r11"
    if [offset for offset, _ in frame] != [8 * i for i in range(len(frame))] or frame[-1][1] != "return_address":
        bad.append("struct entry_frame has gaps, or does not end with the return address")
    for kind in payload.kinds():
        code = payload.function(f"entry_{kind}")
        if not code or code[kind in GENERAL_KINDS or kind == "loader_event"].data_address != state:
            bad.append(f"entry_{kind} does not begin by reading config.state")
        if kind == "loader_event":
            continue
        if kind == "exit_point":
            if code[-1].mnemonic != "ret" or any(i.mnemonic == "jmp" for i in code):
                bad.append("entry_exit_point does not return")
        elif kind in GENERAL_KINDS:
            offset = f"${payload.layout['HS_ISLAND_TRAMPOLINE_OFFSET']:#x},%r11"
            leaves = 3 if kind in ("allocate", "release") else 2
            if [i.operands for i in code if i.mnemonic == "add"].count(offset) != leaves or \
               [i.operands for i in code if i.mnemonic == "jmp"].count("*-0x80(%rsp)") != leaves:
                bad.append(f"entry_{kind} does not pass through to the trampoline at {trampoline}")
        elif not any(a.mnemonic == "lea" and a.operands == trampoline and b.operands == "*%r11" for a, b in zip(code, code[1:])):
            bad.append(f"entry_{kind} does not pass through to the trampoline at {trampoline}")
        pushes = [i.operands for i in code if i.mnemonic == "push"]
        if kind != "free" and pushes != pushed:
            bad.append(f"entry_{kind} pushes {' '.join(pushes)}, and struct entry_frame says {' '.join(pushed)}")
        if kind in GENERAL_KINDS:
            bad += call_frame(payload, f"entry_{kind}", code) + passes(payload, f"entry_{kind}", code)
        if payload.function(f"hook_{kind}_fast"):
            bad += fast_entry(payload, f"entry_{kind}", code)
    return bad


def stack_depths(code):
    """Before each instruction: how many bytes lie between the stack pointer and where the return address is. Behind a jump that is not conditional, as at
    its target; the entries have such jumps forward only."""
    depths, at, depth = [], {}, 0
    for i in code:
        depth = at.get(i.address, depth)
        depths.append(depth)
        if i.mnemonic == "push":
            depth += 8
        elif i.mnemonic in ("add", "sub") and i.operands.endswith(",%rsp"):
            by = int(i.operands[1:].split(",")[0], 16)
            by -= (by >> 63) << 64
            depth += by if i.mnemonic == "sub" else -by
        elif i.mnemonic.startswith("j") and not i.operands.startswith("*"):
            at[int(i.operands.split()[0], 16)] = depth
    return depths


def fast_entry(payload, name, code):
    """Of an entry with a fast path: where the frame lies that the way is given, where it says that it runs, and how what it returns is told apart."""
    bad, layout = [], payload.layout
    depths = stack_depths(code)
    usual = next((n for n, i in enumerate(code) if i.mnemonic == "call"), None)
    if usual is None:
        return [f"{name} calls nothing"]
    frame = [f"{depths[n] - layout['entry_frame.return_address']:#x}(%rsp),%r8" for n, i in enumerate(code[:usual]) if i.mnemonic == "lea"]
    leas = [i.operands for i in code[:usual] if i.mnemonic == "lea"]
    if leas != frame:
        bad.append(f"{name} gives its fast path the frame {leas}, which lies at {frame}")
    stores = [(n, i.operands) for n, i in enumerate(code) if i.mnemonic == "mov" and i.operands.startswith("%r10,")]
    calls = {depths[n] + 8 for n, i in enumerate(code) if n > usual and i.mnemonic == "call"}
    if [-int(operands[5:].split("(")[0], 16) + depths[n] for n, operands in stores] != list(calls):
        bad.append(f"{name} says that it runs at {stores}, and later calls have their return addresses {calls} below the entry's")
    ways = [i.operands for i in code[usual:] if i.mnemonic == "cmp"]
    if ways != [f"${layout[way]:#x},%edx" for way in ("HOOK_DONE", "HOOK_NOT_BEGUN")]:
        bad.append(f"{name} compares what its fast path returns with {ways}")
    return bad


# What the inline fast paths decide without C code, as the headers have it: whether an unsampled call may pass, and whether an address may be recorded.
def expected_fast_paths(layout):
    countdown = layout["payload_state.credits"] + layout["sampling_credit.countdown"]
    shift = 32 - (layout["HS_SAMPLING_CREDITS"].bit_length() - 1) - (layout["sizeof.sampling_credit"].bit_length() - 1)
    state = ("movabs", f"${layout['HS_FAST_PATH_STATE']:#x},%r11")

    def allocation(kind, size, product):
        return [
            ("add", f"%{size},{countdown:#x}(%r11,%rax,1)"), ("jmp", f"stub_{kind}"),
            state, ("cmpb", f"${layout['HS_TRUST_CALLS']:#x},{layout['HS_FAST_PATH_TRUST']:#x}(%r11)"), ("jne", f"stub_{kind}"),
            ("mov", "%fs:0x0,%r10"), ("imul", f"${layout['HS_HASH_FACTOR']:#x},%r10d,%eax"), ("shr", f"${shift:#x},%eax"),
            ("and", f"${(layout['HS_SAMPLING_CREDITS'] - 1) * layout['sizeof.sampling_credit']:#x},%eax"),
            ("cmp", f"%r10,{layout['payload_state.credits'] + layout['sampling_credit.thread_pointer']:#x}(%r11,%rax,1)"), ("jne", f"stub_{kind}"),
            *product,
            ("test", f"%{size},%{size}"), ("jle", f"stub_{kind}"), ("sub", f"%{size},{countdown:#x}(%r11,%rax,1)"), ("jle", f"undo_{kind}")]

    return {
        "malloc": allocation("malloc", "rdi", []), "new": allocation("new", "rdi", []),
        "calloc": allocation("calloc", "rcx", [("mov", "%rdi,%rcx"), ("or", "%rsi,%rcx"), ("js", "stub_calloc"),
                                               ("mov", "%rdi,%rcx"), ("imul", "%rsi,%rcx"), ("jo", "stub_calloc")]),
        "free": [("imul", f"${layout['HS_HASH_FACTOR']:#x},%edi,%eax"), state, ("shr", f"${layout['HS_BLOOM_SHIFT']:#x},%eax"),
                 ("cmpb", f"$0x0,{layout['payload_state.bloom']:#x}(%r11,%rax,1)"), ("jne", "stub_free")]}


def inline_fast_paths(payload):
    """Each is what is expected, instruction by instruction; it begins where the header says, ends where the trampoline will begin, and leads
    nowhere but to the stub and back."""
    layout, bad = payload.layout, []
    end = layout["HS_ISLAND_TRAMPOLINE_OFFSET"]
    expected = expected_fast_paths(layout)
    for kind, number in payload.kinds().items():
        head = payload.field("island_head", index=number)
        begin = payload.field("island_begin", form="<B", index=number)
        if kind not in expected:
            if head or begin:
                bad.append(f"{kind} has an inline fast path")
            continue
        places = {name: payload.linked.symbol(f"{name}_{kind}") for name in ("island", "stub", "undo", "begin")}
        if not places["begin"] or head != places["island"].value or head + begin != places["begin"].value or \
           places["stub"].value != head + layout["HS_ISLAND_STUB_OFFSET"]:
            bad.append(f"the inline fast path of {kind} is not where the header says")
            continue
        first = (places["undo"] or places["begin"]).value
        if first < head + layout["HS_ISLAND_FAST_PATH_OFFSET"] or any(byte != 0xcc for byte in payload.image[head:first]):
            bad.append(f"the inline fast path of {kind} reaches into the stub")
        names = {f"{symbol.value:x}": f"{name}_{kind}" for name, symbol in places.items() if symbol}
        code = [i for i in payload.all_instructions if first <= i.address < head + end]
        found = [(i.mnemonic, names.get(i.operands.split()[0], i.operands) if i.mnemonic.startswith("j") else i.operands) for i in code]
        if found != expected[kind]:
            bad += [f"the inline fast path of {kind}: {a} where {b} is expected" for a, b in zip(found, expected[kind]) if a != b] or \
                   [f"the inline fast path of {kind} has {len(found)} instructions, {len(expected[kind])} are expected"]
    return bad


CHECKS = [undefined_symbols, thread_local_storage, interpreter, writable_and_executable, writable_data, initialisers,
          dynamic_relocations, absolute_relocations, size, flat_file, header, system_calls, vector_registers, segment_access,
          thread_pointer_reads, control_flow, references, entry_code, inline_fast_paths]


def run_checks(payload):
    """The checks that fail, by name, with what they found."""
    failed = {}
    for check in CHECKS:
        bad = check(payload)
        if bad:
            failed[check.__name__] = bad
    return failed


def embedded_image(program, flat):
    """What is wrong with the payload inside the program."""
    file = Elf(program)
    start, end = file.symbol("payload_image"), file.symbol("payload_image_end")
    if not start or not end:
        return ["the program has no symbols payload_image and payload_image_end"]
    section = file.sections[start.section]
    content = file.content(section)[start.value - section.address:end.value - section.address]
    bad = [] if content == flat else ["the image in the program is not payload.bin"]
    if start.value % 4096:
        bad.append("the image in the program is not page aligned")
    if section.flags & SHF_WRITE or section.type == SHT_NOBITS:
        bad.append("the image in the program is writable")
    return bad
