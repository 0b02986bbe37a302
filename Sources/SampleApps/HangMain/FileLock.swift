// SPDX-License-Identifier: Apache-2.0

import Glibc

@inline(never)
func openLibrary() {
    let books = loadCatalog()
    print("HangMain: \(books) books")
}

@inline(never)
func loadCatalog() -> Int {
    let catalog = LockHolder.startAndWait()
    let shelves = lockCatalog(catalog)
    return shelves * 30
}

@inline(never)
func lockCatalog(_ catalog: Int32) -> Int {
    guard flock(catalog, LOCK_EX) == 0 else { return 0 }
    flock(catalog, LOCK_UN)
    return 12
}

/// A child process that holds a lock on a file until its parent exits.
enum LockHolder {
    /// The option that runs this program as the lock holder.
    static let option = "--hold-lock"

    /// Starts this program again as the lock holder, and returns the file once it is locked.
    static func startAndWait() -> Int32 {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let path = strdup("\(directory)/HangMain-catalog-XXXXXX")
        defer { free(path) }
        let catalog = path.map { mkstemp($0) } ?? -1
        guard catalog >= 0 else { giveUp("cannot make a file in \(directory)") }
        _ = fcntl(catalog, F_SETFD, FD_CLOEXEC)

        // The holder's standard input reaches its end when this process exits; it reports the lock on its standard
        // output.
        var (lifeline, report): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard pipe(&lifeline) == 0, pipe(&report) == 0 else { giveUp("cannot make a pipe") }
        for end in [lifeline[1], report[0]] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, lifeline[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, report[1], STDOUT_FILENO)

        let words: [UnsafeMutablePointer<CChar>?] = [strdup("HangMain"), strdup(option), path, nil]
        var process: pid_t = 0
        let error = posix_spawn(&process, "/proc/self/exe", &actions, nil, words, environ)
        guard error == 0 else {
            errno = error
            giveUp("cannot start the lock holder")
        }
        close(lifeline[0])
        close(report[1])
        var byte: UInt8 = 0
        guard read(report[0], &byte, 1) == 1 else { giveUp("the lock holder did not get its lock") }
        return catalog
    }

    /// Holds the lock until the parent is gone, then removes the file.
    static func hold(_ path: String) -> Never {
        let file = open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0, flock(file, LOCK_EX) == 0 else { giveUp("cannot lock \(path)") }
        write(STDOUT_FILENO, "1", 1)
        var byte: UInt8 = 0
        while read(STDIN_FILENO, &byte, 1) > 0 {}
        unlink(path)
        exit(0)
    }
}
