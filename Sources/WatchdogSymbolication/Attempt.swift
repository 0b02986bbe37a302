// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// One try at a snapshot, in a process of its own.
struct Attempt: Equatable {
    /// How deep to go.
    var depth: Depth
    /// Images, by index, whose lines are left alone: an earlier attempt ended in them.
    var withoutLines: [Int] = []
    /// Images, by index, that libdw is not to see at all: an earlier attempt ended in them again.
    var excluded: [Int] = []
    /// When the attempt is ended by force.
    var deadline: Instant
    /// How earlier attempts failed.
    var failures: [Failure] = []

    /// How an attempt can fail.
    enum Failure: Error, Equatable, CustomStringConvertible {
        /// A fatal signal, perhaps while an image was parsed.
        case signal(Int32, image: Int?)
        /// The deadline, perhaps while an image was parsed.
        case timeout(image: Int?)
        /// Any other end without a result.
        case exit(Int32)

        var image: Int? {
            switch self {
            case .signal(_, let image), .timeout(let image): image
            case .exit: nil
            }
        }

        var description: String {
            switch self {
            case .signal(let signal, _): "signal \(signal)"
            case .timeout: "a timeout"
            case .exit(let code): "exit code \(code)"
            }
        }
    }

    /// What the report says of earlier attempts.
    func notes(images: [Image]) -> [String] {
        failures.map { failure in
            guard let index = failure.image, images.indices.contains(index) else {
                return "symbolication ended with \(failure) and was begun again with less to do"
            }
            return "\(images[index].path): reading it ended with \(failure); less of it was read then"
        }
    }
}
