# SPDX-License-Identifier: Apache-2.0
"""Whether the programs on the pages compile, for scripts/docs-check.

A page shows what its reader writes, and not what the reader already has. An invisible comment before a block gives the
rest; without a line `…` in it, the rest comes after the block:

    <!-- given:
    func saveDocuments() {}
    -->

`<!-- not compiled: REASON -->` excludes a block. A line `…` in a block stands for the reader's own lines.
"""

import ast
import os
import re
import shutil
import subprocess
import tempfile

import pages

MARKER = re.compile(r"<!-- (given|not compiled):\s*((?:(?!-->).)*?)\s*-->\n+\Z", re.S)
ELLIPSIS = re.compile(r"^\s*…$", re.M)


class Program:
    """A fenced block, and what it takes to compile it."""

    def __init__(self, place, language, content, kind, words):
        self.place, self.language, self.kind, self.words = place, language, kind, words or ""
        self.content = content

    @property
    def source(self):
        """The block between or before what its reader has."""
        content = ELLIPSIS.sub("", self.content)
        given = self.words if self.kind == "given" else ""
        parts = ELLIPSIS.split(given, maxsplit=1)
        if len(parts) == 1:
            return f"{content}\n{given}\n"
        return f"{parts[0]}\n{content}\n{parts[1]}\n"


def programs(page):
    """The blocks of a page in the languages that can be checked."""
    whole = pages.text(page)
    for match in re.finditer(r"^```(swift|c|python|js)\n(.*?)^```$", whole, re.S | re.M):
        marker = MARKER.search(whole[: match.start()])
        kind, words = marker.groups() if marker else (None, None)
        place = f"{page}:{whole.count(chr(10), 0, match.start()) + 1}"
        yield Program(place, match.group(1), match.group(2), kind, words)


def first_error(command, source, **settings):
    """What a compiler says first, or None."""
    answer = subprocess.run(command, input=source, capture_output=True, text=True, timeout=300, **settings)
    if answer.returncode == 0:
        return None
    lines = [line for line in (answer.stderr + answer.stdout).split("\n") if "rror" in line]
    return re.sub(r"^\S*?:\d+:\d+: ", "", lines[0]) if lines else f"{command[0]} exits with {answer.returncode}"


def swift_fault(program, build):
    flags = ["-swift-version", "6", "-warnings-as-errors", "-I", os.path.join(build, "Modules")]
    # The libraries' own modules in C are not the reader's affair, but the compiler asks for them.
    for name in sorted(os.listdir(build)):
        module = os.path.join(build, name, "module.modulemap")
        if name.endswith(".build") and os.path.exists(module):
            flags += ["-Xcc", "-fmodule-map-file=" + module]
    if re.search(r"@main$", program.source, re.M):
        flags.append("-parse-as-library")
    plugins = os.path.join(os.path.dirname(os.path.realpath(shutil.which("swiftc"))), "../lib/swift/host/plugins/testing")
    if "import Testing" in program.source and os.path.isdir(plugins):
        flags += ["-plugin-path", plugins]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.swift")
        with open(path, "w", encoding="utf-8") as file:
            file.write(program.source)
        return first_error(["swiftc", "-typecheck", *flags, path], None)


def c_fault(program):
    include = os.path.join(pages.ROOT, "Clients/C")
    command = ["cc", "-x", "c", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-I", include, "-fsyntax-only", "-"]
    return first_error(command, program.source)


def python_fault(program):
    try:
        compile(program.source, program.place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        return str(error)
    return None


def js_fault(program):
    with tempfile.NamedTemporaryFile("w", suffix=".mjs", encoding="utf-8") as file:
        file.write(program.source)
        file.flush()
        return first_error(["node", "--check", file.name], None)


def fault(program, build):
    """Why the program does not compile; None if it does, or if this machine has no compiler for it."""
    if program.kind == "not compiled":
        return None if program.words else "the marker does not say why it is not compiled"
    if program.language == "python":
        return python_fault(program)
    if shutil.which({"swift": "swiftc", "c": "cc", "js": "node"}[program.language]) is None:
        return None
    if program.language == "swift":
        return swift_fault(program, build)
    return c_fault(program) if program.language == "c" else js_fault(program)


def prove(build):
    """Proves that the check can fail: each program lacks what its twin is given."""
    for language, content, given in (
        ("swift", "load()\n", "func load() {}"),
        ("c", "int main(void) { return load(); }\n", "int load(void);\n…"),
        ("python", "    load()\n", "def f():\n…"),
        ("js", "  load() {}\n", "class Feed {\n…\n}"),
    ):
        for kind, words in ((None, None), ("given", given)):
            if bool(fault(Program("proof", language, content, kind, words), build)) != (kind is None):
                compiler = {"swift": "swiftc", "c": "cc", "js": "node", "python": "python3"}[language]
                if shutil.which(compiler):
                    return f"docs-check: judges a program in {language} wrongly, given {words!r}"
    return None
