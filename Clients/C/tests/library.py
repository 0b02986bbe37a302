# SPDX-License-Identifier: Apache-2.0
"""The library as it is built, installed and measured."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time

from app import App, BUILD, FOLDER, GLUE, Skip


TEXT_BYTES_MAX = 16 * 1024


def compiles_as_cplusplus():
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise Skip("no C++ compiler")
    headers = ["watchdog.h", "watchdog-poll.h"]
    flags = []
    for name, module in GLUE.items():
        found = subprocess.run(["pkg-config", "--cflags", module], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            headers.append(f"watchdog-{name}.h")
            flags += found.stdout.split()
    text = "".join(f'#include "{header}"\n' for header in headers) + "int main() { watchdog_ready(nullptr); }\n"
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I" + FOLDER, *flags, "-x", "c++", "-",
                    "-x", "none", os.path.join(BUILD, "libwatchdog.a"), "-o", os.path.join(BUILD, "cplusplus")],
                   input=text, text=True, check=True)


def installs():
    with tempfile.TemporaryDirectory() as folder:
        make = ["make", "--no-print-directory", "-s", "-C", FOLDER]
        subprocess.run([*make, "install", "DESTDIR=" + folder, "PREFIX=/usr", "BUILD=" + folder + "/b"], check=True)
        library = folder + "/usr/lib/libwatchdog.so"
        assert os.readlink(library) == "libwatchdog.so.1"
        dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
        assert "[libwatchdog.so.1]" in dynamic
        needed = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line]
        assert needed == ["libc.so.6"], needed
        symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
        names = [line.split()[2] for line in symbols.stdout.splitlines()]
        assert names and all(name.startswith("watchdog_") for name in names), names
        with open(folder + "/usr/lib/pkgconfig/libwatchdog.pc", encoding="utf-8") as file:
            assert "prefix=/usr\n" in file.read()
        subprocess.run([*make, "uninstall", "DESTDIR=" + folder, "PREFIX=/usr", "BUILD=" + folder + "/b"], check=True)
        assert not [name for _, _, names in os.walk(folder + "/usr") for name in names]


def size():
    object_file = os.path.join(BUILD, "size.o")
    subprocess.run(["cc", "-std=gnu17", "-O2", "-fPIC", "-fvisibility=hidden", "-c", "-o", object_file,
                    os.path.join(FOLDER, "watchdog.c")], check=True)
    printed = subprocess.run(["size", object_file], capture_output=True, text=True, check=True).stdout
    text = int(printed.splitlines()[1].split()[0])
    print(f"        watchdog.o: {text} bytes of text at -O2, of at most {TEXT_BYTES_MAX}")
    assert text <= TEXT_BYTES_MAX


def latency():
    """How long an answer takes; printed, not demanded."""
    with App("driver") as app:
        times_us = []
        for nonce in range(3000):
            began = time.perf_counter_ns()
            app.say(f"PING={nonce}")
            app.channel.recv(64)
            times_us.append((time.perf_counter_ns() - began) / 1000)
        times_us.sort()
        print(f"        ping to answer and back: median {statistics.median(times_us):.0f} µs, "
              f"99 % within {times_us[int(len(times_us) * 0.99)]:.0f} µs, measured from Python")
        app.end()


TESTS = [compiles_as_cplusplus, installs, size, latency]
