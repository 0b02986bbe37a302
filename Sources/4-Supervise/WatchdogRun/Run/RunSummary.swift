// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// The JSON object of `watchdogd run --json`, printed at the end of the run; times in milliseconds.
struct RunSummary: Codable, Equatable {
    struct Launch: Codable, Equatable {
        var milliseconds: Double
        var source: String
        var firstFrameMilliseconds: Double?
        /// The time at which the app reported that it does its actual work.
        var usefulMilliseconds: Double?
        /// From the launch to the end of its last task; absent while a task is open.
        var extendedMilliseconds: Double?
        /// The phases from the request until the app was ready.
        var phases: [Phase]?
        /// The tasks that extend the launch.
        var tasks: [Task]?
        /// The percentage of the launch in which the main thread neither ran nor waited for a CPU.
        var mainThreadBlockedPercent: Int?
        var signposts: [Signpost]?
        /// The number of lost marks.
        var signpostsLost: Int?
    }

    /// A launch that was not completed.
    struct UnfinishedLaunch: Codable, Equatable {
        /// From the launch to the decision to kill the app, or to its end.
        var milliseconds: Double
        /// The phases from the request on; the launch ended in the last one.
        var phases: [Phase]
    }

    struct Phase: Codable, Equatable {
        /// The name, as in the report.
        var name: String
        /// Counted from the launch; negative before it.
        var startMilliseconds: Double
        var milliseconds: Double
        /// The first thread's time on a CPU; absent if unknown.
        var runningMilliseconds: Double?
        /// The first thread's time preempted; absent if unknown.
        var preemptedMilliseconds: Double?
        /// The first thread's time blocked, or waiting for a CPU after that; absent if unknown.
        var blockedMilliseconds: Double?
        /// Whether the launch ended in the phase; absent otherwise.
        var isOpen: Bool?

        init(_ phase: LaunchDetails.Phase) {
            func milliseconds(_ nanoseconds: Int64) -> Double { Duration.nanoseconds(nanoseconds).milliseconds }
            name = phase.name
            startMilliseconds = milliseconds(phase.startNanoseconds)
            self.milliseconds = milliseconds(phase.nanoseconds)
            runningMilliseconds = phase.runningNanoseconds.map(milliseconds)
            preemptedMilliseconds = phase.preemptedNanoseconds.map(milliseconds)
            blockedMilliseconds = phase.blockedNanoseconds.map(milliseconds)
            isOpen = phase.isOpen ? true : nil
        }
    }

    struct Task: Codable, Equatable {
        var name: String
        /// Counted from the launch.
        var startMilliseconds: Double
        /// Absent for a task that had not ended.
        var milliseconds: Double?
    }

    struct Signpost: Codable, Equatable {
        var category: String
        var name: String
        /// Counted from the launch.
        var startMilliseconds: Double
        /// Absent for an event, and for an interval that had not ended.
        var milliseconds: Double?
        /// Either `interval` or `event`.
        var kind: String
        var isOnMainThread: Bool
    }

    struct Script: Codable, Equatable {
        var path: String
        /// Absent if every step succeeded.
        var failure: String?
    }

    struct Fault: Codable, Equatable {
        /// In the form of the command line.
        var fault: String
        /// The start, relative to the launch; absent if the run ended before.
        var milliseconds: Double?
        /// The reason why it is incomplete; absent if it is not.
        var failure: String?
    }

    struct Lifecycle: Codable, Equatable {
        struct Moment: Codable, Equatable {
            var state: String
            /// Counted from the launch.
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
        /// What happened instead; absent for the total of all expectations.
        var actual: String?
    }

    var app: String
    var pid: Int32?
    /// `spawnFailed`, `exited`, `terminated`, `killedOnRequest` or `watchdog`.
    var termination: String
    var spawnError: String?
    var launch: Launch?
    /// Absent for a launch that was completed.
    var unfinishedLaunch: UnfinishedLaunch?
    var pings: Pings
    /// Successful liveness probes.
    var probes: Pings?
    var hangs: Hangs
    /// In order; if ``termination`` is `watchdog`, the last one ended the run.
    var incidents: [WatchdogReport]
    var exit: Exit?
    var isDeathVerified: Bool
    var resourceUsage: ResourceUsage?
    /// The path of the last incident's report.
    var report: String?
    var status: String?
    var summary: String?
    /// The total of all expectations.
    var expectation: ExpectationResult?
    /// The single expectations.
    var expectations: [ExpectationResult]?
    var script: Script?
    /// The planned faults, injected or not.
    var faults: [Fault]?
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

extension Outcome {
    /// The exit code of a run that ended this way.
    ///
    /// - Parameter failure: the reason why the program was not started.
    func exitCode(ofFailure failure: (any Error)?) -> Int32 {
        switch cause {
        case .spawnFailed:
            guard let error = failure as? SpawnError, error.stage == .execute else { return 125 }
            return error.shellCode
        case .watchdog:
            return 137
        case .exited, .terminated, .killedOnRequest:
            return status?.shellCode ?? 137
        }
    }
}
