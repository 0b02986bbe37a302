// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// The disks that a run's faults fill, by mount point.
///
/// Isolation: the loop's thread.
struct FaultDisks {
    private var disks: [String: SmallDisk] = [:]

    /// Mounts the disks in the run's private mount namespace.
    ///
    /// Call it before the process has a second thread: unshare(2) affects only the calling thread.
    ///
    /// - Throws: ``RunError`` if this machine or user does not permit it.
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

    /// Rejects a disk that covers outputs of watchdogd itself: they would be lost with the disk.
    ///
    /// - Parameter paths: of files and folders; relative to the current directory.
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

    /// Resolves the links in the existing part of a path.
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

    /// The disk mounted on a folder.
    subscript(folder: String) -> SmallDisk? { disks[folder] }
}
