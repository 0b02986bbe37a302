// SPDX-License-Identifier: Apache-2.0

import CLinux
import FoundationEssentials
import Glibc
import WatchdogLinux
import WatchdogPolicy

/// A connection to a running watchdogd, for programs that wait for the answer.
///
/// ```swift
/// let client = try ControlClient(.system)
/// for app in try client.list().apps { print(app.name, app.state.rawValue) }
/// ```
///
/// Isolation: one thread at a time.
public final class ControlClient {
    /// Ten thousand apps with all that is told of them are a tenth of it.
    private static let longestReply = 64 << 20

    /// How long an answer may take that nobody waits for on purpose.
    public var patience: Duration

    let place: ControlPath
    let descriptor: OwnedDescriptor
    var input = MessageBuffer(limit: longestReply)
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()

    /// Connects.
    ///
    /// - Parameters:
    ///   - place: Where.
    ///   - patience: How long connecting, and each answer, may take.
    public init(_ place: ControlPath, patience: Duration = .seconds(10)) throws(ControlClientError) {
        self.place = place
        self.patience = patience
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let number = wd_stream_connect(place.path, Int32(clamping: max(0, patience.nanoseconds) / 1_000_000))
        guard number >= 0 else { throw .cannotConnect(Errno(rawValue: errno), place) }
        descriptor = OwnedDescriptor(taking: number)
    }

    // MARK: - Methods

    /// Who answers.
    public func info() throws(ControlClientError) -> ServiceInfo {
        try call(.getInfo, EmptyRequest())
    }

    /// The definition of an interface, ``ControlInterface/name`` or another one of ``info()``.
    public func definition(of interface: String) throws(ControlClientError) -> String {
        let reply: InterfaceReply = try call(.getInterfaceDescription, InterfaceRequest(interface: interface))
        return reply.description
    }

    /// All apps, and the files that cannot be used.
    public func list() throws(ControlClientError) -> ListReply {
        try call(.list, EmptyRequest())
    }

    /// One app, with its latest log lines.
    public func describe(_ request: DescribeRequest) throws(ControlClientError) -> DescribeReply {
        try call(.describe, request)
    }

    /// The latest reports.
    public func reports(_ request: ReportsRequest = ReportsRequest()) throws(ControlClientError) -> ReportsReply {
        try call(.reports, request)
    }

    /// Starts an app.
    public func launch(_ request: AppRequest) throws(ControlClientError) -> LaunchReply {
        try call(.launch, request, patience: request.waits ? nil : patience)
    }

    /// Asks an app to end.
    public func terminate(_ request: AppRequest) throws(ControlClientError) -> TerminateReply {
        try call(.terminate, request, patience: request.waits ? nil : patience)
    }

    /// Terminates an app, if it runs, and starts it.
    public func restart(_ request: AppRequest) throws(ControlClientError) -> LaunchReply {
        try call(.restart, request, patience: request.waits ? nil : patience)
    }

    /// Asks an app to go to the foreground.
    public func foreground(_ request: AppRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.foreground, request, patience: request.waits ? nil : patience)
    }

    /// Asks an app to go to the background.
    public func background(_ request: AppRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.background, request, patience: request.waits ? nil : patience)
    }

    /// Suspends an app.
    public func suspend(_ request: AppRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.suspend, request, patience: request.waits ? nil : patience)
    }

    /// Lets a suspended app run on.
    public func resume(_ request: AppRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.resume, request, patience: request.waits ? nil : patience)
    }

    /// Sends an event to an app.
    public func sendEvent(_ request: EventRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.sendEvent, request, patience: request.waits ? nil : patience)
    }

    /// Takes the stacks of a running app, and waits for the report.
    public func capture(_ request: CaptureRequest) throws(ControlClientError) -> CaptureReply {
        try call(.capture, request, patience: nil)
    }

    /// Reads the configuration again.
    public func reload() throws(ControlClientError) -> ReloadReply {
        try call(.reload, EmptyRequest())
    }

    /// Makes an app read its own configuration again.
    public func reload(_ request: AppRequest) throws(ControlClientError) -> ReloadAppReply {
        try call(.reloadApp, request, patience: request.waits ? nil : patience)
    }

    /// Tells what happens, for as long as the closure wants to know.
    ///
    /// - Parameters:
    ///   - request: What is to be told.
    ///   - next: Called for each reply, first with an empty one; false ends it, and the connection is of no more use.
    public func monitor(
        _ request: MonitorRequest = MonitorRequest(), next: (MonitorReply) -> Bool
    ) throws(ControlClientError) {
        let begin = Call(method: ControlMethod.monitor.rawValue, parameters: request, more: true)
        try send(begin, until: .now() + patience)
        while true {
            let (reply, continues): (MonitorReply, Bool) = try receive(until: nil)
            guard next(reply), continues else { return }
        }
    }
}
