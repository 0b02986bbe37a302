// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogCapture
import WatchdogReport
import WatchdogVerdict

@testable import WatchdogSymbolication

@Suite("The command watchdogd-symbolicate", .reapsChildren)
struct CommandTests {
    @Test("prints the library's result as one line of JSON with sorted keys")
    func result() throws {
        let process = try Subject.serviceWithLines.start("2", threads: 3)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        let helper = try Helper(["--budget", "\(patience.components.seconds)s"], snapshot: snapshot)
        #expect(helper.exitCode == 0)
        #expect(helper.errors == "")
        var expected = try symbolicate(snapshot.contents(), modules: snapshot.modules)
        expected.notes += try kernelConfinement().notes
        #expect(try helper.captured() == expected)
        #expect(helper.output.last == UInt8(ascii: "\n"))
        #expect(helper.output.filter { $0 == UInt8(ascii: "\n") }.count == 1)
        #expect(String(decoding: helper.output.prefix(40), as: UTF8.self).hasPrefix("{\"frozenNanoseconds\":"))
    }

    @Test("prints its help")
    func help() throws {
        let helper = try Helper(["--help"], descriptors: [])
        #expect(helper.exitCode == 0)
        #expect(String(decoding: helper.output, as: UTF8.self).hasPrefix("Usage: watchdogd-symbolicate"))
    }

    @Test(
        "rejects wrong usage with one line and exit code 64",
        arguments: [["--budget"], ["--budget", "soon"], ["--budget", "0s"], ["--budget", "3601s"], ["--nonsense"]]
    )
    func usage(arguments: [String]) throws {
        let helper = try Helper(arguments, descriptors: [])
        #expect(helper.exitCode == 64)
        #expect(helper.output.isEmpty)
        #expect(helper.errors.hasPrefix("watchdogd-symbolicate: "))
        #expect(helper.errors.split(separator: "\n").count == 1)
    }

    @Test("rejects anything but a snapshot with one line and exit code 65")
    func noSnapshot() throws {
        var ends: [Int32] = [-1, -1]
        #expect(wd_pipe(&ends, 0) == 0)
        defer { for end in ends { close(end) } }
        try withScratch([[], Array("no snapshot".utf8)]) { scratch in
            for descriptor in scratch + [ends[0]] {
                let helper = try Helper(descriptors: [descriptor])
                #expect(helper.exitCode == 65)
                #expect(helper.output.isEmpty)
                #expect(helper.errors.split(separator: "\n").count == 1, "\(helper.errors)")
            }
        }
        #expect(try Helper(descriptors: []).exitCode == 65)
    }

    @Test("parses durations")
    func durations() {
        #expect(SymbolicateCommand.duration("3s") == .seconds(3))
        #expect(SymbolicateCommand.duration("250ms") == .milliseconds(250))
        for text in ["", "s", "ms", "3", "-3s", "3 s", "1.5s", "99999999999999999999s", "4000s"] {
            #expect(SymbolicateCommand.duration(text) == nil, "\(text)")
        }
    }

    @Test("reports all threads even with a tiny budget")
    func tinyBudget() throws {
        let process = try Subject.serviceStatic.start("30", threads: 31)
        let snapshot = try Snapshot.take(of: process.id, SnapshotOptions(method: .ptrace, stopTimeout: patience))
        for budget in ["20ms", "60ms", "150ms"] {
            let helper = try Helper(["--budget", budget], snapshot: snapshot)
            // A machine under load may not get even that far in this time; it must report that.
            guard helper.exitCode == 0 else {
                #expect(helper.exitCode == 70)
                #expect(helper.output.isEmpty)
                #expect(helper.errors.contains("timeout"))
                continue
            }
            let captured = try helper.captured()
            #expect(captured.threads.count == 31)
            #expect(captured.images.contains { $0.name == "libc.so.6" && $0.buildID != nil })
        }
    }
}
