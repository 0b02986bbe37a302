// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogLinux

/// Shows long text page by page, as git and systemctl do.
struct PagerOption: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "Do not use a pager. By default, WATCHDOGD_PAGER, PAGER or less shows long text on a terminal."))
    var noPager = false

    /// Prints a text, in a pager if it is longer than the terminal it goes to.
    func show(_ text: String) { Self.show(text, byPages: !noPager) }

    /// The same for a command without these options.
    static func show(_ text: String, byPages isWanted: Bool = true) {
        guard isWanted, let command, text.utf8.count(where: { $0 == UInt8(ascii: "\n") }) >= rows,
            page(text, by: command)
        else {
            print(text, terminator: "")
            return
        }
    }

    /// The pager; nil if none is wanted, or where nobody could use it.
    private static var command: String? {
        guard isatty(STDOUT_FILENO) == 1, isatty(STDIN_FILENO) == 1, LeadingOptions.given?.hasNoPager != true else {
            return nil
        }
        return choice
    }

    /// The pager that the user has chosen; nil for none.
    static var choice: String? {
        let environment = Environment.inherited
        // The caller of sudo chooses the environment, and must not choose what runs with root's rights.
        guard !hasOthersRights else { return "less" }
        let command = environment["WATCHDOGD_PAGER"] ?? environment["PAGER"] ?? "less"
        return command.isEmpty || command == "cat" ? nil : command
    }

    /// Prepares the environment of a pager.
    ///
    /// - Parameter less: the options of less(1), unless the user has set some.
    static func configure(less: String) {
        setenv("LESS", less, 0)
        // With another user's rights, a pager must not start programs or write files: less(1), "SECURITY".
        if hasOthersRights { setenv("LESSSECURE", "1", 1) }
    }

    private static var hasOthersRights: Bool {
        ["SUDO_UID", "DOAS_USER", "PKEXEC_UID"].contains { Environment.inherited[$0] != nil }
    }

    private static var rows: Int {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0 ? Int(size.ws_row) : 24
    }

    /// - Returns: false if the pager could not be started, so that nothing was printed.
    private static func page(_ text: String, by command: String) -> Bool {
        // less(1): quit if it fits, keep colors, leave the text on the screen.
        configure(less: "FRX")
        fflush(nil)
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return false }
        // The pager must not hold the end that closes when the text is complete.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let pager = start(command, reading: ends[0])
        close(ends[0])
        guard let pager else {
            close(ends[1])
            return false
        }
        // A pager that quits early ends the text. ^C is for the pager, as in git.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGINT, SIG_IGN)
        // A pager that has ended reads no more.
        try? writeAll(Array(text.utf8), to: ends[1])
        close(ends[1])
        var status: Int32 = 0
        while waitpid(pager, &status, 0) < 0, errno == EINTR {}
        // 127: the shell did not find it, sh(1).
        return status >> 8 & 0xff != 127
    }

    private static func start(_ command: String, reading input: Int32) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        guard posix_spawn_file_actions_init(&actions) == 0 else { return nil }
        defer { posix_spawn_file_actions_destroy(&actions) }
        guard posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) == 0 else { return nil }
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(command), nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        return posix_spawn(&child, "/bin/sh", &actions, nil, arguments, environ) == 0 ? child : nil
    }
}
