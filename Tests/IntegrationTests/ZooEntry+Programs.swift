// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

extension ZooEntry {
    /// Unmodified Debian programs.
    ///
    /// Those without symbols show at least that their stack was unwound to its end.
    static let programs: [ZooEntry] = readers + waiting + computing

    /// Programs that wait for their input.
    private static let readers: [ZooEntry] = [
        "cat", "sort", "wc", "head", "tee", "od", "cut", "uniq", "tr", "md5sum", "grep", "sed",
        "mawk", "gzip", "xz", "xargs", "patch", "bash", "dash", "perl", "openssl", "jq", "file", "iconv",
        "tar", "make", "dd", "sqlite3", "gdb", "bzip2",
    ].map { name in
        ZooEntry(
            kind: "\(name)_reads_a_pipe", program: .server, frame: "__libc_start_main", line: "pipe, other end in")
    }

    private static let waiting: [ZooEntry] = [
        ZooEntry(
            kind: "cat_opens_a_fifo", program: .server, call: "openat", frame: "__libc_start_main",
            line: "(fifo (fifo that nobody opens for writing))"),
        ZooEntry(
            kind: "bash_opens_a_fifo", program: .server, call: "openat", frame: "do_redirections",
            line: "(fifo (fifo that nobody opens for writing))"),
        ZooEntry(
            kind: "tail_follows", program: .server, frame: "__libc_start_main", line: "inotify"),
        ZooEntry(
            kind: "cat_writes_to_a_full_pipe", program: .server, call: "write", frame: "__libc_start_main",
            line: "pipe, other end in pid"),
        ZooEntry(
            kind: "seq_writes_to_a_full_pipe", program: .server, call: "write", frame: "__libc_start_main",
            line: "pipe, other end in pid"),
        ZooEntry(
            kind: "sleep_sleeps", program: .server, call: "clock_nanosleep", frame: "__libc_start_main"),
        ZooEntry(
            kind: "timeout_waits", program: .server, frame: "__libc_start_main"),
        ZooEntry(
            kind: "flock_waits", program: .server, call: "flock", frame: "__libc_start_main",
            line: "/lock, locked by pid"),
        ZooEntry(
            kind: "bash_waits_for_its_child", program: .server, call: "wait4", frame: "wait_for",
            finding: .childProcess, line: "sleep"),
        ZooEntry(
            kind: "dash_waits_for_its_child", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "sleep"),
        ZooEntry(
            kind: "make_waits_for_its_child", program: .server, frame: "__libc_start_main", finding: .childProcess,
            line: "sleep"),
        ZooEntry(
            kind: "xargs_waits_for_its_child", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "sleep"),
        ZooEntry(
            kind: "find_waits_for_its_child", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "sleep"),
        ZooEntry(
            kind: "perl_waits_for_its_child", program: .server, call: "wait4", frame: "Perl_pp_system",
            finding: .childProcess, line: "sleep"),
        ZooEntry(
            kind: "git_waits_for_its_editor", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "child"),
        ZooEntry(
            kind: "gcc_waits_for_its_compiler", program: .server, call: "wait4", frame: "__libc_start_main",
            finding: .childProcess, line: "cc1"),
        ZooEntry(
            kind: "strace_waits", program: .server, call: "wait4", frame: "__libc_start_main", finding: .childProcess,
            line: "sleep"),
        ZooEntry(
            kind: "curl_waits_for_an_answer", program: .server, call: "poll", frame: "curl_easy_perform",
            line: "TCP 127.0.0.1:"),
        ZooEntry(
            kind: "git_waits_for_a_server", program: .server, call: "read", frame: "__libc_start_main",
            line: "ESTABLISHED, nothing to read"),
        ZooEntry(
            kind: "openssl_waits_for_a_handshake", program: .server, call: "read", frame: "BIO_read",
            line: "ESTABLISHED, nothing to read"),
        ZooEntry(
            kind: "bash_waits_for_a_server", program: .server, call: "read", frame: "read_builtin",
            line: "ESTABLISHED, nothing to read"),
        ZooEntry(
            kind: "perl_accepts", program: .server, frame: "Perl_pp_accept", line: "no connection to accept"),
        ZooEntry(
            kind: "socat_relays", program: .server, frame: "__libc_start_main", line: "TCP 127.0.0.1:"),
        ZooEntry(
            kind: "redis_cli_subscribes", program: .server, frame: "__libc_start_main", line: "Unix socket"),
        ZooEntry(
            kind: "psql_waits_for_a_lock", program: .server, frame: "PQgetResult", finding: .databaseAnswer,
            line: "Unix socket"),
        ZooEntry(
            kind: "sqlite3_waits_for_a_database", program: .server, call: "clock_nanosleep",
            frame: "sqlite3InvokeBusyHandler", finding: .sqliteBusy),
        ZooEntry(
            kind: "perl_sleeps", program: .server, call: "clock_nanosleep", frame: "Perl_pp_sleep"),
        ZooEntry(
            kind: "perl_locks", program: .server, call: "flock", frame: "Perl_pp_flock", line: "/lock, locked by pid"),
    ]

    private static let computing: [ZooEntry] = [
        ZooEntry(
            kind: "perl_spins", program: .server, verdict: .spinning, frame: "Perl_runops_standard", needsCPU: true),
        ZooEntry(
            kind: "perl_matches", program: .server, verdict: .spinning, frame: "Perl_regexec_flags",
            finding: .regularExpression, needsCPU: true),
        ZooEntry(
            kind: "bash_spins", program: .server, verdict: .spinning, frame: "execute_command", needsCPU: true),
        ZooEntry(
            kind: "dash_spins", program: .server, verdict: .spinning, frame: "__libc_start_main", needsCPU: true),
        ZooEntry(
            kind: "mawk_spins", program: .server, verdict: .spinning, frame: "__libc_start_main", needsCPU: true),
        ZooEntry(
            kind: "sed_spins", program: .server, verdict: .spinning, frame: "__libc_start_main", needsCPU: true),
        ZooEntry(
            kind: "jq_spins", program: .server, verdict: .spinning, frame: "jq_next", needsCPU: true),
        ZooEntry(
            kind: "xz_compresses", program: .server, verdict: .spinning, frame: "lzma_code", needsCPU: true),
        ZooEntry(
            kind: "gzip_compresses", program: .server, verdict: .spinning, frame: "__libc_start_main", needsCPU: true),
        ZooEntry(
            kind: "bzip2_compresses", program: .server, verdict: .spinning, frame: "BZ2_bzCompress", needsCPU: true),
        ZooEntry(
            kind: "openssl_computes", program: .server, verdict: .spinning, frame: "EVP_Digest", needsCPU: true),
        ZooEntry(
            kind: "sha256sum_computes", program: .server, verdict: .spinning, frame: "__libc_start_main", needsCPU: true
        ),
        ZooEntry(
            kind: "sqlite3_queries", program: .server, verdict: .spinning, frame: "sqlite3VdbeExec", needsCPU: true),
        ZooEntry(
            kind: "vim_spins", program: .server, verdict: .spinning, frame: "__libc_start_main", needsCPU: true),
        ZooEntry(
            kind: "zsh_spins", program: .server, verdict: .spinning, frame: "execwhile", needsCPU: true),
        ZooEntry(
            kind: "fish_spins", program: .server, verdict: .spinning, frame: "__libc_start_main", needsCPU: true),
        ZooEntry(
            kind: "cc1_compiles", program: .server, verdict: .spinning, frame: "toplev::main", needsCPU: true),
    ]
}
