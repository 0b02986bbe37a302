// SPDX-License-Identifier: Apache-2.0

package import Dispatch
package import WatchdogLinux

/// Reads disks beside the loop, one after the other, so that the loop does not wait for them.
///
/// Isolation: the loop's thread.
package final class DiskReading {
    /// What was read; the number identifies the caller.
    private struct Result: Sendable {
        let number: Int
        let value: any Sendable
    }

    private let queue = DispatchQueue(label: "org.watchdogd.reading")
    private let mailbox: Mailbox<Result>
    private var source: IOSource?
    private var pending: [Int: (any Sendable) -> Void] = [:]
    private var last = 0

    package init(on loop: EventLoop) throws(LinuxError) {
        mailbox = try Mailbox()
        source = try loop.receive(from: mailbox) { [unowned self] in ended($0) }
    }

    /// - Parameters:
    ///   - other: where to read; nil for the queue that all readings share.
    ///   - read: the work that may wait for a disk.
    ///   - end: gets the result on the loop, later.
    package func read<Value: Sendable>(
        on other: DispatchQueue? = nil, _ read: @escaping @Sendable () -> Value, then end: @escaping (Value) -> Void
    ) {
        last += 1
        pending[last] = { if let value = $0 as? Value { end(value) } }
        (other ?? queue).async { [mailbox, number = last] in mailbox.post(Result(number: number, value: read())) }
    }

    private func ended(_ result: Result) {
        pending.removeValue(forKey: result.number)?(result.value)
    }
}
