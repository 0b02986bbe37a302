// SPDX-License-Identifier: Apache-2.0

import WatchdogRendering
import WatchdogVerdict

/// One way to hang, and the report's expected content.
struct ZooEntry: Sendable {
    enum Program: Sendable {
        /// The programs in `Subjects/Zoo`, compiled into one.
        case c
        /// `Subjects/zoo.py`.
        case python
        /// The sample app `HangMain`.
        case swift
        /// `Subjects/zoo.swift`.
        case runtime
        /// A real program that `Subjects/zoo_servers.py`, `zoo_programs.py`, `zoo_trees.py` or `zoo_languages.py` makes
        /// hang.
        case server
    }

    let kind: String
    var program = Program.c
    /// What the main thread was doing.
    var verdict = Verdict.Kind.blocked
    /// The system call in which the judged thread blocks; nil if it does not.
    ///
    /// That is the main thread, or the one for whose end it waits.
    var call: String?
    /// A function that must be on that thread's stack; nil for `hang_` and the kind.
    var frame: String?
    /// The function that must be named as the app's innermost own one; nil if the app has none.
    var own: String?
    /// The finding that the stacks must add.
    var finding: Finding.Kind?
    /// A part of the verdict's line.
    var line: String?
    /// A text that must not appear, because it is true only of the nearest lookalike.
    var absent: String?
    /// The party at fault; nil for the one that the verdict implies.
    var fault: Blame.Party?
    /// The Unix socket in its folder by which it is probed instead of being watched for signs of life; nil for all
    /// others.
    var probe: String?
    /// Whether the verdict depends on the machine's load, so that it must run alone.
    var needsCPU = false
    /// Whether only root can produce it.
    var needsRoot = false
    /// Processes besides the main process that the report must have, with their stacks.
    var members: [Member] = []
    /// The fault's expected text about the stuck process while the main one only waits; nil if it names none.
    var culprit: String?
    /// A known failure and its reason; it is printed and not counted.
    var miss: String?

    static let all: [ZooEntry] =
        locks + files + sockets + waits + others + processors + python + swift + runtime + servers + programs + trees
        + languages

    /// The party at fault if others leave enough of the CPUs.
    var party: Blame.Party {
        if let fault { return fault }
        return switch verdict {
        case .uninterruptible, .starved, .throttled: .machine
        default: .app
        }
    }
}
