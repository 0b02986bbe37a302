// SPDX-License-Identifier: Apache-2.0

/// What somebody wants of a running app.
///
/// The latest wish counts: an app that is to be suspended goes through the background, and turns round when it is wanted
/// in the foreground meanwhile. During the launch wishes wait for its end.
public enum LifecycleRequest: Hashable, Sendable, Codable, CustomStringConvertible {
    /// Serve somebody; a suspended app is resumed for it.
    case foreground
    /// Go out of sight; a suspended app is resumed for it.
    case background
    /// Stop running, after a chance to tidy up.
    case suspend
    /// Run on where it was suspended: in the background, if it takes part in the lifecycle.
    case resume
    /// Handle something on the main loop.
    case event(kind: String, payload: String)

    /// The request in one word, or two.
    public var description: String {
        switch self {
        case .foreground: "foreground"
        case .background: "background"
        case .suspend: "suspend"
        case .resume: "resume"
        case .event(let kind, _): "event \(kind)"
        }
    }
}

/// Why a request was not carried out.
public enum LifecycleRefusal: Hashable, Sendable {
    /// There is no process, or it is ending.
    case notRunning
    /// The program does not take part in the lifecycle, so that nobody would handle the event.
    case notTakingPart
    /// The app is suspended, or about to be.
    case alreadySuspended
    /// The app is not suspended.
    case notSuspended
    /// Too many events wait to be handled.
    case tooManyEvents
}
