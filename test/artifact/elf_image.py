# SPDX-License-Identifier: Apache-2.0
"""ELF files as the artifact checks need them: sections, segments, symbols, relocations. 64-bit, little endian (System V ABI, chapters
4 and 5)."""

import collections
import struct

PT_TLS, PT_INTERP = 7, 3
SHT_SYMTAB, SHT_RELA, SHT_NOBITS, SHT_REL, SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY, SHT_RELR = 2, 4, 8, 9, 14, 15, 16, 19
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS = 1, 2, 4, 0x400
PF_X, PF_W = 1, 2
STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE, STT_TLS = 1, 2, 3, 4, 6
SHN_UNDEF = 0

Section = collections.namedtuple("Section", "index name type flags address offset size link info entry_size")
Segment = collections.namedtuple("Segment", "type flags offset address file_size memory_size")
Symbol = collections.namedtuple("Symbol", "name type section value size")
Relocation = collections.namedtuple("Relocation", "offset type symbol")


def _text(table, offset):
    return table[offset:table.index(b"\0", offset)].decode()


class Elf:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        if self.bytes[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit little-endian ELF file")
        (_, self.machine, _, _, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum,
         names) = struct.unpack_from("<HHIQQQIHHHHHH", self.bytes, 16)
        self.segments = []
        for i in range(phnum):
            kind, flags, offset, address, _, file_size, memory_size, _ = struct.unpack_from("<IIQQQQQQ", self.bytes, phoff + i * phentsize)
            self.segments.append(Segment(kind, flags, offset, address, file_size, memory_size))
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, shoff + i * shentsize) for i in range(shnum)]
        name_table = self.bytes[raw[names][4]:raw[names][4] + raw[names][5]] if raw else b""
        self.sections = [Section(i, _text(name_table, r[0]), r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[9]) for i, r in enumerate(raw)]
        self.symbols = []
        for section in self.sections:
            if section.type == SHT_SYMTAB:
                self.symbols = self._read_symbols(section)

    def _read_symbols(self, section):
        names = self.content(self.sections[section.link])
        symbols = []
        for name, info, _, index, value, size in struct.iter_unpack("<IBBHQQ", self.content(section)):
            symbols.append(Symbol(_text(names, name), info & 15, index, value, size))
        return symbols

    def section(self, name):
        """The section of that name, or None."""
        return next((section for section in self.sections if section.name == name), None)

    def content(self, section):
        if section.type == SHT_NOBITS:
            return bytes(section.size)
        return self.bytes[section.offset:section.offset + section.size]

    def symbol(self, name):
        """The defined symbol of that name, or None."""
        return next((symbol for symbol in self.symbols if symbol.name == name and symbol.section != SHN_UNDEF), None)

    def relocations(self):
        """Pairs of the section that is relocated and one relocation of it."""
        for section in self.sections:
            if section.type != SHT_RELA:
                continue
            for offset, info, _ in struct.iter_unpack("<QQq", self.content(section)):
                yield self.sections[section.info], Relocation(offset, info & 0xffffffff, self.symbols[info >> 32])

    def dynamic_entries(self):
        """Tag and value of each entry of the dynamic section, wherever the linker script has put it."""
        start = self.symbol("_DYNAMIC")
        if not start or start.section >= len(self.sections):
            return
        section = self.sections[start.section]
        content = self.content(section)[start.value - section.address:]
        for tag, value in struct.iter_unpack("<qQ", content[:len(content) // 16 * 16]):
            if tag == 0:
                return
            yield tag, value
