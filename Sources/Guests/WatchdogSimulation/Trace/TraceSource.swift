// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogConfiguration
import WatchdogHistory
import WatchdogLaunch
import WatchdogLinux
import WatchdogReport
import WatchdogReportStore

/// Reads the history of an app from any kind of file that has one.
public enum TraceSource {
    /// Why a history cannot be used.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// One sentence without a period that names the file.
        public let description: String
        /// EX_DATAERR, EX_NOINPUT or EX_NOPERM.
        public let exitCode: Int32
    }

    private static let databaseMark = Array("SQLite format 3\0".utf8)

    /// Reads a trace, a journal, events, a crash log, a folder of crash logs, or a launch history.
    ///
    /// - Parameters:
    ///   - path: the file or folder; `-` is standard input.
    ///   - app: the app whose history is wanted.
    /// - Throws: ``Failure``: 65 for what is none of these or is damaged, 66 or 77 for what cannot be read.
    public static func read(_ path: String, app: String) throws(Failure) -> Trace {
        if HostFileSystem().isDirectory(path) { return try reports(inFolder: path, app) }
        let bytes = try contents(of: path)
        do throws(TraceError) {
            if bytes.starts(with: databaseMark) {
                guard path != "-" else { throw TraceError("cannot be a launch history; name the file", in: path) }
                return try history(path, app)
            }
            if path.hasSuffix(".ips") || isReport(bytes) { return try report(bytes, path, app) }
            return try TraceReader.read(bytes, file: path == "-" ? "standard input" : path, app: app)
        } catch {
            throw Failure(description: error.description, exitCode: 65)
        }
    }

    private static func contents(of path: String) throws(Failure) -> [UInt8] {
        guard path == "-" else {
            do throws(ConfigurationReadError) {
                return try HostFileSystem().contents(of: path, limit: TraceReader.fileLimit + 1)
            } catch {
                throw Failure(description: error.description, exitCode: 66)
            }
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= TraceReader.fileLimit {
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    // MARK: - Crash logs

    /// Whether the first line is that of an `.ips` file.
    private static func isReport(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes.prefix(4_096).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            .contains("\"incident_id\"")
    }

    private static func report(_ bytes: [UInt8], _ path: String, _ app: String) throws(TraceError) -> Trace {
        let report: Report
        do throws(ReportCodingError) {
            report = try ReportCoding.decode(bytes)
        } catch {
            throw TraceError(error.description, in: path)
        }
        guard report.metadata.appName == app else {
            throw TraceError("is about \(report.metadata.appName.singleLine(limit: 64)), not \(app)", in: path)
        }
        var builder = TraceBuilder(file: path, .report, app: app)
        guard builder.add(report) else {
            throw TraceError("is not about an allowance that can be simulated", in: path)
        }
        return try builder.finish()
    }

    private static func reports(inFolder path: String, _ app: String) throws(Failure) -> Trace {
        let store = ReportStore(directory: path)
        var builder = TraceBuilder(file: path, .report, app: app)
        var (left, unreadable) = (0, 0)
        do {
            for stored in try store.list() where stored.metadata?.appName == app {
                do {
                    if !builder.add(try store.read(stored)) { left += 1 }
                } catch {
                    unreadable += 1
                }
            }
            if left > 0 { builder.note("\(path): \(left) crash logs are not about an allowance that can be simulated") }
            if unreadable > 0 { builder.note("\(path): \(unreadable) crash logs cannot be read") }
            guard !builder.isEmpty else { throw TraceError("has no crash log of \(app) about an allowance", in: path) }
            return try builder.finish()
        } catch let error as TraceError {
            throw Failure(description: error.description, exitCode: 65)
        } catch {
            throw Failure(description: "\(error)", exitCode: 66)
        }
    }

    // MARK: - The launch history

    private static func history(_ path: String, _ app: String) throws(TraceError) -> Trace {
        var builder = TraceBuilder(file: path, .history, app: app)
        do {
            let reader = try HistoryReader(path: path)
            builder.add(try reader.entries(of: app))
            if builder.isEmpty { throw TraceError.nothing(about: app, Set(try reader.apps()), in: path) }
            return try builder.finish()
        } catch let error as TraceError {
            throw error
        } catch {
            throw TraceError("\(error)", in: path)
        }
    }
}
