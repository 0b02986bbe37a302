// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The documented content of `--json`, as a program that reads it would declare it.
struct Summary: Decodable {
    struct Launch: Decodable {
        struct Signpost: Decodable {
            var name: String
            var milliseconds: Double?
        }

        var milliseconds: Double
        var source: String
        struct Task: Decodable {
            var name: String
            var startMilliseconds: Double
            var milliseconds: Double?
        }

        var firstFrameMilliseconds: Double?
        var usefulMilliseconds: Double?
        var extendedMilliseconds: Double?
        var tasks: [Task]?
        var mainThreadBlockedPercent: Int?
        var signposts: [Signpost]?
    }

    struct Lifecycle: Decodable {
        struct Resumes: Decodable {
            var count: Int
            var maxMilliseconds: Double?
        }

        var takesPart: Bool
        var backgroundTasks: Int
        var resumes: Resumes
        var mistakes: Int
    }

    struct Pings: Decodable {
        var count: Int
        var maxMilliseconds: Double?
        var strayAnswers: Int
    }

    struct Hangs: Decodable {
        var count: Int
        var longestMilliseconds: Double?
    }

    struct Incident: Decodable {
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

    struct Fault: Decodable {
        var fault: String
        var milliseconds: Double?
        var failure: String?
    }

    struct Exit: Decodable {
        var code: Int32?
        var signal: String?
    }

    struct ResourceUsage: Decodable {
        var userMilliseconds: Double
        var maximumResidentKilobytes: Int
    }

    struct Expectation: Decodable {
        var expected: String
        var isMet: Bool
    }

    var app: String
    var pid: Int32?
    var termination: String
    var spawnError: String?
    var launch: Launch?
    var pings: Pings
    var hangs: Hangs
    var incidents: [Incident]
    var exit: Exit?
    var isDeathVerified: Bool
    var resourceUsage: ResourceUsage?
    var report: String?
    var status: String?
    var summary: String?
    var expectation: Expectation?
    var lifecycle: Lifecycle?
    var faults: [Fault]?
    var exitCode: Int32

    init(_ text: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(Summary.self, from: Data(text))
    }
}
