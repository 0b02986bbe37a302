// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// Executes the calls that a ``ControlServer`` receives: the daemon.
///
/// The server has checked the client's rights and the types of the parameters; the handler checks whether the app
/// exists. All methods are called on the loop's thread and must not block: for slow work, the handler retains the
/// ``ControlAnswer`` and returns.
public protocol ControlHandler: AnyObject {
    /// The names of all apps, sorted.
    ///
    /// Read for each `List`, and to find the most similar name for an unknown one.
    var appNames: [String] { get }

    /// The folder of crash logs; nil if there is none.
    var reportsDirectory: String? { get }

    /// The invalid files; requests for their apps fail with the diagnostics.
    var invalidFiles: [InvalidFile] { get }

    /// The `List` entry of an app; nil if the app has disappeared since its name was read.
    func summary(of name: String) -> AppSummary?

    /// Describes an app with the requested number of its latest log lines, which may be zero.
    func describe(_ request: DescribeRequest, answer: ControlAnswer<DescribeReply>)

    /// Lists the latest reports, newest first.
    func reports(_ request: ReportsRequest, answer: ControlAnswer<ReportsReply>)

    /// Renders the metrics of all apps.
    func metrics(answer: ControlAnswer<MetricsReply>)

    /// Launches an app; replies when it is ready if the client waits.
    func launch(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>)

    /// Requests an app's exit; replies when it is gone if the client waits.
    func terminate(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<TerminateReply>)

    /// Terminates an app if it is running, and launches it; replies when it is ready if the client waits.
    func restart(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>)

    /// Captures the stacks of a running app; replies when the report is written.
    func capture(_ request: CaptureRequest, from peer: ControlPeer, answer: ControlAnswer<CaptureReply>)

    /// Sends an app an event, after launching it if requested; replies when it has handled the event if the client
    /// waits.
    func sendEvent(_ request: EventRequest, from peer: ControlPeer, answer: ControlAnswer<LifecycleReply>)

    /// Requests a lifecycle state of an app; replies when it has done so if the client waits.
    func request(
        _ lifecycle: LifecycleRequest, of request: AppRequest, from peer: ControlPeer,
        answer: ControlAnswer<LifecycleReply>)

    /// Reloads the configuration, or returns what that would change.
    func reload(_ request: ReloadRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadReply>)

    /// Makes an app reload its own configuration; replies when it has done so if the client waits.
    func reload(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadAppReply>)
}
