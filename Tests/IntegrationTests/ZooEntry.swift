// SPDX-License-Identifier: Apache-2.0

import WatchdogRendering
import WatchdogVerdict

/// One way to hang, and what the report has to say of it.
struct ZooEntry: Sendable {
    enum Program: Sendable {
        /// The programs in `Subjects/Zoo`, which are one.
        case c
        /// `Subjects/zoo.py`.
        case python
        /// The sample app `HangMain`.
        case swift
        /// `Subjects/zoo.swift`.
        case runtime
        /// A real program that `Subjects/zoo_servers.py`, `zoo_programs.py`, `zoo_trees.py` or `zoo_languages.py` brings to
        /// hang.
        case server
    }

    let kind: String
    var program = Program.c
    /// What the main thread did.
    var verdict = Verdict.Kind.blocked
    /// The system call in which it blocks; nil where it does not.
    var call: String?
    /// A function that must be on the main thread's stack; nil for `hang_` and the kind.
    var frame: String?
    /// The function that must be named as the app's innermost own one; nil where the app has none.
    var own: String?
    /// What the stacks have to say beyond it.
    var finding: Finding.Kind?
    /// A part of the verdict's line.
    var line: String?
    /// What must not be said, because it is true of the nearest lookalike only.
    var absent: String?
    /// Whose fault it is; nil for what the verdict implies.
    var fault: Blame.Party?
    /// The Unix socket in its folder by which it is probed, and not watched for signs of life; nil for all others.
    var probe: String?
    /// Whether the verdict depends on what else the machine does, so that it is alone on it.
    var needsCPU = false
    /// Whether only root can make it.
    var needsRoot = false
    /// Processes besides the main process that the report must have, with their stacks.
    var members: [Member] = []
    /// What the fault has to say of the process that is stuck while the main one only waits; nil where it names none.
    var culprit: String?
    /// What is known not to be found out, and why; it is printed and not counted.
    var miss: String?

    static let all: [ZooEntry] =
        locks + files + sockets + waits + processors + python + swift + runtime + servers + programs + trees + java + go
        + rust

    /// Whose fault it is, where others leave enough of the CPUs.
    var party: Blame.Party {
        if let fault { return fault }
        return switch verdict {
        case .uninterruptible, .starved, .throttled: .machine
        default: .app
        }
    }
}
