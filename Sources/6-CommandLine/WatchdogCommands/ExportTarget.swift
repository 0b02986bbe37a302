// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogLaunch
import WatchdogLinux
import WatchdogReportStore

/// A file that the user named for what a command exports.
enum ExportTarget {
    static func write(_ text: String, to path: String) throws {
        try with(path) { place in try ExportedFile.write(text, to: place) }
    }

    /// - Parameter replaces: whether a file that is there is replaced; otherwise that is an error.
    static func write(_ bytes: [UInt8], toNew path: String, replacing replaces: Bool) throws {
        try with(path) { place in try ExportedFile.write(bytes, to: place, replacing: replaces) }
    }

    static func lines(at path: String) throws -> ExportedLines {
        try with(path) { place in try ExportedLines(place) }
    }

    /// Root follows no link that somebody else can have made, and stays in the folder that was looked up.
    private static func with<Value>(_ path: String, _ body: (ExportPlace) throws -> Value) throws -> Value {
        guard geteuid() == 0 else { return try Failure.reporting { try body(ExportPlace(path)) } }
        let place: FilePlace
        do throws(LinuxError) {
            place = try FilePlace(path)
        } catch {
            StandardError.say(error.description)
            // EX_IOERR: sysexits.h.
            throw ExitCode(74)
        }
        guard !place.isMagic else { return try Failure.reporting { try body(ExportPlace(path)) } }
        return try Failure.reporting { try body(ExportPlace(path, folder: place.descriptor, name: place.name)) }
    }
}
