// SPDX-License-Identifier: Apache-2.0

/// A requirement of the channel protocol for clients; the cases are in the order of the tests.
public enum Requirement: String, CaseIterable, Sendable {
    case hello
    case ready
    case inheritance
    case ping
    case newestPing = "newest-ping"
    case unknownKeys = "unknown-keys"
    case firstAssignment = "first-assignment"
    case garbage
    case flood
    case background
    case repeatedState = "repeated-state"
    case foreground
    case events
    case busy
    case expiration
    case blockedLoop = "blocked-loop"
    case hangOnDemand = "hang-on-demand"
    case termination
    case closedChannel = "closed-channel"
    case silence
    case badEnvironment = "bad-environment"
    case serviceManager = "service-manager"
    case conduct

    /// The requirement as one sentence for people, without a period.
    public var text: String {
        switch self {
        case .hello: "says HELLO=1 first"
        case .ready: "says READY=1 when it can be used"
        case .inheritance: "keeps the channel from the programs that it starts"
        case .ping: "answers pings with their numbers"
        case .newestPing: "answers the newest of several pings"
        case .unknownKeys: "ignores keys that it does not know"
        case .firstAssignment: "obeys the first of two assignments to one key"
        case .garbage: "survives malformed datagrams and answers the next ping"
        case .flood: "survives a flood while nobody reads, and answers the newest ping"
        case .background: "goes to the background and says so"
        case .repeatedState: "answers a repeated state again"
        case .foreground: "comes to the foreground and says so"
        case .events: "handles events and says so"
        case .busy: "answers a ping behind twenty events"
        case .expiration: "ends its background tasks when their time expires"
        case .blockedLoop: "does not answer while its main loop is blocked"
        case .hangOnDemand: "blocks its main loop when a test asks for it, and only then"
        case .termination: "exits with 0 when it is asked to terminate"
        case .closedChannel: "keeps calm when the channel closes"
        case .silence: "runs without a supervisor"
        case .badEnvironment: "runs with a broken channel"
        case .serviceManager: "speaks sd_notify to a service manager"
        case .conduct: "sends only well-formed messages of known keys"
        }
    }
}

/// The result of a client for one requirement.
public struct ConformanceResult: Equatable, Sendable {
    /// The outcome of a test.
    public enum Outcome: Equatable, Sendable {
        /// The client meets the requirement; the text has details and may be empty.
        case passed(String)
        /// The client does not meet it; the text describes what it did instead.
        case failed(String)
        /// The requirement was not tested; the text is the reason.
        case skipped(String)
    }

    /// The tested requirement.
    public let requirement: Requirement
    /// The outcome of the test.
    public let outcome: Outcome

    /// Creates a result; the text of the outcome is shown as it is.
    public init(_ requirement: Requirement, _ outcome: Outcome) {
        self.requirement = requirement
        self.outcome = outcome
    }

    /// Whether the client does not meet the requirement; a skipped one is no failure.
    public var isFailure: Bool {
        if case .failed = outcome { true } else { false }
    }
}
