// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// Who carries out what a ``ControlServer`` is asked for: the daemon.
///
/// The server has checked the caller's rights and the parameters' kinds; whether an app of the name exists is for the
/// handler to say. Everything is called on the loop's thread and must not wait: what takes time keeps the
/// ``ControlAnswer`` and returns.
public protocol ControlHandler: AnyObject {
    /// The names of all apps, in order.
    ///
    /// Asked for each `List`, and for the nearest name when one does not exist.
    var appNames: [String] { get }

    /// The files that cannot be used; who asks for an app of theirs is told what is wrong with them.
    var invalidFiles: [InvalidFile] { get }

    /// What `List` tells of an app; nil when it is gone since its name was asked for.
    func summary(of name: String) -> AppSummary?

    /// Describes an app, with as many of its latest log lines as are asked for, which may be none.
    func describe(_ request: DescribeRequest, answer: ControlAnswer<DescribeReply>)

    /// Lists the latest reports, newest first.
    func reports(_ request: ReportsRequest, answer: ControlAnswer<ReportsReply>)

    /// Starts an app; answers when it is ready, if the caller waits for that.
    func launch(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>)

    /// Asks an app to end; answers when it is gone, if the caller waits for that.
    func terminate(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<TerminateReply>)

    /// Terminates an app, if it runs, and starts it; answers when it is ready, if the caller waits for that.
    func restart(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>)

    /// Takes the stacks of a running app; answers when the report is written.
    func capture(_ request: CaptureRequest, from peer: ControlPeer, answer: ControlAnswer<CaptureReply>)

    /// Asks an app to move, or to handle an event; answers when it has, if the caller waits for that.
    func request(
        _ lifecycle: LifecycleRequest, of request: AppRequest, from peer: ControlPeer,
        answer: ControlAnswer<LifecycleReply>)

    /// Reads the configuration again.
    func reload(from peer: ControlPeer, answer: ControlAnswer<ReloadReply>)

    /// Makes an app read its own configuration again; answers when it has, if the caller waits for that.
    func reload(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadAppReply>)
}
