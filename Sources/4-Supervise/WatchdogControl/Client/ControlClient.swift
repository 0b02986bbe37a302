// SPDX-License-Identifier: Apache-2.0

import CLinux
import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux

/// A connection to a running watchdogd, for programs that can wait for replies.
///
/// ```swift
/// let client = try ControlClient(.system)
/// for app in try client.list().apps { print(app.name, app.state.rawValue) }
/// ```
///
/// Isolation: one thread at a time.
public final class ControlClient {
    /// Ten times the size of a list of ten thousand apps with all details.
    private static let longestReply = 64 << 20

    /// The time limit for replies that are expected immediately.
    public var patience: Duration

    let place: ControlPath
    let descriptor: OwnedDescriptor
    var input = MessageBuffer(limit: longestReply)
    private(set) lazy var encoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()
    private(set) lazy var decoder = JSONDecoder()

    /// Connects to a watchdogd.
    ///
    /// - Parameters:
    ///   - place: the address.
    ///   - patience: the time limit for connecting, and for each reply.
    public init(_ place: ControlPath, patience: Duration = .seconds(10)) throws(ControlClientError) {
        self.place = place
        self.patience = patience
        let number = wd_stream_connect(place.path, Int32(clamping: max(0, patience.nanoseconds) / 1_000_000))
        guard number >= 0 else { throw .cannotConnect(Errno(rawValue: errno), place) }
        descriptor = OwnedDescriptor(taking: number)
    }

    // MARK: - Methods

    /// Identifies the service.
    public func info() throws(ControlClientError) -> ServiceInfo {
        try call(.getInfo, EmptyRequest())
    }

    /// The definition of an interface: ``ControlInterface/name``, or another one listed in ``info()``.
    public func definition(of interface: String) throws(ControlClientError) -> String {
        let reply: InterfaceReply = try call(.getInterfaceDescription, InterfaceRequest(interface: interface))
        return reply.description
    }

    /// All apps, and the invalid files.
    public func list() throws(ControlClientError) -> ListReply {
        try call(.list, EmptyRequest())
    }

    /// Describes the daemon itself.
    public func describeDaemon() throws(ControlClientError) -> DaemonReply {
        try call(.describeDaemon, EmptyRequest())
    }

    /// Describes one app, with its latest log lines.
    public func describe(_ request: DescribeRequest) throws(ControlClientError) -> DescribeReply {
        try call(.describe, request)
    }

    /// The latest reports.
    public func reports(_ request: ReportsRequest = ReportsRequest()) throws(ControlClientError) -> ReportsReply {
        try call(.reports, request)
    }

    /// The metrics of all apps.
    public func metrics() throws(ControlClientError) -> MetricsReply {
        try call(.metrics, EmptyRequest())
    }

    /// Launches an app.
    public func launch(_ request: AppRequest) throws(ControlClientError) -> LaunchReply {
        try call(.launch, request, patience: request.waits ? nil : patience)
    }

    /// Requests an app's exit.
    public func terminate(_ request: AppRequest) throws(ControlClientError) -> TerminateReply {
        try call(.terminate, request, patience: request.waits ? nil : patience)
    }

    /// Terminates an app if it is running, and launches it.
    public func restart(_ request: AppRequest) throws(ControlClientError) -> LaunchReply {
        try call(.restart, request, patience: request.waits ? nil : patience)
    }

    /// Requests that an app enters the foreground.
    public func foreground(_ request: AppRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.foreground, request, patience: request.waits ? nil : patience)
    }

    /// Requests that an app enters the background.
    public func background(_ request: AppRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.background, request, patience: request.waits ? nil : patience)
    }

    /// Suspends an app.
    public func suspend(_ request: AppRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.suspend, request, patience: request.waits ? nil : patience)
    }

    /// Resumes a suspended app.
    public func resume(_ request: AppRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.resume, request, patience: request.waits ? nil : patience)
    }

    /// Sends an event to an app.
    public func sendEvent(_ request: EventRequest) throws(ControlClientError) -> LifecycleReply {
        try call(.sendEvent, request, patience: request.waits ? nil : patience)
    }

    /// Captures the stacks of a running app, and waits for the report.
    public func capture(_ request: CaptureRequest) throws(ControlClientError) -> CaptureReply {
        try call(.capture, request, patience: nil)
    }

    /// Reloads the configuration, or returns what that would change.
    public func reload(_ request: ReloadRequest = ReloadRequest()) throws(ControlClientError) -> ReloadReply {
        try call(.reload, request)
    }

    /// Makes an app reload its own configuration.
    public func reload(_ request: AppRequest) throws(ControlClientError) -> ReloadAppReply {
        try call(.reloadApp, request, patience: request.waits ? nil : patience)
    }

    /// Receives events until the closure returns false.
    ///
    /// - Parameters:
    ///   - request: the events to receive.
    ///   - next: called for each reply, the first of which is empty, as is the last of a request that does not follow;
    ///     false ends the call and the connection's use.
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
