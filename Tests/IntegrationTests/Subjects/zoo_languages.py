# SPDX-License-Identifier: Apache-2.0
"""The part of the zoo of hangs in Java, Go, Rust, C++, Ruby and Erlang: each kind is a language and a way to hang, as in "go_read"."""

import os
import subprocess
import time

from zoo_start import Skip, program, start

SUBJECTS = os.path.dirname(os.path.abspath(__file__))


def java(way):
    java, compiler = program("java"), program("javac")
    compile_by(compiler, "-d", ".", f"{SUBJECTS}/Hang.java")
    return ready(start(java, "-Xmx64m", "-cp", ".", "Hang", way, stdout=subprocess.PIPE, text=True))


def go(way):
    # Package net/http takes a minute to compile.
    source = "zoo_http.go" if way in ("request", "serve") else "zoo.go"
    compile_by(program("go"), "build", "-o", "hang", f"{SUBJECTS}/{source}")
    os.mkfifo("fifo")
    # One goroutine runs at a time, so that the one that computes stays on the main thread.
    environment = dict(os.environ, GOMAXPROCS="1")
    return ready(start("./hang", way, stdout=subprocess.PIPE, text=True, env=environment))


def rust(way):
    compiler = program("rustc", os.path.expanduser("~/.cargo/bin"))
    compile_by(compiler, "-O", "-g", "-o", "hang", f"{SUBJECTS}/zoo.rs")
    return ready(start("./hang", way, stdout=subprocess.PIPE, text=True))


def cpp(way):
    # As it is debugged, and as it is shipped.
    optimization = "-O0" if way.endswith("_plain") else "-O2"
    compile_by(program("g++"), "-std=c++20", "-g", optimization, "-pthread", "-o", "hang", f"{SUBJECTS}/zoo.cpp")
    return ready(start("./hang", way.removesuffix("_plain"), stdout=subprocess.PIPE, text=True))


def ruby(way):
    return ready(start(program("ruby"), f"{SUBJECTS}/zoo.rb", way, stdout=subprocess.PIPE, text=True))


ERLANG = {
    "receive": "receive never -> ok end",
    "spin": "Spin = fun Again(N) -> Again(N * 31 rem 1000003 + 7) end, Spin(1)",
}


def erlang(way):
    # The program is compiled when it is started, which takes a moment; a home directory holds its cookie.
    environment = dict(os.environ, HOME=os.getcwd())
    code = f'io:format("ready~n"), {ERLANG[way]}.'
    return ready(start(program("erl"), "-noshell", "-eval", code, stdout=subprocess.PIPE, text=True, env=environment))


def compile_by(*command):
    # Compilers keep caches in the home directory, which a test's program may not have.
    environment = dict(os.environ, HOME=os.environ.get("HOME", os.getcwd()), GOCACHE=os.path.abspath("cache"))
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        raise Skip(f"{os.path.basename(command[0])} fails: {result.stderr.strip()[-300:]}")


def ready(child):
    if child.stdout.readline() != "ready\n":
        raise RuntimeError("the program did not start")
    # What it prints last, it prints before it waits.
    time.sleep(0.3)
    return child.pid


LANGUAGES = {"java": java, "go": go, "rust": rust, "cpp": cpp, "ruby": ruby, "erlang": erlang}


def find(kind):
    """How to bring a kind to hang; nothing if it is none of these."""
    language, _, way = kind.partition("_")
    return LANGUAGES.get(language) and (lambda: LANGUAGES[language](way))
