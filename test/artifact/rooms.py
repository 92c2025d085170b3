# SPDX-License-Identifier: Apache-2.0
"""rooms.py SOURCE BUILD COMPILER: a room can include those that it stands on and no other (hs_room in CMakeLists.txt). Each pair is tried with the
compiler, so that a root with a link too many or too few fails."""

import os
import subprocess
import sys
import tempfile

# Each room stands on those before it.
ROOMS = {"attach": ["arch", "guard", "process", "elf", "ptrace", "hook", "region", "session"], "snapshot": ["copy", "profile", "symbols"]}
STANDS_ON = {"attach": {"base"}, "snapshot": {"base"} | {f"attach/{room}" for room in ROOMS["attach"]}}


def header_of(source, folder):
    if folder == "unwind": # its cfi.h is open to more
        return "unwind/unwind_rule.h"
    if folder.endswith("/arch"): # its own headers and those of the chosen architecture are one folder (hs_link_place)
        return folder + "/" + sorted(name for _, _, names in os.walk(os.path.join(source, folder)) for name in names if name.endswith(".h"))[0]
    return folder + "/" + sorted(name for name in os.listdir(os.path.join(source, folder)) if name.endswith(".h"))[0]


def finds(compiler, root, header, folder):
    """Whether the preprocessor finds the header for a file that is compiled with this root alone."""
    path = os.path.join(folder, "a.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#if !__has_include("{header}")\n#error "forbidden"\n#endif\n')
    run = subprocess.run([compiler, "-E", "-I", root, path], capture_output=True, text=True, check=False)
    if run.returncode and "forbidden" not in run.stderr:
        sys.exit(run.stderr)
    return run.returncode == 0


def main():
    source, build, compiler = sys.argv[1:]
    stand_on = {f"hs_{hall}_{room}": STANDS_ON[hall] | {f"{hall}/{other}" for other in rooms[:i + 1]}
                for hall, rooms in ROOMS.items() for i, room in enumerate(rooms)}
    stand_on["hs_base"] = {"base"}
    stand_on["hs_unwind"] = {"unwind", "unwind/arch"}
    stand_on["hs_proto"] = {"base", "proto", "proto/pprof"}
    stand_on["hs_proto_pprof"] = {"base", "proto/pprof"}
    everywhere = {f"{hall}/{room}" for hall, rooms in ROOMS.items() for room in rooms} | {"proto/pprof"}
    stand_on["hs_lib"] = {"base", "proto", "lib", "unwind/arch"} | everywhere
    stand_on["heapsnap"] = {"base", "lib", "cli"}
    for hall, rooms in ROOMS.items():
        for room in rooms:
            stand_on[f"hs_{hall}_{room}"].add("unwind/arch")
    for room in ["elf", "ptrace"]:
        stand_on["hs_attach_" + room].add("unwind")
    places = ["base", "unwind", "unwind/arch", "proto", "lib", "cli"] + sorted(everywhere)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="heapsnap-rooms-") as folder:
        for target, allowed in stand_on.items():
            root = os.path.join(build, "rooms", target)
            for place in places:
                found = finds(compiler, root, header_of(source, place), folder)
                if found != (place in allowed):
                    print(f"{target} {'finds' if found else 'does not find'} {place}")
                    wrong += 1
    for hall, rooms in ROOMS.items():
        here = {name for name in os.listdir(os.path.join(source, hall)) if os.path.isdir(os.path.join(source, hall, name))}
        if here != set(rooms):
            print(f"the rooms of {hall} are {sorted(here)}, not {sorted(rooms)}")
            wrong += 1
    print(f"{len(stand_on) * len(places)} pairs, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
