// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogLinux

/// A sample app that tells a story, with files that are prepared once for all tests.
enum StoryApp: String, CaseIterable {
    case quickPick = "QuickPick"
    case starSearcher = "StarSearcher"
    case stocks = "Stocks"
    case glassboard = "Glassboard"

    /// Less work and shorter waits than in the talks, so that the tests take seconds.
    static let timeScale = "0.1"

    /// Next to the programs, for as long as the app is the same.
    private static let prepared: [StoryApp: Result<String, any Error>] = {
        var results: [StoryApp: Result<String, any Error>] = [:]
        for app in allCases { results[app] = Result { try app.prepare() } }
        return results
    }()

    private func prepare() throws -> String {
        var status = stat()
        guard stat(product(rawValue), &status) == 0 else { throw Failure("there is no \(rawValue)") }
        let (folder, name) = (product("sample data"), "\(rawValue)-\(status.st_mtim.tv_sec)")
        for old in names(in: folder) where old.hasPrefix("\(rawValue)-") && old != name {
            try? FileManager.default.removeItem(atPath: "\(folder)/\(old)")
        }
        let data = "\(folder)/\(name)"
        let program = try Program([product(rawValue), "--prepare", "--data", data, "--time-scale", Self.timeScale])
        guard try program.end().code == 0 else { throw Failure(program.text(.errors)) }
        return data
    }

    /// A test's own folder with the app's files; the app's changes stay in it.
    func data(in scratch: Scratch) throws -> String {
        guard let prepared = try Self.prepared[self]?.get() else { throw Failure("not prepared") }
        let data = try scratch.makeDirectory("data with blanks", mode: 0o777)
        guard symlink("\(prepared)/bundle", "\(data)/bundle") == 0 else { throw Failure("no link can be made") }
        return data
    }

    func command(_ arguments: [String], in scratch: Scratch) throws -> [String] {
        let common = ["--data", try data(in: scratch), "--time-scale", Self.timeScale, "--record", scratch["record"]]
        return [product(rawValue)] + arguments + common
    }
}

/// A sample app's own measurements.
struct StoryRecord {
    private let lines: [(name: Substring, value: Substring)]

    init(_ scratch: Scratch) throws {
        guard let text = scratch.read("record") else { throw Failure("there is no record") }
        lines = text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "=", maxSplits: 1)
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
    }

    subscript(name: String) -> String? { lines.first { $0.name == name }.map { String($0.value) } }

    func number(_ name: String) -> Double { self[name].flatMap(Double.init) ?? -1 }

    func count(_ name: String) -> Int { lines.count { $0.name == name } }
}

/// PhotoServer on a free port.
final class PhotoService {
    let program: Program
    let address: String

    init(_ options: [String] = ["--profile", "3g", "--delay", "/friends.json=8s", "--delay", "/license=1s"]) throws {
        program = try Program(
            [product("PhotoServer"), "--listen", "127.0.0.1:0", "--time-scale", StoryApp.timeScale] + options)
        let line = try program.line("PhotoServer: listening on ")
        address = String(line.dropFirst("PhotoServer: listening on ".count).prefix { $0 != "," })
    }
}
