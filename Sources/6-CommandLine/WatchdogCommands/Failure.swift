// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogLaunch
import WatchdogReport
import WatchdogReportStore

/// Reports failures on the command line: one line, and an exit code from sysexits.h.
enum Failure {
    static func reporting<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as ReportStoreError {
            throw exit(for: error)
        } catch let error as ReportCodingError {
            StandardError.say("\(error)")
            throw ExitCode(65)
        }
    }

    /// Prints why something cannot run, and throws its exit code.
    static func running<Value>(_ body: () throws(RunError) -> Value) throws -> Value {
        do throws(RunError) {
            return try body()
        } catch {
            StandardError.say(error.description)
            throw ExitCode(error.exitCode)
        }
    }

    /// Prints a failure and returns its exit code.
    static func exit(for error: ReportStoreError) -> ExitCode {
        StandardError.say(error.description)
        return ExitCode(exitCode(for: error))
    }

    /// EX_NOINPUT, EX_NOPERM, EX_USAGE, EX_DATAERR, or EX_IOERR.
    private static func exitCode(for error: ReportStoreError) -> Int32 {
        switch error.code {
        case .notFound, .unusable: 66
        case .notReadable: 77
        case .ambiguous: 64
        case .damaged, .invalidReport: 65
        default: 74
        }
    }
}
