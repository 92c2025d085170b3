# SPDX-License-Identifier: Apache-2.0
"""lint.py ROOT: what can be said of the source tree by reading lines. Each rule is first seen to fail on a bad tree made for it.

The table of folders is the one in docs/design.md."""

import os
import re
import subprocess
import sys
import tempfile

LINES_MAX = 500
FUNCTION_MAX = 60

# What a folder's files may include in quotes, folders and headers from the root, where an include root cannot say it: a header that is open to others brings
# headers with it that are not. The rest is the build's (hs_room in CMakeLists.txt, artifact.rooms).
MAY_INCLUDE = {
    "inject/abi": {"inject/abi/"},
    "snapshot": {"base/", "inject/abi/", "snapshot/", "attach/arch/clock.h", "attach/arch/code_step.h", "attach/arch/syscall_instruction.h", "attach/arch/wrapper_code.h", "attach/guard/interrupt.h", "attach/guard/interrupt_signal.h", "attach/hook/hook_verdict.h", "attach/process/code_names.h",
                 "attach/ptrace/threads.h", "attach/region/region_access.h", "attach/region/table_walk.h", "attach/region/thread_slots.h", "attach/session/transaction.h", "unwind/freestanding.h", "unwind/memory_span.h", "unwind/span_reader.h"},
    "lib": {"base/", "inject/abi/region.h", "lib/", "attach/guard/interrupt_signal.h", "attach/guard/tool_guard.h", "attach/hook/hook_addition.h",
            "attach/process/target.h", "attach/ptrace/follow.h", "attach/ptrace/follow_attach.h", "attach/ptrace/follow_threads.h", "attach/ptrace/launch.h", "attach/ptrace/stop_wait.h", "attach/region/sampling_settings.h",
            *(f"attach/session/{name}.h" for name in ("attached_list", "check", "session")), "snapshot/block_selection.h", "snapshot/heap_profile.h", "snapshot/process_memory.h", "snapshot/snapshot.h", "snapshot/profile/unseen_share.h", "snapshot/symbols/debuginfod.h",
            *(f"proto/{name}.h" for name in ("gzip_file", "output_file", "output_stream", "page/page", "known_profile", "profile_file", "pprof/pprof_decoder",
            "pprof/pprof_encoder", "stacks/collapsed", "stacks/profile_json", "stacks/speedscope_json", "stacks/text_report")),
            *(f"views/{name}.h" for name in ("block_attributes", "completeness", "diff", "drop_frames", "frame_rules", "growth", "named_profile", "profile_view", "sites", "verdict"))},
}
DESIGN = "docs/design.md"
# The payload has no C library; of the compiler's own headers these are enough.
MAY_INCLUDE_SYSTEM = {
    "inject/abi": [r"std(int|def)\.h"],
    "unwind": [r"std(int|def|bool)\.h"],
    "inject": [r"std(int|def|bool)\.h"],
}
# A library has one door: who else wants something of it asks that file.
ONE_DOOR = [
    (r"sys/ptrace\.h|linux/ptrace\.h|attach/arch/ptrace_registers\.h", ["attach/ptrace/ptrace_call.c", "attach/arch/x86_64/ptrace_registers.h"], "every request to a tracee is a typed function there"),
    (r"Zydis/.*", ["attach/arch/x86_64/instruction.h", "attach/arch/x86_64/register_writes.c"], "decoding instructions is pure"),
    (r"libunwind.*", ["test/unwind/reference.c"], "it opens files and reads word by word; only tests compare with it"),
    (r"zlib\.h", ["proto/gzip_file.c"], "files are compressed and expanded there"),
    (r"protobuf-c/.*|.*\.pb-c\.h", ["proto/pprof/pprof_encoder.c"], "generated types stay out of the data model"),
    (r"elfutils/.*|dwarf\.h|gelf\.h|libelf\.h", ["snapshot/symbols/debug_info.c", "snapshot/symbols/module_code.c", "snapshot/symbols/module_code.h", "snapshot/symbols/debug_sections.c", "snapshot/symbols/debug_sections.h", "snapshot/dwarf/constants.h"],
     "symbol files are hostile, and read in one place"),
    (r"curses\.h|ncurses.*|term\.h", ["cli/terminal_codes.c"], "the data base of terminals; the rest of ncurses takes signals for itself"),
    (r"libiberty/.*|demangle\.h", ["snapshot/symbols/demangle.c"], "so that names can be demangled another way one day"),
]
SOURCE = re.compile(r".*\.(c|h|S|cc|cpp|py|sh|proto|js|mjs)$|dev$|\.ci/run$")
C_SOURCE = re.compile(r".*\.(c|h|S)$")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
# An absolute path that only exists where someone works. /proc/PID/root and the like are none.
WORKPLACE = re.compile(r"(?<![\w.%}>)*])/(wo" r"rk|ho" r"me|ro" r"ot)(/|\b)")


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = {}
        for path in self._list():
            try:
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    self.files[path] = file.read().splitlines()
            except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
                continue

    def _list(self):
        command = ["git", "-C", self.root, "ls-files", "--cached", "--others", "--exclude-standard"]
        try:
            listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
            if listed:
                return sorted(listed)
        except (OSError, subprocess.CalledProcessError):
            pass
        return sorted(os.path.relpath(os.path.join(folder, name), self.root) for folder, folders, names in os.walk(self.root)
                      for name in names if not re.search(r"/(build[^/]*|\.git)(/|$)", folder))

    def lines(self, pattern):
        """Path, number and text of each line of the files whose path matches."""
        for path, lines in self.files.items():
            if pattern.match(path):
                for number, text in enumerate(lines, 1):
                    yield path, number, text

    def includes(self):
        for path, number, text in self.lines(C_SOURCE):
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', text)
            if match:
                yield path, number, match.group(1) == '"', match.group(2)

    def resolve(self, path, name):
        """The path from the root of what an include in quotes means; the name itself when there is no such file."""
        places = [os.path.dirname(path), ""]
        for place in places:
            candidate = os.path.normpath(os.path.join(place, name))
            if candidate in self.files:
                return candidate
        folder, arch, rest = name.rpartition("arch/")  # the folder of the architecture that is built for (hs_link_place in CMakeLists.txt)
        return next((path for path in self.files if arch and re.fullmatch(re.escape(folder + arch) + "[^/]+/" + re.escape(rest), path)), name)


def folder_of(path):
    if path.startswith("inject/abi/"):
        return "inject/abi"
    return path.split("/")[0]


def may_include(place, target):
    """An architecture's own header is told as attach/arch/NAME.h."""
    return target.startswith(place) if place.endswith("/") else re.sub(r"/arch/[^/]+/", "/arch/", target) == place


def folder_includes(tree):
    """The border between tool and target, and the one way of the data, are kept by who includes whom."""
    for path, number, quoted, name in tree.includes():
        folder = folder_of(path)
        if quoted and folder in MAY_INCLUDE:
            target = tree.resolve(path, name)
            if not any(may_include(place, target) for place in MAY_INCLUDE[folder]):
                yield f"{path}:{number}: {folder} may not include {target}"
        elif not quoted and folder in MAY_INCLUDE_SYSTEM:
            if not any(re.fullmatch(pattern, name) for pattern in MAY_INCLUDE_SYSTEM[folder]):
                yield f"{path}:{number}: {folder} may not include <{name}>"


def told_folders(lines):
    """What the table of folders in docs/design.md says, in the form of MAY_INCLUDE: "`base`, `a/b`; of `c`: `d.h`, `e/f.h`"."""
    told = {}
    for folder, cell in (match.groups() for match in (re.match(r"\| `([\w/]+)` \| (.*) \|$", line) for line in lines) if match):
        told[folder] = {folder + "/"} if cell.startswith("itself") else set()
        for part in cell.split(";"):
            above, names = re.match(r"(?: of `([\w/]+)`:)?(.*)", part).groups()
            for name in re.findall(r"`([\w/.]+)`", names):
                told[folder].add((f"{above}/" if above else "") + name + ("" if name.endswith(".h") else "/"))
    return told


def table_of_folders(tree):
    """The table in docs/design.md, Folders, and the one here say the same."""
    told = told_folders(tree.files[DESIGN]) if DESIGN in tree.files else MAY_INCLUDE
    for folder, places in MAY_INCLUDE.items():
        difference = told.get(folder, set()) ^ places
        if difference:
            yield f"{DESIGN}: {folder}: said only there or only here: {', '.join(sorted(difference))}"


def upwards(tree):
    """An include by a way upwards leaves the include root."""
    for path, number, quoted, name in tree.includes():
        if quoted and ".." in name.split("/") and not path.startswith("test/"):
            yield f"{path}:{number}: {name} leads out of the include root"


def one_door(tree):
    """A library that has one door can be replaced, and its misuse has one place to be looked for."""
    for path, number, _, name in tree.includes():
        if path.startswith("test/"):
            continue
        for pattern, doors, reason in ONE_DOOR:
            if re.fullmatch(pattern, name) and path not in doors:
                yield f"{path}:{number}: {name} belongs to {', '.join(doors)}: {reason}"


def licence_line(tree):
    """Each file says its licence for itself, in the first line (the second after #!)."""
    for path, lines in tree.files.items():
        if SOURCE.match(path):
            first = lines[1] if lines and lines[0].startswith("#!") and len(lines) > 1 else lines[0] if lines else ""
            if not re.match(r"(//|#) SPDX-License-Identifier: Apache-2\.0$", first):
                yield f"{path}: does not begin with its SPDX line"


def unfinished(tree):
    """A note to oneself is for the issue tracker, where it is found again."""
    for path, number, text in tree.lines(SOURCE):
        if UNFINISHED.search(text):
            yield f"{path}:{number}: {text.strip()}"


def long_files(tree):
    """A file of that length has two subjects. Where it must be, a line `Longer than 500 lines: reason` stands near its head."""
    for path, lines in tree.files.items():
        reason = any(re.match(rf"(//|#) Longer than {LINES_MAX} lines: \S", line) for line in lines[:5])
        if SOURCE.match(path) and len(lines) > LINES_MAX and not reason:
            yield f"{path}: {len(lines)} lines, more than {LINES_MAX}"


def long_functions(tree):
    """A function of that length does several things. Where it must be, `// Longer than 60 lines: reason` stands right above it."""
    for path, lines in tree.files.items():
        start = None
        for number, text in enumerate(lines if re.search(r"\.(c|h|cc|cpp)$", path) else [], 1):
            if text == "{":
                start = number
            elif text.startswith("}") and start:
                head = start - 2
                while head >= 0 and lines[head] and not re.match(r"[}#]|//", lines[head]):
                    head -= 1  # over the function's head
                reason = head >= 0 and re.match(rf"// Longer than {FUNCTION_MAX} lines: \S", lines[head])
                if number - start - 1 > FUNCTION_MAX and not reason:
                    yield f"{path}:{start}: a function of {number - start - 1} lines, more than {FUNCTION_MAX}"
                start = None


def unexplained_nolint(tree):
    """Who silences a check of clang-tidy says which, and why."""
    for path, number, text in tree.lines(C_SOURCE):
        if "NOLINT" in text and not re.search(r"NOLINT\w*\([\w.,-]+\): \S", text):
            yield f"{path}:{number}: {text.strip()}"


def workplace_paths(tree):
    """A path of one machine is wrong on every other."""
    for path, number, text in tree.lines(re.compile(".*")):
        if WORKPLACE.search(text):
            yield f"{path}:{number}: {text.strip()}"


# What belongs to one architecture: registers, instructions, sets that ptrace names, ELF's names for it. Which files are not its own (arch/<name>/).
GENERIC = re.compile(r"(attach|inject|unwind|snapshot)/(?!(.*/)?arch/[^/]+/).*\.(c|h)$")
PROCESSOR = re.compile(r"(?:\b|\\n)(r[abcd]x|r[sd]i|r[sbi]p|e[abcd]x|e[sd]i|e[sbi]p|r(8|9|1[0-5])|orig_rax|[fg]s_base|eflags|_*rdtscp?|lfence|rdfsbase|RDFSBASE|[fg]s base|endbr\w*|int3"
                       r"|xsave\w*|XSAVE\w*|user_regs_struct|NT_X86_\w+|PTRACE_[GS]ETREGS|ARCH_[GS]ET_FS|0xe[89b]|0xcc|__x86_64\w*|x86_Thread_\w*|__aarch64\w*"
                       r"|\w*intrin\.h|cpuid\.h|EM_(X86_64|AARCH64)|R_(X86_64|AARCH64)_\w+|AUDIT_ARCH_\w+|arch/(x86_64|aarch64)/)(?!\w)")
# Where code of the target is looked at: a byte in hexadecimal is an instruction's.
LOOKS_AT_CODE = re.compile(r"attach/hook/")
CODE_BYTE = re.compile(r"\b0x[0-9a-f]{2}\b", re.I)
# Files that may, and why.
PROCESSOR_EXCEPTIONS = {}


def one_architecture(tree):
    """What is said of one processor stands in arch/<name>/: the next architecture has the same file names there, and nothing else to change."""
    for path, number, text in tree.lines(GENERIC):
        match = PROCESSOR.search(text) or (LOOKS_AT_CODE.match(path) and CODE_BYTE.search(text))
        if match and path not in PROCESSOR_EXCEPTIONS:
            yield f"{path}:{number}: {match[0]}: {text.strip()}"


BELOW_COMMANDS = re.compile(r"(base|lib|attach|snapshot)/.*\.(c|h)$")
# A parameter that is no thread's id, or a path that is made of a number.
NUMBER = re.compile(r"^(?!\s*(?:static )?pid_t [^()]*;).*\bpid_t \*?(?!\w*tid\b)\w+(?=[,)])|\b(snprintf|hs_format)\(.*\"/proc/%d")
# Files that may, and why.
NUMBER_EXCEPTIONS = {
    "base/process.c": "where a number becomes a process",
    "base/process.h": "where a number becomes a process",
    "lib/find_process.c": "where the number that a user types becomes a process",
    "attach/process/target.c": "the names of other processes, for messages",
    "attach/process/target_access.c": "the number stands in messages only",
    "attach/process/target_access.h": "the number stands in messages only",
    "attach/guard/interrupt.c": "whom a test has killed",
    "attach/guard/interrupt.h": "whom a test has killed",
    **{f"attach/guard/task_compare.{end}": "kcmp(2) takes numbers; and the tool's own children, which it has not waited for" for end in "ch"},
    **{f"attach/ptrace/launch.{end}": "the tool's own child, whose number nobody else gets before the tool has waited for it" for end in "ch"},
    **{path: "what a traced process has made, as the kernel says: traced as well, or only counted; and the tool's own children" for path in (
        *(f"attach/{name}.{end}" for name in ("process/started_processes", "ptrace/follow_threads", "ptrace/ptrace_call") for end in "ch"), "attach/guard/tool_guard.c", "lib/run_family.c")},
    "attach/guard/lock_list.h": "who holds a lock is known by its number alone",
    **{f"attach/guard/{name}.{end}": "who holds the lock is known by its number alone" for name in ("pidfd_lock", "work_lock") for end in "ch"},
    "attach/process/memory_sharers.c": "the number stands in messages only",
    "attach/process/descriptor_sharers.c": "the number stands in messages only",
    "attach/process/sharing.c": "kcmp(2) takes numbers, and nothing else",
    "attach/process/sharing.h": "the number stands in messages only",
    "attach/process/descent.c": "a parent is known by its number; each is asked again whether it still is",
    **{f"attach/process/{name}": "sets of numbers: who asks something of one opens it first" for name in ("descent.h", "pid_set.c", "pid_set.h")},
    "snapshot/symbols/module_files.c": "the number inside the namespace, a part of a file's name",
    **{f"snapshot/symbols/{name}.c": "the tool and its own child" for name in ("debuginfod", "sandbox")},
}


def bare_number(tree):
    """A number may stand for another process a moment later: what works on a process takes its handle (base/process.h), and reads through that."""
    for path, number, text in tree.lines(BELOW_COMMANDS):
        match = NUMBER.search(text)
        if match and path not in NUMBER_EXCEPTIONS:
            yield f"{path}:{number}: {text.strip()}"


OFFERED = re.compile(r"(attach/session|snapshot|proto|lib)/.*\.h$")
RETURNS_ERROR = re.compile(r"struct hs_error \*\w+\(")
SAYS_WHEN = re.compile(r"//.*(HS_ERROR_|[Ee]rror|[Ff]ail|[Rr]efuse)")


def unsaid_errors(tree):
    """Whoever calls a function that other rooms are offered must know what it may return: the paragraph of its declaration says so."""
    for path, lines in tree.files.items():
        start = 0
        for number, text in enumerate([*lines, ""] if OFFERED.match(path) else []):
            if text.strip():
                continue
            paragraph, declares = lines[start:number], [line for line in lines[start:number] if RETURNS_ERROR.match(line)]
            if declares and not any(SAYS_WHEN.search(line) for line in paragraph):
                yield f"{path}:{start + 1}: {declares[0].strip()}"
            start = number + 1


MAKES_THREADS = re.compile(r"\b(pthread_create|thrd_create)\(")
# Of these ./dev knows it (threaded_unit_tests); or it does not choose the tests with them.
THREAD_HELPERS = ["test/unit/payload_region.h", "test/unit/stepped_thread.h", "test/unit/stuck_exec.h"]


def hidden_threads(tree):
    """The thread sanitizer runs the unit tests that say that they make threads; a helper that makes them must be known to ./dev."""
    for path, number, text in tree.lines(re.compile(r"test/unit/.*\.h$")):
        if MAKES_THREADS.search(text) and path not in THREAD_HELPERS:
            yield f"{path}:{number}: {text.strip()}"


def needless_exclusions(tree):
    """./dev keeps from the thread sanitizer (NOT_WITH_TSAN) only tests that it would choose: such as make threads (threaded_unit_tests)."""
    for path, number, text in tree.lines(re.compile(r"dev$")):
        excluded = re.match(r"NOT_WITH_TSAN='\^unit\\\.\(([^)]*)\)_test'$", text)
        if text.startswith("NOT_WITH_TSAN=") and not excluded:
            yield f"{path}:{number}: is not understood"
        for name in excluded.group(1).split("|") if excluded else []:
            if not re.search(r"\b(pthread_create|thrd_create|run_together)\(", "\n".join(tree.files.get(f"test/unit/{name}_test.c", []))):
                yield f"{path}:{number}: {name}"


SANITIZER_MARK = re.compile(r"\bno_sanitize\w*|\bdisable_sanitizer_instrumentation\b")
SANITIZER_MARKS = "inject/abi/sanitizer_marks.h"


def sanitizer_marks(tree):
    """What a sanitizer does not look at is named by its reason, once: a function has one of the marks of inject/abi/sanitizer_marks.h."""
    for path, number, text in tree.lines(re.compile(r".*\.(c|h|cc|cpp)$")):
        if SANITIZER_MARK.search(text) and path != SANITIZER_MARKS:
            yield f"{path}:{number}: {text.strip()}"


SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
LONG_FUNCTION = "int a(int b,\n      int c)\n{\n" + "\tb++;\n" * (FUNCTION_MAX + 1) + "}\n"
TABLE = [f"| `{folder}` | " + ", ".join(f"`{place.rstrip('/')}`" for place in sorted(places)) + " |\n" for folder, places in MAY_INCLUDE.items()]
DEV = "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n"
THREADS = SPDX + "\trun_together(2, run);\n"
# Each rule, and files that break it once and no other rule.
RULES = [
    (folder_includes, [
        {"snapshot/a.c": SPDX + '#include "attach/ptrace/remote_call.h"\n', "attach/ptrace/remote_call.h": SPDX},
        {"lib/a.c": SPDX + '#include "attach/process/memory.h"\n', "attach/process/memory.h": SPDX},
        {"lib/a.c": SPDX + '#include "snapshot/copy/table_check.h"\n', "snapshot/copy/table_check.h": SPDX},
        {"inject/a.c": SPDX + "#include <string.h>\n"},
        {"unwind/a.c": SPDX + "#include <stdio.h>\n"},
        {"inject/abi/a.h": SPDX + '#include "unwind/freestanding.h"\n', "unwind/freestanding.h": SPDX},
        {"inject/abi/a.h": SPDX + "#  include <stdbool.h>\n"},
    ]),
    (table_of_folders, [
        {DESIGN: "".join(TABLE).replace("`attach/arch/syscall_instruction.h`, ", "")},
        {DESIGN: "".join(TABLE).replace("`proto/gzip_file.h`", "`proto/gzip_file.h`; of `proto`: `other.h`")},
        {DESIGN: "".join(TABLE[1:])},
    ]),
    (unsaid_errors, [
        {"snapshot/a.h": SPDX + "\n// Copies it.\nstruct hs_error *copy(int a);\n"},
    ]),
    (upwards, [
        {"attach/guard/a.c": SPDX + '#include "../session/b.h"\n', "attach/session/b.h": SPDX},
        {"base/a.h": SPDX + '#include "../../cli/b.h"\n'},
    ]),
    (one_door, [
        {"attach/a.c": SPDX + "#include <sys/ptrace.h>\n"},
        {"attach/a.c": SPDX + "#include <Zydis/Zydis.h>\n"},
        {"attach/a.c": SPDX + "#include <libunwind-ptrace.h>\n"},
        {"cli/a.c": SPDX + "#include <zlib.h>\n"},
        {"proto/a.c": SPDX + '#include "profile.pb-c.h"\n'},
        {"proto/a.c": SPDX + "#include <protobuf-c/protobuf-c.h>\n"},
        {"snapshot/a.c": SPDX + "#include <elfutils/libdwfl.h>\n"},
        {"attach/a.c": SPDX + "#include <gelf.h>\n"},
        {"snapshot/a.c": SPDX + "#include <libiberty/demangle.h>\n"},
    ]),
    (licence_line, [
        {"base/a.c": "int a;\n"},
        {"base/a.c": "\n" + SPDX},
        {"test/a.py": "#!/usr/bin/python3\nimport os\n# SPDX-License-Identifier: Apache-2.0\n"},
        {"dev": "#!/bin/sh\n"},
        {"base/a.c": ""},
    ]),
    (unfinished, [
        {"base/a.c": SPDX + "// TO" "DO: later\n"},
        {"test/a.py": "# SPDX-License-Identifier: Apache-2.0\nx = 1  # FIX" "ME\n"},
        {"inject/a.S": SPDX + "nop // X" "XX\n"},
    ]),
    (one_architecture, [
        {"attach/a.c": SPDX + "uint64_t pc = thread->registers.rip;\n"},
        {"attach/hook/a.c": SPDX + "bytes[0] = 0xe9;\n"},
        {"attach/hook/a.c": SPDX + "static const uint8_t lea[] = { 0x4c, 0x8d, 0x54 };\n"},
        {"attach/hook/a.h": SPDX + "return (code[at] & 0xfe) == 72;\n"},
        {"attach/process/a.c": SPDX + 'line_has(status, "\\nx86_Thread_features:");\n'},
        {"inject/a.h": SPDX + "// adds to rsp\n"},
        {"unwind/a.c": SPDX + "#ifdef __x86_64__\n"},
        {"snapshot/a.c": SPDX + "int arch = AUDIT_ARCH_X86_64;\n"},
        {"attach/arch/a.h": SPDX + "struct user_regs_struct *registers;\n"},
        {"attach/a.h": SPDX + "if (type == R_X86_64_JUMP_SLOT)\n"},
        {"attach/a.c": SPDX + "NT_X86_XSTATE\n"},
        {"attach/a.c": SPDX + "uint64_t now = __rdtsc();\n"},
        {"attach/a.c": SPDX + "#include <x86intrin.h>\n"},
        {"attach/a.c": SPDX + "#include <cpuid.h>\n"},
        {"attach/a.c": SPDX + 'say("without RDFSBASE");\n'},
        {"attach/a.c": SPDX + 'say("the same fs base");\n'},
        {"inject/hook/a.c": SPDX + "block = frame->rax;\n"},
    ]),
    (bare_number, [
        {"attach/a.h": SPDX + "bool is_traced(pid_t pid);\n"},
        {"snapshot/a.c": SPDX + "static int open_it(pid_t pid, int flags)\n"},
        {"lib/a.h": SPDX + "bool find(const char *text, pid_t *pid);\n"},
        {"attach/a.h": SPDX + "long tables_compare(pid_t one, pid_t other);\n"},
        {"attach/a.h": SPDX + "bool has_table(int count,\n               pid_t other, pid_t tid);\n"},
        {"base/a.c": SPDX + 'snprintf(path, sizeof(path), "/proc/%d/maps", (int)process->pid);\n'},
    ]),
    (long_files, [
        {"base/a.c": SPDX + "int a;\n" * LINES_MAX},
        {"base/a.c": SPDX + f"// Longer than {LINES_MAX} lines:\n" + "int a;\n" * LINES_MAX},
        {"base/a.c": SPDX + "int a;\n" * LINES_MAX + f"// Longer than {LINES_MAX} lines: too late\n"},
        {"dev": "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n" + "true\n" * LINES_MAX},
    ]),
    (long_functions, [
        {"base/a.c": SPDX + LONG_FUNCTION},
        {"test/a.h": SPDX + "// What it does.\n" + LONG_FUNCTION},
        {"base/a.c": SPDX + f"// Longer than {FUNCTION_MAX} lines:\n" + LONG_FUNCTION},
        {"base/a.c": SPDX + f"// Longer than {FUNCTION_MAX} lines: of another\nint b;\n\n" + LONG_FUNCTION},
    ]),
    (unexplained_nolint, [
        {"base/a.c": SPDX + "int a; // NOLINT\n"},
        {"base/a.c": SPDX + "int a; // NOLINT(misc-unused)\n"},
        {"base/a.h": SPDX + "// NOLINTNEXTLINE: no check is named\nint a;\n"},
    ]),
    (hidden_threads, [
        {"test/unit/a.h": SPDX + "pthread_create(&thread, NULL, run, NULL);\n"},
        {"test/unit/a.h": SPDX + "\tif (thrd_create(&thread, run, NULL))\n"},
    ]),
    (needless_exclusions, [
        {"dev": DEV + "NOT_WITH_TSAN='^unit\\.(threads|none)_test'\n", "test/unit/threads_test.c": THREADS, "test/unit/none_test.c": SPDX + "fork();\n"},
        {"dev": DEV + "NOT_WITH_TSAN='^unit\\.(gone)_test'\n"},
        {"dev": DEV + "NOT_WITH_TSAN='unit.threads'\n", "test/unit/threads_test.c": THREADS},
    ]),
    (sanitizer_marks, [
        {"snapshot/a.c": SPDX + '#define RACING __attribute__((no_sanitize("thread")))\n'},
        {"inject/a.h": SPDX + "__attribute__((no_sanitize_address)) static int a(void);\n"},
        {"test/unit/a.c": SPDX + "__attribute__((disable_sanitizer_instrumentation)) static int a(void);\n"},
    ]),
    (workplace_paths, [
        {"base/a.c": SPDX + 'const char *path = "/wo' 'rk/file";\n'},
        {"README.md": "as in /ho" "me/somebody/heapsnap\n"},
        {"CMakeLists.txt": "set(CACHE /ro" "ot/cache)\n"},
    ]),
]
# Files that keep all rules.
GOOD = {
    "base/a.c": SPDX + '#include "base/a.h"\n#include <stdio.h>\n' + "int a;\n" * (LINES_MAX - 3), "base/a.h": SPDX,
    "inject/abi/a.h": SPDX + '#include "b.h"\n#include <stdint.h>\n', "inject/abi/b.h": SPDX,
    SANITIZER_MARKS: SPDX + '#define HS_RACES __attribute__((no_sanitize("thread")))\n',
    "inject/arch/x86_64/processor.h": SPDX + '#include "unwind/freestanding.h"\n', "unwind/freestanding.h": SPDX + "#include <stdbool.h>\n",
    "inject/a.c": SPDX + '#include "inject/arch/processor.h"\n#include "inject/abi/a.h"\n', DESIGN: "".join(TABLE),
    "snapshot/b.c": SPDX + '#include "attach/arch/syscall_instruction.h"\n', "attach/arch/x86_64/syscall_instruction.h": SPDX,
    "attach/ptrace/ptrace_call.c": SPDX + '#include "inject/abi/a.h"\n#include <sys/ptrace.h>\n',
    "attach/arch/x86_64/a.c": SPDX + "registers->rip -= 2; // 0xe9\n", "attach/hook/b.c": SPDX + "uint64_t a = 0x1000, b = 0x7f00;\n", "unwind/a.c": SPDX + "registers->sp = strip(0x0f);\n",
    "test/unit/b.c": SPDX + "registers.rip = 1;\nvoid end(pid_t pid);\n",
    "base/process.h": SPDX + "bool process_open(pid_t pid, int *ret);\n", "attach/threads.h": SPDX + "bool stops(int a, pid_t tid);\n",
    "attach/a.c": SPDX + '// mkstemp wants X' 'XXXXX\nconst char *path = "/proc/%d/ro' 'ot%s";\n',
    "test/unit/payload_region.h": SPDX + "pthread_create(&thread, NULL, run, NULL);\n", "test/unit/c.c": SPDX + "pthread_create(&thread, NULL, run, NULL);\n",
    "proto/a.c": SPDX + '#include "snapshot/heap_profile.h"\n', "snapshot/heap_profile.h": SPDX,
    "test/unit/a.c": SPDX + '#include "unwind/cfi.h"\n#include <zlib.h>\n',
    "base/long.c": SPDX + f"// Longer than {LINES_MAX} lines: a table\n" + "int a;\n" * LINES_MAX,
    "snapshot/c.h": SPDX + "\n// HS_ERROR_NO_MEMORY, both.\nstruct hs_error *copy(int a);\nstruct hs_error *copy_twice(int a);\n\nint copies(int a);\n",
    "base/functions.c": SPDX + f"// Longer than {FUNCTION_MAX} lines: a case each\n" + LONG_FUNCTION + LONG_FUNCTION.replace("\tb++;\n", "", 1),
    "dev": DEV + "NOT_WITH_TSAN='^unit\\.(threads)_test'\n", "test/unit/threads_test.c": THREADS,
}


def made_up_tree(files):
    with tempfile.TemporaryDirectory(prefix="heapsnap-lint-") as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return Tree(root)


def rules_work():
    right = True
    trees = [(set(), GOOD)] + [({rule.__name__}, files) for rule, examples in RULES for files in examples]
    for wanted, files in trees:
        tree = made_up_tree(files)
        found = {rule.__name__: list(rule(tree)) for rule, _ in RULES}
        failed = {name for name, findings in found.items() if findings}
        if failed != wanted or sum(map(len, found.values())) > 1:
            print(f"the made-up tree {files} breaks {found}, not {wanted}")
            right = False
    return right


def main():
    if not rules_work():
        return 1
    tree = Tree(sys.argv[1])
    count = 0
    for rule, _ in RULES:
        for finding in rule(tree):
            print(f"{finding}\n    {rule.__doc__}")
            count += 1
    print(f"{len(tree.files)} files, {len(RULES)} rules, {count} findings")
    return 1 if count else 0


sys.exit(main())
