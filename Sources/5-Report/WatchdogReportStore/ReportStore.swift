// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogBase
import WatchdogLinux
public import WatchdogReport

/// A folder of reports that keeps only the newest.
///
/// Several processes may use the same folder. Only files whose names have the form `APP-YYYY-MM-DD-HHMMSS.ips` are
/// listed or removed, and symbolic links in the folder are never followed.
///
/// Isolation: every call opens the folder anew; use it from any thread. All calls wait for the disk.
public struct ReportStore: Sendable {
    /// The limits of the store; the newest report is always kept.
    public struct Limits: Equatable, Sendable {
        /// The number of reports.
        public var count: Int
        /// The total size of all reports in bytes.
        public var bytes: Int64
        /// The age at which a report is removed, checked when the next one is written.
        public var age: Duration

        /// Creates limits; the defaults are 500 reports, 256 MiB and 90 days.
        public init(count: Int = 500, bytes: Int64 = 256 << 20, age: Duration = .seconds(90 * 86_400)) {
            self.count = count
            self.bytes = bytes
            self.age = age
        }
    }

    /// The folder's path.
    public let directory: String
    /// The limits of the store.
    public let limits: Limits
    private let keeping = ReportKeeping()

    /// The numbers to try for the name of a report.
    private static let numbers = 1...999
    /// A partial file older than this was left behind by a crash.
    private static let temporaryAge: Duration = .seconds(3_600)

    /// Creates a store; it does not access the disk before ``prepare()``.
    public init(directory: String, limits: Limits = Limits()) {
        self.directory = directory
        self.limits = limits
    }

    /// Sets how long the reports of one app are kept; nil restores ``Limits/age``.
    ///
    /// Applies to all copies of the store.
    public func keep(reportsOf app: String, for age: Duration?) { keeping.set(age: age, of: app) }

    /// Sets whether the stacks of one app's incidents are to be kept beside its reports; by default, they are not.
    ///
    /// Applies to all copies of the store.
    public func keep(stacksOf app: String, _ keeps: Bool) { keeping.set(keepsStacks: keeps, of: app) }

    /// Whether the stacks of an app's incidents are to be kept.
    public func keepsStacks(of app: String) -> Bool { keeping.keepsStacks(of: app) }

    /// Creates the folder if it is missing (mode 0750) and checks that it is writable, so that errors appear at startup
    /// and not at the first incident.
    ///
    /// - Throws: ``ReportStoreError`` with code ``ReportStoreError/Code/unusable`` or ``ReportStoreError/Code/full``.
    public func prepare() throws(ReportStoreError) {
        try createFolder()
        let folder = try StoreFolder(directory)
        let probe = ReportFileName.temporary(
            app: "probe", time: WallTime(seconds: 0), token: String(UInt32.random(in: 0 ... .max), radix: 16))
        do {
            // Skip the sync: every launch waits for this call.
            _ = try folder.create(probe, [UInt8(ascii: "\n")], isLasting: false)
        } catch {
            throw ReportStoreError("write to", directory, errno: error.errno ?? EIO, code: .unusable)
        }
    }

    private func createFolder() throws(ReportStoreError) {
        let parts = directory.split(separator: "/")
        var path = directory.hasPrefix("/") ? "" : "."
        for (index, part) in parts.enumerated() {
            path += "/\(part)"
            let isLast = index == parts.count - 1
            if mkdir(path, isLast ? 0o750 : 0o755) == 0 {
                // mkdir(2) applies the umask, so set the mode afterward, through a descriptor: the path may have been
                // replaced in the meantime.
                let made = isLast ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1
                guard made >= 0 else { continue }
                fchmod(made, 0o750)
                close(made)
            } else if errno != EEXIST {
                let error = errno
                // On a read-only file system, or in a folder without write permission, mkdir(2) may fail with these
                // errors although the parent exists.
                var status = stat()
                if !isLast, stat(path, &status) == 0 { continue }
                throw ReportStoreError("create", path, errno: error, code: .unusable)
            }
        }
    }

    /// Writes a report atomically, and then removes the oldest reports beyond the limits.
    ///
    /// An old report that cannot be removed is no error.
    ///
    /// - Parameters:
    ///   - encoded: the report as ``ReportCoding/encode(_:)`` returns it, if it has been encoded already.
    ///   - core: the kept stacks, which are stored beside the report.
    /// - Returns: the path of the file.
    /// - Throws: ``ReportStoreError``, with code ``ReportStoreError/Code/full`` if the disk is full.
    public func write(
        _ report: Report, encoded: [UInt8]? = nil, core: StoredCore? = nil
    ) throws(ReportStoreError) -> String {
        let app = report.metadata.appName
        let time = try Self.time(of: report)
        let bytes: [UInt8]
        do throws(ReportCodingError) {
            if let encoded { bytes = encoded } else { bytes = try ReportCoding.encode(report) }
        } catch {
            throw ReportStoreError(.invalidReport, "write", "report of \(app)", reason: error.description)
        }
        let folder = try StoreFolder(directory)
        let token = String(UInt64.random(in: 0 ... .max), radix: 16)
        let file = try folder.create(ReportFileName.temporary(app: app, time: time, token: token), bytes)
        let name = try publish(file, app: app, time: time, in: folder)
        // Publish the core after the report: a core without a report counts as garbage, which may be removed at any time.
        core?.publish(as: ReportFileName.core(of: name))
        try folder.synchronise()
        prune(folder, keeping: name)
        return folder.pathOf(name)
    }

    static func time(of report: Report) throws(ReportStoreError) -> WallTime {
        guard let time = WallTime(report.body.captureTime) ?? WallTime(report.metadata.timestamp) else {
            throw ReportStoreError(
                .invalidReport, "name", "report of \(report.metadata.appName)", reason: "it has no time of capture")
        }
        return time
    }

    private func publish(
        _ file: PreparedFile, app: String, time: WallTime, in folder: StoreFolder
    ) throws(ReportStoreError) -> String {
        for number in Self.numbers {
            let name = ReportFileName.make(app: app, time: time, number: number)
            if try folder.publish(file, as: name) { return name }
        }
        let name = ReportFileName.make(app: app, time: time)
        throw ReportStoreError("create", folder.pathOf(name), errno: EEXIST)
    }

    // MARK: Limits

    private func prune(_ folder: StoreFolder, keeping kept: String) {
        guard let names = try? folder.names(), let now = folder.status(kept)?.modified else { return }
        var reports: [(name: String, status: StoreFolder.Status)] = []
        for name in names where name != kept {
            guard let status = folder.status(name), status.isRegular else { continue }
            if ReportFileName.isReport(name) {
                reports.append((name, status))
            } else if ReportFileName.isTemporary(name), now.since(status.modified) > Self.temporaryAge {
                folder.remove(name)
            } else if let report = ReportFileName.report(ofCore: name), folder.status(report) == nil {
                folder.remove(name)
            }
        }
        reports.sort { WallTime.isNewer(($0.status.modified, $0.name), ($1.status.modified, $1.name)) }
        var count = 1
        var bytes = folder.sizeWithCore(of: kept)
        var isOver = false
        for report in reports {
            count += 1
            // Saturating, because a sparse file may claim any size.
            bytes = bytes.addingSaturated(folder.sizeWithCore(of: report.name))
            // Once one report exceeds a limit, all older ones are removed too, so that no gaps appear.
            isOver = isOver || count > limits.count || bytes > limits.bytes
            let age = keeping.age(of: ReportFileName.app(of: report.name)) ?? limits.age
            if isOver || now.since(report.status.modified) > age { folder.removeReport(report.name) }
        }
    }
}

extension StoreFolder {
    /// The size of a report and of its kept stacks; 0 if it is gone.
    fileprivate func sizeWithCore(of report: String) -> Int64 {
        let core = status(ReportFileName.core(of: report)).flatMap { $0.isRegular ? $0.size : nil }
        return (status(report)?.size ?? 0).addingSaturated(core ?? 0)
    }

    /// Removes a report and its kept stacks, the stacks first, because they must not be left behind.
    ///
    /// - Returns: false on failure, with `errno` set.
    @discardableResult
    func removeReport(_ name: String) -> Bool {
        guard remove(ReportFileName.core(of: name)) || errno == ENOENT else { return false }
        return remove(name)
    }
}

/// Settings of individual apps: how long their reports are kept, and whether their stacks are.
final class ReportKeeping: Sendable {
    private struct App {
        var age: Duration?
        var keepsStacks = false
    }

    /// Keyed by the app's name as it appears in file names.
    private let apps = Mutex<[String: App]>([:])

    func age(of name: String) -> Duration? { apps.withLock { $0[name]?.age } }

    func keepsStacks(of app: String) -> Bool {
        apps.withLock { $0[ReportFileName.sanitised(app)]?.keepsStacks ?? false }
    }

    func set(age: Duration?, of app: String) {
        apps.withLock { $0[ReportFileName.sanitised(app), default: App()].age = age }
    }

    func set(keepsStacks: Bool, of app: String) {
        apps.withLock { $0[ReportFileName.sanitised(app), default: App()].keepsStacks = keepsStacks }
    }
}
