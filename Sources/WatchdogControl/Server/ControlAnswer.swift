// SPDX-License-Identifier: Apache-2.0

/// The way back to a caller: used once, at once or later.
///
/// When the caller is gone, or wanted no answer, nothing happens. An answer that is released unused says that it failed.
///
/// Isolation: the loop's thread.
public final class ControlAnswer<Reply: ControlReply> {
    private var deliver: ((Result<Reply, ControlError>) -> Void)?

    init(_ deliver: @escaping (Result<Reply, ControlError>) -> Void) {
        self.deliver = deliver
    }

    deinit {
        deliver?(.failure(.failed(reason: "watchdogd gave no answer")))
    }

    /// It is done.
    public func succeed(_ reply: Reply) {
        finish(.success(reply))
    }

    /// It was not done.
    public func fail(_ error: ControlError) {
        finish(.failure(error))
    }

    private func finish(_ result: Result<Reply, ControlError>) {
        let deliver = self.deliver
        self.deliver = nil
        deliver?(result)
    }
}
