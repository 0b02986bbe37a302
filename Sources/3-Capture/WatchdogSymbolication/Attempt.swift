// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// One attempt at a snapshot, in a separate process.
struct Attempt: Equatable {
    /// The level of detail of each frame.
    var depth: Depth
    /// Images, by index, whose lines are skipped because an earlier attempt crashed in them.
    var withoutLines: [Int] = []
    /// Images, by index, that libdw must not see at all because a second attempt crashed in them.
    var excluded: [Int] = []
    /// The time at which the attempt is killed.
    var deadline: Instant
    /// The failures of earlier attempts.
    var failures: [Failure] = []

    /// The failure of an attempt.
    enum Failure: Error, Equatable, CustomStringConvertible {
        /// A fatal signal, possibly while parsing an image.
        case signal(Int32, image: Int?)
        /// The deadline passed, possibly while parsing an image.
        case timeout(image: Int?)
        /// An exit without a result.
        case exit(Int32)
        /// No confined process could be created, for this reason.
        case noWorker(String)

        var image: Int? {
            switch self {
            case .signal(_, let image), .timeout(let image): image
            case .exit, .noWorker: nil
            }
        }

        /// Whether another attempt at the same work may succeed; a file that crashes one attempt crashes all.
        var mayPass: Bool {
            switch self {
            case .timeout: true
            case .noWorker(let reason): reason != Worker.withoutConfinement
            case .signal, .exit: false
            }
        }

        var description: String {
            switch self {
            case .signal(let signal, _): "signal \(signal)"
            case .timeout: "a timeout"
            case .exit(let code): "exit code \(code)"
            case .noWorker(let reason): reason
            }
        }
    }

    /// Whether no confined process could be created: then neither libelf nor libdw may parse any file.
    var isWithoutWorker: Bool {
        failures.contains { failure in
            if case .noWorker = failure { true } else { false }
        }
    }

    /// The reason why this attempt finds less than another may; nil if it does not.
    var shortage: String? {
        failures.contains { $0.mayPass } ? "an attempt failed" : nil
    }

    /// The report's notes about earlier attempts.
    func notes(images: [Image]) -> [String] {
        failures.map { failure in
            if case .noWorker(let reason) = failure {
                return "the frames have addresses only: no confined process could read files, because \(reason)"
            }
            guard let index = failure.image, images.indices.contains(index) else {
                return "symbolication ended with \(failure) and was begun again with less to do"
            }
            return "\(images[index].path): reading it ended with \(failure); less of it was read then"
        }
    }
}
