// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Killing without a cgroup")
struct ProcessTreeExitTests {
    @Test("a tree that changes sessions and loses its parents is killed completely")
    func kill() async {
        // In a separate process, because being a subreaper is a property of the process.
        await #expect(processExitsWith: .success) {
            try Subreaper.become()
            #expect(Subreaper.isActive)
            let script = """
                import os, signal
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        os.setsid()
                        if os.fork() == 0:
                            os.setsid()
                            os.write(1, b'x')
                            signal.pause()
                        os._exit(0)
                    os.write(1, b'x')
                    signal.pause()
                os.write(1, b'x')
                signal.pause()
                """
            var request = SpawnRequest(executable: "/usr/bin/python3", arguments: ["python3", "-c", script])
            request.environment["MARK"] = "of this test"
            let pipe = try OwnedDescriptor.pipe()
            request.descriptors[1].source = pipe.write.number
            let spawned = try spawn(request)
            let start = try #require(spawned.startTime)
            let tree = ProcessTree(root: spawned.pid, startTime: start, marker: "MARK=of this test")
            var started = 0
            var buffer = [UInt8](repeating: 0, count: 16)
            while started < 3, waitReadable(pipe.read) { started += read(pipe.read.number, &buffer, buffer.count) }

            let containment = Containment.processTree(tree)
            #expect(eventually { tree.processes().count == 3 })
            #expect(containment.survivors(limit: 2).map(\.name) == ["python3", "python3"])
            #expect(containment.events == nil)
            try containment.kill()
            #expect(eventually { containment.isEmpty })

            // The test must reap the orphans, but not the supervised process.
            #expect(eventually { spawned.process.hasExited })
            var orphans: [Subreaper.Orphan] = []
            #expect(
                eventually {
                    orphans += Subreaper.reapOrphans(except: [spawned.pid])
                    return orphans.count == 3
                }
            )
            let killed = WatchdogBase.ExitStatus.signaled(signal: SIGKILL, coreDumped: false)
            #expect(orphans.filter { $0.exit.status == killed }.count == 2)
            #expect(try spawned.process.waitExit()?.status == killed)
            #expect(Subreaper.reapOrphans(except: []).isEmpty)
        }
    }

    @Test("an app's processes are its descendants and its orphans, and not those of another app")
    func relatives() async {
        await #expect(processExitsWith: .success) {
            try Subreaper.become()
            // The first child leaves an orphan behind.
            let script = "(sleep 1000 & exit) & wait; echo; sleep 1000"
            func start() throws -> (app: SpawnedProcess, all: Set<Int32>) {
                var request = SpawnRequest(executable: "/bin/sh", arguments: ["sh", "-c", script])
                let pipe = try OwnedDescriptor.pipe()
                request.descriptors[1].source = pipe.write.number
                let app = try spawn(request)
                #expect(waitReadable(pipe.read))
                #expect(eventually { Procfs.children(of: app.pid).count == 1 })
                let ours = Procfs.children(of: getpid()).filter { getsid($0) == app.pid }
                return (app, Set(ours + Procfs.children(of: app.pid)))
            }
            let apps = try [start(), start()]
            for app in apps {
                #expect(app.all.count == 3)
                let main = ExaminedProcess(id: app.app.pid, startTime: 0, cgroup: nil)
                let found = main.family
                #expect(found.first == main.id && found.count == 3 && Set(found) == app.all)
                // The orphan may be another's.
                #expect(main.members == [main.id] + Procfs.children(of: main.id))
                #expect(Procfs.withDescendants([main.id], limit: 1) == [main.id])
            }
            var reaped = 0
            // Parents first: a shell that still runs reaps its children itself.
            for app in apps { Glibc.kill(app.app.pid, SIGKILL) }
            #expect(
                eventually {
                    reaped += Subreaper.reapOrphans(except: []).count
                    return reaped == 2
                }
            )
            for process in apps.flatMap({ $0.all.subtracting([$0.app.pid]) }) { Glibc.kill(process, SIGKILL) }
            #expect(
                eventually {
                    reaped += Subreaper.reapOrphans(except: []).count
                    return reaped == 6
                }
            )
        }
    }
}
