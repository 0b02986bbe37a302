// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogLinux

/// Where everything is that the benchmarks use.
final class Bench {
    let watchdogd: String
    let symbolicate: String
    let healthyApp: String
    /// Where reports are written.
    let reports: String
    private let subjects: String
    private let directory: String
    private var files = 0

    /// Finds the programs.
    ///
    /// - Parameters:
    ///   - products: the directory of the release build.
    ///   - subjects: the directory of the compiled programs under test.
    init(products: String, subjects: String) throws {
        watchdogd = "\(products)/watchdogd"
        symbolicate = "\(products)/watchdogd-symbolicate"
        healthyApp = "\(products)/HealthyApp"
        self.subjects = subjects
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/watchdogd-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure("cannot create a temporary directory") }
        directory = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        reports = "\(directory)/reports"
        for program in [watchdogd, symbolicate, healthyApp] where access(program, X_OK) != 0 {
            throw Failure("\(program) is missing; run: make bench")
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A program of `Benchmarks/Subjects`.
    func subject(_ name: String) -> String { "\(subjects)/\(name)" }

    func freshPath(_ name: String) -> String {
        files += 1
        return "\(directory)/\(files)-\(name)"
    }
}
