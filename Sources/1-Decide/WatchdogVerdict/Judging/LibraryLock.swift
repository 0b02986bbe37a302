// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A lock within the C library, which no owner's ID is in.
struct LibraryLock {
    static let functions = ["__lll_lock_wait_private", "__GI___lll_lock_wait_private"]

    private static let signalReturn = "__restore_rt"

    private let stack: NamedStack

    init(_ stack: NamedStack) { self.stack = stack }

    /// Adds the function that takes the lock, and whether a signal handler has interrupted the same one on this thread.
    func refined(_ finding: Finding) -> Finding {
        guard let function = taker else { return finding }
        var finding = finding
        finding.text += ", in \(function.singleLine(limit: 64))"
        if isInterrupted([function]) { finding.text += Self.interruption }
        return finding
    }

    /// The same for the allocator's lock, which several functions take.
    func refined(_ finding: Finding, of functions: [String]) -> Finding {
        guard isInterrupted(functions) else { return finding }
        var finding = finding
        finding.text = "The thread waits for the allocator's lock" + Self.interruption
        return finding
    }

    private static let interruption = " that it holds itself: a signal handler has interrupted its owner"

    /// The innermost function behind the wait itself that has a name.
    private var taker: String? {
        guard let index = stack.first(Self.functions, within: 3) else { return nil }
        return stack.names[(index + 1)...].prefix(3).first { !$0.isEmpty }
    }

    /// Whether one of these functions is among those that the handler has interrupted, up to the app's own.
    private func isInterrupted(_ functions: [String]) -> Bool {
        guard let handler = stack.names.firstIndex(of: Self.signalReturn) else { return false }
        let below = zip(stack.names, stack.images).dropFirst(handler + 1).prefix { $0.1.hasPrefix("libc.") }
        return below.contains { name, _ in functions.contains { NamedStack.isFunction(name, $0) } }
    }
}
