// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TestSupport
import WatchdogBase

@testable import WatchdogLinux

private let subjects = "\(#filePath)".split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/Subjects"

/// A program whose main thread blocks in the way that its first argument names.
final class WaitSubject {
    private static let executable = Mutex<String?>(nil)

    private let how: String
    private let spawned: SpawnedProcess
    var pid: Int32 { spawned.process.pid }

    init(_ how: String, _ path: String = "", _ call: String = "") throws {
        self.how = how
        let program = try Self.executable.withLock { executable in
            if let executable { return executable }
            let folder = try makeTemporaryDirectory()
            WaitSubject.folder.withLock { $0 = folder }
            atexit {
                let folder = WaitSubject.folder.withLock { $0 }
                unlink("\(folder)/waits")
                rmdir(folder)
            }
            let compilation = try run(
                SpawnRequest(
                    executable: "/usr/bin/cc",
                    arguments: ["cc", "-O1", "-pthread", "-o", "\(folder)/waits", "\(subjects)/waits.c"]))
            guard compilation.status == .exited(code: 0) else { throw LinuxError("compile", .invalidArgument) }
            executable = "\(folder)/waits"
            return "\(folder)/waits"
        }
        spawned = try spawn(SpawnRequest(executable: program, arguments: ["waits", how, path, call]))
    }

    private static let folder = Mutex("")

    deinit {
        // That child exits by itself when its parent has, and removes the set.
        if how != "semaphores" { for child in children { kill(child, SIGKILL) } }
        try? spawned.process.send(SIGKILL)
        _ = try? waitForExit(spawned.process)
    }

    private var children: [Int32] {
        Procfs.processes().filter { $0 != pid && ProcessStat.read($0)?.parent == pid }
    }

    /// The wait of the main thread, once a condition holds and a second reading agrees; otherwise the last one.
    ///
    /// On its way there, it may be in another call. A reading examines one thread after the other, and the first ones
    /// may not have reached their final wait yet.
    func chain(where condition: (WaitChain) -> Bool) -> WaitChain? {
        var last: WaitChain?
        _ = eventually {
            let before = last
            let place = WaitLook.Place(process: pid, thread: pid)
            guard let syscall = WaitLook.syscall(place), let stat = ProcessStat.read(pid),
                [.sleeping, .uninterruptible].contains(stat.state), stat.name == "waits"
            else { return false }
            let look = WaitLook(budget: .seconds(10)) { [self.pid] + self.children }
            last = look.chain(process: pid, thread: pid, syscall: syscall)
            return last == before && last.map(condition) ?? false
        }
        return last
    }
}
