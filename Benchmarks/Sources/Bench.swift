// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// The files that the benchmarks use.
final class Bench {
    let watchdogd: String
    let symbolicate: String
    let healthyApp: String
    /// The test runner of the debug build; only some sections need it.
    let tests: String
    /// Where reports are written.
    let reports: String
    /// An observer that waits for a CPU would see everything late.
    let scheduling = SchedulingGrant.request()
    private let subjects: String
    let scratch: String
    private var files = 0

    /// Finds the programs.
    ///
    /// - Parameters:
    ///   - products: the directory of the release build.
    ///   - subjects: the directory of the compiled programs under test.
    ///   - scratch: a directory for reports and summaries, whose removal is the caller's.
    init(products: String, subjects: String, scratch: String) throws {
        watchdogd = "\(products)/watchdogd"
        symbolicate = "\(products)/watchdogd-symbolicate"
        healthyApp = "\(products)/HealthyApp"
        tests = "\(products)/../debug/watchdogdPackageTests.xctest"
        self.subjects = subjects
        self.scratch = scratch
        reports = "\(scratch)/reports"
        // Everything that is started here would inherit it.
        try scheduling.previousLimit?.apply()
        for program in [watchdogd, symbolicate, healthyApp] where access(program, X_OK) != 0 {
            throw Failure("\(program) is missing; run: make bench")
        }
    }

    /// A program of `Benchmarks/Subjects`.
    func subject(_ name: String) -> String { "\(subjects)/\(name)" }

    func freshPath(_ name: String) -> String {
        files += 1
        return "\(scratch)/\(files)-\(name)"
    }
}
