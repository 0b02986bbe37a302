// SPDX-License-Identifier: Apache-2.0

/// Delivers the reply to a client, once, immediately or later.
///
/// It does nothing if the client has disconnected or requested no reply. If it is released unused, the client receives
/// an error.
///
/// Isolation: the loop's thread.
public final class ControlAnswer<Reply: ControlReply> {
    private var deliver: ((Result<Reply, ControlError>) -> Void)?

    /// Creates an answer.
    ///
    /// - Parameter deliver: called once, with the reply or the error.
    public init(_ deliver: @escaping (Result<Reply, ControlError>) -> Void) {
        self.deliver = deliver
    }

    deinit {
        deliver?(.failure(.failed(reason: "watchdogd gave no answer")))
    }

    /// Sends the reply; only the first call of this or ``fail(_:)`` has an effect.
    public func succeed(_ reply: Reply) {
        finish(.success(reply))
    }

    /// Sends an error; only the first call of this or ``succeed(_:)`` has an effect.
    public func fail(_ error: ControlError) {
        finish(.failure(error))
    }

    private func finish(_ result: Result<Reply, ControlError>) {
        let deliver = self.deliver
        self.deliver = nil
        deliver?(result)
    }
}
