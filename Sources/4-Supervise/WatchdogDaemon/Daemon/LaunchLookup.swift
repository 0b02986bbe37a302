// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux
import WatchdogReport
import WatchdogReportStore

/// What a launch needs from user databases and file systems, any of which may never answer.
struct LaunchLookup: Sendable {
    /// What to launch, with its standard streams.
    var configuration: LaunchConfiguration
    /// What was ignored in environment files.
    let warnings: [String]

    /// The time limit for the whole lookup.
    static let limit = Duration.seconds(5)

    private init(
        _ app: AppConfiguration, _ scope: DaemonPlaces.Scope, _ store: ReportStore, isFound: Bool = false,
        _ step: BlockingStep
    ) throws {
        var warnings: [String] = []
        var configuration = try LaunchConfiguration(
            app, scope: scope, store: store, isFound: isFound, step: { step.begin($0) },
            warn: { warnings.append($0) })
        step.begin("StandardOutput= or StandardError=")
        configuration.connect(
            try StandardStreams(opening: OutputPlan(app.program), identifier: configuration.name))
        self.configuration = configuration
        self.warnings = warnings
    }

    /// Resolves at once the configuration of an app that names nothing but a program, which was found before.
    ///
    /// If the program is gone, the launch fails when it is executed.
    init(known app: AppConfiguration, scope: DaemonPlaces.Scope, store: ReportStore) throws {
        try self.init(app, scope, store, isFound: true, BlockingStep("the configuration"))
    }

    /// Resolves the configuration of an app off the loop.
    ///
    /// - Parameters:
    ///   - lane: the app's lane, in which earlier lookups may be stuck.
    ///   - end: receives the result, or why there is none, later on the loop.
    static func begin(
        _ app: AppConfiguration, scope: DaemonPlaces.Scope, store: ReportStore, on host: Host, lane: Int,
        then end: @escaping (Result<LaunchLookup, LaunchRefusal>) -> Void
    ) -> BlockingWork.Ticket {
        let step = BlockingStep("the configuration")
        return host.work.run(in: lane, of: "user \(app.program.user ?? "")", within: limit) {
            Result { try LaunchLookup(app, scope, store, step) }.mapError { LaunchRefusal("\($0)") }
        } then: {
            end($0 ?? .failure(LaunchRefusal("\(step.description) did not answer within \(limit.brief)")))
        }
    }

    /// Resolves a further command of an app off the loop, because the file system of its program may not answer.
    ///
    /// - Parameters:
    ///   - plan: where its output goes; nil for the app's own output.
    ///   - end: receives the request, or why there is none, later on the loop.
    static func begin(
        _ command: Command, of launch: LaunchConfiguration, output plan: OutputPlan? = nil, on host: Host,
        then end: @escaping (Result<SpawnRequest, LaunchRefusal>) -> Void
    ) -> BlockingWork.Ticket {
        typealias Found = (request: SpawnRequest, streams: StandardStreams?)
        return host.work.run(in: launch.launchID.hashValue, of: launch.workOwner, within: limit) {
            () -> Result<Found, LaunchRefusal> in
            Result {
                var launch = launch
                if let plan { launch.streams = try StandardStreams(opening: plan, identifier: launch.name) }
                return (try launch.request(for: command), launch.streams)
            }.mapError { LaunchRefusal("\($0)") }
        } then: { result in
            let result = result ?? .failure(LaunchRefusal("\(command.program) did not answer within \(limit.brief)"))
            // The request names descriptors that the streams own.
            withExtendedLifetime(result) { end(result.map { $0.request }) }
        }
    }
}
