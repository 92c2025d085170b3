# SPDX-License-Identifier: Apache-2.0
"""rooms.py SOURCE BUILD COMPILER: a room can include those that it stands on and no other (hs_room in CMakeLists.txt). Each pair is tried with the
compiler, so that a root with a link too many or too few fails."""

import os
import subprocess
import sys
import tempfile

# Each room stands on those before it.
ROOMS = {"attach": ["arch", "guard", "process", "elf", "ptrace", "hook", "region", "session"], "snapshot": ["copy", "profile", "dwarf", "symbols"]}
STANDS_ON = {"attach": {"base"}, "snapshot": {"base"} | {f"attach/{room}" for room in ROOMS["attach"]}}
# The payload's rooms, and those that each stands on.
PAYLOAD_GROUND = {"inject/abi", "inject/arch", "unwind", "unwind/arch"}
PAYLOAD = {"entry": PAYLOAD_GROUND, "unwind": {"unwind", "unwind/arch"}, "table": PAYLOAD_GROUND | {"inject/table"},
           "sampling": PAYLOAD_GROUND | {"inject/table", "inject/sampling"}, "walk": PAYLOAD_GROUND | {"inject/table", "inject/walk"},
           "hook": PAYLOAD_GROUND | {"inject/table", "inject/sampling", "inject/walk", "inject/hook"}}


def header_of(source, folder):
    if folder == "unwind": # its cfi.h is open to more
        return "unwind/unwind_rule.h"
    if folder == "inject/abi": # its limits.h is open to more
        return "inject/abi/region.h"
    if folder.endswith("/arch"): # its own headers and those of the chosen architecture are one folder (hs_link_place)
        return folder + "/" + sorted(name for _, _, names in os.walk(os.path.join(source, folder)) for name in names if name.endswith(".h"))[0]
    return folder + "/" + sorted(name for name in os.listdir(os.path.join(source, folder)) if name.endswith(".h"))[0]


def finds(compiler, root, headers, folder):
    """Which of the headers the preprocessor finds for a file that is compiled with this root alone."""
    path = os.path.join(folder, "a.c")
    with open(path, "w", encoding="utf-8") as file:
        for i, header in enumerate(headers):
            file.write(f'#if __has_include("{header}")\nfound_{i}\n#endif\n')
    run = subprocess.run([compiler, "-E", "-P", "-I", root, path], capture_output=True, text=True, check=True)
    return {headers[int(word.split("_")[1])] for word in run.stdout.split()}


def names_in(build, target, folder=""):
    path = os.path.join(build, "rooms", target, folder)
    return sorted(os.listdir(path)) if os.path.isdir(path) else []


def main():
    source, build, compiler = sys.argv[1:]
    stand_on = {f"hs_{hall}_{room}": STANDS_ON[hall] | {f"{hall}/{other}" for other in rooms[:i + 1]}
                for hall, rooms in ROOMS.items() for i, room in enumerate(rooms)}
    stand_on["hs_base"] = {"base"}
    stand_on["hs_unwind"] = {"unwind", "unwind/arch"}
    stand_on["hs_proto"] = {"base", "proto", "proto/page", "proto/pprof", "proto/stacks"}
    stand_on["hs_proto_page"] = {"base", "proto/page", "views"}
    stand_on["hs_proto_stacks"] = {"base", "proto/stacks", "views"}
    stand_on["hs_proto_pprof"] = {"base", "proto/pprof"}
    everywhere = {f"{hall}/{room}" for hall, rooms in ROOMS.items() for room in rooms} | {"proto/page", "proto/pprof", "proto/stacks"}
    stand_on["hs_lib"] = {"base", "proto", "lib", "inject/abi", "views"} | everywhere
    stand_on["hs_views"] = {"base", "views"}
    stand_on["heapsnap"] = {"base", "lib", "cli", "views"}
    for hall, rooms in ROOMS.items():
        for room in rooms:
            stand_on[f"hs_{hall}_{room}"].add("inject/abi")
    stand_on["hs_snapshot_dwarf"] = {"base", "snapshot/dwarf"}  # pure
    for room in ["arch", "elf", "ptrace", "hook", "region", "session"]:
        stand_on["hs_attach_" + room].add("unwind/arch")
    for room in ["elf", "ptrace"]:
        stand_on["hs_attach_" + room].add("unwind")
    stand_on |= {f"hs_payload_{room}": allowed for room, allowed in PAYLOAD.items()}
    payload_rooms = {f"inject/{room}" for room in PAYLOAD if room not in ("entry", "unwind")}
    places = ["base", "views", "unwind", "unwind/arch", "proto", "lib", "cli", "inject/abi", "inject/arch"] + sorted(everywhere | payload_rooms)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="heapsnap-rooms-") as folder:
        for target, allowed in stand_on.items():
            root = os.path.join(build, "rooms", target)
            headers = [header_of(source, place) for place in places]
            found = finds(compiler, root, headers, folder)
            for place, header in zip(places, headers):
                if (header in found) != (place in allowed):
                    print(f"{target} {'finds' if header in found else 'does not find'} {place}")
                    wrong += 1
    # Single headers are open, too: to the tool none of inject but its abi, to unwind none at all.
    for target in stand_on:
        beyond = [] if target.startswith("hs_payload_") else [f"inject/{name}" for name in names_in(build, target, "inject") if name != "abi"]
        beyond += [name for name in names_in(build, target) if target == "hs_unwind" and name != "unwind"]
        for place in beyond:
            print(f"{target} finds {place}")
            wrong += 1
    for hall, rooms in (ROOMS | {"inject": [place.split("/")[1] for place in places if place.startswith("inject/")]}).items():
        here = {name for name in os.listdir(os.path.join(source, hall)) if os.path.isdir(os.path.join(source, hall, name))}
        if here != set(rooms):
            print(f"the rooms of {hall} are {sorted(here)}, not {sorted(rooms)}")
            wrong += 1
    print(f"{len(stand_on) * len(places)} pairs, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
