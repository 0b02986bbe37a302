// SPDX-License-Identifier: Apache-2.0

package import WatchdogCapture

/// The outcome of a capture.
package enum CaptureOutcome: Sendable {
    /// The stacks of the main process were captured.
    case taken(Snapshot)
    /// There was no capture, only the samples from before.
    case sampled
    /// The capture failed for this reason.
    case failed(String)
}
