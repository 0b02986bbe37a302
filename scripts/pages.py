# SPDX-License-Identifier: Apache-2.0
"""What the pages in Markdown consist of, for scripts/docs-check, docs-test and installed-docs."""

import hashlib
import os
import re
import shlex
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHELLS = ("sh", "bash", "console")
# The page of which the pictures of a crash log are. Tests compare it with what the code writes today.
PICTURED = "Tests/WatchdogRenderingTests/Goldens/causes/deadlock.html"
PICTURES_OF = "docs/pictures/report.sha256"
MARKER = re.compile(r"^<!-- (run|not run)(?:: (.*))? -->$")


class Block:
    """A fenced block, or consecutive indented lines (the language is None)."""

    def __init__(self, page, line, language, marker):
        self.page, self.line, self.language, self.marker = page, line, language, marker
        self.lines = []

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def settings(self):
        """The words of a marker: `run: terminal=1 until="ready"`."""
        words = shlex.split((self.marker or (None, None))[1] or "")
        return {word.partition("=")[0]: word.partition("=")[2] for word in words}

    @property
    def steps(self):
        """The commands of a block, each with the output that the page shows for it; a script has one without."""
        if self.language != "console":
            return [("\n".join(self.lines), None)]
        steps = []
        for text in self.lines:
            if text.startswith("$ "):
                steps.append((text[2:], []))
            elif text.startswith("> ") and steps and not steps[-1][1]:
                steps[-1] = (steps[-1][0] + "\n" + text[2:], [])
            elif steps:
                steps[-1][1].append(text)
        return steps


def tracked(*patterns):
    """The tree's files that match, without those that git ignores."""
    command = ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\n")
    return sorted({name for name in names if name and os.path.exists(os.path.join(ROOT, name))})


def pictured():
    """What PICTURES_OF holds if the pictures are of today's page."""
    return f"{hashlib.sha256(text(PICTURED).encode()).hexdigest()}  {PICTURED}\n"


def text(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


def blocks(page):
    """All blocks of a page, in order."""
    found, open_block, marker, in_list, found_blank = [], None, None, False, True
    for number, line in enumerate(text(page).split("\n"), 1):
        fence = re.match(r"^```(\S*)", line)
        if open_block and open_block.language is not None:
            if fence:
                open_block = None
            else:
                open_block.lines.append(line)
        elif fence:
            open_block = Block(page, number, fence.group(1), marker)
            found.append(open_block)
            marker = None
        elif line.startswith("    ") and (open_block or (found_blank and not in_list)):
            if not open_block:
                open_block = Block(page, number, None, marker)
                found.append(open_block)
            open_block.lines.append(line[4:])
            marker = None
        else:
            open_block = None
            match = MARKER.match(line)
            if match:
                marker = match.groups()
            elif line.strip():
                marker = None
        if open_block is None and line.strip():
            in_list = bool(re.match(r"\s*([-*]|\d+\.) ", line)) or (line.startswith(" ") and in_list)
        found_blank = not line.strip()
    return found


def prose(page):
    """The lines outside of fenced blocks, with their numbers."""
    inside = False
    for number, line in enumerate(text(page).split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found, seen = set(), {}
    for _, line in prose(page):
        match = re.match(r"^#+ (.*)$", line)
        if not match:
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        found.add(anchor if count == 0 else f"{anchor}-{count}")
    return found


def dead_links(page):
    """The links of a page that lead to no file, or to no heading of one."""
    folder = os.path.dirname(page)
    for number, line in prose(page):
        targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)) + re.findall(r"(?:src|srcset)=\"([^\"]+)\"", line)
        for target in targets:
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(folder, path)) if path else page
            if not os.path.exists(os.path.join(ROOT, path)):
                yield f"{page}:{number}: no file {target}"
            elif anchor and path.endswith(".md") and anchor not in anchors(path):
                yield f"{page}:{number}: no heading for {target}"
