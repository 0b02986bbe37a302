// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The amounts of work that take the intended times on this machine.
///
/// They are calibrated by CPU time when the data of a sample app are prepared, and fixed from then on: a busy machine
/// does the same work and takes longer.
package struct Workload: Sendable {
    private static let file = "workload"
    /// The shortest measurement that is not dominated by noise.
    private static let measurable = Duration.milliseconds(20)

    private var counts: [String: Int] = [:]

    package init() {}

    package init(in folder: String) {
        let text = (try? String(contentsOfFile: "\(folder)/\(Self.file)", encoding: .utf8)) ?? ""
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=")
            if parts.count == 2, let count = Int(parts[1]) { counts[String(parts[0])] = count }
        }
    }

    package func write(to folder: String) throws {
        let text = counts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined()
        try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(Self.file)"))
    }

    /// The count for a kind of work, 1 for one that was not measured.
    package subscript(name: String) -> Int { counts[name] ?? 1 }

    /// Measures how many units take `target` of CPU time.
    ///
    /// - Parameter work: Does the given number of units.
    @discardableResult
    package mutating func calibrate(_ name: String, to target: Duration, work: (Int) throws -> Void) rethrows -> Int {
        var count = 1
        while true {
            let start = ProcessClock.threadTime
            try work(count)
            let time = ProcessClock.threadTime - start
            guard time < min(Self.measurable, target) else {
                let exact = Double(count) * target.seconds / max(time.seconds, 1e-6)
                counts[name] = max(1, Int(exact.rounded()))
                return self[name]
            }
            count *= 2
        }
    }
}
