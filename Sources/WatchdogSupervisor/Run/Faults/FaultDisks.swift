// SPDX-License-Identifier: Apache-2.0

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

    /// Refuses a disk over the folder that reports are written to: they would be lost with it.
    func check(reportsIn directory: String) throws(RunError) {
        for folder in disks.keys where "\(directory)/".hasPrefix(folder.hasSuffix("/") ? folder : folder + "/") {
            throw RunError.usage(
                "--fault disk-full \(folder): reports are written there; choose another folder with --reports")
        }
    }

    /// The disk over a folder.
    subscript(folder: String) -> SmallDisk? { disks[folder] }
}
