# SPDX-License-Identifier: Apache-2.0
"""The library as it is built, installed and measured."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time

from app import App, BUILD, FOLDER, GLUE, LIMIT_S, Skip


TEXT_BYTES_MAX = 16 * 1024
# More than a bare echo takes.
ANSWER_US_MAX = 100


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


# The least that a program can do for an answer.
ECHO = r"""
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
int main(void)
{
    struct pollfd entry = {atoi(getenv("WATCHDOG_CHANNEL")), POLLIN, 0};
    char text[64];

    for (;;) {
        poll(&entry, 1, -1);
        ssize_t length = recv(entry.fd, text, sizeof text, 0);
        if (length <= 0)
            return 0;
        send(entry.fd, text, (size_t)length, MSG_NOSIGNAL);
    }
}
"""


def latency():
    """An answer takes at most 0.1 ms more than a bare echo. They take turns, so that the machine is the same for both."""
    subprocess.run(["cc", "-std=gnu17", "-O2", "-x", "c", "-", "-o", os.path.join(BUILD, "echo")], input=ECHO, text=True,
                   check=True)
    with App("driver") as app, App("echo", greeted=False) as echo:
        times_us = {app: [], echo: []}
        for nonce in range(3000):
            for asked, times in times_us.items():
                began = time.perf_counter_ns()
                asked.say(f"PING={nonce}")
                asked.channel.recv(64)
                times.append((time.perf_counter_ns() - began) / 1000)
        client_us, echo_us = (statistics.median(times) for times in times_us.values())
        print(f"        ping to answer and back: median {client_us:.0f} µs, of a bare echo {echo_us:.0f} µs, "
              f"99 % within {sorted(times_us[app])[2970]:.0f} µs, measured from Python")
        assert client_us - echo_us <= ANSWER_US_MAX, (client_us, echo_us)
        app.end()
        echo.channel.close()
        assert echo.process.wait(LIMIT_S) == 0


TESTS = [compiles_as_cplusplus, installs, size, latency]
