# SPDX-License-Identifier: Apache-2.0
"""seeds.py FOLDER: honest inputs, from which the corpus of each harness has grown; a file for each in FOLDER/<harness>/.

What the bytes mean stands at the head of each harness. The corpus in the repository is what ./dev fuzz has found from these, reduced to
what adds coverage (libFuzzer's -merge=1)."""

import gzip
import os
import struct
import sys


def elf():
    """A shared library of one page: headers, dynamic segment, symbols with a System V hash table, a build id, an .eh_frame_hdr, section
    headers. Returns it and the place of its dynamic section."""
    strings = b"\0malloc\0_r_debug\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x300, 16) + struct.pack("<IBBHQQ", 8, 0x11, 0, 1, 0x310, 40)
    hashes = struct.pack("<5I", 1, 3, 2, 0, 1)
    note = struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes(range(20))
    parts, body, at = {}, b"", 64 + 4 * 56
    for name, data in (("dynsym", symbols), ("dynstr", strings), ("hash", hashes), ("note", note), ("eh", bytes([1, 0x1b, 3, 0x3b]) + bytes(8))):
        body += bytes(-(at + len(body)) % 16)
        parts[name] = (at + len(body), len(data))
        body += data
    body += bytes(-(at + len(body)) % 16)
    dynamic_at = at + len(body)
    dynamic = b"".join(struct.pack("<QQ", tag, value) for tag, value in (
        (4, parts["hash"][0]), (5, parts["dynstr"][0]), (6, parts["dynsym"][0]), (10, len(strings)), (11, 24), (0, 0)))
    body += dynamic
    sections_at = at + len(body)
    section = lambda kind, part, link, size: struct.pack("<IIQQQQIIQQ", 0, kind, 0, parts[part][0], parts[part][0], parts[part][1], link, 0, 8, size)
    sections = bytes(64) + section(11, "dynsym", 2, 24) + section(3, "dynstr", 0, 0) + section(2, "dynsym", 2, 24)
    total = sections_at + len(sections)
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, sections_at, 0, 64, 56, 4, 64, 4, 0)
    segment = lambda kind, flags, start, size: struct.pack("<IIQQQQQQ", kind, flags, start, start, start, size, size, 8)
    segments = (segment(1, 5, 0, total) + segment(2, 4, dynamic_at, len(dynamic)) + segment(4, 4, *parts["note"])
                + segment(0x6474e550, 4, *parts["eh"]))
    return header + segments + body + sections, dynamic_at


def cfi():
    """.eh_frame_hdr with one entry, then .eh_frame with a CIE and an FDE of 64 bytes of code, 4096 bytes further on."""
    cie_body = struct.pack("<IB", 0, 1) + b"zR\0" + bytes([1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1])
    cie_body += bytes(-(len(cie_body) + 4) % 8)
    cie = struct.pack("<I", len(cie_body)) + cie_body
    frame_at, code_at = 24, 4096
    program = bytes([0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6])
    fde_at = frame_at + len(cie)
    fde_body = struct.pack("<Ii", fde_at + 4 - frame_at, code_at - (fde_at + 8)) + struct.pack("<IB", 64, 0) + program
    fde_body += bytes(-(len(fde_body) + 4) % 8)
    fde = struct.pack("<I", len(fde_body)) + fde_body
    hdr = bytes([1, 0x1b, 3, 0x3b]) + struct.pack("<iI", frame_at - 4, 1) + struct.pack("<ii", code_at, fde_at)
    image = hdr + bytes(frame_at - len(hdr)) + cie + fde + bytes(4)
    return [struct.pack("<IHBB", code_at + offset, len(hdr), 1, 8) + image for offset in (0, 2, 20)]


def dwarf(version):
    """A unit with a type that holds a declaration, a function of two ranges, and a call inlined into it; a line table with two files."""
    text = b"\0run\0_ZN3box4fillEv\0folder\0main.cc\0"
    run, fill, folder, main = (text.index(word + b"\0") for word in (b"run", b"_ZN3box4fillEv", b"folder", b"main.cc"))
    entry = lambda code, tag, children, *attributes: bytes([code, tag, children]) + b"".join(bytes(pair) for pair in attributes) + b"\0\0"
    # compile_unit: stmt_list, comp_dir, low_pc, ranges. structure_type: sibling. subprogram: linkage_name, decl_line. subprogram: name, decl_file,
    # decl_line, ranges. inlined_subroutine: abstract_origin, low_pc, high_pc, call_file, call_line
    abbrev = (entry(1, 0x11, 1, (0x10, 0x17), (0x1b, 0x0e), (0x11, 0x01), (0x55, 0x17)) + entry(2, 0x13, 1, (0x01, 0x13))
              + entry(3, 0x2e, 0, (0x6e, 0x0e), (0x3b, 0x0b)) + entry(4, 0x2e, 1, (0x03, 0x0e), (0x3a, 0x0b), (0x3b, 0x0b), (0x55, 0x17))
              + entry(5, 0x1d, 0, (0x31, 0x13), (0x11, 0x01), (0x12, 0x0b), (0x58, 0x0b), (0x59, 0x0b)) + b"\0")
    header = struct.pack("<HBBI", 5, 1, 8, 0) if version == 5 else struct.pack("<HIB", version, 0, 8)
    first = 4 + len(header)
    entries = b"\1" + struct.pack("<IIQI", 0, folder, 0, 0)
    holder = first + len(entries)
    inlined = holder + 5
    entries += b"\2" + struct.pack("<I", inlined + 7) + b"\3" + struct.pack("<IB", fill, 7) + b"\0"
    entries += b"\4" + struct.pack("<IBBI", run, 1, 20, 0) + b"\5" + struct.pack("<IQBBB", inlined, 0x1010, 8, 1, 22) + b"\0\0"
    info = struct.pack("<I", len(header) + len(entries)) + header + entries
    if version == 5:
        lists = b"\4\0\0\7" + struct.pack("<Q", 0x1000) + b"\x20" + b"\6" + struct.pack("<QQ", 0x1030, 0x1040) + b"\0"
        names = b"\1\1\x1f\2" + struct.pack("<II", 0, 0) + b"\2\1\x08\2\x0b\2" + b"main.cc\0\0" + b"box.h\0\1"
        fixed = b"\1\1\1"
    else:
        lists = struct.pack("<6Q", 0x1000, 0x1020, 0x1030, 0x1040, 0, 0)
        names = b"inner\0\0" + b"main.cc\0\0\0\0" + b"box.h\0\1\0\0" + b"\0"
        fixed = b"\1\1\1" if version >= 4 else b"\1\1"
    program = (b"\0\x09\2" + struct.pack("<Q", 0x1000) + b"\3\x13\1" + bytes([13 + 5 + 14 * 8 + 1]) + b"\4\2" + bytes([13 + 5 + 14 * 8 + 2]) + b"\4\1"
               + b"\2\x10\x01" + b"\2\x20\0\1\1")
    head = fixed + struct.pack("<bBB", -5, 14, 13) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + names
    line = struct.pack("<H", version) + (b"\x08\0" if version == 5 else b"") + struct.pack("<I", len(head)) + head + program
    line = struct.pack("<I", len(line)) + line
    tables = struct.pack("<IHH", 20, 5, 8) + struct.pack("<QQ", 0x1000, 0x1030)
    parts = (info, abbrev, line, text, lists, tables)
    return struct.pack("<6H", *map(len, parts)) + b"".join(parts) + b"/where\0"


def answer():
    def function(name, system, file, line):
        return struct.pack("<4IQ", 1, len(name), len(system), len(file), line) + name + system + file
    def location(index, *lines):
        return struct.pack("<4I", 2, index, 1, len(lines)) + b"".join(struct.pack("<IQ", *line) for line in lines)
    message = lambda *items: struct.pack("<H", len(b"".join(items))) + b"".join(items)
    return [message(function(b"f(int)", b"_Z1fi", b"f.cc", 10), function(b"", b"main", b"", 0), location(2, (0, 12), (1, 20)))
            + message(location(0, (1, 3)), location(1)),
            message(function(b"near f(int)+0x1a", b"near _Z1fi+0x1a", b"", 0), struct.pack("<4IIQ", 2, 3, 2, 1, 0, 0))]


def varint(value):
    value &= (1 << 64) - 1
    return bytes([value & 0x7f | 0x80]) + varint(value >> 7) if value > 0x7f else bytes([value])


def fields(*pairs):
    """A protobuf message: numbers, packed numbers (lists), strings and messages, each after the number of its field."""
    result = b""
    for field, value in pairs:
        if isinstance(value, int):
            result += varint(field << 3) + varint(value)
            continue
        body = b"".join(varint(item) for item in value) if isinstance(value, list) else value
        result += varint(field << 3 | 2) + varint(len(body)) + body
    return result


def pprof():
    """Ours with its comments and labels, the older ones and those that hold several parts; Go's; tcmalloc's, unpacked, with gaps in its ids; a profile of processor time, which is refused; ours as a gzip."""
    def strings(*texts):
        return b"".join(fields((6, text)) for text in (b"", *texts))
    types = lambda *names: b"".join(fields((1, fields((1, name), (2, unit)))) for name, unit in names)
    mapping = fields((3, fields((1, 1), (2, 0x400000), (3, 0x500000), (4, 0x1000), (5, 7), (6, 8), (7, 1))))
    code = mapping + fields((4, fields((1, 1), (2, 1), (3, 0x400123), (4, fields((1, 1), (2, 12))), (4, fields((1, 2), (2, 3))))),
                            (4, fields((1, 2), (3, 0x7000))), (5, fields((1, 1), (2, 9), (3, 10), (4, 11), (5, 1))), (5, fields((1, 2), (2, 10))))
    heap = [b"alloc_objects", b"count", b"alloc_space", b"bytes", b"inuse_objects", b"inuse_space", b"/bin/app", b"ab12", b"main", b"_main", b"main.c"]
    four = types((1, 2), (3, 4), (5, 2), (6, 4))
    comments = [b"heapsnap: 1", b"program: app", b"pid: 7", b"stopped_ns: 5 (the process was stopped for the snapshot: asked for)",
                b"sampling_interval: 64 (x)", b"sampling_interval_most: 128 (x)", b"samples: 3 (x)", b"inuse_objects_error: 9 (x)",
                b"inuse_space_error: 900 (x)", b"LOSS: cut: 2 (stacks cut)", b"seen: 3 ()"]
    labels = [b"n_samples", b"samples", b"inuse_objects_error", b"inuse_space_error", b"[stack unknown]"]
    label = lambda key, number: (3, fields((1, key), (3, number), (4, 2)))
    ours = (four + fields((2, fields((1, [1, 2]), (2, [9, 900, 4, 400]), label(23, 2), label(24, 4), label(25, 3), label(26, 500))),
                          (2, fields((1, [3]), (2, [1, 10, 0, 0]))), (4, fields((1, 3), (4, fields((1, 3)))))) + code
            + fields((5, fields((1, 3), (2, 27), (3, 27)))) + strings(*heap, *comments, *labels)
            + fields((9, 1700000000000000000), (10, 5), (11, fields((1, 6), (2, 4))), (12, 64), (13, list(range(12, 23))), (14, 6)))
    packed = [b"heapsnap: 1, PID 7", b"Nothing lost.", b"#process: program: a||p | " + b" | ".join([*comments[2:9], b"name: wor || ker", b"recorded_exactly: 1 (x)"]), b"#ledger: " + b" | ".join(comments[9:])]
    newer = four + code + strings(*heap, *packed) + fields((13, list(range(12, 16))))
    go = (four + code + fields((2, fields((1, [1]), (2, [20, 2000, 10, 1000]), (3, fields((1, 4), (3, 100)))))) + strings(*heap)
          + fields((9, 1), (11, fields((1, 6), (2, 4))), (12, 524288)))
    tcmalloc = (strings(b"objects", b"count", b"space", b"bytes") + fields((2, fields((1, 70), (1, 9), (2, 5), (2, -500))), (4, fields((1, 70))),
                (4, fields((1, 9), (2, 3)))) + types((1, 2), (3, 4)))
    time = types((1, 2)) + fields((2, fields((2, 1)))) + strings(b"cpu", b"nanoseconds")
    return [ours, newer, go, tcmalloc, time, gzip.compress(ours, mtime=0)]


def lie(part, index, value):
    return struct.pack("<B3xIQ", part, index, value)


def seeds():
    library, dynamic_at = elf()
    yield "elf", [library]
    yield "elf_memory", [struct.pack("<H", dynamic_at) + library]
    yield "cfi", cfi()
    yield "search_table", [data[:4] + data[8 + 24:] for data in cfi()]  # without the header
    yield "answer", answer()
    yield "addition", [b"pool_get=alloc(_,size)", b"pool_put=free(_,block,size)", b"x_realloc=realloc", b"a=realloc(*block,count,size)",
                       b"b=resize(block,size,extra,_)", b"c=string(_,_)", b"xd=reallocf(block,size)", b"_Zd=reallocf(block,size) nothrow",
                       b"a=alloc(size) noexcept"]
    profile = b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04"
    yield "known_profile", [profile, gzip.compress(profile, mtime=0), b"\x5a\x04\x08\x01\x10\x02\x60\x80\x80\x20" + profile,
                            b"<!DOCTYPE html>\n<title>heapsnap</title>\n", b"main;f(int) 3\n[stack unknown] 12\n", b'{"heapsnap":"0.9","program":"a"}\n',
                            b'{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"heapsnap 0.9"}\n']
    container = b"4f5e1a7c9b2d" * 5 + b"0011"
    yield "process_filter", [b"/sys/fs/cgroup/memory/docker\n" + container + b"\nredis\n4:cpu,memory:/docker/" + container + b"\n0::/libpod-" + container
                             + b".scope\nredis:x:105:1::/:\n", b"system.slice/\ndocker://4f5e1a7c9b2d\n0\n0::/system.slice/libpod-conmon-" + container + b"\n"]
    yield "dwarf", [dwarf(version) for version in (5, 4, 2)]
    yield "perf_map", [b"1000 10 first\n0x2000 0x20 second name\n1008 4 inner\n3000 10 cut"]
    yield "pprof", pprof()
    yield "header", [b"", b"\1"]
    # An honest region; then a lie in each part: header, hooks, modules, strings, slots, buckets, root, pages.
    yield "region", [b""] + [lie(part, index, value) for part in range(10) for index, value in ((0, 1), (2, 0xffffffffffffffff), (1, 0x200))]
    yield "maps", [b"555555554000-555555555000 r-xp 00000000 08:01 11 /bin/program\n"
                   b"7ffff7c00000-7ffff7c28000 rw-s 00028000 00:05 12 /memfd:heapsnap-region (deleted)\n"
                   b"7ffff7d00000-7ffff7d01000 ---p 00000000 00:00 0 \n7ffff7e00000-7ffff7e01000 r--p 0 1:2 3 /a\\012b\n"]
    # The expression of a lazy PLT entry (psABI); a signal frame's (breg7 + offset, deref).
    yield "expression", [b"\x08\xff" + bytes([0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22]), b"\x08\x48\x77\x08\x06"]
    # endbr64 push rbp; mov rbp,rsp; sub rsp,16 / mov rax,[rip+x] / test; je short / call / jmp / ret and padding
    yield "relocate", [struct.pack("<iB", 0x1000, 64) + code + bytes([0x90] * 32) for code in (
        b"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x83\xec\x10", b"\x48\x8b\x05\x10\x00\x00\x00\x53\x31\xc0", b"\x48\x85\xff\x74\x10\x31\xc0\xc3",
        b"\xe8\x00\x01\x00\x00\xc3", b"\xe9\x00\x01\x00\x00", b"\xc3", b"\xff\x25\x10\x20\x00\x00")]


def main():
    for name, inputs in seeds():
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        for number, data in enumerate(inputs):
            with open(os.path.join(folder, f"seed-{number}"), "wb") as file:
                file.write(data)


if __name__ == "__main__":
    main()
