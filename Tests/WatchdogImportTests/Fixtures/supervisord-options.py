# SPDX-License-Identifier: Apache-2.0
"""Prints for each configuration file what supervisord reads from it, or why it refuses it: a line of JSON."""

import json
import shlex
import sys

from supervisor.options import ServerOptions

KEYS = ("name", "uid", "directory", "umask", "autostart", "stopwaitsecs", "environment")


def words(command):
    """supervisord splits a command only when it starts the program, which fails if it cannot."""
    try:
        return shlex.split(command)
    except ValueError:
        return None


def read(path):
    options = ServerOptions()
    try:
        options.realize(["-c", path, "-n"], doc="")
    except (SystemExit, Exception) as error:  # It ends with the usage.
        return {"refused": f"{error}", "programs": []}
    programs = []
    for group in options.process_group_configs:
        for process in group.process_configs:
            program = {key: getattr(process, key) for key in KEYS}
            program["words"] = words(process.command)
            program["autorestart"] = getattr(process.autorestart, "__name__", "no")
            programs.append(program)
    return {"programs": programs}


for path in sys.argv[1:]:
    print(json.dumps(read(path)))
