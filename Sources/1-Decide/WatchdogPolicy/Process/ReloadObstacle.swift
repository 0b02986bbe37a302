// SPDX-License-Identifier: Apache-2.0

/// Why an app cannot be reloaded now.
public enum ReloadObstacle: Hashable, Sendable {
    /// A reload is under way.
    case reloading
    /// It is frozen, and would not handle the reload.
    case suspended
    /// Its launch is not over.
    case notReady
    /// Its stacks are being captured.
    case capturing
    /// It is ending, or has ended.
    case ending
}

extension ProcessMachine {
    /// Why the app cannot be reloaded now; nil if it can.
    ///
    /// - Parameter isReloading: whether a reload of the app is under way.
    public func reloadObstacle(isReloading: Bool) -> ReloadObstacle? {
        guard !isReloading else { return .reloading }
        guard lifecycleState != .suspended else { return .suspended }
        return switch phase {
        case .running: nil
        case .idle, .launching: .notReady
        case .capturing: .capturing
        case .terminating, .dying, .ended: .ending
        }
    }
}
