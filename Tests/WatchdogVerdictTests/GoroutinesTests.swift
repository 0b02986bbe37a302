// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogVerdict

@Suite("A Go program whose goroutines all wait")
struct GoroutinesTests {
    private static let futex = "202 0x84e3c8 0x80 0x0 0x0 0x0 0x0 0x7fff8f62f510 0x467803"

    private static func thread(_ id: Int, _ calls: [String], syscall: String = futex) -> CapturedThread {
        let frames = calls.map { call in
            Frame(address: 0x1000, imageIndex: 0, imageOffset: 0x1000, symbol: call, symbolLocation: 4, trust: .cfi)
        }
        return CapturedThread(
            id: id, name: "bank", state: syscall == "running" ? "R" : "S", syscall: syscall, frames: frames)
    }

    private static let park = ["runtime.futex.abi0", "runtime.futexsleep", "runtime.notesleep"]
    private static let idle = thread(1, park + ["runtime.stopm", "runtime.findRunnable", "runtime.schedule"])
    private static let poller = thread(
        2, ["runtime.epollwait.abi0", "runtime.netpoll", "runtime.findRunnable"],
        syscall: "281 0x3 0xc000 0x80 0xffffffff 0x0 0x0 0x7f 0x46")
    private static let monitor = thread(
        3, ["runtime.usleep.abi0", "runtime.sysmon"], syscall: "35 0x7f 0x0 0x0 0x0 0x0 0x0 0x7f 0x46")

    private static func findings(_ threads: [CapturedThread]) -> [Finding] {
        let capture = CapturedProcess(method: .ptrace, threads: threads, images: [])
        return Finding.all(in: capture, main: 1, evidence: HangEvidence(processorCount: 2))
    }

    @Test("A report first states that no goroutine can run, then that the main thread is idle")
    func waiting() throws {
        let findings = Self.findings([Self.idle, Self.poller, Self.monitor])
        #expect(findings.map(\.kind) == [.goroutinesWait, .idleEventLoop])
        #expect(findings.first?.text.hasPrefix("All goroutines wait: probably for a lock or a channel ") == true)
    }

    @Test("Nothing is reported while a thread runs a goroutine, or may run one")
    func running() {
        let others = [
            Self.thread(4, ["main.compute", "runtime.goexit.abi0"], syscall: "running"),
            Self.thread(4, ["syscall.Syscall", "os.(*File).Read"], syscall: "0 0x5 0x7f 0x4 0x0 0x0 0x0 0x7f 0x46"),
            Self.thread(4, [], syscall: "running"),
        ]
        for other in others {
            let kinds = Self.findings([Self.idle, Self.poller, Self.monitor, other]).map(\.kind)
            #expect(!kinds.contains(.goroutinesWait), "\(kinds)")
        }
    }
}
