# SPDX-License-Identifier: Apache-2.0
"""manual.py PROGRAM BUILD: what is made of the table of options agrees with the program: help of at most 80 columns, manual pages without a complaint,
completions that shells understand, and each option in all of them. Each rule is first seen to fail."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

COMMANDS = ["check", "attach", "run", "set", "dump", "profile", "why", "top", "report", "diff", "detach", "status"]
WIDTH = 80
COMPOPT = 'compopt() { options=$*; }; '  # bash has it only while it completes


def run(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)


def wide_lines(text):
    return [line for line in text.splitlines() if len(line) > WIDTH]


def options_of(text):
    """The options that a help text lists: letter (or "") and name."""
    return re.findall(r"^  (?:-(\w), )?--([a-z-]+)", text, re.M)


def not_in_page(page, options):
    """In mdoc, a hyphen of a name is written as it is."""
    return [name for letter, name in options if not re.search(rf"^\.It (Fl {letter} , )?Fl Fl {name}( |$)", page, re.M)]


def unfilled_lines(page):
    """Nothing that the generator puts in is left as its name."""
    return [line for line in page.splitlines() if re.search(r"@[A-Z_]+@", line)]


def names_itself(page):
    """A bare .Nm is the page's own name: heapsnap-check where the program is meant."""
    return [line for line in page.splitlines() if re.fullmatch(r"\.Nm( \W+)*", line)]


def lacks(page, version):
    """What a reader of a page looks for: an example, and of which version it is."""
    return [line for line in (".Sh EXAMPLES", f".Os heapsnap {version}") if line not in page.splitlines()]


def complete(script, *words):
    """What bash offers for the last word."""
    code = COMPOPT + 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _heapsnap; printf "%s\\n" "${COMPREPLY[@]}"'
    done = run("bash", "-c", code, "bash", script, *words)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout.split()


def quotes_files(script, *words):
    """Whether bash is told that what is offered are names of files. It then quotes them, and puts no blank behind a folder's."""
    code = COMPOPT + 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _heapsnap; echo "$options"'
    return run("bash", "-c", code, "bash", script, *words).stdout == "-o filenames\n"


def check_texts(program, build):
    bad = []
    version = run(program, "--version").stdout.split()[1]
    completions = {name: open(os.path.join(build, "completions", name), encoding="utf-8").read() for name in ["heapsnap.bash", "_heapsnap", "heapsnap.fish"]}
    for command in [None] + COMMANDS:
        text = run(program, *([command] if command else []), "--help").stdout
        options = options_of(text)
        assert text and options, f"no help of {command}"
        bad += [f"{command} --help: {len(line)} columns: {line}" for line in wide_lines(text)]
        page = open(os.path.join(build, "man", f"heapsnap{'-' + command if command else ''}.1"), encoding="utf-8").read()
        bad += [f"--{name} is not in the page of {command}" for name in not_in_page(page, options)]
        bad += [f"the page of {command}: {line}" for line in unfilled_lines(page)]
        bad += [f"the page of {command} has no {line}" for line in lacks(page, version)]
        bad += [f"the page of {command} names itself, not the program: {line}" for line in names_itself(page) if command]
        offered = complete(os.path.join(build, "completions/heapsnap.bash"), "heapsnap", *([command] if command else []), "-")
        bad += [f"bash does not complete --{name} of {command}" for _, name in options if "--" + name not in offered]
        bad += [f"zsh does not know --{name}" for _, name in options if not re.search(rf"--{name}=?[\[}}]", completions["_heapsnap"])]
        condition = f"'__fish_seen_subcommand_from {command}'" if command else "__fish_use_subcommand"
        bad += [f"fish does not know --{name} of {command}" for _, name in options if f"-n {condition} -l {name} " not in completions["heapsnap.fish"]]
    for command in COMMANDS:
        main = open(os.path.join(build, "man/heapsnap.1"), encoding="utf-8").read()
        bad += [f"heapsnap(1) does not name {command}"] * (f".It Xr heapsnap-{command} 1" not in main)
        bad += [f"wrong usage of {command}: {line}" for line in wide_lines(run(program, command, "--no-such-option").stderr)]
    return bad


def check_bash(script):
    offered = complete(script, "heapsnap", "")
    assert set(COMMANDS) <= set(offered), offered
    assert complete(script, "heapsnap", "at") == ["attach"]
    assert complete(script, "heapsnap", "dump", "--er") == ["--errors"]
    pid = str(os.getpid())
    assert pid in complete(script, "heapsnap", "detach", pid), "no PID is completed"
    assert pid in complete(script, "heapsnap", "attach", "--exact", pid[:1]), "no PID is completed behind an option"
    assert not complete(script, "heapsnap", "attach", "--depth", ""), "a number is guessed"
    assert os.path.basename(script) in complete(script, "heapsnap", "dump", pid, "-o", os.path.basename(script)[:6]), "no file is completed"
    name = os.path.basename(script)
    for words in (["-o", name[:6]], ["--output", "=", name[:6]], ["--output", "="]):
        assert name in complete(script, "heapsnap", "dump", pid, *words), f"no file is completed behind {words}"
        assert quotes_files(script, "heapsnap", "dump", pid, *words), f"a file's name with a blank in it would not be quoted behind {words}"
    assert "bash" in complete(script, "heapsnap", "run", "--exact", "ba"), "no command is completed"
    assert not quotes_files(script, "heapsnap", "dump", pid[:1]), "a PID is a file's name"
    assert not complete(script, "heapsnap", "attach", "--depth", "=", ""), "a number is guessed behind ="


def zsh_arguments(script, command):
    """What _heapsnap gives to _arguments for a command. Of quotes that do not match, some pairs are still right for zsh -n."""
    code = 'function _arguments { print -rN -- "$@" }; words=(heapsnap $2 --) CURRENT=3; source $1'
    done = run("zsh", "-f", "-c", code, "zsh", script, command)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout.split("\0")[:-1]


def wrong_zsh_arguments(arguments, options):
    """Each option must be an argument of its own: "--name[text]", before it what it excludes, behind it its value: then it is "--name=[text]:VALUE:"."""
    names = [re.fullmatch(r"(?:\([^)]*\)|\*)?--([a-z-]+)(?:\[[^][]*\]|=\[[^][]*\]:[A-Z=]+:(?:_files| ))", argument) for argument in arguments[:-1]]
    found = {match[1] for match in names if match}
    return [argument for argument, match in zip(arguments, names) if not match and not argument.startswith("(-")] + \
        [name for letter, name in options if not letter and name not in found] + [last for last in arguments[-1:] if last not in ("*:PID:_pids", "*:profile:_files", "*::command:_normal")]


def fish_options(script, command):
    """The options that fish offers for a command, and what it says of the file."""
    with tempfile.TemporaryDirectory(prefix="heapsnap-fish-") as home:  # fish makes folders in it
        environment = {**{name: value for name, value in os.environ.items() if not name.startswith("XDG_")}, "HOME": home}
        done = run("fish", "--no-config", "-c", f"source {script}; complete -C 'heapsnap {command} --'", env=environment)
    return {line.split("\t")[0] for line in done.stdout.splitlines()}, done.stderr


def check_shells(program, build):
    """That the shells complete each option of each command. Of a shell that is not there, check_syntax says so."""
    bad = []
    assert wrong_zsh_arguments(["--exact[a thread's time:\n--depth[b]", "*:PID:_pids"], [("", "exact"), ("", "depth")])
    assert not wrong_zsh_arguments(["--exact[a thread's]", "*--allocator=[b]:NAME=KIND: ", "*:PID:_pids"], [("", "exact"), ("", "allocator")])
    assert wrong_zsh_arguments(["--depth[a]:N: ", "*:PID:_pids"], [("", "depth")]), "--depth=N is not seen to be lacking"
    for command in COMMANDS:
        options = options_of(run(program, command, "--help").stdout)
        if shutil.which("zsh"):
            bad += [f"zsh, {command}: {wrong}" for wrong in wrong_zsh_arguments(zsh_arguments(os.path.join(build, "completions/_heapsnap"), command), options)]
        if shutil.which("fish"):
            offered, complaints = fish_options(os.path.join(build, "completions/heapsnap.fish"), command)
            bad += [f"fish, {command}: {complaints}"] if complaints else []
            bad += [f"fish does not complete --{name} of {command}" for _, name in options if "--" + name not in offered]
    return bad


def check_syntax(build):
    left_out = []
    shells = [("bash", "heapsnap.bash"), ("zsh", "_heapsnap"), ("fish", "heapsnap.fish")]
    pages = [os.path.join(build, "man", name) for name in sorted(os.listdir(os.path.join(build, "man")))]
    assert len(pages) == len(COMMANDS) + 1, pages
    for shell, name in shells:
        if not shutil.which(shell):
            left_out.append(f"{shell} is not installed")
            continue
        assert run(shell, "-n", "/dev/stdin", input="if (((\n").returncode != 0, f"{shell} understands everything"
        done = run(shell, "-n", os.path.join(build, "completions", name))
        assert done.returncode == 0 and not done.stderr, done
    tools = [("mandoc", ["-Tlint", "-Wwarning"]), ("groff", ["-mandoc", "-Tutf8", "-z", "-wall"])]
    for tool, arguments in tools:
        if not shutil.which(tool):
            left_out.append(f"{tool} is not installed")
            continue
        assert run(tool, *arguments, input=".Dd November 25, 2026\n.Dt A 1\n.Os\n.Sh NAME\n.Nm a\n.Nd b\n.Bl\n.ab\n").stdout + \
            run(tool, *arguments, input=".Sh \n.de\n").stderr, f"{tool} does not complain"
        for page in pages:
            done = run(tool, *arguments, page)
            assert done.returncode == 0 and not done.stdout and not done.stderr, done
    return left_out


def main():
    program, build = sys.argv[1:]
    assert wide_lines("a" * 81) and not wide_lines("a" * 80)
    assert options_of("  -o, --output FILE  x\n  --exact  y\n") == [("o", "output"), ("", "exact")]
    assert not_in_page(".It Fl Fl exactly\n.It Fl o , Fl Fl output Ar FILE\n", [("", "exact"), ("o", "output")]) == ["exact"]
    assert lacks(".Os\n.Sh EXAMPLES\n", "1.2.3") == [".Os heapsnap 1.2.3"] and lacks(".Os heapsnap 1.2.3\n", "1.2.3") == [".Sh EXAMPLES"]
    assert names_itself(".Nm heapsnap-check\n.Nm heapsnap .\nfor\n.Nm ) ,\n.Nm\n.Nm Cm detach\n") == [".Nm ) ,", ".Nm"]
    build = os.path.abspath(build)
    bad = check_texts(program, build) + check_shells(program, build)
    program = os.path.abspath(program)
    os.chdir(os.path.join(build, "completions"))
    check_bash(os.path.join(build, "completions/heapsnap.bash"))
    version = run(program, "--version").stdout
    assert re.fullmatch(r"heapsnap \d+\.\d+\.\d+ \(commit (unknown|[0-9a-f]{7,40}(-dirty)?), \w+, \w+ [\d.]+, ABI \d+\)\n", version), version
    left_out = check_syntax(build)
    print("\n".join(bad + [f"SKIPPED: {reason}" for reason in left_out]))
    sys.exit(1 if bad else 77 if left_out else 0)


main()
