// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import WatchdogBase

/// Simulated touches: those of a script, and repeated ones.
///
/// A queue of their own posts them, because a hung main loop could not.
package struct Touches: Sendable {
    package struct SyntaxError: Error, CustomStringConvertible {
        package let description: String
    }

    private var script: [(delay: Duration, event: String)] = []
    private let interval: Duration?
    private let queue = DispatchQueue(label: "touches", qos: .userInteractive)

    package init(script path: String?, interval: Duration?) throws {
        self.interval = interval.map { max($0, .milliseconds(1)) }
        guard let path else { return }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(separator: " ", maxSplits: 1)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 2 else {
                throw SyntaxError(description: "\(path):\(index + 1): write a time and an event, such as '250ms back'")
            }
            do {
                script.append((try TimeSpan.parse(String(first)), String(words[1])))
            } catch {
                throw SyntaxError(description: "\(path):\(index + 1): \(error)")
            }
        }
    }

    /// Starts the touches; the times of the script are relative to this call.
    package func start(_ post: @escaping @Sendable (String) -> Void) {
        for (delay, event) in script {
            queue.asyncAfter(deadline: .now() + delay.seconds) { post(event) }
        }
        if let interval { touch(every: interval, post) }
    }

    private func touch(every interval: Duration, _ post: @escaping @Sendable (String) -> Void) {
        queue.asyncAfter(deadline: .now() + interval.seconds) {
            post("touch")
            touch(every: interval, post)
        }
    }
}
