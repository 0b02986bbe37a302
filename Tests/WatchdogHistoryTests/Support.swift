// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

@testable import WatchdogHistory

/// A folder that is removed with its last reference.
final class Scratch {
    let path: String

    init() {
        var template = Array("/tmp/watchdogd-history-XXXXXX".utf8CString)
        path = mkdtemp(&template).map { String(cString: $0) } ?? "/tmp"
    }

    deinit {
        guard path != "/tmp", let folder = opendir(path) else { return }
        var names: [String] = []
        while let entry = readdir(folder) {
            names.append(
                withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        closedir(folder)
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    var file: String { path + "/history.db" }
}

extension KeptLaunch {
    /// 2026-11-01 00:00 UTC.
    static let epoch: Int64 = 1_793_491_200_000_000

    /// A launch this long after the epoch of the tests.
    static func sample(
        _ app: String = "redis", at time: Duration, ready: Duration? = .milliseconds(12), build: String = "3f2a91c0aa",
        cpu: Duration? = nil, cause: String = "start", temperature: Temperature = .warm, host: String = "alpha",
        phases: [LaunchPhaseName: Duration] = [:]
    ) -> KeptLaunch {
        KeptLaunch(
            app: app, time: WallTime(microseconds: epoch + time.wholeMicroseconds),
            outcome: ready == nil ? .ended : .ready, cause: cause, temperature: temperature,
            version: ProgramVersion(buildID: build, package: "redis-server", packageVersion: "5:7.0.15-1"), host: host,
            moments: ready.map { [.exec: .milliseconds(1), .ready: $0] } ?? [:], phases: phases, cpuTime: cpu)
    }
}
