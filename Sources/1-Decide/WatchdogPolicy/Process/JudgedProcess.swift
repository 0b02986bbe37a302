// SPDX-License-Identifier: Apache-2.0

/// Decides whose main thread is judged: that of the main process, or that of a process that answers in its place.
///
/// A shell or a wrapper that started the app does not answer itself. The first other process of the app that says hello
/// or answers a ping is judged until it ends. Once the main process has sent a message, no other takes its place.
///
/// Isolation: a value; its holder serializes the calls.
public struct JudgedProcess: Hashable, Sendable {
    private var mainSpeaks = false

    /// Creates the decision for a main process that has sent nothing.
    public init() {}

    /// Handles a message on the channel; returns whether its sender is judged from now on, provided that it is a
    /// process of the app and alive.
    ///
    /// - Parameters:
    ///   - sender: the sender's process; zero if it is not known.
    ///   - main: the main process.
    ///   - judged: the process that is judged now; the main process again after the end of another one.
    ///   - isAnswer: whether the message says hello or answers a ping; asked only if that matters.
    public mutating func passes(
        to sender: Int32, main: Int32, judged: Int32, _ isAnswer: () -> Bool
    ) -> Bool {
        guard sender > 0 else { return false }
        if sender == main { mainSpeaks = true }
        return !mainSpeaks && judged == main && isAnswer()
    }
}
