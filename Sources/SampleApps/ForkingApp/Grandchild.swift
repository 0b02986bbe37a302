// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A process that ForkingApp leaves behind.
enum Grandchild {
    /// The option that runs this program as the grandchild.
    static let option = "--grandchild"
    /// The option that runs this program as the intermediate process, which leaves the session and starts a grandchild
    /// there.
    static let daemonOption = "--become-daemon"

    /// Exits after ten minutes, in case nothing kills it before.
    static func live() -> Never {
        sleep(600)
        exit(0)
    }

    /// The second half of a double fork: its grandchild is adopted by the nearest reaper and has no terminal.
    static func becomeDaemon() -> Never {
        setsid()
        let daemon = start(option, inOwnGroup: false)
        print("own session: \(daemon)")
        fflush(nil)
        exit(0)
    }

    /// Starts this program again, with an option.
    static func start(_ option: String, inOwnGroup: Bool) -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        if inOwnGroup {
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
            posix_spawnattr_setpgroup(&attributes, 0)
        }
        let words: [UnsafeMutablePointer<CChar>?] = [strdup("ForkingApp"), strdup(option), nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let error = posix_spawn(&process, "/proc/self/exe", nil, &attributes, words, environ)
        guard error == 0 else {
            fail("cannot start itself: \(String(cString: strerror(error)))")
        }
        return process
    }
}
