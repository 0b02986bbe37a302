// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogPolicy

/// What `watchdogd run --json` prints when the run is over: one object, times in milliseconds.
struct RunSummary: Codable, Equatable {
    struct Launch: Codable, Equatable {
        var milliseconds: Double
        var source: String
        var firstFrameMilliseconds: Double?
        /// The part of the launch in which the main thread neither ran nor wanted a CPU.
        var mainThreadBlockedPercent: Int?
        var signposts: [Signpost]?
        /// Marks that are missing.
        var signpostsLost: Int?
    }

    struct Signpost: Codable, Equatable {
        var category: String
        var name: String
        /// From the launch on.
        var startMilliseconds: Double
        /// Absent for a moment, and for what had not ended.
        var milliseconds: Double?
        /// `interval` or `event`.
        var kind: String
        var isOnMainThread: Bool
    }

    struct Script: Codable, Equatable {
        var path: String
        /// Absent when all came as the script says.
        var failure: String?
    }

    struct Lifecycle: Codable, Equatable {
        struct Moment: Codable, Equatable {
            var state: String
            /// From the launch on.
            var milliseconds: Double
        }

        struct Resumes: Codable, Equatable {
            var count: Int
            var p50Milliseconds: Double?
            var maxMilliseconds: Double?
        }

        var takesPart: Bool
        var history: [Moment]
        var backgroundTasks: Int
        var openTasks: [String]
        var resumes: Resumes
        var mistakes: Int
    }

    struct Pings: Codable, Equatable {
        var count: Int
        var p50Milliseconds: Double?
        var p99Milliseconds: Double?
        var maxMilliseconds: Double?
        var strayAnswers: Int
    }

    struct Hangs: Codable, Equatable {
        var count: Int
        var longestMilliseconds: Double?
    }

    struct WatchdogReport: Codable, Equatable {
        var code: String
        var event: String
        var allowanceMilliseconds: Double
        var creditMilliseconds: Double
        var isEnforced: Bool
        var isDeathVerified: Bool?
        var verdict: String?
        var verdictKind: String?
        var report: String?
        var reportError: String?
    }

    struct Exit: Codable, Equatable {
        var code: Int32?
        var signal: String?
    }

    struct ResourceUsage: Codable, Equatable {
        var userMilliseconds: Double
        var systemMilliseconds: Double
        var maximumResidentKilobytes: Int
        var minorFaults: Int
        var majorFaults: Int
        var voluntarySwitches: Int
        var involuntarySwitches: Int
    }

    struct ExpectationResult: Codable, Equatable {
        var expected: String
        var isMet: Bool
    }

    var app: String
    var pid: Int32?
    /// `spawnFailed`, `exited`, `terminated`, `killedOnRequest` or `watchdog`.
    var termination: String
    var spawnError: String?
    var launch: Launch?
    var pings: Pings
    /// Liveness probes that succeeded.
    var probes: Pings?
    var hangs: Hangs
    /// In the order in which they happened; the last one is the one that ended the run when ``termination`` is `watchdog`.
    var incidents: [WatchdogReport]
    var exit: Exit?
    var isDeathVerified: Bool
    var resourceUsage: ResourceUsage?
    /// The report of the last incident.
    var report: String?
    var status: String?
    var summary: String?
    var expectation: ExpectationResult?
    var script: Script?
    var lifecycle: Lifecycle?
    var exitCode: Int32

    /// The object as text, ending with a newline.
    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
    }
}

extension RunSummary.Exit {
    init?(_ status: ExitStatus?) {
        switch status {
        case .exited(let code): self.init(code: code, signal: nil)
        case .signaled(let signal, _): self.init(code: nil, signal: SignalName.of(Int(signal)))
        case .unknown, nil: return nil
        }
    }
}

extension RunSummary.Pings {
    init(_ histogram: LatencyHistogram, strayAnswers: Int) {
        self.init(
            count: histogram.count,
            p50Milliseconds: histogram.quantile(0.5)?.milliseconds,
            p99Milliseconds: histogram.quantile(0.99)?.milliseconds,
            maxMilliseconds: histogram.count > 0 ? histogram.maximum.milliseconds : nil,
            strayAnswers: strayAnswers
        )
    }
}

extension Outcome.Cause {
    /// The cause as the summary names it.
    var name: String {
        switch self {
        case .spawnFailed: "spawnFailed"
        case .exited: "exited"
        case .terminated: "terminated"
        case .killedOnRequest: "killedOnRequest"
        case .watchdog: "watchdog"
        }
    }
}
