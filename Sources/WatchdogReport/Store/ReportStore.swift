// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogPolicy

/// A folder of reports, of which the newest are kept.
///
/// Several processes may use one folder. Only files whose names have the form `APP-YYYY-MM-DD-HHMMSS.ips` are listed or
/// removed, and no symbolic link in the folder is followed.
///
/// Isolation: every call opens the folder anew; use it from any thread. All calls wait for the disk.
public struct ReportStore: Sendable {
    /// How much is kept; the newest report always is.
    public struct Limits: Equatable, Sendable {
        /// Reports.
        public var count: Int
        /// Bytes of all reports.
        public var bytes: Int64
        /// Time since a report was written, when the next one is.
        public var age: Duration

        /// Creates limits; without arguments, 500 reports, 256 MiB and 90 days.
        public init(count: Int = 500, bytes: Int64 = 256 << 20, age: Duration = .seconds(90 * 86_400)) {
            self.count = count
            self.bytes = bytes
            self.age = age
        }
    }

    /// The folder's path.
    public let directory: String
    /// How much is kept.
    public let limits: Limits
    private let ages = ReportAges()

    /// Names tried for one report before giving up.
    private static let numbers = 1...999
    /// A half-written file older than this is left from a crash.
    private static let temporaryAge: Duration = .seconds(3_600)

    /// Creates a store; nothing is touched until ``prepare()``.
    public init(directory: String, limits: Limits = Limits()) {
        self.directory = directory
        self.limits = limits
    }

    /// Keeps the reports of one app for another time than ``Limits/age``, or nil for that; known to all copies of the store.
    public func keep(reportsOf app: String, for age: Duration?) { ages.set(age, for: app) }

    /// Creates the folder where it is missing (mode 0750) and proves that it can be written to, so that a fault shows at
    /// start and not at the first incident.
    ///
    /// - Throws: ``ReportStoreError`` with code ``ReportStoreError/Code/unusable`` or ``ReportStoreError/Code/full``.
    public func prepare() throws(ReportStoreError) {
        try createFolder()
        let folder = try StoreFolder(directory)
        let probe = ReportFileName.temporary(
            app: "probe", time: WallTime(seconds: 0), token: String(UInt32.random(in: 0 ... .max), radix: 16))
        do {
            // Every launch waits for this.
            try folder.create(probe, [UInt8(ascii: "\n")], isLasting: false)
        } catch {
            throw ReportStoreError("write to", directory, errno: error.errno ?? EIO, code: .unusable)
        }
        folder.remove(probe)
    }

    private func createFolder() throws(ReportStoreError) {
        let parts = directory.split(separator: "/")
        var path = directory.hasPrefix("/") ? "" : "."
        for (index, part) in parts.enumerated() {
            path += "/\(part)"
            let isLast = index == parts.count - 1
            if mkdir(path, isLast ? 0o750 : 0o755) == 0 {
                // The mode of mkdir(2) is subject to the umask.
                if isLast { chmod(path, 0o750) }
            } else if errno != EEXIST {
                let error = errno
                // An existing parent answers so on a read-only file system, or where it may only be passed through.
                var status = stat()
                if !isLast, stat(path, &status) == 0 { continue }
                throw ReportStoreError("create", path, errno: error, code: .unusable)
            }
        }
    }

    /// Writes a report, all of it or nothing, and then removes the oldest beyond the limits.
    ///
    /// What cannot be removed stays and does not make the call fail.
    ///
    /// - Returns: the file's path.
    /// - Throws: ``ReportStoreError``, with code ``ReportStoreError/Code/full`` when there is no room.
    public func write(_ report: Report) throws(ReportStoreError) -> String {
        let app = report.metadata.appName
        guard let time = WallTime(report.body.captureTime) ?? WallTime(report.metadata.timestamp) else {
            throw ReportStoreError(.invalidReport, "name", "report of \(app)", reason: "it has no time of capture")
        }
        let bytes: [UInt8]
        do {
            bytes = try ReportCoding.encode(report)
        } catch {
            throw ReportStoreError(.invalidReport, "write", "report of \(app)", reason: error.description)
        }
        let folder = try StoreFolder(directory)
        let token = String(UInt64.random(in: 0 ... .max), radix: 16)
        let temporary = ReportFileName.temporary(app: app, time: time, token: token)
        try folder.create(temporary, bytes)
        do {
            let name = try publish(temporary, app: app, time: time, in: folder)
            try folder.synchronise()
            prune(folder, keeping: name)
            return folder.pathOf(name)
        } catch {
            folder.remove(temporary)
            throw error
        }
    }

    private func publish(
        _ temporary: String, app: String, time: WallTime, in folder: borrowing StoreFolder
    ) throws(ReportStoreError) -> String {
        for number in Self.numbers {
            let name = ReportFileName.make(app: app, time: time, number: number)
            if try folder.publish(temporary, as: name) { return name }
        }
        let name = ReportFileName.make(app: app, time: time)
        throw ReportStoreError("create", folder.pathOf(name), errno: EEXIST)
    }

    // MARK: Limits

    private func prune(_ folder: borrowing StoreFolder, keeping kept: String) {
        guard let names = try? folder.names(), let now = folder.status(kept)?.modified else { return }
        var reports: [(name: String, status: StoreFolder.Status)] = []
        for name in names where name != kept {
            guard let status = folder.status(name), status.isRegular else { continue }
            if ReportFileName.isReport(name) {
                reports.append((name, status))
            } else if ReportFileName.isTemporary(name), now.since(status.modified) > Self.temporaryAge {
                folder.remove(name)
            }
        }
        reports.sort { WallTime.isNewer(($0.status.modified, $0.name), ($1.status.modified, $1.name)) }
        var count = 1
        var bytes = folder.status(kept)?.size ?? 0
        var isOver = false
        for report in reports {
            count += 1
            bytes += report.status.size
            // What is older than one that goes for want of room, goes too: no gaps.
            isOver = isOver || count > limits.count || bytes > limits.bytes
            let age = ages[ReportFileName.app(of: report.name)] ?? limits.age
            if isOver || now.since(report.status.modified) > age { folder.remove(report.name) }
        }
    }
}

extension WallTime {
    /// Which of two reports comes first in a list; the name decides between equal times.
    static func isNewer(_ left: (WallTime, String), _ right: (WallTime, String)) -> Bool {
        (left.0.seconds, left.0.nanoseconds, left.1) > (right.0.seconds, right.0.nanoseconds, right.1)
    }

    func since(_ other: WallTime) -> Duration {
        .seconds(seconds) - .seconds(other.seconds) + .nanoseconds(Int64(nanoseconds) - Int64(other.nanoseconds))
    }
}
