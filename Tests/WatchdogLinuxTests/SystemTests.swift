// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("System", .reapsChildren)
struct SystemTests {
    @Test("an account has its groups, home and shell")
    func account() throws {
        let root = try UserAccount.find(user: "root")
        #expect(root.credentials.user == 0 && root.credentials.group == 0)
        #expect(root.home == "/root")
        #expect(root == (try UserAccount.find(user: "0")))
        let other = try UserAccount.find(user: "root", group: "daemon")
        #expect(other.credentials.group == (try UserAccount.find(user: "daemon")).credentials.group)
        let number = try UserAccount.find(user: "54321", group: "12345")
        #expect(number.credentials == Credentials(user: 54321, group: 12345))
    }

    @Test(
        "a failed lookup is reported",
        arguments: [
            ("no such user", nil, "user 'no such user' does not exist"),
            ("root", "no such group", "group 'no such group' does not exist"),
            ("54321", nil, "user 54321 has no account, so that its group has to be given"),
            ("4294967295", "0", "user '4294967295' does not exist"),
            ("", nil, "user '' does not exist"),
        ] as [(String, String?, String)]
    )
    func unknown(user: String, group: String?, reason: String) throws {
        let error = try #require(throws: UserAccount.LookupError.self) {
            try UserAccount.find(user: user, group: group)
        }
        #expect(error.description == reason)
    }

    @Test("a descriptor that is not a terminal is rejected")
    func noTerminal() throws {
        #expect(Terminal(-1) == nil)
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDONLY)
        #expect(Terminal(null.number) == nil)
    }

    @Test(
        "objects for processes without libc depend only on each other",
        arguments: ["wd_spawn_child", "wd_launcher_serve"])
    func objectsWithoutLibrary(name: String) throws {
        let executable = try #require(ProcessFacts.executable(getpid()))
        let directory = executable.split(separator: "/").dropLast().joined(separator: "/")
        let object = "/\(directory)/CLinux.build/\(name).c.o"
        guard access(object, R_OK) == 0, access("/usr/bin/nm", X_OK) == 0 else {
            return print("not tested: no nm, or no \(object)")
        }
        let result = try run(SpawnRequest(executable: "/usr/bin/nm", arguments: ["nm", "-u", object]))
        #expect(result.status == .exited(code: 0))
        // A sanitizer registers every file at program start, which does not run in these processes.
        let allowed = [
            "tsan_init", "asan_init", "_elf_globals", "_asan_globals", "_version_mismatch_check_v8", "wd_spawn_child",
        ]
        let undefined = result.output.split(separator: "\n").filter { symbol in
            !allowed.contains { symbol.hasSuffix($0) }
        }
        #expect(undefined.isEmpty)
    }

    @Test("without a service manager there is no notifier")
    func serviceManager() throws {
        guard !ServiceManager.isListening else { return }
        #expect(try ServiceNotifier(on: EventLoop()) == nil)
    }
}
