// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy

/// The disks that a run's faults fill, by the folder that each covers.
///
/// Isolation: the loop's thread.
struct FaultDisks {
    private var disks: [String: SmallDisk] = [:]

    /// Mounts the disks where only this run sees them.
    ///
    /// Call it before there is a second thread.
    ///
    /// - Throws: ``RunError`` if this machine or user cannot have one.
    init(_ faults: [Fault]) throws(RunError) {
        for fault in faults {
            guard case .diskFull(let folder) = fault.kind, disks[folder] == nil else { continue }
            do throws(LinuxError) {
                if disks.isEmpty { try SmallDisk.enterPrivateMounts() }
                disks[folder] = try SmallDisk(over: folder)
            } catch {
                throw RunError.unavailable("--fault \(fault.kind): \(error)")
            }
        }
    }

    /// Refuses a disk over what watchdogd itself writes: it would be lost with the disk.
    ///
    /// - Parameter paths: of files and folders; relative ones belong to the current directory.
    func check(outputs paths: [String]) throws(RunError) {
        guard !disks.isEmpty else { return }
        for path in paths {
            let real = Self.resolved(path)
            for folder in disks.keys.sorted() where "\(real)/".hasPrefix(Self.resolved(folder) + "/") {
                throw RunError.usage(
                    "--fault disk-full \(folder): watchdogd writes \(path), which would be lost with that disk; choose"
                        + " another place")
            }
        }
    }

    /// The path without links, as far as it exists.
    private static func resolved(_ path: String) -> String {
        var existing = path
        var missing: [Substring] = []
        while true {
            if let real = realpath(existing.isEmpty ? "." : existing, nil) {
                defer { free(real) }
                return missing.reduce(String(cString: real) == "/" ? "" : String(cString: real)) { "\($0)/\($1)" }
            }
            var parts = existing.split(separator: "/", omittingEmptySubsequences: false)
            guard let last = parts.popLast(), !parts.isEmpty else { return resolved(".") + "/" + path }
            if !last.isEmpty { missing.insert(last, at: 0) }
            existing = parts == [""] ? "/" : parts.joined(separator: "/")
        }
    }

    /// The disk over a folder.
    subscript(folder: String) -> SmallDisk? { disks[folder] }
}
